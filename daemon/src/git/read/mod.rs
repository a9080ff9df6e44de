//! Reads commits, trees, refs and objects of one repository.
//!
//! Objects and refs are read in the daemon where that is possible (`direct`). Histories, and everything that is not
//! supported there, are read by one short git process per query. Results for known ids are kept (`cache`).
//!
//! Names from outside are passed on git's standard input or after `--`. All other variable arguments are ids
//! that git printed. The other submodules parse git's output and do no I/O.

pub mod archive;
mod cache;
pub mod commit;
mod direct;
pub mod history;
pub mod languages;
mod names;
pub mod objects;
mod query;
mod ref_files;
pub mod refs;
pub mod rev;
#[cfg(test)]
mod tests;
pub mod tree;

use std::{io, sync::Arc, time::Duration};

use bytes::Bytes;

pub(super) use self::cache::ReadCache;
pub use self::{cache::LastChanges, query::HistoryQuery};
use self::{
    cache::{ReadKey, ReadResult},
    commit::{CommitObject, TagObject},
    history::Changes,
    objects::{GitObject, ObjectInfo},
    refs::Reference,
    tree::TreeEntry,
};
use super::{Git, GitCommand, GitError, GitProcess, Workspace, objects::ObjectId};
use crate::shares::{Holder, RequestMemory};

/// Output limit for lists of refs and trees, bytes.
const LIST_MAX_BYTES: usize = 64 << 20;
/// Output limit for commits and tags, bytes.
const COMMITS_MAX_BYTES: usize = 64 << 20;

/// Time limit of a query. A small repository can contain trees that take git hours to list.
pub const READ_TIMEOUT: Duration = Duration::from_secs(10);

/// Runs queries on one repository.
#[derive(Clone, Debug)]
pub struct RepositoryReader {
    git: Git,
    repository: u64,
    timeout: Duration,
    /// The caller whose shares the processes use. `None`: work of the daemon itself.
    caller: Option<Holder>,
    memory: Option<Arc<RequestMemory>>,
}

impl Git {
    /// Returns a reader for the repository with number `repository`. Its queries are limited to [`READ_TIMEOUT`].
    pub fn reader(&self, repository: u64) -> RepositoryReader {
        let timeout = READ_TIMEOUT.min(self.timeout());
        RepositoryReader { git: self.clone(), repository, timeout, caller: None, memory: None }
    }
}

impl RepositoryReader {
    /// Replaces the time limit of queries. For work that no client waits for.
    #[must_use]
    pub fn with_timeout(self, timeout: Duration) -> Self {
        Self { timeout, ..self }
    }

    /// Counts processes to the shares of `holder`.
    #[must_use]
    pub fn for_holder(self, holder: Holder) -> Self {
        Self { caller: Some(holder), ..self }
    }

    /// Counts what queries return to the memory of a request.
    #[must_use]
    pub fn with_memory(self, memory: Option<Arc<RequestMemory>>) -> Self {
        Self { memory, ..self }
    }

    /// Creates a workspace for a change of the repository, with the same limits for the caller.
    pub async fn workspace(&self) -> Result<Workspace, GitError> {
        Workspace::create(self.git.clone(), self.repository, self.caller, self.memory.clone()).await
    }

    /// Returns a git command with the time limit of queries.
    fn call<const N: usize>(&self, args: [&str; N]) -> GitCommand {
        self.limited(self.git.call(self.repository, args))
    }

    /// Adds the limits of queries to a command.
    fn limited(&self, call: GitCommand) -> GitCommand {
        call.timeout(self.timeout).memory(self.memory.clone()).caller(self.caller)
    }

    /// Returns the id, type and size of the object that each of `names` names; `None` if the object does not
    /// exist or the name is invalid.
    pub async fn infos(&self, names: &[String]) -> Result<Vec<Option<ObjectInfo>>, GitError> {
        let output = self.call(["cat-file", "--batch-check"]).stdin(lines(names)).run().await?;
        Ok(objects::infos(&output.stdout))
    }

    /// Returns the first of `names` that names an object.
    pub async fn first(&self, names: &[String]) -> Result<Option<ObjectInfo>, GitError> {
        if let Some(found) = self.first_directly(names).await? {
            return Ok(found);
        }
        Ok(self.infos(names).await?.into_iter().flatten().next())
    }

    /// Returns the objects with their content. Fails if they have more than `limit` bytes in total.
    pub async fn objects(&self, names: &[String], limit: usize) -> Result<Vec<Option<GitObject>>, GitError> {
        if let Some(found) = self.objects_directly(names, limit).await? {
            return Ok(found);
        }
        let call = self.call(["cat-file", "--batch"]);
        let output = call.stdin(lines(names)).output_max_bytes(limit).run().await?;
        objects::objects(&output.stdout).map_err(unexpected_output)
    }

    /// Resolves `revision` to a commit id. Branches take precedence over tags, and tags over other names.
    pub async fn resolve(&self, revision: &str) -> Result<Option<String>, GitError> {
        if !rev::is_revision(revision) {
            return Ok(None);
        }
        let peel = |prefix: &str| format!("{prefix}{revision}^{{commit}}");
        // A full id is not looked up as a branch name.
        let names =
            if rev::is_full_id(revision) { vec![peel("")] } else { ["refs/heads/", "refs/tags/", ""].map(peel).into() };
        Ok(self.first(&names).await?.map(|info| info.id))
    }

    /// Returns the commits with these ids, in this order. Ids that do not exist are left out.
    pub async fn commits(&self, ids: &[String]) -> Result<Vec<CommitObject>, GitError> {
        if ids.is_empty() {
            return Ok(Vec::new());
        }
        let objects = self.objects(ids, COMMITS_MAX_BYTES).await?.into_iter().flatten();
        let commits = objects.filter(|object| object.info.kind == "commit");
        Ok(commits.map(|object| CommitObject::parse(&object.info.id, &object.content)).collect())
    }

    /// Returns the tag objects with these ids, in this order. Ids that do not exist are left out.
    pub async fn tags(&self, ids: &[String]) -> Result<Vec<TagObject>, GitError> {
        if ids.is_empty() {
            return Ok(Vec::new());
        }
        let objects = self.objects(ids, COMMITS_MAX_BYTES).await?.into_iter().flatten();
        let tags = objects.filter(|object| object.info.kind == "tag");
        Ok(tags.map(|object| TagObject::parse(&object.info.id, &object.content)).collect())
    }

    /// Returns the refs below `prefix`, for example `refs/heads/`, sorted by name.
    pub async fn refs(&self, prefix: &str) -> Result<Vec<Reference>, GitError> {
        if let Some(refs) = self.refs_directly(prefix).await? {
            return Ok(refs);
        }
        let call = self.call(["for-each-ref", refs::FORMAT]);
        let output = call.paths([prefix]).output_max_bytes(LIST_MAX_BYTES).run().await?;
        Ok(refs::parse(&output.stdout))
    }

    /// Returns whether the repository has no refs.
    pub async fn is_empty(&self) -> Result<bool, GitError> {
        if let Some(empty) = self.is_empty_directly().await? {
            return Ok(empty);
        }
        let output = self.call(["for-each-ref", "--count=1"]).run().await?;
        Ok(output.stdout.is_empty())
    }

    /// Returns the entries of the tree or commit `id`. With `recursive`, also the entries of its
    /// subdirectories.
    pub async fn tree(&self, id: &str, recursive: bool) -> Result<Vec<TreeEntry>, GitError> {
        if let Some(entries) = self.tree_directly(id, recursive).await? {
            return Ok(entries);
        }
        let call = self.call(["ls-tree", "-z", "-l", "--full-tree"]);
        let call = if recursive { call.args(["-r", "-t"]) } else { call };
        let output = call.paths([id]).output_max_bytes(LIST_MAX_BYTES).run().await?;
        Ok(tree::parse(&output.stdout))
    }

    /// Returns the entry at `path` in the commit `commit`.
    pub async fn entry(&self, commit: &str, path: &str) -> Result<Option<TreeEntry>, GitError> {
        if let Some(entry) = self.entry_directly(commit, path).await? {
            return Ok(entry);
        }
        let call = self.call(["ls-tree", "-z", "-l", "--full-tree"]);
        let output = call.env("GIT_LITERAL_PATHSPECS", "1").paths([commit, path]).run().await?;
        Ok(tree::parse(&output.stdout).into_iter().find(|entry| entry.path == path))
    }

    /// Returns commits with their changes, newest first.
    pub async fn history(&self, query: &HistoryQuery) -> Result<Vec<Changes>, GitError> {
        let key = self.key_of(query, ReadKey::History);
        if let Some(ReadResult::History(commits)) = key.as_ref().and_then(|key| self.cached(key)) {
            return Ok(commits.as_ref().clone());
        }
        let commits = self.read_history(query).await?;
        if let Some(key) = key {
            self.keep(key, ReadResult::History(Arc::new(commits.clone())));
        }
        Ok(commits)
    }

    async fn read_history(&self, query: &HistoryQuery) -> Result<Vec<Changes>, GitError> {
        let log = async |call: GitCommand| {
            let output = self.limited(call).output_max_bytes(COMMITS_MAX_BYTES).run().await?;
            Ok::<_, GitError>(history::parse(&output.stdout))
        };
        if !query.in_two_steps() {
            return log(query.log(&self.git, self.repository)).await;
        }
        let commits = log(HistoryQuery { changes: false, ..query.clone() }.log(&self.git, self.repository)).await?;
        let ids: Vec<String> = commits.into_iter().map(|commit| commit.id).collect();
        if ids.is_empty() {
            return Ok(Vec::new());
        }
        log(query::changes_of(&self.git, self.repository).stdin(lines(&ids))).await
    }

    /// Returns the last commit that changed each entry of the directory at `path` (empty: the root) of the commit
    /// `commit`, among the newest `limit` commits that changed the directory.
    pub async fn last_changes(&self, commit: &str, path: &str, limit: usize) -> Result<Arc<LastChanges>, GitError> {
        let key = ObjectId::parse(commit).map(|id| ReadKey::LastChanges(self.repository, id, path.to_owned()));
        if let Some(ReadResult::LastChanges(found)) = key.as_ref().and_then(|key| self.cached(key)) {
            return Ok(found);
        }
        let query = HistoryQuery {
            from: commit.to_owned(),
            path: path.to_owned(),
            limit,
            changes: true,
            combined: true,
            ..HistoryQuery::default()
        };
        let commits = self.read_history(&query).await?;
        let below = if path.is_empty() { String::new() } else { format!("{path}/") };
        let touched = history::last_touched(&commits, &below);
        let found: LastChanges =
            touched.into_iter().map(|(name, commit)| (name.to_owned(), commit.to_owned())).collect();
        let found = Arc::new(found);
        if let Some(key) = key {
            self.keep(key, ReadResult::LastChanges(found.clone()));
        }
        Ok(found)
    }

    /// Returns the number of commits that match, regardless of `skip` and `limit`.
    pub async fn count(&self, query: &HistoryQuery) -> Result<u64, GitError> {
        let all = HistoryQuery { skip: 0, limit: 0, changes: false, combined: false, ..query.clone() };
        let key = self.key_of(&all, ReadKey::Count);
        if let Some(ReadResult::Count(count)) = key.as_ref().and_then(|key| self.cached(key)) {
            return Ok(count);
        }
        let output = self.limited(query.count(&self.git, self.repository)).run().await?;
        let text = String::from_utf8_lossy(&output.stdout);
        let count = text.trim().parse().map_err(unexpected_output)?;
        if let Some(key) = key {
            self.keep(key, ReadResult::Count(count));
        }
        Ok(count)
    }

    /// Returns the key of a query whose result never changes: all its commits are full ids.
    fn key_of(&self, query: &HistoryQuery, key: fn(u64, HistoryQuery) -> ReadKey) -> Option<ReadKey> {
        let mut commits = std::iter::once(&query.from).chain(&query.not);
        commits.all(|id| ObjectId::parse(id).is_some()).then(|| key(self.repository, query.clone()))
    }

    /// Starts to write the content of the blob `id`.
    pub async fn blob(&self, id: &str) -> Result<GitProcess, GitError> {
        self.call(["cat-file", "blob"]).args([id]).stream(self.stream_holder()).await
    }

    /// Starts to write the changes of the commit `id`: as a patch email if `mail` is set, else as a plain diff.
    pub async fn diff(&self, id: &str, mail: bool) -> Result<GitProcess, GitError> {
        let format_patch = ["format-patch", "-1", "--stdout", "--no-signature"];
        let call = self.call(if mail { format_patch } else { ["show", "--format=", "--first-parent", "--patch"] });
        call.args(["--no-ext-diff", "--no-textconv", "--abbrev=7", id]).stream(self.stream_holder()).await
    }

    /// Returns the holder of processes with streamed output.
    fn stream_holder(&self) -> Holder {
        self.caller.unwrap_or(Holder::Address(None))
    }
}

fn unexpected_output(source: impl std::error::Error + Send + Sync + 'static) -> GitError {
    GitError::Io { doing: "parsing its output", source: io::Error::new(io::ErrorKind::InvalidData, source) }
}

/// Writes one name per line. A name with a line break would be read as two, so it becomes an empty line, which
/// no object matches.
fn lines(names: &[String]) -> Bytes {
    let mut text = String::new();
    for name in names {
        text.push_str(if name.contains(['\n', '\r', '\0']) { "" } else { name });
        text.push('\n');
    }
    text.into()
}
