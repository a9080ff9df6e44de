//! Data that was moved, replaced or deleted while the daemon was stopped.

use farrierd::store::{Store, StoreError, Tx, keys};

use super::*;

#[tokio::test(flavor = "multi_thread")]
async fn data_without_a_store_is_refused_until_the_store_is_back() {
    let mut world = World::stopped().await;
    let away = world.farrier.scratch().join("away.redb");
    std::fs::rename(world.store_file(), &away).expect("a rename");
    let error = world.refused(BAD_DATA).await;
    for part in [
        "farrier.redb does not exist, but its data directory contains data",
        "entries: 1, identity ",
        "--adopt",
        "--set-aside",
        "restore STORE_FILE",
    ] {
        assert!(error.contains(part), "{part} in {error}");
    }
    // The start is refused without identity files as well: directories with ids are enough.
    let files = ["repositories", "artifacts"].map(|directory| identity_file(&world.data(), directory));
    let kept = files.clone().map(|file| std::fs::read(file).expect("a file"));
    for file in &files {
        std::fs::remove_file(file).expect("a removal");
    }
    world.refused(BAD_DATA).await;
    for (file, content) in files.iter().zip(kept) {
        std::fs::write(file, content).expect("a write");
    }
    std::fs::rename(away, world.store_file()).expect("a rename");
    world.assert_starts().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_emptied_store_is_refused() {
    let world = World::stopped().await;
    let away = world.farrier.scratch().join("away.redb");
    std::fs::rename(world.store_file(), &away).expect("a rename");
    drop(open(&world.store_file()).await);
    let error = world.refused(BAD_DATA).await;
    assert!(error.contains("has no identity, but"), "{error}");
    for directory in ["repositories", "artifacts"] {
        std::fs::remove_file(identity_file(&world.data(), directory)).expect("a removal");
    }
    let error = world.refused(BAD_DATA).await;
    assert!(error.contains("is older than"), "{error}");
    std::fs::rename(away, world.store_file()).expect("a rename");
    // Now the store has an identity and the directories have none.
    let error = world.refused(BAD_DATA).await;
    assert!(error.contains("repositories has no identity file"), "{error}");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_older_copy_of_the_store_is_refused() {
    let mut world = World::stopped().await;
    let copy = world.copy("yesterday");
    world.farrier.restart().await;
    world.farrier.repository("today").await;
    world.farrier.stop().await;
    let today = world.farrier.scratch().join("today.redb");
    std::fs::copy(world.store_file(), &today).expect("a copy");
    replace(&copy.join("farrier.redb"), &world.store_file());
    let error = world.refused(BAD_DATA).await;
    assert!(error.contains("farrier.redb is older than") && error.contains("repositories"), "{error}");
    replace(&today, &world.store_file());
    world.assert_starts().await;
    // A complete older copy of the data directory is consistent.
    world.farrier.stop().await;
    std::fs::remove_dir_all(world.data()).expect("a removal");
    super::copy(&copy, &world.data());
    world.assert_starts().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_older_copy_of_a_directory_is_refused() {
    for directory in ["repositories", "artifacts"] {
        let mut world = World::stopped().await;
        let yesterday = world.copy("yesterday");
        world.farrier.restart().await;
        world.farrier.stop().await;
        let today = world.copy("today");
        replace(&yesterday.join(directory), &world.data().join(directory));
        let error = world.refused(BAD_DATA).await;
        assert!(error.contains(&format!("{directory} is older than the store")), "{error}");
        replace(&today.join(directory), &world.data().join(directory));
        world.assert_starts().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_store_of_another_data_directory_is_refused() {
    let mut world = World::stopped().await;
    let other = World::stopped().await;
    let own = world.farrier.scratch().join("own.redb");
    std::fs::rename(world.store_file(), &own).expect("a rename");
    std::fs::copy(other.store_file(), world.store_file()).expect("a copy");
    let error = world.refused(BAD_DATA).await;
    assert!(error.contains("repositories belongs to another store than"), "{error}");
    std::fs::rename(own, world.store_file()).expect("a rename");
    world.assert_starts().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_missing_or_emptied_directory_is_refused() {
    for directory in ["repositories", "artifacts"] {
        let mut world = World::stopped().await;
        let (path, away) = (world.data().join(directory), world.farrier.scratch().join("away"));
        std::fs::rename(&path, &away).expect("a rename");
        let error = world.refused(BAD_DATA).await;
        assert!(error.contains(&format!("{directory} is missing or empty, but the store has")), "{error}");
        assert!(!path.exists(), "the directory is not created again");
        std::fs::create_dir(&path).expect("a directory");
        world.refused(BAD_DATA).await;
        std::fs::remove_dir(&path).expect("a removal");
        std::fs::rename(away, &path).expect("a rename");
        world.assert_starts().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_identity_file_that_cannot_be_read_is_refused() {
    let world = World::stopped().await;
    std::fs::write(identity_file(&world.data(), "artifacts"), "{").expect("a write");
    let error = world.refused(BAD_DATA).await;
    assert!(error.contains("artifacts/farrier-data.json cannot be read"), "{error}");
}

#[tokio::test(flavor = "multi_thread")]
async fn data_of_a_release_without_identities_gets_an_identity() {
    let mut world = World::stopped().await;
    forget_identity(&world).await;
    world.assert_starts().await;
    world.farrier.stop().await;
    let ids = ["repositories", "artifacts"].map(|directory| mark(&world.data(), directory)["id"].clone());
    assert_eq!((ids[0].as_str().map(str::len), &ids[0]), (Some(32), &ids[1]));
    // A store without the directories is refused.
    forget_identity(&world).await;
    let away = world.farrier.scratch().join("away");
    std::fs::rename(world.data().join("repositories"), &away).expect("a rename");
    let error = world.refused(BAD_DATA).await;
    assert!(error.contains("repositories is missing or empty"), "{error}");
    std::fs::rename(away, world.data().join("repositories")).expect("a rename");
    // A directory with an id that the store has not assigned is refused.
    std::fs::create_dir(world.data().join("repositories/65.git")).expect("a directory");
    let error = world.refused(BAD_DATA).await;
    assert!(error.contains("is older than"), "{error}");
    std::fs::remove_dir(world.data().join("repositories/65.git")).expect("a removal");
    world.assert_starts().await;
}

/// Removes the identity, as in data of a release without identities.
async fn forget_identity(world: &World) {
    let store: Store = world.store().await;
    let forgotten = store.write(async |tx: Tx| {
        tx.delete(keys::identity());
        Ok::<_, StoreError>(())
    });
    forgotten.await.expect("a write");
    for directory in ["repositories", "artifacts"] {
        std::fs::remove_file(identity_file(&world.data(), directory)).expect("a removal");
    }
}
