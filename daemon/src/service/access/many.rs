//! The access levels of many users in one repository.

use std::collections::HashMap;

use farrier_proto::store::{Repository, User};

use super::{AccessLevel, collaborator_level, is_public, team_level};
use crate::store::{Read, StoreError, owners::Owner, repositories, teams};

/// Returns the access level of each of `users` with all rights of the account, in the order of `users`. Reads teams and
/// collaborators once, not for each user.
pub async fn access_levels(
    read: &impl Read,
    users: &[User],
    owner: &Owner,
    repository: &Repository,
) -> Result<Vec<AccessLevel>, StoreError> {
    let mut given: HashMap<u64, AccessLevel> = HashMap::new();
    let mut give = |user: u64, level: AccessLevel| {
        let known = given.entry(user).or_insert(AccessLevel::Hidden);
        *known = known.highest(level);
    };
    if let Owner::Org(org) = owner {
        for team in teams::of_org(read, org.id).await? {
            if teams::has_repository(read, &team, repository.id).await? {
                for user in teams::member_ids(read, &team).await? {
                    give(user, team_level(&team));
                }
            }
        }
    }
    for (user, permission) in repositories::collaborators(read, repository.id, usize::MAX).await? {
        give(user, collaborator_level(permission));
    }
    let level_of = |user: &User| {
        if user.admin || owner.id() == user.id {
            return AccessLevel::Owner;
        }
        let own = given.get(&user.id).copied().unwrap_or(AccessLevel::Hidden);
        if is_public(Some(user), owner, repository) { own.highest(AccessLevel::Reader) } else { own }
    };
    Ok(users.iter().map(level_of).collect())
}
