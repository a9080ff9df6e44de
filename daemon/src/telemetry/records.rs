//! The newest log records, in memory. `GET /api/farrier/v1/logs` reads them.
//!
//! A process has one list of records, because it has one subscriber of `tracing`, which adds them.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError},
};

use tracing::Level;

pub use super::fields::LogFields;
use crate::clock::Millis;

/// Sequence numbers per millisecond: the first number of a process is the time of its start. So numbers grow across
/// restarts, as long as the clock of the machine is not set back.
const NUMBERS_PER_MS: u64 = 1_000;
/// Estimated size of a record without its fields and texts, in bytes: the record, its references and its allocations.
const RECORD_BYTES: usize = 160;

static OF_PROCESS: OnceLock<Arc<LogRecords>> = OnceLock::new();

/// A log record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogRecord {
    /// Number of the record. Later records have higher numbers.
    pub sequence: u64,
    /// Time of the record.
    pub at_ms: Millis,
    /// The content.
    pub line: LogLine,
}

/// The content of a log record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogLine {
    /// Level.
    pub level: Level,
    /// Target, usually the module.
    pub target: &'static str,
    /// Message.
    pub message: String,
    /// The other fields.
    pub fields: LogFields,
}

impl Default for LogLine {
    fn default() -> Self {
        Self { level: Level::INFO, target: "", message: String::new(), fields: LogFields::default() }
    }
}

impl LogLine {
    /// Returns the value of a field.
    pub fn field(&self, name: &str) -> Option<&str> {
        self.fields.pairs().find(|(field, _)| *field == name).map(|(_, value)| value)
    }

    /// Returns the approximate size in memory, in bytes. Unused capacity of the texts and of the list of fields counts.
    pub fn bytes(&self) -> usize {
        RECORD_BYTES + self.message.capacity() + self.fields.bytes()
    }
}

/// The newest log records. When the limits are reached, each new record replaces the oldest ones.
#[derive(Debug)]
pub struct LogRecords {
    max_records: usize,
    max_bytes: usize,
    first: u64,
    kept: Mutex<Kept>,
}

#[derive(Debug)]
struct Kept {
    /// Their sequence numbers have no gaps.
    records: VecDeque<Arc<LogRecord>>,
    bytes: usize,
    /// Sequence number of the next record.
    next: u64,
}

/// The sequence numbers of the records of this process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Extent {
    /// The number of the first record, which may not be kept any more.
    pub first: u64,
    /// The number of the next record.
    pub next: u64,
    /// How many records are kept.
    pub kept: usize,
}

impl LogRecords {
    /// Creates an empty list. `max_records` 0: none are kept.
    pub fn new(max_records: usize, max_bytes: usize, now_ms: Millis) -> Self {
        let first = u64::try_from(now_ms).unwrap_or_default().saturating_mul(NUMBERS_PER_MS).max(1);
        Self {
            max_records,
            max_bytes,
            first,
            kept: Mutex::new(Kept { records: VecDeque::new(), bytes: 0, next: first }),
        }
    }

    /// Returns the records of this process. They stay empty if logging was not started, as in most tests.
    pub fn of_process() -> Arc<Self> {
        OF_PROCESS.get().cloned().unwrap_or_else(|| Arc::new(Self::new(0, 0, 0)))
    }

    /// Makes these the records of the process. Returns those that were set first.
    pub(super) fn set_for_process(self) -> Arc<Self> {
        OF_PROCESS.get_or_init(|| Arc::new(self)).clone()
    }

    /// Adds a record.
    pub fn add(&self, at_ms: Millis, line: LogLine) {
        let bytes = line.bytes();
        let mut record = LogRecord { sequence: 0, at_ms, line };
        let mut kept = self.kept();
        record.sequence = kept.next;
        kept.next += 1;
        kept.bytes += bytes;
        kept.records.push_back(Arc::new(record));
        while kept.records.len() > self.max_records || kept.bytes > self.max_bytes {
            let Some(oldest) = kept.records.pop_front() else { break };
            kept.bytes -= oldest.line.bytes();
        }
    }

    /// Returns the sequence numbers.
    pub fn extent(&self) -> Extent {
        let kept = self.kept();
        Extent { first: self.first, next: kept.next, kept: kept.records.len() }
    }

    /// Returns up to `limit` kept records from the number `from` on, oldest first.
    pub fn since(&self, from: u64, limit: usize) -> Vec<Arc<LogRecord>> {
        let kept = self.kept();
        let oldest = kept.records.front().map_or(kept.next, |record| record.sequence);
        let skipped = usize::try_from(from.saturating_sub(oldest)).unwrap_or(usize::MAX);
        kept.records.iter().skip(skipped).take(limit).cloned().collect()
    }

    /// Returns up to `limit` kept records before the number `before`, newest first.
    pub fn before(&self, before: u64, limit: usize) -> Vec<Arc<LogRecord>> {
        let kept = self.kept();
        let skipped = usize::try_from(kept.next.saturating_sub(before)).unwrap_or(usize::MAX);
        kept.records.iter().rev().skip(skipped).take(limit).cloned().collect()
    }

    /// Locks the records. Each lock is held for one record, or for copying one batch of references.
    fn kept(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::{super::fields::FIELD_BYTES, *};

    fn line(message: &str) -> LogLine {
        LogLine { message: message.to_owned(), ..LogLine::default() }
    }

    fn messages(records: &[Arc<LogRecord>]) -> Vec<&str> {
        records.iter().map(|record| record.line.message.as_str()).collect()
    }

    #[test]
    fn only_the_newest_records_within_both_limits_are_kept() {
        let records = LogRecords::new(3, 1 << 20, 0);
        for message in ["a", "b", "c", "d", "e"] {
            records.add(0, line(message));
        }
        assert_eq!(messages(&records.since(0, 10)), ["c", "d", "e"]);
        assert_eq!(records.extent(), Extent { first: 1, next: 6, kept: 3 });

        let records = LogRecords::new(100, 1_000, 0);
        for message in ["a", "b"] {
            records.add(0, line(message));
        }
        records.add(0, line(&"c".repeat(700)));
        assert_eq!(records.since(0, 10).len(), 1, "the large record leaves no room for the others");
        records.add(0, line(&"d".repeat(2_000)));
        assert_eq!(records.extent(), Extent { first: 1, next: 5, kept: 0 }, "a record above the limit is not kept");
        records.add(0, line("e"));
        assert_eq!(messages(&records.since(0, 10)), ["e"]);
    }

    #[test]
    fn unused_capacity_counts_towards_the_limit() {
        let records = LogRecords::new(100, 20_000, 0);
        for _ in 0..100 {
            let (mut message, mut fields) = (String::with_capacity(1_000), LogFields::with_capacity(50));
            message.push('a');
            fields.push("hook", "7");
            records.add(0, LogLine { message, fields, ..LogLine::default() });
        }
        let kept = records.extent().kept;
        assert!((1..=20_000 / (1_000 + 50 * FIELD_BYTES)).contains(&kept), "{kept}");
    }

    #[test]
    fn records_are_read_by_their_numbers_in_both_directions() {
        let records = LogRecords::new(4, 1 << 20, 0);
        for message in ["a", "b", "c", "d", "e"] {
            records.add(0, line(message));
        }
        assert_eq!(messages(&records.since(4, 1)), ["d"]);
        assert_eq!(messages(&records.since(6, 10)), Vec::<&str>::new());
        assert_eq!(messages(&records.since(u64::MAX, 10)), Vec::<&str>::new());
        assert_eq!(messages(&records.before(6, 2)), ["e", "d"]);
        assert_eq!(messages(&records.before(4, 10)), ["c", "b"]);
        assert_eq!(messages(&records.before(0, 10)), Vec::<&str>::new());
    }

    #[test]
    fn without_a_number_of_records_none_are_kept() {
        let records = LogRecords::new(0, 1 << 20, 0);
        records.add(0, line("a"));
        assert_eq!((records.since(0, 10).len(), records.extent().next), (0, 2));
    }

    #[test]
    fn the_numbers_of_a_later_start_are_higher() {
        let (before, after) = (LogRecords::new(9, 1 << 20, 1_000), LogRecords::new(9, 1 << 20, 1_002));
        (0..1_500).for_each(|_| before.add(0, line("a")));
        assert!(before.extent().next < after.extent().first);
    }
}
