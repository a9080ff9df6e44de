//! Answers many equal fetches from one stored response.
//!
//! The first request runs straight through. An equal request within ten minutes is stored while it is answered: git
//! writes to a file, and all equal requests read behind it at their own speed. Later requests read the complete file
//! and start no process. If requests for other objects, which are equal otherwise, repeated in the last ten minutes,
//! the first request is stored. Callers are authorized before they get here, each time.
//!
//! The first request of a client that has commits is stored, too: after a push, all copies of a repository send the
//! same one, and its answer is small. If the answer is larger than `FIRST_MAX_BYTES` and no other request reads it by
//! then, it is not kept, and no other answer is removed to make room for it.
//!
//! Answers are found by repository, state and canonical request ([`mod@request`]). They are copies of
//! what git reads from the repository: removing one loses nothing. Files have no names and end with the daemon, so a
//! new daemon starts with an empty cache.

mod answer;
mod index;
mod recent;
pub mod request;
pub(super) mod state;
#[cfg(test)]
mod tests;

use std::{
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use bytes::Bytes;
use tokio::time::Instant;

pub use self::answer::{AnswerEnd, AnswerReader, ReadStep};
use self::{
    answer::Answer,
    index::{AnswerIndex, AnswerOrigin},
    recent::RecentRequests,
    request::{Digest, FetchRequest},
    state::StateScope,
};
use super::{Git, GitError};
use crate::{
    config,
    shares::{Holder, Share},
    tasks,
};

/// Part of the disk that answers leave free: one of this many.
const DISK_RESERVE_SHARE: u64 = 20;
/// Time in which git may end after the last reader has left. Clients disconnect as soon as they have the last packet,
/// which is often before git exits. Such an answer is complete, and kept.
const EXIT_GRACE: Duration = Duration::from_secs(1);

/// Largest answer that is kept although its request came once, bytes.
const FIRST_MAX_BYTES: u64 = 256 << 10;

/// The stored answers to fetches.
#[derive(Debug)]
pub struct FetchCache {
    /// The directory on whose disk the files are.
    directory: PathBuf,
    max_bytes: u64,
    max_answer_bytes: u64,
    /// Bytes of all answers, also of those that only readers still use.
    total: Arc<AtomicU64>,
    lookup: Mutex<Lookup>,
    counters: Counters,
}

/// What requests are compared with.
#[derive(Debug, Default)]
struct Lookup {
    recent: RecentRequests,
    index: AnswerIndex,
}

#[derive(Debug, Default)]
struct Counters {
    hits: AtomicU64,
    joins: AtomicU64,
    misses: AtomicU64,
    evictions: AtomicU64,
    served_bytes: AtomicU64,
}

/// The use of the cache since the start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CacheUsage {
    /// Requests that got a complete answer.
    pub hits: u64,
    /// Requests that read an answer while it was written for another one.
    pub joins: u64,
    /// Requests that could have had a stored answer and were answered by git.
    pub misses: u64,
    /// Answers that were removed to make room.
    pub evictions: u64,
    /// Bytes read from stored answers.
    pub served_bytes: u64,
    /// Current size of all answers, bytes.
    pub bytes: u64,
    /// Largest size, bytes.
    pub max_bytes: u64,
}

/// How a request with a shared answer is answered.
#[derive(Debug)]
pub enum SharedFetch {
    /// The caller runs git with the canonical request and gives its output to the writer.
    Write(AnswerWriter, AnswerReader),
    /// Another request has run git, or does so now.
    Read(AnswerReader),
}

impl FetchCache {
    pub(super) fn new(data_dir: &Path, config: &config::GitConfig) -> Arc<Self> {
        Arc::new(Self {
            directory: data_dir.to_owned(),
            max_bytes: config.cache_max_bytes,
            max_answer_bytes: config.cache_max_answer_bytes.min(config.cache_max_bytes),
            total: Arc::default(),
            lookup: Mutex::default(),
            counters: Counters::default(),
        })
    }

    /// Returns whether answers are stored at all.
    pub fn is_on(&self) -> bool {
        self.max_bytes > 0
    }

    /// Returns the current use.
    pub fn usage(&self) -> CacheUsage {
        let get = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        let Counters { hits, joins, misses, evictions, served_bytes } = &self.counters;
        CacheUsage {
            hits: get(hits),
            joins: get(joins),
            misses: get(misses),
            evictions: get(evictions),
            served_bytes: get(served_bytes),
            bytes: self.total.load(Ordering::SeqCst),
            max_bytes: self.max_bytes,
        }
    }

    /// Counts bytes that a client gets from a stored answer.
    pub fn count_served(&self, bytes: u64) {
        self.counters.served_bytes.fetch_add(bytes, Ordering::Relaxed);
    }

    /// Returns whether `bytes` more leave the last part of the disk free.
    pub async fn has_disk_space(&self, bytes: u64) -> bool {
        let directory = self.directory.clone();
        let stat = tasks::blocking(move || rustix::fs::statvfs(&directory)).await;
        stat.is_ok_and(|stat| {
            let (free, all) = (stat.f_bavail * stat.f_frsize, stat.f_blocks * stat.f_frsize);
            free.saturating_sub(bytes) > all / DISK_RESERVE_SHARE
        })
    }

    fn lookup(&self) -> MutexGuard<'_, Lookup> {
        self.lookup.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Finds or begins the answer to a request with the shape `shape`.
    fn share(self: &Arc<Self>, origin: AnswerOrigin, shape: Digest) -> Option<SharedFetch> {
        // Dropped after the lock is released, because that closes files.
        let _unreachable;
        let mut lookup = self.lookup();
        if let Some(answer) = lookup.index.get(&origin) {
            let counters = &self.counters;
            let counter = if answer.progress().end.is_some() { &counters.hits } else { &counters.joins };
            counter.fetch_add(1, Ordering::Relaxed);
            return Some(SharedFetch::Read(AnswerReader::new(answer)));
        }
        // Looks at all answers, so only now: the first request in a new state finds none.
        _unreachable = lookup.index.remove_other_states(origin.repository, &origin.state);
        let answer = Arc::new(Answer::new(self.total.clone()));
        let evicted = lookup.index.insert(origin, answer.clone()).ok()?;
        self.count_evicted(evicted.is_some());
        let reader = AnswerReader::new(answer.clone());
        drop(lookup);
        drop(evicted);
        let writer = AnswerWriter { cache: self.clone(), answer, origin, shape, is_first: false };
        Some(SharedFetch::Write(writer, reader))
    }

    /// Returns whether one answer may have `bytes`.
    fn may_hold(&self, bytes: u64) -> bool {
        bytes <= self.max_answer_bytes
    }

    /// Counts `bytes` more to `answer`, if `evicts` after others were removed if necessary. Returns `false` if they do
    /// not fit.
    fn make_room(&self, answer: &Answer, bytes: u64, evicts: bool) -> bool {
        if !self.may_hold(answer.counted() + bytes) {
            return false;
        }
        let mut lookup = self.lookup();
        let mut evicted = Vec::new();
        while self.total.load(Ordering::SeqCst) + bytes > self.max_bytes {
            if !evicts {
                return false;
            }
            let Some(least) = lookup.index.take_least_used() else { return false };
            // Now, because the file is closed after the lock is released.
            least.uncount();
            self.count_evicted(true);
            evicted.push(least);
        }
        answer.count(bytes);
        drop(lookup);
        drop(evicted);
        true
    }

    fn count_evicted(&self, was_evicted: bool) {
        self.counters.evictions.fetch_add(u64::from(was_evicted), Ordering::Relaxed);
    }
}

impl Git {
    /// Returns the stored answers to fetches.
    pub fn fetch_cache(&self) -> &Arc<FetchCache> {
        &self.0.fetch_cache
    }

    /// Returns how to share the answer to `request`, and a share of git transfers for `holder`. `None`: the request
    /// comes for the first time and has no haves, or its answer must not be stored, so the caller sends it to git. The
    /// caller must have been authorized.
    pub async fn shared_fetch(
        &self,
        repository: u64,
        request: &FetchRequest,
        holder: Holder,
    ) -> Result<Option<(SharedFetch, Share)>, GitError> {
        let cache = self.fetch_cache();
        let (digest, shape) = (request.digest(repository), request.shape(repository));
        let (repeats, is_first) = {
            let mut lookup = cache.lookup();
            let repeats = lookup.recent.repeats(digest, shape, Instant::now()) || lookup.index.has_request(digest);
            (repeats, !repeats && request.has_haves() && !lookup.recent.is_excluded(digest))
        };
        let mut shared = if repeats || is_first {
            // Before the answer can be found: its readers must not have the shares that its writer waits for.
            let share = self.stream_share(holder).await?;
            let state = self.fetch_state_for(repository, request, digest).await?;
            let origin = state.map(|(state, scope)| AnswerOrigin { repository, request: digest, scope, state });
            origin.and_then(|origin| cache.share(origin, shape)).map(|shared| (shared, share))
        } else {
            None
        };
        if let Some((SharedFetch::Write(writer, _), _)) = &mut shared {
            writer.is_first = is_first;
        }
        if !matches!(shared, Some((SharedFetch::Read(_), _))) {
            cache.counters.misses.fetch_add(1, Ordering::Relaxed);
        }
        Ok(shared)
    }
}

/// Writes one answer. Dropping it ends the answer as incomplete.
#[derive(Debug)]
pub struct AnswerWriter {
    cache: Arc<FetchCache>,
    answer: Arc<Answer>,
    origin: AnswerOrigin,
    shape: Digest,
    /// Whether no equal request came before.
    is_first: bool,
}

impl AnswerWriter {
    /// Creates the file.
    pub async fn open(&self) -> Result<(), GitError> {
        let opened = self.answer.open(&self.cache.directory).await;
        opened.map_err(GitError::io("creating a file for the answer to a fetch"))
    }

    /// Stores `bytes`. `has_disk_space`: whether the disk has room for them. Without room, waits until all readers have
    /// read enough of the earlier bytes; the answer is then not kept.
    pub async fn append(&self, bytes: Bytes, has_disk_space: bool) -> Result<(), AnswerEnd> {
        if self.answer.progress().ring.is_none() {
            let (length, total) = (bytes.len() as u64, self.answer.counted() + bytes.len() as u64);
            let is_large_first = self.is_first && total > FIRST_MAX_BYTES;
            // Only its own client reads it then, so it takes no space from answers that others use.
            let is_unkept = is_large_first && !self.cache.lookup().index.keep_shared(self.origin.key(), &self.answer);
            let has_room = has_disk_space && self.cache.make_room(&self.answer, length, !is_unkept);
            if has_room && self.answer.append(&bytes).await {
                return Ok(());
            }
            self.forget();
            if !(is_unkept && has_disk_space && self.cache.may_hold(total)) {
                self.cache.lookup().recent.exclude(self.origin.request, self.shape, Instant::now());
            }
            self.answer.make_ring()?;
        }
        self.answer.append_to_ring(bytes).await
    }

    /// Waits until no request has read the answer for a second (`EXIT_GRACE`). No request finds it afterwards.
    pub async fn abandoned(&self) {
        loop {
            self.answer.without_readers().await;
            tokio::time::sleep(EXIT_GRACE).await;
            let mut lookup = self.cache.lookup();
            // Requests begin to read under this lock.
            if !self.answer.has_readers() {
                lookup.index.remove(self.origin.key(), &self.answer);
                return;
            }
        }
    }

    /// Ends a complete answer after git exited with status 0. It is kept if the repository is still in the state in
    /// which git started, as far as the answer depends on it.
    pub async fn complete(self, git: &Git) {
        // Tags that changed twice may be equal again, objects that were removed are not added again.
        let scope = if self.origin.scope == StateScope::Objects { StateScope::Objects } else { StateScope::Refs };
        let state = git.fetch_state(self.origin.repository).await;
        let is_unchanged = matches!(state, Ok(Some(state)) if state.of(scope) == self.origin.state.of(scope));
        if !is_unchanged {
            self.forget();
        }
        self.answer.end(AnswerEnd::Complete);
    }

    /// Ends the answer of a request that git refused with `status`. It is not kept.
    pub fn refused(self, status: i32) {
        self.forget();
        self.answer.end(AnswerEnd::Refused(status));
    }

    /// Makes sure that no request finds the answer.
    fn forget(&self) {
        self.cache.lookup().index.remove(self.origin.key(), &self.answer);
    }
}

impl Drop for AnswerWriter {
    fn drop(&mut self) {
        let progress = self.answer.progress();
        if progress.end.is_none() {
            self.forget();
            self.answer.end(if progress.written == 0 { AnswerEnd::NotStored } else { AnswerEnd::Failed });
        }
    }
}
