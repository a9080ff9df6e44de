//! Decides what each caller may do. All permission checks of the daemon use this module.

mod many;

use farrier_proto::store::{OrgRole, Permission, Repository, Team, User, Visibility};

pub use self::many::access_levels;
use super::Error;
pub use crate::model::access_level::{AccessLevel, Action};
use crate::model::access_level::{UnitLevel, UnitLevels};
use crate::{
    model::{
        identity::{Account, Identity},
        scope::{Category, Level},
        team_units,
    },
    store::{Read, StoreError, owners, owners::Owner, repositories, teams},
};

/// Returns the access level of `identity` for a repository of `owner`.
pub async fn access_level(
    read: &impl Read,
    identity: &Identity,
    owner: &Owner,
    repository: &Repository,
) -> Result<AccessLevel, StoreError> {
    let own = own_right(read, identity, owner, repository).await?;
    let public = is_public(identity.account().map(|account| &account.user), owner, repository);
    let floor = if public { AccessLevel::Reader } else { AccessLevel::Hidden };
    match identity {
        Identity::CiAgent => return Ok(AccessLevel::CiAgent { sees: public }),
        Identity::DeployKey(key) if key.repository_id != repository.id || repository.deleted => {
            return Ok(AccessLevel::Hidden);
        }
        Identity::DeployKey(key) if key.read_only => return Ok(AccessLevel::Reader),
        Identity::DeployKey(_) => return Ok(AccessLevel::Writer),
        Identity::Anonymous | Identity::Account(_) => {}
    }
    Ok(limited(identity, owner, repository, own.highest(floor), floor))
}

/// Returns the level that the account has: the highest of owner, teams and collaboration, for each unit.
async fn own_right(
    read: &impl Read,
    identity: &Identity,
    owner: &Owner,
    repository: &Repository,
) -> Result<AccessLevel, StoreError> {
    let Some(account) = identity.account() else { return Ok(AccessLevel::Hidden) };
    if account.user.admin || owner.id() == account.user.id {
        return Ok(AccessLevel::Owner);
    }
    let mut level = AccessLevel::Hidden;
    if let Owner::Org(org) = owner {
        match owners::membership(read, org.id, account.user.id).await?.map(|member| member.role()) {
            Some(OrgRole::Owner) => return Ok(AccessLevel::Owner),
            Some(_) => level = through_teams(read, org.id, account.user.id, repository.id).await?,
            None => {}
        }
    }
    let collaboration = collaborator_level(repositories::collaborator(read, repository.id, account.user.id).await?);
    Ok(level.highest(collaboration))
}

/// Returns the level of a collaborator.
fn collaborator_level(permission: Permission) -> AccessLevel {
    match permission {
        Permission::None => AccessLevel::Hidden,
        Permission::Read => AccessLevel::Reader,
        Permission::Write => AccessLevel::Writer,
        Permission::Admin => AccessLevel::Administrator,
    }
}

/// Returns the level that a user has through the teams of the organization that owns the repository.
pub async fn through_teams(read: &impl Read, org: u64, user: u64, repository: u64) -> Result<AccessLevel, StoreError> {
    let mut level = AccessLevel::Hidden;
    for team in teams::of_user(read, user, Some(org)).await? {
        if teams::has_repository(read, &team, repository).await? {
            level = level.highest(team_level(&team));
        }
    }
    Ok(level)
}

/// Returns the level that the members of a team have in its repositories.
pub fn team_level(team: &Team) -> AccessLevel {
    if teams::is_owners(team) {
        return AccessLevel::Owner;
    }
    if team.admin {
        return AccessLevel::Administrator;
    }
    let level = |unit| match teams::unit(team, unit) {
        Permission::None => UnitLevel::None,
        Permission::Read => UnitLevel::Read,
        Permission::Write | Permission::Admin => UnitLevel::Write,
    };
    AccessLevel::of_units(UnitLevels {
        code: level(team_units::CODE),
        releases: level(team_units::RELEASES),
        actions: level(team_units::ACTIONS),
    })
}

/// Returns whether the user may create repositories in an organization: as an owner, or through a team.
pub async fn may_create_in(read: &impl Read, org: u64, user: u64) -> Result<bool, StoreError> {
    Ok(match owners::membership(read, org, user).await?.map(|member| member.role()) {
        None => false,
        Some(OrgRole::Owner) => true,
        Some(_) => teams::of_user(read, user, Some(org)).await?.iter().any(|team| team.can_create_org_repo),
    })
}

/// Returns whether a caller with the account `user`, or without one, sees a repository without a right in it.
fn is_public(user: Option<&User>, owner: &Owner, repository: &Repository) -> bool {
    let sees_owner = match owner.visibility() {
        // A restricted account sees only repositories that it has explicit access to.
        _ if user.is_some_and(|user| user.restricted) => false,
        Visibility::Public => true,
        Visibility::Limited => user.is_some(),
        Visibility::Private => false,
    };
    sees_owner && !repository.private && !repository.deleted
}

/// Reduces the account's access level to what its token allows. A token never adds rights.
fn limited(
    identity: &Identity,
    owner: &Owner,
    repository: &Repository,
    full: AccessLevel,
    floor: AccessLevel,
) -> AccessLevel {
    let Some(token) = identity.token() else { return full };
    let is_public = !repository.private && owner.visibility() == Visibility::Public;
    if token.scopes.public_only() && !is_public {
        return AccessLevel::Hidden;
    }
    let outside = !token.repositories.is_empty() && !token.repositories.contains(&repository.id);
    if outside { floor } else { full }
}

/// Returns an error unless `access_level` permits `action`. Callers who may not read get "not found".
pub fn require(identity: &Identity, access_level: AccessLevel, action: Action) -> Result<(), Error> {
    if access_level.allows(action) {
        return Ok(());
    }
    if !access_level.allows(Action::Read) {
        return Err(Error::NotFound { what: "the repository" });
    }
    match identity {
        Identity::Anonymous => Err(Error::Unauthenticated { reason: "token is required".into() }),
        _ => Err(Error::Forbidden { reason: "the caller has no right to do this with the repository".into() }),
    }
}

/// Returns an error if nobody may write to `repository`: it is archived, or it is a mirror that only its source
/// changes. Every change of refs, files and releases by a caller asks this function.
pub fn require_writable(repository: &Repository) -> Result<(), Error> {
    if repository.archived {
        return Err(Error::Archived);
    }
    if is_mirror(repository) {
        return Err(Error::Mirror);
    }
    Ok(())
}

/// Returns whether `repository` is a pull mirror.
pub fn is_mirror(repository: &Repository) -> bool {
    repository.mirror.as_ref().is_some_and(|mirror| mirror.pull)
}

/// Returns whether the caller has full control over everything that belongs to `owner`. A token that is limited to
/// repositories never has it, and a token that is limited to public objects only over a public owner.
pub async fn owns(read: &impl Read, identity: &Identity, owner: &Owner) -> Result<bool, StoreError> {
    let is_hidden = is_public_only(identity) && owner.visibility() != Visibility::Public;
    let is_limited = is_hidden || is_repository_limited(identity);
    let Some(account) = identity.account().filter(|_| !is_limited) else { return Ok(false) };
    if account.user.admin || owner.id() == account.user.id {
        return Ok(true);
    }
    let role = owners::membership(read, owner.id(), account.user.id).await?.map(|member| member.role());
    Ok(role == Some(OrgRole::Owner))
}

/// Returns the caller's account, or an error if the caller has none.
pub fn require_account(identity: &Identity) -> Result<&Account, Error> {
    match identity {
        Identity::Account(account) => Ok(account),
        Identity::Anonymous => Err(Error::Unauthenticated { reason: "token is required".into() }),
        Identity::CiAgent => {
            Err(Error::Forbidden { reason: "a local CI agent may only begin and end jobs and use artifacts".into() })
        }
        Identity::DeployKey(_) => Err(Error::Forbidden { reason: "a deploy key may only fetch and push".into() }),
    }
}

/// Returns whether the caller's token is limited to public objects.
pub fn is_public_only(identity: &Identity) -> bool {
    identity.token().is_some_and(|token| token.scopes.public_only())
}

/// Returns whether the caller's token is limited to certain repositories.
pub fn is_repository_limited(identity: &Identity) -> bool {
    identity.token().is_some_and(|token| !token.repositories.is_empty())
}

/// Returns an error if the caller's token is limited to certain repositories. For everything that does not belong to
/// one repository: accounts, organizations, tokens, new repositories, administration.
pub fn require_all_repositories(identity: &Identity) -> Result<(), Error> {
    if is_repository_limited(identity) {
        return Err(Error::Forbidden { reason: "token is limited to repositories".into() });
    }
    Ok(())
}

/// Returns an error if the caller's token is limited to public objects or to certain repositories.
pub fn require_whole_account(identity: &Identity) -> Result<(), Error> {
    if is_public_only(identity) {
        return Err(Error::Forbidden { reason: "token scope is limited to public things".into() });
    }
    require_all_repositories(identity)
}

/// Returns an error if the caller's token lacks the scope for a request of `level` in `category`.
pub fn require_scope(identity: &Identity, category: Category, level: Level) -> Result<(), Error> {
    if identity.in_scope(category, level) {
        return Ok(());
    }
    let present = identity.token().map(|token| token.scopes.words().join(", ")).unwrap_or_default();
    Err(Error::Forbidden {
        reason: format!(
            "token does not have at least one of required scope(s), required={level}:{category}, token scope={present}"
        ),
    })
}

/// Returns an error unless the caller is a site administrator whose token is not limited to repositories.
pub fn require_site_admin(identity: &Identity) -> Result<(), Error> {
    match identity {
        Identity::Anonymous => Err(Error::Unauthenticated { reason: "token is required".into() }),
        _ if identity.is_admin() => require_all_repositories(identity),
        _ => Err(Error::Forbidden { reason: "user should be the site admin".into() }),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use farrier_proto::store::{Collaborator, Membership, Org};

    use super::*;
    use crate::{
        model::{
            identity::{Proof, TokenProof},
            scope::Scopes,
        },
        store::{Store, Tx, engine::MemoryEngine, keys},
    };

    fn account(id: u64, admin: bool, proof: Proof) -> Identity {
        Identity::Account(Box::new(Account { user: User { id, admin, ..User::default() }, proof }))
    }

    fn token(scopes: &str, repositories: Vec<u64>) -> Proof {
        Proof::Token(TokenProof {
            id: 1,
            user_id: 1,
            scopes: Scopes::parse(scopes.split(' ')).expect("scopes"),
            repositories,
            as_password: false,
            expires_ms: 0,
        })
    }

    /// Repository 5, with collaborators 7 (read), 8 (write), 9 (admin); organization 30 owned by 3.
    async fn store() -> Store {
        let store = Store::open(Arc::new(MemoryEngine::new())).await.expect("a store");
        store
            .write(async |tx: Tx| {
                for (user, permission) in [(7, Permission::Read), (8, Permission::Write), (9, Permission::Admin)] {
                    tx.put(keys::collaborator(5, user), &Collaborator { permission: permission.into() });
                }
                tx.put(
                    keys::org_member(30, 3),
                    &Membership { role: OrgRole::Owner.into(), since_ms: 1, concealed: false },
                );
                Ok::<_, StoreError>(())
            })
            .await
            .expect("rows");
        store
    }

    fn letters(access_level: AccessLevel) -> String {
        use Action::{Administer, Own, Read, ReadActions, Write, WriteActions};
        let all = [(Read, 'r'), (Write, 'w'), (Administer, 'a'), (Own, 'o'), (ReadActions, 'R'), (WriteActions, 'W')];
        all.into_iter().filter(|(action, _)| access_level.allows(*action)).map(|(_, letter)| letter).collect()
    }

    #[tokio::test]
    async fn each_access_level_allows_the_expected_actions() {
        let read = store().await.read().await.expect("a snapshot");
        let user =
            |visibility: Visibility| Owner::User(User { id: 2, visibility: visibility.into(), ..User::default() });
        let org = Owner::Org(Org { id: 30, ..Org::default() });
        let private_org = Owner::Org(Org { id: 30, visibility: Visibility::Private.into(), ..Org::default() });
        let public = Repository { id: 5, ..Repository::default() };
        let private = Repository { private: true, ..public.clone() };
        let (open, limited) = (user(Visibility::Public), user(Visibility::Limited));
        for (identity, owner, in_public, in_private) in [
            (Identity::Anonymous, &open, "rR", ""),
            (Identity::Anonymous, &limited, "", ""),
            (account(4, false, Proof::Peer), &open, "rR", ""),
            (account(4, false, Proof::Peer), &limited, "rR", ""),
            (account(4, false, Proof::Peer), &user(Visibility::Private), "", ""),
            (account(2, false, Proof::Peer), &open, "rwaoRW", "rwaoRW"),
            (account(1, true, Proof::Peer), &open, "rwaoRW", "rwaoRW"),
            (account(7, false, Proof::Peer), &open, "rR", "rR"),
            (account(8, false, Proof::Peer), &open, "rwRW", "rwRW"),
            (account(9, false, Proof::Peer), &open, "rwaRW", "rwaRW"),
            (account(3, false, Proof::Peer), &org, "rwaoRW", "rwaoRW"),
            (account(2, false, Proof::Peer), &org, "rR", ""),
            (Identity::CiAgent, &open, "rRW", "RW"),
            (account(2, false, token("all", vec![5])), &open, "rwaoRW", "rwaoRW"),
            (account(2, false, token("all", vec![6])), &open, "rR", ""),
            (account(2, false, token("all public-only", vec![])), &open, "rwaoRW", ""),
            (account(2, false, token("all public-only", vec![])), &limited, "", ""),
            (account(1, true, token("all public-only", vec![])), &user(Visibility::Private), "", ""),
            (account(3, false, token("all public-only", vec![])), &org, "rwaoRW", ""),
            (account(3, false, token("all public-only", vec![])), &private_org, "", ""),
        ] {
            for (repository, expected) in [(&public, in_public), (&private, in_private)] {
                let got = access_level(&read, &identity, owner, repository).await.expect("rows");
                assert_eq!(letters(got), expected, "{identity:?} {owner:?} private={}", repository.private);
            }
        }
    }

    #[tokio::test]
    async fn levels_of_many_users_are_those_of_each() {
        let read = store().await.read().await.expect("a snapshot");
        let users: Vec<User> =
            (1..=9).map(|id| User { id, admin: id == 1, restricted: id > 7, ..User::default() }).collect();
        let owner = Owner::User(User { id: 2, visibility: Visibility::Limited.into(), ..User::default() });
        for owner in [owner, Owner::Org(Org { id: 30, ..Org::default() })] {
            for private in [false, true] {
                let repository = Repository { id: 5, private, ..Repository::default() };
                let many = access_levels(&read, &users, &owner, &repository).await.expect("rows");
                for (user, level) in users.iter().zip(many) {
                    let account = Account { user: user.clone(), proof: Proof::Peer };
                    let identity = Identity::Account(Box::new(account));
                    let one = access_level(&read, &identity, &owner, &repository).await.expect("rows");
                    assert_eq!(level, one, "{user:?} {owner:?} private={private}");
                }
            }
        }
    }

    #[test]
    fn hidden_repositories_are_not_found_and_visible_ones_require_more_rights() {
        let other = account(4, false, Proof::Peer);
        let check = |identity, access_level| require(identity, access_level, Action::Administer);
        assert!(matches!(check(&other, AccessLevel::Hidden), Err(Error::NotFound { .. })));
        assert!(matches!(check(&other, AccessLevel::Reader), Err(Error::Forbidden { .. })));
        assert!(matches!(check(&Identity::Anonymous, AccessLevel::Reader), Err(Error::Unauthenticated { .. })));
        assert!(check(&other, AccessLevel::Administrator).is_ok());
    }
}
