//! Steps that open organizations and teams, for tests and scenes.

use super::prelude::*;
use crate::ui::net::OrganizationRequest as R;

/// Answers the pending request about organizations that equals `one`.
#[track_caller]
fn answer(screen: &mut TestScreen, one: R, result: Result<Answer, Problem>) {
    let one = Request::Organization(one);
    screen.answer_last_of(|request| *request == one, result);
}

/// Returns the requests about organizations since the last call.
pub(super) fn organization_requests(screen: &mut TestScreen) -> Vec<R> {
    let requests = screen.take_requests().into_iter();
    requests.filter_map(|request| if let Request::Organization(one) = request { Some(one) } else { None }).collect()
}

/// Like [`organization_requests`], without requests that change nothing.
pub(super) fn organization_changes(screen: &mut TestScreen) -> Vec<R> {
    organization_requests(screen).into_iter().filter(R::changes).collect()
}

pub(super) fn open_organizations(screen: &mut TestScreen) {
    screen.keys("7u");
    answer(screen, R::List, Ok(organizations()));
}

/// Opens the first organization, and answers the request for its teams.
pub(super) fn open_organization(screen: &mut TestScreen, result: Result<Answer, Problem>) {
    open_organizations(screen);
    screen.keys("\n");
    screen.rest_cursor();
    answer(screen, R::Teams(acme()), result);
}

pub(super) fn open_organization_members(screen: &mut TestScreen) {
    open_organization(screen, Ok(teams()));
    screen.keys("]");
    answer(screen, R::Members(acme()), Ok(org_members()));
}

pub(super) fn open_organization_repositories(screen: &mut TestScreen) {
    open_organization(screen, Ok(teams()));
    screen.keys("[");
    answer(screen, R::Repositories(acme()), Ok(repositories(&["acme/gateway", "acme/site"])));
}

/// Opens the second team of the first organization.
pub(super) fn open_team(screen: &mut TestScreen) {
    open_organization(screen, Ok(teams()));
    screen.keys("j\n");
    screen.rest_cursor();
}

pub(super) fn open_team_members(screen: &mut TestScreen) {
    open_team(screen);
    screen.keys("]");
    answer(screen, R::TeamMembers(devs()), Ok(team_members()));
}

pub(super) fn open_team_repositories(screen: &mut TestScreen) {
    open_team(screen);
    screen.keys("[");
    answer(screen, R::TeamRepositories(devs()), Ok(repositories(&["acme/gateway", "acme/site"])));
}
