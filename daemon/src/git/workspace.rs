//! A directory for the objects and the index file of one change. Git reads the objects of the repository as well, but
//! writes only here. A complete change is then packed, checked like a push, and its pack is moved to the repository. An
//! incomplete change leaves nothing in the repository.

mod merge;

use std::{
    ffi::OsString,
    fs, io, mem,
    os::unix::ffi::{OsStrExt as _, OsStringExt as _},
    path::{Path, PathBuf},
    sync::Arc,
};

use bytes::Bytes;

pub use self::merge::MergedTree;
use super::{
    Git, GitCommand, GitError, GitOutput, IncomingPack, RepositoryLock,
    incoming::{self, PackFiles},
    repository::create_dir,
};
use crate::{
    model::secret,
    shares::{Holder, RequestMemory},
    tasks,
};

/// Name of the directory of workspaces in the data directory.
pub(super) const INCOMING_DIR: &str = "incoming";
/// Name of the directory of workspaces of earlier releases, in the home directory of git processes.
const EARLIER_DIR: &str = "changes";
/// Name of the directory of objects in a workspace.
const OBJECTS: &str = "objects";
/// The end of git's message about objects that do not pass its checks.
const CHECK_FAILED: &str = "fsck error in pack";

/// The objects and the index file of one change. Removed when it is dropped, or at the next start if the daemon is
/// killed before.
#[derive(Debug)]
pub struct Workspace {
    git: Git,
    repository: u64,
    directory: PathBuf,
    caller: Option<Holder>,
    memory: Option<Arc<RequestMemory>>,
    /// Another repository whose objects the commands read as well.
    source: Option<u64>,
}

/// The pack of a change in a workspace, which must exist until the pack is installed.
#[derive(Debug)]
#[must_use]
pub struct PackedChange {
    git: Git,
    target: u64,
    pub(super) files: PackFiles,
    /// The number of objects, and the size in bytes.
    pub(super) measured: (u32, u64),
}

impl PackedChange {
    /// Moves the pack to its repository, and returns its size in bytes. No object that the check of the pack found in
    /// the repository may have been removed since.
    pub async fn install(self, _lock: &RepositoryLock) -> Result<u64, GitError> {
        self.git.install_pack(self.files, self.target, self.measured, None).await
    }

    /// Lets the pack own its workspace.
    pub(super) fn with(self, workspace: Workspace) -> IncomingPack {
        IncomingPack::new(self.files, workspace, self.measured)
    }
}

/// Why a change was not stored in the repository.
#[derive(Debug, thiserror::Error)]
pub enum PublishError {
    /// An object does not pass git's checks. Contains git's message.
    #[error("git refuses the change: {0}")]
    Refused(String),
    /// Git failed.
    #[error(transparent)]
    Git(#[from] GitError),
}

/// Removes the workspaces that a killed daemon left in `incoming`, or an earlier release in `home`, and creates their
/// directory. No process of that daemon runs any more. Workspaces contain only copies, and packs and changes that were
/// never acknowledged, and no row refers to them.
pub(super) fn clear(incoming: &Path, home: &Path) -> io::Result<()> {
    let earlier = home.join(EARLIER_DIR);
    for directory in [incoming, earlier.as_path()] {
        match fs::remove_dir_all(directory) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
    }
    create_dir(incoming)
}

impl Workspace {
    /// Creates a workspace for a change of a repository. Its processes count to the shares of `caller`, and what is
    /// kept in memory to `memory`.
    pub(super) async fn create(
        git: Git,
        repository: u64,
        caller: Option<Holder>,
        memory: Option<Arc<RequestMemory>>,
    ) -> Result<Self, GitError> {
        let directory = git.0.incoming.join(hex::encode(secret::random_bytes::<8>()));
        let workspace = Self { git, repository, directory, caller, memory, source: None };
        let packs = workspace.packs();
        let created = tasks::blocking(move || fs::create_dir_all(packs)).await;
        created.map_err(GitError::io("creating a directory for a change"))?;
        Ok(workspace)
    }

    /// Lets the commands read the objects of the repository `source` as well, as long as the workspace exists.
    #[must_use]
    pub fn reading(mut self, source: u64) -> Self {
        self.source = Some(source);
        self
    }

    /// Runs a git command whose new objects are stored in the workspace.
    pub(super) async fn run<const N: usize>(
        &self,
        args: [&str; N],
        stdin: impl Into<Bytes>,
    ) -> Result<GitOutput, GitError> {
        self.call(args).stdin(stdin).run().await
    }

    /// Counts `bytes` of input to the memory of the request.
    pub(super) fn count(&self, bytes: usize) -> Result<(), GitError> {
        self.memory.as_ref().map_or(Ok(()), |memory| Ok(memory.grow(bytes)?))
    }

    /// Returns the directory of the workspace.
    pub(super) fn directory(&self) -> &Path {
        &self.directory
    }

    /// Returns the directory of packs of the workspace.
    pub(super) fn packs(&self) -> PathBuf {
        self.directory.join(OBJECTS).join("pack")
    }

    pub(super) fn git(&self) -> &Git {
        &self.git
    }

    /// Returns a git command whose new objects are stored in the workspace.
    pub(super) fn call<const N: usize>(&self, args: [&str; N]) -> GitCommand {
        let mut others = quoted(&self.git.directory(self.repository).join(OBJECTS));
        if let Some(source) = self.source {
            others.push(":");
            others.push(quoted(&self.git.directory(source).join(OBJECTS)));
        }
        self.counted(self.git.call(self.repository, args))
            .env("GIT_OBJECT_DIRECTORY", self.directory.join(OBJECTS))
            .env("GIT_ALTERNATE_OBJECT_DIRECTORIES", others)
            .env("GIT_INDEX_FILE", self.directory.join("index"))
            // Nothing here is acknowledged before it was moved to the repository, which syncs it.
            .config("core.fsync", "none")
    }

    fn counted(&self, call: GitCommand) -> GitCommand {
        call.caller(self.caller).memory(self.memory.clone())
    }

    /// Fills the index with the tree of the commit `commit`.
    pub async fn read_tree(&self, commit: &str) -> Result<(), GitError> {
        self.call(["read-tree"]).args([commit]).run().await.map(drop)
    }

    /// Applies a unified diff to the index.
    pub async fn apply(&self, patch: Bytes) -> Result<(), GitError> {
        let call = self.call(["apply", "--cached", "--whitespace=nowarn", "-"]);
        call.config("core.protectHFS", "true").config("core.protectNTFS", "true").stdin(patch).run().await.map(drop)
    }

    /// Writes the trees of the index and returns the id of the root.
    pub async fn write_tree(&self) -> Result<String, GitError> {
        let output = self.call(["write-tree"]).run().await?;
        Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
    }

    /// Writes an object of the type `kind` with this text and returns its id. Git checks the format.
    pub async fn write_object(&self, kind: &str, text: &str) -> Result<String, GitError> {
        let output = self.run(["hash-object", "-t", kind, "-w", "--stdin"], text.to_owned()).await?;
        Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
    }

    /// Writes a tag object with this text and returns its id. Git checks that its commit exists.
    pub async fn write_tag(&self, text: &str) -> Result<String, GitError> {
        let output = self.run(["mktag"], text.to_owned()).await?;
        Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
    }

    /// Packs `commit` and what it refers to, except what the commit `base` has, and checks the objects like those of a
    /// push. The pack is in the workspace until it is installed.
    ///
    /// All objects get the current time, including those that the repository had but that no ref reached. So the
    /// pruning keeps them until the branch was moved.
    pub async fn pack(&self, commit: &str, base: Option<&str>) -> Result<PackedChange, PublishError> {
        self.pack_for(self.repository, commit, base).await
    }

    /// Like [`Workspace::pack`], for the repository `target`, which has the objects of `base`.
    pub async fn pack_for(&self, target: u64, commit: &str, base: Option<&str>) -> Result<PackedChange, PublishError> {
        let base = base.map(|base| format!("^{base}\n")).unwrap_or_default();
        self.pack_revisions(target, format!("{commit}\n{base}"), "--strict").await
    }

    /// Like [`Workspace::pack_for`], for a list of object ids, one on each line. Those that start with `^` are in the
    /// repository already. `strict`: the option of `git index-pack` with the checks.
    ///
    /// The check reads only the pack and `target`. So an object that names another one, which neither of them has, is
    /// not stored, also if the workspace has it.
    pub(super) async fn pack_revisions(
        &self,
        target: u64,
        revisions: String,
        strict: &str,
    ) -> Result<PackedChange, PublishError> {
        // The bitmap of a large repository takes longer than the few objects.
        let pack = self.call(["pack-objects", "--revs", "-q", "--no-use-bitmap-index"]);
        let output = pack.args([self.directory.join("new")]).stdin(revisions).run().await?;
        let checksum = String::from_utf8_lossy(&output.stdout).trim().to_owned();
        let packed = self.directory.join(format!("new-{checksum}.pack"));
        let files = PackFiles::new(&self.directory);
        let pack = files.pack.clone();
        let measured = tasks::blocking(move || {
            fs::rename(packed, &pack)?;
            incoming::measure(&pack)
        });
        let measured = measured.await.map_err(GitError::io("reading the pack of a change"))?;
        let check = self.git.call(target, ["index-pack", strict, "-o"]).config("core.fsync", "none");
        let check = check.config("pack.writeReverseIndex", "false").args([files.index.clone(), files.pack.clone()]);
        match self.counted(check).run().await {
            Ok(_) => {}
            Err(GitError::Failed { stderr, .. }) if stderr.contains(CHECK_FAILED) => {
                return Err(PublishError::Refused(stderr));
            }
            Err(error) => return Err(error.into()),
        }
        let checked = files.clone();
        tasks::blocking(move || checked.sync()).await.map_err(GitError::io("storing the pack of a change"))?;
        Ok(PackedChange { git: self.git.clone(), target, files, measured })
    }

    /// Removes the workspace.
    pub async fn remove(mut self) {
        let directory = mem::take(&mut self.directory);
        tasks::blocking(move || remove(&directory)).await;
    }
}

impl Drop for Workspace {
    fn drop(&mut self) {
        let directory = mem::take(&mut self.directory);
        // Empty after `remove`. A directory with a large pack takes long.
        if !directory.as_os_str().is_empty() {
            tasks::from_drop(move || remove(&directory));
        }
    }
}

/// Removes a workspace. Only its change uses it, and nothing in it was acknowledged. What cannot be removed is removed
/// at the next start.
fn remove(directory: &Path) {
    let _ = fs::remove_dir_all(directory);
}

/// Returns a path for the list of alternates, in which a colon would separate two paths.
fn quoted(path: &Path) -> OsString {
    let mut text = vec![b'"'];
    for byte in path.as_os_str().as_bytes() {
        if matches!(byte, b'"' | b'\\') {
            text.push(b'\\');
        }
        text.push(*byte);
    }
    text.push(b'"');
    OsString::from_vec(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_of_alternates_are_quoted() {
        assert_eq!(quoted(Path::new("/a:b/\"c\\d")), "\"/a:b/\\\"c\\\\d\"");
    }
}
