//! Pages of what was delivered, newest first: by cursor at any depth, or by number.

use farrier_proto::store::{Delivery, DeliveryState};

use super::many;
use crate::store::{
    Read, StoreError,
    engine::{Range, Scan},
    keys, value,
};

/// Rows that one page looks at before it gives a cursor in place of more items.
const LOOK_MAX: usize = 20_000;
/// Rows that are looked at in one step.
const STEP: usize = 100;
/// Deliveries are numbered before they are committed: a number says the time only this well.
const SLACK_MS: i64 = 60_000;
/// Most that is counted for a total.
const COUNT_MAX: u64 = 10_000;

/// Which deliveries are wanted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DeliveryFilter {
    /// In one of these states; empty: in any.
    pub states: Vec<DeliveryState>,
    /// Of this event; empty: of any.
    pub event: String,
    /// About this repository; `None`: about any.
    pub repository: Option<u64>,
    /// Made at this time or later.
    pub since_ms: Option<i64>,
    /// Made before this time.
    pub until_ms: Option<i64>,
}

/// Which page is wanted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DeliverySelection {
    /// Of this hook; `None`: of all.
    pub hook: Option<u64>,
    /// What passes.
    pub filter: DeliveryFilter,
    /// Behind this delivery; 0: from the newest.
    pub before: u64,
    /// Items that are passed over.
    pub skip: u64,
    /// Most items.
    pub limit: usize,
}

impl DeliveryFilter {
    fn passes(&self, row: &Delivery) -> bool {
        (self.states.is_empty() || self.states.contains(&row.state()))
            && (self.event.is_empty() || self.event == row.event)
            && self.repository.is_none_or(|id| id == row.repository_id)
            && self.since_ms.is_none_or(|since| row.created_ms >= since)
            && self.until_ms.is_none_or(|until| row.created_ms < until)
    }

    fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Whether nothing older than `row` can pass.
    fn ends_at(&self, row: &Delivery) -> bool {
        self.since_ms.is_some_and(|since| row.created_ms < since.saturating_sub(SLACK_MS))
    }
}

/// A page, and the delivery behind which the next one begins; 0: there is none.
pub async fn page(read: &impl Read, query: &DeliverySelection) -> Result<(Vec<Delivery>, u64), StoreError> {
    let mut range = range(query);
    let mut skip = query.skip;
    if query.filter.is_empty() && skip > 0 {
        // Keys alone are passed over: no row is read for them.
        let passed = Scan { skip, ..Scan::of(range.clone(), 1) };
        let Some((first, _)) = read.scan_bytes(&passed).await?.into_iter().next() else { return Ok((Vec::new(), 0)) };
        (range.low, skip) = (first, 0);
    }
    let (mut found, mut looked) = (Vec::new(), 0);
    loop {
        let step = if query.filter.is_empty() { query.limit + 1 } else { STEP };
        let rows = step_of(read, query, &range, step).await?;
        let ended = rows.len() < step;
        for (number, row) in rows {
            looked += 1;
            range = range.after(&key_of(query, number));
            let Some(row) = row else { continue };
            if query.filter.ends_at(&row) {
                return Ok((found, 0));
            }
            if !query.filter.passes(&row) {
                continue;
            }
            if skip > 0 {
                skip -= 1;
            } else if found.len() == query.limit {
                let last = found.last().map_or(0, |row: &Delivery| row.id);
                return Ok((found, last));
            } else {
                found.push(row);
            }
            if looked >= LOOK_MAX && found.len() < query.limit {
                return Ok((found, number));
            }
        }
        if ended {
            return Ok((found, 0));
        }
        if looked >= LOOK_MAX {
            let at = keys::trailing_newest(&range.low[..range.low.len() - 1]).unwrap_or_default();
            return Ok((found, at));
        }
    }
}

/// How many deliveries there are; `None`: more than are counted.
pub async fn total(read: &impl Read, query: &DeliverySelection) -> Result<Option<u64>, StoreError> {
    if !query.filter.is_empty() {
        return Ok(None);
    }
    let count = read.count(&range(&DeliverySelection { before: 0, ..query.clone() }), COUNT_MAX + 1).await?;
    Ok((count <= COUNT_MAX).then_some(count))
}

/// The index that is walked: that of failures where only those are wanted.
fn range(query: &DeliverySelection) -> Range {
    let prefix = match query.hook {
        None => keys::deliveries(),
        Some(hook) if only_failures(&query.filter) => keys::failed_deliveries(hook),
        Some(hook) => keys::hook_deliveries(hook),
    };
    let range = Range::prefix(prefix);
    if query.before == 0 { range } else { range.after(&key_of(query, query.before)) }
}

fn key_of(query: &DeliverySelection, delivery: u64) -> Vec<u8> {
    match query.hook {
        None => keys::delivery(delivery),
        Some(hook) if only_failures(&query.filter) => keys::failed_delivery(hook, delivery),
        Some(hook) => keys::hook_delivery(hook, delivery),
    }
}

fn only_failures(filter: &DeliveryFilter) -> bool {
    !filter.states.is_empty() && filter.states.iter().all(|state| *state == DeliveryState::Failed)
}

async fn step_of(
    read: &impl Read,
    query: &DeliverySelection,
    range: &Range,
    limit: usize,
) -> Result<Vec<(u64, Option<Delivery>)>, StoreError> {
    let pairs = read.scan_bytes(&Scan::of(range.clone(), limit)).await?;
    let numbers: Vec<u64> = pairs.iter().filter_map(|(key, _)| keys::trailing_newest(key)).collect();
    if query.hook.is_some() {
        let rows = many(read, &numbers).await?;
        return Ok(numbers.into_iter().zip(rows).collect());
    }
    let rows = pairs.iter().map(|(key, bytes)| value::decode(key, bytes).map(Some));
    numbers.into_iter().zip(rows).map(|(number, row)| Ok((number, row?))).collect()
}

/// The next failures of a hook behind `before`, newest first, and the number behind which the next step begins; `None`:
/// there are no more. The step is measured by index entries, so an entry without a row does not end the walk.
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
    let numbers: Vec<u64> = pairs.iter().filter_map(|(key, _)| keys::trailing_newest(key)).collect();
    let next = numbers.last().copied().filter(|_| pairs.len() == limit);
    Ok((many(read, &numbers).await?.into_iter().flatten().collect(), next))
}
