//! Fan-outs: events whose deliveries are written after the transaction that recorded the events.
//!
//! The fan-outs to the hooks of one scope and target are a queue. A fan-out (`ef`) is never changed, so transactions
//! that only need to know whether the queue is empty do not conflict with its progress, which has a row of its own
//! (`ec`).

use farrier_proto::store::{FanOut, FanOutCursor, HookScope};

use super::{
    Read, StoreError, Tx,
    engine::{Range, Scan},
    keys,
};

/// Number of cursors read at a time.
const PAGE: usize = 256;

/// The fan-outs to the hooks of one scope and target, in the order of their events.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct FanOutQueue {
    /// The scope of the hooks.
    pub scope: HookScope,
    /// The repository, organization or user of the hooks; 0 for system hooks.
    pub target: u64,
}

/// The first fan-out of a queue.
#[derive(Clone, Debug, PartialEq)]
pub struct FirstFanOut {
    /// Its first event.
    pub first_event: u64,
    /// The fan-out.
    pub row: FanOut,
    /// Its position.
    pub cursor: FanOutCursor,
}

/// Appends a fan-out that begins with the event `first_event`. Called in the transaction that records the events.
pub fn insert(tx: &Tx, queue: FanOutQueue, first_event: u64, row: &FanOut, cursor: &FanOutCursor) {
    tx.put(keys::fan_out(queue.scope, queue.target, first_event), row);
    tx.put(keys::fan_out_cursor(queue.scope, queue.target, first_event), cursor);
}

/// Returns whether the queue has a fan-out. A transaction that calls it conflicts with the first and the last fan-out
/// of the queue, but not with its progress.
pub async fn is_waiting(read: &impl Read, queue: FanOutQueue) -> Result<bool, StoreError> {
    let range = Range::prefix(keys::fan_outs_of(queue.scope, queue.target));
    Ok(read.count(&range, 1).await? > 0)
}

/// Returns the first fan-out of a queue.
pub async fn first(read: &impl Read, queue: FanOutQueue) -> Result<Option<FirstFanOut>, StoreError> {
    let range = Range::prefix(keys::fan_outs_of(queue.scope, queue.target));
    let Some((key, row)) = read.scan::<FanOut>(&Scan::of(range, 1)).await?.into_iter().next() else {
        return Ok(None);
    };
    let Some(first_event) = keys::trailing_id(&key) else { return Ok(None) };
    let cursor = read.get(&keys::fan_out_cursor(queue.scope, queue.target, first_event)).await?;
    // Both rows are written and deleted together.
    let start = FanOutCursor { event_id: first_event, ..FanOutCursor::default() };
    Ok(Some(FirstFanOut { first_event, row, cursor: cursor.unwrap_or(start) }))
}

/// Moves a fan-out to a new position.
pub fn advance(tx: &Tx, queue: FanOutQueue, first_event: u64, cursor: &FanOutCursor) {
    tx.put(keys::fan_out_cursor(queue.scope, queue.target, first_event), cursor);
}

/// Deletes a fan-out. Must be called in the transaction that writes its last delivery.
pub fn finish(tx: &Tx, queue: FanOutQueue, first_event: u64) {
    tx.delete(keys::fan_out(queue.scope, queue.target, first_event));
    tx.delete(keys::fan_out_cursor(queue.scope, queue.target, first_event));
}

/// Returns the queues after `after` that have a fan-out, at most `limit`, with the position of their first fan-out.
pub async fn queues(
    read: &impl Read,
    after: Option<FanOutQueue>,
    limit: usize,
) -> Result<Vec<(FanOutQueue, FanOutCursor)>, StoreError> {
    let mut range = Range::prefix(keys::fan_out_cursors());
    let mut found = Vec::new();
    let mut last = after;
    while found.len() < limit {
        if let Some(queue) = last {
            let Some(next) = Range::prefix(keys::fan_out_cursors_of(queue.scope, queue.target)).high else { break };
            range.low = next;
        }
        let Some((key, cursor)) = read.scan(&Scan::of(range.clone(), 1)).await?.into_iter().next() else { break };
        let Some((scope, target)) = keys::fan_out_target(&key) else { break };
        let queue = FanOutQueue { scope, target };
        found.push((queue, cursor));
        last = Some(queue);
    }
    Ok(found)
}

/// Returns the number of events that are not done in the first `fan_outs_max` fan-outs. An event counts once for each
/// scope with hooks.
pub async fn events_left(read: &impl Read, fan_outs_max: usize) -> Result<u64, StoreError> {
    let rows = read.scan::<FanOutCursor>(&Scan::of(Range::prefix(keys::fan_out_cursors()), fan_outs_max)).await?;
    Ok(rows.iter().map(|(_, cursor)| cursor.events_left).sum())
}

/// Returns the oldest event that has a fan-out. Its row, and those of all later events, must be kept.
pub async fn oldest_event(read: &impl Read) -> Result<Option<u64>, StoreError> {
    let (mut oldest, mut after) = (None, None);
    loop {
        let page = queues(read, after, PAGE).await?;
        // The events before the position are done, so their rows are not needed.
        oldest = oldest.into_iter().chain(page.iter().map(|(_, cursor)| cursor.event_id)).min();
        after = page.last().map(|(queue, _)| *queue);
        if page.len() < PAGE {
            return Ok(oldest);
        }
    }
}
