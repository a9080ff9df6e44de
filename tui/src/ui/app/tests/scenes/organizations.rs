//! Scenes of organizations and teams.

use super::{super::prelude::*, Scene, on};
use crate::ui::net::{OrganizationRequest, Page, ProblemKind};

pub(super) const ORGANIZATIONS: &[Scene] = &[
    on("organizations", |screen| {
        open_organizations(screen);
        screen.keys("j");
        screen.rest_cursor();
    }),
    on("new-organization", |screen| {
        open_organizations(screen);
        screen.keys("n");
    }),
    on("edit-organization", |screen| {
        open_organizations(screen);
        screen.keys("e");
        let loaded = Answer::Organization(Box::new(organization(7, "acme", "public", "Acme Works")));
        let is_load = |request: &Request| matches!(request, Request::Organization(OrganizationRequest::Load(_)));
        screen.answer(is_load, Ok(loaded));
    }),
    on("delete-organization", |screen| {
        open_organizations(screen);
        screen.keys("D");
    }),
    on("organization-teams", |screen| {
        open_organization(screen, Ok(teams()));
        screen.keys("j");
    }),
    on("organization-members", open_organization_members),
    on("organization-repositories", open_organization_repositories),
    on("no-teams", |screen| {
        let none = Page { items: Vec::new(), total: Some(0), last: true };
        open_organization(screen, Ok(Answer::Teams(none)));
    }),
    on("forbidden-teams", |screen| {
        let text = "listing teams of acme: must be a member of the organization (403)";
        open_organization(screen, Err(Problem::new(ProblemKind::Forbidden, text)));
    }),
    on("team-rights", open_team),
    on("team-members", open_team_members),
    on("team-repositories", open_team_repositories),
    on("new-team", |screen| {
        open_organization(screen, Ok(teams()));
        screen.keys("n");
    }),
    on("edit-team", |screen| {
        open_team(screen);
        screen.keys("e");
        let loaded = Answer::Team(Box::new(team(11, "devs", "none")));
        let is_load = |request: &Request| matches!(request, Request::Organization(OrganizationRequest::LoadTeam(_)));
        screen.answer(is_load, Ok(loaded));
    }),
    on("delete-team", |screen| {
        open_team(screen);
        screen.keys("D");
    }),
    on("new-team-member", |screen| {
        open_team_members(screen);
        screen.keys("n");
    }),
    on("remove-team-members", |screen| {
        open_team_members(screen);
        screen.keys("*D");
    }),
    on("new-team-repository", |screen| {
        open_team_repositories(screen);
        screen.keys("n");
    }),
];
