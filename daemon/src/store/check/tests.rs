use std::sync::Arc;

use farrier_proto::store::{OwnerKind, Reference, Repository, User};

use super::*;
use crate::store::{engine::MemoryEngine, ids::Kind, owners, repositories};

/// A user with two repositories.
async fn store() -> Store {
    let store = Store::open(Arc::new(MemoryEngine::new())).await.expect("a store");
    let user = User { id: 1, name: "octo".into(), email: "o@x.example".into(), ..User::default() };
    let row = |id: u64, name: &str| Repository {
        id,
        owner_id: 1,
        owner_kind: OwnerKind::User.into(),
        name: name.into(),
        ..Repository::default()
    };
    let (user, rows) = (&user, &[row(1, "one"), row(2, "two")]);
    let made = store.write(async |tx: Tx| {
        assert_eq!(owners::insert_user(&tx, user).await?, None);
        for row in rows {
            assert!(repositories::insert(&tx, row).await?);
        }
        Ok::<_, StoreError>(())
    });
    made.await.expect("rows");
    store
}

async fn all(store: &Store) -> Vec<Disagreement> {
    let read = store.read().await.expect("a snapshot");
    let mut found = Vec::new();
    for table in TABLES {
        found.extend(page(&read, table, None).await.expect("readable").found);
    }
    found
}

/// Writes raw entries; `None` removes.
async fn spoil(store: &Store, entries: &[(Key, Option<Reference>)]) {
    let entries =
        entries.iter().map(|(key, row)| Fix { key: key.clone(), value: row.as_ref().map(super::super::value::encode) });
    apply(store, &entries.collect::<Vec<_>>()).await.expect("written");
}

#[tokio::test]
async fn what_is_broken_is_named_and_mended_and_nothing_else() {
    let store = store().await;
    assert_eq!(all(&store).await, []);
    let to = |id| Some(Reference { id });
    let cases = [
        (keys::repository_name(1, "one"), None, Problem::Missing),
        (keys::owner_name("octo"), None, Problem::Missing),
        (keys::user_email("o@x.example"), to(7), Problem::Wrong),
        (keys::repository_name(1, "other"), to(1), Problem::Stray),
        (keys::trigram(*b"xyz", 2), to(2), Problem::Stray),
        (keys::repository_garbage(9), to(9), Problem::Stray),
        (keys::repository_redirect(1, "was"), to(9), Problem::LeadsNowhere),
        (keys::collaborator(2, 9), to(1), Problem::Orphan),
    ];
    for (key, value, problem) in cases {
        spoil(&store, &[(key.clone(), value)]).await;
        let found = all(&store).await;
        let named = found.iter().find(|found| found.key == key && found.problem == problem);
        assert!(named.is_some(), "{problem:?}: {found:?}");
        for table in TABLES {
            let found = page(&store.read().await.expect("a snapshot"), table, None).await.expect("readable").found;
            let fixes: Vec<Fix> = found.into_iter().filter_map(|found| found.fix).collect();
            apply(&store, &fixes).await.expect("mended");
        }
        let left: Vec<_> = all(&store).await.into_iter().filter(|found| found.problem != Problem::Orphan).collect();
        assert_eq!(left, [], "after {problem:?}");
        assert!(problem != Problem::Orphan || !all(&store).await.is_empty(), "what may be data stays");
    }
}

#[tokio::test]
async fn a_name_that_two_rows_claim_is_left_alone() {
    let store = store().await;
    let made = store.write(async |tx: Tx| {
        let twin = Repository {
            id: 3,
            owner_id: 1,
            owner_kind: OwnerKind::User.into(),
            name: "one".into(),
            ..Repository::default()
        };
        repositories::put(&tx, None, &twin);
        Ok::<_, StoreError>(())
    });
    made.await.expect("written");
    let found = all(&store).await;
    let [claimed] = found.as_slice() else { panic!("{found:?}") };
    assert_eq!(
        (claimed.key.clone(), claimed.problem, &claimed.fix),
        (keys::repository_name(1, "one"), Problem::Claimed, &None)
    );
}

#[tokio::test]
async fn ids_in_use_are_not_given_again() {
    let store = store().await;
    let read = store.read().await.expect("a snapshot");
    let outside = |kind| if kind == Kind::BlockFile { 5 } else { 0 };
    let found = behind(&read, outside).await.expect("readable");
    let expected = [(Kind::Owner, 1), (Kind::Repository, 2), (Kind::BlockFile, 5)];
    assert_eq!(found, expected.map(|(kind, used)| Behind { kind, used }));
    for behind in found {
        raise(&store, behind).await.expect("written");
    }
    assert_eq!(behind(&store.read().await.expect("a snapshot"), outside).await.expect("readable"), []);
    assert_eq!(store.next_id(Kind::Repository).await.expect("an id"), 3);
}
