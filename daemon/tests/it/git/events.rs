//! Pushes are recorded as events exactly once.

use std::time::Duration;

use farrier_proto::store::Event;
use farrierd::store::{Store, events};

use super::{demo, demo_of};
use crate::support::{TestDaemon, eventually, git::Client};

/// `KIND REF BEFORE AFTER` of an event, with abbreviated ids.
fn summary(event: &Event) -> String {
    let change = event.ref_change.clone().unwrap_or_default();
    assert_eq!((event.repository_path.as_str(), event.actor_id), ("admin/demo", 1), "{event:?}");
    format!("{} {} {} {}", event.kind, change.r#ref, &change.before[..7], &change.after[..7])
}

async fn ref_events(farrier: &mut TestDaemon) -> Vec<String> {
    let read = async |store: &Store| {
        let snapshot = store.read().await.expect("a snapshot");
        events::after(&snapshot, 0, 100).await.expect("rows")
    };
    farrier.with_store(read).await.iter().filter(|event| event.ref_change.is_some()).map(summary).collect()
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
async fn a_change_of_a_ref_in_the_directory_makes_no_event_and_the_next_push_continues_from_the_row() {
    let (mut farrier, remote) = demo().await;
    let work = Client::init(farrier.scratch().join("work"));
    let one = work.commit("a", "a")[..7].to_owned();
    work.done(&["push", "-q", &remote, "main"]);
    work.commit("a", "b");
    let three = work.commit("a", "c");
    work.done(&["push", "-q", &remote, "main:side"]);
    let bare = Client::at(farrier.data_dir().join("repositories/1.git"));
    let before = ref_events(&mut farrier).await;
    bare.done(&["update-ref", "refs/heads/main", &three]);
    let four = work.commit("a", "d")[..7].to_owned();
    // The client compares with the file, and the daemon with the row.
    let err = work.refused(&["push", &remote, "main"]);
    assert!(err.contains("failed to update ref"), "{err}");
    assert_eq!(ref_events(&mut farrier).await, before);

    farrier.stop().await;
    farrier.command(&["check-data", "--repair"]).await;
    farrier.restart().await;
    work.done(&["push", "-q", &remote, "main"]);
    let after = ref_events(&mut farrier).await;
    assert_eq!(after[before.len()..], [format!("push refs/heads/main {one} {four}")]);
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
