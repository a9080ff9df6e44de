//! Converts hooks, with warnings about their settings and targets.

use farrier_common::api;

use crate::{
    http::AppState,
    model::{
        hook_config::{self, COMMON_KEYS, ConfigKey},
        hook_event::{self, HookEvent},
    },
    service::hooks::{FoundHook, ListedHook, OwnerNames, SavedHook},
    show::{self, advice, unsent_warning, warning},
    webhook::TargetProblem,
};

/// Converts a hook for callers who manage it.
pub(in crate::http) fn hook(state: &AppState, found: &FoundHook) -> api::Hook {
    show::hook(&found.hook, &found.state, state.client.refusal(&found.hook.url))
}

/// Converts a hook that was just saved. Adds warnings about its target, about events that are never sent, and about
/// removed secrets.
/// `inside`: whether the caller may see the addresses of internal hosts.
pub(in crate::http) fn saved_hook(
    state: &AppState,
    saved: &SavedHook,
    problem: Option<TargetProblem>,
    inside: bool,
) -> api::Hook {
    let row = &saved.found.hook;
    let literal = state.client.refusal(&row.url).is_some();
    let (text, advice) = match problem {
        None => (None, None),
        Some(TargetProblem::Unresolved(reason)) => (Some(reason), None),
        Some(TargetProblem::Refused(refusal)) if inside || literal => {
            (Some(refusal.reason.clone()), Some(advice(refusal)))
        }
        Some(TargetProblem::Refused(_)) => {
            (Some("the setting webhook.allowed_hosts does not allow the host; ask an administrator".to_owned()), None)
        }
    };
    let unsent = hook_event::never_sent(&row.events);
    let some = (!unsent.is_empty() && unsent.len() < row.events.len())
        .then(|| format!("farrier never sends {}", unsent.join(", ")));
    let removed = saved.secrets_removed.then(|| {
        "the secrets were removed, because they belong to the receiver of the old URL; set new ones if needed"
            .to_owned()
    });
    api::Hook { warning: warning([unsent_warning(row), some, text, removed]), advice, ..hook(state, &saved.found) }
}

/// Converts a hook for a list across owners. Adds owner and repository.
pub(in crate::http) fn managed_hook(state: &AppState, managed: &ListedHook) -> api::Hook {
    let OwnerNames { owner, repository, .. } = managed.names.clone();
    api::Hook { owner, repository, ..hook(state, &managed.found) }
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
