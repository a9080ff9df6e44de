//! Compact representation of a hook for lists.
//!
//! Settings that hooks have in common are stored once, and what only failing or copied hooks have in an allocation of
//! its own. The daemon never sends secrets. The complete object is requested from the daemon when it is needed.

use std::sync::Arc;

use farrier_common::api::Hook;

use super::{
    compact::{PackedTexts, SharedValues, short_seconds},
    words,
};

/// The places of texts among those of a hook.
const URL: usize = 0;
const NAME: usize = 1;
const OWNER: usize = 2;

const ACTIVE: u8 = 1;
const SECRET: u8 = 2;
const AUTHORIZATION: u8 = 4;
const OF_REPOSITORY: u8 = 8;

/// The data of a hook that lists, their filters, actions and forms need.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct HookSummary {
    pub(crate) id: i64,
    /// URL, name, and the repository or the owner.
    texts: PackedTexts<3>,
    kind: Arc<Kind>,
    rare: Option<Arc<Rare>>,
    failures: u32,
    /// Seconds since 1970; 0 for none.
    last_attempt: u32,
    created: u32,
    updated: u32,
}

/// Values that many hooks have in common.
#[derive(Debug, PartialEq, Eq)]
struct Kind {
    scope: String,
    hook_type: String,
    content_type: String,
    branch_filter: String,
    events: Vec<String>,
    events_exact: Vec<String>,
    state: String,
    last_status: i64,
    switches: u8,
}

/// Values that only few hooks have.
#[derive(Debug, Default, PartialEq, Eq)]
struct Rare {
    copied_from: Option<i64>,
    /// Seconds since 1970; 0 for none.
    failing_since: i64,
    /// Failed attempts in the last hour and in the hour before.
    recent_failures: (i64, i64),
    last_error: String,
    disabled_reason: String,
    warning: Option<String>,
}

impl HookSummary {
    pub(crate) fn url(&self) -> &str {
        self.texts.get(URL)
    }

    pub(crate) fn name(&self) -> &str {
        self.texts.get(NAME)
    }

    /// Returns the owner (repository, organization or user); a dash for system hooks.
    pub(crate) fn owner(&self) -> &str {
        match self.texts.get(OWNER) {
            "" => "-",
            owner => owner,
        }
    }

    /// Returns the repository, `owner/name`, if the hook belongs to one and the daemon names it.
    pub(crate) fn repository(&self) -> Option<&str> {
        self.has(OF_REPOSITORY).then(|| self.texts.get(OWNER))
    }

    pub(crate) fn scope(&self) -> &str {
        &self.kind.scope
    }

    pub(crate) fn is_default(&self) -> bool {
        self.kind.scope == "default"
    }

    pub(crate) fn hook_type(&self) -> &str {
        &self.kind.hook_type
    }

    pub(crate) fn content_type(&self) -> &str {
        &self.kind.content_type
    }

    pub(crate) fn branch_filter(&self) -> &str {
        &self.kind.branch_filter
    }

    /// Returns the names that each select exactly one event; none from an older daemon.
    pub(crate) fn events_exact(&self) -> &[String] {
        &self.kind.events_exact
    }

    /// Returns the names of the events to show.
    pub(crate) fn events(&self) -> &[String] {
        if self.kind.events_exact.is_empty() { &self.kind.events } else { &self.kind.events_exact }
    }

    /// Returns the state as the API names it; empty from an older daemon.
    pub(crate) fn state(&self) -> &str {
        &self.kind.state
    }

    pub(crate) fn is_active(&self) -> bool {
        self.has(ACTIVE)
    }

    pub(crate) fn has_secret(&self) -> bool {
        self.has(SECRET)
    }

    pub(crate) fn has_authorization_header(&self) -> bool {
        self.has(AUTHORIZATION)
    }

    fn has(&self, switch: u8) -> bool {
        self.kind.switches & switch != 0
    }

    /// Returns the number of failed attempts since the last success.
    pub(crate) fn failures(&self) -> i64 {
        self.failures.into()
    }

    /// Returns the HTTP status of the last attempt; 0 for none.
    pub(crate) fn last_status(&self) -> i64 {
        self.kind.last_status
    }

    /// Returns the time of the last attempt in seconds since 1970.
    pub(crate) fn last_attempt(&self) -> Option<i64> {
        (self.last_attempt > 0).then(|| self.last_attempt.into())
    }

    pub(crate) fn created(&self) -> i64 {
        self.created.into()
    }

    pub(crate) fn updated(&self) -> i64 {
        self.updated.into()
    }

    /// Returns the default hook from which it was copied.
    pub(crate) fn copied_from(&self) -> Option<i64> {
        self.rare.as_ref()?.copied_from
    }

    /// Returns since when deliveries fail, in seconds since 1970; 0 if they do not.
    pub(crate) fn failing_since(&self) -> i64 {
        self.rare.as_ref().map_or(0, |rare| rare.failing_since)
    }

    /// Returns the numbers of failed attempts in the last hour and in the hour before; zeros from an older daemon.
    pub(crate) fn recent_failures(&self) -> (i64, i64) {
        self.rare.as_ref().map_or((0, 0), |rare| rare.recent_failures)
    }

    pub(crate) fn last_error(&self) -> &str {
        self.rare.as_ref().map_or("", |rare| &rare.last_error)
    }

    /// Returns why the daemon switched the hook off; empty if it did not.
    pub(crate) fn disabled_reason(&self) -> &str {
        self.rare.as_ref().map_or("", |rare| &rare.disabled_reason)
    }

    pub(crate) fn warning(&self) -> Option<&str> {
        self.rare.as_ref()?.warning.as_deref()
    }
}

/// Converts hooks to the compact form and shares common values.
#[derive(Debug, Default)]
pub(crate) struct HookCompactor {
    kinds: SharedValues<Kind>,
    rare: SharedValues<Rare>,
}

impl HookCompactor {
    pub(crate) fn compact(&mut self, hook: Hook) -> HookSummary {
        let is_of_repository = !hook.repository.is_empty();
        let owner = if is_of_repository { &hook.repository } else { &hook.owner };
        let switches = [
            (hook.active, ACTIVE),
            (hook.has_secret, SECRET),
            (hook.has_authorization_header, AUTHORIZATION),
            (is_of_repository, OF_REPOSITORY),
        ];
        let rare = Rare {
            copied_from: hook.copied_from,
            failing_since: hook.failing_since.as_deref().map_or(0, words::seconds),
            recent_failures: hook.recent_failures.map_or((0, 0), |recent| (recent.last_hour, recent.hour_before)),
            last_error: hook.last_error,
            disabled_reason: hook.disabled_reason,
            warning: hook.warning,
        };
        HookSummary {
            id: hook.id,
            texts: PackedTexts::of([&hook.url, &hook.name, owner]),
            failures: u32::try_from(hook.failures.max(0)).unwrap_or(u32::MAX),
            last_attempt: hook.last_delivery_at.as_deref().map_or(0, short_seconds),
            created: short_seconds(&hook.created_at),
            updated: short_seconds(&hook.updated_at),
            rare: (rare != Rare::default()).then(|| self.rare.share(rare)),
            kind: self.kinds.share(Kind {
                scope: hook.scope,
                hook_type: hook.r#type,
                content_type: hook.content_type,
                branch_filter: hook.branch_filter,
                events: hook.events,
                events_exact: hook.events_exact,
                state: hook.state,
                last_status: hook.last_status,
                switches: switches.into_iter().filter_map(|(on, bit)| on.then_some(bit)).sum(),
            }),
        }
    }

    pub(crate) fn compact_all(&mut self, hooks: Vec<Hook>) -> Vec<HookSummary> {
        hooks.into_iter().map(|hook| self.compact(hook)).collect()
    }
}

#[cfg(test)]
mod tests {
    use farrier_common::api::RecentFailures;

    use super::{super::compact::row_bytes, *};

    fn hook() -> Hook {
        Hook {
            id: 7,
            name: "build".into(),
            r#type: "farrier".into(),
            branch_filter: "main".into(),
            events: vec!["push".into()],
            active: true,
            url: "https://gateway.example.net/hooks/12345".into(),
            content_type: "json".into(),
            scope: "repository".into(),
            owner: "platform-team".into(),
            repository: "platform-team/gateway-12345".into(),
            state: "ok".into(),
            last_status: 200,
            last_delivery_at: Some("1970-01-01T00:01:00Z".into()),
            created_at: "1970-01-01T00:02:00Z".into(),
            updated_at: "1970-01-01T00:03:00Z".into(),
            ..Hook::default()
        }
    }

    #[test]
    fn compacting_preserves_the_values_of_a_hook() {
        let one = HookCompactor::default().compact(hook());
        assert_eq!((one.id, one.url(), one.name()), (7, "https://gateway.example.net/hooks/12345", "build"));
        let repository = "platform-team/gateway-12345";
        assert_eq!((one.owner(), one.repository()), (repository, Some(repository)));
        assert_eq!((one.scope(), one.is_default(), one.hook_type()), ("repository", false, "farrier"));
        assert_eq!((one.content_type(), one.branch_filter(), one.state()), ("json", "main", "ok"));
        assert!(one.events() == ["push"] && one.events_exact().is_empty());
        assert!(one.is_active() && !one.has_secret() && !one.has_authorization_header());
        assert_eq!((one.failures(), one.last_status(), one.last_attempt()), (0, 200, Some(60)));
        assert_eq!((one.created(), one.updated(), one.failing_since()), (120, 180, 0));
        assert_eq!((one.copied_from(), one.last_error(), one.disabled_reason(), one.warning()), (None, "", "", None));
    }

    #[test]
    fn compacting_preserves_the_values_of_a_failing_hook() {
        let failing = Hook {
            events_exact: vec!["pull_request_sync".into()],
            active: false,
            has_secret: true,
            has_authorization_header: true,
            owner: "bob".into(),
            repository: String::new(),
            last_delivery_at: None,
            failures: 3,
            copied_from: Some(4),
            failing_since: Some("1970-01-01T00:01:00Z".into()),
            recent_failures: Some(RecentFailures { last_hour: 2, hour_before: 1 }),
            last_error: "connection refused".into(),
            disabled_reason: "failed for 3 days".into(),
            warning: Some("not allowed".into()),
            ..hook()
        };
        let one = HookCompactor::default().compact(failing);
        assert_eq!((one.owner(), one.repository(), one.events()[0].as_str()), ("bob", None, "pull_request_sync"));
        assert!(!one.is_active() && one.has_secret() && one.has_authorization_header());
        assert_eq!((one.failures(), one.last_attempt(), one.copied_from()), (3, None, Some(4)));
        assert_eq!((one.failing_since(), one.recent_failures()), (60, (2, 1)));
        assert_eq!(one.last_error(), "connection refused");
        assert_eq!((one.disabled_reason(), one.warning()), ("failed for 3 days", Some("not allowed")));
        let system = Hook { owner: String::new(), repository: String::new(), ..hook() };
        assert_eq!(HookCompactor::default().compact(system).owner(), "-");
    }

    #[test]
    fn a_hook_of_a_long_list_needs_at_most_180_bytes() {
        let mut compactor = HookCompactor::default();
        let (one, other) = (compactor.compact(hook()), compactor.compact(Hook { url: "https://x".into(), ..hook() }));
        assert!(Arc::ptr_eq(&one.kind, &other.kind) && one.rare.is_none());
        let bytes = row_bytes::<HookSummary>(&[one.texts.heap_bytes()]);
        assert!(bytes <= 180, "{bytes} bytes a row");
    }
}
