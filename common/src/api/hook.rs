//! Webhooks.

use std::collections::BTreeMap;

use serde::{Deserialize, Deserializer, Serialize, de::Error as _};
use serde_json::Value;
use utoipa::ToSchema;

use super::null_as_default;

/// A webhook. What it signs with and authorises itself with goes in and never comes out.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(default)]
#[allow(clippy::struct_excessive_bools)] // the API family's shape
pub struct Hook {
    /// Number of the hook.
    pub id: i64,
    /// A name for people; may be empty.
    pub name: String,
    /// `gitea`, `forgejo`, `gogs`, `farrier`, or a chat.
    pub r#type: String,
    /// Pattern for branches and tags; empty: all.
    pub branch_filter: String,
    /// `url`, `content_type` and what else the type understands, always as texts.
    pub config: BTreeMap<String, String>,
    /// What the hook hears of, in a fixed order.
    pub events: Vec<String>,
    /// The same in names that mean one event each when they are sent back.
    pub events_exact: Vec<String>,
    /// Always empty.
    pub authorization_header: String,
    /// Whether it gets anything.
    pub active: bool,
    /// Last change.
    #[schema(format = DateTime)]
    pub updated_at: String,
    /// When it was made.
    #[schema(format = DateTime)]
    pub created_at: String,
    /// Where deliveries go.
    pub url: String,
    /// `json` or `form`.
    pub content_type: String,
    /// Always null: what the type understands stands in `config`.
    #[schema(value_type = Option<Object>)]
    pub metadata: Option<Value>,
    /// `system`, `default`, `repository`, `organization` or `user`.
    pub scope: String,
    /// Whether deliveries are signed.
    pub has_secret: bool,
    /// Whether deliveries have the header `Authorization`.
    pub has_authorization_header: bool,
    /// The default hook that this was copied from.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub copied_from: Option<i64>,
    /// Status of the last attempt; 0: no answer came, or none was made.
    pub last_status: i64,
    /// When the last attempt was made.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_delivery_at: Option<String>,
    /// Attempts that failed since the last success.
    pub failures: i64,
    /// `ok`, `failing`, `unused` (nothing was sent yet), `off` (switched off by a person) or `disabled` (switched off
    /// by the daemon).
    #[schema(pattern = "^(ok|failing|unused|off|disabled)$")]
    pub state: String,
    /// Since when deliveries fail; absent: the last one succeeded, or none was sent.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(format = DateTime)]
    pub failing_since: Option<String>,
    /// Why the last attempt failed; absent: it succeeded, or none was made.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub last_error: String,
    /// The user or organisation that the hook or its repository belongs to. Only in lists of all places and where a
    /// hook is found by its number alone; absent for administrators' hooks.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub owner: String,
    /// The repository, `owner/name`. Only where `owner` is, and only for hooks of repositories.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub repository: String,
    /// Why the service has switched the hook off; empty: it has not.
    pub disabled_reason: String,
    /// Why deliveries will not arrive: the configuration does not allow the target, its name cannot be resolved, or the
    /// daemon never sends the events. The answer to a request that saved the hook knows more than lists do.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub warning: Option<String>,
    /// The setting that would allow the target.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub advice: Option<SettingAdvice>,
}

/// A setting of the daemon and the value that would remove a problem.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(default)]
pub struct SettingAdvice {
    /// The setting, such as `webhook.allowed_hosts`.
    pub setting: String,
    /// The whole new value: what is set now, and what is missing.
    pub value: String,
}

/// `POST …/hooks`. Unknown keys are ignored.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(default)]
pub struct CreateHook {
    /// Required.
    #[serde(deserialize_with = "null_as_default")]
    #[schema(required = true, pattern = "^(farrier|gitea|forgejo|gogs|slack|discord|msteams|telegram|matrix)$")]
    pub r#type: String,
    /// Required: at least `url` and `content_type`.
    #[serde(deserialize_with = "texts", skip_serializing_if = "Option::is_none")]
    #[schema(required = true)]
    pub config: Option<BTreeMap<String, String>>,
    /// Names of events, groups included; none: `push`.
    #[serde(deserialize_with = "null_as_default")]
    pub events: Vec<String>,
    /// The same in names that mean one event each; comes before `events`.
    #[serde(deserialize_with = "null_as_default", skip_serializing_if = "Vec::is_empty")]
    pub events_exact: Vec<String>,
    /// Pattern for branches and tags.
    #[serde(deserialize_with = "null_as_default")]
    pub branch_filter: String,
    /// The whole value of the header `Authorization`.
    #[serde(deserialize_with = "null_as_default")]
    pub authorization_header: String,
    /// Absent: false.
    #[serde(deserialize_with = "null_as_default")]
    pub active: bool,
    /// At most 255 characters.
    #[serde(deserialize_with = "null_as_default")]
    #[schema(max_length = 255)]
    pub name: String,
}

/// `PATCH …/hooks/{id}`. What is absent stays; what is there and empty is reset, but for secrets.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(default)]
pub struct EditHook {
    /// Keys that are there replace those of the hook; an empty secret stays what it was.
    #[serde(deserialize_with = "texts", skip_serializing_if = "Option::is_none")]
    pub config: Option<BTreeMap<String, String>>,
    /// Replaces the list; empty: `push`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub events: Option<Vec<String>>,
    /// The same in names that mean one event each; comes before `events`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub events_exact: Option<Vec<String>>,
    /// Replaces the pattern.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub branch_filter: Option<String>,
    /// Replaces the value; an empty one stays what it was.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub authorization_header: Option<String>,
    /// Whether it gets anything.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub active: Option<bool>,
    /// Replaces the name.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(max_length = 255)]
    pub name: Option<String>,
    /// Removes `secret`, `authorization_header`.
    #[serde(deserialize_with = "null_as_default", skip_serializing_if = "Vec::is_empty")]
    pub clear: Vec<String>,
}

/// `POST /admin/hooks/{id}/apply`: copies a default hook into repositories that have no copy.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(default)]
pub struct ApplyHook {
    /// Only repositories with a higher number; 0: all.
    #[serde(deserialize_with = "null_as_default")]
    pub after: i64,
}

/// What came of it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(default)]
pub struct AppliedHook {
    /// Repositories that have a copy now.
    pub copied: i64,
    /// Repositories that had one, or have no room for one.
    pub skipped: i64,
    /// What to send as `after` to go on; absent when all is done.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next: Option<i64>,
}

/// An event that hooks can ask for.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(default)]
pub struct HookEvent {
    /// Its name in answers.
    pub name: String,
    /// The name that means it alone.
    pub exact: String,
    /// Whether this service ever sends it.
    pub sent: bool,
    /// What it tells of.
    pub description: String,
    /// What headers of deliveries say: the fine and the coarse name.
    pub headers: Vec<HookEventHeaders>,
}

/// How an event is named in the headers of a delivery.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(default)]
pub struct HookEventHeaders {
    /// The fine name: `X-…-Event-Type`.
    pub event_type: String,
    /// The coarse name: `X-…-Event`.
    pub event: String,
}

/// A type of hook.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(default)]
pub struct HookType {
    /// The word of the API.
    pub name: String,
    /// Whether deliveries hold the event as it is.
    pub native: bool,
    /// Keys of `config`, those of all types included.
    pub config: Vec<HookConfigKey>,
}

/// A key of a hook's `config`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(default)]
pub struct HookConfigKey {
    /// The key.
    pub name: String,
    /// Without it the hook is refused.
    pub required: bool,
    /// Goes in and never comes out.
    pub secret: bool,
    /// What it is.
    pub description: String,
}

/// Reads an object of texts. Numbers, `true` and `false` count as what they look like: people and
/// clients of the family write them.
fn texts<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<BTreeMap<String, String>>, D::Error> {
    let Some(values) = Option::<BTreeMap<String, Value>>::deserialize(deserializer)? else { return Ok(None) };
    let mut texts = BTreeMap::new();
    for (key, value) in values {
        let text = match value {
            Value::Null => continue,
            Value::String(text) => text,
            Value::Bool(_) | Value::Number(_) => value.to_string(),
            Value::Array(_) | Value::Object(_) => return Err(D::Error::custom(format!("config.{key} must be a text"))),
        };
        texts.insert(key, text);
    }
    Ok(Some(texts))
}
