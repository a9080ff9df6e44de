//! Decides which hooks get which events. Pure.

use farrier_proto::store::Hook;

use super::EventKind;
use crate::model::branch_filter::BranchFilter;

/// A hook that subscribes to at least one event of a change, with its branch filter compiled once.
pub struct Subscriber {
    /// The hook.
    pub hook: Hook,
    filter: BranchFilter,
}

impl Subscriber {
    /// `None` if the hook is not active or subscribes to none of `kinds`.
    pub fn new(hook: Hook, kinds: &[EventKind<'_>]) -> Option<Self> {
        if !hook.active || !kinds.iter().any(|kind| subscribes(&hook, kind)) {
            return None;
        }
        let about_refs = kinds.iter().any(|kind| kind.ref_change().is_some());
        // Filters are checked when a hook is saved. A stored filter that no longer parses is ignored.
        let filter = Some(hook.branch_filter.as_str()).filter(|_| about_refs);
        let filter = filter.and_then(|filter| BranchFilter::parse(filter).ok()).unwrap_or(BranchFilter::All);
        Some(Self { hook, filter })
    }

    /// Returns whether the hook gets an event of this kind. The branch filter applies only to changes of refs.
    pub fn subscribes_to(&self, kind: &EventKind<'_>) -> bool {
        subscribes(&self.hook, kind) && kind.ref_change().is_none_or(|change| self.filter.passes(&change.r#ref))
    }
}

fn subscribes(hook: &Hook, kind: &EventKind<'_>) -> bool {
    let readable = kind.action() != EventKind::RESTORED || hook.r#type == "farrier";
    readable && hook.events.iter().any(|event| event == kind.kind())
}

#[cfg(test)]
mod tests {
    use farrier_proto::store::RefChange;

    use super::*;

    #[test]
    fn only_active_subscribed_and_matching_hooks_receive_events() {
        let change = RefChange { r#ref: "refs/heads/main".into(), ..RefChange::default() };
        let push = EventKind::Ref { kind: "push", change: &change, known: &[] };
        let edited = EventKind::Repository { action: "edited", before: Vec::new() };
        let subscribes_to = |active, events: &[&str], filter: &str| {
            let events = events.iter().map(|event| (*event).to_owned()).collect();
            let hook = Hook { active, events, branch_filter: filter.into(), ..Hook::default() };
            let subscriber = Subscriber::new(hook, &[push.clone(), edited.clone()]);
            subscriber.map(|hook| (hook.subscribes_to(&push), hook.subscribes_to(&edited)))
        };
        assert_eq!(subscribes_to(true, &["push", "repository"], ""), Some((true, true)));
        assert_eq!(subscribes_to(true, &["push", "repository"], "other"), Some((false, true)));
        assert_eq!(subscribes_to(true, &["push"], "ma*"), Some((true, false)));
        assert_eq!(subscribes_to(true, &["create"], ""), None);
        assert_eq!(subscribes_to(false, &["push"], ""), None);
    }
}
