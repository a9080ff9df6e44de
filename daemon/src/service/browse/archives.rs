//! Archives of a commit.

use tokio::sync::OwnedSemaphorePermit;

use super::Browse;
use crate::{
    app::App,
    git::{
        GitProcess,
        read::{archive::Format, commit::Commit},
    },
    service::Error,
};

/// An archive waits this long for others to end.
const QUEUE: std::time::Duration = std::time::Duration::from_secs(30);

/// The commit of an archive, and what it is called in file names.
#[derive(Clone, Debug)]
pub struct Archive {
    /// The commit.
    pub commit: Commit,
    /// How it is written.
    pub format: Format,
    /// File name for clients.
    pub file_name: String,
}

/// The archive called `name`, such as `main.tar.gz`.
pub async fn named(browse: &Browse, name: &str) -> Result<Archive, Error> {
    let unknown = || Error::Body { reason: "archives end in .zip, .tar.gz or .bundle".into() };
    let (revision, format) = Format::split(name).ok_or_else(unknown)?;
    of(browse, revision, format).await
}

/// The archive of the commit that `revision` names.
pub async fn of(browse: &Browse, revision: &str, format: Format) -> Result<Archive, Error> {
    let id = browse.resolve(revision).await?;
    let commit = browse.commit(&id).await?;
    let safe = revision.replace('/', "-");
    let file_name = format!("{}-{safe}.{}", browse.found.repository.name, format.ending());
    Ok(Archive { commit, format, file_name })
}

impl Archive {
    /// Starts to write it. At most `git.max_archives` run at once; the permit is one of them.
    pub async fn start(&self, app: &App, browse: &Browse) -> Result<(GitProcess, OwnedSemaphorePermit), Error> {
        let turn = tokio::time::timeout(QUEUE, app.archives.clone().acquire_owned()).await;
        let permit = turn.ok().and_then(Result::ok).ok_or(Error::Busy)?;
        let process = browse.git.archive(&self.commit.id, self.format, &browse.found.repository.name).await?;
        Ok((process, permit))
    }
}
