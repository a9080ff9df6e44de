//! Repositories of teams.

use farrier_proto::store::Team;

use super::{FoundTeam, MISSING, find, row, sees_teams};
use crate::{
    model::identity::Identity,
    service::{
        Context, Error,
        access::{self, Action},
        audit::{self, AuditRecorder, Entry},
        repositories::{FoundRepository, allowing, find as find_repository},
        viewer::Viewer,
    },
    store::{Read, Tx, owners::Owner, teams as rows},
};

const NO_REPOSITORY: Error = Error::NotFound { what: "the repository" };

/// Returns a page of the repositories of a team that the caller may read, by id, and their total number.
pub async fn repositories(
    read: &impl Read,
    identity: &Identity,
    found: &FoundTeam,
    (skip, limit): (u64, usize),
) -> Result<(Vec<FoundRepository>, u64), Error> {
    let (mut page, mut total) = (Vec::new(), 0);
    for row in rows::repositories(read, &found.team).await? {
        // Members of the organization see all its teams, but not all repositories.
        let Some(found) = allowing(read, identity, row.id, Action::Read).await? else { continue };
        if total >= skip && page.len() < limit {
            page.push(found);
        }
        total += 1;
    }
    Ok((page, total))
}

/// Returns the repository `owner`/`name`, if it belongs to the team `id`.
pub async fn repository(
    read: &impl Read,
    identity: &Identity,
    id: &str,
    (owner, name): (&str, &str),
) -> Result<FoundRepository, Error> {
    let team = find(read, identity, id).await?.team;
    let found = find_repository(read, identity, owner, name, Action::Read).await?;
    let is_own = found.repository.owner_id == team.org_id;
    if is_own && rows::has_repository(read, &team, found.repository.id).await? { Ok(found) } else { Err(NO_REPOSITORY) }
}

/// Adds the repository `path` to the team `id`. Does nothing if the team has it.
pub async fn add_repository(context: &Context, identity: &Identity, id: &str, path: (&str, &str)) -> Result<(), Error> {
    change_of_team(context, identity, id, path, true).await
}

/// Removes the repository `path` from the team `id`.
pub async fn remove_repository(
    context: &Context,
    identity: &Identity,
    id: &str,
    path: (&str, &str),
) -> Result<(), Error> {
    change_of_team(context, identity, id, path, false).await
}

async fn change_of_team(
    context: &Context,
    identity: &Identity,
    id: &str,
    path: (&str, &str),
    adds: bool,
) -> Result<(), Error> {
    let recorder = &AuditRecorder::new(context);
    let now = context.now_ms();
    context
        .store
        .write(async |tx: Tx| {
            let team = row(&tx, id).await?;
            if !Viewer::of(&tx, identity).await?.sees(&Owner::Org(team.org.clone())) {
                return Err(MISSING);
            }
            let found = to_change(&tx, identity, path).await?;
            if found.repository.owner_id != team.org.id {
                return Err(NO_REPOSITORY);
            }
            if !adds && !rows::has_repository(&tx, &team.team, found.repository.id).await? {
                return Err(NO_REPOSITORY);
            }
            if let Some(entry) = change(&tx, &team, &found, adds, now).await? {
                recorder.record(&tx, entry).await?;
            }
            Ok(())
        })
        .await
}

/// Returns the repository, if the caller may change which teams have it: owners of the organization, and administrators
/// of the repository if the organization permits it.
async fn to_change(
    read: &impl Read,
    identity: &Identity,
    (owner, name): (&str, &str),
) -> Result<FoundRepository, Error> {
    access::require_account(identity)?;
    let found = find_repository(read, identity, owner, name, Action::Administer).await?;
    let is_permitted = match &found.owner {
        Owner::Org(org) => org.repo_admin_change_team_access || found.access_level.allows(Action::Own),
        Owner::User(_) => true,
    };
    if is_permitted {
        return Ok(found);
    }
    let reason = "only owners of the organization may change the teams of its repositories, because \
                  repo_admin_change_team_access is off";
    Err(Error::Forbidden { reason: reason.into() })
}

/// Adds a repository to a team or removes it. Returns the audit entry, if this changes something.
async fn change(
    tx: &Tx,
    team: &FoundTeam,
    found: &FoundRepository,
    adds: bool,
    now: i64,
) -> Result<Option<Entry>, Error> {
    let (id, repository) = (team.team.id, found.repository.id);
    if rows::is_owners(&team.team) {
        return if adds { Ok(None) } else { Err(has_all(&team.team)) };
    }
    if rows::lists(tx, id, repository).await? == adds {
        // A team of all repositories has those that were never added.
        return if adds || !team.team.includes_all_repositories { Ok(None) } else { Err(has_all(&team.team)) };
    }
    if adds {
        if rows::repository_ids(tx, id).await?.len() >= rows::REPOSITORIES_MAX {
            let reason = format!("the team has {} repositories: let it include all", rows::REPOSITORIES_MAX);
            return Err(Error::invalid("team", reason));
        }
        rows::add_repository(tx, id, repository, now);
    } else {
        rows::take_repository(tx, id, repository);
    }
    let action = if adds { audit::Action::TeamRepositoryAdd } else { audit::Action::TeamRepositoryRemove };
    let entry = Entry::new(action, team.object().in_repository(repository, &found.path()));
    let name = team.team.name.as_str();
    Ok(Some(if adds { entry.set("team", name) } else { entry.had("team", name) }))
}

fn has_all(team: &Team) -> Error {
    Error::invalid("team", format!("the team {} includes all repositories of the organization", team.name))
}

/// Returns the teams of the repository `owner`/`name` in the order of the organization's list.
pub async fn of_repository(
    read: &impl Read,
    identity: &Identity,
    (owner, name): (&str, &str),
) -> Result<Vec<FoundTeam>, Error> {
    access::require_account(identity)?;
    let found = find_repository(read, identity, owner, name, Action::Read).await?;
    let Owner::Org(org) = &found.owner else { return Err(Error::NoTeams) };
    if !sees_teams(read, identity, org).await? {
        return Err(Error::Forbidden { reason: "must be a member of the organization".into() });
    }
    let mut teams = Vec::new();
    for team in rows::of_org(read, org.id).await? {
        if rows::has_repository(read, &team, found.repository.id).await? {
            teams.push(FoundTeam { team, org: org.clone() });
        }
    }
    Ok(teams)
}

/// Returns the team `team` of a repository.
pub async fn team_of_repository(
    read: &impl Read,
    identity: &Identity,
    path: (&str, &str),
    team: &str,
) -> Result<FoundTeam, Error> {
    let mut teams = of_repository(read, identity, path).await?.into_iter();
    teams.find(|found| found.team.name.eq_ignore_ascii_case(team)).ok_or(MISSING)
}

/// Adds the team `team` of the organization to its repository `path`.
pub async fn add_team(context: &Context, identity: &Identity, path: (&str, &str), team: &str) -> Result<(), Error> {
    change_of_repository(context, identity, path, team, true).await
}

/// Removes the team `team` from the repository `path`.
pub async fn remove_team(context: &Context, identity: &Identity, path: (&str, &str), team: &str) -> Result<(), Error> {
    change_of_repository(context, identity, path, team, false).await
}

async fn change_of_repository(
    context: &Context,
    identity: &Identity,
    path: (&str, &str),
    team: &str,
    adds: bool,
) -> Result<(), Error> {
    let recorder = &AuditRecorder::new(context);
    let now = context.now_ms();
    context
        .store
        .write(async |tx: Tx| {
            let found = to_change(&tx, identity, path).await?;
            let Owner::Org(org) = &found.owner else { return Err(Error::NoTeams) };
            let team = rows::by_name(&tx, org.id, team).await?.ok_or(MISSING)?;
            let has = rows::has_repository(&tx, &team, found.repository.id).await?;
            if has == adds {
                let reason =
                    if adds { "the team has the repository already" } else { "the team has no such repository" };
                return Err(Error::invalid("team", reason));
            }
            let team = FoundTeam { team, org: org.clone() };
            if let Some(entry) = change(&tx, &team, &found, adds, now).await? {
                recorder.record(&tx, entry).await?;
            }
            Ok(())
        })
        .await
}
