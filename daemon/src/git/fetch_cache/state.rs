//! The state of a repository, as far as the answer to a fetch depends on it.
//!
//! It is a SHA-256 of two things:
//!
//! * The contents of `HEAD`, of all refs (also hidden ones), of `packed-refs` and of the configuration, read from the
//!   files. So a push counts from the moment at which git has moved its refs, before it is recorded, and a change that
//!   somebody made with git in the directory counts as well.
//! * The generation: a number in memory that is raised whenever the lock of the repository is taken, which each change
//!   of refs needs, and after objects were packed or removed.
//!
//! Why an answer is never served in another state: it is stored only if the state was the same before git started and
//! after it ended. Then git ran in this state from beginning to end. Refs could have changed twice in between and be
//! equal again only under two locks, which raise the generation. A list of refs that was read halfway through a push
//! has a value that no later reading with the same generation has, because a push changes each ref once. Removed
//! objects raise the generation before the lock is released, so no answer with them can be found afterwards.
//!
//! The generations start at zero with the daemon. Stored answers end with it too.

use std::{
    fs, io,
    path::Path,
    sync::atomic::{AtomicU64, Ordering},
};

use sha2::{Digest as _, Sha256};

use super::request::Digest;
use crate::{
    git::{Git, GitError, ref_list::PACKED_MAX_BYTES},
    tasks,
};

/// Files that are read as a whole, apart from refs. Read last: a ref that git packs meanwhile is then found twice, not
/// missed.
const FILES: [&str; 3] = ["HEAD", "config", "packed-refs"];
/// Files that show that objects are in another repository or missing. Answers of such repositories are not stored.
const UNSUPPORTED: [&str; 2] = ["objects/info/alternates", "shallow"];
/// Deepest nesting of directories below `refs`.
const DEPTH_MAX: usize = 32;
/// Number of generations. Repositories with the same remainder share one, which only causes needless misses.
const GENERATIONS: usize = 4_096;

/// The generations of all repositories.
#[derive(Debug)]
pub(in crate::git) struct Generations(Box<[AtomicU64]>);

impl Default for Generations {
    fn default() -> Self {
        Self((0..GENERATIONS).map(|_| AtomicU64::new(0)).collect())
    }
}

impl Generations {
    /// Notes that refs or objects of the repository may change from now on, or have changed.
    pub(in crate::git) fn raise(&self, repository: u64) {
        self.of(repository).fetch_add(1, Ordering::SeqCst);
    }

    /// Raises the generation when the returned value is dropped, also if the work in between fails.
    pub(in crate::git) fn raise_at_end(&self, repository: u64) -> RaiseAtEnd<'_> {
        RaiseAtEnd { generations: self, repository }
    }

    /// Returns the current generation.
    pub(in crate::git) fn get(&self, repository: u64) -> u64 {
        self.of(repository).load(Ordering::SeqCst)
    }

    fn of(&self, repository: u64) -> &AtomicU64 {
        let remainder = repository % GENERATIONS as u64;
        &self.0[usize::try_from(remainder).unwrap_or_default()]
    }
}

/// Raises a generation when it is dropped.
pub(in crate::git) struct RaiseAtEnd<'a> {
    generations: &'a Generations,
    repository: u64,
}

impl Drop for RaiseAtEnd<'_> {
    fn drop(&mut self) {
        self.generations.raise(self.repository);
    }
}

impl Git {
    /// Returns the state of a repository. `None`: its answers must not be stored.
    pub(super) async fn fetch_state(&self, repository: u64) -> Result<Option<Digest>, GitError> {
        // Before the files: a change meanwhile belongs to a newer generation.
        let generation = self.0.generations.get(repository);
        let directory = self.directory(repository);
        let read = tasks::blocking(move || read(&directory, generation)).await;
        read.map_err(GitError::io("reading the state of a repository"))
    }
}

fn read(directory: &Path, generation: u64) -> io::Result<Option<Digest>> {
    for file in UNSUPPORTED {
        if directory.join(file).try_exists()? {
            return Ok(None);
        }
    }
    // Each fetch reads it as a whole.
    let is_unsupported = |found: fs::Metadata| !found.is_file() || found.len() > PACKED_MAX_BYTES;
    if existing(fs::metadata(directory.join("packed-refs")))?.is_some_and(is_unsupported) {
        return Ok(None);
    }
    let mut hash = Sha256::new();
    hash.update(generation.to_be_bytes());
    if !add_refs(&mut hash, directory, "refs", 0)? {
        return Ok(None);
    }
    for file in FILES {
        add(&mut hash, file.as_bytes());
        add(&mut hash, &existing(fs::read(directory.join(file)))?.unwrap_or_default());
    }
    Ok(Some(hash.finalize().into()))
}

/// Adds all loose refs below `prefix` in a fixed order. Returns whether all of them are supported.
fn add_refs(hash: &mut Sha256, directory: &Path, prefix: &str, depth: usize) -> io::Result<bool> {
    let Some(entries) = existing(fs::read_dir(directory.join(prefix)))? else { return Ok(true) };
    let mut names = Vec::new();
    for entry in entries {
        let entry = entry?;
        let Ok(name) = entry.file_name().into_string() else { return Ok(false) };
        names.push((name, entry.file_type()?));
    }
    names.sort_unstable_by(|a, b| a.0.cmp(&b.0));
    for (name, kind) in names {
        let path = format!("{prefix}/{name}");
        if kind.is_dir() {
            if depth == DEPTH_MAX || !add_refs(hash, directory, &path, depth + 1)? {
                return Ok(false);
            }
        } else if !kind.is_file() {
            return Ok(false);
        } else if !name.ends_with(".lock")
            && let Some(value) = existing(fs::read(directory.join(&path)))?
        {
            add(hash, path.as_bytes());
            add(hash, &value);
        }
    }
    Ok(true)
}

/// Adds `bytes` with their length, so that different sequences of values have different hashes.
fn add(hash: &mut Sha256, bytes: &[u8]) {
    hash.update((bytes.len() as u64).to_be_bytes());
    hash.update(bytes);
}

/// Turns `NotFound` into `None`: git removes refs and empty directories while they are read.
fn existing<T>(result: io::Result<T>) -> io::Result<Option<T>> {
    match result {
        Ok(value) => Ok(Some(value)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn each_change_of_refs_changes_the_state() {
        let dir = tempfile::tempdir().expect("a directory");
        let file = |name: &str, text: &str| {
            let path = dir.path().join(name);
            fs::create_dir_all(path.parent().expect("a parent")).expect("a directory");
            fs::write(path, text).expect("a file");
        };
        let state = |generation| read(dir.path(), generation).expect("readable").expect("supported");
        let mut states = vec![state(0)];
        for (name, text) in [
            ("HEAD", "ref: refs/heads/main\n"),
            ("refs/heads/main", "1"),
            ("refs/heads/main", "2"),
            ("refs/heads/a/b", "2"),
            ("refs/tags/v1", "2"),
            ("refs/farrier/hidden", "2"),
            ("packed-refs", "2 refs/heads/packed\n"),
            ("packed-refs", "1 refs/heads/packed\n"),
            ("HEAD", "ref: refs/heads/a/b\n"),
            ("config", "[core]\n"),
        ] {
            file(name, text);
            states.push(state(0));
        }
        let last = state(0);
        states.push(state(1));
        let different: BTreeSet<_> = states.iter().collect();
        assert_eq!(different.len(), states.len());
        file("refs/heads/main.lock", "");
        fs::create_dir(dir.path().join("refs/heads/empty")).expect("a directory");
        assert_eq!(state(0), last, "neither is a ref");
        fs::remove_file(dir.path().join("refs/tags/v1")).expect("removed");
        assert_ne!(state(0), last);
        file("objects/info/alternates", "/elsewhere");
        assert_eq!(read(dir.path(), 0).expect("readable"), None);
    }

    #[test]
    fn generations_are_raised_by_their_own_repository_and_at_the_end_of_work() {
        let generations = Generations::default();
        generations.raise(7);
        let guard = generations.raise_at_end(7);
        assert_eq!((generations.get(7), generations.get(8)), (1, 0));
        drop(guard);
        assert_eq!((generations.get(7), generations.get(8), generations.get(u64::MAX)), (2, 0, 0));
    }
}
