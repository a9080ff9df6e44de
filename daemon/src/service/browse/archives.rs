//! Archives of a commit, and of a whole repository.

use tokio::sync::OwnedSemaphorePermit;

use super::Browse;
use crate::{
    app::App,
    git::{
        GitProcess,
        read::{archive::ArchiveFormat, commit::CommitObject},
    },
    service::Error,
};

/// An archive waits this long for others to end.
const QUEUE: std::time::Duration = std::time::Duration::from_secs(30);

/// The commit of an archive, and what it is called in file names.
#[derive(Clone, Debug)]
pub struct Archive {
    /// The commit.
    pub commit: CommitObject,
    /// How it is written.
    pub format: ArchiveFormat,
    /// File name for clients.
    pub file_name: String,
}

/// The archive called `name`, such as `main.tar.gz`.
pub async fn named(browse: &Browse, name: &str) -> Result<Archive, Error> {
    let unknown = || Error::Body { reason: "archives end in .zip, .tar.gz or .bundle".into() };
    let (revision, format) = ArchiveFormat::split(name).ok_or_else(unknown)?;
    of(browse, revision, format).await
}

/// The archive of the commit that `revision` names.
pub async fn of(browse: &Browse, revision: &str, format: ArchiveFormat) -> Result<Archive, Error> {
    let id = browse.resolve(revision).await?;
    let commit = browse.commit(&id).await?;
    let safe = revision.replace('/', "-");
    let file_name = format!("{}-{safe}.{}", browse.found.repository.name, format.extension());
    Ok(Archive { commit, format, file_name })
}

impl Archive {
    /// Starts to write it. The permit is one of those that bound how many are written at once.
    pub async fn start(&self, app: &App, browse: &Browse) -> Result<(GitProcess, OwnedSemaphorePermit), Error> {
        let permit = turn(app).await?;
        let process = browse.git.archive(&self.commit.id, self.format, &browse.found.repository.name).await?;
        Ok((process, permit))
    }
}

/// Refuses what there would be nothing in.
pub async fn require_refs(browse: &Browse) -> Result<(), Error> {
    if browse.git.is_empty().await? { Err(Error::NotFound { what: "a branch or a tag" }) } else { Ok(()) }
}

/// Starts to write all branches and tags as one bundle.
pub async fn start_bundle(app: &App, browse: &Browse) -> Result<(GitProcess, OwnedSemaphorePermit), Error> {
    let permit = turn(app).await?;
    Ok((browse.git.bundle().await?, permit))
}

/// Waits until one of `git.max_archives` may be written.
async fn turn(app: &App) -> Result<OwnedSemaphorePermit, Error> {
    let turn = tokio::time::timeout(QUEUE, app.archives.clone().acquire_owned()).await;
    turn.ok().and_then(Result::ok).ok_or(Error::Busy)
}
