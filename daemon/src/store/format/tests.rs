//! Tests of the format level.

use std::sync::Arc;

use super::*;
use crate::store::engine::MemoryEngine;

const NOW: Millis = 1_000_000;
const OWN: u64 = 1;
const OTHER: u64 = 2;

/// Returns a store of the level of the previous release.
async fn store_of_previous_release(engine: &MemoryEngine) -> Store {
    let store = Store::open_as_is(Arc::new(engine.clone())).await.expect("a store");
    put_format(&store, CONVERTED_LEVEL).await;
    Store::open(Arc::new(engine.clone())).await.expect("a store")
}

async fn put_node(store: &Store, node: Node) {
    let write = async |tx: Tx| {
        tx.put(keys::node(node.id), &node);
        Ok::<_, StoreError>(())
    };
    store.write(write).await.expect("a row");
}

fn node(level: u32, until_ms: Millis) -> Node {
    Node { id: OTHER, name: "old".into(), version: "1.0".into(), format_level: level, until_ms, ..Node::default() }
}

async fn stored(store: &Store) -> u32 {
    check_format(&store.read().await.expect("a snapshot")).await.expect("a level")
}

#[tokio::test]
async fn new_data_has_the_level_of_this_release() {
    for engine in [MemoryEngine::new(), MemoryEngine::shared()] {
        let store = Store::open(Arc::new(engine)).await.expect("a store");
        assert_eq!((stored(&store).await, store.format_level()), (FORMAT_LEVEL, FORMAT_LEVEL));
    }
}

#[tokio::test]
async fn a_daemon_that_uses_the_store_alone_raises_the_level_when_it_starts() {
    let store = store_of_previous_release(&MemoryEngine::new()).await;
    assert_eq!(store.format_level(), CONVERTED_LEVEL);
    // A store that was copied from a server has the rows of its nodes.
    put_node(&store, node(CONVERTED_LEVEL, NOW + 1)).await;
    assert_eq!(raise_at_start(&store, OWN, NOW).await.expect("raised"), FORMAT_LEVEL);
    assert_eq!((stored(&store).await, store.format_level()), (FORMAT_LEVEL, FORMAT_LEVEL));
    let commits = store.commits();
    assert_eq!(raise_at_start(&store, OWN, NOW).await.expect("read"), FORMAT_LEVEL);
    assert_eq!(store.commits(), commits, "a later start writes nothing");
}

#[tokio::test]
async fn a_daemon_that_shares_the_store_keeps_its_level_also_if_no_other_node_is_alive() {
    let store = store_of_previous_release(&MemoryEngine::shared()).await;
    assert_eq!(raise_at_start(&store, OWN, NOW).await.expect("read"), CONVERTED_LEVEL);
    assert_eq!((stored(&store).await, store.format_level()), (CONVERTED_LEVEL, CONVERTED_LEVEL));
}

#[tokio::test]
async fn the_level_is_raised_only_if_every_node_that_may_be_alive_can_read_it() {
    let late = nodes::LATE_MS;
    for (level, until_ms, left, can_upgrade) in [
        (CONVERTED_LEVEL, NOW + 1, false, false),
        (CONVERTED_LEVEL, NOW, false, false),
        (CONVERTED_LEVEL, NOW - late + 1, false, false),
        (CONVERTED_LEVEL, NOW - late, false, true),
        (CONVERTED_LEVEL, NOW, true, true),
        (FORMAT_LEVEL, NOW + 1, false, true),
    ] {
        let store = store_of_previous_release(&MemoryEngine::shared()).await;
        put_node(&store, Node { left, ..node(level, until_ms) }).await;
        let upgraded = upgrade(&store, &AuditEntry::default(), NOW).await;
        if can_upgrade {
            assert_eq!(upgraded.expect("upgraded"), CONVERTED_LEVEL);
            assert_eq!(upgrade(&store, &AuditEntry::default(), NOW).await.expect("no change"), FORMAT_LEVEL);
            let entry =
                audit::newest(&store.read().await.expect("a snapshot")).await.expect("a row").expect("an entry");
            assert!(entry.id > 0 && entry.at_ms > 0, "{entry:?}");
        } else {
            let message = upgraded.expect_err("refused").to_string();
            assert!(message.contains(": old (version 1.0); nothing was changed"), "{message}");
        }
        let level = if can_upgrade { FORMAT_LEVEL } else { CONVERTED_LEVEL };
        assert_eq!((stored(&store).await, store.format_level()), (level, level));
    }
}

async fn put_format(store: &Store, level: u32) {
    let write = async |tx: Tx| {
        tx.put(keys::format(), &Format { level });
        Ok::<_, StoreError>(())
    };
    store.write(write).await.expect("a row");
}

#[tokio::test]
async fn rows_that_were_not_converted_are_not_upgraded() {
    let store = Store::open(Arc::new(MemoryEngine::shared())).await.expect("a store");
    put_format(&store, CONVERTED_LEVEL - 1).await;
    let upgraded = upgrade(&store, &AuditEntry::default(), NOW).await;
    assert!(matches!(upgraded, Err(UpgradeError::NotConverted { level }) if level == CONVERTED_LEVEL - 1));
    assert_eq!(stored(&store).await, CONVERTED_LEVEL - 1);
}

#[tokio::test]
async fn a_node_that_enters_and_an_upgrade_at_the_same_time_do_not_both_succeed() {
    let engine = MemoryEngine::shared();
    let store = store_of_previous_release(&engine).await;
    let (reached, go_on) = (tokio::sync::Notify::new(), tokio::sync::Notify::new());
    // What an earlier release does when it starts, interrupted before its commit.
    let old = async |tx: Tx| {
        let level = tx.get::<Format>(&keys::format()).await?.map_or(0, |format| format.level);
        if level > CONVERTED_LEVEL {
            return Err(StoreError::Newer { found: level, known: CONVERTED_LEVEL });
        }
        tx.put(keys::node(OTHER), &node(CONVERTED_LEVEL, NOW + 1));
        reached.notify_one();
        go_on.notified().await;
        Ok(())
    };
    let other = Store::open(Arc::new(engine.clone())).await.expect("a store");
    let upgrading = async {
        reached.notified().await;
        let upgraded = upgrade(&store, &AuditEntry::default(), NOW).await;
        go_on.notify_one();
        upgraded
    };
    let (entered, upgraded) = tokio::join!(other.write(old), upgrading);
    assert_eq!(upgraded.expect("upgraded"), CONVERTED_LEVEL);
    assert!(matches!(entered, Err(StoreError::Newer { found, .. }) if found == FORMAT_LEVEL), "{entered:?}");
}
