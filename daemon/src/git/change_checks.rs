//! Answers questions about the objects of a change before a ref is moved to them. New objects are in a workspace.

use std::{collections::BTreeMap, error::Error as StdError, time::Duration};

use bytes::Bytes;

use super::{
    Git, GitCommand, GitError, IncomingPack, Workspace,
    call::GitOutput,
    objects::{ObjectId, ObjectKind, ReadError},
    read::{commit::CommitObject, objects},
};
use crate::{shares::Holder, tasks};

/// Limit of the list of changed files, in bytes.
const PATHS_MAX_BYTES: usize = 32 << 20;
/// Limit of the content of new commits, in bytes.
const COMMITS_MAX_BYTES: usize = 32 << 20;

/// Longest time for reading all objects of a push.
const CONNECTED_MAX: Duration = Duration::from_secs(3_600);

/// The type of the object that a ref is moved to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TipKind {
    /// A commit.
    Commit,
    /// A tag object.
    Tag,
    /// A tree or a blob.
    Other,
}

impl TipKind {
    fn of(kind: ObjectKind) -> Self {
        match kind {
            ObjectKind::Commit => Self::Commit,
            ObjectKind::Tag => Self::Tag,
            ObjectKind::Tree | ObjectKind::Blob => Self::Other,
        }
    }
}

impl Git {
    /// Returns the types of the objects `ids`, which are in the repository or in `pack`. `None`: neither has the
    /// object, or the id is not valid. Asks git if the daemon cannot read an object itself.
    pub async fn kinds(
        &self,
        repository: u64,
        pack: Option<&IncomingPack>,
        ids: &[String],
    ) -> Result<Vec<Option<TipKind>>, GitError> {
        let parsed: Vec<_> = ids.iter().map(|id| ObjectId::parse(id)).collect();
        let (git, files, wanted) = (self.clone(), pack.map(|pack| pack.files().clone()), parsed.clone());
        let read = tasks::blocking(move || {
            let mut reader = git.tip_reader(repository, files.as_ref())?;
            let kinds = wanted.iter().map(|id| id.as_ref().map_or(Ok(None), |id| reader.kind(id)));
            kinds.collect::<Result<Vec<_>, ReadError>>()
        });
        match read.await {
            Ok(kinds) => Ok(kinds.into_iter().map(|kind| kind.map(TipKind::of)).collect()),
            Err(error) => {
                tracing::debug!(repository, error = &error as &dyn StdError, "git reads the objects of a push");
                self.kinds_by_git(repository, pack, &parsed).await
            }
        }
    }

    pub(super) async fn kinds_by_git(
        &self,
        repository: u64,
        pack: Option<&IncomingPack>,
        ids: &[Option<ObjectId>],
    ) -> Result<Vec<Option<TipKind>>, GitError> {
        let names: String = ids.iter().flatten().map(|id| id.hex() + "\n").collect();
        let check = ["cat-file", "--batch-check=%(objectname) %(objecttype)"];
        let GitOutput { stdout, .. } = self.call_with(repository, pack, check).stdin(names).run().await?;
        let text = String::from_utf8_lossy(&stdout);
        let mut lines = text.lines();
        let kinds = ids.iter().map(|id| {
            let (id, line) = (id.as_ref()?.hex(), lines.next()?);
            // An object with another name: git takes a SHA-1 id for the beginning of a SHA-256 id.
            let (name, kind) = line.split_once(' ')?;
            ObjectKind::parse(kind).filter(|_| name == id).map(TipKind::of)
        });
        Ok(kinds.collect())
    }

    /// Returns the id of the object to which the tag object `id` leads, through other tags. `None`: it is another
    /// object, or neither the repository nor `pack` has it. A tag whose target is missing is an error. If the daemon
    /// cannot read the objects itself, a missing `id` is an error as well.
    pub async fn peeled(
        &self,
        repository: u64,
        pack: Option<&IncomingPack>,
        id: &str,
    ) -> Result<Option<String>, GitError> {
        Ok(self.all_peeled(repository, pack, &[id.to_owned()]).await?.into_values().next())
    }

    /// Like [`Git::peeled`], for several ids. Returns the targets by the ids of the tag objects.
    pub async fn all_peeled(
        &self,
        repository: u64,
        pack: Option<&IncomingPack>,
        ids: &[String],
    ) -> Result<BTreeMap<String, String>, GitError> {
        let parsed: Vec<_> = ids.iter().filter_map(|id| ObjectId::parse(id)).collect();
        if parsed.is_empty() {
            return Ok(BTreeMap::new());
        }
        let (git, files, wanted) = (self.clone(), pack.map(|pack| pack.files().clone()), parsed.clone());
        let read = tasks::blocking(move || {
            let mut reader = git.tip_reader(repository, files.as_ref())?;
            let mut peeled = BTreeMap::new();
            for id in wanted {
                if let Some(target) = reader.peeled(&id)? {
                    peeled.insert(id.hex(), target.hex());
                }
            }
            Ok::<_, ReadError>(peeled)
        });
        match read.await {
            Ok(peeled) => Ok(peeled),
            Err(error) => {
                tracing::debug!(repository, error = &error as &dyn StdError, "git reads the tags of a push");
                self.peeled_by_git(repository, pack, &parsed).await
            }
        }
    }

    /// With one process, because a push may have thousands of tags that the daemon does not read itself.
    pub(super) async fn peeled_by_git(
        &self,
        repository: u64,
        pack: Option<&IncomingPack>,
        ids: &[ObjectId],
    ) -> Result<BTreeMap<String, String>, GitError> {
        let names: String = ids.iter().map(|id| id.hex() + "^{}\n").collect();
        let check = ["cat-file", "--batch-check=%(objectname)"];
        let GitOutput { stdout, .. } = self.call_with(repository, pack, check).stdin(names).run().await?;
        let text = String::from_utf8_lossy(&stdout);
        let mut peeled = BTreeMap::new();
        for (id, line) in ids.iter().map(ObjectId::hex).zip(text.lines()) {
            if ObjectId::parse(line).is_none() {
                let stderr = format!("tag {id} or its target is missing");
                return Err(GitError::Failed { command: "cat-file".into(), status: Some(0), stderr });
            }
            if line != id {
                peeled.insert(id, line.to_owned());
            }
        }
        Ok(peeled)
    }

    /// Returns whether the repository and `pack` have every object that `tips` reach, apart from what the refs of the
    /// repository reach. Needed only for repositories that are not closed: in a closed repository, the check of the
    /// pack is sufficient. The process, which may take long, counts to the share of `caller`; `None`: it belongs to the
    /// daemon, or the lock of the repository is held, and nobody should wait for a share meanwhile.
    pub async fn is_connected(
        &self,
        repository: u64,
        pack: Option<&IncomingPack>,
        tips: &[String],
        caller: Option<Holder>,
    ) -> Result<bool, GitError> {
        let ids: String = tips.iter().filter_map(|id| ObjectId::parse(id)).map(|id| id.hex() + "\n").collect();
        // As git checks a push: the ids are read before `--not` turns the meaning of the refs.
        let list = ["rev-list", "--objects", "--stdin", "--not", "--all", "--quiet"];
        let call = self.call_with(repository, pack, list).stdin(ids).timeout(CONNECTED_MAX);
        match call.caller(caller).run().await {
            Ok(_) => Ok(true),
            Err(GitError::Failed { status: Some(status), stderr, .. }) => {
                tracing::info!(repository, status, stderr, "a push names objects that are missing");
                Ok(false)
            }
            Err(error) => Err(error),
        }
    }

    /// Returns a git command that reads the objects of the repository and of `pack`.
    fn call_with<const N: usize>(&self, repository: u64, pack: Option<&IncomingPack>, args: [&str; N]) -> GitCommand {
        match pack {
            Some(pack) => pack.workspace().call(args),
            None => self.call(repository, args),
        }
    }
}

impl Workspace {
    /// Returns whether `new` lacks commits that `old` has.
    pub async fn loses_commits(&self, old: &str, new: &str) -> Result<bool, GitError> {
        match self.call(["merge-base", "--is-ancestor"]).args([old, new]).run().await {
            Ok(_) => Ok(false),
            Err(GitError::Failed { status: Some(1), .. }) => Ok(true),
            Err(error) => Err(error),
        }
    }

    /// Returns the paths of files that differ between the commits `old` and `new`. Without `old`, the files that are
    /// changed by commits of `new` that no ref reaches. Separated by zero bytes; there may be empty paths.
    pub async fn changed_files(&self, old: Option<&str>, new: &str) -> Result<Bytes, GitError> {
        let call = if let Some(old) = old {
            self.call(["diff-tree", "-r", "-z", "--name-only", "--no-renames"]).args([old, new])
        } else {
            let log = self.call(["log", "-z", "--name-only", "--format=", "--no-renames", "-c", "--root"]);
            log.args([new, "--not", "--all"])
        };
        let GitOutput { stdout, .. } = call.output_max_bytes(PATHS_MAX_BYTES).run().await?;
        Ok(stdout)
    }

    /// Returns the commits of `new` that `old` does not have; without `old`, those that no ref reaches. `None` if there
    /// are more than `max`.
    pub async fn new_commits(
        &self,
        old: Option<&str>,
        new: &str,
        max: usize,
    ) -> Result<Option<Vec<CommitObject>>, GitError> {
        let limit = format!("--max-count={}", max.saturating_add(1));
        let list = self.call(["rev-list"]).args([limit.as_str(), new, "--not", old.unwrap_or("--all")]);
        let ids = list.run().await?.stdout;
        let count = ids.split(|byte| *byte == b'\n').filter(|id| !id.is_empty()).count();
        if count == 0 || count > max {
            return Ok((count == 0).then(Vec::new));
        }
        let read = self.call(["cat-file", "--batch"]).stdin(ids).output_max_bytes(COMMITS_MAX_BYTES);
        let GitOutput { stdout, .. } = read.run().await?;
        // Reading many megabytes takes longer than other tasks should wait.
        let parse = move || {
            let found = objects::objects(&stdout).unwrap_or_default();
            let commits = found.into_iter().flatten().filter(|object| object.info.kind == "commit");
            commits.map(|object| CommitObject::parse(&object.info.id, &object.content)).collect::<Vec<_>>()
        };
        let commits = tasks::blocking(parse).await;
        if commits.len() == count {
            return Ok(Some(commits));
        }
        let stderr = "not all of the listed commits could be read".into();
        Err(GitError::Failed { command: "cat-file".into(), status: Some(0), stderr })
    }
}
