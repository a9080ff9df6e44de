//! Archives and bundles of repositories, written to files as they come.
//!
//! They are created while they are sent. Their size is unknown and an interrupted one starts again, so
//! nothing of it stays.

use std::path::PathBuf;

use farrier_common::client::{Chunks, Client, ClientError, RepositoryPath};
use tokio::sync::mpsc;

use super::{names::file_name, sink::Part};
use crate::{blocking, exit::Failure};

/// Pieces on their way to the disk.
const PIECES_MAX: usize = 16;
/// How often it is said how far it is, bytes.
const TELL_EVERY: u64 = 256 << 10;

/// What of a repository is fetched.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Content {
    /// What a branch, a tag or a commit holds, in the form with this ending.
    Of { reference: String, format: &'static str },
    /// Every branch and every tag, as one bundle.
    All,
}

impl Content {
    /// The file that it is written to.
    pub(crate) fn name(&self, repo: &RepositoryPath) -> String {
        file_name(&match self {
            Self::Of { reference, format } => format!("{}-{}.{format}", repo.name, reference.replace('/', "-")),
            Self::All => format!("{}-{}.bundle", repo.owner, repo.name),
        })
    }

    /// Begins to fetch it.
    pub(crate) async fn begin(&self, client: &Client, repo: &RepositoryPath) -> Result<Chunks, ClientError> {
        match self {
            Self::Of { reference, format } => client.archive(repo, reference, format).await,
            Self::All => client.bundle(repo).await,
        }
    }
}

/// A file that is whole, and not in its place yet.
#[derive(Debug)]
pub(crate) struct Received {
    part: Part,
    left: Leftover,
}

impl Received {
    pub(crate) fn bytes(&self) -> u64 {
        self.part.have()
    }

    /// Puts it into its place, which is `place`'s business: until then it goes when it is dropped.
    pub(crate) fn put<T>(mut self, place: impl FnOnce(Part) -> Result<T, Failure>) -> Result<T, Failure> {
        let put = place(self.part)?;
        self.left.0 = None;
        Ok(put)
    }
}

/// Writes all of `chunks` to the part file at `place`; `told` hears how many bytes there are.
pub(crate) async fn receive(
    mut chunks: Chunks,
    place: PathBuf,
    doing: &str,
    told: impl Fn(u64),
) -> Result<Received, Failure> {
    let opened = place.clone();
    let part = blocking::run(move || {
        let opening = Part::open(opened.clone()).and_then(|mut part| part.restart().map(|()| part));
        opening.map_err(|source| Failure::io(format!("opening {}", opened.display()), source))
    })
    .await?;
    let left = Leftover(Some(place));
    let (sender, pieces) = mpsc::channel::<bytes::Bytes>(PIECES_MAX);
    let writing = blocking::start(move || write(part, pieces));
    let (mut have, mut last) = (0, 0);
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
        if have - last >= TELL_EVERY {
            last = have;
            told(have);
        }
    };
    drop(sender);
    let part = writing.ended().await?.map_err(|source| Failure::io(doing, source))?;
    received?;
    Ok(Received { part, left })
}

fn write(mut part: Part, mut pieces: mpsc::Receiver<bytes::Bytes>) -> std::io::Result<Part> {
    while let Some(piece) = pieces.blocking_recv() {
        part.append(&piece)?;
    }
    Ok(part)
}

/// Removes an unfinished file, also when the work is dropped.
#[derive(Debug)]
struct Leftover(Option<PathBuf>);

impl Drop for Leftover {
    fn drop(&mut self) {
        if let Some(path) = &self.0 {
            // What cannot be removed is named so that nobody takes it for whole.
            let _ = std::fs::remove_file(path);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_references_are_no_paths() {
        let repo: RepositoryPath = "infra/gateway".parse().unwrap();
        let of = |reference: &str, format| Content::Of { reference: reference.to_owned(), format }.name(&repo);
        assert_eq!(of("release/2.4", "tar.gz"), "gateway-release-2.4.tar.gz");
        assert_eq!(of("../../x", "zip"), "gateway-..-..-x.zip");
        assert_eq!(Content::All.name(&repo), "infra-gateway.bundle");
    }
}
