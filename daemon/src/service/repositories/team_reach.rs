//! The repositories that an account reaches through teams, for lists.

use farrier_proto::store::Repository;

use crate::{
    model::identity::Identity,
    service::access::{self, Action},
    store::{Read, StoreError, owners, teams},
};

/// What the teams of an account add to its lists. Only teams whose rights permit an action are considered.
///
/// Teams of all repositories add organizations, whose lists are read as those of other owners. The other teams add
/// their repositories, so the cost depends on the teams of the account, as that of collaborations.
#[derive(Debug, Default)]
pub(super) struct TeamReach {
    /// Organizations with all their repositories.
    pub(super) orgs: Vec<u64>,
    /// Single repositories.
    pub(super) repositories: Vec<Repository>,
}

impl TeamReach {
    /// Reads the teams of the caller.
    pub(super) async fn of(read: &impl Read, identity: &Identity, action: Action) -> Result<Self, StoreError> {
        let Some(account) = identity.account() else { return Ok(Self::default()) };
        let mut teams = teams::of_user(read, account.user.id, None).await?;
        teams.retain(|team| access::team_level(team).allows(action));
        let (all, some): (Vec<_>, Vec<_>) = teams.into_iter().partition(|team| team.includes_all_repositories);
        let mut orgs: Vec<u64> = all.iter().map(|team| team.org_id).collect();
        orgs.sort_unstable();
        orgs.dedup();
        let mut found = Vec::new();
        for team in some.iter().filter(|team| !orgs.contains(&team.org_id)) {
            found.extend(teams::repositories(read, team).await?);
        }
        found.sort_by_key(|row| row.id);
        found.dedup_by_key(|row| row.id);
        Ok(Self { orgs, repositories: found })
    }

    /// Adds the organizations to `owners`, which the caller owns, and the repositories to `singles`.
    pub(super) fn add_to(self, owners: &mut Vec<u64>, singles: &mut Vec<Repository>) {
        let orgs: Vec<u64> = self.orgs.into_iter().filter(|org| !owners.contains(org)).collect();
        owners.extend(orgs);
        singles.extend(self.repositories);
    }
}

/// Returns the repositories of a team. Teams are visible to the members of their organization and to site
/// administrators; for others, the team has none.
pub(super) async fn of_team(read: &impl Read, identity: &Identity, id: u64) -> Result<Vec<Repository>, StoreError> {
    let (Some(account), Some(team)) = (identity.account(), teams::get(read, id).await?) else {
        return Ok(Vec::new());
    };
    if !account.user.admin && owners::membership(read, team.org_id, account.user.id).await?.is_none() {
        return Ok(Vec::new());
    }
    teams::repositories(read, &team).await
}
