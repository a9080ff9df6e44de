//! An engine in memory for tests. It behaves like the durable engines and can inject faults.
//!
//! Data is lost when the engine is dropped. It is not fast: a commit copies all rows if a view is open.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError},
};

use async_trait::async_trait;
use bytes::Bytes;

use super::{
    CommitError, Engine, EngineError, EngineInfo, HintChannel, Key, Range, Scan, Transaction, View, WriteSet,
    memory_hints::MemoryHints,
    optimistic::{RECENT_KEYS_MAX, Reads, RecentWrites, Version, check_sizes},
    orders::{Order, Orders},
};
use crate::clock::Clock;

type Rows = BTreeMap<Key, Bytes>;

/// An ordered map with serializable transactions and [`Faults`]. Clones share it, as processes share a server.
#[derive(Clone, Default)]
pub struct MemoryEngine {
    state: Arc<Mutex<State>>,
    orders: Orders,
    faults: Faults,
    is_shared: bool,
    clock: Option<Clock>,
    /// The next number of each kind. `None` until the engine is shared.
    numbers: Arc<Mutex<Option<BTreeMap<&'static str, u64>>>>,
    hints: MemoryHints,
}

struct State {
    rows: Arc<Rows>,
    version: Version,
    recent: RecentWrites,
}

impl Default for State {
    fn default() -> Self {
        Self { rows: Arc::default(), version: 0, recent: RecentWrites::new(RECENT_KEYS_MAX) }
    }
}

/// What happened to a transaction whose commit result was lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LostCommit {
    /// The transaction was applied.
    Applied,
    /// The transaction was not applied.
    Dropped,
}

/// The fault injection of a [`MemoryEngine`]. Clones control the same engine.
///
/// Commits without writes always succeed, as with the other engines.
#[derive(Clone, Debug, Default)]
pub struct Faults {
    armed: Arc<Mutex<Armed>>,
}

#[derive(Debug, Default)]
#[expect(clippy::struct_excessive_bools, reason = "each is a fault of its own")]
struct Armed {
    conflicts: u32,
    lost: Option<(LostCommit, u32)>,
    /// Whether every second commit conflicts.
    rerun: bool,
    /// Whether the next commit conflicts, if `rerun` is set.
    rerun_next: bool,
    unavailable: bool,
    hints_lost: bool,
}

impl Faults {
    /// Makes the next `commits` commits conflict.
    pub fn conflict(&self, commits: u32) {
        self.armed().conflicts = commits;
    }

    /// Makes every second commit conflict, so that closures of sequential transactions run twice.
    pub fn rerun(&self, on: bool) {
        let mut armed = self.armed();
        armed.rerun = on;
        armed.rerun_next = on;
    }

    /// Loses the results of the next `commits` commits.
    pub fn lose_answers(&self, lost: LostCommit, commits: u32) {
        self.armed().lost = Some((lost, commits));
    }

    /// Makes every operation fail until it is switched off.
    pub fn unavailable(&self, on: bool) {
        self.armed().unavailable = on;
    }

    /// Loses all hints until it is switched off.
    pub fn lose_hints(&self, on: bool) {
        self.armed().hints_lost = on;
    }

    /// Returns whether hints are lost.
    pub(super) fn loses_hints(&self) -> bool {
        self.armed().hints_lost
    }

    fn armed(&self) -> MutexGuard<'_, Armed> {
        self.armed.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn check(&self) -> Result<(), EngineError> {
        if self.armed().unavailable { Err(EngineError::Unavailable) } else { Ok(()) }
    }
}

impl Armed {
    fn conflict_now(&mut self) -> bool {
        if self.rerun {
            self.rerun_next = !self.rerun_next;
            return !self.rerun_next;
        }
        take_one(&mut self.conflicts)
    }

    fn lost_now(&mut self) -> Option<LostCommit> {
        let (lost, remaining) = self.lost.as_mut()?;
        take_one(remaining).then_some(*lost)
    }
}

fn take_one(remaining: &mut u32) -> bool {
    let available = *remaining > 0;
    *remaining = remaining.saturating_sub(1);
    available
}

impl MemoryEngine {
    /// Creates an empty engine without faults.
    pub fn new() -> Self {
        Self::default()
    }

    /// Creates an empty engine for several nodes in one process.
    pub fn shared() -> Self {
        Self { is_shared: true, ..Self::default() }
    }

    /// Like [`MemoryEngine::shared`], with a clock of its own, as a server has.
    pub fn shared_with_clock(clock: Clock) -> Self {
        Self { clock: Some(clock), ..Self::shared() }
    }

    /// Returns the fault injection of this engine.
    pub fn faults(&self) -> Faults {
        self.faults.clone()
    }

    fn transaction(&self) -> Result<MemoryTransaction, EngineError> {
        self.faults.check()?;
        let settled = self.orders.settled();
        let state = lock(&self.state);
        Ok(MemoryTransaction {
            settled,
            orders: self.orders.clone(),
            order: OnceLock::new(),
            rows: Arc::clone(&state.rows),
            since: state.version,
            reads: Mutex::default(),
            state: Arc::clone(&self.state),
            faults: self.faults.clone(),
            clock: self.clock.clone(),
        })
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[async_trait]
impl Engine for MemoryEngine {
    fn is_shared(&self) -> bool {
        self.is_shared
    }

    async fn snapshot(&self) -> Result<Box<dyn View>, EngineError> {
        Ok(Box::new(self.transaction()?))
    }

    async fn begin(&self) -> Result<Box<dyn Transaction>, EngineError> {
        Ok(Box::new(self.transaction()?))
    }

    async fn share(&self, numbers: &[(&'static str, u64)]) -> Result<(), EngineError> {
        self.faults.check()?;
        if self.is_shared {
            let mut next = lock(&self.numbers);
            let next = next.get_or_insert_default();
            for (kind, first) in numbers {
                next.entry(kind).or_insert(*first);
            }
        }
        Ok(())
    }

    fn gives_numbers(&self) -> bool {
        lock(&self.numbers).is_some()
    }

    async fn next_number(&self, kind: &'static str) -> Result<u64, EngineError> {
        self.faults.check()?;
        let mut numbers = lock(&self.numbers);
        let next = numbers.get_or_insert_default().entry(kind).or_insert(1);
        *next += 1;
        Ok(*next - 1)
    }

    async fn raise_number(&self, kind: &'static str, first: u64) -> Result<(), EngineError> {
        let mut numbers = lock(&self.numbers);
        let next = numbers.get_or_insert_default().entry(kind).or_insert(1);
        *next = first.max(*next);
        Ok(())
    }

    async fn hints(&self) -> Result<Option<Box<dyn HintChannel>>, EngineError> {
        if !self.is_shared {
            return Ok(None);
        }
        self.faults.check()?;
        Ok(Some(Box::new(self.hints.open(self.faults.clone()))))
    }

    async fn health(&self) -> Result<EngineInfo, EngineError> {
        self.faults.check()?;
        Ok(EngineInfo { name: "memory", size_bytes: 0, oldest_write: None, server: None })
    }
}

struct MemoryTransaction {
    /// All transactions with a smaller order had ended before the view was created.
    settled: u64,
    orders: Orders,
    order: OnceLock<Order>,
    rows: Arc<Rows>,
    since: Version,
    reads: Mutex<Reads>,
    state: Arc<Mutex<State>>,
    faults: Faults,
    clock: Option<Clock>,
}

impl MemoryTransaction {
    /// Returns the entries that `scan` visits, at most `visits_max`, and records the range that was read.
    fn walk(&self, scan: &Scan, visits_max: usize) -> Vec<(Key, Bytes)> {
        let range = self.rows.range::<[u8], _>(scan.range.bounds());
        let pairs = range.map(|(key, value)| (key.clone(), value.clone()));
        let visited: Vec<_> =
            if scan.reverse { pairs.rev().take(visits_max).collect() } else { pairs.take(visits_max).collect() };
        let stopped_at = if visited.len() == visits_max { visited.last().map(|(key, _)| key.as_slice()) } else { None };
        lock(&self.reads).scan(scan, stopped_at);
        visited
    }
}

#[async_trait]
impl View for MemoryTransaction {
    async fn get(&self, key: &[u8]) -> Result<Option<Bytes>, EngineError> {
        self.faults.check()?;
        lock(&self.reads).key(key);
        Ok(self.rows.get(key).cloned())
    }

    async fn get_many(&self, keys: &[Key]) -> Result<Vec<Option<Bytes>>, EngineError> {
        self.faults.check()?;
        lock(&self.reads).keys(keys);
        Ok(keys.iter().map(|key| self.rows.get(key).cloned()).collect())
    }

    async fn scan(&self, scan: &Scan) -> Result<Vec<(Key, Bytes)>, EngineError> {
        self.faults.check()?;
        let skip = usize::try_from(scan.skip).unwrap_or(usize::MAX);
        let visited = self.walk(scan, skip.saturating_add(scan.limit));
        Ok(visited.into_iter().skip(skip).collect())
    }

    async fn count(&self, range: &Range, cap: u64) -> Result<u64, EngineError> {
        self.faults.check()?;
        let limit = usize::try_from(cap).unwrap_or(usize::MAX);
        Ok(self.walk(&Scan::of(range.clone(), limit), limit).len() as u64)
    }

    async fn settled(&self) -> Result<u64, EngineError> {
        self.faults.check()?;
        Ok(self.settled)
    }

    async fn now_ms(&self) -> Result<Option<i64>, EngineError> {
        self.faults.check()?;
        Ok(self.clock.as_ref().map(Clock::now_ms))
    }
}

#[async_trait]
impl Transaction for MemoryTransaction {
    async fn order(&self) -> Result<u64, EngineError> {
        self.faults.check()?;
        Ok(self.order.get_or_init(|| self.orders.take()).number)
    }

    async fn commit(self: Box<Self>, writes: WriteSet) -> Result<(), CommitError> {
        check_sizes(&writes)?;
        self.faults.check()?;
        if writes.is_empty() {
            return Ok(());
        }
        let Self { rows, since, reads, state, order: _order, faults, .. } = *self;
        // If a view were still open, the commit would copy the rows.
        drop(rows);
        let mut state = lock(&state);
        let reads = reads.into_inner().unwrap_or_else(PoisonError::into_inner);
        if state.recent.conflicts(since, &reads) || faults.armed().conflict_now() {
            return Err(CommitError::Conflict);
        }
        let lost = faults.armed().lost_now();
        if lost != Some(LostCommit::Dropped) {
            state.apply(writes);
        }
        match lost {
            None => Ok(()),
            Some(_) => Err(CommitError::Unknown(EngineError::Unavailable)),
        }
    }
}

impl State {
    fn apply(&mut self, writes: WriteSet) {
        self.version += 1;
        self.recent.record(self.version, writes.keys());
        let rows = Arc::make_mut(&mut self.rows);
        for (key, value) in writes {
            match value {
                Some(value) => rows.insert(key, value),
                None => rows.remove(&key),
            };
        }
    }
}
