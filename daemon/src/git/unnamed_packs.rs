//! Packs in the directory of a repository that its manifest does not name, if several nodes change the repository:
//! another node has dropped them, or the transaction of a change of this node has failed.
//!
//! Acknowledged data that this could remove: none. Every pack of the manifest is in the bucket, and a copy that lacks
//! one fetches it again. The caller has ensured that the directory has all packs of the manifest, so git finds every
//! object that refs reach.

use std::{
    collections::BTreeSet,
    fs::{self, File},
    io,
    path::Path,
    time::{Duration, SystemTime},
};

use super::{Git, GitError, RepositoryLock, dropped_packs, packs, upkeep};
use crate::tasks;

/// Files and directories that git derives from commits, below `objects/info`.
const COMMIT_GRAPHS: [&str; 2] = ["commit-graph", "commit-graphs"];
/// The operation that errors name.
const DOING: &str = "removing packs that the manifest of a repository does not name";

impl Git {
    /// Returns whether git finds a pack in the directory of a repository that is not in `named`.
    pub async fn has_unnamed_packs(&self, repository: u64, named: BTreeSet<String>) -> Result<bool, GitError> {
        let packs = self.packs(repository);
        let look = move || packs::names(&packs).map(|found| !found.is_subset(&named));
        tasks::blocking(look).await.map_err(GitError::io("looking for the packs of a repository"))
    }

    /// Hides the packs that are not in `named` from processes that begin later. Returns whether there were any. Their
    /// files are removed by [`Git::remove_hidden_packs`].
    pub async fn hide_unnamed_packs(
        &self,
        repository: u64,
        named: BTreeSet<String>,
        _lock: &RepositoryLock,
    ) -> Result<bool, GitError> {
        let packs = self.packs(repository);
        let find = move || Ok(packs::names(&packs)?.difference(&named).cloned().collect());
        let unnamed: BTreeSet<String> = tasks::blocking(find).await.map_err(GitError::io(DOING))?;
        if unnamed.is_empty() {
            return Ok(false);
        }
        self.forget_installed(repository, &unnamed);
        tracing::info!(repository, packs = unnamed.len(), "packs that the manifest does not name were hidden");
        self.remove_dropped(repository, unnamed, dropped_packs::hide).await?;
        Ok(true)
    }

    /// Returns whether a repository has packs without an index.
    pub async fn has_hidden_packs(&self, repository: u64) -> Result<bool, GitError> {
        let packs = self.packs(repository);
        let look = move || {
            let files: Vec<_> = upkeep::files(&packs)?.iter().map(fs::DirEntry::path).collect();
            let is_hidden = |path: &Path| is_pack(path) && !path.with_extension("idx").exists();
            Ok(files.iter().any(|path| is_hidden(path)))
        };
        tasks::blocking(look).await.map_err(GitError::io("looking for the packs of a repository"))
    }

    /// Removes the files of packs that are not in `named` and that were hidden at least [`Git::timeout`] ago: no
    /// process reads them any more. Returns whether younger ones are left.
    pub async fn remove_hidden_packs(
        &self,
        repository: u64,
        named: BTreeSet<String>,
        _lock: &RepositoryLock,
    ) -> Result<bool, GitError> {
        let (packs, timeout) = (self.packs(repository), self.timeout());
        let remove = move || {
            #[expect(clippy::disallowed_methods, reason = "compared with times of files")]
            let before = SystemTime::now().checked_sub(timeout);
            remove_hidden(&packs, &named, before.unwrap_or(SystemTime::UNIX_EPOCH))
        };
        tasks::blocking(remove).await.map_err(GitError::io(DOING))
    }

    /// Removes the commit graph of a repository, which may have commits that were pruned. Git reads the commits instead
    /// until the next tidying writes the graph.
    pub async fn remove_commit_graph(&self, repository: u64, _lock: &RepositoryLock) -> Result<(), GitError> {
        let _changed = self.0.generations.raise_at_end(repository);
        let info = self.directory(repository).join("objects").join("info");
        let remove = move || {
            for name in COMMIT_GRAPHS {
                let path = info.join(name);
                let removed = if path.is_dir() { fs::remove_dir_all(&path) } else { fs::remove_file(&path) };
                match removed {
                    Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                    _ => {}
                }
            }
            Ok(())
        };
        tasks::blocking(remove).await.map_err(GitError::io("removing the commit graph of a repository"))
    }

    /// Returns whether the directory of a repository exists and was not changed for `age`.
    pub async fn is_unused_since(&self, repository: u64, age: Duration) -> Result<bool, GitError> {
        let directory = self.directory(repository);
        let look = move || {
            #[expect(clippy::disallowed_methods, reason = "compared with times of files")]
            let before = SystemTime::now().checked_sub(age).unwrap_or(SystemTime::UNIX_EPOCH);
            for path in [packs::directory(&directory), directory] {
                match path.metadata() {
                    Ok(about) if about.modified()? < before => {}
                    Ok(_) => return Ok(false),
                    Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                    Err(error) => return Err(error),
                }
            }
            Ok(true)
        };
        tasks::blocking(look).await.map_err(GitError::io("looking at the directory of a repository"))
    }

    /// Returns the numbers of the repositories that have a directory.
    pub async fn repositories_on_disk(&self) -> Result<Vec<u64>, GitError> {
        let root = self.0.root.clone();
        let list = move || super::repository::list(&root).map(|listed| listed.complete);
        tasks::blocking(list).await.map_err(GitError::io("listing the directories of repositories"))
    }
}

/// Returns whether a file has the name of a pack.
fn is_pack(path: &Path) -> bool {
    let name = path.file_stem().and_then(|name| name.to_str());
    name.is_some_and(|name| name.starts_with("pack-")) && path.extension().is_some_and(|end| end == "pack")
}

/// Removes packs without an index whose file was last changed before `before`. Returns whether others are left.
fn remove_hidden(packs: &Path, named: &BTreeSet<String>, before: SystemTime) -> io::Result<bool> {
    let (mut due, mut are_left) = (BTreeSet::new(), false);
    for entry in upkeep::files(packs)? {
        let path = entry.path();
        let Some(name) = path.file_stem().and_then(|name| name.to_str()) else { continue };
        if !is_pack(&path) || named.contains(name) || path.with_extension("idx").try_exists()? {
            continue;
        }
        if File::open(&path)?.metadata()?.modified()? < before {
            due.insert(name.to_owned());
        } else {
            are_left = true;
        }
    }
    if !due.is_empty() {
        dropped_packs::remove(packs, &due)?;
    }
    Ok(are_left)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::git::tests::git;

    const ID: u64 = 7;

    #[tokio::test]
    async fn unnamed_packs_are_hidden_at_once_and_removed_later() {
        let dir = tempfile::tempdir().expect("a directory");
        let git = git(dir.path());
        git.init_bare(ID, "main", false).await.expect("created");
        let packs = git.packs(ID);
        fs::create_dir_all(&packs).expect("a directory");
        for name in ["pack-1", "pack-2", "pack-3"] {
            for end in ["pack", "idx"] {
                fs::write(packs.join(format!("{name}.{end}")), name).expect("a file");
            }
        }
        // The index was lost.
        fs::remove_file(packs.join("pack-3.idx")).expect("removed");
        fs::write(packs.join("tmp_fetched-1.pack"), "").expect("a file");
        git.0.installed.add(ID, "pack-2".to_owned(), None);
        let named = || BTreeSet::from(["pack-1".to_owned(), "pack-3".to_owned()]);
        let lock = git.lock(ID).await;
        assert!(git.has_unnamed_packs(ID, named()).await.expect("read"));
        assert!(git.hide_unnamed_packs(ID, named(), &lock).await.expect("hidden"));
        assert!(!git.has_unnamed_packs(ID, named()).await.expect("read"));
        assert!(!git.hide_unnamed_packs(ID, named(), &lock).await.expect("hidden"), "nothing is left to hide");
        assert!(git.installed_packs(ID).is_empty());
        let exists = |name: &str| packs.join(name).exists();
        assert!(exists("pack-1.idx") && exists("pack-2.pack") && !exists("pack-2.idx"));
        assert!(git.remove_hidden_packs(ID, named(), &lock).await.expect("removed"), "processes may read it");
        assert!(exists("pack-2.pack"));
        File::open(packs.join("pack-2.pack")).expect("a file").set_modified(SystemTime::UNIX_EPOCH).expect("set");
        assert!(!git.remove_hidden_packs(ID, named(), &lock).await.expect("removed"));
        assert!(!exists("pack-2.pack") && exists("pack-1.pack") && exists("pack-3.pack"));
        assert!(exists("tmp_fetched-1.pack"), "not a pack");
    }

    #[tokio::test]
    async fn a_commit_graph_is_removed_in_both_forms() {
        let dir = tempfile::tempdir().expect("a directory");
        let git = git(dir.path());
        git.init_bare(ID, "main", false).await.expect("created");
        let info = git.directory(ID).join("objects/info");
        let lock = git.lock(ID).await;
        git.remove_commit_graph(ID, &lock).await.expect("there is none");
        fs::create_dir_all(info.join("commit-graphs")).expect("a directory");
        fs::write(info.join("commit-graphs/commit-graph-chain"), "x").expect("a file");
        fs::write(info.join("commit-graph"), "x").expect("a file");
        git.remove_commit_graph(ID, &lock).await.expect("removed");
        assert!(!info.join("commit-graph").exists() && !info.join("commit-graphs").exists());
    }
}
