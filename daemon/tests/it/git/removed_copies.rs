//! Two daemons with one store and one bucket: the copies that one of them did not use lately are removed from its disk,
//! and are created again when they are used.

use std::{
    fs,
    sync::atomic::{AtomicUsize, Ordering},
    time::{Duration, Instant},
};

use farrierd::store::{
    Tx,
    packs::{self, bucket},
};
use http::Method;
use serde_json::Value;

use super::two_nodes::Nodes;
use crate::support::{
    TestDaemon, WAIT_LIMIT, eventually,
    git::{Client, noise},
};

/// A copy is kept for this long after its last use, and all are measured as often.
const IDLE: Duration = Duration::from_secs(5);
const BYTES: usize = 400_000;

/// Starts two daemons of which the second one keeps at most `max_bytes` of copies, with one repository for each name.
async fn start(max_bytes: u64, names: &[&str]) -> Option<(Nodes, Client)> {
    let nodes = Nodes::start_with(|config| {
        config.git.timeout = IDLE;
        config.git.copies_max_bytes = Some(max_bytes);
    })
    .await?;
    let work = Client::init(nodes.first.scratch().join("work"));
    for name in names {
        nodes.first.repository(name).await;
        work.commit(name, [noise(BYTES), name.as_bytes().to_vec()].concat());
        work.done(&["push", "-q", &nodes.remote(&nodes.first, name), "HEAD:main"]);
    }
    Some((nodes, work))
}

fn exists(farrier: &TestDaemon, repository: u64) -> bool {
    farrier.data_dir().join(format!("repositories/{repository}.git")).exists()
}

/// Clones a repository through a daemon and verifies that the clone is complete.
fn clone(nodes: &Nodes, farrier: &TestDaemon, name: &str, to: &str) {
    let clone = Client::at(nodes.first.scratch().join(to));
    _ = fs::remove_dir_all(clone.dir());
    let parent = Client::at(nodes.first.scratch());
    parent.done(&["clone", "-q", "--mirror", &nodes.remote(farrier, name), &clone.dir().display().to_string()]);
    clone.done(&["fsck", "--full", "--strict"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_least_recently_used_copy_is_removed_and_served_again_also_after_pushes_and_tidying_elsewhere() {
    let Some((nodes, work)) = start(BYTES as u64 * 3 / 2, &["old", "new"]).await else { return };
    let second = &nodes.second;
    clone(&nodes, second, "old", "clone-old");
    clone(&nodes, second, "new", "clone-new");
    eventually("the older copy is removed", async || !exists(second, 1)).await;
    assert!(exists(second, 2), "both together exceed the bound, one does not");
    assert!(exists(&nodes.first, 1) && exists(&nodes.first, 2), "the other node has a bound of its own");
    let metrics = second.admin(Method::GET, "/metrics", Value::Null).await.text();
    for metric in ["farrier_git_copies_max_bytes 600000\n", "farrier_git_copies_removed_total 1\n"] {
        assert!(metrics.contains(metric), "{metrics}");
    }
    // Packs that the copy had are combined by the other node.
    for push in 0..22 {
        work.commit("a", push.to_string());
        work.done(&["push", "-q", &nodes.remote(&nodes.first, "old"), "HEAD:main"]);
    }
    clone(&nodes, second, "old", "clone-old");
    work.commit("a", "through the node that had removed it");
    work.done(&["push", "-q", &nodes.remote(second, "old"), "HEAD:main"]);
    clone(&nodes, &nodes.first, "old", "clone-old");
    eventually("the copy that is older now is removed", async || !exists(second, 2)).await;
    clone(&nodes, second, "new", "clone-new");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_copy_with_a_pack_that_is_not_in_the_bucket_is_kept_and_a_small_bound_removes_the_others() {
    let Some((nodes, _)) = start(1, &["kept", "removed"]).await else { return };
    let clear = async |tx: Tx| {
        let rows = packs::all(&tx, 1).await?;
        bucket::clear_objects(&tx, 1, &rows);
        Ok::<_, farrierd::store::StoreError>(())
    };
    clone(&nodes, &nodes.second, "kept", "clone-kept");
    nodes.store.write(clear).await.expect("written");
    for _ in 0..2 {
        clone(&nodes, &nodes.second, "removed", "clone-removed");
        assert!(exists(&nodes.second, 2), "it was used a moment ago");
        eventually("the other copy is removed", async || !exists(&nodes.second, 2)).await;
        assert!(exists(&nodes.second, 1), "its pack is nowhere else");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn fetches_never_fail_while_copies_are_removed() {
    let names = ["a", "b", "c", "d"];
    let Some((nodes, work)) = start(1, &names).await else { return };
    let (nodes, second, removed) = (&nodes, &nodes.second, &AtomicUsize::new(0));
    let tips = &names.map(|name| work.done(&["ls-remote", &nodes.remote(&nodes.first, name)]));
    std::thread::scope(|scope| {
        for client in 0..8 {
            scope.spawn(move || {
                let (reader, number) = (Client::at(nodes.first.scratch()), client % names.len());
                let begun = Instant::now();
                for round in 0.. {
                    if removed.load(Ordering::Relaxed) >= 6 || begun.elapsed() > WAIT_LIMIT {
                        return;
                    }
                    let is_here = exists(second, number as u64 + 1);
                    removed.fetch_add(usize::from(round > 0 && !is_here), Ordering::Relaxed);
                    if round % 2 == 0 {
                        clone(nodes, second, names[number], &format!("clone-{client}"));
                    } else {
                        let listed = reader.done(&["ls-remote", &nodes.remote(second, names[number])]);
                        assert_eq!(listed, tips[number]);
                    }
                    // So that fetches begin before, during and after the removal.
                    let eighths = u32::try_from((client * 7 + round * 5) % 8).expect("small");
                    std::thread::sleep(IDLE + IDLE * eighths / 8);
                }
            });
        }
    });
    assert!(removed.load(Ordering::Relaxed) > 0, "copies were removed between two fetches");
    eventually("all copies are removed in the end", async || (1..=4).all(|id| !exists(second, id))).await;
}
