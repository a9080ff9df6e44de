//! Members of organizations. Each organization has one team, "Owners", whose id is that of the organization.

use farrier_proto::store::{Membership, Org, OrgRole, User};

use super::{find, find_own};
use crate::{
    model::identity::Identity,
    service::{
        Context, Error,
        audit::{Action, AuditRecorder, Entry, Object},
        viewer,
        viewer::Viewer,
    },
    store::{Read, Tx, orgs, owners, owners::Owner},
};

/// The permissions of a user in an organization.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Permissions {
    /// Whether the user is an owner or a site administrator.
    pub owner: bool,
    /// Whether the user may read its public objects.
    pub read: bool,
}

/// Returns the members that the caller sees, by id.
pub async fn members(read: &impl Read, identity: &Identity, org: &Org) -> Result<Vec<User>, Error> {
    let viewer = Viewer::of(read, identity).await?;
    let rows = orgs::members(read, org.id).await?;
    Ok(rows.into_iter().filter(|user| viewer.sees(&Owner::User(user.clone()))).collect())
}

/// Returns the permissions of the user `user` in the organization `org`.
pub async fn permissions(read: &impl Read, identity: &Identity, user: &str, org: &str) -> Result<Permissions, Error> {
    let Owner::User(user) = viewer::find(read, identity, user).await? else {
        return Err(Error::NotFound { what: "the user" });
    };
    let org = find(read, identity, org).await?;
    let owner = user.admin || owners::membership(read, org.id, user.id).await?.is_some();
    Ok(Permissions { owner, read: true })
}

/// Adds `user` as an owner of the organization `org` (id).
pub async fn add_member(context: &Context, identity: &Identity, org: u64, user: &str) -> Result<(), Error> {
    let row = Membership { role: OrgRole::Owner.into(), since_ms: context.now_ms() };
    let recorder = &AuditRecorder::reserve(context, 1).await?;
    context
        .store
        .write(async |tx: Tx| {
            let (org, user) = find_both(&tx, identity, org, user).await?;
            let members = orgs::member_ids(&tx, org.id).await?;
            if members.len() >= orgs::MEMBERS_MAX {
                return Err(Error::invalid("username", "the organization has too many members"));
            }
            orgs::put_member(&tx, org.id, user.id, &row);
            if !members.contains(&user.id) {
                recorder.record(&tx, Entry::new(Action::MemberAdd, Object::member(&org, &user)).set("role", "owner"));
            }
            Ok(())
        })
        .await
}

/// Removes the member `user`. The last owner cannot be removed.
pub async fn remove_member(context: &Context, identity: &Identity, org: u64, user: &str) -> Result<(), Error> {
    let recorder = &AuditRecorder::reserve(context, 1).await?;
    context
        .store
        .write(async |tx: Tx| {
            let (org, user) = find_both(&tx, identity, org, user).await?;
            let members = orgs::member_ids(&tx, org.id).await?;
            if !members.contains(&user.id) {
                return Err(Error::NotFound { what: "the member" });
            }
            if members.len() == 1 {
                return Err(Error::Forbidden { reason: "the last owner of an organization cannot be removed".into() });
            }
            orgs::remove_member(&tx, org.id, user.id);
            recorder.record(&tx, Entry::new(Action::MemberRemove, Object::member(&org, &user)).had("role", "owner"));
            Ok(())
        })
        .await
}

async fn find_both(tx: &Tx, identity: &Identity, org: u64, user: &str) -> Result<(Org, User), Error> {
    let org = owners::org(tx, org).await?.ok_or(Error::NotFound { what: "the team" })?;
    let org = find_own(tx, identity, &org.name).await?;
    match viewer::find(tx, identity, user).await? {
        Owner::User(user) => Ok((org, user)),
        Owner::Org(_) => Err(Error::NotFound { what: "the user" }),
    }
}
