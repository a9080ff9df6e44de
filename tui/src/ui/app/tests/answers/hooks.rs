//! Responses with hooks, events and deliveries.

use farrier_common::api::{Delivery, DeliveryAttempt, DeliveryDetail, Hook, HookEvent, RecoveredDeliveries};

use super::super::prelude::*;
use crate::ui::{delivery::DeliverySummary, hook::HookCompactor, net::Page};

/// Returns a complete response with hooks.
pub(in super::super) fn listed_hooks(hooks: Vec<Hook>) -> Answer {
    let items = HookCompactor::default().compact_all(hooks);
    Answer::Hooks(Page { items, total: None, last: true })
}

/// Returns the count of failed deliveries, and of those that wait for a retry.
pub(in super::super) fn recoverable(count: i64, retried: i64) -> Answer {
    Answer::Recoverable(RecoveredDeliveries { count, retried })
}

pub(in super::super) fn hooks() -> Answer {
    listed_hooks(api_hooks())
}

/// Returns the same hooks as objects of the API.
pub(in super::super) fn api_hooks() -> Vec<Hook> {
    let hook = |id: i64, scope: &str, url: &str, failures: i64| Hook {
        id,
        r#type: "farrier".into(),
        scope: scope.into(),
        url: url.into(),
        content_type: "json".into(),
        active: id != 15,
        events_exact: vec!["push".into(), "create".into()],
        has_secret: id == 12,
        last_delivery_at: (scope == "system").then(|| "2026-11-21T11:59:00Z".to_owned()),
        last_status: if failures > 0 { 0 } else { 200 },
        failures,
        created_at: "2026-11-02T10:00:00Z".into(),
        updated_at: "2026-11-18T10:00:00Z".into(),
        ..Hook::default()
    };
    vec![
        hook(3, "system", "https://audit.lan/in", 0),
        hook(12, "system", "https://ci.example.net/hook", 22),
        hook(15, "system", "http://10.0.3.9:8080/", 0),
        hook(21, "default", "https://lint.lan/r", 0),
    ]
}

pub(in super::super) fn hook_events() -> Answer {
    let event = |name: &str, description: &str| HookEvent {
        name: name.into(),
        exact: name.into(),
        sent: true,
        description: description.into(),
        headers: Vec::new(),
    };
    Answer::HookEvents(vec![
        event("push", "a branch or tag was pushed"),
        event("create", "a branch or tag was made"),
        event("delete", "a branch or tag was removed"),
        event("repository", "a repository was made or changed"),
    ])
}

pub(in super::super) fn delivery(id: i64, state: &str, code: u32) -> Delivery {
    Delivery {
        id,
        guid: format!("9f1c2a7e-44b0-4a51-8a53-0d7a1b6f0c{id}"),
        hook_id: if id % 2 == 0 { 12 } else { 3 },
        delivered_at: Some(format!("2026-11-21T11:58:{id}Z")),
        duration: 0.038,
        status: if code == 0 { "connect" } else { "OK" }.into(),
        status_code: code,
        event: "push".into(),
        state: state.into(),
        attempts: 4,
        next_attempt_at: (state == "pending").then(|| "2026-11-21T12:04:07Z".to_owned()),
        created_at: "2026-11-21T11:58:00Z".into(),
        repository: Some("infra/gateway".to_owned()),
        max_attempts: 9,
        ..Delivery::default()
    }
}

/// Returns a complete response with deliveries.
pub(in super::super) fn listed_deliveries(deliveries: &[Delivery], total: Option<i64>) -> Answer {
    let items = deliveries.iter().map(DeliverySummary::of).collect();
    Answer::Deliveries(Page { items, total, last: true })
}

/// Returns the newest deliveries of a hook, as its pane requests them.
pub(in super::super) fn last_deliveries(deliveries: &[Delivery]) -> Answer {
    Answer::LastDeliveries(deliveries.iter().map(DeliverySummary::of).collect())
}

pub(in super::super) fn deliveries() -> Answer {
    let items = [delivery(14, "pending", 0), delivery(13, "success", 200), delivery(12, "failed", 500)];
    listed_deliveries(&items, Some(3))
}

pub(in super::super) fn detail(of: Delivery) -> Answer {
    let attempt = |number: u32| DeliveryAttempt {
        number,
        trigger: "retry".into(),
        started_at: "2026-11-21T11:58:37Z".into(),
        duration: 0.002,
        error_class: "connect".into(),
        error: "connection refused".into(),
        ..DeliveryAttempt::default()
    };
    let mut detail = DeliveryDetail {
        delivery: of,
        url: "https://ci.example.net/hook".into(),
        history: vec![attempt(1), attempt(2)],
        ..DeliveryDetail::default()
    };
    detail.request.headers.insert("x-farrier-event".into(), "push".into());
    detail.request.payload = serde_json::json!({"ref": "refs/heads/main"});
    Answer::Delivery(Box::new(detail))
}
