//! One attempt of a delivery: builds the request from the rows, sends it, and turns the response into a result.

use std::time::Duration;

use bytes::Bytes;
use farrier_proto::store::{Attempt, Delivery, DeliveryTrigger, Header, Hook, RequestBody};
use tokio::time::Instant;

use super::{
    DeliveryContext, DeliveryError, completion,
    retry::{self, AttemptResult, Next},
};
use crate::{
    clock::Millis,
    model::{
        delivery_failure::{CancelReason, FailureClass},
        hook_config,
        revision::Revision,
        secret,
    },
    store::{
        deliveries::{self, NextStep, Outcome},
        hooks,
    },
    webhook::{
        AttemptContext, BuildError, Failure, Limits, Link, Mask, ReceiverResponse, WebhookRequest, request, tls::Trust,
    },
};

/// A delivery after its payload was read.
pub enum Prepared {
    /// It can be sent.
    Ready(Box<PreparedDelivery>),
    /// It is cancelled, for this reason.
    Cancelled(CancelReason),
}

/// A delivery whose payload is complete.
pub struct PreparedDelivery {
    row: Delivery,
    json: Bytes,
}

/// The result of sending.
pub enum SendResult {
    /// An attempt was made.
    Attempt(Box<Outcome>),
    /// No attempt was made; the delivery is cancelled for this reason.
    Cancelled(CancelReason),
}

/// Reads the payload of a delivery, and adds the commits of a push if they are missing.
pub async fn prepare(context: &DeliveryContext, row: Delivery) -> Result<Prepared, DeliveryError> {
    let snapshot = context.store.read().await?;
    let Some(payload) = deliveries::payload(&snapshot, row.event_id).await? else {
        return Ok(Prepared::Cancelled(CancelReason::PayloadForgotten));
    };
    drop(snapshot);
    let json: Bytes =
        if payload.incomplete { completion::complete(context, &row, payload).await? } else { payload.json };
    Ok(Prepared::Ready(Box::new(PreparedDelivery { row, json })))
}

/// Returns why `row` must not be sent to `hook`; `None`: it is sent. An inactive hook gets only deliveries that an
/// operator requested.
pub fn refusal(context: &DeliveryContext, hook: Option<&Hook>, row: &Delivery) -> Option<CancelReason> {
    match hook {
        None => Some(CancelReason::HookGone),
        Some(_) if !context.config.webhook.enabled => Some(CancelReason::HookGone),
        Some(hook) if !hook.active && row.next_trigger() == DeliveryTrigger::Unspecified => {
            Some(CancelReason::HookInactive)
        }
        Some(_) => None,
    }
}

/// An attempt with a result that is not recorded yet.
struct SentAttempt<'a> {
    prepared: PreparedDelivery,
    hook: &'a Hook,
    started_ms: Millis,
    /// The request that was sent, or why none could be built.
    request: Result<WebhookRequest, String>,
}

impl PreparedDelivery {
    /// Reads the hook, sends the delivery and decides what follows. The hook is read again for every attempt, so that
    /// nothing is sent to the old URL of a hook that was just edited, deleted or switched off.
    pub async fn send(self, context: &DeliveryContext, link: &mut Option<Link>) -> Result<SendResult, DeliveryError> {
        let hook = hooks::get(&context.store.read().await?, self.row.hook_id).await?;
        if let Some(reason) = refusal(context, hook.as_ref(), &self.row) {
            return Ok(SendResult::Cancelled(reason));
        }
        let Some(hook) = &hook else { return Ok(SendResult::Cancelled(CancelReason::HookGone)) };
        let started_ms = context.now_ms();
        let attempt = AttemptContext { delivery: &self.row, number: self.row.attempts + 1, now_ms: started_ms };
        let request = match request::build(hook, &attempt, &self.json) {
            Ok(request) => Ok(request),
            Err(BuildError::EventNotSupported) => return Ok(SendResult::Cancelled(CancelReason::EventNotSupported)),
            Err(BuildError::Invalid(reason)) => Err(reason),
        };
        let start = Instant::now();
        let response = match &request {
            Ok(request) => context.client.send(link, request, &trust(hook), limits(context, hook)).await,
            Err(reason) => Err(Failure { class: FailureClass::Settings, reason: reason.clone() }),
        };
        let sent = SentAttempt { prepared: self, hook, started_ms, request };
        Ok(SendResult::Attempt(Box::new(sent.outcome(context, response, start.elapsed()))))
    }
}

impl SentAttempt<'_> {
    fn outcome(
        self,
        context: &DeliveryContext,
        response: Result<ReceiverResponse, Failure>,
        duration: Duration,
    ) -> Outcome {
        let (row, hook) = (&self.prepared.row, self.hook);
        let mask = Mask::of(hook);
        let (result, reason) = result_of(&response, context.now_ms());
        let next_trigger = row.next_trigger();
        let number = row.attempts + 1;
        let mut attempt = Attempt {
            number,
            trigger: trigger(row).into(),
            started_ms: self.started_ms,
            duration_ms: u32::try_from(duration.as_millis()).unwrap_or(u32::MAX),
            status_code: result.status.into(),
            error_class: result.class.map(FailureClass::as_str).unwrap_or_default().to_owned(),
            error: mask.text(&reason),
            ..Attempt::default()
        };
        let masked = |name: &str, value: &[u8]| Header {
            name: name.into(),
            value: mask.header(name, &String::from_utf8_lossy(value)),
        };
        match &self.request {
            Ok(request) => {
                attempt.url = mask.text(request.url.as_str());
                // The header is recorded under its first name; the other names have the same value.
                let named = request.headers.iter().map(|header| (header.names[0].as_str(), &header.value));
                attempt.request_headers = named.map(|(name, value)| masked(name, value.as_bytes())).collect();
                attempt.set_request_body(request.kind);
                if request.kind == RequestBody::Bytes {
                    attempt.request_bytes = mask.bytes(request.body.to_vec());
                }
                if request.method != http::Method::POST {
                    attempt.method = request.method.to_string();
                }
            }
            Err(_) => attempt.url = mask.text(&hook.url),
        }
        if let Ok(response) = response {
            attempt.response_headers =
                response.headers.iter().map(|(name, value)| masked(name.as_str(), value.as_bytes())).collect();
            attempt.response_body = mask.bytes(response.body);
            attempt.response_cut = response.cut;
        }
        let next = self.next_step(context, &result, number);
        let payload_bytes = self.prepared.json.len() as u64;
        let revision = Revision::of_hook(hook);
        Outcome { delivery: row.id, hook: hook.id, revision, payload_bytes, next_trigger, attempt: Some(attempt), next }
    }

    /// Decides what follows the attempt.
    fn next_step(&self, context: &DeliveryContext, result: &AttemptResult, number: u32) -> NextStep {
        let chance = f64::from(u32::from_le_bytes(secret::random_bytes())) / f64::from(u32::MAX);
        match retry::next(result, number, &context.config.webhook.retry_schedule_secs, chance) {
            Next::Done => NextStep::Done,
            Next::Gone => NextStep::Gone,
            Next::GiveUp => NextStep::GiveUp,
            // A test is not retried: its caller waits for the result.
            Next::Again { .. } if self.prepared.row.trigger() == DeliveryTrigger::Test => NextStep::GiveUp,
            Next::Again { after_ms } => NextStep::Again { at_ms: context.now_ms().saturating_add(after_ms) },
        }
    }
}

/// Returns the trigger of this attempt.
fn trigger(row: &Delivery) -> DeliveryTrigger {
    match row.next_trigger() {
        DeliveryTrigger::Unspecified if row.attempts > 0 => DeliveryTrigger::Retry,
        DeliveryTrigger::Unspecified => row.trigger(),
        requested => requested,
    }
}

fn setting<'a>(hook: &'a Hook, key: &str) -> &'a str {
    hook.settings.get(key).map(String::as_str).unwrap_or_default()
}

fn trust(hook: &Hook) -> Trust {
    Trust {
        ca_pem: setting(hook, hook_config::CA_PEM).to_owned(),
        fingerprint: setting(hook, hook_config::CERTIFICATE).to_owned(),
    }
}

fn limits(context: &DeliveryContext, hook: &Hook) -> Limits {
    let hook_timeout = setting(hook, hook_config::TIMEOUT_SECS).parse().ok().map(Duration::from_secs);
    Limits {
        timeout: hook_timeout.unwrap_or(context.config.webhook.timeout),
        response_bytes: context.config.webhook.response_bytes,
        follow_redirects: setting(hook, hook_config::FOLLOW_REDIRECTS) == "true",
    }
}

/// Returns the result of the attempt, and a sentence for a failed one.
fn result_of(response: &Result<ReceiverResponse, Failure>, now_ms: Millis) -> (AttemptResult, String) {
    let response = match response {
        Ok(response) => response,
        Err(failure) => {
            return (AttemptResult { class: Some(failure.class), ..AttemptResult::default() }, failure.reason.clone());
        }
    };
    let status = response.status;
    let header = |name| response.headers.get(name).and_then(|value| value.to_str().ok());
    let retry_after_ms = header(http::header::RETRY_AFTER).and_then(|value| retry::retry_after_ms(value, now_ms));
    let (class, reason) = match status {
        200..=299 => (None, String::new()),
        300..=399 => {
            let target = header(http::header::LOCATION).unwrap_or("an unknown address");
            (
                Some(FailureClass::Redirect),
                format!("the receiver answered {status}, a redirect to {target}, which is not followed"),
            )
        }
        _ => (Some(FailureClass::Http), format!("the receiver answered {status}")),
    };
    (AttemptResult { status, class, retry_after_ms }, reason)
}
