//! Keeps what was read from the files of refs, so that the fetches of one state read them once.
//!
//! Each fetch needs the list of refs and the state of the repository. Both are kept in memory and used again while the
//! following is the same ([`RefStamp`]). Nothing here decides about access: callers are authorized before, each time.
//!
//! * The generations of the repository. The daemon changes refs, `HEAD` and the configuration under the lock of the
//!   repository, which raises the generation before anything changes. What works without this lock raises a generation
//!   when it has ended: threads that write files of refs after their caller has left, and those that add or remove
//!   packs. So only what was read while nobody held the lock, without a newer generation afterwards, is kept, and no
//!   request finds it after a change has begun. `copies` brings the files to the version of the rows before a request
//!   is answered, so a request that begins after a push was acknowledged has the generation of the changed files.
//! * The inodes, sizes and times of the files and directories of refs and of the directory of packs. So changes that
//!   somebody makes with git in the directory count from their end, as if nothing were kept. Git replaces files of
//!   refs, which changes the times of their directories. Within a tick of the clock (on some file systems, within a
//!   second), two changes have the same time, so nothing is kept that was changed just before.

use std::{
    collections::HashMap,
    fs, io, mem,
    os::unix::fs::MetadataExt as _,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, SystemTime},
};

use super::{
    Git,
    fetch_cache::{request::Digest, state::FetchState},
    packed_refs,
    ref_list::{LOOSE_BYTES, RefList},
};

/// Files whose changes end the use of what is kept. Those that do not exist may be created.
const FILES: [&str; 6] = ["HEAD", "config", packed_refs::FILE, "shallow", "objects/info/alternates", "objects/pack"];
/// Maximum number of files and directories that are compared for each request. Of repositories with more directories
/// below `refs`, nothing is kept.
const PATHS_MAX: usize = 64;
/// A file that was changed within this time may be changed again with the same time. A tick of the kernel's clock takes
/// at most 10 ms.
const SETTLED_AFTER: Duration = Duration::from_millis(50);
/// The same for times without a fraction, which are all that some file systems store.
const SECONDS_SETTLED_AFTER: Duration = Duration::from_secs(2);
/// Maximum size of a kept list, bytes.
const LIST_MAX_BYTES: usize = 512 << 10;
/// Maximum number of requests of a repository whose objects were found.
const REQUESTS_MAX: usize = 64;
/// Maximum memory of everything that is kept, bytes.
const KEPT_MAX_BYTES: usize = 8 << 20;
/// Memory of a repository besides its list and its paths, bytes.
const REPOSITORY_BYTES: usize = 512 + REQUESTS_MAX * size_of::<Digest>();
/// Memory of a path besides its name, bytes.
const PATH_BYTES: usize = 96;

/// Inode, size and time of the last change of a file; `None` if it does not exist.
type FileStamp = Option<(u64, u64, SystemTime)>;

/// Shows whether refs may have changed.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct RefStamp {
    generations: (u64, u64),
    paths: Vec<(PathBuf, FileStamp)>,
}

impl RefStamp {
    /// Looks at the files of the repository in `directory`. `None`: they are too many, or one was changed just before
    /// `now`.
    fn read(directory: &Path, generations: (u64, u64), now: SystemTime) -> io::Result<Option<Self>> {
        let mut paths = Vec::new();
        for file in FILES {
            let path = directory.join(file);
            let found = file_stamp(&path)?;
            paths.push((path, found));
        }
        if !add_directories(directory.join("refs"), &mut paths)? {
            return Ok(None);
        }
        let are_settled = paths.iter().all(|(_, found)| found.is_none_or(|(_, _, modified)| is_settled(modified, now)));
        Ok(are_settled.then_some(Self { generations, paths }))
    }

    /// Returns whether the files are the same.
    fn matches_files(&self) -> bool {
        self.paths.iter().all(|(path, seen)| file_stamp(path).is_ok_and(|found| found == *seen))
    }
}

/// Returns whether a change after `now` gives a file another time than `modified`.
fn is_settled(modified: SystemTime, now: SystemTime) -> bool {
    let is_whole = modified.duration_since(SystemTime::UNIX_EPOCH).is_ok_and(|since| since.subsec_nanos() == 0);
    let wait = if is_whole { SECONDS_SETTLED_AFTER } else { SETTLED_AFTER };
    now.duration_since(modified).is_ok_and(|age| age >= wait)
}

fn file_stamp(path: &Path) -> io::Result<FileStamp> {
    match fs::metadata(path) {
        Ok(found) => Ok(Some((found.ino(), found.size(), found.modified()?))),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// Adds `path` and all directories below it. Returns whether they are few enough.
fn add_directories(path: PathBuf, paths: &mut Vec<(PathBuf, FileStamp)>) -> io::Result<bool> {
    if paths.len() == PATHS_MAX {
        return Ok(false);
    }
    // Before its entries: an entry that is added meanwhile changes the time.
    let found = file_stamp(&path)?;
    let entries = fs::read_dir(&path)?;
    paths.push((path, found));
    for entry in entries {
        let entry = entry?;
        if entry.file_type()?.is_dir() && !add_directories(entry.path(), paths)? {
            return Ok(false);
        }
    }
    Ok(true)
}

/// What was read from the files of one repository.
#[derive(Clone, Debug)]
pub(super) struct Kept {
    stamp: Arc<RefStamp>,
    list: Option<Arc<RefList>>,
    list_bytes: usize,
    state: Option<FetchState>,
    /// Requests that name only objects that were found in packs.
    found: Vec<Digest>,
}

impl Kept {
    fn new(stamp: RefStamp) -> Self {
        Self { stamp: Arc::new(stamp), list: None, list_bytes: 0, state: None, found: Vec::new() }
    }

    /// Returns the list of refs.
    pub(super) fn list(&self) -> Option<&Arc<RefList>> {
        self.list.as_ref()
    }

    /// Returns the state.
    pub(super) fn state(&self) -> Option<FetchState> {
        self.state
    }

    /// Returns whether the repository has all objects that `request` names. `false`: this is unknown.
    pub(super) fn has_objects_of(&self, request: &Digest) -> bool {
        self.found.contains(request)
    }

    /// Adds the list, unless it is long.
    pub(super) fn set_list(&mut self, list: &Arc<RefList>) {
        let bytes = list.tips.keys().map(|name| name.len() + LOOSE_BYTES).sum::<usize>();
        if bytes <= LIST_MAX_BYTES {
            (self.list, self.list_bytes) = (Some(list.clone()), bytes);
        }
    }

    /// Adds the state.
    pub(super) fn set_state(&mut self, state: FetchState) {
        self.state = Some(state);
    }

    /// Notes that all objects that `request` names are in packs.
    pub(super) fn add_found(&mut self, request: Digest) {
        // Equal requests may have looked at the same time.
        if self.has_objects_of(&request) {
            return;
        }
        if self.found.len() == REQUESTS_MAX {
            self.found.clear();
        }
        self.found.push(request);
    }

    fn bytes(&self) -> usize {
        let paths = self.stamp.paths.iter().map(|(path, _)| path.as_os_str().len() + PATH_BYTES);
        REPOSITORY_BYTES + self.list_bytes + paths.sum::<usize>()
    }
}

/// What is kept of all repositories.
#[derive(Debug, Default)]
pub(super) struct KeptRefs(Mutex<Table>);

#[derive(Debug, Default)]
struct Table {
    repositories: HashMap<u64, Arc<Kept>>,
    bytes: usize,
}

impl Table {
    fn remove(&mut self, repository: u64) -> Option<Arc<Kept>> {
        let removed = self.repositories.remove(&repository)?;
        self.bytes -= removed.bytes();
        Some(removed)
    }
}

impl KeptRefs {
    fn get(&self, repository: u64) -> Option<Arc<Kept>> {
        self.table().repositories.get(&repository).cloned()
    }

    /// Removes `kept`, unless the repository has something newer by now.
    fn remove(&self, repository: u64, kept: &Arc<Kept>) {
        let mut table = self.table();
        let is_same = table.repositories.get(&repository).is_some_and(|found| Arc::ptr_eq(found, kept));
        let removed = if is_same { table.remove(repository) } else { None };
        drop(table);
        // Freed after the lock is released.
        drop(removed);
    }

    /// Adds what was read with `stamp` to what was read before with an equal one. If everything together needs too much
    /// memory, all of it is dropped.
    fn add(&self, repository: u64, stamp: RefStamp, add: impl FnOnce(&mut Kept)) {
        let mut table = self.table();
        let before = table.remove(repository);
        let mut kept = match &before {
            Some(before) if *before.stamp == stamp => Kept::clone(before),
            _ => Kept::new(stamp),
        };
        add(&mut kept);
        table.bytes += kept.bytes();
        table.repositories.insert(repository, Arc::new(kept));
        let dropped = if table.bytes > KEPT_MAX_BYTES { mem::take(&mut *table) } else { Table::default() };
        drop(table);
        drop((before, dropped));
    }

    fn table(&self) -> MutexGuard<'_, Table> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Git {
    /// Returns what was read from the files of refs of a repository, if they are the same. Does not wait for other
    /// threads: looks only at a few files that earlier requests have looked at.
    pub(super) fn kept_refs(&self, repository: u64) -> Option<Arc<Kept>> {
        let kept = self.0.kept_refs.get(repository)?;
        if self.is_current(repository, &kept.stamp) {
            return Some(kept);
        }
        self.0.kept_refs.remove(repository, &kept);
        None
    }

    /// Begins to read files of refs. Blocks the thread. `None`: what is read now cannot be kept.
    pub(super) fn begin_keeping(&self, repository: u64) -> Option<RefStamp> {
        // Before the lock is looked at: who takes it afterwards raises the generation before anything changes.
        let generations = self.0.generations.both(repository);
        if self.0.locks.is_locked(repository) {
            return None;
        }
        #[expect(clippy::disallowed_methods, reason = "compared with times that the kernel gives to files")]
        let now = SystemTime::now();
        RefStamp::read(&self.directory(repository), generations, now).ok().flatten()
    }

    /// Keeps what `add` adds, if nothing has changed since `stamp` was taken. Blocks the thread.
    pub(super) fn keep_refs(&self, repository: u64, stamp: Option<RefStamp>, add: impl FnOnce(&mut Kept)) {
        if let Some(stamp) = stamp.filter(|stamp| self.is_current(repository, stamp)) {
            self.0.kept_refs.add(repository, stamp, add);
        }
    }

    fn is_current(&self, repository: u64, stamp: &RefStamp) -> bool {
        stamp.generations == self.0.generations.both(repository) && stamp.matches_files()
    }
}

#[cfg(test)]
mod tests;
