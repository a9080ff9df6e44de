//! Archives of commits, and bundles of whole repositories.

use super::Browse;
use crate::{
    git::{
        GitProcess,
        read::{archive::ArchiveFormat, commit::CommitObject},
    },
    service::{Context, Error},
    shares::Share,
};

/// How long an archive waits for a share.
const QUEUE: std::time::Duration = std::time::Duration::from_secs(30);

/// An archive to write.
#[derive(Clone, Debug)]
pub struct Archive {
    /// The commit.
    pub commit: CommitObject,
    /// The format.
    pub format: ArchiveFormat,
    /// File name for clients.
    pub file_name: String,
}

/// Returns the archive for a file name such as `main.tar.gz`.
pub async fn for_file_name(browse: &Browse, name: &str) -> Result<Archive, Error> {
    let unknown = || Error::Body { reason: "archives end in .zip, .tar.gz or .bundle".into() };
    let (revision, format) = ArchiveFormat::split(name).ok_or_else(unknown)?;
    of(browse, revision, format).await
}

/// Returns the archive of the commit that `revision` resolves to.
pub async fn of(browse: &Browse, revision: &str, format: ArchiveFormat) -> Result<Archive, Error> {
    let id = browse.resolve(revision).await?;
    let commit = browse.commit(&id).await?;
    let safe = revision.replace('/', "-");
    let file_name = format!("{}-{safe}.{}", browse.found.repository.name, format.extension());
    Ok(Archive { commit, format, file_name })
}

impl Archive {
    /// Starts to write the archive. The share is held while it is written.
    pub async fn start(&self, context: &Context, browse: &Browse) -> Result<(GitProcess, Share), Error> {
        let share = share(context, browse).await?;
        let prefix = browse.found.repository.name.to_lowercase();
        let process = browse.git.archive(&self.commit.id, self.format, &prefix).await?;
        Ok((process, share))
    }
}

/// Returns an error if the repository has no branches and tags.
pub async fn require_refs(browse: &Browse) -> Result<(), Error> {
    if browse.git.is_empty().await? { Err(Error::NotFound { what: "a branch or a tag" }) } else { Ok(()) }
}

/// Starts to write all branches and tags as one bundle.
pub async fn start_bundle(context: &Context, browse: &Browse) -> Result<(GitProcess, Share), Error> {
    let share = share(context, browse).await?;
    Ok((browse.git.bundle().await?, share))
}

/// Waits for a share of `git.max_archives`.
async fn share(context: &Context, browse: &Browse) -> Result<Share, Error> {
    Ok(context.work.archives.wait(browse.holder, QUEUE).await?)
}
