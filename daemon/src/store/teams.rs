//! Teams of organizations, their members and repositories.
//!
//! The team "Owners" of an organization has no row. It follows from the memberships with the role owner, so it exists
//! in every organization, and its id is that of the organization. The ids of other teams are taken from the same
//! sequence, so the two cannot collide. This module keeps the memberships of organizations in step: a user is a member
//! while it is in a team.

use farrier_proto::store::{
    Membership, OrgRole, Permission, Reference, Repository, Team, TeamMember, TeamRepository, TeamUnit, Visibility,
};

use super::{
    Read, StoreError, Tx,
    engine::{Range, Scan},
    keys, orgs, owners, repositories,
};

/// The name of the team of owners.
pub const OWNERS: &str = "Owners";
/// Most teams of an organization.
pub const TEAMS_MAX: usize = 1_000;
/// Most repositories of a team. A team that includes all repositories has no limit.
pub const REPOSITORIES_MAX: usize = 10_000;

/// Returns the team of owners of an organization.
pub fn owners_team(org: u64) -> Team {
    Team {
        id: org,
        org_id: org,
        name: OWNERS.into(),
        admin: true,
        includes_all_repositories: true,
        can_create_org_repo: true,
        visibility: Visibility::Private.into(),
        ..Team::default()
    }
}

/// Returns whether `team` is the team of owners of its organization.
pub fn is_owners(team: &Team) -> bool {
    team.id == team.org_id
}

/// Returns the right of a team in a unit, without that of administrators.
pub fn unit(team: &Team, name: &str) -> Permission {
    team.units.iter().find(|unit| unit.unit == name).map_or(Permission::None, TeamUnit::permission)
}

/// Returns the team with id `id`.
pub async fn get(read: &impl Read, id: u64) -> Result<Option<Team>, StoreError> {
    match read.get(&keys::team(id)).await? {
        Some(row) => Ok(Some(row)),
        None => Ok(owners::org(read, id).await?.map(|org| owners_team(org.id))),
    }
}

/// Returns the team `name` of an organization, without regard to case.
pub async fn by_name(read: &impl Read, org: u64, name: &str) -> Result<Option<Team>, StoreError> {
    if name.eq_ignore_ascii_case(OWNERS) {
        return Ok(owners::org(read, org).await?.map(|org| owners_team(org.id)));
    }
    match read.get::<Reference>(&keys::team_name(org, name)).await? {
        Some(found) => read.get(&keys::team(found.id)).await,
        None => Ok(None),
    }
}

/// Returns the teams of an organization: the owners, then the others by name.
pub async fn of_org(read: &impl Read, org: u64) -> Result<Vec<Team>, StoreError> {
    let names = read.scan::<Reference>(&Scan::of(Range::prefix(keys::team_names(org)), TEAMS_MAX)).await?;
    let rows: Vec<_> = names.iter().map(|(_, found)| keys::team(found.id)).collect();
    let rows: Vec<Option<Team>> = read.get_many(&rows).await?;
    Ok([owners_team(org)].into_iter().chain(rows.into_iter().flatten()).collect())
}

/// Counts the teams of an organization without the owners, up to `cap`.
pub async fn count_of_org(read: &impl Read, org: u64, cap: u64) -> Result<u64, StoreError> {
    read.count(&Range::prefix(keys::team_names(org)), cap).await
}

/// Inserts a team. Returns `false` if the organization has a team with its name.
pub async fn insert(tx: &Tx, row: &Team) -> Result<bool, StoreError> {
    if by_name(tx, row.org_id, &row.name).await?.is_some() {
        return Ok(false);
    }
    tx.put(keys::team_name(row.org_id, &row.name), &Reference { id: row.id });
    tx.put(keys::team(row.id), row);
    Ok(true)
}

/// Updates a team. Returns `false` if another team of the organization has the new name.
pub async fn update(tx: &Tx, old: &Team, row: &Team) -> Result<bool, StoreError> {
    if old.name.to_lowercase() != row.name.to_lowercase() {
        if by_name(tx, row.org_id, &row.name).await?.is_some() {
            return Ok(false);
        }
        tx.delete(keys::team_name(old.org_id, &old.name));
        tx.put(keys::team_name(row.org_id, &row.name), &Reference { id: row.id });
    }
    tx.put(keys::team(row.id), row);
    Ok(true)
}

/// Deletes a team. Users who are in no other team leave the organization. The team of owners cannot be deleted.
pub async fn delete(tx: &Tx, row: &Team) -> Result<(), StoreError> {
    for user in member_ids(tx, row).await? {
        remove_member(tx, row, user).await?;
    }
    for repository in repository_ids(tx, row.id).await? {
        take_repository(tx, row.id, repository);
    }
    tx.delete(keys::team_name(row.org_id, &row.name));
    tx.delete(keys::team(row.id));
    Ok(())
}

/// Deletes all teams of an organization, which is deleted in the same transaction.
pub(super) async fn delete_of_org(tx: &Tx, org: u64) -> Result<(), StoreError> {
    for team in of_org(tx, org).await?.iter().filter(|team| !is_owners(team)) {
        delete(tx, team).await?;
    }
    Ok(())
}

/// Returns whether `user` is in the team.
pub async fn is_member(read: &impl Read, team: &Team, user: u64) -> Result<bool, StoreError> {
    if is_owners(team) {
        let membership = owners::membership(read, team.org_id, user).await?;
        return Ok(membership.is_some_and(|row| row.role() == OrgRole::Owner));
    }
    Ok(read.get::<TeamMember>(&keys::team_member(team.id, user)).await?.is_some())
}

/// Returns whether `user` is in one of the teams with these ids.
pub async fn is_member_of_any(read: &impl Read, teams: &[u64], user: u64) -> Result<bool, StoreError> {
    for id in teams {
        if let Some(team) = get(read, *id).await?
            && is_member(read, &team, user).await?
        {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Returns the ids of the members of a team, in ascending order.
pub async fn member_ids(read: &impl Read, team: &Team) -> Result<Vec<u64>, StoreError> {
    if is_owners(team) {
        let range = Range::prefix(keys::org_members(team.org_id));
        let rows = read.scan::<Membership>(&Scan::of(range, orgs::MEMBERS_MAX)).await?;
        let owners = rows.iter().filter(|(_, row)| row.role() == OrgRole::Owner);
        return Ok(owners.filter_map(|(key, _)| keys::trailing_id(key)).collect());
    }
    trailing_ids(read, Range::prefix(keys::team_members(team.id)), orgs::MEMBERS_MAX).await
}

/// Adds `user` to the team, and to the organization; a new membership is concealed. Returns the former membership of
/// the organization.
pub async fn add_member(tx: &Tx, team: &Team, user: u64, now_ms: i64) -> Result<Option<Membership>, StoreError> {
    let before = owners::membership(tx, team.org_id, user).await?;
    let role = if is_owners(team) { OrgRole::Owner } else { OrgRole::Member };
    if !is_owners(team) {
        tx.put(keys::team_member(team.id, user), &TeamMember { org_id: team.org_id, since_ms: now_ms });
        tx.put(keys::user_team(user, team.org_id, team.id), &Reference { id: team.id });
    }
    match before {
        None => {
            let row = Membership { role: role.into(), since_ms: now_ms, concealed: true };
            orgs::put_member(tx, team.org_id, user, &row);
        }
        Some(row) if is_owners(team) => {
            orgs::put_member(tx, team.org_id, user, &Membership { role: role.into(), ..row });
        }
        // An owner stays one.
        Some(_) => {}
    }
    Ok(before)
}

/// Removes `user` from the team. A user without another team leaves the organization. Returns the remaining membership
/// of the organization.
pub async fn remove_member(tx: &Tx, team: &Team, user: u64) -> Result<Option<Membership>, StoreError> {
    let Some(before) = owners::membership(tx, team.org_id, user).await? else { return Ok(None) };
    let is_owner = before.role() == OrgRole::Owner && !is_owners(team);
    if !is_owners(team) {
        tx.delete(keys::team_member(team.id, user));
        tx.delete(keys::user_team(user, team.org_id, team.id));
    }
    if is_owner {
        return Ok(Some(before));
    }
    if ids_of_user(tx, user, Some(team.org_id)).await?.is_empty() {
        orgs::remove_member(tx, team.org_id, user);
        return Ok(None);
    }
    let row = Membership { role: OrgRole::Member.into(), ..before };
    orgs::put_member(tx, team.org_id, user, &row);
    Ok(Some(row))
}

/// Removes `user` from the organization and all its teams.
pub async fn leave(tx: &Tx, org: u64, user: u64) -> Result<(), StoreError> {
    for team in ids_of_user(tx, user, Some(org)).await? {
        tx.delete(keys::team_member(team, user));
        tx.delete(keys::user_team(user, org, team));
    }
    orgs::remove_member(tx, org, user);
    Ok(())
}

/// Returns the ids of the teams of `user` in all organizations or in one, without teams of owners.
async fn ids_of_user(read: &impl Read, user: u64, org: Option<u64>) -> Result<Vec<u64>, StoreError> {
    let prefix = org.map_or_else(|| keys::user_teams(user), |org| keys::user_teams_in(user, org));
    trailing_ids(read, Range::prefix(prefix), usize::MAX).await
}

/// Returns the teams of `user` in one organization, or in all with `None`, without teams of owners.
pub async fn of_user(read: &impl Read, user: u64, org: Option<u64>) -> Result<Vec<Team>, StoreError> {
    let rows: Vec<_> = ids_of_user(read, user, org).await?.into_iter().map(keys::team).collect();
    Ok(read.get_many(&rows).await?.into_iter().flatten().collect())
}

/// Returns the ids of the repositories of a team that does not include all, in ascending order. Repositories can be
/// deleted.
pub async fn repository_ids(read: &impl Read, team: u64) -> Result<Vec<u64>, StoreError> {
    trailing_ids(read, Range::prefix(keys::team_repositories(team)), usize::MAX).await
}

/// Returns the repositories of a team, sorted by id, except deleted ones.
pub async fn repositories(read: &impl Read, team: &Team) -> Result<Vec<Repository>, StoreError> {
    let ids = if team.includes_all_repositories {
        trailing_ids(read, Range::prefix(keys::owner_repositories(team.org_id)), usize::MAX).await?
    } else {
        repository_ids(read, team.id).await?
    };
    let mut rows = repositories::many(read, &ids).await?;
    rows.retain(|row| !row.deleted && row.owner_id == team.org_id);
    Ok(rows)
}

/// Returns whether the team has a repository of its organization.
pub async fn has_repository(read: &impl Read, team: &Team, repository: u64) -> Result<bool, StoreError> {
    Ok(team.includes_all_repositories || lists(read, team.id, repository).await?)
}

/// Returns whether a repository was added to the team, even if the team includes all.
pub async fn lists(read: &impl Read, team: u64, repository: u64) -> Result<bool, StoreError> {
    Ok(read.get::<TeamRepository>(&keys::team_repository(team, repository)).await?.is_some())
}

/// Adds a repository to a team.
pub fn add_repository(tx: &Tx, team: u64, repository: u64, now_ms: i64) {
    tx.put(keys::team_repository(team, repository), &TeamRepository { since_ms: now_ms });
    tx.put(keys::repository_team(repository, team), &Reference { id: team });
}

/// Removes a repository from a team.
pub fn take_repository(tx: &Tx, team: u64, repository: u64) {
    tx.delete(keys::team_repository(team, repository));
    tx.delete(keys::repository_team(repository, team));
}

/// Removes a repository from all teams, when it is deleted permanently or moves to another owner.
pub async fn remove_repository(tx: &Tx, repository: u64) -> Result<(), StoreError> {
    for team in trailing_ids(tx, Range::prefix(keys::repository_teams(repository)), usize::MAX).await? {
        take_repository(tx, team, repository);
    }
    Ok(())
}

async fn trailing_ids(read: &impl Read, range: Range, limit: usize) -> Result<Vec<u64>, StoreError> {
    let pairs = read.scan_bytes(&Scan::of(range, limit)).await?;
    Ok(pairs.iter().filter_map(|(key, _)| keys::trailing_id(key)).collect())
}
