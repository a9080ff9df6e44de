//! Pushes that arrive at several daemons at the same time.

use std::{collections::BTreeMap, sync::Barrier};

use http::Method;
use serde_json::{Value, json};

use super::nodes::Cluster;
use crate::support::{git::Client, send};

const NODES: usize = 3;
/// Number of clients, and of pushes of each.
const CLIENTS: usize = 6;

/// A cluster with the repository `admin/demo`, which has the branch `main` with one commit.
async fn demo() -> Option<(Cluster, Client)> {
    let cluster = Cluster::start(NODES).await?;
    cluster.nodes[0].done(Method::POST, "/api/v1/user/repos", json!({ "name": "demo" })).await;
    let work = Client::init(cluster.scratch("work"));
    work.commit("a", "first");
    work.done(&["push", "-q", &cluster.nodes[0].remote("admin/demo", &cluster.token), "main"]);
    Some((cluster, work))
}

/// Returns the commits after each push of a ref, by ref, in the order of the events.
async fn pushed(cluster: &Cluster) -> BTreeMap<String, Vec<String>> {
    let path = "/api/farrier/v1/events?kind=push&repository=admin/demo&limit=1000&after=0";
    let page = send(&cluster.nodes[0].unix(), Method::GET, path, &[("accept", "application/json")], "").await.json();
    let mut commits: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for event in page["events"].as_array().expect("a list") {
        let text = |key: &str| event[key].as_str().unwrap_or_else(|| panic!("{event}")).to_owned();
        commits.entry(text("ref")).or_default().push(text("after"));
    }
    commits
}

/// Runs a function for each client, all at the same time.
fn at_once<T: Send>(push: impl Fn(usize) -> T + Sync) -> Vec<T> {
    let barrier = Barrier::new(CLIENTS);
    tokio::task::block_in_place(|| {
        std::thread::scope(|scope| {
            let (barrier, push) = (&barrier, &push);
            let run = |number| {
                scope.spawn(move || {
                    barrier.wait();
                    push(number)
                })
            };
            let running: Vec<_> = (0..CLIENTS).map(run).collect();
            running.into_iter().map(|thread| thread.join().expect("no panic")).collect()
        })
    })
}

#[tokio::test(flavor = "multi_thread")]
async fn one_of_six_pushes_to_a_ref_through_three_daemons_moves_it_and_the_others_are_refused() {
    let Some((cluster, work)) = demo().await else { return };
    let first = work.done(&["rev-parse", "main"]);
    let changes: Vec<String> = (0..CLIENTS)
        .map(|number| {
            work.done(&["checkout", "-q", "-B", "change", &first]);
            work.commit("a", format!("change {number}"))
        })
        .collect();
    let lease = format!("--force-with-lease=refs/heads/main:{first}");
    let pushes = at_once(|number| {
        let remote = cluster.nodes[number % NODES].remote("admin/demo", &cluster.token);
        work.run(&["push", "-q", &lease, &remote, &format!("{}:refs/heads/main", changes[number])])
    });
    let moved: Vec<usize> = (0..CLIENTS).filter(|number| pushes[*number].ok).collect();
    assert_eq!(moved.len(), 1, "{pushes:#?}");
    for refused in pushes.iter().filter(|push| !push.ok) {
        let is_outdated = ["(stale info)", "(failed to update ref)"].iter().any(|text| refused.err.contains(text));
        assert!(is_outdated, "{refused:?}");
    }
    let tip = &changes[moved[0]];
    for node in &cluster.nodes {
        let listed = work.done(&["ls-remote", &node.remote("admin/demo", &cluster.token), "refs/heads/main"]);
        assert_eq!(listed, format!("{tip}\trefs/heads/main"));
    }
    let expected = BTreeMap::from([("refs/heads/main".to_owned(), vec![first, tip.clone()])]);
    assert_eq!(pushed(&cluster).await, expected, "a refused push makes no event");
}

#[tokio::test(flavor = "multi_thread")]
async fn thirty_six_pushes_to_six_refs_through_three_daemons_all_succeed() {
    let Some((cluster, work)) = demo().await else { return };
    let first = work.done(&["rev-parse", "main"]);
    let clients: Vec<Client> = (0..CLIENTS)
        .map(|number| {
            let dir = cluster.scratch(&format!("client{number}"));
            work.done(&["clone", "-q", ".", &dir.display().to_string()]);
            Client::at(dir)
        })
        .collect();
    let pushed_by = at_once(|number| {
        let mut commits = Vec::new();
        for change in 0..CLIENTS {
            commits.push(clients[number].commit("a", format!("change {change} of {number}")));
            let remote = cluster.nodes[(number + change) % NODES].remote("admin/demo", &cluster.token);
            clients[number].done(&["push", "-q", &remote, &format!("HEAD:refs/heads/own{number}")]);
        }
        commits
    });
    let mut expected = BTreeMap::from([("refs/heads/main".to_owned(), vec![first])]);
    for (number, commits) in pushed_by.into_iter().enumerate() {
        expected.insert(format!("refs/heads/own{number}"), commits);
    }
    assert_eq!(pushed(&cluster).await, expected);
    let branches = cluster.nodes[1].done(Method::GET, "/api/v1/repos/admin/demo/branches?limit=50", Value::Null).await;
    assert_eq!(branches.as_array().map(Vec::len), Some(1 + CLIENTS));
}
