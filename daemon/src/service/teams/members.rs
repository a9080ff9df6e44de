//! Members of teams. Membership of an organization follows from its teams.

use farrier_proto::store::{OrgRole, User};

use super::{FoundTeam, find, find_own};
use crate::{
    model::identity::Identity,
    service::{
        Context, Error,
        audit::{Action, AuditRecorder, Entry, Object},
        viewer,
    },
    store::{Read, Tx, orgs, owners, owners::Owner, teams as rows},
};

const NO_MEMBER: Error = Error::NotFound { what: "the member" };

/// Returns the members of a team, by id. Members of an organization see each other.
pub async fn members(read: &impl Read, found: &FoundTeam) -> Result<Vec<User>, Error> {
    let mut users = Vec::new();
    for id in rows::member_ids(read, &found.team).await? {
        users.extend(owners::user(read, id).await?);
    }
    Ok(users)
}

/// Returns the member `user` of the team `id`, if the caller sees the team.
pub async fn member(read: &impl Read, identity: &Identity, id: &str, user: &str) -> Result<User, Error> {
    let found = find(read, identity, id).await?;
    let user = account(read, identity, user).await?;
    if rows::is_member(read, &found.team, user.id).await? { Ok(user) } else { Err(NO_MEMBER) }
}

/// Returns the user `name`, even if the caller does not see this user otherwise: members of an organization see each
/// other.
async fn account(read: &impl Read, identity: &Identity, name: &str) -> Result<User, Error> {
    if let Some(user) = owners::user_by_name(read, name).await? {
        return Ok(user);
    }
    match viewer::find(read, identity, name).await? {
        Owner::User(user) => Ok(user),
        Owner::Org(_) => Err(NO_MEMBER),
    }
}

/// Adds `user` to the team `id`, and thereby to the organization.
pub async fn add_member(context: &Context, identity: &Identity, id: &str, user: &str) -> Result<(), Error> {
    let now = context.now_ms();
    let recorder = &AuditRecorder::new(context);
    context
        .store
        .write(async |tx: Tx| {
            let found = find_own(&tx, identity, id).await?;
            let Owner::User(user) = viewer::find(&tx, identity, user).await? else {
                return Err(Error::NotFound { what: "the user" });
            };
            if rows::is_member(&tx, &found.team, user.id).await? {
                return Ok(());
            }
            let is_full = orgs::member_ids(&tx, found.org.id).await?.len() >= orgs::MEMBERS_MAX;
            let before = owners::membership(&tx, found.org.id, user.id).await?;
            if before.is_none() && is_full {
                return Err(Error::invalid("username", "the organization has too many members"));
            }
            rows::add_member(&tx, &found.team, user.id, now).await?;
            let is_owners = rows::is_owners(&found.team);
            let member = Object::member(&found.org, &user);
            let role = if is_owners { "owner" } else { "member" };
            let joined = match before {
                None => Some(Entry::new(Action::MemberAdd, member).set("role", role)),
                Some(_) if is_owners => Some(Entry::new(Action::MemberEdit, member).field("role", "member", "owner")),
                Some(_) => None,
            };
            let added =
                (!is_owners).then(|| Entry::new(Action::TeamMemberAdd, found.object()).set("member", user.name));
            recorder.record_all(&tx, joined.into_iter().chain(added)).await?;
            Ok(())
        })
        .await
}

/// Removes `user` from the team `id`. A user without another team leaves the organization. The last owner cannot be
/// removed.
pub async fn remove_member(context: &Context, identity: &Identity, id: &str, user: &str) -> Result<(), Error> {
    let recorder = &AuditRecorder::new(context);
    context
        .store
        .write(async |tx: Tx| {
            let found = find_own(&tx, identity, id).await?;
            let user = account(&tx, identity, user).await?;
            if !rows::is_member(&tx, &found.team, user.id).await? {
                return Err(NO_MEMBER);
            }
            let is_owners = rows::is_owners(&found.team);
            if is_owners && rows::member_ids(&tx, &found.team).await?.len() == 1 {
                return Err(last_owner());
            }
            let former = if is_owners { "owner" } else { "member" };
            let left = rows::remove_member(&tx, &found.team, user.id).await?;
            let member = Object::member(&found.org, &user);
            let changed = match left.map(|row| row.role()) {
                None => Some(Entry::new(Action::MemberRemove, member).had("role", former)),
                Some(OrgRole::Member) if is_owners => {
                    Some(Entry::new(Action::MemberEdit, member).field("role", "owner", "member"))
                }
                Some(_) => None,
            };
            let removed =
                (!is_owners).then(|| Entry::new(Action::TeamMemberRemove, found.object()).had("member", user.name));
            recorder.record_all(&tx, changed.into_iter().chain(removed)).await?;
            Ok(())
        })
        .await
}

/// Returns the error for the removal of the last owner.
fn last_owner() -> Error {
    Error::Forbidden { reason: "the last owner of an organization cannot be removed".into() }
}

/// Removes `user` from the organization with this id and from all its teams. The last owner cannot be removed.
pub async fn leave_org(context: &Context, identity: &Identity, org: u64, user: &str) -> Result<(), Error> {
    let recorder = &AuditRecorder::new(context);
    context
        .store
        .write(async |tx: Tx| {
            let owners_team = rows::owners_team(org);
            let FoundTeam { org, .. } = find_own(&tx, identity, &org.to_string()).await?;
            let user = account(&tx, identity, user).await?;
            let membership = owners::membership(&tx, org.id, user.id).await?.ok_or(NO_MEMBER)?;
            let is_owner = membership.role() == OrgRole::Owner;
            if is_owner && rows::member_ids(&tx, &owners_team).await?.len() == 1 {
                return Err(last_owner());
            }
            let teams: Vec<_> =
                rows::of_user(&tx, user.id, Some(org.id)).await?.into_iter().map(|team| team.name).collect();
            rows::leave(&tx, org.id, user.id).await?;
            let role = if is_owner { "owner" } else { "member" };
            let mut entry = Entry::new(Action::MemberRemove, Object::member(&org, &user)).had("role", role);
            if !teams.is_empty() {
                entry = entry.had("teams", teams);
            }
            recorder.record(&tx, entry).await?;
            Ok(())
        })
        .await
}
