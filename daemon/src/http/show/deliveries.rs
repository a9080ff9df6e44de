//! Converts deliveries to API objects. Secrets were masked when the deliveries were recorded.

use std::collections::BTreeMap;

use base64::{Engine as _, engine::general_purpose::STANDARD as BASE64};
use bytes::Bytes;
use farrier_common::api;
use farrier_proto::store::{Attempt, Delivery, DeliveryState, DeliveryTrigger, Header, RequestBody};

use super::{number, time};
use crate::{
    clock::Millis,
    http::AppState,
    model::delivery_failure,
    service::deliveries::{
        groups::{DeliveryGroup, DeliveryGroups, GroupBy},
        history::DeliveryWithAttempts,
        listed::ListedDelivery,
        replay::ReplayedDelivery,
        results::{ResultSeries, StepResults},
    },
    webhook::{
        names_of,
        request::{native_body, uuid_text},
    },
};

/// Maximum number of hooks of a group that are named.
const HOOKS_MAX: usize = 20;

/// Returns the UUID of the delivery, which receivers get as its id.
pub(in crate::http) fn guid(row: &Delivery) -> String {
    uuid_text(&row.uuid)
}

/// Converts a delivery for a list.
pub(in crate::http) fn delivery(state: &AppState, listed: &ListedDelivery) -> api::Delivery {
    let row = &listed.row;
    let max_attempts = state.config.webhook.retry_schedule_secs.len() + 1;
    api::Delivery {
        id: number(row.id),
        guid: guid(row),
        hook_id: number(row.hook_id),
        delivered_at: optional_time(row.delivered_ms),
        redelivery: row.last_trigger() == DeliveryTrigger::Manual,
        duration: seconds(row.duration_ms),
        status: delivery_failure::status(row).to_owned(),
        status_code: row.status_code,
        event: row.event.clone(),
        action: Some(row.action.clone()).filter(|action| !action.is_empty()),
        repository: Some(listed.repository.clone()).filter(|path| !path.is_empty()),
        repository_id: (row.repository_id != 0).then(|| number(row.repository_id)),
        state: state_word(row.state()).to_owned(),
        trigger: trigger_word(row.trigger()).to_owned(),
        attempts: row.attempts,
        max_attempts: u32::try_from(max_attempts).unwrap_or(u32::MAX),
        next_attempt_at: optional_time(listed.due_ms),
        created_at: time(row.created_ms),
        event_id: (row.event_id != 0).then(|| number(row.event_id)),
        ..api::Delivery::default()
    }
}

/// Converts a delivery with its attempts.
pub(in crate::http) fn delivery_detail(state: &AppState, detail: &DeliveryWithAttempts) -> api::DeliveryDetail {
    let last = detail.attempts.last().cloned().unwrap_or_default();
    api::DeliveryDetail {
        delivery: delivery(state, &detail.listed),
        url: last.url.clone(),
        request: request(&last, &detail.json),
        response: response(&last),
        history: detail.attempts.iter().map(attempt).collect(),
    }
}

/// Converts the request of `attempt`. `json` is the event's payload, from which the body is created again.
fn request(attempt: &Attempt, json: &Bytes) -> api::DeliveryRequest {
    let has_payload = !json.is_empty();
    let (text, body) = match attempt.request_body() {
        RequestBody::Unspecified => (json.clone(), None),
        RequestBody::Bytes => {
            let body = Bytes::from(attempt.request_bytes.clone());
            (body.clone(), Some(body))
        }
        kind => {
            let (text, body) = native_body(kind, json);
            (text, has_payload.then_some(body))
        }
    };
    api::DeliveryRequest {
        method: method(attempt),
        headers: headers_with_all_names(&attempt.request_headers),
        payload: serde_json::from_slice(&text).unwrap_or_default(),
        body: body.as_ref().and_then(|body| String::from_utf8(body.to_vec()).ok()),
        body_base64: body.and_then(|body| base64_of(&body)),
    }
}

/// Converts the response of `attempt`.
fn response(attempt: &Attempt) -> api::DeliveryResponse {
    api::DeliveryResponse {
        headers: headers(&attempt.response_headers),
        payload: String::from_utf8_lossy(&attempt.response_body).into_owned(),
        payload_base64: base64_of(&attempt.response_body),
        truncated: attempt.response_cut,
    }
}

fn method(attempt: &Attempt) -> String {
    if attempt.method.is_empty() { "POST".to_owned() } else { attempt.method.clone() }
}

/// Converts the result of a replay. It contains no header of the request, because an operator who may not read the
/// secret of the hook could otherwise have any text signed.
pub(in crate::http) fn replayed_delivery(replayed: &ReplayedDelivery) -> api::ReplayedDelivery {
    let attempt = &replayed.sent.attempt;
    api::ReplayedDelivery {
        guid: replayed.sent.uuid.to_string(),
        replay_of: uuid_text(&replayed.original),
        event: replayed.event.clone(),
        method: method(attempt),
        url: attempt.url.clone(),
        signed: replayed.sent.is_signed,
        edited: replayed.is_edited,
        started_at: time(attempt.started_ms),
        duration: seconds(attempt.duration_ms),
        status_code: attempt.status_code,
        error_class: attempt.error_class.clone(),
        error: attempt.error.clone(),
        response: response(attempt),
    }
}

/// Returns the base64 form of bytes that are not UTF-8, else `None`.
fn base64_of(bytes: &[u8]) -> Option<String> {
    std::str::from_utf8(bytes).is_err().then(|| BASE64.encode(bytes))
}

fn attempt(row: &Attempt) -> api::DeliveryAttempt {
    api::DeliveryAttempt {
        number: row.number,
        trigger: trigger_word(row.trigger()).to_owned(),
        started_at: time(row.started_ms),
        duration: seconds(row.duration_ms),
        status_code: row.status_code,
        error_class: row.error_class.clone(),
        error: row.error.clone(),
        url: row.url.clone(),
    }
}

fn headers(all: &[Header]) -> BTreeMap<String, String> {
    all.iter().map(|header| (header.name.clone(), header.value.clone())).collect()
}

/// Returns the request headers under all of their names.
fn headers_with_all_names(all: &[Header]) -> BTreeMap<String, String> {
    let mut by_name = headers(all);
    for header in all {
        for name in names_of(&header.name).unwrap_or_default() {
            by_name.insert(name.to_string(), header.value.clone());
        }
    }
    by_name
}

/// Converts groups of deliveries.
pub(in crate::http) fn delivery_groups(by: GroupBy, all: &DeliveryGroups) -> api::DeliveryGroups {
    let by = match by {
        GroupBy::Hook => "hook",
        GroupBy::Reason => "reason",
        GroupBy::Host => "host",
    };
    api::DeliveryGroups {
        by: by.to_owned(),
        groups: all.groups.iter().map(delivery_group).collect(),
        total_count: number(all.total as u64),
        examined: number(all.examined),
        truncated: all.truncated,
    }
}

fn delivery_group(group: &DeliveryGroup) -> api::DeliveryGroup {
    api::DeliveryGroup {
        key: group.key.clone(),
        host: group.host.clone(),
        count: number(group.count),
        failed: number(group.failed),
        pending: number(group.pending),
        first_at: time(group.first_ms),
        last_at: time(group.last_ms),
        example: guid(&group.example),
        hooks: group.hooks.iter().take(HOOKS_MAX).map(|id| number(*id)).collect(),
        hook_count: number(group.hooks.len() as u64),
    }
}

/// Converts results over time.
pub(in crate::http) fn delivery_results(all: &ResultSeries) -> api::DeliveryResults {
    let each = |value: fn(&StepResults) -> u64| all.steps.iter().map(|step| number(value(step))).collect();
    api::DeliveryResults {
        step_secs: all.step_ms / 1_000,
        start_at: time(all.start_ms),
        attempted: each(|step| step.count),
        failed: each(|step| step.failed),
        p50_millis: each(|step| step.p50_ms.into()),
        p95_millis: each(|step| step.p95_ms.into()),
        max_millis: each(|step| step.max_ms.into()),
        examined: number(all.examined),
        truncated: all.truncated,
    }
}

fn optional_time(ms: Millis) -> Option<String> {
    (ms != 0).then(|| time(ms))
}

fn seconds(ms: u32) -> f64 {
    f64::from(ms) / 1_000.0
}

fn state_word(state: DeliveryState) -> &'static str {
    match state {
        DeliveryState::Unspecified | DeliveryState::Pending => "pending",
        DeliveryState::Success => "success",
        DeliveryState::Failed => "failed",
        DeliveryState::Cancelled => "cancelled",
    }
}

fn trigger_word(trigger: DeliveryTrigger) -> &'static str {
    match trigger {
        DeliveryTrigger::Unspecified | DeliveryTrigger::Event => "event",
        DeliveryTrigger::Retry => "retry",
        DeliveryTrigger::Manual => "manual",
        DeliveryTrigger::Test => "test",
    }
}
