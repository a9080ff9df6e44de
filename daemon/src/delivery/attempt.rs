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
    webhook::{Answer, Failure, Limits, Link, Mask, Outgoing, Sending, Unsendable, request, tls::Trust},
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

/// An attempt that is being made.
struct Attempting<'a> {
    ready: PreparedDelivery,
    hook: &'a Hook,
    started_ms: Millis,
    outgoing: Result<Outgoing, String>,
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
        let sending = Sending { delivery: &self.row, attempt: self.row.attempts + 1, now_ms: started_ms };
        let outgoing = match request::build(hook, &sending, &self.json) {
            Ok(outgoing) => Ok(outgoing),
            Err(Unsendable::Unwanted) => return Ok(SendResult::Cancelled(CancelReason::Unwanted)),
            Err(Unsendable::Invalid(reason)) => Err(reason),
        };
        let began = Instant::now();
        let answered = match &outgoing {
            Ok(outgoing) => context.client.send(link, outgoing, &trust(hook), limits(context, hook)).await,
            Err(reason) => Err(Failure { class: FailureClass::Settings, reason: reason.clone() }),
        };
        let attempting = Attempting { ready: self, hook, started_ms, outgoing };
        Ok(SendResult::Attempt(Box::new(attempting.outcome(context, answered, began.elapsed()))))
    }
}

impl Attempting<'_> {
    fn outcome(self, context: &DeliveryContext, answered: Result<Answer, Failure>, took: Duration) -> Outcome {
        let (row, hook) = (&self.ready.row, self.hook);
        let mask = Mask::of(hook);
        let (ended, reason) = ended(&answered, context.now_ms());
        let next_trigger = row.next_trigger();
        let number = row.attempts + 1;
        let mut attempt = Attempt {
            number,
            trigger: trigger(row).into(),
            started_ms: self.started_ms,
            duration_ms: u32::try_from(took.as_millis()).unwrap_or(u32::MAX),
            status_code: ended.status.into(),
            error_class: ended.class.map(FailureClass::as_str).unwrap_or_default().to_owned(),
            error: mask.text(&reason),
            ..Attempt::default()
        };
        let shown = |name: &str, value: &[u8]| Header {
            name: name.into(),
            value: mask.header(name, &String::from_utf8_lossy(value)),
        };
        match &self.outgoing {
            Ok(outgoing) => {
                attempt.url = mask.text(outgoing.url.as_str());
                // The header is recorded under its first name; the other names have the same value.
                let named = outgoing.headers.iter().map(|header| (header.names[0].as_str(), &header.value));
                attempt.request_headers = named.map(|(name, value)| shown(name, value.as_bytes())).collect();
                attempt.set_request_body(outgoing.kind);
                if outgoing.kind == RequestBody::Bytes {
                    attempt.request_bytes = mask.bytes(outgoing.body.to_vec());
                }
                if outgoing.method != http::Method::POST {
                    attempt.method = outgoing.method.to_string();
                }
            }
            Err(_) => attempt.url = mask.text(&hook.url),
        }
        if let Ok(answer) = answered {
            attempt.response_headers =
                answer.headers.iter().map(|(name, value)| shown(name.as_str(), value.as_bytes())).collect();
            attempt.response_body = mask.bytes(answer.body);
            attempt.response_cut = answer.cut;
        }
        let next = self.next_step(context, &ended, number);
        let payload_bytes = self.ready.json.len() as u64;
        let revision = Revision::of_hook(hook);
        Outcome { delivery: row.id, hook: hook.id, revision, payload_bytes, next_trigger, attempt: Some(attempt), next }
    }

    /// Decides what follows the attempt.
    fn next_step(&self, context: &DeliveryContext, ended: &AttemptResult, number: u32) -> NextStep {
        let chance = f64::from(u32::from_le_bytes(secret::random_bytes())) / f64::from(u32::MAX);
        match retry::next(ended, number, &context.config.webhook.retry_schedule_secs, chance) {
            Next::Done => NextStep::Done,
            Next::Gone => NextStep::Gone,
            Next::GiveUp => NextStep::GiveUp,
            // A test is not retried: its caller waits for the result.
            Next::Again { .. } if self.ready.row.trigger() == DeliveryTrigger::Test => NextStep::GiveUp,
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
    let own = setting(hook, hook_config::TIMEOUT_SECS).parse().ok().map(Duration::from_secs);
    Limits {
        timeout: own.unwrap_or(context.config.webhook.timeout),
        response_bytes: context.config.webhook.response_bytes,
        follow_redirects: setting(hook, hook_config::FOLLOW_REDIRECTS) == "true",
    }
}

/// Returns the result of the attempt, and a sentence for a failed one.
fn ended(answered: &Result<Answer, Failure>, now_ms: Millis) -> (AttemptResult, String) {
    let answer = match answered {
        Ok(answer) => answer,
        Err(failure) => {
            return (AttemptResult { class: Some(failure.class), ..AttemptResult::default() }, failure.reason.clone());
        }
    };
    let status = answer.status;
    let header = |name| answer.headers.get(name).and_then(|value| value.to_str().ok());
    let retry_after_ms = header(http::header::RETRY_AFTER).and_then(|value| retry::retry_after_ms(value, now_ms));
    let (class, reason) = match status {
        200..=299 => (None, String::new()),
        300..=399 => {
            let to = header(http::header::LOCATION).unwrap_or("nowhere");
            (
                Some(FailureClass::Redirect),
                format!("the receiver answered {status} and leads to {to}, which is not followed"),
            )
        }
        _ => (Some(FailureClass::Http), format!("the receiver answered {status}")),
    };
    (AttemptResult { status, class, retry_after_ms }, reason)
}
