//! Files and directories by their path.

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
            history,
            tree::{EntryKind, TreeEntry},
        },
    },
    service::Error,
};

/// So many commits are searched for the last one that touched each entry of a directory.
const SEARCH_MAX_COMMITS: usize = 2_000;
/// Where the addresses of submodules are kept.
const MODULES: &str = ".gitmodules";

/// What stands at a path of a commit.
#[derive(Clone, Debug)]
pub struct Item {
    /// Its whole path.
    pub path: String,
    /// Its entry in the tree.
    pub entry: TreeEntry,
    /// The last commit that touched it.
    pub last_commit: String,
    /// Content of a single file or symbolic link; `None` if it was not asked for, or is too large.
    pub content: Option<Bytes>,
    /// Where a submodule comes from, as far as the commit says.
    pub submodule_url: Option<String>,
}

/// A path, read.
#[derive(Clone, Debug)]
pub enum Contents {
    /// A directory's entries.
    Directory(Vec<Item>),
    /// One file, symbolic link or submodule.
    Single(Box<Item>),
}

/// What stands at `path` of the commit that `revision` names. An empty repository has an empty root.
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

async fn single(browse: &Browse, commit: &str, entry: TreeEntry) -> Result<Item, Error> {
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
    let last_commit = last.map_or_else(|| commit.to_owned(), |last| last.id);
    Ok(Item { path: entry.path.clone(), entry, last_commit, content, submodule_url })
}

/// The entries of the tree `tree`, which stands at `path` of `commit`. Whatever was last touched
/// before the commits that are searched shows the commit itself.
async fn directory(browse: &Browse, commit: &str, tree: &str, path: &str) -> Result<Vec<Item>, Error> {
    let entries = browse.git.tree(tree, false).await?;
    let query = HistoryQuery {
        from: commit.to_owned(),
        path: path.to_owned(),
        limit: SEARCH_MAX_COMMITS,
        changes: true,
        combined: true,
        ..HistoryQuery::default()
    };
    let commits = browse.git.history(&query).await?;
    let below = if path.is_empty() { String::new() } else { format!("{path}/") };
    let touched = history::last_touched(&commits, &below);
    let has_modules = entries.iter().any(|entry| entry.entry_kind() == EntryKind::Submodule);
    let modules = if has_modules { modules(browse, commit).await? } else { Modules::default() };
    let items = entries.into_iter().map(|entry| {
        let path = format!("{below}{}", entry.path);
        let last_commit = touched.get(entry.path.as_str()).map_or(commit, |id| *id).to_owned();
        let submodule_url = (entry.entry_kind() == EntryKind::Submodule).then(|| modules.url(&path)).flatten();
        Item { path, entry, last_commit, content: None, submodule_url }
    });
    Ok(items.collect())
}

/// The addresses of submodules in a commit.
#[derive(Debug, Default)]
struct Modules(String);

async fn modules(browse: &Browse, commit: &str) -> Result<Modules, Error> {
    let limit = usize::try_from(SHOWN_MAX_BYTES).unwrap_or(usize::MAX);
    let found = browse.git.objects(&[format!("{commit}:{MODULES}")], limit).await?.into_iter().flatten().next();
    let blob = found.filter(|object| object.info.kind == "blob");
    Ok(Modules(blob.map(|object| String::from_utf8_lossy(&object.content).into_owned()).unwrap_or_default()))
}

impl Modules {
    /// The address of the submodule at `path`: only absolute ones, which strict clients accept.
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

/// A file whose bytes are wanted.
#[derive(Clone, Debug)]
pub struct Raw {
    /// Its entry in the tree; the path is whole.
    pub entry: TreeEntry,
    /// The last commit that touched it.
    pub last_commit: CommitObject,
}

/// The file at `path` of the commit that `revision` names. Without a revision the first parts of
/// the path may name one.
pub async fn raw(browse: &Browse, path: &str, revision: &str) -> Result<Raw, Error> {
    let path = super::path(path)?;
    let direct = match browse.resolve(revision).await {
        Ok(commit) => browse.git.entry(&commit, path).await?.map(|entry| (commit, entry)),
        Err(Error::NotFound { .. }) => None,
        Err(other) => return Err(other),
    };
    let found = match direct {
        None if revision.is_empty() => named_by_path(browse, path).await?,
        found => found,
    };
    let missing = || Error::NotFound { what: "the file" };
    let (commit, entry) = found.ok_or_else(missing)?;
    if matches!(entry.entry_kind(), EntryKind::Directory | EntryKind::Submodule) {
        return Err(missing());
    }
    let query = HistoryQuery { from: commit.clone(), path: entry.path.clone(), limit: 1, ..HistoryQuery::default() };
    let last = browse.git.history(&query).await?.into_iter().next().map_or(commit, |last| last.id);
    Ok(Raw { entry, last_commit: browse.commit(&last).await? })
}

/// The older form: `<branch, tag or commit>/<path>`. The shortest name that is one counts.
async fn named_by_path(browse: &Browse, path: &str) -> Result<Option<(String, TreeEntry)>, Error> {
    /// A branch with more slashes in its name has to be asked for with `ref`.
    const PARTS_MAX: usize = 8;
    for (at, _) in path.match_indices('/').take(PARTS_MAX) {
        let (name, rest) = (&path[..at], &path[at + 1..]);
        if let Some(commit) = browse.git.resolve(name).await? {
            return Ok(browse.git.entry(&commit, rest).await?.map(|entry| (commit, entry)));
        }
    }
    Ok(None)
}

impl Raw {
    /// Starts to read its bytes.
    pub async fn bytes(&self, browse: &Browse) -> Result<GitProcess, Error> {
        Ok(browse.git.blob(&self.entry.id).await?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_of_submodules() {
        let modules = Modules(
            "[submodule \"a\"]\n\tpath = lib/a\n\turl = https://h/a.git\n[submodule \"b\"]\n\turl=../b.git\n\tpath=b\n"
                .into(),
        );
        assert_eq!(modules.url("lib/a").as_deref(), Some("https://h/a.git"));
        assert_eq!(modules.url("b"), None, "relative addresses are not shown");
        assert_eq!(modules.url("a"), None);
    }
}
