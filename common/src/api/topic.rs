//! Topics of repositories.

use serde::{Deserialize, Serialize};

use super::null_as_default;

/// The topics of a repository, sorted.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(default)]
pub struct Topics {
    /// The topics.
    pub topics: Vec<String>,
}

/// A topic with the repositories that have it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(default)]
pub struct Topic {
    /// A number that is derived from the name.
    pub id: i64,
    /// The topic.
    pub topic_name: String,
    /// Number of repositories with the topic that the caller sees.
    pub repo_count: i64,
    /// Always the zero time.
    #[cfg_attr(feature = "openapi", schema(format = DateTime))]
    pub created: String,
    /// Always the zero time.
    #[cfg_attr(feature = "openapi", schema(format = DateTime))]
    pub updated: String,
}

/// Response of `GET /topics/search`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(default)]
pub struct FoundTopics {
    /// The topics, sorted by name.
    pub topics: Vec<Topic>,
}

/// `PUT /repos/{owner}/{repo}/topics`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(default)]
pub struct ReplaceTopics {
    /// At most 25 topics: letters, digits, `-` and `.`, at most 35 characters each. Absent: none.
    #[serde(deserialize_with = "null_as_default")]
    #[cfg_attr(feature = "openapi", schema(max_items = 25))]
    pub topics: Vec<String>,
}

/// The response to topics that are refused.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(default)]
pub struct InvalidTopics {
    /// The problem.
    pub message: String,
    /// Absolute URL of the description of the API.
    pub url: String,
    /// The topics that are not valid; `null` if there are too many, absent if the body is malformed.
    #[serde(rename = "invalidTopics", skip_serializing_if = "Option::is_none")]
    pub invalid_topics: Option<Vec<String>>,
}
