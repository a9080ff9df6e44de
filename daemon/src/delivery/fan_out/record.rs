//! The part of the fan-out in the transaction that records the events: writes few deliveries at once, and a fan-out for
//! more.

use farrier_proto::store::{Event, FanOut, FanOutCursor, HookScope, Payload, RefPayloads};

use super::{PAIRS_MAX, WrittenDeliveries};
use crate::{
    delivery::{
        DeliveryContext, EventKind, Subject,
        payload::{self, RefPayloadBuilder},
        subscriber::Subscriber,
    },
    show::LiveMigration,
    store::{
        StoreError, Tx, deliveries,
        fan_outs::{self, FanOutQueue},
        hooks,
    },
};

/// The events that a transaction records.
pub struct RecordedEvents<'a> {
    /// The repository, its owner and the actor.
    pub subject: Subject<'a>,
    /// The owner from which the repository has moved away. Its hooks get the events as well.
    pub previous_owner: Option<u64>,
    /// The progress of the repository's running migration.
    pub live: LiveMigration,
    /// The events, in order.
    pub events: &'a [Event],
    /// The kind of each event, in the same order.
    pub kinds: &'a [EventKind<'a>],
}

/// The hooks of one scope that subscribe to at least one event of a transaction.
struct HookGroup {
    queue: FanOutQueue,
    owner: u64,
    hooks: Vec<Subscriber>,
}

/// Writes the deliveries of events, or fan-outs for them. A transaction writes at most `DELIVERIES_MAX` deliveries.
pub async fn record(
    tx: &Tx,
    context: &DeliveryContext,
    recorded: &RecordedEvents<'_>,
) -> Result<WrittenDeliveries, StoreError> {
    let groups = if context.config.webhook.enabled { hook_groups(tx, recorded).await? } else { Vec::new() };
    let is_small = is_small(recorded.events, &groups, deliveries::room(tx));
    let limit = context.config.webhook.max_waiting_per_owner;
    let (mut direct, mut waiting) = (Vec::new(), Vec::new());
    for group in groups {
        // A queue that has a fan-out must get later events as well, to keep their order.
        let waits =
            !is_small || !context.backlog.has_room(group.owner, limit) || fan_outs::is_waiting(tx, group.queue).await?;
        if waits { waiting.push(group) } else { direct.push(group) }
    }
    let mut written = WrittenDeliveries { fan_out: !waiting.is_empty(), ..WrittenDeliveries::default() };
    for (event, kind) in recorded.events.iter().zip(recorded.kinds) {
        let mut has_payload = false;
        for group in &direct {
            for hook in group.hooks.iter().filter(|hook| hook.receives(event)) {
                written.enqueue(tx, event, hook.hook.id, group.owner, event.at_ms).await?;
                has_payload = true;
            }
        }
        if has_payload {
            deliveries::put_initial_payload(tx, event.id, &recorded.payload(context, kind));
        }
    }
    if written.fan_out {
        recorded.insert_fan_outs(tx, context, &waiting);
    }
    Ok(written)
}

/// Returns the hooks of the repository, of its owner and of the site that are active and subscribe to at least one
/// event.
async fn hook_groups(tx: &Tx, recorded: &RecordedEvents<'_>) -> Result<Vec<HookGroup>, StoreError> {
    let repository = recorded.subject.repository;
    let scopes = [
        (HookScope::Repository, repository.id, repository.owner_id),
        (HookScope::Org, repository.owner_id, repository.owner_id),
        (HookScope::System, 0, 0),
    ];
    let previous = recorded.previous_owner.map(|owner| (HookScope::Org, owner, owner));
    let kinds = distinct_kinds(recorded.events);
    let mut groups = Vec::new();
    for (scope, target, owner) in scopes.into_iter().chain(previous) {
        let ids = hooks::ids_of(tx, scope, target).await?;
        if ids.is_empty() {
            continue;
        }
        let rows = hooks::many(tx, &ids).await?.into_iter();
        let rows = rows.filter(|hook| hook.active && kinds.iter().any(|event| Subscriber::subscribes(hook, event)));
        let hooks: Vec<Subscriber> = rows.map(Subscriber::new).collect();
        if !hooks.is_empty() {
            groups.push(HookGroup { queue: FanOutQueue { scope, target }, owner, hooks });
        }
    }
    Ok(groups)
}

/// Returns one event of each kind and action.
fn distinct_kinds(events: &[Event]) -> Vec<&Event> {
    let mut kinds: Vec<&Event> = Vec::new();
    for event in events {
        if !kinds.iter().any(|known| known.kind == event.kind && known.action == event.action) {
            kinds.push(event);
        }
    }
    kinds
}

/// Returns whether there are at most `limit` deliveries, and few enough to write them in the transaction of their
/// events.
fn is_small(events: &[Event], groups: &[HookGroup], limit: usize) -> bool {
    let hooks: usize = groups.iter().map(|group| group.hooks.len()).sum();
    if events.len().saturating_mul(hooks) > PAIRS_MAX {
        return false;
    }
    let hooks = || groups.iter().flat_map(|group| &group.hooks);
    let deliveries = events.iter().flat_map(|event| hooks().filter(move |hook| hook.receives(event)));
    deliveries.take(limit + 1).count() <= limit
}

impl RecordedEvents<'_> {
    fn payload(&self, context: &DeliveryContext, kind: &EventKind<'_>) -> Payload {
        payload::build(&context.root_url, self.subject, self.live.clone(), kind)
    }

    fn insert_fan_outs(&self, tx: &Tx, context: &DeliveryContext, groups: &[HookGroup]) {
        for (events, kinds) in self.chunks() {
            let (Some(first), Some(last)) = (events.first(), events.last()) else { continue };
            let mut payloads = None;
            for group in groups {
                let subscribed = distinct_kinds(events);
                let subscribes =
                    |hook: &&Subscriber| subscribed.iter().any(|event| Subscriber::subscribes(&hook.hook, event));
                let hook_ids: Vec<u64> = group.hooks.iter().filter(subscribes).map(|hook| hook.hook.id).collect();
                if hook_ids.is_empty() {
                    continue;
                }
                let (payload, ref_payloads) = payloads.get_or_insert_with(|| self.payloads(context, kinds)).clone();
                let row = FanOut { last_event_id: last.id, hook_ids, payload, ref_payloads };
                let cursor = FanOutCursor {
                    owner_id: group.owner,
                    event_id: first.id,
                    hooks_done: 0,
                    events_left: events.len() as u64,
                };
                fan_outs::insert(tx, group.queue, first.id, &row, &cursor);
            }
        }
    }

    /// Divides the events into those that one fan-out row can describe: consecutive events about refs whose payloads
    /// have the same common part, and single other events.
    fn chunks(&self) -> Vec<(&[Event], &[EventKind<'_>])> {
        let mut chunks = Vec::new();
        let mut start = 0;
        let kinds = &self.kinds[..self.events.len()];
        for end in 1..=kinds.len() {
            let is_same = match (&kinds[start], kinds.get(end)) {
                (EventKind::Ref { known, .. }, Some(EventKind::Ref { known: next, .. })) => std::ptr::eq(*known, *next),
                _ => false,
            };
            if !is_same {
                chunks.push((&self.events[start..end], &kinds[start..end]));
                start = end;
            }
        }
        chunks
    }

    /// Returns what the payloads of a chunk are built from.
    fn payloads(&self, context: &DeliveryContext, kinds: &[EventKind<'_>]) -> (Option<Payload>, Option<RefPayloads>) {
        match kinds {
            [EventKind::Ref { known, key, .. }, ..] => {
                let builder = RefPayloadBuilder::new(&context.root_url, self.subject, self.live.clone(), known, *key);
                (None, Some(builder.to_row()))
            }
            [kind, ..] => (Some(self.payload(context, kind)), None),
            [] => (None, None),
        }
    }
}
