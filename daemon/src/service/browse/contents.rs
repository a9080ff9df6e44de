//! Reads files and directories by path.

use std::{
    collections::{BTreeSet, HashMap},
    sync::Arc,
};

use bytes::Bytes;

use super::{
    Browse,
    objects::{self, SHOWN_MAX_BYTES},
};
use crate::{
    git::{
        GitProcess,
        read::{
            HistoryQuery,
            commit::CommitObject,
            tree::{EntryKind, TreeEntry},
        },
    },
    model::lfs_pointer::{LfsPointer, POINTER_MAX_BYTES},
    service::Error,
};

/// Number of commits to search for the last change of each entry in a directory.
const SEARCH_MAX_COMMITS: usize = 2_000;
/// The file with the URLs of submodules.
const MODULES: &str = ".gitmodules";

/// An entry at a path of a commit.
#[derive(Clone, Debug)]
pub struct ContentEntry {
    /// Its full path.
    pub path: String,
    /// Its entry in the tree.
    pub entry: TreeEntry,
    /// The last commit that changed it.
    pub last_commit: Arc<CommitObject>,
    /// Content of a single file or symbolic link. `None` if it was not requested or is too large.
    pub content: Option<Bytes>,
    /// URL of a submodule, if the commit has it.
    pub submodule_url: Option<String>,
}

/// The content of a path.
#[derive(Clone, Debug)]
pub enum Contents {
    /// A directory's entries.
    Directory(Vec<ContentEntry>),
    /// One file, symbolic link or submodule.
    Single(Box<ContentEntry>),
}

/// Returns the content of `path` in the commit that `revision` resolves to. The root of an empty repository is empty.
pub async fn get(browse: &Browse, path: &str, revision: &str) -> Result<Contents, Error> {
    let path = super::path(path)?;
    let commit = match browse.resolve(revision).await {
        Err(Error::NotFound { .. }) if path.is_empty() && revision.is_empty() && browse.git.is_empty().await? => {
            return Ok(Contents::Directory(Vec::new()));
        }
        found => found?,
    };
    if path.is_empty() {
        return Ok(Contents::Directory(directory(browse, &commit, &commit, "").await?));
    }
    let entry = entry(browse, &commit, path).await?;
    if entry.entry_kind() == EntryKind::Directory {
        return Ok(Contents::Directory(directory(browse, &commit, &entry.id, path).await?));
    }
    Ok(Contents::Single(Box::new(single(browse, &commit, entry).await?)))
}

async fn entry(browse: &Browse, commit: &str, path: &str) -> Result<TreeEntry, Error> {
    browse.git.entry(commit, path).await?.ok_or(Error::NotFound { what: "the path" })
}

async fn single(browse: &Browse, commit: &str, entry: TreeEntry) -> Result<ContentEntry, Error> {
    let query = HistoryQuery { from: commit.to_owned(), path: entry.path.clone(), limit: 1, ..HistoryQuery::default() };
    let last = browse.git.history(&query).await?.into_iter().next();
    let content = match entry.entry_kind() {
        EntryKind::File | EntryKind::Symlink => objects::content(browse, &entry.id, entry.size).await?,
        EntryKind::Directory | EntryKind::Submodule => None,
    };
    let submodule_url = match entry.entry_kind() {
        EntryKind::Submodule => modules(browse, commit).await?.url(&entry.path),
        _ => None,
    };
    let last_commit = Arc::new(browse.commit(&last.map_or_else(|| commit.to_owned(), |last| last.id)).await?);
    Ok(ContentEntry { path: entry.path.clone(), entry, last_commit, content, submodule_url })
}

/// Returns the entries of the tree `tree`, which is at `path` of `commit`. Entries whose last change is older than the
/// searched commits get the commit itself.
async fn directory(browse: &Browse, commit: &str, tree: &str, path: &str) -> Result<Vec<ContentEntry>, Error> {
    let entries = browse.git.tree(tree, false).await?;
    let below = if path.is_empty() { String::new() } else { format!("{path}/") };
    let touched = browse.git.last_changes(commit, path, SEARCH_MAX_COMMITS).await?;
    let last_id = |entry: &TreeEntry| touched.get(&entry.path).map_or(commit, String::as_str);
    let last_ids: BTreeSet<&str> = entries.iter().map(last_id).collect();
    let last_ids: Vec<String> = last_ids.into_iter().map(str::to_owned).collect();
    let last_commits = browse.git.commits(&last_ids).await?;
    let last_commits: HashMap<_, _> = last_commits.into_iter().map(|last| (last.id.clone(), Arc::new(last))).collect();
    let has_modules = entries.iter().any(|entry| entry.entry_kind() == EntryKind::Submodule);
    let modules = if has_modules { modules(browse, commit).await? } else { Modules::default() };
    let items = entries.into_iter().map(|entry| {
        let last_commit = last_commits.get(last_id(&entry)).cloned().unwrap_or_default();
        let path = format!("{below}{}", entry.path);
        let submodule_url = (entry.entry_kind() == EntryKind::Submodule).then(|| modules.url(&path)).flatten();
        ContentEntry { path, entry, last_commit, content: None, submodule_url }
    });
    Ok(items.collect())
}

/// The `.gitmodules` file of a commit.
#[derive(Debug, Default)]
struct Modules(String);

async fn modules(browse: &Browse, commit: &str) -> Result<Modules, Error> {
    let found = browse.git.entry(commit, MODULES).await?;
    let Some(file) = found.filter(|entry| entry.kind == "blob" && entry.size <= SHOWN_MAX_BYTES) else {
        return Ok(Modules::default());
    };
    let content = objects::content(browse, &file.id, file.size).await?.unwrap_or_default();
    Ok(Modules(String::from_utf8_lossy(&content).into_owned()))
}

impl Modules {
    /// Returns the URL of the submodule at `path`, if it is absolute. Strict clients accept no other URLs.
    fn url(&self, path: &str) -> Option<String> {
        let sections = self.0.split("[submodule ").skip(1);
        let value = |section: &str, key: &str| {
            let pairs = section.lines().filter_map(|line| line.split_once('='));
            let found = pairs.map(|(name, value)| (name.trim(), value.trim())).find(|(name, _)| *name == key);
            found.map(|(_, value)| value.trim_matches('"').to_owned())
        };
        let mut own = sections.filter(|section| value(section, "path").as_deref() == Some(path));
        own.next().and_then(|section| value(section, "url")).filter(|url| url::Url::parse(url).is_ok())
    }
}

/// A file whose bytes are requested.
#[derive(Clone, Debug)]
pub struct RawFile {
    /// Its entry in the tree, with the full path.
    pub entry: TreeEntry,
    /// The last commit that changed it.
    pub last_commit: CommitObject,
}

/// Returns the file at `path` of the commit that `revision` resolves to. Without a revision the first segments of the
/// path may be one.
pub async fn raw(browse: &Browse, path: &str, revision: &str) -> Result<RawFile, Error> {
    let missing = || Error::NotFound { what: "the file" };
    let path = super::path(path)?;
    // git refuses an empty path.
    if path.is_empty() {
        return Err(missing());
    }
    let direct = match browse.resolve(revision).await {
        Ok(commit) => browse.git.entry(&commit, path).await?.map(|entry| (commit, entry)),
        Err(Error::NotFound { .. }) => None,
        Err(other) => return Err(other),
    };
    let found = match direct {
        None if revision.is_empty() => named_by_path(browse, path).await?,
        found => found,
    };
    let (commit, entry) = found.ok_or_else(missing)?;
    if matches!(entry.entry_kind(), EntryKind::Directory | EntryKind::Submodule) {
        return Err(missing());
    }
    let query = HistoryQuery { from: commit.clone(), path: entry.path.clone(), limit: 1, ..HistoryQuery::default() };
    let last = browse.git.history(&query).await?.into_iter().next().map_or(commit, |last| last.id);
    Ok(RawFile { entry, last_commit: browse.commit(&last).await? })
}

/// Resolves the older form `<branch, tag or commit>/<path>`. The shortest prefix that is a revision is used.
async fn named_by_path(browse: &Browse, path: &str) -> Result<Option<(String, TreeEntry)>, Error> {
    /// Maximum number of segments to try. Branches with more slashes need the parameter `ref`.
    const PARTS_MAX: usize = 8;
    for (at, _) in path.match_indices('/').take(PARTS_MAX) {
        let (name, rest) = (&path[..at], path[at + 1..].trim_start_matches('/'));
        if let Some(commit) = browse.git.resolve(name).await? {
            return Ok(browse.git.entry(&commit, rest).await?.map(|entry| (commit, entry)));
        }
    }
    Ok(None)
}

/// Largest file that is read as a whole for a download, bytes: one chunk of a body.
const SMALL_MAX_BYTES: u64 = 64 << 10;

/// The bytes of a file.
#[derive(Debug)]
pub enum RawBytes {
    /// All of them.
    Whole(Bytes),
    /// The process that writes them.
    Process(Box<GitProcess>),
}

impl RawFile {
    /// Reads the bytes of a small file, or starts to read those of a large one.
    pub async fn bytes(&self, browse: &Browse) -> Result<RawBytes, Error> {
        if self.entry.size <= SMALL_MAX_BYTES
            && let Some(content) = objects::content(browse, &self.entry.id, self.entry.size).await?
        {
            return Ok(RawBytes::Whole(content));
        }
        Ok(RawBytes::Process(Box::new(browse.git.blob(&self.entry.id).await?)))
    }

    /// Returns the LFS object that the file names, if it is a pointer file.
    pub async fn pointer(&self, browse: &Browse) -> Result<Option<LfsPointer>, Error> {
        if self.entry.entry_kind() != EntryKind::File || self.entry.size >= POINTER_MAX_BYTES {
            return Ok(None);
        }
        let content = objects::content(browse, &self.entry.id, self.entry.size).await?;
        Ok(content.as_deref().and_then(LfsPointer::parse))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_of_submodules_are_found_by_path() {
        let modules = Modules(
            "[submodule \"a\"]\n\tpath = lib/a\n\turl = https://h/a.git\n[submodule \"b\"]\n\turl=../b.git\n\tpath=b\n"
                .into(),
        );
        assert_eq!(modules.url("lib/a").as_deref(), Some("https://h/a.git"));
        assert_eq!(modules.url("b"), None, "relative addresses are not shown");
        assert_eq!(modules.url("a"), None);
    }
}
