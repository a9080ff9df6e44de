//! The clients of the fault test.

use std::sync::atomic::Ordering;

use http::Method;
use serde_json::json;

use super::{
    faults::{Fault, Probes, cause_all},
    nodes::{Cluster, ClusterNode},
    pushers::{Pusher, Pushes, RefId},
    report::Recoveries,
    side_work::SideWork,
};
use crate::support::{Job, Random, Receiver, ServerAddress};

/// Number of clients that push all the time.
pub(super) const PUSHERS: usize = 4;
/// The repositories to which they push. The first one has a hook.
pub(super) const SHARED: [&str; 2] = ["r0", "r1"];
/// The repositories to which a client for each daemon pushes after a fault: small and large packs.
pub(super) const PROBED: [&str; 2] = ["small", "large"];
/// Refs in each shared repository.
const REFS: usize = 3;

/// Causes faults while clients push, upload and create hooks. Returns the times after the faults, and all refs.
pub(super) fn run(
    cluster: &mut Cluster,
    faults: &[Fault],
    job: &Job,
    (pushes, side): (&Pushes, &SideWork),
    random: &mut Random,
) -> (Recoveries, Vec<RefId>) {
    let servers: Vec<ServerAddress> = cluster.nodes.iter().map(ClusterNode::tcp).collect();
    let urls: Vec<String> = cluster.nodes.iter().map(|node| node.server(&cluster.token)).collect();
    let (shared, probed) = (shared_refs(), PROBED.map(|name| probed_refs(name, urls.len())));
    let (token, runtime) = (cluster.token.clone(), tokio::runtime::Handle::current());
    let recoveries = std::thread::scope(|scope| {
        // The clients end also if an assertion fails.
        let _ends = EndClients(pushes, side);
        for number in 0..PUSHERS {
            let dir = cluster.scratch(&format!("work{number}"));
            let mut pusher = Pusher::new(pushes, &shared, &urls, dir, random.fork());
            scope.spawn(move || pusher.run());
        }
        let (runtime, servers, token) = (&runtime, &servers, &token);
        let (hooks, uploads) = (random.fork(), random.fork());
        scope.spawn(move || runtime.block_on(side.create_hooks(servers, token, "admin/r1", hooks)));
        scope.spawn(move || runtime.block_on(side.upload(servers, job, uploads)));
        let [small, large] = probed.each_ref().map(|refs| {
            let probe = |(number, id): (usize, &'_ RefId)| {
                let dir = cluster.scratch(&format!("{}-{number}", id.0.replace('/', "-")));
                Pusher::new(pushes, &refs[number..=number], &urls[number..=number], dir, random.fork())
            };
            refs.iter().enumerate().map(probe).collect()
        });
        let caused = cause_all(cluster, faults, (random, pushes), Probes { small, large });
        tokio::task::block_in_place(|| runtime.block_on(caused))
    });
    (recoveries, shared.into_iter().chain(probed.into_iter().flatten()).collect())
}

/// The refs to which all clients push.
pub(super) fn shared_refs() -> Vec<RefId> {
    let of = |name: &str, number: usize| (format!("admin/{name}"), format!("refs/heads/shared{number}"));
    SHARED.iter().flat_map(|name| (0..REFS).map(move |number| of(name, number))).collect()
}

/// The refs of the repository `name` to which the client of each daemon pushes.
fn probed_refs(name: &str, nodes: usize) -> Vec<RefId> {
    (0..nodes).map(|number| (format!("admin/{name}"), format!("refs/heads/node{number}"))).collect()
}

/// Ends the clients when it is dropped.
pub(super) struct EndClients<'a>(pub(super) &'a Pushes, pub(super) &'a SideWork);

impl Drop for EndClients<'_> {
    fn drop(&mut self) {
        self.0.stop.store(true, Ordering::SeqCst);
        self.1.stop.store(true, Ordering::SeqCst);
    }
}

/// Creates the repositories, the hook, and a job for the uploads.
pub(super) async fn prepare(cluster: &Cluster, receiver: &Receiver) -> Job {
    let node = &cluster.nodes[0];
    for name in SHARED.into_iter().chain(PROBED) {
        node.done(Method::POST, "/api/v1/user/repos", json!({ "name": name })).await;
    }
    let config = json!({ "url": receiver.url, "content_type": "json" });
    let hook = json!({ "type": "gitea", "events": ["push", "create"], "config": config, "active": true });
    node.done(Method::POST, "/api/v1/repos/admin/r0/hooks", hook).await;
    Job::of(&node.done(Method::POST, "/api/farrier/v1/jobs", json!({ "repo": "admin/r0" })).await)
}
