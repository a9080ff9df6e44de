//! Converts organizations and their team.

use farrier_common::api;
use farrier_proto::store::Org;

use super::{number, time};
use crate::model::{identity::Identity, words};

/// Converts an organization as `viewer` may see it.
pub(crate) fn organization(root_url: &str, viewer: &Identity, row: &Org) -> api::Organization {
    api::Organization {
        id: number(row.id),
        name: row.name.clone(),
        full_name: row.full_name.clone(),
        email: if viewer.account().is_some() { row.email.clone() } else { String::new() },
        avatar_url: format!("{root_url}/avatars/{}", row.id),
        description: row.description.clone(),
        website: row.website.clone(),
        location: row.location.clone(),
        visibility: words::visibility_word(row.visibility()).into(),
        repo_admin_change_team_access: row.repo_admin_change_team_access,
        username: row.name.clone(),
        created: time(row.created_ms),
    }
}

/// Returns the only team of an organization.
pub(crate) fn team(root_url: &str, viewer: &Identity, row: &Org) -> api::Team {
    api::Team {
        id: number(row.id),
        name: "Owners".into(),
        description: String::new(),
        organization: organization(root_url, viewer, row),
        includes_all_repositories: true,
        permission: "owner".into(),
        units: vec!["repo.code".into(), "repo.actions".into()],
        can_create_org_repo: true,
    }
}
