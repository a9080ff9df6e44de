//! One step of a fan-out: a transaction that writes a bounded number of deliveries and moves the cursor.

use std::collections::BTreeMap;

use farrier_proto::store::{Event, FanOut, FanOutCursor, Hook, HookScope, Payload};

use super::{PAIRS_MAX, WrittenDeliveries};
use crate::{
    clock::Millis,
    delivery::{payload::RefPayloadBuilder, subscriber::Subscriber},
    store::{
        StoreError, Tx, deliveries, events,
        fan_outs::{self, FanOutQueue, FirstFanOut},
        hooks, keys,
    },
};

/// Maximum number of events that one step reads.
const EVENTS_MAX: usize = 256;
/// Maximum number of payloads that one step writes. They are larger than the other rows.
const PAYLOADS_MAX: usize = 32;

/// Makes the next step of the first fan-out of `queue`: writes at most `limit` deliveries, created at `now`, and
/// nothing if there is no fan-out.
pub(super) async fn step(
    tx: &Tx,
    root_url: &str,
    queue: FanOutQueue,
    limit: usize,
    now: Millis,
) -> Result<WrittenDeliveries, StoreError> {
    let mut written = WrittenDeliveries::default();
    let Some(FirstFanOut { first_event, row, cursor }) = fan_outs::first(tx, queue).await? else { return Ok(written) };
    // Two more events than one step can compare with all hooks: the end of a shorter list is the end of the fan-out.
    let events_max = EVENTS_MAX.min(PAIRS_MAX / row.hook_ids.len().max(1) + 2);
    let recorded = events::between(tx, cursor.event_id, row.last_event_id, events_max).await?;
    let subscribers = subscribers(&row.hook_ids, hooks::many(tx, &row.hook_ids).await?);
    let hooks_done = usize::try_from(cursor.hooks_done).unwrap_or(usize::MAX);
    let plan = plan(&recorded, &subscribers, hooks_done, limit);
    let payloads = PayloadSource::new(&row, queue, first_event)?;
    let mut last_event = 0;
    for (event, position) in &plan.deliveries {
        let event = &recorded[*event];
        // Another scope's fan-out of the same event may have written the payload, and the commits may be in it.
        if event.id != last_event && !deliveries::has_payload(tx, event.id).await? {
            deliveries::put_initial_payload(tx, event.id, &payloads.payload(root_url, event));
        }
        last_event = event.id;
        written.enqueue(tx, event, row.hook_ids[*position], cursor.owner_id, now).await?;
    }
    match plan.next(&recorded, &row, &cursor) {
        Some(next) => fan_outs::advance(tx, queue, first_event, &next),
        None => fan_outs::finish(tx, queue, first_event),
    }
    Ok(written)
}

/// Returns a subscriber for each of `ids`; `None` for a hook that was deleted or receives no events any more.
fn subscribers(ids: &[u64], rows: Vec<Hook>) -> Vec<Option<Subscriber>> {
    let receives = |hook: &Hook| hook.scope() != HookScope::Default;
    let mut rows: BTreeMap<u64, Hook> = rows.into_iter().filter(receives).map(|hook| (hook.id, hook)).collect();
    ids.iter().map(|id| rows.remove(id).map(Subscriber::new)).collect()
}

/// The deliveries of one step, and the position after it.
#[derive(Debug, PartialEq, Eq)]
struct Plan {
    /// Indexes of event and hook.
    deliveries: Vec<(usize, usize)>,
    /// Number of events that are done, and number of hooks of the next event that are done.
    events_done: usize,
    hooks_done: usize,
}

/// Decides which deliveries the step writes, at most `limit`. `hooks_done`: number of hooks of the first event that are
/// done.
fn plan(events: &[Event], hooks: &[Option<Subscriber>], hooks_done: usize, limit: usize) -> Plan {
    let (mut deliveries, mut pairs, mut payloads) = (Vec::new(), 0, 0);
    for (event_index, event) in events.iter().enumerate() {
        let first = if event_index == 0 { hooks_done } else { 0 };
        let mut has_payload = false;
        for (hook_index, hook) in hooks.iter().enumerate().skip(first) {
            let is_full = deliveries.len() == limit || pairs == PAIRS_MAX;
            if is_full || payloads == PAYLOADS_MAX && !has_payload {
                return Plan { deliveries, events_done: event_index, hooks_done: hook_index };
            }
            pairs += 1;
            if hook.as_ref().is_some_and(|hook| hook.receives(event)) {
                payloads += usize::from(!has_payload);
                has_payload = true;
                deliveries.push((event_index, hook_index));
            }
        }
    }
    Plan { deliveries, events_done: events.len(), hooks_done: 0 }
}

impl Plan {
    /// Returns the position after the step; `None` if the fan-out is finished.
    fn next(&self, events: &[Event], row: &FanOut, before: &FanOutCursor) -> Option<FanOutCursor> {
        let events_left = before.events_left.saturating_sub(self.events_done as u64);
        let next = FanOutCursor { events_left, hooks_done: 0, ..*before };
        if let Some(event) = events.get(self.events_done) {
            let hooks_done = u32::try_from(self.hooks_done).unwrap_or(u32::MAX);
            return Some(FanOutCursor { event_id: event.id, hooks_done, ..next });
        }
        let last = events.last().filter(|last| events.len() == EVENTS_MAX && last.id < row.last_event_id)?;
        Some(FanOutCursor { event_id: last.id + 1, ..next })
    }
}

/// Builds the payloads of a fan-out.
enum PayloadSource<'a> {
    One(&'a Payload),
    Refs(Box<RefPayloadBuilder>),
}

impl<'a> PayloadSource<'a> {
    fn new(row: &'a FanOut, queue: FanOutQueue, first_event: u64) -> Result<Self, StoreError> {
        let malformed = |source| StoreError::Corrupt {
            key: keys::fan_out(queue.scope, queue.target, first_event).escape_ascii().to_string(),
            source,
        };
        match (&row.payload, &row.ref_payloads) {
            (_, Some(refs)) => {
                let builder = RefPayloadBuilder::from_row(refs).map_err(|error| malformed(error.into()))?;
                Ok(Self::Refs(Box::new(builder)))
            }
            (Some(payload), None) => Ok(Self::One(payload)),
            (None, None) => Err(malformed(crate::store::value::ValueError::Format(None))),
        }
    }

    fn payload(&self, root_url: &str, event: &Event) -> Payload {
        match self {
            Self::One(payload) => (*payload).clone(),
            Self::Refs(builder) => {
                builder.payload(root_url, &event.kind, &event.ref_change.clone().unwrap_or_default())
            }
        }
    }
}

#[cfg(test)]
mod tests;
