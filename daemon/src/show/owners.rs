//! Converts organizations and their teams.

use std::collections::BTreeMap;

use farrier_common::api;
use farrier_proto::store::{Org, Team, TeamUnit};

use super::{number, time};
use crate::{
    model::{identity::Identity, team_units::UNITS, words},
    store::teams,
};

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

/// Converts a team. `org`: its organization, if it is shown.
pub(crate) fn team(root_url: &str, viewer: &Identity, row: &Team, org: Option<&Org>) -> api::Team {
    let all = |word: &str| UNITS.iter().map(|unit| ((*unit).to_owned(), word.to_owned())).collect();
    let (permission, units_map): (_, BTreeMap<String, String>) = match row {
        row if teams::is_owners(row) => ("owner", all("owner")),
        row if row.admin => ("admin", all("admin")),
        row => {
            let right = |unit: &TeamUnit| (unit.unit.clone(), words::permission_word(unit.permission()).to_owned());
            ("none", row.units.iter().map(right).collect())
        }
    };
    api::Team {
        id: number(row.id),
        name: row.name.clone(),
        description: row.description.clone(),
        organization: org.map(|org| organization(root_url, viewer, org)),
        includes_all_repositories: row.includes_all_repositories,
        permission: permission.into(),
        units: units_map.keys().cloned().collect(),
        units_map,
        can_create_org_repo: row.can_create_org_repo,
        visibility: words::visibility_word(row.visibility()).into(),
    }
}
