//! Decides which hooks get which events. Pure.

use std::sync::OnceLock;

use farrier_proto::store::{Event, Hook};

use super::EventKind;
use crate::model::branch_filter::BranchFilter;

/// A hook with its branch filter, which is compiled once for several events, when the first of them needs it.
pub(super) struct Subscriber {
    /// The hook.
    pub(super) hook: Hook,
    filter: OnceLock<BranchFilter>,
}

impl Subscriber {
    /// Creates the subscriber for `hook`.
    pub(super) fn new(hook: Hook) -> Self {
        Self { hook, filter: OnceLock::new() }
    }

    /// Returns whether the hook subscribes to events of the kind and action of `event`.
    pub(super) fn subscribes(hook: &Hook, event: &Event) -> bool {
        let readable = event.action != EventKind::RESTORED || hook.r#type == "farrier";
        readable && hook.events.contains(&event.kind)
    }

    /// Returns whether the hook gets this event. The branch filter applies only to changes of refs.
    pub(super) fn receives(&self, event: &Event) -> bool {
        Self::subscribes(&self.hook, event)
            && event.ref_change.as_ref().is_none_or(|change| self.filter().passes(&change.r#ref))
    }

    fn filter(&self) -> &BranchFilter {
        // Filters are checked when a hook is saved. A stored filter that no longer parses is ignored.
        self.filter.get_or_init(|| BranchFilter::parse(&self.hook.branch_filter).unwrap_or(BranchFilter::All))
    }
}

#[cfg(test)]
mod tests {
    use farrier_proto::store::RefChange;

    use super::*;

    #[test]
    fn only_subscribed_and_matching_hooks_receive_events() {
        let change = RefChange { r#ref: "refs/heads/main".into(), ..RefChange::default() };
        let push = Event { kind: "push".into(), ref_change: Some(change), ..Event::default() };
        let edited = Event { kind: "repository".into(), action: "edited".into(), ..Event::default() };
        let restored = Event { action: EventKind::RESTORED.into(), ..edited.clone() };
        let receives = |kind: &str, events: &[&str], filter: &str| {
            let events = events.iter().map(|event| (*event).to_owned()).collect();
            let hook = Hook { r#type: kind.into(), events, branch_filter: filter.into(), ..Hook::default() };
            let subscriber = Subscriber::new(hook);
            [&push, &edited, &restored].map(|event| subscriber.receives(event))
        };
        assert_eq!(receives("gitea", &["push", "repository"], ""), [true, true, false]);
        assert_eq!(receives("farrier", &["push", "repository"], "other"), [false, true, true]);
        assert_eq!(receives("gitea", &["push"], "ma*"), [true, false, false]);
        assert_eq!(receives("gitea", &["create"], ""), [false, false, false]);
    }
}
