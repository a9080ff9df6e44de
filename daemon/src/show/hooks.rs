//! Converts hooks. Leaves out secret values.

use farrier_common::api;
use farrier_proto::store::{Hook, HookScope};

use super::{number, time};
use crate::{
    model::{
        hook_config::{self, COMMON_KEYS, ConfigKey},
        hook_event::{self, HookEvent},
    },
    service::{
        Context,
        hooks::{FoundHook, Health, ListedHook, OwnerNames},
    },
    webhook::{Refusal, TargetProblem},
};

/// Converts a hook for callers who manage it.
pub(crate) fn hook(context: &Context, found: &FoundHook) -> api::Hook {
    let (row, state) = (&found.hook, &found.state);
    let content_type = if row.form { "form" } else { "json" };
    let health = Health::of(row, state);
    let refusal = context.client.refusal(&row.url);
    api::Hook {
        id: number(row.id),
        name: row.name.clone(),
        r#type: row.r#type.clone(),
        branch_filter: row.branch_filter.clone(),
        config: config(row, content_type),
        events: row.events.clone(),
        events_exact: hook_event::exact(&row.events),
        active: row.active,
        updated_at: time(row.updated_ms),
        created_at: time(row.created_ms),
        url: row.url.clone(),
        content_type: content_type.into(),
        scope: hook_config::scope_text(row.scope()).into(),
        has_secret: !row.secret.is_empty(),
        has_authorization_header: !row.authorization.is_empty(),
        copied_from: (row.copied_from != 0).then(|| number(row.copied_from)),
        last_status: state.last_status.into(),
        last_delivery_at: (state.last_delivery_ms != 0).then(|| time(state.last_delivery_ms)),
        failures: number(state.failures),
        state: health.word().into(),
        failing_since: (state.failures > 0 && state.failing_since_ms != 0).then(|| time(state.failing_since_ms)),
        last_error: if state.failures > 0 { state.last_error.clone() } else { String::new() },
        disabled_reason: row.disabled_reason.clone(),
        warning: joined([unsent_warning(row), refusal.as_ref().map(|refusal| refusal.reason.clone())]),
        advice: refusal.map(advice),
        ..api::Hook::default()
    }
}

/// Converts a hook that was just saved. Adds warnings about its target and about events that are never sent.
/// `inside`: whether the caller may see the addresses of internal hosts.
pub(crate) fn saved_hook(
    context: &Context,
    found: &FoundHook,
    problem: Option<TargetProblem>,
    inside: bool,
) -> api::Hook {
    let row = &found.hook;
    let literal = context.client.refusal(&row.url).is_some();
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
    api::Hook { warning: joined([unsent_warning(row), some, text]), advice, ..hook(context, found) }
}

/// Returns a warning if farrier never sends any event of the hook.
fn unsent_warning(row: &Hook) -> Option<String> {
    let unsent = hook_event::never_sent(&row.events);
    let sends_nothing = !unsent.is_empty() && unsent.len() == row.events.len();
    let sent: Vec<&str> = hook_event::EVENTS.iter().filter(|event| event.sent).map(|event| event.name).collect();
    sends_nothing.then(|| format!("farrier never sends {}; it sends {}", unsent.join(", "), sent.join(", ")))
}

fn joined<const N: usize>(warnings: [Option<String>; N]) -> Option<String> {
    let all: Vec<String> = warnings.into_iter().flatten().collect();
    (!all.is_empty()).then(|| all.join("; "))
}

fn advice(refusal: Refusal) -> api::SettingAdvice {
    api::SettingAdvice { setting: "webhook.allowed_hosts".into(), value: refusal.allowed_hosts }
}

/// Converts a hook for a list across owners. Adds owner and repository.
pub(crate) fn managed_hook(context: &Context, managed: &ListedHook) -> api::Hook {
    let OwnerNames { owner, repository, .. } = managed.names.clone();
    api::Hook { owner, repository, ..hook(context, &managed.found) }
}

fn config(row: &Hook, content_type: &str) -> std::collections::BTreeMap<String, String> {
    let kind = hook_config::by_name(&row.r#type);
    let shown = |name: &str| kind.is_some_and(|kind| !kind.is_secret(name));
    let settings = row.settings.iter().filter(|(name, _)| shown(name));
    let mut all: std::collections::BTreeMap<String, String> =
        settings.map(|(name, value)| (name.clone(), value.clone())).collect();
    all.insert(hook_config::URL.into(), row.url.clone());
    all.insert(hook_config::CONTENT_TYPE.into(), content_type.into());
    if matches!(row.scope(), HookScope::System | HookScope::Default) {
        all.insert(hook_config::IS_SYSTEM.into(), (row.scope() == HookScope::System).to_string());
    }
    all
}

/// Converts an event that hooks can subscribe to.
pub(crate) fn hook_event(event: &HookEvent) -> api::HookEvent {
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
pub(crate) fn hook_type(kind: &hook_config::HookType) -> api::HookType {
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
