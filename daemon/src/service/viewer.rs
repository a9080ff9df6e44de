//! Decides which users and organizations a caller sees.

use std::collections::BTreeSet;

use farrier_proto::store::{OwnerKind, Visibility};

use super::{Error, access};
use crate::{
    model::identity::Identity,
    store::{Read, StoreError, orgs, owners, owners::Owner},
};

/// The properties of a caller that decide which users and organizations it sees. Read once per request.
#[derive(Clone, Debug, Default)]
pub struct Viewer {
    /// Id of the account, or 0.
    id: u64,
    admin: bool,
    restricted: bool,
    public_only: bool,
    /// Ids of the account's organizations.
    orgs: BTreeSet<u64>,
}

impl Viewer {
    /// Reads the properties of `identity`.
    pub async fn of(read: &impl Read, identity: &Identity) -> Result<Self, StoreError> {
        let Some(account) = identity.account() else { return Ok(Self::default()) };
        let id = account.user.id;
        Ok(Self {
            id,
            admin: account.user.admin,
            restricted: account.user.restricted,
            public_only: access::is_public_only(identity),
            orgs: orgs::ids_of_user(read, id).await?.into_iter().collect(),
        })
    }

    /// Returns whether the caller sees the concealed memberships of the organization `org`.
    pub fn sees_concealed_members(&self, org: u64) -> bool {
        !self.public_only && (self.admin || self.orgs.contains(&org))
    }

    /// Returns the visibilities of users that the caller sees all. The caller may also see single other users.
    pub fn user_classes(&self) -> &'static [Visibility] {
        match self {
            Self { public_only: false, admin: true, .. } => {
                &[Visibility::Public, Visibility::Limited, Visibility::Private]
            }
            Self { restricted: true, .. } => &[],
            Self { public_only: false, id: 1.., .. } => &[Visibility::Public, Visibility::Limited],
            _ => &[Visibility::Public],
        }
    }

    /// Returns whether the caller sees `owner`.
    pub fn sees(&self, owner: &Owner) -> bool {
        let public = owner.visibility() == Visibility::Public;
        if self.public_only && !public {
            return false;
        }
        if self.admin || (self.id != 0 && owner.id() == self.id) || self.orgs.contains(&owner.id()) {
            return true;
        }
        match owner.visibility() {
            Visibility::Public => !self.restricted,
            Visibility::Limited => self.id != 0 && !self.restricted,
            Visibility::Private => false,
        }
    }
}

/// Returns the user or organization `name`, if the caller sees it. A renamed one gives [`Error::Renamed`].
pub async fn find(read: &impl Read, identity: &Identity, name: &str) -> Result<Owner, Error> {
    let missing = Error::NotFound { what: "the user" };
    let viewer = Viewer::of(read, identity).await?;
    if let Some(owner) = owners::owner_by_name(read, name).await? {
        return if viewer.sees(&owner) { Ok(owner) } else { Err(missing) };
    }
    match owners::redirect(read, name).await? {
        Some(owner) if viewer.sees(&owner) => Err(Error::Renamed { from: name.into(), to: owner.name().into() }),
        _ => Err(missing),
    }
}

/// Like [`find`], but only for this kind of owner.
pub async fn find_of_kind(read: &impl Read, identity: &Identity, name: &str, kind: OwnerKind) -> Result<Owner, Error> {
    let what = if kind == OwnerKind::Org { "the organization" } else { "the user" };
    match find(read, identity, name).await {
        Ok(owner) if owner.kind() == kind => Ok(owner),
        Ok(_) | Err(Error::NotFound { .. }) => Err(Error::NotFound { what }),
        Err(other) => Err(other),
    }
}

#[cfg(test)]
mod tests {
    use Visibility::{Limited, Private, Public};
    use farrier_proto::store::{Org, User};

    use super::*;

    #[test]
    fn visibility_decides_who_sees_an_account() {
        let anonymous = Viewer::default();
        let member = Viewer { id: 4, orgs: [30].into(), ..Viewer::default() };
        let narrow = Viewer { public_only: true, ..member.clone() };
        let restricted = Viewer { restricted: true, ..member.clone() };
        let admin = Viewer { id: 1, admin: true, ..Viewer::default() };
        let viewers = [&anonymous, &member, &narrow, &restricted, &admin];
        let user = |id, v: Visibility| Owner::User(User { id, visibility: v.into(), ..User::default() });
        let org = |id, v: Visibility| Owner::Org(Org { id, visibility: v.into(), ..Org::default() });
        for (owner, expected) in [
            (user(7, Public), "yyyny"),
            (user(7, Limited), "nynny"),
            (user(7, Private), "nnnny"),
            (user(4, Private), "nynyy"),
            (org(30, Private), "nynyy"),
            (org(31, Private), "nnnny"),
            (org(31, Limited), "nynny"),
        ] {
            let got: String = viewers.iter().map(|viewer| if viewer.sees(&owner) { 'y' } else { 'n' }).collect();
            assert_eq!(got, expected, "{owner:?}");
        }
    }
}
