//! Converts hooks. Leaves out secret values.

use farrier_common::api;
use farrier_proto::store::{Hook, HookScope, HookState};

use super::{number, time};
use crate::model::{hook_config, hook_event, hook_health::HookHealth};

/// Converts a hook for callers who manage it. `refusal` is the warning that the daemon does not connect to the URL of
/// the hook.
pub(crate) fn hook(row: &Hook, state: &HookState, refusal: Option<String>) -> api::Hook {
    let content_type = if row.form { "form" } else { "json" };
    let health = HookHealth::of(row, state);
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
        warning: warning([unsent_warning(row), refusal]),
        ..api::Hook::default()
    }
}

/// Returns a warning if farrier never sends any event of the hook.
pub(crate) fn unsent_warning(row: &Hook) -> Option<String> {
    let unsent = hook_event::never_sent(&row.events);
    let sends_nothing = !unsent.is_empty() && unsent.len() == row.events.len();
    let sent: Vec<&str> = hook_event::EVENTS.iter().filter(|event| event.sent).map(|event| event.name).collect();
    sends_nothing.then(|| format!("farrier never sends {}; it sends {}", unsent.join(", "), sent.join(", ")))
}

/// Joins the warnings about a hook.
pub(crate) fn warning<const N: usize>(warnings: [Option<String>; N]) -> Option<String> {
    let all: Vec<String> = warnings.into_iter().flatten().collect();
    (!all.is_empty()).then(|| all.join("; "))
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
