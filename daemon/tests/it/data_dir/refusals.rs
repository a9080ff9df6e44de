//! Something was moved, replaced or deleted while the daemon did not run.

use farrierd::store::{Store, StoreError, Tx, keys};

use super::*;

#[tokio::test(flavor = "multi_thread")]
async fn data_without_a_store_is_refused_and_the_store_back_in_place_serves() {
    let mut world = World::stopped().await;
    let away = world.farrier.scratch().join("away.redb");
    std::fs::rename(world.store_file(), &away).expect("moved");
    let said = world.refused(BAD_DATA).await;
    for part in [
        "farrier.redb does not exist, but there is data beside it",
        "1 in it, identity ",
        "--adopt",
        "--set-aside",
        "restore STORE_FILE",
    ] {
        assert!(said.contains(part), "{part} in {said}");
    }
    // Without the identity files, too: directories with numbers are enough.
    let files = ["repositories", "artifacts"].map(|directory| identity_file(&world.data(), directory));
    let kept = files.clone().map(|file| std::fs::read(file).expect("a file"));
    for file in &files {
        std::fs::remove_file(file).expect("removed");
    }
    world.refused(BAD_DATA).await;
    for (file, content) in files.iter().zip(kept) {
        std::fs::write(file, content).expect("written");
    }
    std::fs::rename(away, world.store_file()).expect("moved");
    world.serves().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_emptied_store_is_refused() {
    let world = World::stopped().await;
    let away = world.farrier.scratch().join("away.redb");
    std::fs::rename(world.store_file(), &away).expect("moved");
    drop(open(&world.store_file()).await);
    let said = world.refused(BAD_DATA).await;
    assert!(said.contains("has no identity, but"), "{said}");
    for directory in ["repositories", "artifacts"] {
        std::fs::remove_file(identity_file(&world.data(), directory)).expect("removed");
    }
    let said = world.refused(BAD_DATA).await;
    assert!(said.contains("is older than"), "{said}");
    std::fs::rename(away, world.store_file()).expect("moved");
    // The store has an identity and the data has none.
    let said = world.refused(BAD_DATA).await;
    assert!(said.contains("repositories has no identity file"), "{said}");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_older_copy_of_the_store_is_refused() {
    let mut world = World::stopped().await;
    let copy = world.copy("yesterday");
    world.farrier.restart().await;
    world.farrier.repository("today").await;
    world.farrier.stop().await;
    let today = world.farrier.scratch().join("today.redb");
    std::fs::copy(world.store_file(), &today).expect("copied");
    replace(&copy.join("farrier.redb"), &world.store_file());
    let said = world.refused(BAD_DATA).await;
    assert!(said.contains("farrier.redb is older than") && said.contains("repositories"), "{said}");
    replace(&today, &world.store_file());
    world.serves().await;
    // All of yesterday's copy together is fine.
    world.farrier.stop().await;
    std::fs::remove_dir_all(world.data()).expect("removed");
    super::copy(&copy, &world.data());
    world.serves().await;
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
        let said = world.refused(BAD_DATA).await;
        assert!(said.contains(&format!("{directory} is older than the store")), "{said}");
        replace(&today.join(directory), &world.data().join(directory));
        world.serves().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_store_of_another_data_directory_is_refused() {
    let mut world = World::stopped().await;
    let other = World::stopped().await;
    let own = world.farrier.scratch().join("own.redb");
    std::fs::rename(world.store_file(), &own).expect("moved");
    std::fs::copy(other.store_file(), world.store_file()).expect("copied");
    let said = world.refused(BAD_DATA).await;
    assert!(said.contains("repositories belongs to another store than"), "{said}");
    std::fs::rename(own, world.store_file()).expect("moved");
    world.serves().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_missing_or_emptied_directory_is_refused() {
    for directory in ["repositories", "artifacts"] {
        let mut world = World::stopped().await;
        let (path, away) = (world.data().join(directory), world.farrier.scratch().join("away"));
        std::fs::rename(&path, &away).expect("moved");
        let said = world.refused(BAD_DATA).await;
        assert!(said.contains(&format!("{directory} is missing or empty, but the store has")), "{said}");
        assert!(!path.exists(), "nothing is made in its place");
        std::fs::create_dir(&path).expect("made");
        world.refused(BAD_DATA).await;
        std::fs::remove_dir(&path).expect("removed");
        std::fs::rename(away, &path).expect("moved");
        world.serves().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_identity_file_that_cannot_be_read_is_refused() {
    let world = World::stopped().await;
    std::fs::write(identity_file(&world.data(), "artifacts"), "{").expect("written");
    let said = world.refused(BAD_DATA).await;
    assert!(said.contains("artifacts/farrier-data.json cannot be read"), "{said}");
}

#[tokio::test(flavor = "multi_thread")]
async fn data_of_a_release_without_identities_gets_one() {
    let mut world = World::stopped().await;
    forget_identity(&world).await;
    world.serves().await;
    world.farrier.stop().await;
    let ids = ["repositories", "artifacts"].map(|directory| mark(&world.data(), directory)["id"].clone());
    assert_eq!((ids[0].as_str().map(str::len), &ids[0]), (Some(32), &ids[1]));
    // Its store without the directories is no such data.
    forget_identity(&world).await;
    let away = world.farrier.scratch().join("away");
    std::fs::rename(world.data().join("repositories"), &away).expect("moved");
    let said = world.refused(BAD_DATA).await;
    assert!(said.contains("repositories is missing or empty"), "{said}");
    std::fs::rename(away, world.data().join("repositories")).expect("moved");
    // Nor is a store that does not know the highest number.
    std::fs::create_dir(world.data().join("repositories/65.git")).expect("made");
    let said = world.refused(BAD_DATA).await;
    assert!(said.contains("is older than"), "{said}");
    std::fs::remove_dir(world.data().join("repositories/65.git")).expect("removed");
    world.serves().await;
}

/// Makes the data what a release without identities left.
async fn forget_identity(world: &World) {
    let store: Store = world.store().await;
    let forgotten = store.write(async |tx: Tx| {
        tx.delete(keys::identity());
        Ok::<_, StoreError>(())
    });
    forgotten.await.expect("written");
    for directory in ["repositories", "artifacts"] {
        std::fs::remove_file(identity_file(&world.data(), directory)).expect("removed");
    }
}
