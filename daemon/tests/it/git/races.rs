//! Pushes that arrive at the same time.

use farrierd::store::{Store, events};
use futures_util::future::join_all;

use super::{
    commands_of_push::{ZERO, pack_of, push, pushed},
    demo,
};
use crate::support::{TestDaemon, git::Client};

/// Number of clients.
const CLIENTS: usize = 6;

/// Returns commits on `base`, one for each client, with their packs.
fn changes(work: &Client, base: &str) -> Vec<(String, Vec<u8>)> {
    let change = |number: usize| {
        work.done(&["checkout", "-q", "-B", "change", base]);
        let tip = work.commit("file", format!("change {number}\n"));
        let pack = pack_of(work, &tip, Some(base));
        (tip, pack)
    };
    (0..CLIENTS).map(change).collect()
}

/// Returns the kinds of the events of a ref and the values after them, in their order.
async fn events_of(farrier: &mut TestDaemon, name: &str) -> Vec<(String, String)> {
    let read = async |store: &Store| {
        let snapshot = store.read().await.expect("a snapshot");
        events::after(&snapshot, 0, 1_000).await.expect("rows")
    };
    let all = farrier.with_store(read).await.into_iter();
    let of_ref = all.filter_map(|event| Some((event.kind, event.ref_change.filter(|change| change.r#ref == name)?)));
    of_ref.map(|(kind, change)| (kind, change.after)).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn one_of_many_pushes_to_a_ref_moves_it_and_the_others_are_refused() {
    let (mut farrier, remote) = demo().await;
    let (work, [first, ..]) = pushed(&farrier, &remote);
    let changes = changes(&work, &first);
    let pushes = changes.iter().map(async |(tip, pack)| {
        let updates = [(first.as_str(), tip.as_str(), "refs/heads/main")];
        push(&farrier, &remote, "", &updates, pack).await
    });
    let reports = join_all(pushes).await;
    let moved: Vec<usize> = (0..CLIENTS).filter(|number| reports[*number][1] == "ok refs/heads/main").collect();
    assert_eq!(moved.len(), 1, "{reports:?}");
    for (number, report) in reports.iter().enumerate().filter(|(number, _)| *number != moved[0]) {
        assert_eq!(report[..], ["unpack ok", "ng refs/heads/main failed to update ref"], "{number}");
    }
    let tip = work.done(&["ls-remote", &remote, "refs/heads/main"]);
    assert_eq!(tip, format!("{}\trefs/heads/main", changes[moved[0]].0));
    let events = events_of(&mut farrier, "refs/heads/main").await;
    let expected = [("create", &first), ("push", &first), ("push", &changes[moved[0]].0)];
    assert_eq!(events, expected.map(|(kind, tip)| (kind.to_owned(), tip.clone())), "a refused push makes no event");
}

#[tokio::test(flavor = "multi_thread")]
async fn pushes_to_different_refs_at_the_same_time_all_succeed() {
    let (mut farrier, remote) = demo().await;
    let (work, [first, ..]) = pushed(&farrier, &remote);
    let changes = changes(&work, &first);
    let names: Vec<String> = (0..CLIENTS).map(|number| format!("refs/heads/new{number}")).collect();
    let pushes = changes.iter().zip(&names).map(async |((tip, pack), name)| {
        push(&farrier, &remote, "", &[(ZERO, tip.as_str(), name.as_str())], pack).await
    });
    for (report, name) in join_all(pushes).await.into_iter().zip(&names) {
        assert_eq!(report, ["unpack ok".to_owned(), format!("ok {name}")]);
    }
    let new = work.done(&["ls-remote", &remote, "refs/heads/new*"]);
    let expected = changes.iter().zip(&names).map(|((tip, _), name)| format!("{tip}\t{name}"));
    assert_eq!(new.lines().collect::<Vec<_>>(), expected.collect::<Vec<_>>());
    for ((tip, _), name) in changes.iter().zip(&names) {
        let expected = ["create", "push"].map(|kind| (kind.to_owned(), tip.clone()));
        assert_eq!(events_of(&mut farrier, name).await, expected, "{name}");
    }
}
