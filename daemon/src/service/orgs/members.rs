//! Members of organizations. Who is a member follows from the teams, see [`crate::service::teams`].

use farrier_proto::store::{Membership, Org, OrgRole, Permission, Team, User};

use super::find;
use crate::{
    model::identity::Identity,
    service::{
        Context, Error, access,
        audit::{Action, AuditRecorder, Entry, Object},
        viewer,
        viewer::Viewer,
    },
    store::{Read, Tx, orgs, owners, owners::Owner, teams},
};

/// The permissions of a user in an organization.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(clippy::struct_excessive_bools)] // the format of the Gitea API
pub struct Permissions {
    /// Whether the user is an owner or a site administrator.
    pub owner: bool,
    /// Whether the user administers repositories.
    pub admin: bool,
    /// Whether the user may write in a unit of repositories.
    pub write: bool,
    /// Whether the user may read its public objects.
    pub read: bool,
    /// Whether the user may create repositories.
    pub create: bool,
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
    let recorder = &AuditRecorder::new(context);
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
                recorder.record(&tx, entry.field("concealed", membership.concealed, concealed)).await?;
            }
            Ok(())
        })
        .await
}

/// Returns the permissions of the user `user` in the organization `org`. A membership that is concealed from the caller
/// gives none, so that the answer does not reveal it.
pub async fn permissions(read: &impl Read, identity: &Identity, user: &str, org: &str) -> Result<Permissions, Error> {
    let Owner::User(user) = viewer::find(read, identity, user).await? else {
        return Err(Error::NotFound { what: "the user" });
    };
    let org = find(read, identity, org).await?;
    let sees_concealed = Viewer::of(read, identity).await?.sees_concealed_members(org.id);
    let membership = owners::membership(read, org.id, user.id).await?;
    let membership = membership.filter(|membership| sees_concealed || !membership.concealed);
    if user.admin || membership.as_ref().is_some_and(|membership| membership.role() == OrgRole::Owner) {
        return Ok(Permissions { owner: true, admin: true, write: true, read: true, create: true });
    }
    let teams = if membership.is_some() { teams::of_user(read, user.id, Some(org.id)).await? } else { Vec::new() };
    let writes = |team: &Team| team.admin || team.units.iter().any(|unit| unit.permission() >= Permission::Write);
    Ok(Permissions {
        owner: false,
        admin: teams.iter().any(|team| team.admin),
        write: teams.iter().any(writes),
        read: true,
        create: teams.iter().any(|team| team.can_create_org_repo),
    })
}
