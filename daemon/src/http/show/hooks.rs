//! Converts hooks, with warnings about their settings and targets.

use farrier_common::api;
use farrier_proto::store::HookState;

use super::number;
use crate::{
    clock::Millis,
    http::AppState,
    model::{
        hook_config::{self, COMMON_KEYS, ConfigKey},
        hook_event::{self, HookEvent},
        hook_health,
        identity::Identity,
    },
    service::{
        access,
        hooks::{FoundHook, ListedHook, OwnerNames, SavedHook},
    },
    show::{self, unsent_warning, warning},
    webhook::{AddressRefusal, TargetProblem},
};

/// Converts a hook for a caller who manages it.
pub(in crate::http) fn hook(state: &AppState, identity: &Identity, found: &FoundHook) -> api::Hook {
    let (refusal, advice) = state.client.refusal(&found.hook.url).map(|refusal| shown(identity, refusal)).unzip();
    let recent_failures = recent_failures(&found.state, state.now_ms());
    api::Hook { advice: advice.flatten(), recent_failures, ..show::hook(&found.hook, &found.state, refusal) }
}

/// Returns the failed attempts of the last two hours; `None` if there are none.
fn recent_failures(state: &HookState, now_ms: Millis) -> Option<api::RecentFailures> {
    let (last_hour, hour_before) = hook_health::recent_failures(state, now_ms);
    let found = api::RecentFailures { last_hour: number(last_hour), hour_before: number(hour_before) };
    (found != api::RecentFailures::default()).then_some(found)
}

/// Converts a hook that was just saved. Adds warnings about its target, about events that are never sent, and about
/// removed secrets.
pub(in crate::http) fn saved_hook(identity: &Identity, saved: &SavedHook, problem: Option<TargetProblem>) -> api::Hook {
    let row = &saved.found.hook;
    let (text, advice) = match problem {
        None => (None, None),
        Some(TargetProblem::Unresolved(reason)) => (Some(reason), None),
        Some(TargetProblem::Refused(refusal)) => {
            let (text, advice) = shown(identity, refusal);
            (Some(text), advice)
        }
    };
    let unsent = hook_event::never_sent(&row.events);
    let some = (!unsent.is_empty() && unsent.len() < row.events.len())
        .then(|| format!("farrier never sends {}", unsent.join(", ")));
    let removed = saved.secrets_removed.then(|| {
        "the secrets were removed, because they belong to the receiver of the old URL; set new ones if needed"
            .to_owned()
    });
    let warning = warning([unsent_warning(row), some, text, removed]);
    api::Hook { warning, advice, ..show::hook(row, &saved.found.state, None) }
}

/// Returns the warning about a refused target, and the setting that would allow it. Only site administrators, who can
/// change the setting, get its value and the address of the target.
fn shown(identity: &Identity, refusal: AddressRefusal) -> (String, Option<api::SettingAdvice>) {
    if access::require_site_admin(identity).is_err() {
        return (refusal.reason, None);
    }
    let advice = api::SettingAdvice { setting: "webhook.allowed_hosts".into(), value: refusal.allowed_hosts };
    (refusal.detail, Some(advice))
}

/// Converts a hook for a list across owners. Adds owner and repository.
pub(in crate::http) fn managed_hook(state: &AppState, identity: &Identity, managed: &ListedHook) -> api::Hook {
    let OwnerNames { owner, repository, .. } = managed.names.clone();
    api::Hook { owner, repository, ..hook(state, identity, &managed.found) }
}

/// Converts an event that hooks can subscribe to.
pub(in crate::http) fn hook_event(event: &HookEvent) -> api::HookEvent {
    let named = |(fine, coarse): &(&str, &str)| api::HookEventHeaders {
        event_type: (*fine).to_owned(),
        event: (*coarse).to_owned(),
    };
    api::HookEvent {
        name: event.name.into(),
        exact: event.exact.into(),
        sent: event.sent,
        description: event.about.into(),
        headers: event.headers.iter().map(named).collect(),
    }
}

/// Converts a type of hook.
pub(in crate::http) fn hook_type(kind: &hook_config::HookType) -> api::HookType {
    let shown = |key: &ConfigKey| api::HookConfigKey {
        name: key.name.into(),
        required: key.required,
        secret: key.secret,
        description: key.about.into(),
    };
    api::HookType {
        name: kind.name.into(),
        native: kind.native,
        config: COMMON_KEYS.iter().chain(kind.keys).map(shown).collect(),
    }
}
