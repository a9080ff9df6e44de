//! Webhooks: descriptions, settings, and the bodies that create and edit them.

use std::collections::BTreeMap;

use serde::{Deserialize, Deserializer, Serialize, de::Error as _};
use serde_json::Value;

use super::null_as_default;

/// A webhook. Its secret and its `Authorization` header can be set but are never returned.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(default)]
#[allow(clippy::struct_excessive_bools)] // the format of the Gitea API
pub struct Hook {
    /// Id of the hook.
    pub id: i64,
    /// Display name; may be empty.
    pub name: String,
    /// `gitea`, `forgejo`, `gogs`, `farrier` or a chat service.
    pub r#type: String,
    /// Pattern for branches and tags; empty for all.
    pub branch_filter: String,
    /// `url`, `content_type` and the other settings of the hook's type, always as strings.
    pub config: BTreeMap<String, String>,
    /// The events of the hook, in a fixed order.
    pub events: Vec<String>,
    /// The same events by names that each select exactly one event in requests.
    pub events_exact: Vec<String>,
    /// Always empty.
    pub authorization_header: String,
    /// Whether the hook receives events.
    pub active: bool,
    /// Time of the last change.
    #[cfg_attr(feature = "openapi", schema(format = DateTime))]
    pub updated_at: String,
    /// When it was created.
    #[cfg_attr(feature = "openapi", schema(format = DateTime))]
    pub created_at: String,
    /// Target URL of deliveries.
    pub url: String,
    /// `json` or `form`.
    pub content_type: String,
    /// Always null. The settings of the type are in `config`.
    #[cfg_attr(feature = "openapi", schema(value_type = Option<Object>))]
    pub metadata: Option<Value>,
    /// `system`, `default`, `repository`, `organization` or `user`.
    pub scope: String,
    /// Whether deliveries are signed.
    pub has_secret: bool,
    /// Whether deliveries have an `Authorization` header.
    pub has_authorization_header: bool,
    /// Id of the default hook from which it was copied.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub copied_from: Option<i64>,
    /// HTTP status of the last attempt; 0 if there was no response or no attempt.
    pub last_status: i64,
    /// Time of the last attempt.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_delivery_at: Option<String>,
    /// Number of failed attempts since the last success.
    pub failures: i64,
    /// `ok`, `failing`, `unused` (no deliveries yet), `off` (switched off by a user) or `disabled` (switched
    /// off by the daemon).
    #[cfg_attr(feature = "openapi", schema(pattern = "^(ok|failing|unused|off|disabled)$"))]
    pub state: String,
    /// When deliveries started to fail; absent if the last one succeeded or there was none.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(format = DateTime))]
    pub failing_since: Option<String>,
    /// Attempts that failed recently; absent if there were none for two hours.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub recent_failures: Option<RecentFailures>,
    /// Error of the last attempt; absent if it succeeded or there was none.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub last_error: String,
    /// The user or organization that owns the hook or its repository. Only in responses of routes that cover
    /// several scopes; absent for administrators' hooks.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub owner: String,
    /// The repository, `owner/name`. Only present together with `owner`, and only for hooks of repositories.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub repository: String,
    /// Why the daemon switched the hook off; empty if it did not.
    pub disabled_reason: String,
    /// Why deliveries will fail: the configuration does not allow the target, its name cannot be resolved, or
    /// the daemon never sends the events. The response to a request that saved the hook checks more than lists
    /// do.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub warning: Option<String>,
    /// The setting that would allow the target.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub advice: Option<SettingAdvice>,
}

/// Numbers of failed attempts, in steps of ten minutes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(default)]
pub struct RecentFailures {
    /// In the last hour.
    pub last_hour: i64,
    /// In the hour before.
    pub hour_before: i64,
}

/// A setting of the daemon and a value that solves a problem.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(default)]
pub struct SettingAdvice {
    /// Name of the setting, for example `webhook.allowed_hosts`.
    pub setting: String,
    /// The complete new value, which extends the current value.
    pub value: String,
}

/// `POST …/hooks`. Unknown keys are ignored.
#[derive(Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(default)]
pub struct CreateHook {
    /// Required.
    #[serde(deserialize_with = "null_as_default")]
    #[cfg_attr(
        feature = "openapi",
        schema(required = true, pattern = "^(farrier|gitea|forgejo|gogs|slack|discord|msteams|telegram|matrix)$")
    )]
    pub r#type: String,
    /// Required: at least `url` and `content_type`.
    #[serde(deserialize_with = "texts", skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(required = true))]
    pub config: Option<BTreeMap<String, String>>,
    /// Names of events or groups of events; empty for `push`.
    #[serde(deserialize_with = "null_as_default")]
    pub events: Vec<String>,
    /// Names that each select exactly one event. Takes precedence over `events`.
    #[serde(deserialize_with = "null_as_default", skip_serializing_if = "Vec::is_empty")]
    pub events_exact: Vec<String>,
    /// Pattern for branches and tags.
    #[serde(deserialize_with = "null_as_default")]
    pub branch_filter: String,
    /// Value of the `Authorization` header.
    #[serde(deserialize_with = "null_as_default")]
    pub authorization_header: String,
    /// Whether the hook receives events. Absent: false.
    #[serde(deserialize_with = "null_as_default")]
    pub active: bool,
    /// At most 255 characters.
    #[serde(deserialize_with = "null_as_default")]
    #[cfg_attr(feature = "openapi", schema(max_length = 255))]
    pub name: String,
}

/// Omits the configuration and the header, which contain secrets.
impl std::fmt::Debug for CreateHook {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut fields = f.debug_struct("CreateHook");
        fields.field("type", &self.r#type).field("events", &self.events).field("active", &self.active);
        fields.finish_non_exhaustive()
    }
}

/// `PATCH …/hooks/{id}`. Absent fields are unchanged. Empty values reset a field, except for secrets.
#[derive(Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(default)]
pub struct EditHook {
    /// Keys to change. An empty secret is unchanged.
    #[serde(deserialize_with = "texts", skip_serializing_if = "Option::is_none")]
    pub config: Option<BTreeMap<String, String>>,
    /// Replaces the events; empty for `push`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub events: Option<Vec<String>>,
    /// Names that each select exactly one event. Takes precedence over `events`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub events_exact: Option<Vec<String>>,
    /// Replaces the pattern.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub branch_filter: Option<String>,
    /// Replaces the value; an empty value is unchanged.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub authorization_header: Option<String>,
    /// Whether the hook receives events.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub active: Option<bool>,
    /// Replaces the name.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(max_length = 255))]
    pub name: Option<String>,
    /// Fields to remove: `secret`, `authorization_header`.
    #[serde(deserialize_with = "null_as_default", skip_serializing_if = "Vec::is_empty")]
    pub clear: Vec<String>,
}

/// Omits the configuration and the header, which contain secrets.
impl std::fmt::Debug for EditHook {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut fields = f.debug_struct("EditHook");
        fields.field("events", &self.events).field("active", &self.active).field("clear", &self.clear);
        fields.finish_non_exhaustive()
    }
}

/// `POST /admin/hooks/{id}/apply`: copies a default hook to repositories that have no copy of it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(default)]
pub struct ApplyHook {
    /// Only repositories with a higher id; 0 for all.
    #[serde(deserialize_with = "null_as_default")]
    pub after: i64,
}

/// The result of copying a default hook.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(default)]
pub struct AppliedHook {
    /// Number of repositories that got a copy.
    pub copied: i64,
    /// Number of repositories that already had a copy or have too many hooks.
    pub skipped: i64,
    /// Value of `after` for the next request; absent if all repositories are done.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next: Option<i64>,
}

/// An event that hooks can subscribe to.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(default)]
pub struct HookEvent {
    /// Name in responses.
    pub name: String,
    /// Name that selects only this event.
    pub exact: String,
    /// Whether the daemon ever sends this event.
    pub sent: bool,
    /// Description of the event.
    pub description: String,
    /// Values of the event headers of deliveries.
    pub headers: Vec<HookEventHeaders>,
}

/// The event names in the headers of a delivery.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(default)]
pub struct HookEventHeaders {
    /// Specific name: `X-…-Event-Type`.
    pub event_type: String,
    /// General name: `X-…-Event`.
    pub event: String,
}

/// A type of hook.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(default)]
pub struct HookType {
    /// Name in requests and responses.
    pub name: String,
    /// Whether deliveries contain the event unchanged.
    pub native: bool,
    /// Keys of `config`, including those of all types.
    pub config: Vec<HookConfigKey>,
}

/// A key of a hook's `config`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(default)]
pub struct HookConfigKey {
    /// Name of the key.
    pub name: String,
    /// Whether the key is required.
    pub required: bool,
    /// Whether the value is never returned.
    pub secret: bool,
    /// Description of the value.
    pub description: String,
}

/// Deserializes an object of strings. Numbers and booleans are converted to strings, because Gitea-family
/// clients send them.
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
