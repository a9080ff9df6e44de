//! The cache stays within its bounds, and fetches work without it.

use std::{collections::BTreeSet, path::Path};

use super::{Counts, clone_of, fetch, filled, objects, pack, post, raw_request, scratch};
use crate::support::{RawConnection, TestDaemon, git::Client};

#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_stored_when_the_cache_is_off_or_the_disk_is_full() {
    let off = TestDaemon::with(|config| config.git.cache_max_bytes = 0).await;
    let full = TestDaemon::with(|config| config.artifacts.reserve_bytes = u64::MAX).await;
    for farrier in [off, full] {
        let work = filled(&farrier, 100_000).await;
        let request = clone_of(&work.done(&["rev-parse", "HEAD"]));
        let before = Counts::of(&farrier).await;
        for _ in 0..4 {
            let answer = post(&farrier, &[], request.clone()).await;
            assert!(!objects(&scratch(&farrier), &pack(&answer.body)).is_empty());
        }
        let after = Counts::of(&farrier).await;
        assert_eq!((after.hits, after.joins, after.bytes), (0, 0, 0));
        assert_eq!(after.processes - before.processes, 4, "each one runs git");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_over_the_limit_is_complete_and_not_kept() {
    let farrier = TestDaemon::with(|config| config.git.cache_max_answer_bytes = 300_000).await;
    let work = filled(&farrier, 5 << 20).await;
    let request = clone_of(&work.done(&["rev-parse", "HEAD"]));
    let scratch = scratch(&farrier);
    let direct = objects(&scratch, &pack(&post(&farrier, &[], request.clone()).await.body));
    for _ in 0..3 {
        let answer = post(&farrier, &[], request.clone()).await;
        assert_eq!(objects(&scratch, &pack(&answer.body)), direct);
    }
    let counts = Counts::of(&farrier).await;
    assert_eq!((counts.hits, counts.joins, counts.bytes), (0, 0, 0), "{counts:?}");
    // Smaller answers are kept.
    let small = fetch(&["ofs-delta", &format!("want {}", work.done(&["rev-parse", "HEAD~1"])), "done"]);
    for _ in 0..3 {
        assert_eq!(post(&farrier, &[], small.clone()).await.status, 200);
    }
    assert_eq!(Counts::of(&farrier).await.hits, 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_size_of_all_answers_stays_within_the_bound() {
    const BOUND: u64 = 1 << 20;
    let farrier = TestDaemon::with(|config| config.git.cache_max_bytes = BOUND).await;
    let work = filled(&farrier, 200_000).await;
    let scratch = scratch(&farrier);
    let mut tips = Vec::new();
    for number in 0_usize..8 {
        // Other bytes each time, which do not compress.
        let noise = crate::support::git::noise(300_000 + number);
        let tip = work.commit(&format!("more-{number}"), &noise[number..]);
        tips.push((work.done(&["rev-parse", "HEAD~1"]), tip));
    }
    work.done(&["push", "-q", "origin", "main"]);
    let mut sizes = BTreeSet::new();
    for round in 0..2 {
        for (before, tip) in &tips {
            let request = fetch(&["ofs-delta", &format!("want {tip}"), &format!("have {before}"), "done"]);
            for _ in 0..3 {
                let answer = post(&farrier, &[], request.clone()).await;
                assert!(!objects(&scratch, &pack(&answer.body)).is_empty(), "{round}");
                let bytes = Counts::of(&farrier).await.bytes;
                assert!(bytes <= BOUND, "{bytes}");
                sizes.insert(bytes);
            }
        }
    }
    let counts = Counts::of(&farrier).await;
    assert!(counts.evictions > 0 && counts.hits >= 8, "{counts:?}");
    assert!(sizes.last() > Some(&0), "{sizes:?}");
}

/// The names in the data directory and in the directory of git.
fn files(data: &Path) -> BTreeSet<String> {
    let all = [data.to_owned(), data.join("git-home")].into_iter();
    let entries = all.flat_map(|directory| std::fs::read_dir(directory).expect("a directory").flatten());
    entries.map(|entry| entry.path().display().to_string()).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_kill_while_an_answer_is_stored_leaves_nothing_behind() {
    let mut farrier = TestDaemon::program("[server]\nhosts = [\"x\"]\n[artifacts]\nreserve_bytes = 0\n").await;
    let work = filled(&farrier, 24 << 20).await;
    let request = clone_of(&work.done(&["rev-parse", "HEAD"]));
    let direct = post(&farrier, &[], request.clone()).await;
    let before = files(&farrier.data_dir());
    let reading = RawConnection::sending(&farrier.tcp(), raw_request(&request)).await;
    crate::support::eventually("the answer is being stored", async || Counts::of(&farrier).await.bytes > 0).await;
    assert_eq!(files(&farrier.data_dir()), before, "the file has no name");
    farrier.kill_and_start().await;
    drop(reading);
    assert_eq!(Counts::of(&farrier).await.bytes, 0);
    assert_eq!(files(&farrier.data_dir()), before);
    let scratch = scratch(&farrier);
    let expected = objects(&scratch, &pack(&direct.body));
    for _ in 0..3 {
        let answer = post(&farrier, &[], request.clone()).await;
        assert_eq!(objects(&scratch, &pack(&answer.body)), expected);
    }
    assert_eq!(Counts::of(&farrier).await.hits, 1);
    let clones = Client::at(farrier.scratch().join("clones"));
    clones.done(&["clone", "-q", &format!("{}/admin/demo", farrier.url), "copy"]);
    clones.below("copy").done(&["fsck"]);
}
