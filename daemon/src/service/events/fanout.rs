//! Which hooks want which news. Pure.

use farrier_proto::store::Hook;

use super::News;
use crate::model::branch_filter::BranchFilter;

/// A hook that may want something, with its filter compiled once for all news of a change.
pub(super) struct Ready {
    pub(super) hook: Hook,
    filter: BranchFilter,
}

impl Ready {
    /// `None` when the hook wants none of `news` by their kind.
    pub(super) fn of(hook: Hook, news: &[News<'_>]) -> Option<Self> {
        if !hook.active || !news.iter().any(|news| asks(&hook, news)) {
            return None;
        }
        let about_refs = news.iter().any(|news| news.ref_change().is_some());
        // Filters are checked when hooks are made; one that no longer parses keeps nothing back.
        let filter = Some(hook.branch_filter.as_str()).filter(|_| about_refs);
        let filter = filter.and_then(|filter| BranchFilter::parse(filter).ok()).unwrap_or(BranchFilter::All);
        Some(Self { hook, filter })
    }

    /// Whether the hook gets `news`. Only changes of refs are filtered.
    pub(super) fn wants(&self, news: &News<'_>) -> bool {
        asks(&self.hook, news) && news.ref_change().is_none_or(|change| self.filter.passes(&change.r#ref))
    }
}

fn asks(hook: &Hook, news: &News<'_>) -> bool {
    let readable = news.action() != News::RESTORED || hook.r#type == "farrier";
    readable && hook.events.iter().any(|event| event == news.kind())
}

#[cfg(test)]
mod tests {
    use farrier_proto::store::RefChange;

    use super::*;

    #[test]
    fn only_active_subscribed_and_matching_hooks_receive_events() {
        let change = RefChange { r#ref: "refs/heads/main".into(), ..RefChange::default() };
        let push = News::Ref { kind: "push", change: &change, known: &[] };
        let edited = News::Repository { action: "edited", before: Vec::new() };
        let gets = |active, events: &[&str], filter: &str| {
            let events = events.iter().map(|event| (*event).to_owned()).collect();
            let hook = Hook { active, events, branch_filter: filter.into(), ..Hook::default() };
            let ready = Ready::of(hook, &[push.clone(), edited.clone()]);
            ready.map(|ready| (ready.wants(&push), ready.wants(&edited)))
        };
        assert_eq!(gets(true, &["push", "repository"], ""), Some((true, true)));
        assert_eq!(gets(true, &["push", "repository"], "other"), Some((false, true)));
        assert_eq!(gets(true, &["push"], "ma*"), Some((true, false)));
        assert_eq!(gets(true, &["create"], ""), None);
        assert_eq!(gets(false, &["push"], ""), None);
    }
}
