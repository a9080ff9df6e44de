//! Refs that were changed by hand in the directory of a repository: the rows decide, and nothing that was acknowledged
//! is lost.

use std::fs;

use farrierd::store::{Store, events};

use super::demo;
use crate::support::{TestDaemon, git::Client};

async fn count_ref_events(farrier: &mut TestDaemon) -> usize {
    let read = async |store: &Store| {
        let snapshot = store.read().await.expect("a snapshot");
        events::after(&snapshot, 0, 1_000).await.expect("rows")
    };
    farrier.with_store(read).await.iter().filter(|event| event.ref_change.is_some()).count()
}

#[tokio::test(flavor = "multi_thread")]
async fn refs_that_were_changed_in_the_directory_are_restored_by_a_repair_and_make_no_event() {
    let (mut farrier, remote) = demo().await;
    let work = Client::init(farrier.scratch().join("work"));
    work.commit("a", "a");
    work.commit("a", "b");
    work.done(&["push", "-q", &remote, "main", "main:other", "main~1:refs/tags/v1", "main:refs/notes/x"]);
    let listed = work.done(&["ls-remote", &remote]);
    let events = count_ref_events(&mut farrier).await;
    let path = farrier.data_dir().join("repositories/1.git");
    let bare = Client::at(&path);
    for edit in ["foreign ref", "missing ref", "moved ref", "garbage in a ref", "missing list of refs", "nested ref"] {
        farrier.stop().await;
        match edit {
            "foreign ref" => drop(bare.done(&["update-ref", "refs/heads/foreign", "refs/heads/main"])),
            "missing ref" => drop(bare.done(&["update-ref", "-d", "refs/heads/other"])),
            "moved ref" => drop(bare.done(&["update-ref", "refs/heads/main", "refs/heads/main~1"])),
            "garbage in a ref" => fs::write(path.join("refs/heads/other"), "garbage\n").expect("a file"),
            "missing list of refs" => {
                bare.done(&["pack-refs", "--all"]);
                fs::remove_file(path.join("packed-refs")).expect("a file");
            }
            _ => {
                bare.done(&["update-ref", "-d", "refs/heads/other"]);
                bare.done(&["update-ref", "refs/heads/other/below", "refs/heads/main"]);
            }
        }
        farrier.command(&["check-data", "--repair"]).await;
        farrier.restart().await;
        assert_eq!(work.done(&["ls-remote", &remote]), listed, "{edit}");
        bare.done(&["fsck", "--strict"]);
    }
    assert_eq!(count_ref_events(&mut farrier).await, events, "nobody pushed");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_push_compares_with_the_row_of_a_ref_that_was_moved_in_the_directory() {
    let (mut farrier, remote) = demo().await;
    let work = Client::init(farrier.scratch().join("work"));
    let one = work.commit("a", "a");
    work.commit("a", "b");
    work.done(&["push", "-q", &remote, "main", "main:side"]);
    let before = count_ref_events(&mut farrier).await;
    let bare = Client::at(farrier.data_dir().join("repositories/1.git"));
    bare.done(&["update-ref", "refs/heads/main", &one]);
    // The client compares with the value in the file, and the daemon with the row.
    work.done(&["checkout", "-q", "-B", "main", &one]);
    let other = work.commit("a", "c");
    let err = work.refused(&["push", &remote, "main"]);
    assert!(err.contains("failed to update ref"), "{err}");
    assert_eq!(count_ref_events(&mut farrier).await, before, "a refused push makes no event");

    work.done(&["push", "-q", "-f", &remote, "main:side"]);
    assert_eq!(bare.done(&["rev-parse", "refs/heads/side"]), other);
    assert_eq!(count_ref_events(&mut farrier).await, before + 1);
}
