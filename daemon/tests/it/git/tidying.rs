//! Many small pushes: the number of packs stays small, and transfers that run meanwhile are complete.

use std::fs;

use super::demo;
use crate::support::{TestDaemon, eventually, git::Client};

/// Number of pushes, each of which adds a pack.
const PUSHES: usize = 200;
/// Maximum number of packs of a repository while no push runs.
const PACKS_MAX: usize = 20;

fn packs(farrier: &TestDaemon) -> usize {
    let directory = farrier.data_dir().join("repositories/1.git/objects/pack");
    let entries = fs::read_dir(directory).expect("a directory").flatten();
    entries.filter(|entry| entry.path().extension().is_some_and(|end| end == "pack")).count()
}

#[tokio::test(flavor = "multi_thread")]
async fn many_pushes_leave_few_packs_and_no_clone_between_them_fails() {
    let (farrier, remote) = demo().await;
    let work = Client::init(farrier.scratch().join("work"));
    let copies = Client::at(farrier.scratch());
    for number in 0..PUSHES {
        let tip = work.commit("a", number.to_string());
        work.done(&["push", "-q", &remote, "main"]);
        if number % 20 == 10 {
            // The repository may be repacked now.
            let copy = format!("copy-{number}");
            copies.done(&["clone", "-q", &remote, &copy]);
            assert_eq!(copies.below(&copy).done(&["rev-parse", "HEAD"]), tip);
        }
    }
    eventually("the repository has few packs", async || packs(&farrier) <= PACKS_MAX).await;
    let bare = Client::at(farrier.data_dir().join("repositories/1.git"));
    bare.done(&["fsck", "--full", "--strict"]);
    assert_eq!(bare.done(&["rev-list", "--count", "main"]), PUSHES.to_string());
}
