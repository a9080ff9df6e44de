//! Settings that clients may query, and the built-in templates.

use serde::{Deserialize, Serialize};

/// `GET /settings/api`: limits of the API.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(default)]
pub struct ApiSettings {
    /// Largest number of items on a page.
    pub max_response_items: u64,
    /// Default number of items on a page.
    pub default_paging_num: u64,
    /// Number of entries on a page of a git tree.
    pub default_git_trees_per_page: u64,
    /// Largest blob in a response, bytes.
    pub default_max_blob_size: u64,
    /// Largest response with content, bytes.
    pub default_max_response_size: u64,
}

/// `GET /settings/repository`: features that are not available.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(default)]
#[allow(clippy::struct_excessive_bools, missing_docs)] // the format of the Gitea API; the names are self-explanatory
pub struct RepositorySettings {
    pub mirrors_disabled: bool,
    pub http_git_disabled: bool,
    pub migrations_disabled: bool,
    pub stars_disabled: bool,
    pub forks_disabled: bool,
    pub time_tracking_disabled: bool,
    pub lfs_disabled: bool,
}

/// `GET /settings/ui`: settings of a web interface. There is none.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(default)]
#[allow(missing_docs)] // the names are self-explanatory
pub struct UiSettings {
    pub default_theme: String,
    pub allowed_reactions: Vec<String>,
    pub custom_emojis: Vec<String>,
}

/// `GET /settings/attachment`: settings of attachments, which are not supported.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(default)]
#[allow(missing_docs)] // the names are self-explanatory
pub struct AttachmentSettings {
    pub enabled: bool,
    pub allowed_types: String,
    pub max_size: u64,
    pub max_files: u64,
}

/// `GET /gitignore/templates/{name}`
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(default)]
pub struct GitignoreTemplate {
    /// Name of the template.
    pub name: String,
    /// Content of the template.
    pub source: String,
}

/// An entry of `GET /licenses`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(default)]
pub struct LicenseEntry {
    /// Key of the license.
    pub key: String,
    /// Name of the license.
    pub name: String,
    /// Absolute URL of the license text.
    pub url: String,
}

/// `GET /licenses/{key}`
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(default)]
pub struct License {
    /// Key of the license.
    pub key: String,
    /// Name of the license.
    pub name: String,
    /// Absolute URL of this object.
    pub url: String,
    /// How to apply the license.
    pub implementation: String,
    /// License text with the placeholders `[year]` and `[fullname]`.
    pub body: String,
}

/// An entry of `GET /label/templates/{name}`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(default)]
pub struct LabelTemplate {
    /// Name of the label.
    pub name: String,
    /// Color, six hexadecimal digits.
    pub color: String,
    /// Description.
    pub description: String,
    /// Whether labels with the same scope exclude each other.
    pub exclusive: bool,
}
