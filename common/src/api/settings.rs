//! What the service says of itself, and the templates that it ships.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// `GET /settings/api`: bounds that clients ask for.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(default)]
pub struct ApiSettings {
    /// Most items of a page.
    pub max_response_items: u64,
    /// Items of a page when the request names no number.
    pub default_paging_num: u64,
    /// Entries of a page of a git tree.
    pub default_git_trees_per_page: u64,
    /// Largest blob that is answered, bytes.
    pub default_max_blob_size: u64,
    /// Largest answer about content, bytes.
    pub default_max_response_size: u64,
}

/// `GET /settings/repository`: what there is not.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(default)]
#[allow(clippy::struct_excessive_bools, missing_docs)] // the API family's shape; the names say it
pub struct RepositorySettings {
    pub mirrors_disabled: bool,
    pub http_git_disabled: bool,
    pub migrations_disabled: bool,
    pub stars_disabled: bool,
    pub forks_disabled: bool,
    pub time_tracking_disabled: bool,
    pub lfs_disabled: bool,
}

/// `GET /settings/ui`: there is no web site to set up.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(default)]
#[allow(missing_docs)] // the names say it
pub struct UiSettings {
    pub default_theme: String,
    pub allowed_reactions: Vec<String>,
    pub custom_emojis: Vec<String>,
}

/// `GET /settings/attachment`: nothing can be attached.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(default)]
#[allow(missing_docs)] // the names say it
pub struct AttachmentSettings {
    pub enabled: bool,
    pub allowed_types: String,
    pub max_size: u64,
    pub max_files: u64,
}

/// `GET /gitignore/templates/{name}`
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(default)]
pub struct GitignoreTemplate {
    /// Its name.
    pub name: String,
    /// Its text.
    pub source: String,
}

/// One of `GET /licenses`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(default)]
pub struct LicenseEntry {
    /// Identifier of the licence.
    pub key: String,
    /// Its name.
    pub name: String,
    /// Absolute address of the text below.
    pub url: String,
}

/// `GET /licenses/{key}`
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(default)]
pub struct License {
    /// Identifier of the licence.
    pub key: String,
    /// Its name.
    pub name: String,
    /// Absolute address of this answer.
    pub url: String,
    /// How to use it.
    pub implementation: String,
    /// Its text, with `[year]` and `[fullname]` to be filled in.
    pub body: String,
}

/// One of `GET /label/templates/{name}`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(default)]
pub struct LabelTemplate {
    /// Its name.
    pub name: String,
    /// Six hexadecimal digits.
    pub color: String,
    /// Free text.
    pub description: String,
    /// Whether labels of one scope exclude each other.
    pub exclusive: bool,
}
