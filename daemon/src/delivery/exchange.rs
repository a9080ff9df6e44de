//! One request to the receiver of a hook: its limits, its response, and how both are recorded. Attempts and replays use
//! it.

use std::time::Duration;

use farrier_proto::store::{Attempt, Header, Hook, RequestBody};
use tokio::time::Instant;

use super::{
    DeliveryContext,
    retry::{self, AttemptResult},
};
use crate::{
    clock::Millis,
    model::{delivery_failure::FailureClass, hook_config},
    webhook::{Failure, Limits, Link, Mask, ReceiverResponse, WebhookRequest, tls::Trust},
};

/// A request and its response.
pub(super) struct Exchange<'a> {
    hook: &'a Hook,
    /// The request that was sent, or why none could be built.
    request: Result<WebhookRequest, String>,
    response: Result<ReceiverResponse, Failure>,
    started_ms: Millis,
    duration: Duration,
}

impl<'a> Exchange<'a> {
    /// Sends `request` with the limits and the trusted certificates of `hook`. `request`: an error says why none could
    /// be built; then nothing is sent.
    pub(super) async fn run(
        context: &DeliveryContext,
        link: &mut Option<Link>,
        hook: &'a Hook,
        request: Result<WebhookRequest, String>,
        started_ms: Millis,
    ) -> Self {
        let start = Instant::now();
        let response = match &request {
            Ok(request) => context.client.send(link, request, &trust(hook), limits(context, hook)).await,
            Err(reason) => Err(Failure { class: FailureClass::Settings, reason: reason.clone() }),
        };
        Self { hook, request, response, started_ms, duration: start.elapsed() }
    }

    /// Returns the result, and the attempt without its number and trigger. The secrets of the hook are masked.
    pub(super) fn finish(self, now_ms: Millis) -> (AttemptResult, Attempt) {
        let mask = Mask::of(self.hook);
        let (result, reason) = result_of(&self.response, now_ms);
        let mut attempt = Attempt {
            started_ms: self.started_ms,
            duration_ms: u32::try_from(self.duration.as_millis()).unwrap_or(u32::MAX),
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
            Err(_) => attempt.url = mask.text(&self.hook.url),
        }
        if let Ok(response) = self.response {
            attempt.response_headers =
                response.headers.iter().map(|(name, value)| masked(name.as_str(), value.as_bytes())).collect();
            attempt.response_body = mask.bytes(response.body);
            attempt.response_cut = response.cut;
        }
        (result, attempt)
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
