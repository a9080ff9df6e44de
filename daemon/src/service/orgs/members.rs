//! Who belongs to an organisation. There is one team, "Owners"; its number is the organisation's.

use farrier_proto::store::{Membership, Org, OrgRole, User};

use super::{find, find_own};
use crate::{
    app::App,
    model::identity::Identity,
    service::{Error, viewer, viewer::Viewer},
    store::{Read, Tx, orgs, owners, owners::Owner},
};

/// What a user may do in an organisation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Permissions {
    /// Belongs to the owners, or administers the site.
    pub owner: bool,
    /// May see what is public in it.
    pub read: bool,
}

/// The members that the caller sees, by number.
pub async fn members(read: &impl Read, identity: &Identity, org: &Org) -> Result<Vec<User>, Error> {
    let viewer = Viewer::of(read, identity).await?;
    let rows = orgs::members(read, org.id).await?;
    Ok(rows.into_iter().filter(|user| viewer.sees(&Owner::User(user.clone()))).collect())
}

/// What the user `user` may do in the organisation `org`.
pub async fn permissions(read: &impl Read, identity: &Identity, user: &str, org: &str) -> Result<Permissions, Error> {
    let Owner::User(user) = viewer::find(read, identity, user).await? else {
        return Err(Error::NotFound { what: "the user" });
    };
    let org = find(read, identity, org).await?;
    let owner = user.admin || owners::membership(read, org.id, user.id).await?.is_some();
    Ok(Permissions { owner, read: true })
}

/// Makes `user` an owner of the organisation with number `org`.
pub async fn add_member(app: &App, identity: &Identity, org: u64, user: &str) -> Result<(), Error> {
    let row = Membership { role: OrgRole::Owner.into(), since_ms: app.now_ms() };
    app.store
        .write(async |tx: Tx| {
            let (org, user) = both(&tx, identity, org, user).await?;
            if orgs::member_ids(&tx, org.id).await?.len() >= orgs::MEMBERS_MAX {
                return Err(Error::invalid("username", "the organisation has too many members"));
            }
            orgs::put_member(&tx, org.id, user.id, &row);
            Ok(())
        })
        .await
}

/// Ends the membership of `user`; the last owner stays.
pub async fn remove_member(app: &App, identity: &Identity, org: u64, user: &str) -> Result<(), Error> {
    app.store
        .write(async |tx: Tx| {
            let (org, user) = both(&tx, identity, org, user).await?;
            let members = orgs::member_ids(&tx, org.id).await?;
            if !members.contains(&user.id) {
                return Err(Error::NotFound { what: "the member" });
            }
            if members.len() == 1 {
                return Err(Error::Forbidden { reason: "the last owner of an organisation stays".into() });
            }
            orgs::remove_member(&tx, org.id, user.id);
            Ok(())
        })
        .await
}

async fn both(tx: &Tx, identity: &Identity, org: u64, user: &str) -> Result<(Org, User), Error> {
    let org = owners::org(tx, org).await?.ok_or(Error::NotFound { what: "the team" })?;
    let org = find_own(tx, identity, &org.name).await?;
    match viewer::find(tx, identity, user).await? {
        Owner::User(user) => Ok((org, user)),
        Owner::Org(_) => Err(Error::NotFound { what: "the user" }),
    }
}
