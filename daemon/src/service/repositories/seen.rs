//! The repositories that a caller sees, for lists that have their own index, such as forks and stars.

use farrier_proto::store::{Repository, Visibility};

use super::list;
use crate::{
    model::identity::Identity,
    store::{Read, StoreError, listings::RepositoryList},
};

/// The repositories that a caller sees. Decides for a row without reading its owner.
pub(super) struct SeenRepositories {
    /// Classes of which the caller sees all repositories.
    pub(super) classes: Vec<Visibility>,
    /// Classes of single owners.
    pub(super) of_owners: Vec<RepositoryList>,
    /// Single repositories that are in none of these classes, by ID.
    pub(super) singles: Vec<Repository>,
}

impl SeenRepositories {
    /// Reads what `identity` sees.
    pub(super) async fn of(read: &impl Read, identity: &Identity) -> Result<Self, StoreError> {
        let mut listing = list::visible(read, identity, 0).await?;
        list::restrict(identity, &mut listing);
        let (all, of_owners): (Vec<_>, Vec<_>) = listing.lists.into_iter().partition(|list| list.scope == 0);
        let classes = all.into_iter().map(|list| list.class).collect();
        Ok(Self { classes, of_owners, singles: listing.singles })
    }

    /// Returns whether the caller sees a repository.
    pub(super) fn sees(&self, row: &Repository) -> bool {
        !row.deleted
            && (self.classes.contains(&row.listed())
                || self.of_owners.contains(&RepositoryList { scope: row.owner_id, class: row.listed() })
                || self.singles.binary_search_by_key(&row.id, |single| single.id).is_ok())
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use Visibility::{Limited, Private, Public};
    use farrier_proto::store::{Membership, Org, OrgRole, OwnerKind, Permission, Team, TeamUnit, User};

    use super::*;
    use crate::{
        model::{
            identity::{Account, Proof, TokenProof},
            scope::Scopes,
            team_units::{CODE, RELEASES},
        },
        service::{
            access::{self, Action},
            repositories::list::RepositoryQuery,
        },
        store::{Store, Tx, engine::MemoryEngine, listings::Sort, orgs, owners, repositories, teams},
    };

    fn row(id: u64, owner_id: u64, listed: Visibility) -> Repository {
        Repository { id, owner_id, listed: listed.into(), ..Repository::default() }
    }

    #[test]
    fn a_repository_is_seen_by_its_class_its_owner_or_its_id() {
        let seen = SeenRepositories {
            classes: vec![Public],
            of_owners: vec![RepositoryList { scope: 3, class: Private }],
            singles: vec![row(5, 9, Private), row(7, 9, Limited)],
        };
        for (id, owner, class, expected) in [
            (1, 9, Public, true),
            (1, 9, Limited, false),
            (1, 9, Private, false),
            (1, 3, Private, true),
            (1, 3, Limited, false),
            (5, 9, Private, true),
            (6, 9, Private, false),
            (7, 9, Limited, true),
        ] {
            assert_eq!(seen.sees(&row(id, owner, class)), expected, "{id} {owner} {class:?}");
        }
        assert!(!seen.sees(&Repository { deleted: true, ..row(5, 9, Private) }));
    }

    /// An administrator, two users, a restricted user and a restricted administrator.
    fn users() -> [User; 5] {
        let user = |id, visibility: Visibility, admin, restricted| User {
            id,
            name: format!("u{id}"),
            visibility: visibility.into(),
            admin,
            restricted,
            ..User::default()
        };
        [
            user(1, Public, true, false),
            user(2, Public, false, false),
            user(3, Private, false, false),
            user(4, Public, false, true),
            user(5, Limited, true, true),
        ]
    }

    /// Returns a team that may read one unit.
    fn team(id: u64, org_id: u64, unit: &str, includes_all_repositories: bool) -> Team {
        let unit = TeamUnit { unit: unit.into(), permission: Permission::Read.into() };
        Team { id, org_id, name: format!("t{id}"), units: vec![unit], includes_all_repositories, ..Team::default() }
    }

    /// Inserts a repository that is not private and a private one of an owner: ten times its ID, and one more. Returns
    /// their IDs.
    async fn insert_two(tx: &Tx, owner: u64, kind: OwnerKind, visibility: Visibility) -> Result<[u64; 2], StoreError> {
        let ids = [10 * owner, 10 * owner + 1];
        for (id, private) in ids.into_iter().zip([false, true]) {
            let listed = repositories::class(visibility, private);
            let row = Repository { name: format!("r{id}"), owner_kind: kind.into(), private, ..row(id, owner, listed) };
            assert!(repositories::insert(tx, &row).await?);
        }
        Ok(ids)
    }

    /// Returns a store with the users, organizations, teams and collaborators, and the IDs of the repositories.
    async fn filled() -> (Store, Vec<u64>) {
        let store = Store::open(Arc::new(MemoryEngine::new())).await.expect("a store");
        let fill = async |tx: Tx| {
            let mut ids = Vec::new();
            for row in users() {
                assert!(owners::insert_user(&tx, &row).await?.is_none());
                ids.extend(insert_two(&tx, row.id, OwnerKind::User, row.visibility()).await?);
            }
            for (id, visibility) in [(30, Public), (31, Limited), (32, Private)] {
                let org = Org { id, name: format!("o{id}"), visibility: visibility.into(), ..Org::default() };
                assert!(orgs::insert(&tx, &org).await?);
                ids.extend(insert_two(&tx, id, OwnerKind::Org, visibility).await?);
            }
            let owner = Membership { role: OrgRole::Owner.into(), since_ms: 1, concealed: false };
            orgs::put_member(&tx, 31, 2, &owner);
            for (team, repository, member) in [
                (team(40, 32, CODE, true), 0, 2),
                (team(41, 31, CODE, false), 311, 3),
                (team(42, 30, RELEASES, false), 301, 2),
                (team(43, 30, CODE, false), 300, 4),
                (team(44, 32, RELEASES, true), 0, 3),
            ] {
                assert!(teams::insert(&tx, &team).await?);
                teams::add_member(&tx, &team, member, 1).await?;
                if repository != 0 {
                    teams::add_repository(&tx, team.id, repository, 1);
                }
            }
            for (repository, user) in [(21, 4), (30, 4), (31, 2), (301, 3), (40, 2), (321, 4)] {
                repositories::set_collaborator(&tx, repository, user, Permission::Read);
            }
            Ok::<_, StoreError>(ids)
        };
        let ids = store.write(fill).await.expect("rows");
        (store, ids)
    }

    /// Returns callers without an account, and each account with its own rights and with tokens that limit them.
    fn callers() -> Vec<Identity> {
        let token = |user_id: u64, scopes: &str, repositories: &[u64]| {
            let scopes = Scopes::parse(scopes.split(' ')).expect("scopes");
            let repositories = repositories.to_vec();
            Proof::Token(TokenProof { id: 1, user_id, scopes, repositories, as_password: false, expires_ms: 0 })
        };
        let mut callers = vec![Identity::Anonymous, Identity::CiAgent];
        for user in users() {
            for proof in [
                Proof::Password,
                token(user.id, "all public-only", &[]),
                token(user.id, "all", &[10, 20, 21, 30, 31, 41, 300, 301, 311, 321]),
                token(user.id, "all public-only", &[20, 21, 31, 301]),
            ] {
                callers.push(Identity::Account(Box::new(Account { user: user.clone(), proof })));
            }
        }
        callers
    }

    #[tokio::test]
    async fn a_caller_sees_exactly_the_repositories_that_it_may_read() {
        let (store, ids) = filled().await;
        let read = store.read().await.expect("a snapshot");
        let rows = repositories::many(&read, &ids).await.expect("rows");
        assert_eq!(rows.len(), 16);
        for caller in callers() {
            let seen = SeenRepositories::of(&read, &caller).await.expect("lists");
            for row in &rows {
                let owner = owners::owner(&read, row.owner_kind(), row.owner_id).await.expect("a row").expect("a row");
                let level = access::access_level(&read, &caller, &owner, row).await.expect("an access level");
                assert_eq!(seen.sees(row), level.allows(Action::Read), "{} {caller:?}", row.id);
            }
        }
    }

    #[tokio::test]
    async fn lists_count_only_the_repositories_that_they_contain() {
        let (store, _) = filled().await;
        let read = store.read().await.expect("a snapshot");
        for caller in callers() {
            let found = list(&read, &caller, &RepositoryQuery::default(), 0, 100).await;
            let (found, total) = found.expect("a list");
            assert_eq!(found.len() as u64, total, "{caller:?}");
            if caller.account().is_some() {
                let found = list::reachable(&read, &caller, (Sort::Id, false), 0, 100).await;
                let (found, total) = found.expect("a list");
                assert_eq!(found.len() as u64, total, "reachable by {caller:?}");
            }
        }
    }
}
