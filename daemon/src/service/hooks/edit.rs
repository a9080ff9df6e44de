//! Changes hooks. Omitted fields keep their values, empty ones are reset. Secrets are never shown, so an empty secret
//! comes from a client that sends back what it read, and keeps its value too.

use std::collections::BTreeMap;

use farrier_common::api::EditHook;
use farrier_proto::store::{Hook, HookScope, HookState};

use super::{FoundHook, HookOwner, SavedHook, audited, check, create::check_count, in_owner, require};
use crate::{
    clock::Millis,
    model::{
        hook_config::{self, CheckedConfig, HookType},
        revision::Expected,
    },
    service::{Context, Error, audit::AuditRecorder},
    store::{Tx, hooks},
};

/// How long deliveries are also signed with the previous secret after a change.
const ROTATION_MS: Millis = 24 * 3_600 * 1_000;

/// Changes hook `id` of `hook_owner`, if its revision is the expected one.
pub async fn edit(
    context: &Context,
    hook_owner: HookOwner,
    id: u64,
    input: &EditHook,
    expected: &Expected,
) -> Result<SavedHook, Error> {
    let now = context.now_ms();
    let recorder = &AuditRecorder::new(context);
    let saved = context
        .store
        .write(async |tx: Tx| {
            let before = in_owner(&tx, hook_owner, id).await?;
            require(expected, &before)?;
            let (row, ignored) = changed(&before, input, now)?;
            if row.scope != before.scope {
                check_count(&tx, row.scope(), row.target_id).await?;
            }
            hooks::update(&tx, &before, &row);
            if let Some(entry) = audited::edit(&tx, &before, &row).await? {
                recorder.record(&tx, entry).await?;
            }
            let mut state = hooks::state(&tx, id).await?;
            let target_changed = row.url != before.url || row.settings != before.settings;
            if row.active && (!before.active || target_changed) {
                // Reset, since the next failure would otherwise disable the hook again.
                state = HookState { failures: 0, failing_since_ms: 0, last_error: String::new(), ..state };
                hooks::put_state(&tx, id, &state);
            }
            let secrets_removed = loses_secrets(&before, &row, input);
            Ok::<_, Error>(SavedHook { found: FoundHook { hook: row, state }, ignored, secrets_removed })
        })
        .await?;
    context.outbox.announce_urgent(id);
    Ok(saved)
}

/// Returns whether the change removed secrets that the caller did not ask to remove.
fn loses_secrets(before: &Hook, after: &Hook, input: &EditHook) -> bool {
    let lost = |name: &str, before: &str, after: &str| {
        !before.is_empty() && after.is_empty() && input.clear.iter().all(|cleared| cleared != name)
    };
    lost("secret", &before.secret, &after.secret)
        || lost("authorization_header", &before.authorization, &after.authorization)
}

/// Returns the changed row, and the event names that are not valid.
fn changed(before: &Hook, input: &EditHook, now: Millis) -> Result<(Hook, Vec<String>), Error> {
    let mut row = before.clone();
    let mut ignored = Vec::new();
    if let Some(filter) = &input.branch_filter {
        check::branch_filter(filter)?;
        row.branch_filter.clone_from(filter);
    }
    if let Some(name) = &input.name {
        row.name = check::name(name)?;
    }
    if let Some(config) = &input.config {
        configure(&mut row, config, now)?;
    }
    if let Some(value) = input.authorization_header.as_ref().filter(|value| !value.is_empty()) {
        check::authorization(value)?;
        row.authorization.clone_from(value);
    }
    if input.events.is_some() || input.events_exact.is_some() {
        let lists = [&input.events, &input.events_exact].map(|list| list.as_deref().unwrap_or_default());
        let selection = check::events(lists[0], lists[1])?;
        row.events = selection.events;
        ignored = selection.ignored;
    }
    if let Some(active) = input.active {
        row.active = active;
        row.disabled_reason.clear();
    }
    for what in &input.clear {
        match what.as_str() {
            "secret" => {
                row.secret.clear();
                row.old_secret.clear();
                row.old_secret_until_ms = 0;
            }
            "authorization_header" => row.authorization.clear(),
            _ => return Err(Error::invalid("clear", "only secret and authorization_header can be cleared")),
        }
    }
    // An edit that changes nothing leaves the revision as it is.
    if row != *before {
        row.updated_ms = now;
    }
    Ok((row, ignored))
}

/// Merges `config` into the hook's current one and checks the result.
fn configure(row: &mut Hook, config: &BTreeMap<String, String>, now: Millis) -> Result<(), Error> {
    let unknown = || Error::Unusable { reason: format!("Invalid hook type: {}", row.r#type) };
    let kind = hook_config::by_name(&row.r#type).ok_or_else(unknown)?;
    let has_new_origin = config.get(hook_config::URL).is_some_and(|url| origin(url) != origin(&row.url));
    let checked = hook_config::check(kind, &merged(kind, row, config, has_new_origin))?;
    let CheckedConfig { url, authorization, form, secret, system, settings } = checked;
    if secret != row.secret {
        // Receivers switch to the new secret before or after this change, so both sign for a while.
        row.old_secret_until_ms = if row.secret.is_empty() { 0 } else { now.saturating_add(ROTATION_MS) };
        row.old_secret = std::mem::replace(&mut row.secret, secret);
    }
    if has_new_origin {
        row.old_secret.clear();
        row.old_secret_until_ms = 0;
        row.authorization.clear();
    }
    row.url = url;
    if let Some(authorization) = authorization {
        row.authorization = authorization;
    }
    row.form = form;
    row.settings = settings.into_iter().collect();
    let requested_scope = system.map(|system| if system { HookScope::System } else { HookScope::Default });
    if let Some(scope) = requested_scope.filter(|_| matches!(row.scope(), HookScope::System | HookScope::Default)) {
        row.set_scope(scope);
    }
    Ok(())
}

/// Returns scheme, host and port of `url`; `None` if it is invalid.
fn origin(url: &str) -> Option<url::Origin> {
    url::Url::parse(url).ok().map(|url| url.origin())
}

/// Returns the hook's configuration with the values of `config`. The secrets of the hook belong to the origin of its
/// URL: another origin does not get them, because a person who may edit a hook may not read its secrets.
fn merged(
    kind: &HookType,
    row: &Hook,
    config: &BTreeMap<String, String>,
    has_new_origin: bool,
) -> BTreeMap<String, String> {
    let mut all: BTreeMap<String, String> = row.settings.clone().into_iter().collect();
    let content_type = if row.form { "form" } else { "json" };
    let own = [
        (hook_config::URL, row.url.as_str()),
        (hook_config::CONTENT_TYPE, content_type),
        (hook_config::SECRET, row.secret.as_str()),
    ];
    all.extend(own.map(|(name, value)| (name.to_owned(), value.to_owned())));
    if has_new_origin {
        all.retain(|name, _| !kind.is_secret(name));
    }
    let given = config.iter().filter(|(name, value)| !(value.is_empty() && kind.is_secret(name)));
    all.extend(given.map(|(name, value)| (name.clone(), value.clone())));
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hook() -> Hook {
        Hook {
            r#type: "gitea".into(),
            scope: HookScope::System.into(),
            url: "http://h/".into(),
            secret: "one".into(),
            authorization: "Bearer x".into(),
            events: vec!["issues".into()],
            branch_filter: "main".into(),
            ..Hook::default()
        }
    }

    fn edited(before: &Hook, json: serde_json::Value) -> Hook {
        let input = serde_json::from_value(json).expect("an edit");
        changed(before, &input, 5).expect("a good edit").0
    }

    #[test]
    fn omitted_fields_are_unchanged() {
        let before = hook();
        let after = edited(&before, serde_json::json!({ "active": true }));
        assert_eq!(after, Hook { active: true, updated_ms: 5, ..before });
    }

    #[test]
    fn empty_fields_are_reset_except_for_secrets() {
        let empty = serde_json::json!({
            "events": [], "branch_filter": "", "authorization_header": "", "config": { "secret": "" },
        });
        let after = edited(&hook(), empty);
        assert_eq!((after.events.as_slice(), after.branch_filter.as_str()), (&["push".to_owned()][..], ""));
        assert_eq!((after.secret.as_str(), after.authorization.as_str()), ("one", "Bearer x"));
        let cleared = edited(&hook(), serde_json::json!({ "clear": ["secret", "authorization_header"] }));
        assert_eq!((cleared.secret.as_str(), cleared.authorization.as_str()), ("", ""));
    }

    #[test]
    fn a_replaced_secret_signs_during_the_grace_period() {
        let after = edited(&hook(), serde_json::json!({ "config": { "secret": "two" } }));
        assert_eq!((after.secret.as_str(), after.old_secret.as_str()), ("two", "one"));
        assert_eq!(after.old_secret_until_ms, 5 + ROTATION_MS);
        let first = edited(&Hook { secret: String::new(), ..hook() }, serde_json::json!({ "config": {"secret": "a"} }));
        assert_eq!((first.old_secret.as_str(), first.old_secret_until_ms), ("", 0));
    }

    #[test]
    fn a_new_origin_does_not_get_the_secrets_of_the_old_one() {
        let before = Hook { old_secret: "zero".into(), old_secret_until_ms: 9, ..hook() };
        let secrets = |hook: Hook| (hook.secret, hook.old_secret, hook.authorization);
        let unchanged = ("one".to_owned(), "zero".to_owned(), "Bearer x".to_owned());
        for url in ["http://h/", "http://h/other", "http://h:80/?a=b", "HTTP://H/x"] {
            let same = edited(&before, serde_json::json!({ "config": { "url": url } }));
            assert_eq!(secrets(same), unchanged, "{url}");
        }
        for url in ["https://h/", "http://h:81/", "http://elsewhere.example/", "http://h.elsewhere.example/"] {
            let moved = edited(&before, serde_json::json!({ "config": { "url": url, "secret": "" } }));
            assert_eq!(secrets(moved), <(String, String, String)>::default(), "{url}");
        }
        let given = serde_json::json!({
            "authorization_header": "Bearer y", "config": { "url": "http://elsewhere.example/", "secret": "two" },
        });
        assert_eq!(secrets(edited(&before, given)), ("two".to_owned(), String::new(), "Bearer y".to_owned()));
    }

    #[test]
    fn admin_hooks_can_change_their_scope() {
        let change = |flag: serde_json::Value| edited(&hook(), serde_json::json!({ "config": flag })).scope();
        assert_eq!(change(serde_json::json!({ "is_system_webhook": false })), HookScope::Default);
        assert_eq!(change(serde_json::json!({ "is_system_webhook": "" })), HookScope::System);
    }
}
