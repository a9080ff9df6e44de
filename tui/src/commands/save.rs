//! Saves a downloaded body of unknown length to a file.

use std::{io, path::PathBuf};

use farrier_common::client::Chunks;

use crate::{blocking, exit::Failure, output::Output, transfer::copy};

/// Writes a part file next to `path` and renames it when it is complete. Returns its size in bytes.
pub(super) async fn save(
    chunks: Chunks,
    path: PathBuf,
    force: bool,
    doing: &str,
    output: &Output,
) -> Result<u64, Failure> {
    let mut beside = path.clone().into_os_string();
    beside.push(".part");
    let bar = output.progress(doing, None);
    let received = copy::receive(chunks, beside.into(), doing, |have| bar.set_position(have)).await;
    bar.finish_and_clear();
    let received = received?;
    let bytes = received.bytes();
    blocking::run(move || {
        received.save(|part| {
            part.finish(&path, force).map_err(|source| match source.kind() {
                io::ErrorKind::AlreadyExists => Failure::Conflict(format!("{} exists", path.display())),
                _ => Failure::io(format!("saving {}", path.display()), source),
            })
        })
    })
    .await?;
    Ok(bytes)
}
