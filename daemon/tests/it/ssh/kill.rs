//! A daemon that is killed during pushes loses no acknowledged push and repeats no event.

use std::time::Duration;

use farrierd::store::{events, refs};

use super::{ON, with_demo};
use crate::support::{TestDaemon, eventually, git::Client};

#[tokio::test(flavor = "multi_thread")]
async fn kills_neither_lose_nor_repeat_ref_events() {
    let mut farrier = TestDaemon::program(ON).await;
    let mut client = with_demo(&farrier).await;
    let work = client.work(&farrier, "work", "admin");
    let mut acknowledged = None;
    for round in 0..6 {
        let tip = work.commit("a", round.to_string());
        let (directory, address) = (work.dir().to_owned(), client.url("admin/demo"));
        #[expect(clippy::disallowed_methods, reason = "tests own their tasks")]
        let pushing = tokio::task::spawn_blocking(move || Client::at(directory).run(&["push", "-q", &address, "main"]));
        tokio::time::sleep(Duration::from_millis(60 + round * 30)).await;
        farrier.kill_and_start().await;
        client.connect_to(&farrier).await;
        if pushing.await.expect("no panic").ok {
            acknowledged = Some(tip);
        }
        if let Some(tip) = &acknowledged {
            let listed = work.done(&["ls-remote", &client.url("admin/demo"), "refs/heads/main"]);
            let found = listed.split('\t').next().expect("a line").to_owned();
            work.done(&["merge-base", "--is-ancestor", tip, &found]);
        }
    }
    let tip = work.commit("a", "last");
    // A git process that outlived its daemon may still hold a lock for a moment.
    eventually("a push succeeds", async || work.run(&["push", "-q", &client.url("admin/demo"), "main"]).ok).await;
    let pushes = eventually_recorded(&mut farrier).await;
    assert!(pushes.windows(2).all(|pair| pair[0].1 == pair[1].0), "each push continues the previous one: {pushes:?}");
    assert!(pushes[0].0.starts_with("0000000"));
    assert_eq!(pushes.last().expect("a push").1, tip);
}

/// Returns the commits before and after each push, when no push is left to record.
async fn eventually_recorded(farrier: &mut TestDaemon) -> Vec<(String, String)> {
    for _ in 0..50 {
        let (marks, events) = farrier
            .with_store(async |store| {
                let snapshot = store.read().await.expect("a snapshot");
                let marks = refs::marks(&snapshot).await.expect("rows");
                (marks.len(), events::after(&snapshot, 0, 100).await.expect("rows"))
            })
            .await;
        if marks == 0 {
            let pushes = events.into_iter().filter(|event| event.kind == "push");
            let changes = pushes.map(|event| event.ref_change.expect("a change"));
            return changes.map(|change| (change.before, change.after)).collect();
        }
    }
    panic!("the push was not recorded")
}
