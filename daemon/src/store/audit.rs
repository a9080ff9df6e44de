//! The rows of the audit log. They are inserted and expire, and are never changed.
//!
//! Entries with higher IDs have equal or later times, so a time is found by binary search. Filtered pages use range
//! counts: parts of the log without a matching entry are not read again.

use farrier_proto::store::{AuditEntry, AuditResult, Reference};

use super::{
    Read, Snapshot, StoreError, Tx,
    engine::{Key, Range, Scan},
    keys,
    range_counts::KeyFilter,
    value,
};

/// Number of rows that are read at a time.
const BATCH: usize = 256;

/// Restricts a list of audit entries. Empty fields do not restrict.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AuditFilter {
    /// Name of the actor or of the account that it acts as, in lower case.
    pub actor: String,
    /// The action, or its first words: `token` matches `token.create`.
    pub action: String,
    /// The result.
    pub result: Option<AuditResult>,
    /// Kind of the object.
    pub object_kind: String,
    /// ID of the object.
    pub object_id: Option<u64>,
    /// Name of the object, in lower case.
    pub object_name: String,
    /// ID of the repository that the object is or belongs to.
    pub repository: Option<u64>,
    /// `owner/name` of this repository at the time of the entry, in lower case.
    pub repository_path: String,
    /// The request.
    pub request_id: String,
}

impl AuditFilter {
    /// Returns whether every entry passes.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Returns whether `entry` passes.
    pub fn passes(&self, entry: &AuditEntry) -> bool {
        let actor = entry.actor.as_ref();
        let object = entry.object.as_ref();
        let is = |expected: &str, text: Option<&String>| {
            expected.is_empty() || text.is_some_and(|text| text.to_lowercase() == expected)
        };
        let has_actor =
            is(&self.actor, actor.map(|actor| &actor.name)) || is(&self.actor, actor.map(|actor| &actor.acts_as));
        let has_path = self.repository_path.is_empty()
            || object.and_then(repository_path).is_some_and(|path| path.to_lowercase() == self.repository_path);
        has_actor
            && starts_with_words(&entry.action, &self.action)
            && self.result.is_none_or(|result| result == entry.result())
            && (self.object_kind.is_empty() || object.is_some_and(|object| object.kind == self.object_kind))
            && self.object_id.is_none_or(|id| object.is_some_and(|object| object.id == id))
            && is(&self.object_name, object.map(|object| &object.name))
            && self.repository.is_none_or(|id| entry.repository_id == id)
            && has_path
            && (self.request_id.is_empty() || self.request_id == entry.request_id)
    }
}

/// Returns whether `action` is `words` or begins with them and a dot.
fn starts_with_words(action: &str, words: &str) -> bool {
    words.is_empty() || action.strip_prefix(words).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
}

/// Returns `owner/name` of the repository that an object is or belongs to.
fn repository_path(object: &farrier_proto::store::AuditObject) -> Option<String> {
    match object.kind.as_str() {
        "repository" => Some(format!("{}/{}", object.owner, object.name)),
        _ => object.owner.contains('/').then(|| object.owner.clone()),
    }
}

/// Selects a page of audit entries, newest first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AuditQuery {
    /// Only entries of this account.
    pub user: Option<u64>,
    /// The filter. Not used together with `user`.
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

/// A page of audit entries.
#[derive(Clone, Debug, Default)]
pub struct AuditPage {
    /// The entries, newest first.
    pub entries: Vec<AuditEntry>,
    /// ID after which the next page starts; 0: this is the last page.
    pub next: u64,
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

/// Returns the number of entries that pass `filter`.
pub async fn count(snapshot: &Snapshot, filter: &AuditFilter) -> Result<u64, StoreError> {
    let buckets = snapshot.range_counts(&Range::prefix(keys::audit_entries()), &key_filter(filter)).await?;
    Ok(buckets.iter().map(|bucket| bucket.total.count).sum())
}

/// Returns a page.
pub async fn page(snapshot: &Snapshot, query: &AuditQuery) -> Result<AuditPage, StoreError> {
    // The page has entries with IDs from `low` to `high`, both included.
    let low = match query.since_ms {
        Some(since_ms) => first_since(snapshot, since_ms).await?,
        None => 0,
    };
    let low = low.max(query.after.map_or(0, |after| after.saturating_add(1)));
    let mut high = if query.before == 0 { u64::MAX } else { query.before - 1 };
    if let Some(until_ms) = query.until_ms {
        high = high.min(first_since(snapshot, until_ms).await?.saturating_sub(1));
    }
    if low > high {
        return Ok(AuditPage::default());
    }
    let mut entries = match query.user {
        Some(user) => of_user(snapshot, user, low, high, query.limit + 1).await?,
        None => matching(snapshot, &query.filter, low, high, query.limit + 1).await?,
    };
    let has_more = entries.len() > query.limit;
    entries.truncate(query.limit);
    let next = entries.last().filter(|_| has_more).map_or(0, |row| row.id);
    Ok(AuditPage { entries, next })
}

/// Returns the lowest ID of an entry at or after `ms`, or an ID above all entries.
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
    let buckets = snapshot.range_counts(&all, &key_filter).await?;
    let mut entries = Vec::new();
    for (index, bucket) in buckets.iter().enumerate() {
        let bucket_high = buckets.get(index + 1).map(|next| next.first.to_vec()).or_else(|| all.high.clone());
        let bucket_low = page_low.as_slice().max(&bucket.first).to_vec();
        let bucket_high = [bucket_high, page_high.clone()].into_iter().flatten().min();
        if bucket.total.count == 0 || bucket_high.as_ref().is_some_and(|high| *high <= bucket_low) {
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
mod tests {
    use std::sync::Arc;

    use farrier_proto::store::{AuditActor, AuditObject};

    use super::*;
    use crate::store::{Store, engine::MemoryEngine};

    fn row(id: u64) -> AuditEntry {
        let user_id = 1 + id % 3;
        AuditEntry {
            id,
            at_ms: i64::try_from(id / 4).expect("small") * 10,
            action: if id.is_multiple_of(7) { "token.create" } else { "repository.delete" }.into(),
            result: AuditResult::Done.into(),
            actor: Some(AuditActor { user_id, name: format!("User{user_id}"), ..AuditActor::default() }),
            object: Some(AuditObject { kind: "repository".into(), id, name: format!("R{id}"), owner: "Octo".into() }),
            repository_id: id,
            ..AuditEntry::default()
        }
    }

    /// Creates the entries 1 to 90, except for every fifth ID.
    async fn store() -> (Store, Vec<AuditEntry>) {
        let store = Store::open(Arc::new(MemoryEngine::new())).await.expect("a store").with_bucket_entries(8);
        let rows: Vec<_> = (1..=90).filter(|id| id % 5 != 0).map(row).collect();
        let all = &rows;
        store
            .write(async |tx: Tx| {
                for row in all {
                    insert(&tx, row);
                }
                Ok::<_, StoreError>(())
            })
            .await
            .expect("rows");
        (store, rows)
    }

    #[tokio::test]
    async fn pages_of_every_filter_match_filtering_all_rows() {
        let (store, rows) = store().await;
        let read = store.read().await.expect("a snapshot");
        let filters = [
            AuditFilter::default(),
            AuditFilter { action: "token".into(), ..AuditFilter::default() },
            AuditFilter { actor: "user2".into(), ..AuditFilter::default() },
            AuditFilter { repository_path: "octo/r33".into(), ..AuditFilter::default() },
            AuditFilter { object_kind: "repository".into(), object_id: Some(81), ..AuditFilter::default() },
            AuditFilter { action: "toke".into(), ..AuditFilter::default() },
        ];
        let mut queries = Vec::new();
        for times in [(None, None), (Some(50), None), (None, Some(120)), (Some(45), Some(171)), (Some(9_999), None)] {
            for after in [None, Some(0), Some(33), Some(90)] {
                queries.extend(filters.iter().map(|filter| (None, filter.clone(), times, after)));
                queries.push((Some(3), AuditFilter::default(), times, after));
            }
        }
        for (user, filter, (since_ms, until_ms), after) in queries {
            let mut expected: Vec<u64> = rows
                .iter()
                .filter(|row| user.is_none_or(|user| row.actor.as_ref().is_some_and(|actor| actor.user_id == user)))
                .filter(|row| filter.passes(row))
                .filter(|row| since_ms.is_none_or(|since| row.at_ms >= since))
                .filter(|row| until_ms.is_none_or(|until| row.at_ms < until))
                .filter(|row| after.is_none_or(|after| row.id > after))
                .map(|row| row.id)
                .collect();
            expected.reverse();
            let (mut ids, mut before) = (Vec::new(), 0);
            loop {
                let query = AuditQuery { user, filter: filter.clone(), since_ms, until_ms, after, before, limit: 7 };
                let page = page(&read, &query).await.expect("a page");
                assert!(page.next == 0 || page.entries.len() == 7);
                ids.extend(page.entries.iter().map(|row| row.id));
                before = page.next;
                if before == 0 {
                    break;
                }
            }
            assert_eq!(ids, expected, "{user:?} {filter:?} {since_ms:?} {until_ms:?} {after:?}");
        }
    }

    #[tokio::test]
    async fn deleted_entries_leave_no_index_entries() {
        let (store, rows) = store().await;
        let oldest = after(&store.read().await.expect("a snapshot"), 0, 1).await.expect("rows");
        assert_eq!(oldest, &rows[..1]);
        let all = &rows;
        store
            .write(async |tx: Tx| {
                delete(&tx, all);
                Ok::<_, StoreError>(())
            })
            .await
            .expect("deleted");
        let read = store.read().await.expect("a snapshot");
        for tag in ["al", "au"] {
            assert_eq!(read.count(&Range::prefix(keys::tag(tag)), 9).await.expect("a count"), 0, "{tag}");
        }
    }

    #[test]
    fn actions_are_matched_by_whole_words() {
        for (words, expected) in
            [("", true), ("token", true), ("token.create", true), ("tok", false), ("create", false)]
        {
            assert_eq!(starts_with_words("token.create", words), expected, "{words}");
        }
    }
}
