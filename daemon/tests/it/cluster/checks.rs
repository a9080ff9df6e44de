//! What must be true after all faults.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Write as _,
};

use http::Method;
use serde_json::{Value, json};

use super::{
    history,
    load::SHARED,
    nodes::Cluster,
    pushers::{Pushes, RefId},
    side_work::{SideWork, call},
};
use crate::support::{Job, Receiver, eventually, git::Client, send};

/// Number of shards of deliveries.
const SHARDS: usize = 64;

/// Checks that all daemons list the same refs of the repositories, and that clones from each, and the copy of each, are
/// complete. The repositories were created in this order. Returns the values of the refs.
pub(super) fn check_refs(cluster: &Cluster, repositories: &[&str]) -> BTreeMap<RefId, String> {
    let client = Client::at(cluster.scratch("checks"));
    let mut tips = BTreeMap::new();
    for (position, name) in repositories.iter().enumerate() {
        let path = format!("admin/{name}");
        let listed: BTreeSet<String> =
            cluster.nodes.iter().map(|node| client.done(&["ls-remote", &node.remote(&path, &cluster.token)])).collect();
        assert_eq!(listed.len(), 1, "all daemons list the same refs: {listed:#?}");
        for line in listed.iter().flat_map(|text| text.lines()) {
            let (value, name) = line.split_once('\t').expect("an ID and a name");
            tips.insert((path.clone(), name.to_owned()), value.to_owned());
        }
        for (number, node) in cluster.nodes.iter().enumerate() {
            let clone = Client::at(cluster.scratch(&format!("clone-{name}-{number}")));
            let dir = clone.dir().display().to_string();
            client.done(&["clone", "-q", "--mirror", &node.remote(&path, &cluster.token), &dir]);
            clone.done(&["fsck", "--full", "--strict"]);
            // The copy of the daemon itself, not only what it serves.
            let copy = node.data_dir().join(format!("repositories/{}.git", position + 1));
            Client::at(copy).done(&["fsck", "--full", "--strict", "--connectivity-only"]);
        }
    }
    tips
}

/// Checks the history of each ref. Returns the values that it got.
pub(super) fn check_changes(
    cluster: &Cluster,
    refs: &[RefId],
    tips: &BTreeMap<RefId, String>,
    pushes: &Pushes,
) -> BTreeMap<RefId, Vec<String>> {
    let histories = pushes.histories.lock().expect("no panic");
    let mut changes = BTreeMap::new();
    for id in refs {
        let last = tips.get(id).map(String::as_str).unwrap_or_default();
        let operations = histories.get(id).map(Vec::as_slice).unwrap_or_default();
        match history::check(operations, last) {
            Ok(values) => _ = changes.insert(id.clone(), values),
            Err(problem) => panic!("{id:?}: {problem}\n{}", logs(cluster)),
        }
    }
    changes
}

/// Checks that each change of a ref has one event, in the order of the changes.
pub(super) fn check_events(events: &[Value], changes: &BTreeMap<RefId, Vec<String>>) {
    let mut pushed: BTreeMap<RefId, Vec<String>> = BTreeMap::new();
    for event in events.iter().filter(|event| event["kind"] == "push") {
        let text = |key: &str| event[key].as_str().unwrap_or_else(|| panic!("{key} of {event}")).to_owned();
        pushed.entry((text("repository"), text("ref"))).or_default().push(text("after"));
    }
    for (id, values) in changes {
        assert_eq!(pushed.get(id).map(Vec::as_slice).unwrap_or_default(), values, "the events of {id:?}");
    }
}

/// Checks that each hook and each artifact is there on all daemons.
pub(super) async fn check_side_work(cluster: &Cluster, job: &Job, side: &SideWork) {
    let hooks = side.hooks.lock().expect("no panic").clone();
    let artifacts = side.artifacts.lock().expect("no panic").clone();
    for node in &cluster.nodes {
        for id in &hooks {
            let hook = node.done(Method::GET, &format!("/api/v1/repos/admin/r1/hooks/{id}"), Value::Null).await;
            assert_eq!(hook["id"].as_u64(), Some(*id));
        }
        for (name, content) in &artifacts {
            let signed = call(&node.tcp(), job, "GetSignedArtifactURL", json!({ "name": name })).await;
            let signed = signed.unwrap_or_else(|| panic!("{name} is lost"));
            let url = signed["signed_url"].as_str().expect("a URL");
            let rest = url.split_once("://").expect("a scheme").1;
            let path = &rest[rest.find('/').expect("a path")..];
            let downloaded = send(&node.tcp(), Method::GET, path, &[], "").await;
            assert!(downloaded.status == 200 && downloaded.body == content.as_slice(), "{name}: {}", downloaded.status);
        }
    }
}

/// Waits until each acknowledged push to the repository with the hook was delivered. Returns the number of requests.
pub(super) async fn check_deliveries(pushes: &Pushes, receiver: &Receiver) -> usize {
    let expected: BTreeSet<String> = {
        let histories = pushes.histories.lock().expect("no panic");
        let with_hook = histories.iter().filter(|((path, _), _)| path.ends_with(SHARED[0]));
        with_hook.flat_map(|(_, operations)| operations).filter_map(history::Operation::acknowledged).collect()
    };
    eventually("each acknowledged push was delivered", async || {
        let delivered: BTreeSet<String> = receiver
            .requests()
            .iter()
            .filter_map(|request| request.json()["after"].as_str().map(str::to_owned))
            .collect();
        expected.is_subset(&delivered)
    })
    .await;
    receiver.requests().len()
}

/// Waits until each daemon is healthy, all leases are held, and nothing waits.
pub(super) async fn check_health(cluster: &Cluster) {
    for node in &cluster.nodes {
        let get = async |path: &str| node.done(Method::GET, path, Value::Null).await;
        let status = async || get("/api/farrier/v1/status").await;
        eventually("the daemon is healthy", async || get("/api/healthz").await["status"] == "pass").await;
        eventually("all nodes are live", async || {
            let nodes = status().await["nodes"].clone();
            let nodes = nodes.as_array().expect("a list");
            nodes.len() == cluster.nodes.len() && nodes.iter().all(|node| node["state"] == "live")
        })
        .await;
        eventually("all leases are held", async || holds_all_leases(&status().await["nodes"])).await;
        eventually("nothing waits", async || {
            let status = status().await;
            let limits = status["limits"].as_array().expect("a list");
            let pending = get("/api/farrier/v1/deliveries?status=pending").await;
            status["kept"]["fan_out_events"] == 0
                && limits.iter().all(|limit| limit["waiting"] == 0)
                && pending.as_array().is_some_and(Vec::is_empty)
        })
        .await;
    }
}

/// Returns whether live nodes have all shards of deliveries, and the work that is done all the time.
fn holds_all_leases(nodes: &Value) -> bool {
    let leases =
        nodes.as_array().into_iter().flatten().flat_map(|node| node["leases"].as_array().into_iter().flatten());
    let leases: Vec<&str> = leases.filter_map(Value::as_str).collect();
    let count = |name: &&str| name.strip_prefix("deliveries (")?.strip_suffix(')')?.parse::<usize>().ok();
    let shards: usize = leases.iter().filter_map(count).sum();
    ["fan-out", "mirrors", "sweep"].iter().all(|name| leases.contains(name)) && shards == SHARDS
}

/// The logs of all daemons.
pub(super) fn logs(cluster: &Cluster) -> String {
    let mut logs = String::new();
    for (number, node) in cluster.nodes.iter().enumerate() {
        writeln!(logs, "== node {number}\n{}", node.log()).expect("a string");
    }
    logs
}
