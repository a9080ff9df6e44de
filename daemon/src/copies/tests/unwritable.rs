//! Tests of copies on a disk that is full or read-only.

use std::io;

use super::*;
use crate::copies::follow::is_unwritable;

#[tokio::test]
async fn files_that_are_equal_to_the_rows_are_read_although_they_cannot_be_written() {
    let mut world = World::new().await;
    let [one, two] = world.commits.clone();
    let tag = world.tag.clone();
    world.move_rows(&[("refs/heads/a", Some(&two)), ("refs/tags/v1", Some(&tag))]).await;
    world.current().await;
    world.move_rows(&[("refs/heads/a", Some(&one))]).await;
    world.current().await;
    world.reboot();
    // The list cannot be replaced, as on a disk that is full or read-only.
    let lock = world.path("packed-refs.lock");
    fs::write(&lock, "").expect("a file");
    assert_eq!(world.current().await, 3, "the files have the values of the rows");
    world.assert_follows().await;
    for damage in ["", "garbage\n", &format!("{}\n", two.tip)] {
        world.reboot();
        // Again, because a lock file that is older than the start is removed.
        fs::write(&lock, "").expect("a file");
        fs::write(world.path("refs/heads/a"), damage).expect("a file");
        let error = world.copies.current(REPOSITORY).await;
        assert!(matches!(error, Err(CopyError::Git(_))), "{damage:?}: {error:?}");
    }
    fs::remove_file(&lock).expect("it was kept");
    assert_eq!(world.current().await, 3);
    world.assert_follows().await;
}

#[test]
fn only_a_disk_that_cannot_be_written_prevents_a_rewrite() {
    let error = |kind: io::ErrorKind| GitError::Io { doing: "writing refs", source: kind.into() };
    for kind in [io::ErrorKind::StorageFull, io::ErrorKind::ReadOnlyFilesystem, io::ErrorKind::QuotaExceeded] {
        assert!(is_unwritable(&error(kind)), "{kind}");
    }
    assert!(!is_unwritable(&error(io::ErrorKind::AlreadyExists)) && !is_unwritable(&GitError::Busy));
}
