//! Keys of events, hooks, deliveries and delivery queues.

use farrier_proto::store::HookScope;

use super::{Builder, due, first_ids, trailing_id};
use crate::store::engine::{Key, Range};

/// `m/history`: the size of the delivery history.
pub fn history() -> Key {
    Builder::new("m").raw(b"history").build()
}

/// `e/<eid>`
pub fn event(id: u64) -> Key {
    Builder::new("e").id(id).build()
}

/// Returns the prefix of `e/`: events, oldest first.
pub fn events() -> Key {
    Builder::new("e").build()
}

/// `m/forgotten-events`: the number of the last deleted event.
pub fn forgotten_events() -> Key {
    Builder::new("m").raw(b"forgotten-events").build()
}

/// `ep/<eid>`: the payload of an event.
pub fn payload(event: u64) -> Key {
    Builder::new("ep").id(event).build()
}

/// `ep/<eid>/<n>`: the n-th continuation of a payload that is larger than a value may be.
pub fn payload_piece(event: u64, piece: u32) -> Key {
    Builder::new("ep").id(event).id(piece.into()).build()
}

/// `ef/<scope>/<target>/<eid>`: a fan-out, by its first event.
pub fn fan_out(scope: HookScope, target: u64, event: u64) -> Key {
    [fan_outs_of(scope, target), event.to_be_bytes().to_vec()].concat()
}

/// Returns the prefix of `ef/<scope>/<target>/`: the fan-outs to the hooks of a scope and target, oldest first.
pub fn fan_outs_of(scope: HookScope, target: u64) -> Key {
    Builder::new("ef").id(scope_number(scope)).id(target).build()
}

/// `ec/<scope>/<target>/<eid>`: the position of a fan-out.
pub fn fan_out_cursor(scope: HookScope, target: u64, event: u64) -> Key {
    [fan_out_cursors_of(scope, target), event.to_be_bytes().to_vec()].concat()
}

/// Returns the prefix of `ec/<scope>/<target>/`.
pub fn fan_out_cursors_of(scope: HookScope, target: u64) -> Key {
    Builder::new("ec").id(scope_number(scope)).id(target).build()
}

/// Returns the prefix of `ec/`: the positions of all fan-outs.
pub fn fan_out_cursors() -> Key {
    Builder::new("ec").build()
}

/// Returns the scope and the target in a key of `ef/` or `ec/`.
pub fn fan_out_target(key: &[u8]) -> Option<(HookScope, u64)> {
    let (scope, target) = first_ids(key)?;
    Some((HookScope::try_from(i32::try_from(scope).ok()?).ok()?, target))
}

/// Users and organizations share one sequence of ids, so their hooks have one scope here.
fn scope_number(scope: HookScope) -> u64 {
    match scope {
        HookScope::Unspecified | HookScope::System => HookScope::System as u64,
        HookScope::Org | HookScope::User => HookScope::Org as u64,
        HookScope::Default => HookScope::Default as u64,
        HookScope::Repository => HookScope::Repository as u64,
    }
}

/// `h/<hid>`
pub fn hook(id: u64) -> Key {
    Builder::new("h").id(id).build()
}

/// Returns the prefix of `h/`: hooks by id, including retired ones.
pub fn hooks() -> Key {
    Builder::new("h").build()
}

/// `hx/<hid>`: the delivery state of a hook.
pub fn hook_state(id: u64) -> Key {
    Builder::new("hx").id(id).build()
}

/// Returns the prefix of `hx/`.
pub fn hook_states() -> Key {
    Builder::new("hx").build()
}

/// `hs/<hid>`, `hd/<hid>`, `hr/<rid>/<hid>`, `ho/<owner>/<hid>`: the hooks of a scope by id. `target` is the
/// repository, organization or user; system and default hooks have none.
pub fn scope_hook(scope: HookScope, target: u64, hook: u64) -> Key {
    [hooks_of(scope, target), hook.to_be_bytes().to_vec()].concat()
}

/// Returns the prefix of the hooks of a scope and target. Users and organizations share `ho/`, because they share one
/// sequence of ids.
pub fn hooks_of(scope: HookScope, target: u64) -> Key {
    match scope {
        HookScope::Unspecified | HookScope::System => Builder::new("hs").build(),
        HookScope::Default => Builder::new("hd").build(),
        HookScope::Repository => Builder::new("hr").id(target).build(),
        HookScope::Org | HookScope::User => Builder::new("ho").id(target).build(),
    }
}

/// `hz/<since>/<hid>`: retired hooks by the time at which they were retired.
pub fn retired_hook(since_ms: i64, hook: u64) -> Key {
    Builder::new("hz").time(since_ms).id(hook).build()
}

/// Returns the range of `hz` up to and including `until_ms`.
pub fn retired_hooks(until_ms: i64) -> Range {
    due("hz", until_ms)
}

/// `d/<newest did>`
pub fn delivery(id: u64) -> Key {
    Builder::new("d").newest(id).build()
}

/// `de/<eid>/<did>`: a delivery of an event.
pub fn event_delivery(event: u64, delivery: u64) -> Key {
    Builder::new("de").id(event).id(delivery).build()
}

/// Returns the prefix of `de/<eid>/`.
pub fn event_deliveries(event: u64) -> Key {
    Builder::new("de").id(event).build()
}

/// `m/deliveries-by-event`: exists when all deliveries have an entry in `de`.
pub fn deliveries_by_event() -> Key {
    Builder::new("m").raw(b"deliveries-by-event").build()
}

/// Returns the prefix of `d/`: all deliveries, newest first.
pub fn deliveries() -> Key {
    Builder::new("d").build()
}

/// `da/<did>/<n>`
pub fn attempt(delivery: u64, number: u32) -> Key {
    Builder::new("da").id(delivery).id(number.into()).build()
}

/// Returns the prefix of `da/<did>/`: the attempts of a delivery, first attempt first.
pub fn attempts(delivery: u64) -> Key {
    Builder::new("da").id(delivery).build()
}

/// `dh/<hid>/<newest did>`: the deliveries of a hook.
pub fn hook_delivery(hook: u64, delivery: u64) -> Key {
    Builder::new("dh").id(hook).newest(delivery).build()
}

/// Returns the prefix of `dh/<hid>/`.
pub fn hook_deliveries(hook: u64) -> Key {
    Builder::new("dh").id(hook).build()
}

/// `df/<hid>/<newest did>`: the failed deliveries of a hook.
pub fn failed_delivery(hook: u64, delivery: u64) -> Key {
    Builder::new("df").id(hook).newest(delivery).build()
}

/// Returns the prefix of `df/<hid>/`.
pub fn failed_deliveries(hook: u64) -> Key {
    Builder::new("df").id(hook).build()
}

/// `qf/<hid>/<did>`: the queue of a hook.
pub fn queued(hook: u64, delivery: u64) -> Key {
    Builder::new("qf").id(hook).id(delivery).build()
}

/// Returns the prefix of `qf/<hid>/`: the queue of a hook in sending order.
pub fn queue(hook: u64) -> Key {
    Builder::new("qf").id(hook).build()
}

/// Returns the prefix of `qf/`: the queues of all hooks.
pub fn queues() -> Key {
    Builder::new("qf").build()
}

/// `qu/<hid>/<did>`: attempts that a user requested. They are sent before the queue.
pub fn urgent(hook: u64, delivery: u64) -> Key {
    Builder::new("qu").id(hook).id(delivery).build()
}

/// Returns the prefix of `qu/<hid>/`.
pub fn urgent_of(hook: u64) -> Key {
    Builder::new("qu").id(hook).build()
}

/// Returns the prefix of `qu/`.
pub fn all_urgent() -> Key {
    Builder::new("qu").build()
}

/// Returns the hook in a key of `qf/` or `qu/`.
pub fn queue_hook(key: &[u8]) -> Option<u64> {
    trailing_id(key.get(..queue(0).len())?)
}

/// `qr/<due>/<did>` → hook: retries by their time.
pub fn retry(due_ms: i64, delivery: u64) -> Key {
    Builder::new("qr").time(due_ms).id(delivery).build()
}

/// Returns the range of `qr` up to and including `until_ms`.
pub fn retries(until_ms: i64) -> Range {
    due("qr", until_ms)
}
