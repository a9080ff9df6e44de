//! Identity marks in the store and in the data directories advance together. A crash between the steps is not a
//! mismatch.

use farrier_proto::store::Identity;
use farrierd::store::{Read as _, StoreError, Tx, keys};
use serde_json::Value;

use super::*;

async fn row(world: &World) -> Identity {
    let store = world.store().await;
    store.read().await.expect("a view").get(&keys::identity()).await.expect("a row").expect("an identity")
}

async fn put(world: &World, row: &Identity) {
    let store = world.store().await;
    let write = store.write(async |tx: Tx| {
        tx.put(keys::identity(), row);
        Ok::<_, StoreError>(())
    });
    write.await.expect("a write");
}

fn set_mark(world: &World, directory: &str, number: u64) {
    let mut file = mark(&world.data(), directory);
    file["mark"] = number.into();
    std::fs::write(identity_file(&world.data(), directory), file.to_string()).expect("a write");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_daemon_starts_after_a_crash_at_any_step_of_advancing_the_mark() {
    let mut world = World::stopped().await;
    // A crash after the transaction, after the first file, after the second file, and after the confirmation.
    for written in [&[][..], &["repositories"], &["artifacts"], &["repositories", "artifacts"]] {
        let before = row(&world).await;
        put(&world, &Identity { confirmed: before.pending, pending: before.pending + 1, ..before.clone() }).await;
        for directory in written {
            set_mark(&world, directory, before.pending + 1);
        }
        world.assert_starts().await;
        world.farrier.stop().await;
        let after = row(&world).await;
        assert!(after.confirmed > before.pending && after.id == before.id, "{after:?}");
        for directory in ["repositories", "artifacts"] {
            assert_eq!(mark(&world.data(), directory)["mark"], Value::from(after.pending), "{written:?}");
        }
    }
    // The first start crashed between its transaction and its files.
    let first = Identity { confirmed: 0, pending: 1, ..row(&world).await };
    put(&world, &first).await;
    for directory in ["repositories", "artifacts"] {
        std::fs::remove_file(identity_file(&world.data(), directory)).expect("a removal");
    }
    world.assert_starts().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn identity_files_record_reserved_ids() {
    let mut world = World::stopped().await;
    world.farrier.restart().await;
    let before = mark(&world.data(), "repositories");
    assert!(before["next_ids"]["repository"].as_u64() >= Some(2), "{before}");
    // A restart reserves a new block of ids, and so does using up a block.
    for number in 0..65 {
        world.farrier.repository(&format!("r{number}")).await;
    }
    let after = mark(&world.data(), "repositories");
    assert_eq!(after, mark(&world.data(), "artifacts"));
    let rises = |of: fn(&Value) -> Option<u64>, by: u64| of(&after) >= of(&before).map(|before| before + by);
    assert!(rises(|file| file["mark"].as_u64(), 2), "{before} {after}");
    assert!(rises(|file| file["next_ids"]["repository"].as_u64(), 128), "{before} {after}");
    world.farrier.stop().await;
    world.assert_starts().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn no_ids_are_assigned_while_the_identity_files_cannot_be_written() {
    let mut world = World::stopped().await;
    world.farrier.restart().await;
    // A directory at the path of the new file makes the write fail, also for root.
    let obstacle = world.data().join("artifacts/.farrier-data.json.new");
    std::fs::create_dir(&obstacle).expect("a directory");
    let body = serde_json::json!({ "name": "blocked" });
    let refused = world.farrier.admin(http::Method::POST, "/api/v1/user/repos", body).await;
    assert_eq!(refused.status, 503, "{refused:?}");
    std::fs::remove_dir(&obstacle).expect("a removal");
    world.farrier.repository("blocked").await;
    world.farrier.stop().await;
    world.assert_starts().await;
}
