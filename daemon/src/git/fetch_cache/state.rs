//! The state of a repository, as far as the answer to a fetch depends on it.
//!
//! Most answers depend on a part of it only, see [`StateScope`]. The whole state is a SHA-256 of two things:
//!
//! * The contents of `HEAD`, of all refs (also hidden ones), of `packed-refs` and of the configuration, read from the
//!   files. They are brought to the version of the rows before a request is answered, and change only under the lock of
//!   the repository, so the answer includes every push that was recorded before the request.
//! * The generation: a number in memory that is raised whenever the lock of the repository is taken, which each change
//!   of refs needs, and after objects were packed or removed.
//!
//! Why an answer is never served in another state: it is stored only if the state was the same before git started and
//! after it ended. Then git ran in this state from beginning to end. Refs could have changed twice in between and be
//! equal again only under two locks, which raise the generation. A list of refs that was read halfway through a push
//! has a value that no later reading with the same generation has, because a push changes each ref once. Removed
//! objects raise the generation before the lock is released, so no answer with them can be found afterwards.
//!
//! A request for objects by their IDs needs no refs: a push to another branch changes nothing about them. If the
//! repository has all objects that a request names, more objects do not change git's answer, and removed ones raise a
//! generation of their own. That all of them exist is checked before git starts and for each later request, so no
//! stored answer outlives an object that somebody removed with git in the directory.
//!
//! Later requests do not read all of this again: the state, and that the objects exist, are kept as long as the
//! generations and the times of the files are the same ([`crate::git::kept_refs`]). Loose objects are looked up for
//! each request, because their directories are not compared.
//!
//! The generations start at zero with the daemon. Stored answers end with it too.

use std::{
    fs, io,
    path::Path,
    sync::atomic::{AtomicU64, Ordering},
};

use sha2::{Digest as _, Sha256};

use super::request::{Digest, FetchRequest};
use crate::{
    git::{Git, GitError, objects::NamedObjects, packed_refs, ref_list::PACKED_MAX_BYTES},
    tasks,
};

/// Files that are read as a whole, apart from refs. Read last: a ref that git packs meanwhile is then found twice, not
/// missed.
const FILES: [&str; 3] = ["HEAD", "config", packed_refs::FILE];
/// Files that show that objects are in another repository or missing. Answers of such repositories are not stored.
const UNSUPPORTED: [&str; 2] = ["objects/info/alternates", "shallow"];
/// Deepest nesting of directories below `refs`.
const DEPTH_MAX: usize = 32;
/// Number of generations. Repositories with the same remainder share one, which only causes needless misses.
const GENERATIONS: usize = 4_096;

/// The names of tags begin with this.
const TAGS: &str = "refs/tags/";
/// The value of a ref that points to another ref begins with this. The value of such a tag is not among the tags.
const SYMBOLIC: &[u8] = b"ref:";

/// The refs on which an answer depends. Each scope contains the ones before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum StateScope {
    /// None, only the objects that the request names and those that they reach.
    Objects,
    /// Tags: git adds those that point to objects in the answer.
    Tags,
    /// All refs and `HEAD`.
    Refs,
}

/// The state of a repository: a SHA-256 for each scope. All contain the configuration and the removals of objects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::git) struct FetchState {
    pub(super) objects: Digest,
    pub(super) tags: Digest,
    pub(super) refs: Digest,
}

impl FetchState {
    /// Returns the state as far as `scope` goes.
    pub(super) fn of(&self, scope: StateScope) -> Digest {
        match scope {
            StateScope::Objects => self.objects,
            StateScope::Tags => self.tags,
            StateScope::Refs => self.refs,
        }
    }
}

/// The generations of all repositories.
#[derive(Debug)]
pub(in crate::git) struct Generations {
    changes: Box<[AtomicU64]>,
    /// Raised only after objects were packed or removed.
    removals: Box<[AtomicU64]>,
}

impl Default for Generations {
    fn default() -> Self {
        let zeros = || (0..GENERATIONS).map(|_| AtomicU64::new(0)).collect();
        Self { changes: zeros(), removals: zeros() }
    }
}

impl Generations {
    /// Notes that refs or objects of the repository may change from now on, or have changed.
    pub(in crate::git) fn raise(&self, repository: u64) {
        self.changes[slot(repository)].fetch_add(1, Ordering::SeqCst);
    }

    /// Raises the generation when the returned value is dropped, also if the work in between fails. For work that packs
    /// or removes objects.
    pub(in crate::git) fn raise_at_end(&self, repository: u64) -> RaiseAtEnd<'_> {
        RaiseAtEnd { generations: self, repository }
    }

    /// Returns the current generation.
    pub(in crate::git) fn get(&self, repository: u64) -> u64 {
        self.changes[slot(repository)].load(Ordering::SeqCst)
    }

    /// Returns the current generation and that of the removals.
    pub(in crate::git) fn both(&self, repository: u64) -> (u64, u64) {
        (self.get(repository), self.removals(repository))
    }

    fn removals(&self, repository: u64) -> u64 {
        self.removals[slot(repository)].load(Ordering::SeqCst)
    }
}

fn slot(repository: u64) -> usize {
    usize::try_from(repository % GENERATIONS as u64).unwrap_or_default()
}

/// Raises a generation when it is dropped.
pub(in crate::git) struct RaiseAtEnd<'a> {
    generations: &'a Generations,
    repository: u64,
}

impl Drop for RaiseAtEnd<'_> {
    fn drop(&mut self) {
        self.generations.removals[slot(self.repository)].fetch_add(1, Ordering::SeqCst);
        self.generations.raise(self.repository);
    }
}

impl Git {
    /// Reads the state of a repository. `None`: its answers must not be stored.
    pub(in crate::git) async fn fetch_state(&self, repository: u64) -> Result<Option<FetchState>, GitError> {
        let git = self.clone();
        let read = tasks::blocking(move || git.read_state(repository)).await;
        read.map_err(GitError::io("reading the state of a repository"))
    }

    /// Returns the state of a repository, and the refs on which the answer to `request` depends in it. The request has
    /// this `digest`. Reads nothing if an earlier request has read the same and nothing has changed since.
    pub(super) async fn fetch_state_for(
        &self,
        repository: u64,
        request: &FetchRequest,
        digest: Digest,
    ) -> Result<Option<(FetchState, StateScope)>, GitError> {
        let scope = request.scope();
        if let Some(kept) = self.kept_refs(repository)
            && let Some(state) = kept.state()
            && (scope == StateScope::Refs || kept.has_objects_of(&digest))
        {
            return Ok(Some((state, scope)));
        }
        let (git, named) = (self.clone(), request.named().clone());
        let read = tasks::blocking(move || -> io::Result<_> {
            let stamp = git.begin_keeping(repository);
            let Some(state) = git.read_state(repository)? else { return Ok(None) };
            // After the state: an object that is removed meanwhile belongs to an older one. What cannot be read here
            // depends on everything.
            let found = match scope {
                StateScope::Refs => NamedObjects::Missing,
                StateScope::Objects | StateScope::Tags => {
                    git.find_objects(repository, &named).unwrap_or(NamedObjects::Missing)
                }
            };
            git.keep_refs(repository, stamp, |kept| {
                kept.set_state(state);
                if found == NamedObjects::InPacks {
                    kept.add_found(digest);
                }
            });
            Ok(Some((state, if found == NamedObjects::Missing { StateScope::Refs } else { scope })))
        });
        read.await.map_err(GitError::io("reading the state of a repository"))
    }

    fn read_state(&self, repository: u64) -> io::Result<Option<FetchState>> {
        // Before the files: a change meanwhile belongs to a newer generation.
        let generations = &self.0.generations;
        let (removals, generation) = (generations.removals(repository), generations.get(repository));
        read(&self.directory(repository), generation, removals)
    }
}

/// The states while they are read.
struct Hashes {
    objects: Sha256,
    tags: Sha256,
    refs: Sha256,
}

fn read(directory: &Path, generation: u64, removals: u64) -> io::Result<Option<FetchState>> {
    for file in UNSUPPORTED {
        if directory.join(file).try_exists()? {
            return Ok(None);
        }
    }
    // Each fetch reads it as a whole.
    let is_unsupported = |found: fs::Metadata| !found.is_file() || found.len() > PACKED_MAX_BYTES;
    if existing(fs::metadata(directory.join(packed_refs::FILE)))?.is_some_and(is_unsupported) {
        return Ok(None);
    }
    let begin = |scope: u8| Sha256::new().chain_update([scope]).chain_update(removals.to_be_bytes());
    let mut hashes = Hashes { objects: begin(0), tags: begin(1), refs: begin(2) };
    hashes.refs.update(generation.to_be_bytes());
    if !add_refs(&mut hashes, directory, "refs", 0)? {
        return Ok(None);
    }
    for file in FILES {
        let content = existing(fs::read(directory.join(file)))?.unwrap_or_default();
        add(&mut hashes.refs, file.as_bytes());
        add(&mut hashes.refs, &content);
        match file {
            "config" => [&mut hashes.objects, &mut hashes.tags].into_iter().for_each(|hash| add(hash, &content)),
            packed_refs::FILE => packed_tags(&content).for_each(|line| add(&mut hashes.tags, line)),
            _ => {}
        }
    }
    let [objects, tags, refs]: [Digest; 3] =
        [hashes.objects, hashes.tags, hashes.refs].map(|hash| hash.finalize().into());
    Ok(Some(FetchState { objects, tags, refs }))
}

/// Returns the lines of tags in a file `packed-refs`.
fn packed_tags(content: &[u8]) -> impl Iterator<Item = &[u8]> {
    content.split(|byte| *byte == b'\n').filter(|line| {
        let space = line.iter().position(|byte| *byte == b' ');
        space.is_some_and(|space| line[space + 1..].starts_with(TAGS.as_bytes()))
    })
}

/// Adds all loose refs below `prefix` in a fixed order. Returns whether all of them are supported.
fn add_refs(hashes: &mut Hashes, directory: &Path, prefix: &str, depth: usize) -> io::Result<bool> {
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
            if depth == DEPTH_MAX || !add_refs(hashes, directory, &path, depth + 1)? {
                return Ok(false);
            }
        } else if !kind.is_file() {
            return Ok(false);
        } else if !name.ends_with(".lock")
            && let Some(value) = existing(fs::read(directory.join(&path)))?
        {
            let is_tag = path.starts_with(TAGS);
            if is_tag && value.starts_with(SYMBOLIC) {
                return Ok(false);
            }
            let of_tags = is_tag.then_some(&mut hashes.tags);
            for hash in [Some(&mut hashes.refs), of_tags].into_iter().flatten() {
                add(hash, path.as_bytes());
                add(hash, &value);
            }
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
mod tests;
