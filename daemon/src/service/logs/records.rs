//! Reads the newest log records of the daemon.

use std::sync::Arc;

use tracing::Level;

use super::objects::{LogObject, name_repositories, objects};
use crate::{
    service::Context,
    tasks,
    telemetry::records::{LogLine, LogRecord, LogRecords},
};

/// Records to read at a time. Logging waits while their references are copied.
const BATCH: usize = 256;
/// Size of records above which a page ends.
const PAGE_MAX_BYTES: usize = 1 << 20;

/// The field of the access log that marks successful `GET` requests of full screens.
const FULL_SCREEN: &str = "full_screen";

/// Selects log records. Empty texts match everything.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogQuery {
    /// Only records of this level and more severe ones.
    pub level: Option<Level>,
    /// Only records whose target begins with this text.
    pub target: String,
    /// Only records that contain this text, in any case.
    pub text: String,
    /// Whether the marked requests of full screens are returned. A full screen that shows the log sends requests all
    /// the time.
    pub full_screen: bool,
    /// Only records after the one with this number, oldest first. `None`: the newest ones.
    pub after: Option<u64>,
    /// Maximum number of records.
    pub limit: usize,
}

/// A page of log records.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LogPage {
    /// The records, oldest first.
    pub records: Vec<ShownRecord>,
    /// The number after which the next page begins.
    pub next: u64,
    /// Whether there were more records after these.
    pub more: bool,
    /// The number of records after `after` that are not kept any more, whether or not they matched.
    pub dropped: u64,
    /// Whether `after` is not the number of a record of this process. The page begins with its oldest record.
    pub restarted: bool,
}

/// A record with the objects that it names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShownRecord {
    /// The record.
    pub record: Arc<LogRecord>,
    /// Its objects.
    pub objects: Vec<LogObject>,
}

/// Records that match a query.
#[derive(Debug, Default)]
struct Matches {
    records: Vec<Arc<LogRecord>>,
    bytes: usize,
    next: u64,
    more: bool,
    dropped: u64,
    restarted: bool,
}

impl Matches {
    fn add(&mut self, record: Arc<LogRecord>) {
        self.bytes += record.line.bytes();
        self.records.push(record);
    }

    fn is_full(&self, query: &LogQuery) -> bool {
        self.records.len() >= query.limit || self.bytes >= PAGE_MAX_BYTES
    }
}

/// Lists log records.
pub async fn list(context: &Context, query: LogQuery) -> LogPage {
    let records = context.log_records.clone();
    let Matches { records, next, more, dropped, restarted, .. } = tasks::blocking(move || find(&records, &query)).await;
    let mut of_each: Vec<Vec<LogObject>> = records.iter().map(|record| objects(&record.line)).collect();
    // Without the store, repositories have their ID only: the log is most important when the store fails.
    if let Ok(snapshot) = context.store.read().await {
        let _ = name_repositories(&snapshot, &mut of_each).await;
    }
    let records = records.into_iter().zip(of_each).map(|(record, objects)| ShownRecord { record, objects });
    LogPage { records: records.collect(), next, more, dropped, restarted }
}

fn find(records: &LogRecords, query: &LogQuery) -> Matches {
    let text = query.text.to_lowercase();
    let matches = |line: &LogLine| {
        query.level.is_none_or(|level| line.level <= level)
            && line.target.starts_with(&query.target)
            && (query.full_screen || line.field(FULL_SCREEN).is_none())
            && (text.is_empty() || contains(line, &text))
    };
    match query.after {
        Some(after) => following(records, query, after, matches),
        None => newest(records, query, matches),
    }
}

/// Returns the oldest matching records after the number `after`.
fn following(records: &LogRecords, query: &LogQuery, after: u64, matches: impl Fn(&LogLine) -> bool) -> Matches {
    let extent = records.extent();
    let newest = extent.next - 1;
    let restarted = after != 0 && !(extent.first - 1..=newest).contains(&after);
    let mut last = if restarted || after == 0 { extent.first - 1 } else { after };
    let mut found = Matches { restarted, ..Matches::default() };
    // Records that are logged meanwhile are left to the next page.
    while last < newest && !found.more {
        let batch = records.since(last + 1, BATCH);
        if batch.is_empty() {
            // All of them were replaced, or each was above the limit.
            found.dropped += newest - last;
            last = newest;
        }
        for record in batch {
            if found.is_full(query) {
                found.more = true;
                break;
            }
            found.dropped += record.sequence - last - 1;
            last = record.sequence;
            if matches(&record.line) {
                found.add(record);
            }
        }
    }
    found.next = last;
    found
}

/// Returns the newest matching records, oldest first.
fn newest(records: &LogRecords, query: &LogQuery, matches: impl Fn(&LogLine) -> bool) -> Matches {
    let mut before = records.extent().next;
    let mut found = Matches { next: before - 1, ..Matches::default() };
    while !found.is_full(query) {
        let batch = records.before(before, BATCH);
        let Some(oldest) = batch.last() else { break };
        before = oldest.sequence;
        for record in batch {
            if !found.is_full(query) && matches(&record.line) {
                found.add(record);
            }
        }
    }
    found.records.reverse();
    found
}

/// Returns whether a log line contains a text, which is in lower case.
fn contains(line: &LogLine, text: &str) -> bool {
    let has = |part: &str| part.to_lowercase().contains(text);
    has(&line.message) || has(line.target) || line.fields.pairs().any(|(name, value)| has(&format!("{name}={value}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn query(after: Option<u64>, limit: usize) -> LogQuery {
        LogQuery { level: None, target: String::new(), text: String::new(), full_screen: true, after, limit }
    }

    /// Records `0` to `count - 1`, whose numbers are one higher. Each third one is a warning.
    fn records(kept: usize, count: usize) -> LogRecords {
        let records = LogRecords::new(kept, 1 << 20, 0);
        for number in 0..count {
            let level = if number % 3 == 0 { Level::WARN } else { Level::INFO };
            let fields = [("hook", number.to_string())].into_iter().collect();
            records.add(0, LogLine { level, target: "farrierd::x", message: "A hook".into(), fields });
        }
        records
    }

    fn numbers(found: &Matches) -> Vec<u64> {
        found.records.iter().map(|record| record.sequence).collect()
    }

    #[test]
    fn pages_follow_each_other_without_gap_or_repetition() {
        let records = records(1_000, 700);
        let (mut after, mut all) = (0, Vec::new());
        loop {
            let found = find(&records, &query(Some(after), 99));
            assert_eq!((found.dropped, found.restarted), (0, false));
            all.extend(numbers(&found));
            after = found.next;
            if !found.more {
                break;
            }
        }
        assert_eq!(all, (1..=700).collect::<Vec<u64>>());
        let end = find(&records, &query(Some(after), 99));
        assert_eq!((end.records.len(), end.next, end.more, end.restarted), (0, 700, false, false));
    }

    #[test]
    fn the_newest_records_are_returned_oldest_first_with_the_number_to_continue() {
        let records = records(1_000, 700);
        let found = find(&records, &LogQuery { level: Some(Level::WARN), ..query(None, 2) });
        assert_eq!((numbers(&found), found.next), (vec![697, 700], 700));
        let all = find(&records, &query(None, 1_000));
        assert_eq!(all.records.len(), 700);
    }

    #[test]
    fn requests_of_full_screens_can_be_left_out() {
        let records = records(1_000, 3);
        let fields = [("path", "/api/v1/user"), (FULL_SCREEN, "true")].into_iter().collect();
        records.add(0, LogLine { target: "farrierd::access", fields, ..LogLine::default() });
        assert_eq!(numbers(&find(&records, &query(None, 9))), [1, 2, 3, 4]);
        for after in [None, Some(0)] {
            let found = find(&records, &LogQuery { full_screen: false, ..query(after, 9) });
            assert_eq!((numbers(&found), found.next), (vec![1, 2, 3], 4), "the next page begins after all records");
        }
    }

    #[test]
    fn replaced_records_are_counted() {
        let records = records(10, 100);
        let found = find(&records, &query(Some(40), 5));
        assert_eq!((numbers(&found), found.dropped, found.more), (vec![91, 92, 93, 94, 95], 50, true));
        assert_eq!(find(&records, &query(Some(90), 5)).dropped, 0);
        assert_eq!(find(&records, &query(Some(0), 5)).dropped, 90);
    }

    #[test]
    fn a_number_of_another_process_begins_with_the_oldest_record() {
        let later = LogRecords::new(10, 1 << 20, 5);
        later.add(0, LogLine::default());
        let first = later.extent().first;
        for after in [3, first + 100, u64::MAX] {
            let found = find(&later, &query(Some(after), 10));
            assert_eq!((numbers(&found), found.restarted, found.dropped), (vec![first], true, 0), "{after}");
        }
        assert!(!find(&later, &query(Some(first), 10)).restarted);
        let empty = LogRecords::new(10, 1 << 20, 5);
        let found = find(&empty, &query(None, 10));
        assert!(!find(&empty, &query(Some(found.next), 10)).restarted);
    }

    #[test]
    fn records_that_were_never_kept_count_as_dropped() {
        let records = records(0, 8);
        let found = find(&records, &query(Some(2), 5));
        assert_eq!((found.records.len(), found.dropped, found.next, found.more), (0, 6, 8, false));
    }

    #[test]
    fn level_target_and_text_are_matched() {
        let records = records(1_000, 30);
        let count = |change: fn(&mut LogQuery)| {
            let mut query = query(None, 1_000);
            change(&mut query);
            find(&records, &query).records.len()
        };
        assert_eq!(count(|query| query.level = Some(Level::ERROR)), 0);
        assert_eq!(count(|query| query.level = Some(Level::WARN)), 10);
        assert_eq!(count(|query| query.level = Some(Level::TRACE)), 30);
        assert_eq!(count(|query| query.target = "farrierd".into()), 30);
        assert_eq!(count(|query| query.target = "hyper".into()), 0);
        assert_eq!(count(|query| query.text = "a HOOK".into()), 30);
        assert_eq!(count(|query| query.text = "hook=29".into()), 1);
        assert_eq!(count(|query| query.text = "nothing".into()), 0);
    }

    #[test]
    fn a_page_ends_before_it_is_too_large() {
        let records = LogRecords::new(1_000, 64 << 20, 0);
        for _ in 0..40 {
            records.add(0, LogLine { message: "x".repeat(100_000), ..LogLine::default() });
        }
        let found = find(&records, &query(Some(0), 1_000));
        assert!(found.more && found.bytes < PAGE_MAX_BYTES + 110_000, "{}", found.bytes);
        let rest = find(&records, &query(Some(found.next), 1_000));
        assert_eq!(rest.records.first().map(|record| record.sequence), Some(found.next + 1));
        assert!(find(&records, &query(None, 1_000)).bytes < PAGE_MAX_BYTES + 110_000);
    }
}
