//! Webhooks as the REST API shows them. Secrets stay inside.

use std::net::IpAddr;

use farrier_common::api;
use farrier_proto::store::{Hook, HookScope};
use url::Host;

use super::{number, time};
use crate::{
    app::App,
    model::{
        address_policy::AddressPolicy,
        hook_config::{self, COMMON_KEYS, ConfigKey},
        hook_event::{self, HookEvent},
    },
    service::hooks::Found,
};

/// A hook as those see it who manage it.
pub(crate) fn hook(app: &App, found: &Found) -> api::Hook {
    let (row, state) = (&found.hook, &found.state);
    let content_type = if row.form { "form" } else { "json" };
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
        scope: scope(row.scope()).into(),
        has_secret: !row.secret.is_empty(),
        has_authorization_header: !row.authorization.is_empty(),
        copied_from: (row.copied_from != 0).then(|| number(row.copied_from)),
        last_status: state.last_status.into(),
        last_delivery_at: (state.last_delivery_ms != 0).then(|| time(state.last_delivery_ms)),
        failures: number(state.failures),
        disabled_reason: row.disabled_reason.clone(),
        warning: warning(&app.config.webhook.allowed_hosts, &row.url),
        ..api::Hook::default()
    }
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

/// The word of a kind of place.
fn scope(scope: HookScope) -> &'static str {
    match scope {
        HookScope::Unspecified | HookScope::System => "system",
        HookScope::Default => "default",
        HookScope::Repository => "repository",
        HookScope::Org => "organization",
        HookScope::User => "user",
    }
}

/// What the configuration says against a target that names an address. What a name leads to is
/// only known when it is called.
fn warning(allowed_hosts: &str, url: &str) -> Option<String> {
    let url = url::Url::parse(url).ok()?;
    let host = url.host_str()?;
    let address: IpAddr = match url.host()? {
        Host::Ipv4(address) => address.into(),
        Host::Ipv6(address) => address.into(),
        Host::Domain(name) if name.trim_end_matches('.') == "localhost" => [127, 0, 0, 1].into(),
        Host::Domain(_) => return None,
    };
    let policy = AddressPolicy::parse(allowed_hosts).ok()?;
    (!policy.allows(host, address)).then(|| {
        format!(
            "deliveries to {host} will be blocked: webhook.allowed_hosts is \"{allowed_hosts}\"; \
             the line allowed_hosts = \"{allowed_hosts},{address}\" in [webhook] allows them"
        )
    })
}

/// An event that hooks can ask for.
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

/// A type of hook.
pub(crate) fn hook_type(kind: &hook_config::HookType) -> api::HookType {
    let shown = |key: &ConfigKey| api::HookConfigKey {
        name: key.name.into(),
        required: key.needed,
        secret: key.secret,
        description: key.about.into(),
    };
    api::HookType {
        name: kind.name.into(),
        native: kind.native,
        config: COMMON_KEYS.iter().chain(kind.keys).map(shown).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn check_47_targets_that_are_not_allowed_are_named_beforehand() {
        for blocked in [
            "http://127.0.0.1/",
            "http://[::1]:9/",
            "http://10.0.0.1/",
            "http://169.254.169.254/",
            "http://[::ffff:127.0.0.1]/",
            "http://0.0.0.0/",
            "http://localhost/",
        ] {
            let text = warning("external", blocked).expect(blocked);
            assert!(text.contains("webhook.allowed_hosts"), "{text}");
        }
        for fine in ["http://8.8.8.8/", "http://ci.example.net/"] {
            assert_eq!(warning("external", fine), None, "{fine}");
        }
        assert_eq!(warning("external,loopback", "http://127.0.0.1:1/"), None);
    }
}
