//! Questions before organizations and teams are deleted, and before members and repositories are removed.

use farrier_common::client::RepositoryPath;

use crate::ui::{
    bulk::BulkAction,
    layer::{Confirm, Layer},
    net::{Batch, OrganizationKey, OrganizationRequest, Request, TeamKey},
    screens::user_actions,
    world::World,
};

/// Returns the question before an organization is deleted.
pub(crate) fn delete_organization(org: OrganizationKey, world: &World) -> Layer {
    let lines = vec![
        format!("Its ID is {}. Its teams and hooks are deleted. This cannot be undone.", org.id),
        "An organization that still owns repositories is not deleted.".to_owned(),
    ];
    let (title, name) = (format!("Delete organization {}", org.name), org.name.clone());
    let request = Request::Organization(OrganizationRequest::Delete(org));
    Layer::Confirm(Confirm::typed(title, lines, "Delete", name, request, world))
}

/// Returns the question before a team is deleted.
pub(crate) fn delete_team(team: TeamKey, world: &World) -> Layer {
    let lines = vec![
        format!("Its ID is {}. Its repositories stay.", team.id),
        "Members without another team leave the organization. This cannot be undone.".to_owned(),
    ];
    let (title, name) = (format!("Delete team {team}"), team.name.clone());
    let request = Request::Organization(OrganizationRequest::DeleteTeam(team));
    Layer::Confirm(Confirm::typed(title, lines, "Delete", name, request, world))
}

/// The effect on users who are removed from a team.
const MEMBERS_EFFECT: &str = "Members without another team leave the organization.";
/// The effect on repositories that are removed from a team.
const REPOSITORIES_EFFECT: &str = "The repositories stay; the team loses its access.";

/// Returns the question before a user is removed from a team, named in a command.
pub(crate) fn remove_team_member(team: &TeamKey, user: String, world: &World) -> Layer {
    let lines = vec![MEMBERS_EFFECT.to_owned()];
    let title = format!("Remove {user} from team {team}");
    let request = OrganizationRequest::RemoveTeamMember { team: team.clone(), user, id: None };
    Layer::Confirm(Confirm::simple(title, lines, "Remove", Request::Organization(request), world))
}

/// Returns the question before a repository is removed from a team, named in a command.
pub(crate) fn remove_team_repository(team: &TeamKey, repo: RepositoryPath, world: &World) -> Layer {
    let lines = vec![REPOSITORIES_EFFECT.to_owned()];
    let title = format!("Remove {repo} from team {team}");
    let request = OrganizationRequest::RemoveTeamRepository { team: team.clone(), repo, id: None };
    Layer::Confirm(Confirm::simple(title, lines, "Remove", Request::Organization(request), world))
}

/// Returns the question before the listed users are removed from a team: their names and numbers.
pub(super) fn remove_team_members(
    team: &TeamKey,
    users: &[(String, i64)],
    skipped: Option<String>,
    world: &World,
) -> Option<Layer> {
    let item = |(user, id): &(String, i64)| {
        let request = OrganizationRequest::RemoveTeamMember { team: team.clone(), user: user.clone(), id: Some(*id) };
        (user.clone(), Request::Organization(request))
    };
    let bulk = BulkAction { noun: "member", effect: MEMBERS_EFFECT, ..BulkAction::default() };
    removal(bulk, &format!("team {team}"), users.iter().map(item).collect(), skipped, world)
}

/// Returns the question before users are removed from an organization.
pub(super) fn remove_members(
    org: &OrganizationKey,
    users: &[(String, i64)],
    skipped: Option<String>,
    world: &World,
) -> Option<Layer> {
    let item = |(user, id): &(String, i64)| {
        let request = OrganizationRequest::RemoveMember { org: org.clone(), user: user.clone(), id: *id };
        (user.clone(), Request::Organization(request))
    };
    let effect = "They leave all teams of the organization.";
    let bulk = BulkAction { noun: "member", effect, ..BulkAction::default() };
    removal(bulk, &org.name, users.iter().map(item).collect(), skipped, world)
}

/// Returns the question before the listed repositories are removed from a team: their paths and numbers.
pub(super) fn remove_team_repositories(
    team: &TeamKey,
    repos: &[(RepositoryPath, i64)],
    skipped: Option<String>,
    world: &World,
) -> Option<Layer> {
    let item = |(repo, id): &(RepositoryPath, i64)| {
        let (team, id) = (team.clone(), Some(*id));
        let request = OrganizationRequest::RemoveTeamRepository { team, repo: repo.clone(), id };
        (repo.to_string(), Request::Organization(request))
    };
    let bulk = BulkAction { noun: "repository", effect: REPOSITORIES_EFFECT, ..BulkAction::default() };
    removal(bulk, &format!("team {team}"), repos.iter().map(item).collect(), skipped, world)
}

/// Returns the question before rows are removed from `whole`; `None` without rows.
fn removal(
    bulk: BulkAction,
    whole: &str,
    mut items: Vec<(String, Request)>,
    skipped: Option<String>,
    world: &World,
) -> Option<Layer> {
    let named = |(name, _): &(String, Request)| {
        let own = if user_actions::is_own(name, world) { "   your own account" } else { "" };
        format!("{name} of {whole}{own}")
    };
    let (noun, names) = (bulk.noun, items.iter().map(named).collect());
    let request = match items.len() {
        0 => return None,
        1 => items.swap_remove(0).1,
        _ => Request::Batch(Box::new(Batch { noun, doing: "removing", done: "removed", items })),
    };
    let skipped = skipped.into_iter().collect();
    let bulk = BulkAction { verb: "Remove", names, destroys: true, skipped, ..bulk };
    Some(Layer::Confirm(bulk.question(request, world)))
}
