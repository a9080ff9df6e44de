use std::sync::Arc;

use farrier_proto::store::{Event, FanOut, FanOutCursor, HookScope, OwnerKind, Reference, Repository, User};

use super::*;
use crate::store::{
    engine::MemoryEngine,
    events,
    fan_outs::{self, FanOutQueue},
    ids::IdKind,
    owners, repositories,
};

/// Creates a user with two repositories.
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
    let written = store.write(async |tx: Tx| {
        assert_eq!(owners::insert_user(&tx, user).await?, None);
        for row in rows {
            assert!(repositories::insert(&tx, row).await?);
        }
        Ok::<_, StoreError>(())
    });
    written.await.expect("rows");
    store
}

#[tokio::test]
async fn artifacts_and_cache_entries_share_their_sequence() {
    use farrier_proto::store::{Artifact, CacheEntry};

    let store = Store::open(Arc::new(MemoryEngine::new())).await.expect("a store");
    let written = store.write(async |tx: Tx| {
        crate::store::artifacts::put(&tx, None, &Artifact { id: 3, ..Artifact::default() });
        crate::store::caches::put(&tx, None, &CacheEntry { id: 7, ..CacheEntry::default() });
        Ok::<_, StoreError>(())
    });
    written.await.expect("rows");
    let stale = stale_sequences(&store.read().await.expect("a snapshot"), |_| 0).await.expect("readable");
    assert_eq!(stale, [StaleSequence { kind: IdKind::Artifact, used: 7 }]);
}

#[tokio::test]
async fn an_artifact_in_a_list_may_lack_its_size_but_has_no_other() {
    use farrier_proto::store::{Artifact, ArtifactEntry, ArtifactState, Content};

    let store = store().await;
    let content = Some(Content { size: 9, ..Content::default() });
    let row = &Artifact { id: 3, repository_id: 1, state: ArtifactState::Final.into(), content, ..Artifact::default() };
    let write = async |change: &(dyn Fn(&Tx) + Sync)| {
        let written = store.write(async |tx: Tx| {
            change(&tx);
            Ok::<_, StoreError>(())
        });
        written.await.expect("rows");
    };
    let wrong = async || all(&store).await.iter().filter(|found| found.problem == KeyProblem::Wrong).count();
    write(&|tx| crate::store::artifacts::put(tx, None, row)).await;
    assert_eq!(wrong().await, 0);
    write(&|tx| tx.put(keys::repository_artifact(1, 3), &Reference { id: 3 })).await;
    assert_eq!(wrong().await, 0, "an earlier release wrote it");
    write(&|tx| tx.put(keys::repository_artifact(1, 3), &ArtifactEntry { id: 3, stored_bytes: Some(8) })).await;
    assert_eq!(wrong().await, 1);
}

#[tokio::test]
async fn an_openpgp_key_needs_an_entry_for_each_part_and_its_account() {
    use farrier_proto::store::{GpgKey, GpgKeyPart};

    let store = store().await;
    let part = |key_id| GpgKeyPart { key_id, ..GpgKeyPart::default() };
    let row = &GpgKey { id: 5, account_id: 1, parts: vec![part(u64::MAX), part(7)], ..GpgKey::default() };
    let write = async |change: &(dyn Fn(&Tx) + Sync)| {
        let written = store.write(async |tx: Tx| {
            change(&tx);
            Ok::<_, StoreError>(())
        });
        written.await.expect("rows");
    };
    write(&|tx| crate::store::gpg_keys::put(tx, row)).await;
    assert!(all(&store).await.is_empty());
    let stale = stale_sequences(&store.read().await.expect("a snapshot"), |_| 0).await.expect("readable");
    assert!(stale.contains(&StaleSequence { kind: IdKind::GpgKey, used: 5 }), "{stale:?}");
    write(&|tx| tx.delete(keys::gpg_key_of_part(7, 1))).await;
    assert_eq!(all(&store).await.len(), 1, "a missing entry");
    write(&|tx| tx.put(keys::gpg_key_of_part(7, 1), &Reference { id: 5 })).await;
    write(&|tx| tx.put(keys::gpg_key_of_part(8, 1), &Reference { id: 5 })).await;
    assert_eq!(all(&store).await.len(), 1, "a surplus entry");
    write(&|tx| tx.delete(keys::gpg_key_of_part(8, 1))).await;
    write(&|tx| crate::store::gpg_keys::delete(tx, row)).await;
    assert!(all(&store).await.is_empty());
}

async fn all(store: &Store) -> Vec<Inconsistency> {
    let read = store.read().await.expect("a snapshot");
    let mut found = Vec::new();
    for table in TABLES {
        found.extend(page(&read, table, None).await.expect("readable").found);
    }
    found
}

/// Writes index entries directly; `None` deletes.
async fn damage(store: &Store, entries: &[(Key, Option<Reference>)]) {
    let entries =
        entries.iter().map(|(key, row)| Fix { key: key.clone(), value: row.as_ref().map(super::super::value::encode) });
    apply(store, &entries.collect::<Vec<_>>()).await.expect("written");
}

#[tokio::test]
async fn inconsistencies_are_found_and_fixed_and_other_keys_are_untouched() {
    let store = store().await;
    assert_eq!(all(&store).await, []);
    let to = |id| Some(Reference { id });
    let cases = [
        (keys::repository_name(1, "one"), None, KeyProblem::Missing),
        (keys::owner_name("octo"), None, KeyProblem::Missing),
        (keys::user_email("o@x.example"), to(7), KeyProblem::Wrong),
        (keys::repository_name(1, "other"), to(1), KeyProblem::Stray),
        (keys::trigram(*b"xyz", 2), to(2), KeyProblem::Stray),
        (keys::repository_garbage(9), to(9), KeyProblem::Stray),
        (keys::repository_redirect(1, "was"), to(9), KeyProblem::DanglingRedirect),
        (keys::collaborator(2, 9), to(1), KeyProblem::Orphan),
    ];
    for (key, value, problem) in cases {
        damage(&store, &[(key.clone(), value)]).await;
        let found = all(&store).await;
        let reported = found.iter().find(|found| found.key == key && found.problem == problem);
        assert!(reported.is_some(), "{problem:?}: {found:?}");
        for table in TABLES {
            let found = page(&store.read().await.expect("a snapshot"), table, None).await.expect("readable").found;
            let fixes: Vec<Fix> = found.into_iter().filter_map(|found| found.fix).collect();
            apply(&store, &fixes).await.expect("fixed");
        }
        let remaining: Vec<_> =
            all(&store).await.into_iter().filter(|found| found.problem != KeyProblem::Orphan).collect();
        assert_eq!(remaining, [], "after {problem:?}");
        assert!(problem != KeyProblem::Orphan || !all(&store).await.is_empty(), "an orphan may be data and is kept");
    }
}

#[tokio::test]
async fn an_index_entry_that_two_rows_need_is_not_fixed() {
    let store = store().await;
    let written = store.write(async |tx: Tx| {
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
    written.await.expect("written");
    let found = all(&store).await;
    let [claimed] = found.as_slice() else { panic!("{found:?}") };
    assert_eq!(
        (claimed.key.clone(), claimed.problem, &claimed.fix),
        (keys::repository_name(1, "one"), KeyProblem::Claimed, &None)
    );
}

#[tokio::test]
async fn ids_in_use_are_not_assigned_again() {
    let store = store().await;
    let read = store.read().await.expect("a snapshot");
    let outside = |kind| if kind == IdKind::BlockFile { 5 } else { 0 };
    let found = stale_sequences(&read, outside).await.expect("readable");
    let expected = [(IdKind::Owner, 1), (IdKind::Repository, 2), (IdKind::BlockFile, 5)];
    assert_eq!(found, expected.map(|(kind, used)| StaleSequence { kind, used }));
    for stale_sequences in found {
        raise(&store, stale_sequences).await.expect("written");
    }
    assert_eq!(stale_sequences(&store.read().await.expect("a snapshot"), outside).await.expect("readable"), []);
    assert_eq!(store.next_id(IdKind::Repository).await.expect("an id"), 3);
}

#[tokio::test]
async fn a_fan_out_without_its_events_or_its_position_is_found() {
    let store = store().await;
    let queue = FanOutQueue { scope: HookScope::Repository, target: 1 };
    let write = async |tx: Tx| {
        for id in 4..=6 {
            events::insert(&tx, &Event { id, ..Event::default() });
        }
        let row = FanOut { last_event_id: 6, hook_ids: vec![9], ..FanOut::default() };
        fan_outs::insert(&tx, queue, 4, &row, &FanOutCursor { event_id: 5, ..FanOutCursor::default() });
        Ok::<_, StoreError>(())
    };
    store.write(write).await.expect("written");
    // Events before the position may have expired.
    damage(&store, &[(keys::event(4), None)]).await;
    assert_eq!(all(&store).await, []);
    let fan_out = keys::fan_out(HookScope::Repository, 1, 4);
    let cursor = keys::fan_out_cursor(HookScope::Repository, 1, 4);
    let problems = async || all(&store).await.into_iter().map(|found| (found.key, found.problem)).collect::<Vec<_>>();
    damage(&store, &[(keys::event(6), None)]).await;
    assert_eq!(problems().await, [(fan_out.clone(), KeyProblem::Orphan)]);
    damage(&store, &[(fan_out, None)]).await;
    assert_eq!(problems().await, [(cursor, KeyProblem::Leftover)]);
}
