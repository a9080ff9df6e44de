//! Events, hooks, deliveries and the lines in which they wait.

use farrier_proto::store::HookScope;

use super::{Builder, due, trailing_id};
use crate::store::engine::{Key, Range};

/// `m/history`: how much of deliveries is remembered.
pub fn history() -> Key {
    Builder::new("m").raw(b"history").done()
}

/// `e/<eid>`
pub fn event(id: u64) -> Key {
    Builder::new("e").id(id).done()
}

/// All of `e/`: events, oldest first.
pub fn events() -> Key {
    Builder::new("e").done()
}

/// `m/forgotten-events`: up to which number events are forgotten.
pub fn forgotten_events() -> Key {
    Builder::new("m").raw(b"forgotten-events").done()
}

/// `ep/<eid>`: what an event says to hooks.
pub fn payload(event: u64) -> Key {
    Builder::new("ep").id(event).done()
}

/// `ep/<eid>/<n>`: the n-th piece of it behind the first, where it is larger than a value may be.
pub fn payload_piece(event: u64, piece: u32) -> Key {
    Builder::new("ep").id(event).id(piece.into()).done()
}

/// `h/<hid>`
pub fn hook(id: u64) -> Key {
    Builder::new("h").id(id).done()
}

/// All of `h/`: hooks by number, those whose repository is gone included.
pub fn hooks() -> Key {
    Builder::new("h").done()
}

/// `hx/<hid>`: how the deliveries of a hook go.
pub fn hook_state(id: u64) -> Key {
    Builder::new("hx").id(id).done()
}

/// All of `hx/`.
pub fn hook_states() -> Key {
    Builder::new("hx").done()
}

/// `hs/<hid>`, `hd/<hid>`, `hr/<rid>/<hid>`, `ho/<owner>/<hid>`: the hooks of a place by number.
/// `target` is the repository, organisation or user; system and default hooks have none.
pub fn hook_place(scope: HookScope, target: u64, hook: u64) -> Key {
    [hooks_of(scope, target), hook.to_be_bytes().to_vec()].concat()
}

/// All hooks of a place. Users and organisations share `ho/`: their numbers do not meet.
pub fn hooks_of(scope: HookScope, target: u64) -> Key {
    match scope {
        HookScope::Unspecified | HookScope::System => Builder::new("hs").done(),
        HookScope::Default => Builder::new("hd").done(),
        HookScope::Repository => Builder::new("hr").id(target).done(),
        HookScope::Org | HookScope::User => Builder::new("ho").id(target).done(),
    }
}

/// `hz/<since>/<hid>`: hooks whose repository is gone.
pub fn retired_hook(since_ms: i64, hook: u64) -> Key {
    Builder::new("hz").time(since_ms).id(hook).done()
}

/// The range of `hz` up to and including `until_ms`.
pub fn retired_hooks(until_ms: i64) -> Range {
    due("hz", until_ms)
}

/// `d/<newest did>`
pub fn delivery(id: u64) -> Key {
    Builder::new("d").newest(id).done()
}

/// The deliveries with numbers from `low` to `high`, newest first.
pub fn deliveries_between(low: u64, high: u64) -> Range {
    Range { low: delivery(high), high: Some([delivery(low), vec![0]].concat()) }
}

/// All of `d/`: deliveries of all hooks, newest first.
pub fn deliveries() -> Key {
    Builder::new("d").done()
}

/// `da/<did>/<n>`
pub fn attempt(delivery: u64, number: u32) -> Key {
    Builder::new("da").id(delivery).id(number.into()).done()
}

/// All of `da/<did>/`: attempts, the first one first.
pub fn attempts(delivery: u64) -> Key {
    Builder::new("da").id(delivery).done()
}

/// `dh/<hid>/<newest did>`: the deliveries of a hook.
pub fn hook_delivery(hook: u64, delivery: u64) -> Key {
    Builder::new("dh").id(hook).newest(delivery).done()
}

/// All of `dh/<hid>/`.
pub fn hook_deliveries(hook: u64) -> Key {
    Builder::new("dh").id(hook).done()
}

/// `df/<hid>/<newest did>`: those of them that failed.
pub fn failed_delivery(hook: u64, delivery: u64) -> Key {
    Builder::new("df").id(hook).newest(delivery).done()
}

/// All of `df/<hid>/`.
pub fn failed_deliveries(hook: u64) -> Key {
    Builder::new("df").id(hook).done()
}

/// `qf/<hid>/<did>`: first attempts that wait in line.
pub fn in_line(hook: u64, delivery: u64) -> Key {
    Builder::new("qf").id(hook).id(delivery).done()
}

/// All of `qf/<hid>/`: in the order in which they are sent.
pub fn line(hook: u64) -> Key {
    Builder::new("qf").id(hook).done()
}

/// All of `qf/`: the lines of all hooks.
pub fn lines() -> Key {
    Builder::new("qf").done()
}

/// `qu/<hid>/<did>`: attempts that somebody asked for. They go before the line.
pub fn urgent(hook: u64, delivery: u64) -> Key {
    Builder::new("qu").id(hook).id(delivery).done()
}

/// All of `qu/<hid>/`.
pub fn urgent_of(hook: u64) -> Key {
    Builder::new("qu").id(hook).done()
}

/// All of `qu/`.
pub fn all_urgent() -> Key {
    Builder::new("qu").done()
}

/// The hook in a key of `qf/` or `qu/`.
pub fn line_hook(key: &[u8]) -> Option<u64> {
    trailing_id(key.get(..line(0).len())?)
}

/// `qr/<due>/<did>` → hook: attempts that come later.
pub fn retry(due_ms: i64, delivery: u64) -> Key {
    Builder::new("qr").time(due_ms).id(delivery).done()
}

/// The range of `qr` up to and including `until_ms`.
pub fn retries(until_ms: i64) -> Range {
    due("qr", until_ms)
}
