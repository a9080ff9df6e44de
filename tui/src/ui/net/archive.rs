//! Archives and bundles of repositories, written to files as they come.

use std::path::{Path, PathBuf};

use farrier_common::client::{Chunks, Client, RepositoryPath};
use tokio::sync::mpsc;

use super::{Answer, Existing};
use crate::{
    blocking,
    exit::Failure,
    transfer::{names::file_name, sink::Part},
};

/// Pieces on their way to the disk.
const PIECES_MAX: usize = 16;
/// How often it is said how far it is, bytes.
const TELL_EVERY: u64 = 256 << 10;

/// The file that an archive of a reference is written to.
pub(crate) fn name(repo: &RepositoryPath, reference: &str, format: &str) -> String {
    file_name(&format!("{}-{}.{format}", repo.name, reference.replace('/', "-")))
}

/// Fetches an archive. Nothing of it stays when that is stopped: another one would begin anew.
pub(super) async fn fetch(
    client: &Client,
    repo: &RepositoryPath,
    reference: &str,
    format: &str,
    existing: Existing,
    part: &impl Fn(Answer),
) -> Result<Answer, Failure> {
    let name = name(repo, reference, format);
    let directory = super::download_directory();
    let doing = format!("fetching {name}");
    let chunks = client.archive(repo, reference, format).await.map_err(Failure::call(doing.clone()))?;
    let place = directory.join(format!("{name}.{}.part", std::process::id()));
    let opened = place.clone();
    let file = blocking::run(move || {
        Part::open(opened.clone()).map_err(|source| Failure::io(format!("opening {}", opened.display()), source))
    })
    .await?;
    let mut left = Leftover(Some(place));
    let file = receive(file, chunks, &doing, part).await?;
    let target = directory.join(name);
    let saved = blocking::run(move || finish(file, &target, existing)).await;
    if saved.is_ok() {
        left.0 = None;
    }
    saved.map(Answer::Saved)
}

/// Removes an unfinished file, also when the work is dropped.
struct Leftover(Option<PathBuf>);

impl Drop for Leftover {
    fn drop(&mut self) {
        if let Some(path) = &self.0 {
            // What cannot be removed is named so that nobody takes it for whole.
            let _ = std::fs::remove_file(path);
        }
    }
}

async fn receive(mut file: Part, mut chunks: Chunks, doing: &str, part: &impl Fn(Answer)) -> Result<Part, Failure> {
    let (sender, mut pieces) = mpsc::channel::<bytes::Bytes>(PIECES_MAX);
    let writing = blocking::start(move || {
        while let Some(piece) = pieces.blocking_recv() {
            if let Err(error) = file.append(&piece) {
                return (file, Err(error));
            }
        }
        (file, Ok(()))
    });
    let (mut have, mut told) = (0, 0);
    let received = loop {
        match chunks.next().await {
            None => break Ok(()),
            Some(Err(error)) => break Err(Failure::call(doing)(error)),
            Some(Ok(piece)) => {
                have += piece.len() as u64;
                if sender.send(piece).await.is_err() {
                    break Ok(());
                }
            }
        }
        if have - told >= TELL_EVERY {
            told = have;
            part(Answer::Progress { have, size: None });
        }
    };
    drop(sender);
    let (file, written) = writing.ended().await?;
    written.map_err(|source| Failure::io(doing, source))?;
    received?;
    Ok(file)
}

/// Gives a whole file its name, or another one where somebody may want what is there.
pub(super) fn finish(file: Part, target: &Path, existing: Existing) -> Result<PathBuf, Failure> {
    let target = if existing == Existing::Beside { free(target) } else { target.to_path_buf() };
    file.finish(&target, existing == Existing::Replace).map_err(|source| match source.kind() {
        std::io::ErrorKind::AlreadyExists => Failure::Conflict(format!("{} exists", target.display())),
        _ => Failure::io(format!("saving {}", target.display()), source),
    })?;
    Ok(target)
}

/// `name-2.zip` and so on, the first that is free.
fn free(target: &Path) -> PathBuf {
    let stem = target.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let end = target.extension().map_or_else(String::new, |end| format!(".{}", end.to_string_lossy()));
    let other = |n: u32| target.with_file_name(format!("{stem}-{n}{end}"));
    (2..1_000).map(other).find(|path| !path.exists()).unwrap_or_else(|| target.to_path_buf())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_there_is_kept_replaced_or_left_beside() {
        let dir = tempfile::tempdir().unwrap();
        let target = dir.path().join("a.zip");
        let part = || {
            let mut part = Part::open(dir.path().join("x.part")).unwrap();
            part.append(b"new").unwrap();
            part
        };
        std::fs::write(&target, "old").unwrap();
        let kept = finish(part(), &target, Existing::Keep).unwrap_err();
        assert!(matches!(&kept, Failure::Conflict(text) if text.ends_with("a.zip exists")), "{kept}");
        assert_eq!(std::fs::read(&target).unwrap(), b"old");
        assert_eq!(finish(part(), &target, Existing::Beside).unwrap(), dir.path().join("a-2.zip"));
        assert_eq!(finish(part(), &target, Existing::Replace).unwrap(), target);
    }

    #[test]
    fn names_of_references_are_no_paths() {
        let repo: RepositoryPath = "infra/gateway".parse().unwrap();
        assert_eq!(name(&repo, "release/2.4", "tar.gz"), "gateway-release-2.4.tar.gz");
        assert_eq!(name(&repo, "../../x", "zip"), "gateway-..-..-x.zip");
    }
}
