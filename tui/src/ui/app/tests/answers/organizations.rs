//! Organizations, teams and members.

use farrier_common::api::{Organization, Team};

use super::super::prelude::*;
use crate::ui::{
    net::{OrganizationKey, OrganizationMember, Page, TeamKey},
    organization::{OrganizationCompactor, OrganizationSummary},
};

fn page<T>(items: Vec<T>) -> Page<T> {
    Page { total: i64::try_from(items.len()).ok(), items, last: true }
}

pub(in super::super) fn organization(id: i64, name: &str, visibility: &str, full_name: &str) -> Organization {
    Organization {
        id,
        name: name.into(),
        username: name.into(),
        full_name: full_name.into(),
        description: "services of the edge".into(),
        visibility: visibility.into(),
        created: "2026-08-02T03:04:05Z".into(),
        ..Organization::default()
    }
}

/// Returns the rows of a list.
pub(in super::super) fn organization_rows(items: Vec<Organization>) -> Vec<OrganizationSummary> {
    let mut compactor = OrganizationCompactor::default();
    items.into_iter().map(|org| compactor.compact(org)).collect()
}

pub(in super::super) fn organizations() -> Answer {
    let items = vec![organization(7, "acme", "public", "Acme Works"), organization(9, "infra", "private", "")];
    Answer::AllOrganizations(page(organization_rows(items)))
}

/// The key of the first organization.
pub(in super::super) fn acme() -> OrganizationKey {
    OrganizationKey { id: 7, name: "acme".into() }
}

/// The key of its second team.
pub(in super::super) fn devs() -> TeamKey {
    TeamKey { id: 11, org: "acme".into(), name: "devs".into() }
}

/// A team with rights in some units; those in `repo.wiki` have no effect.
pub(in super::super) fn team(id: i64, name: &str, permission: &str) -> Team {
    let units = [("repo.code", "write"), ("repo.releases", "read"), ("repo.wiki", "read")];
    Team {
        id,
        name: name.into(),
        description: format!("the {name}"),
        permission: permission.into(),
        units_map: units.map(|(unit, right)| (unit.to_owned(), right.to_owned())).into(),
        includes_all_repositories: permission != "none",
        ..Team::default()
    }
}

/// The owners, a team with rights in units, and a team of administrators.
pub(in super::super) fn teams() -> Answer {
    Answer::Teams(page(vec![team(7, "Owners", "owner"), team(11, "devs", "none"), team(12, "ops", "admin")]))
}

/// The caller and another member, whose membership is public.
pub(in super::super) fn org_members() -> Answer {
    let member = |id: i64, login: &str, full_name: &str| OrganizationMember {
        id,
        login: login.into(),
        full_name: full_name.into(),
        is_public: Some(id == 2),
    };
    Answer::Members(page(vec![member(1, "admin", ""), member(2, "mia", "Mia Okafor")]))
}

/// The same as members of a team.
pub(in super::super) fn team_members() -> Answer {
    let Answer::Members(mut all) = org_members() else { unreachable!() };
    for member in &mut all.items {
        member.is_public = None;
    }
    Answer::Members(all)
}
