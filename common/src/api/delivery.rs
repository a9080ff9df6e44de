//! Webhook deliveries. Field names follow GitHub's API where it has them.

use std::collections::BTreeMap;

use base64::{Engine as _, engine::general_purpose::STANDARD as BASE64};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The delivery of one event to one hook.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(default)]
pub struct Delivery {
    /// Id of the delivery.
    pub id: i64,
    /// UUID that receivers get; the same for every attempt.
    pub guid: String,
    /// Id of the hook.
    pub hook_id: i64,
    /// Time of the last attempt; absent before the first.
    #[cfg_attr(feature = "openapi", schema(format = DateTime))]
    pub delivered_at: Option<String>,
    /// Whether a user requested the last attempt.
    pub redelivery: bool,
    /// Duration of the last attempt, seconds.
    pub duration: f64,
    /// `OK`, or a word for the error.
    pub status: String,
    /// HTTP status of the last response; 0 if there was none.
    pub status_code: u32,
    /// Name of the event.
    pub event: String,
    /// Action of the event, if the event has actions.
    pub action: Option<String>,
    /// Always absent.
    pub installation_id: Option<i64>,
    /// Id of the event's repository.
    pub repository_id: Option<i64>,
    /// Path of the repository at the time of the event; absent if the event has expired.
    pub repository: Option<String>,
    /// Always absent.
    pub throttled_at: Option<String>,
    /// `pending`, `success`, `failed`, `cancelled`.
    #[cfg_attr(feature = "openapi", schema(pattern = "^(pending|success|failed|cancelled)$"))]
    pub state: String,
    /// `event` or `test`.
    pub trigger: String,
    /// Number of attempts so far.
    pub attempts: u32,
    /// Number of automatic attempts before the delivery fails.
    pub max_attempts: u32,
    /// Earliest time of the next attempt; absent if none is planned or the delivery is in its hook's queue.
    #[cfg_attr(feature = "openapi", schema(format = DateTime))]
    pub next_attempt_at: Option<String>,
    /// When the delivery was created.
    #[cfg_attr(feature = "openapi", schema(format = DateTime))]
    pub created_at: String,
    /// Id of the event; absent for a delivery without an event, such as a test.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub event_id: Option<i64>,
}

/// A delivery with its last request and response.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(default)]
pub struct DeliveryDetail {
    /// The fields of list entries.
    #[serde(flatten)]
    pub delivery: Delivery,
    /// URL of the last attempt.
    pub url: String,
    /// The last request.
    pub request: DeliveryRequest,
    /// The last response.
    pub response: DeliveryResponse,
    /// All stored attempts, oldest first.
    pub history: Vec<DeliveryAttempt>,
}

/// A request of a delivery.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(default)]
pub struct DeliveryRequest {
    /// The method.
    pub method: String,
    /// Headers. Secrets are masked.
    pub headers: BTreeMap<String, String>,
    /// The JSON payload; for a form, the value of its field `payload`. Before the first attempt: the payload in
    /// the form that most native hooks receive. Null if it has expired or is too large.
    #[cfg_attr(feature = "openapi", schema(value_type = Option<Object>))]
    pub payload: Value,
    /// The body as it was sent. Secrets in messages to chats are masked. Absent before the first attempt, if it
    /// has expired or is too large, and if it is not UTF-8.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub body: Option<String>,
    /// The body in base64, if it is not UTF-8.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub body_base64: Option<String>,
}

impl DeliveryRequest {
    /// Returns the body as it was sent; `None` if it is not available.
    pub fn body_bytes(&self) -> Option<Vec<u8>> {
        bytes(self.body.as_deref(), self.body_base64.as_deref())
    }
}

impl DeliveryResponse {
    /// Returns the body or its beginning as received. Secrets are masked.
    pub fn body_bytes(&self) -> Vec<u8> {
        bytes(Some(&self.payload), self.payload_base64.as_deref()).unwrap_or_default()
    }
}

fn bytes(text: Option<&str>, base64: Option<&str>) -> Option<Vec<u8>> {
    let decoded = base64.and_then(|text| BASE64.decode(text).ok());
    decoded.or_else(|| text.map(|text| text.as_bytes().to_vec()))
}

/// A response to a delivery.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(default)]
pub struct DeliveryResponse {
    /// Headers. Secrets are masked.
    pub headers: BTreeMap<String, String>,
    /// The body or its beginning as text. Invalid UTF-8 is replaced.
    pub payload: String,
    /// The same bytes in base64, if they are not UTF-8.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub payload_base64: Option<String>,
    /// Whether the body was longer.
    pub truncated: bool,
}

/// An attempt of a delivery.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(default)]
pub struct DeliveryAttempt {
    /// Number of the attempt, from 1.
    pub number: u32,
    /// `event`, `retry`, `manual`, `test`.
    pub trigger: String,
    /// When it started.
    #[cfg_attr(feature = "openapi", schema(format = DateTime))]
    pub started_at: String,
    /// Duration, seconds.
    pub duration: f64,
    /// HTTP status of the response; 0 if there was none.
    pub status_code: u32,
    /// `dns`, `connect`, `tls`, `timeout`, `blocked`, `redirect`, `http`, `settings`; empty if it succeeded.
    pub error_class: String,
    /// The error message.
    pub error: String,
    /// Target URL.
    pub url: String,
}

/// Selects the deliveries of a hook to redeliver or to try now.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(default)]
pub struct RecoverDeliveries {
    /// Only deliveries since this time, RFC 3339; absent for all stored deliveries.
    pub since: Option<String>,
    /// Whether to only count the deliveries.
    pub dry_run: bool,
    /// Whether to also try deliveries at once that wait because of failures: for their automatic retry, or, in the
    /// queue of a hook that failed ten times in a row, for its next probe.
    pub waiting: bool,
}

/// The result of redelivering failed deliveries and trying waiting ones.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(default)]
pub struct RecoveredDeliveries {
    /// Number of failed and cancelled deliveries that are redelivered.
    pub count: i64,
    /// Number of waiting deliveries that are tried now; 0 without `waiting`.
    pub retried: i64,
}

/// What a replay of a delivery changes. It needs a URL, a payload, or both.
#[derive(Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(default)]
pub struct ReplayDelivery {
    /// URL of another receiver, http or https; absent for the hook's own receiver. User name and password are sent as
    /// the header `Authorization`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// Secret that signs the request to another receiver, at most 2048 bytes; absent: the request is not signed.
    /// Requests to the hook's own receiver are signed with the hook's secret.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub secret: Option<String>,
    /// JSON object to send instead of the stored payload, as text; for chats, the message. Absent: the stored payload.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub payload: Option<String>,
}

/// Omits the secret, the payload, and the URL, which can contain credentials.
impl std::fmt::Debug for ReplayDelivery {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ReplayDelivery").finish_non_exhaustive()
    }
}

/// The result of a replay. It is not stored.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(default)]
pub struct ReplayedDelivery {
    /// UUID that the receiver got. It is not that of a delivery.
    pub guid: String,
    /// UUID of the delivery that was replayed.
    pub replay_of: String,
    /// Name of the event.
    pub event: String,
    /// Method of the request.
    pub method: String,
    /// URL of the request, without user name and password.
    pub url: String,
    /// Whether the request had a signature.
    pub signed: bool,
    /// Whether the payload was edited.
    pub edited: bool,
    /// When the request was sent.
    #[cfg_attr(feature = "openapi", schema(format = DateTime))]
    pub started_at: String,
    /// Duration, seconds.
    pub duration: f64,
    /// HTTP status of the response; 0 if there was none.
    pub status_code: u32,
    /// `dns`, `connect`, `tls`, `timeout`, `blocked`, `redirect`, `http`, `settings`; empty if it succeeded.
    pub error_class: String,
    /// The error message.
    pub error: String,
    /// The response.
    pub response: DeliveryResponse,
}

/// Deliveries in groups.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(default)]
pub struct DeliveryGroups {
    /// What the deliveries of a group have in common.
    #[cfg_attr(feature = "openapi", schema(pattern = "^(hook|reason|host)$"))]
    pub by: String,
    /// The groups, those with the most failed deliveries first. At most 200.
    pub groups: Vec<DeliveryGroup>,
    /// Number of groups, including those that are left out.
    pub total_count: i64,
    /// Number of deliveries that were examined, the newest first. At most 20,000.
    pub examined: i64,
    /// Whether older deliveries were not examined.
    pub truncated: bool,
}

/// A group of deliveries.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(default)]
pub struct DeliveryGroup {
    /// The id of the hook, the reason, or the host; empty for the hosts of deleted hooks. A reason is a value of the
    /// filter `reason`.
    pub key: String,
    /// Host of the hook's URL; absent for groups of reasons and for deleted hooks.
    pub host: Option<String>,
    /// Number of deliveries.
    pub count: i64,
    /// Number of failed deliveries.
    pub failed: i64,
    /// Number of pending deliveries.
    pub pending: i64,
    /// When the first delivery was created.
    #[cfg_attr(feature = "openapi", schema(format = DateTime))]
    pub first_at: String,
    /// When the last delivery was created.
    #[cfg_attr(feature = "openapi", schema(format = DateTime))]
    pub last_at: String,
    /// UUID of the newest failed delivery, or of the newest delivery if none has failed.
    pub example: String,
    /// Ids of the hooks. At most 20.
    pub hooks: Vec<i64>,
    /// Number of hooks.
    pub hook_count: i64,
}

/// Results and durations of deliveries over time, step by step, oldest first.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(default)]
pub struct DeliveryResults {
    /// Length of a step, seconds.
    pub step_secs: i64,
    /// Start of the first step.
    #[cfg_attr(feature = "openapi", schema(format = DateTime))]
    pub start_at: String,
    /// Number of deliveries that were created in the step and attempted.
    pub attempted: Vec<i64>,
    /// Number of these deliveries whose last attempt failed.
    pub failed: Vec<i64>,
    /// Median duration of their last attempts, milliseconds; 0 if there are none.
    pub p50_millis: Vec<i64>,
    /// 95th percentile of these durations, milliseconds.
    pub p95_millis: Vec<i64>,
    /// The longest of these durations, milliseconds.
    pub max_millis: Vec<i64>,
    /// Number of deliveries that were examined, the newest first. At most 20,000.
    pub examined: i64,
    /// Whether older deliveries were not examined, so that the first steps are incomplete.
    pub truncated: bool,
}
