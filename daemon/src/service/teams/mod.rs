//! Teams of organizations: owners of an organization manage them, and its members see them.
//!
//! The rights that teams give are decided in [`super::access`].

mod edit;
mod members;
mod repositories;
mod rules;

use farrier_proto::store::{Org, Team};

pub use self::{
    edit::{create, delete, edit},
    members::{add_member, leave_org, member, members, remove_member},
    repositories::{
        add_repository, add_team, of_repository, remove_repository, remove_team, repositories, repository,
        team_of_repository,
    },
};
use super::{Error, access, audit::Object, orgs, viewer::Viewer};
use crate::{
    model::identity::Identity,
    store::{Read, owners, owners::Owner, teams as rows},
};

const MISSING: Error = Error::NotFound { what: "the team" };

/// A team with its organization.
#[derive(Clone, Debug)]
pub struct FoundTeam {
    /// The team.
    pub team: Team,
    /// Its organization.
    pub org: Org,
}

impl FoundTeam {
    /// Returns the object of audit entries about the team.
    fn object(&self) -> Object {
        Object::new("team", self.team.id, &self.team.name).owned_by(&self.org.name)
    }
}

/// Returns whether the caller sees the teams of an organization: as a member or a site administrator.
async fn sees_teams(read: &impl Read, identity: &Identity, org: &Org) -> Result<bool, Error> {
    let viewer = Viewer::of(read, identity).await?;
    Ok(viewer.sees(&Owner::Org(org.clone())) && viewer.sees_concealed_members(org.id))
}

/// Returns the team `id`, if the caller sees it.
pub async fn find(read: &impl Read, identity: &Identity, id: &str) -> Result<FoundTeam, Error> {
    access::require_account(identity)?;
    let found = row(read, id).await?;
    if sees_teams(read, identity, &found.org).await? { Ok(found) } else { Err(MISSING) }
}

async fn row(read: &impl Read, id: &str) -> Result<FoundTeam, Error> {
    let team = rows::get(read, id.parse().map_err(|_| MISSING)?).await?.ok_or(MISSING)?;
    let org = owners::org(read, team.org_id).await?.ok_or(MISSING)?;
    Ok(FoundTeam { team, org })
}

/// Returns the team `id`, if the caller owns its organization. Callers who see the organization get "forbidden".
async fn find_own(read: &impl Read, identity: &Identity, id: &str) -> Result<FoundTeam, Error> {
    access::require_account(identity)?;
    let found = row(read, id).await?;
    let owner = Owner::Org(found.org.clone());
    if !Viewer::of(read, identity).await?.sees(&owner) {
        return Err(MISSING);
    }
    if access::owns(read, identity, &owner).await? {
        return Ok(found);
    }
    Err(Error::Forbidden { reason: "must be an owner of the organization".into() })
}

/// Returns the organization `name` and its teams that match `text`, if the caller sees them: the owners, then the
/// others by name.
pub async fn of_org(
    read: &impl Read,
    identity: &Identity,
    name: &str,
    text: &str,
    with_descriptions: bool,
) -> Result<(Org, Vec<Team>), Error> {
    let org = orgs::find(read, identity, name).await?;
    if !sees_teams(read, identity, &org).await? {
        return Err(Error::Forbidden { reason: "must be a member of the organization".into() });
    }
    let text = text.to_lowercase();
    let mut teams = rows::of_org(read, org.id).await?;
    teams.retain(|team| {
        let is_described = with_descriptions && team.description.to_lowercase().contains(&text);
        team.name.to_lowercase().contains(&text) || is_described
    });
    Ok((org, teams))
}

/// Returns the teams of the caller with their organizations, by id.
pub async fn own(read: &impl Read, identity: &Identity) -> Result<Vec<FoundTeam>, Error> {
    let user = access::require_account(identity)?.user.id;
    let mut found = Vec::new();
    for org in crate::store::orgs::of_user(read, user).await? {
        if !sees_teams(read, identity, &org).await? {
            continue;
        }
        let mut teams = rows::of_user(read, user, Some(org.id)).await?;
        let owners = rows::owners_team(org.id);
        if rows::is_member(read, &owners, user).await? {
            teams.push(owners);
        }
        found.extend(teams.into_iter().map(|team| FoundTeam { team, org: org.clone() }));
    }
    found.sort_by_key(|found| found.team.id);
    Ok(found)
}
