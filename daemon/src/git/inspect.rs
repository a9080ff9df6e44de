//! Reads what the directories of repositories have, independent of the store: for `farrierd check-data`, while no
//! daemon serves the repositories, and for comparisons of refs with their rows.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs, io,
    path::PathBuf,
    time::Duration,
};

use bytes::Bytes;

use super::{Git, GitError, TipKind, ref_name::is_internal, repository, upkeep};
use crate::{set_aside::SetAside, tasks};

/// Number of objects to look up at a time.
const OBJECTS_AT_ONCE: usize = 10_000;
/// Time limit of `git fsck`, which takes long for large repositories.
const FSCK_TIMEOUT: Duration = Duration::from_secs(6 * 3_600);
/// Limit of a list of all refs, bytes: more than a million refs.
const REFS_MAX_BYTES: usize = 256 << 20;
/// Limit of the output of `git fsck`, bytes.
const FSCK_MAX_BYTES: usize = 64 << 20;
/// Most messages of `git fsck` in one finding.
const FSCK_MESSAGES_MAX: usize = 20;
/// Exit status of `git fsck`: reachable objects are missing, and nothing else is wrong.
const FSCK_UNREACHABLE: i32 = 2;
/// The id of the tree without entries, for both hash functions.
pub(super) const EMPTY_TREES: [&str; 2] =
    ["4b825dc642cb6eb9a060e54bf8d69288fbee4904", "6ef19b41225c5369f1c104d45d8d85efa9b057b53b14b4b9b939dd74decc5321"];

impl Git {
    /// Returns the names of directories whose creation or deletion was interrupted.
    pub async fn partial(&self) -> Result<Vec<String>, GitError> {
        let root = self.0.root.clone();
        let list = move || if root.try_exists()? { repository::list(&root) } else { Ok(repository::Listed::default()) };
        let listed = tasks::blocking(list).await;
        let partial = listed.map_err(GitError::io("listing repositories"))?.partial;
        let names = partial.iter().filter_map(|path| path.file_name());
        Ok(names.map(|name| name.to_string_lossy().into_owned()).collect())
    }

    /// Returns the branch that `HEAD` points to; `None` if `HEAD` does not name a branch.
    pub async fn head(&self, repository: u64) -> Result<Option<String>, GitError> {
        let head = self.directory(repository).join("HEAD");
        let text = tasks::blocking(move || fs::read_to_string(head)).await;
        let text = text.map_err(GitError::io("reading HEAD"))?;
        Ok(text.trim_end().strip_prefix("ref: refs/heads/").map(str::to_owned))
    }

    /// Returns whether the directory of a repository exists. Directories get this name only when they are
    /// complete.
    pub async fn exists(&self, repository: u64) -> Result<bool, GitError> {
        let directory = self.directory(repository);
        tasks::blocking(move || directory.try_exists()).await.map_err(GitError::io("looking for a repository"))
    }

    /// Returns whether the repository's configuration names SHA-256 as its object format.
    pub async fn is_sha256(&self, repository: u64) -> bool {
        let config = self.directory(repository).join("config");
        let text = tasks::blocking(move || fs::read_to_string(config)).await.unwrap_or_default();
        text.lines().any(|line| {
            let line = line.to_ascii_lowercase();
            line.split_once('=').is_some_and(|(key, value)| key.trim() == "objectformat" && value.trim() == "sha256")
        })
    }

    /// Returns all refs with their object ids, also those that are neither branches nor tags. Fails if git ignores a
    /// ref that it cannot read, and if a name is not UTF-8.
    pub async fn every_ref(&self, repository: u64) -> Result<BTreeMap<String, String>, GitError> {
        let listed = self.list_refs(repository, "%(objectname) %(refname)").await?;
        let text = std::str::from_utf8(&listed).map_err(|_| GitError::Failed {
            command: "for-each-ref".into(),
            status: Some(0),
            stderr: "the name of a ref is not UTF-8; rename the ref with git in the directory".into(),
        })?;
        let pairs = text.lines().filter_map(|line| line.split_once(' '));
        Ok(pairs.map(|(id, name)| (name.to_owned(), id.to_owned())).collect())
    }

    /// Returns the names of the refs that do not have the ids in `expected`, also of refs that are not in `expected`.
    /// Refs that only the daemon may write are left out.
    pub async fn differing_refs(
        &self,
        repository: u64,
        expected: &BTreeMap<String, String>,
    ) -> Result<Vec<String>, GitError> {
        let mut found = self.every_ref(repository).await?;
        found.retain(|name, _| !is_internal(name));
        let missing = expected.keys().filter(|name| !found.contains_key(*name));
        let others = found.iter().filter(|(name, id)| expected.get(*name) != Some(id)).map(|(name, _)| name);
        Ok(missing.chain(others).cloned().collect())
    }

    /// Returns the output of `for-each-ref` for all refs. Fails if git ignores a ref that it cannot read.
    pub(super) async fn list_refs(&self, repository: u64, format: &str) -> Result<Bytes, GitError> {
        let call = self.call(repository, ["for-each-ref".to_owned(), format!("--format={format}")]);
        let listed = call.output_max_bytes(REFS_MAX_BYTES).run().await?;
        // Git warns about a damaged ref, leaves it out and exits with 0.
        if !listed.stderr.is_empty() {
            let command = "for-each-ref".to_owned();
            return Err(GitError::Failed { command, status: Some(0), stderr: listed.stderr });
        }
        Ok(listed.stdout)
    }

    /// Like [`Git::all_peeled`], for tips of refs that exist already and may be any objects. Tags that are damaged or
    /// lack their target are left out: git lists such a ref like a ref without a tag object, and the ref must not be
    /// lost because of that.
    pub async fn peeled_tips(&self, repository: u64, ids: &[String]) -> Result<BTreeMap<String, String>, GitError> {
        let mut peeled = BTreeMap::new();
        for ids in ids.chunks(OBJECTS_AT_ONCE) {
            let kinds = self.kinds(repository, None, ids).await?;
            let tags = ids.iter().zip(kinds).filter(|(_, kind)| *kind == Some(TipKind::Tag));
            let tags: Vec<String> = tags.map(|(id, _)| id.clone()).collect();
            match self.all_peeled(repository, None, &tags).await {
                Err(GitError::Failed { status: Some(_), .. }) => {
                    for tag in tags {
                        if let Some(target) = self.peeled_tip(repository, &tag).await? {
                            peeled.insert(tag, target);
                        }
                    }
                }
                found => peeled.extend(found?),
            }
        }
        Ok(peeled)
    }

    async fn peeled_tip(&self, repository: u64, id: &str) -> Result<Option<String>, GitError> {
        match self.peeled(repository, None, id).await {
            Err(GitError::Failed { status: Some(_), stderr, .. }) => {
                tracing::warn!(repository, id, stderr, "a tag is damaged, or the object that it names is missing");
                Ok(None)
            }
            peeled => peeled,
        }
    }

    /// Returns the number of packs without an index and of indexes without a pack, which git ignores. Those of
    /// `dropped` packs do not count.
    pub async fn incomplete_packs(&self, repository: u64, dropped: BTreeSet<String>) -> Result<usize, GitError> {
        let packs = self.directory(repository).join("objects/pack");
        let count = move || -> io::Result<usize> {
            let mut incomplete = 0;
            for entry in upkeep::files(&packs)? {
                let path = entry.path();
                let other = match path.extension().and_then(|end| end.to_str()) {
                    Some("pack") => path.with_extension("idx"),
                    Some("idx") => path.with_extension("pack"),
                    _ => continue,
                };
                let is_dropped =
                    path.file_stem().and_then(|name| name.to_str()).is_some_and(|name| dropped.contains(name));
                incomplete += usize::from(!is_dropped && !other.try_exists()?);
            }
            Ok(incomplete)
        };
        tasks::blocking(count).await.map_err(GitError::io("listing packs"))
    }

    /// Moves the directory of a repository to `set-aside/<date>/repositories/<id>.git` and returns its new
    /// path; `None` if the directory does not exist. Nothing is deleted.
    pub async fn set_aside(&self, repository: u64, aside: &SetAside) -> Result<Option<PathBuf>, GitError> {
        let target = PathBuf::from(format!("repositories/{repository}.git"));
        let moved = aside.take(self.directory(repository), target).await;
        moved.map_err(GitError::io("setting a repository aside"))
    }

    /// Checks all objects with `git fsck`. Returns the first part of its messages; `None` if it finds nothing
    /// wrong.
    pub async fn fsck(&self, repository: u64) -> Result<Option<String>, GitError> {
        let call = self.call(repository, ["fsck", "--full", "--no-dangling", "--no-progress"]);
        let (stdout, exit) = call.timeout(FSCK_TIMEOUT).output_max_bytes(FSCK_MAX_BYTES).run_to_exit().await?;
        match exit.status {
            Some(0) => Ok(None),
            Some(status) => Ok(errors_of_fsck(&String::from_utf8_lossy(&stdout), &exit.stderr, status)),
            None => Err(GitError::Failed { command: exit.command, status: None, stderr: exit.stderr }),
        }
    }
}

/// Returns the errors in the output of a `git fsck` that ended with an exit status other than 0.
///
/// Warnings and notices are not errors. Git has the empty tree built in and reads it from every repository, but `fsck`
/// calls it missing if a tag or commit names it and no push contained it.
fn errors_of_fsck(stdout: &str, stderr: &str, status: i32) -> Option<String> {
    let is_empty_tree = |line: &&str| line.strip_prefix("missing tree ").is_some_and(|id| EMPTY_TREES.contains(&id));
    let (empty_trees, missing): (Vec<&str>, Vec<&str>) =
        stdout.lines().map(str::trim).filter(|line| !line.is_empty()).partition(is_empty_tree);
    let is_error = |part: &&str| {
        !part.is_empty() && !["warning", "notice"].iter().any(|word| part.split([' ', ':']).next() == Some(*word))
    };
    let errors: Vec<&str> = stderr.split("; ").filter(is_error).chain(missing).take(FSCK_MESSAGES_MAX).collect();
    match errors.as_slice() {
        [] if status == FSCK_UNREACHABLE && !empty_trees.is_empty() => None,
        [] => Some(format!("it ended with the exit status {status} and without a message")),
        errors => Some(errors.join("; ").chars().filter(|c| !c.is_control()).collect()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_are_reported_instead_of_warnings_and_the_empty_tree_is_not_missing() {
        let empty = format!("missing tree {}\n", EMPTY_TREES[0]);
        let warning =
            "warning in tree ca43: badFilemode: contains bad file modes; notice: HEAD points to an unborn branch";
        assert_eq!(errors_of_fsck(&empty, warning, 2), None);
        let missing =
            format!("{empty}broken link from    tree ca43\n              to    blob 45b9\nmissing blob 45b9\n");
        let expected = "broken link from    tree ca43; to    blob 45b9; missing blob 45b9";
        assert_eq!(errors_of_fsck(&missing, warning, 2).as_deref(), Some(expected));
        let error = "error in commit 12: missingAuthor: invalid format";
        assert_eq!(errors_of_fsck(&empty, &format!("{warning}; {error}"), 3).as_deref(), Some(error));
        assert!(errors_of_fsck(&empty, warning, 4).is_some_and(|text| text.contains("status 4")), "a bad pack");
        assert!(errors_of_fsck("", "", 2).is_some());
    }
}
