//! Deliveries of webhooks, in GitHub's words where it has one.

use std::collections::BTreeMap;

use base64::{Engine as _, engine::general_purpose::STANDARD as BASE64};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

/// One event for one hook.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(default)]
pub struct Delivery {
    /// Number of the delivery.
    pub id: i64,
    /// The identifier that receivers see; the same for every attempt.
    pub guid: String,
    /// Number of the hook.
    pub hook_id: i64,
    /// The last attempt; absent before the first.
    #[schema(format = DateTime)]
    pub delivered_at: Option<String>,
    /// Whether the last attempt was asked for by somebody.
    pub redelivery: bool,
    /// Length of the last attempt, seconds.
    pub duration: f64,
    /// `OK`, or what went wrong, in a word.
    pub status: String,
    /// Status of the last answer; 0: there was none.
    pub status_code: u32,
    /// Name of the event.
    pub event: String,
    /// What happened to the thing, where the event has several.
    pub action: Option<String>,
    /// Always absent.
    pub installation_id: Option<i64>,
    /// The repository that it is about.
    pub repository_id: Option<i64>,
    /// The path of that repository when it happened; absent when the event is forgotten.
    pub repository: Option<String>,
    /// Always absent.
    pub throttled_at: Option<String>,
    /// `pending`, `success`, `failed`, `cancelled`.
    #[schema(pattern = "^(pending|success|failed|cancelled)$")]
    pub state: String,
    /// How it came to be: `event` or `test`.
    pub trigger: String,
    /// Attempts so far.
    pub attempts: u32,
    /// Attempts after which it is given up, unless somebody asks for it again.
    pub max_attempts: u32,
    /// Not before then is the next attempt made; absent: none is, or it waits in line.
    #[schema(format = DateTime)]
    pub next_attempt_at: Option<String>,
    /// When it was made.
    #[schema(format = DateTime)]
    pub created_at: String,
}

/// A delivery with what was sent and answered.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(default)]
pub struct DeliveryDetail {
    /// What lists show.
    #[serde(flatten)]
    pub delivery: Delivery,
    /// Where the last attempt went.
    pub url: String,
    /// The last request.
    pub request: DeliveryRequest,
    /// The last answer.
    pub response: DeliveryResponse,
    /// Every attempt that is remembered, the first one first.
    pub history: Vec<DeliveryAttempt>,
}

/// What was sent.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(default)]
pub struct DeliveryRequest {
    /// The method.
    pub method: String,
    /// Headers; secrets are masked.
    pub headers: BTreeMap<String, String>,
    /// The JSON that was sent; of a form, that in its field `payload`. Before the first attempt: the event as most native
    /// hooks get it. Null when it is forgotten or too large to be shown.
    #[schema(value_type = Option<Object>)]
    pub payload: Value,
    /// The body, byte for byte as it was sent; secrets in messages for chats are masked. Absent before the first attempt,
    /// when it is forgotten or too large, and when it is no UTF-8.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub body: Option<String>,
    /// The same body in Base64, when it is no UTF-8.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub body_base64: Option<String>,
}

impl DeliveryRequest {
    /// The body, byte for byte as it was sent; `None` when it is not known.
    pub fn body_bytes(&self) -> Option<Vec<u8>> {
        bytes(self.body.as_deref(), self.body_base64.as_deref())
    }
}

impl DeliveryResponse {
    /// The body, or its beginning, byte for byte as it came but for masked secrets.
    pub fn body_bytes(&self) -> Vec<u8> {
        bytes(Some(&self.payload), self.payload_base64.as_deref()).unwrap_or_default()
    }
}

fn bytes(text: Option<&str>, base64: Option<&str>) -> Option<Vec<u8>> {
    let decoded = base64.and_then(|text| BASE64.decode(text).ok());
    decoded.or_else(|| text.map(|text| text.as_bytes().to_vec()))
}

/// What was answered.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(default)]
pub struct DeliveryResponse {
    /// Headers; secrets are masked.
    pub headers: BTreeMap<String, String>,
    /// The body, or its beginning, as text: bytes that are no UTF-8 are replaced.
    pub payload: String,
    /// The same bytes in Base64, when they are no UTF-8.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub payload_base64: Option<String>,
    /// Whether the body was longer.
    pub truncated: bool,
}

/// One attempt.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(default)]
pub struct DeliveryAttempt {
    /// From 1.
    pub number: u32,
    /// `event`, `retry`, `manual`, `test`.
    pub trigger: String,
    /// When it began.
    #[schema(format = DateTime)]
    pub started_at: String,
    /// How long it took, seconds.
    pub duration: f64,
    /// Status of the answer; 0: there was none.
    pub status_code: u32,
    /// `dns`, `connect`, `tls`, `timeout`, `blocked`, `redirect`, `http`, `settings`; empty: it arrived.
    pub error_class: String,
    /// What went wrong, in a sentence.
    pub error: String,
    /// Where it went.
    pub url: String,
}

/// Since when failed deliveries are to be sent again.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(default)]
pub struct RecoverDeliveries {
    /// RFC 3339; absent: all that are remembered.
    pub since: Option<String>,
    /// Only counts the deliveries; nothing is sent.
    pub dry_run: bool,
}

/// What a recovery has put into line.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(default)]
pub struct RecoveredDeliveries {
    /// How many.
    pub count: i64,
}
