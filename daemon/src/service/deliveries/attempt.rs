//! One attempt of a delivery: from rows to a request, from an answer to a row.

use std::time::Duration;

use bytes::Bytes;
use farrier_proto::store::{Attempt, Delivery, DeliveryTrigger, Header, Hook};
use tokio::time::Instant;

use super::complete;
use crate::{
    app::App,
    clock::Millis,
    model::{
        hook_config,
        retry::{self, Ended, Next},
        secret,
    },
    service::Error,
    store::deliveries::{self, Outcome, Then, UNWANTED},
    webhook::{Answer, Failure, Limits, Link, Mask, Outgoing, Sending, Unsendable, request, tls::Trust},
};

/// What can be done about a delivery.
pub enum Prepared {
    /// It can be sent.
    Ready(Box<Ready>),
    /// It is not to be sent, for this reason.
    Closed(&'static str),
}

/// An attempt that can be made.
pub struct Ready {
    row: Delivery,
    started_ms: Millis,
    said_bytes: u64,
    outgoing: Result<Outgoing, String>,
}

/// Reads what a delivery says, completes it where git must add to it, and makes the request.
pub async fn prepare(app: &App, hook: &Hook, row: Delivery) -> Result<Prepared, Error> {
    let snapshot = app.store.read().await?;
    let Some(said) = deliveries::payload(&snapshot, row.event_id).await? else {
        return Ok(Prepared::Closed("what it said is forgotten"));
    };
    drop(snapshot);
    let json: Bytes = if said.incomplete { complete::complete(app, &row, said).await? } else { said.json };
    let started_ms = app.now_ms();
    let sending = Sending { delivery: &row, attempt: row.attempts + 1, now_ms: started_ms };
    let outgoing = match request::build(hook, &sending, &json) {
        Ok(outgoing) => Ok(outgoing),
        Err(Unsendable::Unwanted) => return Ok(Prepared::Closed(UNWANTED)),
        Err(Unsendable::Invalid(reason)) => Err(reason),
    };
    Ok(Prepared::Ready(Box::new(Ready { row, started_ms, said_bytes: json.len() as u64, outgoing })))
}

impl Ready {
    /// Sends it and decides what comes next.
    pub async fn send(self, app: &App, hook: &Hook, link: &mut Option<Link>) -> Outcome {
        let began = Instant::now();
        let answered = match &self.outgoing {
            Ok(outgoing) => app.client.send(link, outgoing, &trust(hook), limits(app, hook)).await,
            Err(reason) => Err(Failure { class: "settings", reason: reason.clone() }),
        };
        self.outcome(app, hook, answered, began.elapsed())
    }

    fn outcome(self, app: &App, hook: &Hook, answered: Result<Answer, Failure>, took: Duration) -> Outcome {
        let mask = Mask::of(hook);
        let (ended, reason) = ended(&answered, app.now_ms());
        let asked = self.row.next_trigger();
        let number = self.row.attempts + 1;
        let mut attempt = Attempt {
            number,
            trigger: trigger(&self.row).into(),
            started_ms: self.started_ms,
            duration_ms: u32::try_from(took.as_millis()).unwrap_or(u32::MAX),
            status_code: ended.status.into(),
            error_class: ended.class.to_owned(),
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
                // Under the first of its names: the others say the same.
                let named = outgoing.headers.iter().map(|header| (header.names[0].as_str(), &header.value));
                attempt.request_headers = named.map(|(name, value)| shown(name, value.as_bytes())).collect();
            }
            Err(_) => attempt.url = mask.text(&hook.url),
        }
        if let Ok(answer) = answered {
            attempt.response_headers =
                answer.headers.iter().map(|(name, value)| shown(name.as_str(), value.as_bytes())).collect();
            attempt.response_body = mask.bytes(answer.body);
            attempt.response_cut = answer.cut;
        }
        let then = self.then(app, &ended, number);
        let (delivery, said_bytes) = (self.row.id, self.said_bytes);
        Outcome { delivery, hook: hook.id, said_bytes, asked, attempt: Some(attempt), then }
    }

    fn then(&self, app: &App, ended: &Ended, number: u32) -> Then {
        let chance = f64::from(u32::from_le_bytes(secret::random_bytes())) / f64::from(u32::MAX);
        match retry::next(ended, number, &app.config.webhook.retry_schedule_secs, chance) {
            Next::Done => Then::Done,
            Next::Gone => Then::Gone,
            Next::GiveUp => Then::GiveUp,
            // Who tests wants to know, not to be told tomorrow.
            Next::Again { .. } if self.row.trigger() == DeliveryTrigger::Test => Then::GiveUp,
            Next::Again { after_ms } => Then::Again { at_ms: app.now_ms().saturating_add(after_ms) },
        }
    }
}

/// How this attempt came to be.
fn trigger(row: &Delivery) -> DeliveryTrigger {
    match row.next_trigger() {
        DeliveryTrigger::Unspecified if row.attempts > 0 => DeliveryTrigger::Retry,
        DeliveryTrigger::Unspecified => row.trigger(),
        asked => asked,
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

fn limits(app: &App, hook: &Hook) -> Limits {
    let own = setting(hook, hook_config::TIMEOUT_SECS).parse().ok().map(Duration::from_secs);
    Limits {
        timeout: own.unwrap_or(app.config.webhook.timeout),
        response_bytes: app.config.webhook.response_bytes,
        follow_redirects: setting(hook, hook_config::FOLLOW_REDIRECTS) == "true",
    }
}

/// How the attempt ended, and a sentence when it failed.
fn ended(answered: &Result<Answer, Failure>, now_ms: Millis) -> (Ended, String) {
    let answer = match answered {
        Ok(answer) => answer,
        Err(failure) => return (Ended { class: failure.class, ..Ended::default() }, failure.reason.clone()),
    };
    let status = answer.status;
    let header = |name| answer.headers.get(name).and_then(|value| value.to_str().ok());
    let retry_after_ms = header(http::header::RETRY_AFTER).and_then(|value| retry::retry_after_ms(value, now_ms));
    let (class, reason) = match status {
        200..=299 => ("", String::new()),
        300..=399 => {
            let to = header(http::header::LOCATION).unwrap_or("nowhere");
            ("redirect", format!("the receiver answered {status} and leads to {to}, which is not followed"))
        }
        _ => ("http", format!("the receiver answered {status}")),
    };
    (Ended { status, class, retry_after_ms }, reason)
}
