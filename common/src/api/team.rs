//! Teams of organizations: descriptions and edits.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{null_as_default, org::Organization};

/// A team of an organization.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(default)]
pub struct Team {
    /// Id. The team `Owners` has the id of its organization.
    pub id: i64,
    /// Name. Each organization has the team `Owners`.
    pub name: String,
    /// Description.
    pub description: String,
    /// The organization; absent in lists of the teams of one organization.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub organization: Option<Organization>,
    /// Whether it has all repositories of the organization, also new ones.
    pub includes_all_repositories: bool,
    /// `owner`, `admin`, or `none` if the units decide.
    #[cfg_attr(feature = "openapi", schema(pattern = "^(none|admin|owner)$"))]
    pub permission: String,
    /// Units in which it has rights.
    pub units: Vec<String>,
    /// The right in each unit: `read`, `write`, `admin` or `owner`.
    pub units_map: BTreeMap<String, String>,
    /// Whether its members may create repositories in the organization.
    pub can_create_org_repo: bool,
    /// `public`, `limited` or `private`. Stored for clients, without an effect.
    #[cfg_attr(feature = "openapi", schema(pattern = "^(public|limited|private)$"))]
    pub visibility: String,
}

/// The result of `GET /orgs/{org}/teams/search`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(default)]
pub struct TeamSearch {
    /// The teams.
    pub data: Vec<Team>,
    /// Always true.
    pub ok: bool,
}

/// `POST /orgs/{org}/teams`. `null` is the same as absent.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(default)]
pub struct CreateTeam {
    /// Required: the name.
    #[serde(deserialize_with = "null_as_default")]
    #[cfg_attr(
        feature = "openapi",
        schema(required = true, min_length = 1, max_length = 255, pattern = "^[A-Za-z0-9._-]+$")
    )]
    pub name: String,
    /// At most 255 characters.
    #[serde(deserialize_with = "null_as_default")]
    #[cfg_attr(feature = "openapi", schema(max_length = 255))]
    pub description: String,
    /// `read` or `write`: the right in `units`. `admin`: its members administer the repositories. Default: `read`.
    #[serde(deserialize_with = "null_as_default")]
    #[cfg_attr(feature = "openapi", schema(pattern = "^(none|read|write|admin)$"))]
    pub permission: String,
    /// Units such as `repo.code`. Required without `units_map`, unless `permission` is `admin`.
    pub units: Option<Vec<String>>,
    /// The right in each unit: `none`, `read`, `write` or `admin`. Takes precedence over `units`.
    pub units_map: Option<BTreeMap<String, String>>,
    /// Whether it has all repositories of the organization, also new ones.
    #[serde(deserialize_with = "null_as_default")]
    pub includes_all_repositories: bool,
    /// Whether its members may create repositories in the organization.
    #[serde(deserialize_with = "null_as_default")]
    pub can_create_org_repo: bool,
    /// `public`, `limited` or `private`. Default: `private`.
    #[serde(deserialize_with = "null_as_default")]
    #[cfg_attr(feature = "openapi", schema(pattern = "^(public|limited|private)$"))]
    pub visibility: String,
}

/// `PATCH /teams/{id}`. Absent, `null` and empty lists mean unchanged.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(default)]
pub struct EditTeam {
    /// The new name; empty to keep it.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(max_length = 255, pattern = "^[A-Za-z0-9._-]*$"))]
    pub name: Option<String>,
    /// At most 255 characters.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(max_length = 255))]
    pub description: Option<String>,
    /// `read` or `write`: the right in `units`, or without them in the units that the team has. `admin`: its members
    /// administer the repositories. `none` is the same as absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(pattern = "^(none|read|write|admin)$"))]
    pub permission: Option<String>,
    /// Units such as `repo.code`, which replace those of the team.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub units: Option<Vec<String>>,
    /// The right in each unit, which replace those of the team. Takes precedence over `units`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub units_map: Option<BTreeMap<String, String>>,
    /// Whether it has all repositories of the organization, also new ones.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub includes_all_repositories: Option<bool>,
    /// Whether its members may create repositories in the organization.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub can_create_org_repo: Option<bool>,
    /// `public`, `limited` or `private`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(pattern = "^(public|limited|private)$"))]
    pub visibility: Option<String>,
}
