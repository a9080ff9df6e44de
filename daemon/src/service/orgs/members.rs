//! Members of organizations. Each organization has one team, "Owners", whose id is that of the organization.

use farrier_proto::store::{Membership, Org, OrgRole, User};

use super::{find, find_own};
use crate::{
    model::identity::Identity,
    service::{
        Context, Error, access,
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

/// Which members a list contains.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Members {
    /// All whose membership the caller may know. Members and site administrators also get concealed memberships.
    All,
    /// Those whose membership is not concealed.
    Public,
}

/// Returns the members that the caller sees, by id.
pub async fn members(read: &impl Read, identity: &Identity, org: &Org, which: Members) -> Result<Vec<User>, Error> {
    let viewer = Viewer::of(read, identity).await?;
    let rows = orgs::members(read, org.id).await?;
    let with_concealed = which == Members::All && viewer.sees_concealed_members(org.id);
    let known = rows.into_iter().filter(|(_, membership)| with_concealed || !membership.concealed);
    Ok(known.map(|(user, _)| user).filter(|user| viewer.sees(&Owner::User(user.clone()))).collect())
}

/// Conceals the membership of `user` in the organization `org`, or makes it public. Only members decide about their own
/// membership.
pub async fn set_concealed(
    context: &Context,
    identity: &Identity,
    org: &str,
    user: &str,
    concealed: bool,
) -> Result<(), Error> {
    let account = access::require_account(identity)?;
    access::require_whole_account(identity)?;
    let own_id = account.user.id;
    let recorder = &AuditRecorder::reserve(context, 1).await?;
    context
        .store
        .write(async |tx: Tx| {
            let org = find(&tx, identity, org).await?;
            let user = owners::user_by_name(&tx, user).await?;
            let user = user.filter(|user| user.id == own_id).ok_or_else(|| Error::Forbidden {
                reason: "only members decide whether their own membership is public".into(),
            })?;
            let membership = owners::membership(&tx, org.id, user.id).await?;
            let membership = membership.ok_or(Error::NotFound { what: "the member" })?;
            if membership.concealed != concealed {
                orgs::put_member(&tx, org.id, user.id, &Membership { concealed, ..membership });
                let entry = Entry::new(Action::MemberEdit, Object::member(&org, &user));
                recorder.record(&tx, entry.field("concealed", membership.concealed, concealed));
            }
            Ok(())
        })
        .await
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
    let row = Membership { role: OrgRole::Owner.into(), since_ms: context.now_ms(), concealed: false };
    let recorder = &AuditRecorder::reserve(context, 1).await?;
    context
        .store
        .write(async |tx: Tx| {
            let (org, user) = find_both(&tx, identity, org, user).await?;
            if owners::membership(&tx, org.id, user.id).await?.is_some() {
                return Ok(());
            }
            if orgs::member_ids(&tx, org.id).await?.len() >= orgs::MEMBERS_MAX {
                return Err(Error::invalid("username", "the organization has too many members"));
            }
            orgs::put_member(&tx, org.id, user.id, &row);
            recorder.record(&tx, Entry::new(Action::MemberAdd, Object::member(&org, &user)).set("role", "owner"));
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
