//! Tests of the rows of refs and of their changes.

use std::sync::Arc;

use super::{
    changes::{CatchUp, find, since},
    *,
};
use crate::store::{Store, engine::MemoryEngine};

const REPOSITORY: u64 = 7;

fn value(byte: u8) -> Ref {
    Ref { tip: hex::encode([byte; 20]), peeled: None }
}

fn step(name: &str) -> RefStep {
    RefStep { name: name.to_owned(), ..RefStep::default() }
}

async fn store_with(names: &[&str]) -> Store {
    let store = Store::open(Arc::new(MemoryEngine::new())).await.expect("a store");
    let tips: Vec<(String, Ref)> = names.iter().map(|name| ((*name).to_owned(), value(1))).collect();
    let write = async |tx: Tx| {
        create(&tx, REPOSITORY, false, true, &tips);
        Ok::<_, StoreError>(())
    };
    store.write(write).await.expect("rows");
    store
}

/// Advances the version `times` times; each change names one ref.
async fn advance_times(store: &Store, times: u64) {
    for number in 0..times {
        let write = async |tx: Tx| {
            let before = version(&tx, REPOSITORY).await?.expect("a version");
            advance(&tx, REPOSITORY, &before, 1_000 + number, vec![step(&format!("refs/heads/{}", number % 3))]).await
        };
        store.write(write).await.expect("a version");
    }
}

#[tokio::test]
async fn values_of_refs_with_tag_objects_and_long_ids_are_returned_as_they_were_written() {
    let store = store_with(&["refs/heads/main"]).await;
    let tag = Ref { tip: hex::encode([2; 32]), peeled: Some(hex::encode([3; 32])) };
    let write = async |tx: Tx| {
        set(&tx, REPOSITORY, "refs/tags/v1", Some(&tag));
        set(&tx, REPOSITORY, "refs/notes/commits", Some(&value(4)));
        set(&tx, REPOSITORY, "refs/heads/main", None);
        Ok::<_, StoreError>(())
    };
    store.write(write).await.expect("rows");
    let read = store.read().await.expect("a snapshot");
    let page_of = async |after, limit| page(&read, REPOSITORY, after, limit).await.expect("rows");
    let (notes, tagged) = (("refs/notes/commits".to_owned(), value(4)), ("refs/tags/v1".to_owned(), tag.clone()));
    assert_eq!(page_of(None, 10).await, [notes.clone(), tagged.clone()]);
    assert_eq!(page_of(None, 1).await, [notes]);
    assert_eq!(page_of(Some("refs/notes/commits"), 10).await, [tagged]);
    let recorded = all(&read, REPOSITORY).await.expect("rows");
    assert_eq!(recorded, BTreeMap::from([("refs/tags/v1".to_owned(), tag.tip)]), "branches and tags only");
    let names = ["refs/heads/main", "refs/notes/commits"].map(str::to_owned);
    assert_eq!(tips(&read, REPOSITORY, &names).await.expect("rows"), [None, Some(value(4).tip)]);
    assert_eq!(count_branches(&read, REPOSITORY).await.expect("a count"), 0);
}

#[tokio::test]
async fn a_name_is_in_the_way_of_names_below_and_above_it_only() {
    let store =
        store_with(&["refs/heads/a-b", "refs/heads/a.b", "refs/heads/a/b/c", "refs/heads/d", "refs/stash"]).await;
    let read = store.read().await.expect("a snapshot");
    for (name, expected) in [
        ("refs/heads/a", Some("refs/heads/a/b/c")),
        ("refs/heads/a/b", Some("refs/heads/a/b/c")),
        ("refs/heads/a/b/c", None),
        ("refs/heads/a/b/c/d", Some("refs/heads/a/b/c")),
        ("refs/heads/a/b/c/d/e", Some("refs/heads/a/b/c")),
        ("refs/heads/a/x", None),
        ("refs/heads/d/x", Some("refs/heads/d")),
        ("refs/heads/a-", None),
        ("refs/tags/d/x", None),
        ("refs/stash/x", Some("refs/stash")),
        ("refs/tags", None),
    ] {
        assert_eq!(in_the_way(&read, REPOSITORY, name).await.expect("rows").as_deref(), expected, "{name}");
    }
    let read = store_with(&["refs/stash"]).await.read().await.expect("a snapshot");
    let found = in_the_way(&read, REPOSITORY, "refs/stash/x").await.expect("rows");
    assert_eq!(found.as_deref(), Some("refs/stash"));
}

#[tokio::test]
async fn a_copy_catches_up_by_the_kept_changes_or_by_all_refs() {
    let store = store_with(&["refs/heads/0"]).await;
    let since_with = async |version, names_max| {
        since(&store.read().await.expect("a snapshot"), REPOSITORY, version, names_max).await.expect("rows")
    };
    let since = async |version| since_with(version, 3).await;
    assert_eq!(since(1).await, CatchUp::Steps { version: 1, names: Vec::new() });
    advance_times(&store, CHANGES_KEPT).await;
    let current = CHANGES_KEPT + 1;
    let names = ["refs/heads/0", "refs/heads/1", "refs/heads/2"].map(str::to_owned);
    assert_eq!(since(1).await, CatchUp::Steps { version: current, names: names.to_vec() });
    assert_eq!(since(current - 1).await, CatchUp::Steps { version: current, names: vec![names[0].clone()] });
    assert_eq!(since_with(1, 2).await, CatchUp::Everything { version: current }, "more refs than the caller names");
    for version in [0, current + 1, u64::MAX] {
        assert_eq!(since(version).await, CatchUp::Everything { version: current }, "from {version}");
    }
    advance_times(&store, 1).await;
    assert_eq!(since(1).await, CatchUp::Everything { version: current + 1 }, "the first change is not kept");
    let hole = async |tx: Tx| {
        tx.delete(keys::ref_change(REPOSITORY, current));
        Ok::<_, StoreError>(())
    };
    store.write(hole).await.expect("a write");
    assert_eq!(since(current - 1).await, CatchUp::Everything { version: current + 1 }, "a change is missing");
    let many = async |tx: Tx| {
        let before = version(&tx, REPOSITORY).await?.expect("a version");
        advance(&tx, REPOSITORY, &before, 5, vec![step("refs/heads/0"); STEPS_MAX + 1]).await
    };
    store.write(many).await.expect("a version");
    assert_eq!(since(current + 1).await, CatchUp::Everything { version: current + 2 }, "the change lists no refs");
}

#[tokio::test]
async fn a_change_is_found_by_its_number_after_a_version() {
    let store = store_with(&[]).await;
    advance_times(&store, 45).await;
    let read = store.read().await.expect("a snapshot");
    for (change, since, expected) in
        [(1_004, 1, Some(6)), (1_004, 5, Some(6)), (1_004, 6, None), (1_039, 1, Some(41)), (9, 1, None)]
    {
        assert_eq!(find(&read, REPOSITORY, change, since).await.expect("rows"), expected, "{change} since {since}");
    }
}

#[tokio::test]
async fn a_raised_epoch_keeps_the_version_and_a_forgotten_repository_leaves_no_rows() {
    let store = store_with(&["refs/heads/main", "refs/tags/v1"]).await;
    advance_times(&store, 3).await;
    store.write(async |tx: Tx| end_hiding(&tx, REPOSITORY).await).await.expect("a write");
    store.write(async |tx: Tx| end_hiding(&tx, 8).await).await.expect("nothing to raise");
    let row = version(&store.read().await.expect("a snapshot"), REPOSITORY).await.expect("a row").expect("a version");
    assert_eq!((row.version, row.prune_epoch, row.closed, row.from_disk), (4, 1, true, false));
    let mut calls = 1;
    while !store.write(async |tx: Tx| forget_some(&tx, REPOSITORY, 4).await).await.expect("a write") {
        calls += 1;
    }
    assert_eq!(calls, 2);
    let read = store.read().await.expect("a snapshot");
    assert_eq!(read.count(&Range::prefix(keys::tag("g")), 10).await.expect("a count"), 0);
}
