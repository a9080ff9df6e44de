//! Pushes are recorded as events exactly once.

use std::time::Duration;

use farrier_proto::store::{Event, PushMark};
use farrierd::store::{StoreError, Tx, events, refs};

use super::{demo, demo_of};
use crate::support::{TestDaemon, eventually, git::Client};

/// `KIND REF BEFORE AFTER` of an event, with abbreviated ids.
fn summary(event: &Event) -> String {
    let change = event.ref_change.clone().unwrap_or_default();
    assert_eq!((event.repository_path.as_str(), event.actor_id), ("admin/demo", 1), "{event:?}");
    format!("{} {} {} {}", event.kind, change.r#ref, &change.before[..7], &change.after[..7])
}

async fn ref_events(farrier: &mut TestDaemon) -> Vec<String> {
    let read = async |store: &farrierd::store::Store| {
        let snapshot = store.read().await.expect("a snapshot");
        let marks = refs::marks(&snapshot).await.expect("rows");
        (marks.len(), events::after(&snapshot, 0, 100).await.expect("rows"))
    };
    for _ in 0..50 {
        let (marks, events) = farrier.with_store(read).await;
        if marks == 0 {
            return events.iter().filter(|event| event.ref_change.is_some()).map(summary).collect();
        }
        // An interrupted push is recorded in the background after a start. The stop may have come first.
    }
    panic!("the push was not recorded")
}

#[tokio::test(flavor = "multi_thread")]
async fn each_ref_change_is_recorded_once_in_order() {
    let (mut farrier, remote) = demo().await;
    let work = Client::init(farrier.scratch().join("work"));
    let one = work.commit("a", "a")[..7].to_owned();
    work.done(&["tag", "old"]);
    work.done(&["push", "-q", &remote, "main", "old"]);
    let zero = "0000000";
    let mut expected = vec![
        format!("create refs/heads/main {zero} {one}"),
        format!("push refs/heads/main {zero} {one}"),
        format!("push refs/tags/old {zero} {one}"),
        format!("create refs/tags/old {zero} {one}"),
    ];
    assert_eq!(ref_events(&mut farrier).await, expected);

    let two = work.commit("a", "b")[..7].to_owned();
    work.done(&["tag", "new"]);
    work.done(&["push", "-q", &remote, "main", "main:side", "new", ":old", "main:refs/notes/x"]);
    expected.extend([
        format!("push refs/heads/main {one} {two}"),
        format!("create refs/heads/side {zero} {two}"),
        format!("push refs/heads/side {zero} {two}"),
        format!("push refs/tags/new {zero} {two}"),
        format!("create refs/tags/new {zero} {two}"),
        format!("push refs/tags/old {one} {zero}"),
        format!("delete refs/tags/old {one} {zero}"),
    ]);
    assert_eq!(ref_events(&mut farrier).await, expected);

    work.done(&["push", "-q", &remote, "main"]);
    work.done(&["push", "-q", &remote, ":side"]);
    work.refused(&["push", "-q", &remote, "main~1:main"]);
    expected.push(format!("delete refs/heads/side {two} {zero}"));
    assert_eq!(ref_events(&mut farrier).await, expected);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_push_that_a_killed_daemon_did_not_record_is_recorded_at_the_next_start() {
    let (mut farrier, remote) = demo().await;
    let work = Client::init(farrier.scratch().join("work"));
    let one = work.commit("a", "a");
    work.commit("a", "b");
    work.done(&["push", "-q", &remote, "main"]);
    let before = ref_events(&mut farrier).await;

    // The state after a kill: the mark exists and git has moved refs, but no event was recorded.
    let bare = Client::at(farrier.data_dir().join("repositories/1.git"));
    farrier
        .with_store(async |store| {
            let mark = async |tx: Tx| {
                refs::mark(&tx, 1, 77, &PushMark { actor_id: 1, since_ms: 1, key: None });
                Ok::<_, StoreError>(())
            };
            store.write(mark).await.expect("a write");
            bare.done(&["update-ref", "refs/heads/main", &one]);
            bare.done(&["update-ref", "refs/tags/v1", &one]);
            std::fs::write(bare.dir().join("refs/heads/main.lock"), "").expect("a file");
            std::fs::create_dir_all(bare.dir().join("objects/tmp_objdir-incoming-x")).expect("a directory");
        })
        .await;
    let last = ref_events(&mut farrier).await;
    let kinds: Vec<_> =
        last[before.len()..].iter().map(|summary| summary.split(' ').take(2).collect::<Vec<_>>().join(" ")).collect();
    assert_eq!(kinds, ["push refs/heads/main", "push refs/tags/v1", "create refs/tags/v1"]);
    assert_eq!(ref_events(&mut farrier).await, last, "recorded only once");
    assert!(!bare.dir().join("refs/heads/main.lock").exists());
    work.done(&["push", "-q", "-f", &remote, "main"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_unrecorded_change_is_recorded_before_the_next_push_of_the_ref() {
    let (mut farrier, remote) = demo().await;
    let work = Client::init(farrier.scratch().join("work"));
    work.commit("a", "a");
    work.done(&["push", "-q", &remote, "main"]);
    work.commit("a", "b");
    let three = work.commit("a", "c");
    work.done(&["push", "-q", &remote, "main:side"]);
    let bare = Client::at(farrier.data_dir().join("repositories/1.git"));
    bare.done(&["update-ref", "refs/heads/main", &three]);
    work.commit("a", "d");
    let before = ref_events(&mut farrier).await.len();
    work.done(&["push", "-q", &remote, "main"]);
    let after = ref_events(&mut farrier).await;
    assert_eq!(after.len(), before + 2);
    assert!(after[before].ends_with(&three[..7]) && after[before + 1].contains(&three[..7]), "{after:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn kills_neither_lose_nor_repeat_ref_events() {
    let mut farrier = TestDaemon::program("").await;
    let remote = demo_of(&farrier).await;
    let work = Client::init(farrier.scratch().join("work"));
    for round in 0..8 {
        work.commit("a", round.to_string());
        let (directory, address) = (work.dir().to_owned(), remote.clone());
        #[expect(clippy::disallowed_methods, reason = "tests own their tasks")]
        let pushing = tokio::task::spawn_blocking(move || Client::at(directory).run(&["push", "-q", &address, "main"]));
        tokio::time::sleep(Duration::from_millis(round * 12)).await;
        farrier.kill_and_start().await;
        pushing.await.expect("no panic");
    }
    work.commit("a", "last");
    // A git process that outlived its daemon may still hold a lock for a moment.
    eventually("a push succeeds", async || work.run(&["push", "-q", &remote, "main"]).ok).await;
    let tip = work.done(&["rev-parse", "HEAD"])[..7].to_owned();
    let events = ref_events(&mut farrier).await;
    let pushes: Vec<Vec<&str>> = events
        .iter()
        .map(|summary| summary.split(' ').collect::<Vec<_>>())
        .filter(|words| words[0] == "push")
        .collect();
    assert_eq!(events.len(), pushes.len() + 1, "the branch was created once: {events:?}");
    assert_eq!(pushes[0][2], "0000000");
    assert!(pushes.windows(2).all(|pair| pair[0][3] == pair[1][2]), "each push continues the previous one: {events:?}");
    assert_eq!(pushes.last().expect("a push")[3], tip);
}
