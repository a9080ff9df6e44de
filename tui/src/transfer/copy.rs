//! Downloads archives and bundles of repositories to files.
//!
//! The daemon creates them while it sends them. Their size is unknown and an interrupted download cannot be
//! continued, so an incomplete file is removed.

use std::path::PathBuf;

use farrier_common::client::{Chunks, Client, ClientError, RepositoryPath};
use tokio::sync::mpsc;

use super::{names::file_name, sink::Part};
use crate::{blocking, exit::Failure};

/// Chunks that were received but not written yet.
const QUEUED_CHUNKS_MAX: usize = 16;
/// Interval of progress reports, bytes.
const PROGRESS_INTERVAL_BYTES: u64 = 256 << 10;

/// What to download.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Content {
    /// The tree or the history of a branch, tag or commit, in the format with this file name extension.
    Reference { reference: String, format: &'static str },
    /// All branches and tags in one bundle.
    All,
}

impl Content {
    /// Returns the name of the file.
    pub(crate) fn name(&self, repo: &RepositoryPath) -> String {
        file_name(&match self {
            Self::Reference { reference, format } => format!("{}-{}.{format}", repo.name, reference.replace('/', "-")),
            Self::All => format!("{}-{}.bundle", repo.owner, repo.name),
        })
    }

    /// Requests the content.
    pub(crate) async fn begin(&self, client: &Client, repo: &RepositoryPath) -> Result<Chunks, ClientError> {
        match self {
            Self::Reference { reference, format } => client.archive(repo, reference, format).await,
            Self::All => client.bundle(repo).await,
        }
    }
}

/// A completely received file that does not have its final name yet.
#[derive(Debug)]
pub(crate) struct Received {
    part: Part,
    cleanup: RemoveOnDrop,
}

impl Received {
    pub(crate) fn bytes(&self) -> u64 {
        self.part.have()
    }

    /// Passes the part file to `rename`, which gives it its final name. If that fails or is not called, the file
    /// is removed.
    pub(crate) fn save<T>(mut self, rename: impl FnOnce(Part) -> Result<T, Failure>) -> Result<T, Failure> {
        let saved = rename(self.part)?;
        self.cleanup.0 = None;
        Ok(saved)
    }
}

/// Writes `chunks` to the part file at `path`. `on_progress` is called with the number of bytes received.
pub(crate) async fn receive(
    mut chunks: Chunks,
    path: PathBuf,
    doing: &str,
    on_progress: impl Fn(u64),
) -> Result<Received, Failure> {
    let part_path = path.clone();
    let part = blocking::run(move || {
        let opening = Part::open(part_path.clone()).and_then(|mut part| part.restart().map(|()| part));
        opening.map_err(|source| Failure::io(format!("opening {}", part_path.display()), source))
    })
    .await?;
    let cleanup = RemoveOnDrop(Some(path));
    let (sender, receiver) = mpsc::channel::<bytes::Bytes>(QUEUED_CHUNKS_MAX);
    let writing = blocking::start(move || write(part, receiver));
    let (mut have, mut last) = (0, 0);
    let received = loop {
        match chunks.next().await {
            None => break Ok(()),
            Some(Err(error)) => break Err(Failure::call(doing)(error)),
            Some(Ok(chunk)) => {
                have += chunk.len() as u64;
                if sender.send(chunk).await.is_err() {
                    break Ok(());
                }
            }
        }
        if have - last >= PROGRESS_INTERVAL_BYTES {
            last = have;
            on_progress(have);
        }
    };
    drop(sender);
    let part = writing.ended().await?.map_err(|source| Failure::io(doing, source))?;
    received?;
    Ok(Received { part, cleanup })
}

fn write(mut part: Part, mut receiver: mpsc::Receiver<bytes::Bytes>) -> std::io::Result<Part> {
    while let Some(chunk) = receiver.blocking_recv() {
        part.append(&chunk)?;
    }
    Ok(part)
}

/// Removes an unfinished file when it is dropped, also if the download is cancelled.
#[derive(Debug)]
struct RemoveOnDrop(Option<PathBuf>);

impl Drop for RemoveOnDrop {
    fn drop(&mut self) {
        if let Some(path) = &self.0 {
            // If the removal fails, the suffix `.part` still marks the file as incomplete.
            let _ = std::fs::remove_file(path);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn file_names_contain_no_path_separators() {
        let repo: RepositoryPath = "infra/gateway".parse().unwrap();
        let of = |reference: &str, format| Content::Reference { reference: reference.to_owned(), format }.name(&repo);
        assert_eq!(of("release/2.4", "tar.gz"), "gateway-release-2.4.tar.gz");
        assert_eq!(of("../../x", "zip"), "gateway-..-..-x.zip");
        assert_eq!(Content::All.name(&repo), "infra-gateway.bundle");
    }
}
