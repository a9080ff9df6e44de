//! Pages of the delivery history, newest first: by cursor at any depth, or by number.

use farrier_proto::store::{Delivery, DeliveryState};

use super::{hosts::HostHooks, many};
use crate::{
    model::delivery_failure,
    store::{
        Read, StoreError,
        engine::{Range, Scan},
        keys, value,
    },
};

/// Maximum number of rows that one page reads. A page that reaches it has a cursor and may have fewer items.
const ROWS_READ_MAX: usize = 20_000;
/// Number of rows read at a time if there is a filter.
const BATCH: usize = 100;
/// Number of rows that a walk reads at a time.
const WALK_BATCH: usize = 500;
/// How much the order of creation times may differ from the order of ids. The time is taken before the transaction,
/// which may run several times.
const CREATED_SLACK_MS: i64 = 60_000;
/// Maximum number of deliveries that are counted for a total.
const TOTAL_MAX: u64 = 10_000;

/// Restricts a list of deliveries.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DeliveryFilter {
    /// Only deliveries in one of these states; empty for all.
    pub states: Vec<DeliveryState>,
    /// Only deliveries of events of this kind; empty for all.
    pub event: String,
    /// Only deliveries with this reason, as [`delivery_failure::reason`] returns it; empty for all.
    pub reason: String,
    /// Only deliveries of hooks whose current URL has this host, as [`crate::model::hook_config::host`] returns it;
    /// empty for all. Deleted hooks have no host.
    pub host: String,
    /// Only deliveries about this repository.
    pub repository: Option<u64>,
    /// Only deliveries created at or after this time, milliseconds since the epoch.
    pub since_ms: Option<i64>,
    /// Only deliveries created before this time, milliseconds since the epoch.
    pub until_ms: Option<i64>,
}

/// Selects a page of deliveries.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DeliverySelection {
    /// Only deliveries of this hook; `None` for all hooks.
    pub hook: Option<u64>,
    /// The filter.
    pub filter: DeliveryFilter,
    /// The page starts after this delivery; 0 for the start of the list.
    pub before: u64,
    /// Number of items to skip.
    pub skip: u64,
    /// Maximum number of items.
    pub limit: usize,
}

impl DeliverySelection {
    /// Returns whether a page may read many more rows than it has items: those that it skips, and those that do not
    /// pass the filter.
    pub fn may_read_many(&self) -> bool {
        !self.filter.is_empty() || self.skip > TOTAL_MAX
    }
}

impl DeliveryFilter {
    /// Returns whether a delivery passes, apart from the host, which is that of its hook.
    pub(super) fn passes(&self, row: &Delivery) -> bool {
        (self.states.is_empty() || self.states.contains(&row.state()))
            && (self.event.is_empty() || self.event == row.event)
            && (self.reason.is_empty() || self.reason == delivery_failure::reason(row))
            && self.repository.is_none_or(|id| id == row.repository_id)
            && self.since_ms.is_none_or(|since| row.created_ms >= since)
            && self.until_ms.is_none_or(|until| row.created_ms < until)
    }

    fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Returns whether no delivery older than `row` can pass.
    fn ends_at(&self, row: &Delivery) -> bool {
        self.since_ms.is_some_and(|since| all_before(row, since))
    }
}

/// Returns whether `row` and all deliveries with smaller ids were created before `since_ms`.
pub fn all_before(row: &Delivery, since_ms: i64) -> bool {
    row.created_ms < since_ms.saturating_sub(CREATED_SLACK_MS)
}

/// Returns a page and the delivery after which the next page starts; 0 after the last page.
pub async fn page(read: &impl Read, query: &DeliverySelection) -> Result<(Vec<Delivery>, u64), StoreError> {
    let mut range = range(query);
    let mut skip = query.skip;
    if query.filter.is_empty() && skip > 0 {
        // Skipping keys does not read rows.
        let first = Scan { skip, ..Scan::of(range.clone(), 1) };
        let Some((first, _)) = read.scan_bytes(&first).await?.into_iter().next() else { return Ok((Vec::new(), 0)) };
        (range.low, skip) = (first, 0);
    }
    let (mut page, mut rows_read) = (Vec::new(), 0);
    let mut hooks = HostHooks::new(&query.filter);
    loop {
        let limit = if query.filter.is_empty() { query.limit + 1 } else { BATCH };
        let rows = batch(read, query, &range, limit).await?;
        hooks.read(read, &rows).await?;
        let is_last = rows.len() < limit;
        for (id, row) in rows {
            rows_read += 1;
            range = range.after(&key_of(query, id));
            let Some(row) = row else { continue };
            if query.filter.ends_at(&row) {
                return Ok((page, 0));
            }
            if !hooks.passes(&row) {
                continue;
            }
            if skip > 0 {
                skip -= 1;
            } else if page.len() == query.limit {
                let last = page.last().map_or(0, |row: &Delivery| row.id);
                return Ok((page, last));
            } else {
                page.push(row);
            }
            if rows_read >= ROWS_READ_MAX && page.len() < query.limit {
                return Ok((page, id));
            }
        }
        if is_last {
            return Ok((page, 0));
        }
        if rows_read >= ROWS_READ_MAX {
            // The range starts after the key of the last row, which is the key and a zero byte.
            let last = keys::trailing_newest(&range.low[..range.low.len() - 1]).unwrap_or_default();
            return Ok((page, last));
        }
    }
}

/// What a walk over deliveries read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Walked {
    /// Number of rows that were read.
    pub examined: u64,
    /// Whether older deliveries were not read because of the maximum.
    pub truncated: bool,
}

/// Calls `each` for the deliveries of a selection, newest first. Reads at most `rows_max` rows and one more. The page
/// of the selection (`before`, `skip` and `limit`) does not apply.
pub async fn walk(
    read: &impl Read,
    query: &DeliverySelection,
    rows_max: u64,
    mut each: impl FnMut(&Delivery),
) -> Result<Walked, StoreError> {
    let query = &DeliverySelection { before: 0, ..query.clone() };
    let mut range = range(query);
    let mut walked = Walked::default();
    let mut hooks = HostHooks::new(&query.filter);
    loop {
        let limit = WALK_BATCH.min(usize::try_from(rows_max - walked.examined).unwrap_or(WALK_BATCH));
        if limit == 0 {
            let next = batch(read, query, &range, 1).await?.into_iter().next();
            walked.truncated = next.is_some_and(|(_, row)| row.is_none_or(|row| !query.filter.ends_at(&row)));
            return Ok(walked);
        }
        let rows = batch(read, query, &range, limit).await?;
        hooks.read(read, &rows).await?;
        let is_last = rows.len() < limit;
        if let Some((last, _)) = rows.last() {
            range = range.after(&key_of(query, *last));
        }
        for (_, row) in rows {
            walked.examined += 1;
            let Some(row) = row else { continue };
            if query.filter.ends_at(&row) {
                return Ok(walked);
            }
            if hooks.passes(&row) {
                each(&row);
            }
        }
        if is_last {
            return Ok(walked);
        }
    }
}

/// Returns the number of deliveries; `None` if there is a filter or if there are too many to count.
pub async fn total(read: &impl Read, query: &DeliverySelection) -> Result<Option<u64>, StoreError> {
    if !query.filter.is_empty() {
        return Ok(None);
    }
    let count = read.count(&range(&DeliverySelection { before: 0, ..query.clone() }), TOTAL_MAX + 1).await?;
    Ok((count <= TOTAL_MAX).then_some(count))
}

/// Returns the range of the index to read: the index of failed deliveries if the filter selects only these.
fn range(query: &DeliverySelection) -> Range {
    let prefix = match query.hook {
        None => keys::deliveries(),
        Some(hook) if only_failed(&query.filter) => keys::failed_deliveries(hook),
        Some(hook) => keys::hook_deliveries(hook),
    };
    let range = Range::prefix(prefix);
    if query.before == 0 { range } else { range.after(&key_of(query, query.before)) }
}

fn key_of(query: &DeliverySelection, delivery: u64) -> Vec<u8> {
    match query.hook {
        None => keys::delivery(delivery),
        Some(hook) if only_failed(&query.filter) => keys::failed_delivery(hook, delivery),
        Some(hook) => keys::hook_delivery(hook, delivery),
    }
}

fn only_failed(filter: &DeliveryFilter) -> bool {
    !filter.states.is_empty() && filter.states.iter().all(|state| *state == DeliveryState::Failed)
}

/// Returns the next ids in `range` with their rows; `None` for an index entry without a row.
async fn batch(
    read: &impl Read,
    query: &DeliverySelection,
    range: &Range,
    limit: usize,
) -> Result<Vec<(u64, Option<Delivery>)>, StoreError> {
    let pairs = read.scan_bytes(&Scan::of(range.clone(), limit)).await?;
    let ids: Vec<u64> = pairs.iter().filter_map(|(key, _)| keys::trailing_newest(key)).collect();
    if query.hook.is_some() {
        let rows = many(read, &ids).await?;
        return Ok(ids.into_iter().zip(rows).collect());
    }
    let rows = pairs.iter().map(|(key, bytes)| value::decode(key, bytes).map(Some));
    ids.into_iter().zip(rows).map(|(id, row)| Ok((id, row?))).collect()
}

/// Returns the next failed deliveries of a hook after `before`, newest first, and the delivery after which the next
/// batch starts; `None` after the last batch. `limit` applies to index entries, so an entry without a row does not end
/// the walk.
pub async fn failures(
    read: &impl Read,
    hook: u64,
    before: u64,
    limit: usize,
) -> Result<(Vec<Delivery>, Option<u64>), StoreError> {
    let mut range = Range::prefix(keys::failed_deliveries(hook));
    if before != 0 {
        range = range.after(&keys::failed_delivery(hook, before));
    }
    let pairs = read.scan_bytes(&Scan::of(range, limit)).await?;
    let ids: Vec<u64> = pairs.iter().filter_map(|(key, _)| keys::trailing_newest(key)).collect();
    let next = ids.last().copied().filter(|_| pairs.len() == limit);
    Ok((many(read, &ids).await?.into_iter().flatten().collect(), next))
}
