//! The rows of the audit log. They are inserted and expire, and are never changed.
//!
//! IDs are derived from the order of transactions. Entries with higher IDs have equal or later times, except for
//! entries that are recorded at almost the same time. So a time is found by binary search, which begins and ends a
//! little outside, and the times of the entries that it finds are compared.
//!
//! Filtered pages use range counts: parts of the log without a matching entry are not read again. Pages with words read
//! a bounded number of entries instead, because each typed letter is another filter.

mod filter;

use farrier_proto::store::{AuditEntry, Reference};

pub use self::filter::AuditFilter;
use super::{
    Read, Snapshot, StoreError, Tx,
    engine::{Key, Range, Scan},
    keys,
    order::{self, Ordered},
    range_counts::{CountBucket, KeyFilter},
    value,
};

/// Maximum by which the time of an entry can be earlier than that of an entry with a smaller ID, milliseconds. An entry
/// gets its time after its ID, and clocks of several daemons differ. Entries outside this limit may be missing in pages
/// that are restricted by time.
pub const DISORDER_MS: i64 = 60_000;
/// Number of rows that are read at a time.
const BATCH: usize = 256;
/// Maximum number of entries that a page with words reads. A page that reaches it may be short or empty, and has a
/// cursor.
pub const EXAMINED_MAX: usize = 4_096;

/// Selects a page of audit entries, newest first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AuditQuery {
    /// Only entries of this account.
    pub user: Option<u64>,
    /// The filter. Together with `user`, only its words are used.
    pub filter: AuditFilter,
    /// Only entries at or after this time, milliseconds since the epoch.
    pub since_ms: Option<i64>,
    /// Only entries before this time, milliseconds since the epoch.
    pub until_ms: Option<i64>,
    /// Only entries after this one.
    pub after: Option<u64>,
    /// The page starts after this entry; 0 for the newest.
    pub before: u64,
    /// Maximum number of entries.
    pub limit: usize,
}

impl AuditQuery {
    /// Returns whether the time of `row` is within the limits.
    fn has_time(&self, row: &AuditEntry) -> bool {
        self.since_ms.is_none_or(|since| row.at_ms >= since) && self.until_ms.is_none_or(|until| row.at_ms < until)
    }
}

/// A page of audit entries.
#[derive(Clone, Debug, Default)]
pub struct AuditPage {
    /// The entries, newest first.
    pub entries: Vec<AuditEntry>,
    /// ID after which the next page starts; 0: this is the last page.
    pub next: u64,
    /// Number of entries that a page with words read; `None` for other pages.
    pub examined: Option<usize>,
}

/// Returns the ID of the next entry of this transaction.
pub async fn next_id(tx: &Tx) -> Result<u64, StoreError> {
    order::next_id(tx, Ordered::Audit).await
}

/// Returns the lowest ID that an entry may still get. A reader that has all entries of the snapshot with lower IDs has
/// missed none.
pub async fn unsettled(snapshot: &Snapshot) -> Result<u64, StoreError> {
    order::unsettled(snapshot, Ordered::Audit).await
}

/// Inserts an entry with the next ID. Its time is `now_ms`, but not before that of the newest entry.
pub async fn record(tx: &Tx, row: &AuditEntry, now_ms: i64) -> Result<(), StoreError> {
    let newest = newest(tx).await?.unwrap_or_default();
    let (id, at_ms) = (next_id(tx).await?, now_ms.max(newest.at_ms));
    insert(tx, &AuditEntry { id, at_ms, ..row.clone() });
    Ok(())
}

/// Inserts an entry.
pub fn insert(tx: &Tx, row: &AuditEntry) {
    tx.put(keys::audit_entry(row.id), row);
    if let Some(key) = index_key(row) {
        tx.put(key, &Reference { id: row.id });
    }
}

/// Returns the key of the index entry that a row needs.
pub fn index_key(row: &AuditEntry) -> Option<Key> {
    let user = row.actor.as_ref().map_or(0, |actor| actor.user_id);
    (user != 0).then(|| keys::user_audit_entry(user, row.id))
}

/// Deletes entries. The caller ensures that their retention is over.
pub fn delete(tx: &Tx, rows: &[AuditEntry]) {
    for row in rows {
        tx.delete(keys::audit_entry(row.id));
        if let Some(key) = index_key(row) {
            tx.delete(key);
        }
    }
}

/// Returns an entry.
pub async fn get(read: &impl Read, id: u64) -> Result<Option<AuditEntry>, StoreError> {
    read.get(&keys::audit_entry(id)).await
}

/// Returns the newest entry.
pub async fn newest(read: &impl Read) -> Result<Option<AuditEntry>, StoreError> {
    let rows = read.scan(&Scan::of(Range::prefix(keys::audit_entries()), 1)).await?;
    Ok(rows.into_iter().next().map(|(_, row)| row))
}

/// Returns the entries after the entry `after`, oldest first.
pub async fn after(read: &impl Read, after: u64, limit: usize) -> Result<Vec<AuditEntry>, StoreError> {
    let range = Range { high: Some(keys::audit_entry(after)), ..Range::prefix(keys::audit_entries()) };
    let rows = read.scan(&Scan { reverse: true, ..Scan::of(range, limit) }).await?;
    Ok(rows.into_iter().map(|(_, row)| row).collect())
}

/// Returns the last entry that was copied to `output`. `None`: the output was never used.
pub async fn position(read: &impl Read, output: &str) -> Result<Option<u64>, StoreError> {
    Ok(read.get::<Reference>(&keys::audit_position(output)).await?.map(|row| row.id))
}

/// Saves the last entry that was copied to `output`.
pub fn put_position(tx: &Tx, output: &str, id: u64) {
    tx.put(keys::audit_position(output), &Reference { id });
}

/// Removes the position of `output`.
pub fn forget_position(tx: &Tx, output: &str) {
    tx.delete(keys::audit_position(output));
}

/// Returns the number of entries that pass `filter`.
pub async fn count(snapshot: &Snapshot, filter: &AuditFilter) -> Result<u64, StoreError> {
    let buckets = snapshot.range_counts(&Range::prefix(keys::audit_entries()), &key_filter(filter)).await?;
    Ok(buckets.iter().map(|bucket| bucket.total.count).sum())
}

/// Returns a page. A page with words reads at most [`EXAMINED_MAX`] entries.
pub async fn page(snapshot: &Snapshot, query: &AuditQuery) -> Result<AuditPage, StoreError> {
    let has_words = !query.filter.words.is_empty();
    let (batch, examined_max) = if has_words { (BATCH, EXAMINED_MAX) } else { (query.limit + 1, usize::MAX) };
    let (low, mut high) = bounds(snapshot, query).await?;
    let (mut entries, mut examined, mut last) = (Vec::new(), 0, 0);
    while low <= high {
        let rows = match query.user {
            Some(user) => of_user(snapshot, user, low, high, batch).await?,
            // The other conditions of a filter with words are rarely used, and are tested below.
            None if has_words => matching(snapshot, &AuditFilter::default(), low, high, batch).await?,
            None => matching(snapshot, &query.filter, low, high, batch).await?,
        };
        let is_last = rows.len() < batch;
        for row in rows {
            let passes = query.has_time(&row) && (!has_words || query.filter.passes(&row));
            if examined == examined_max || (entries.len() == query.limit && (passes || has_words)) {
                return Ok(AuditPage { entries, next: last, examined: has_words.then_some(examined) });
            }
            examined += 1;
            last = row.id;
            if passes {
                entries.push(row);
            }
        }
        if is_last || last == 0 {
            break;
        }
        high = last - 1;
    }
    Ok(AuditPage { entries, next: 0, examined: has_words.then_some(examined) })
}

/// Returns the lowest and the highest ID that entries of a query can have.
async fn bounds(read: &impl Read, query: &AuditQuery) -> Result<(u64, u64), StoreError> {
    let low = match query.since_ms {
        Some(since_ms) => first_since(read, since_ms.saturating_sub(DISORDER_MS)).await?,
        None => 0,
    };
    let high = match query.until_ms {
        Some(until_ms) => first_since(read, until_ms.saturating_add(DISORDER_MS)).await?.saturating_sub(1),
        None => u64::MAX,
    };
    let low = low.max(query.after.map_or(0, |after| after.saturating_add(1)));
    Ok((low, if query.before == 0 { high } else { high.min(query.before - 1) }))
}

/// Returns the lowest ID of an entry at or after `ms`, or an ID above all entries, as exactly as the order of the times
/// allows.
async fn first_since(read: &impl Read, ms: i64) -> Result<u64, StoreError> {
    let Some(newest) = newest(read).await? else { return Ok(0) };
    let (mut low, mut high) = (0, newest.id + 1);
    while low < high {
        let middle = low + (high - low) / 2;
        match after(read, middle.saturating_sub(1), 1).await?.pop() {
            Some(row) if row.at_ms < ms => low = row.id + 1,
            _ => high = middle,
        }
    }
    Ok(low)
}

async fn of_user(
    read: &impl Read,
    user: u64,
    low: u64,
    high: u64,
    limit: usize,
) -> Result<Vec<AuditEntry>, StoreError> {
    let prefix = Range::prefix(keys::user_audit_entries(user));
    let range = Range {
        low: keys::user_audit_entry(user, high),
        high: if low == 0 { prefix.high } else { Some(keys::user_audit_entry(user, low - 1)) },
    };
    let pairs = read.scan_bytes(&Scan::of(range, limit)).await?;
    let rows: Vec<Key> =
        pairs.iter().filter_map(|(key, _)| keys::trailing_newest(key)).map(keys::audit_entry).collect();
    Ok(read.get_many(&rows).await?.into_iter().flatten().collect())
}

async fn matching(
    snapshot: &Snapshot,
    filter: &AuditFilter,
    low: u64,
    high: u64,
    limit: usize,
) -> Result<Vec<AuditEntry>, StoreError> {
    let all = Range::prefix(keys::audit_entries());
    let page_low = keys::audit_entry(high);
    let page_high = if low == 0 { all.high.clone() } else { Some(keys::audit_entry(low - 1)) };
    if filter.is_empty() {
        let rows = snapshot.scan(&Scan::of(Range { low: page_low, high: page_high }, limit)).await?;
        return Ok(rows.into_iter().map(|(_, row)| row).collect());
    }
    let key_filter = key_filter(filter);
    let buckets = if snapshot.counts_are_exact() {
        snapshot.range_counts(&all, &key_filter).await?
    } else {
        // A bucket in which another daemon has just recorded the first entry must not be skipped.
        vec![CountBucket::unknown(&all)]
    };
    let mut entries = Vec::new();
    for (index, bucket) in buckets.iter().enumerate() {
        let bucket_high = buckets.get(index + 1).map(|next| next.first.to_vec()).or_else(|| all.high.clone());
        let bucket_low = page_low.as_slice().max(&bucket.first).to_vec();
        let bucket_high = [bucket_high, page_high.clone()].into_iter().flatten().min();
        if bucket.is_empty() || bucket_high.as_ref().is_some_and(|high| *high <= bucket_low) {
            continue;
        }
        let mut rest = Range { low: bucket_low, high: bucket_high };
        loop {
            let pairs = snapshot.scan_bytes(&Scan::of(rest.clone(), BATCH)).await?;
            for (key, bytes) in pairs.iter().filter(|(key, bytes)| key_filter.passes(key, bytes)) {
                entries.push(value::decode(key, bytes)?);
                if entries.len() == limit {
                    return Ok(entries);
                }
            }
            match pairs.last() {
                Some((last, _)) if pairs.len() == BATCH => rest = rest.after(last),
                _ => break,
            }
        }
    }
    Ok(entries)
}

fn key_filter(filter: &AuditFilter) -> KeyFilter {
    if filter.is_empty() { KeyFilter::All } else { KeyFilter::Audit(filter.clone()) }
}

#[cfg(test)]
mod tests;
