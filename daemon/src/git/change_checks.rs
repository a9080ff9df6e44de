//! Answers questions about the objects of a change before a ref is moved to them. New objects are in a workspace.

use std::{fs::File, io};

use bytes::Bytes;

use super::{
    GitCommand, GitError, Workspace,
    call::GitOutput,
    read::{commit::CommitObject, objects},
};
use crate::tasks;

/// Limit of the list of changed files, in bytes.
const PATHS_MAX_BYTES: usize = 32 << 20;
/// Limit of the content of new commits, in bytes.
const COMMITS_MAX_BYTES: usize = 32 << 20;
/// Longest checksum of a pack, in characters.
const CHECKSUM_MAX: usize = 64;

/// A pack that was received into a workspace.
#[derive(Debug)]
pub struct ReceivedPack {
    /// The pack, from its beginning. It has all bases of its deltas.
    pub file: File,
    /// Its size.
    pub bytes: u64,
}

impl Workspace {
    /// Returns the command that stores the pack on its standard input in the workspace. The bases of deltas that the
    /// repository has are added to the pack. Objects are not checked. Fails if the pack is larger than `max_bytes`.
    pub fn receive(&self, max_bytes: u64) -> GitCommand {
        self.call(["index-pack", "--stdin", "--fix-thin"]).args([format!("--max-input-size={max_bytes}")])
    }

    /// Opens the pack that [`Workspace::receive`] stored. `output`: what the command wrote.
    pub async fn received(&self, output: &[u8]) -> Result<ReceivedPack, GitError> {
        let checksum = String::from_utf8_lossy(output).trim().rsplit(['\t', ' ']).next().map(str::to_owned);
        let checksum =
            checksum.filter(|text| text.len() <= CHECKSUM_MAX && text.bytes().all(|b| b.is_ascii_hexdigit()));
        let path = self.pack(&checksum.unwrap_or_default());
        let opened = tasks::blocking(move || {
            let file = File::open(path)?;
            let bytes = file.metadata()?.len();
            Ok::<_, io::Error>(ReceivedPack { file, bytes })
        });
        opened.await.map_err(GitError::io("reading the pack of a push"))
    }

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
