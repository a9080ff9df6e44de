//! Several daemons that serve one store at the same time, and what happens when they, the database or the bucket fail.
//!
//! `FARRIER_ROUNDS` sets the number of faults (default 6). `FARRIER_SEED` repeats the random choices of a run.

mod history;
mod nodes;
mod pushers;
mod side_work;

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Write as _,
    sync::atomic::Ordering,
    time::Duration,
};

use http::Method;
use serde_json::{Value, json};

use self::{
    nodes::Cluster,
    pushers::{Pusher, Pushes, RefId},
    side_work::{SideWork, call},
};
use crate::support::{
    Balancer, Job, Random, Receiver, ServerAddress, bucket::BucketFault, eventually, git::Client, send,
};

const NODES: usize = 3;
const PUSHERS: usize = 4;
/// The repositories of the clients. The first one has a hook.
const REPOSITORIES: [&str; 2] = ["r0", "r1"];
/// Refs in each repository.
const REFS: usize = 3;
/// Time that is longer than that for which a daemon keeps its leases without a renewal.
const PAST_LEASES: Duration = Duration::from_secs(17);

/// A fault that the test causes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Fault {
    /// SIGKILL of a daemon.
    Kill,
    /// The same, and the removal of its data directory.
    KillAndWipe,
    /// SIGTERM of a daemon.
    Stop,
    /// A daemon is stopped with SIGSTOP until other daemons have taken its leases.
    Pause,
    /// The database server is restarted.
    RestartServer,
    /// All processes of the database server are killed.
    KillServer,
    /// The bucket answers with errors.
    BucketErrors,
    /// The bucket closes connections.
    BucketCut,
}

/// The order of the faults before they become random: each kind once.
const FAULTS: [Fault; 8] = [
    Fault::KillAndWipe,
    Fault::RestartServer,
    Fault::Pause,
    Fault::KillAndWipe,
    Fault::Kill,
    Fault::BucketErrors,
    Fault::KillServer,
    Fault::Stop,
];

async fn cause(cluster: &mut Cluster, fault: Fault, random: &mut Random) {
    let node = random.below(NODES);
    let short = Duration::from_millis(200 + random.below(1_500) as u64);
    match fault {
        Fault::Kill | Fault::KillAndWipe => {
            cluster.nodes[node].kill().await;
            if fault == Fault::KillAndWipe {
                cluster.nodes[node].wipe();
            }
            tokio::time::sleep(short).await;
            cluster.nodes[node].start().await;
        }
        Fault::Stop => {
            cluster.nodes[node].stop().await;
            tokio::time::sleep(short).await;
            cluster.nodes[node].start().await;
        }
        Fault::Pause => {
            cluster.nodes[node].pause();
            tokio::time::sleep(PAST_LEASES).await;
            cluster.nodes[node].resume();
        }
        Fault::RestartServer => tokio::task::block_in_place(|| cluster.server.command("restart")),
        Fault::KillServer => {
            tokio::task::block_in_place(|| cluster.server.command("kill"));
            tokio::time::sleep(short).await;
            tokio::task::block_in_place(|| cluster.server.command("start"));
        }
        Fault::BucketErrors | Fault::BucketCut => {
            let kind = if fault == Fault::BucketCut { BucketFault::Cut } else { BucketFault::Error };
            cluster.bucket.set(kind);
            tokio::time::sleep(short).await;
            cluster.bucket.set(BucketFault::None);
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_acknowledged_is_lost_and_refs_are_linearizable_while_daemons_and_servers_fail() {
    let rounds: usize = std::env::var("FARRIER_ROUNDS").map_or(6, |text| text.parse().expect("a number"));
    let seed = Random::seed("FARRIER_SEED");
    println!("FARRIER_SEED={seed} FARRIER_ROUNDS={rounds}");
    let mut random = Random::new(seed);
    let Some(mut cluster) = Cluster::start(NODES).await else { return };
    let receiver = Receiver::start().await;
    let job = prepare(&cluster, &receiver).await;
    let refs = refs();
    let servers: Vec<ServerAddress> = cluster.nodes.iter().map(nodes::ClusterNode::tcp).collect();
    let urls: Vec<String> = cluster.nodes.iter().map(|node| node.server(&cluster.token)).collect();
    let (pushes, side) = (Pushes::default(), SideWork::default());
    let mut caused: BTreeMap<Fault, usize> = BTreeMap::new();
    let token = cluster.token.clone();
    std::thread::scope(|scope| {
        // The clients end also if an assertion fails.
        let _ends = EndClients(&pushes, &side);
        for number in 0..PUSHERS {
            let dir = cluster.scratch(&format!("work{number}"));
            let mut pusher = Pusher::new(&pushes, &refs, &urls, dir, random.fork());
            scope.spawn(move || pusher.run());
        }
        let (hooks, uploads) = (random.fork(), random.fork());
        let faults = async {
            for round in 0..rounds {
                pushes.advance(4 + random.below(12) as u64).await;
                let fault = FAULTS.get(round).copied().unwrap_or_else(|| random.of(&FAULTS));
                println!("round {round}: {fault:?}");
                cause(&mut cluster, fault, &mut random).await;
                *caused.entry(fault).or_default() += 1;
            }
            pushes.advance(10).await;
            drop(EndClients(&pushes, &side));
        };
        let all = async {
            tokio::join!(
                faults,
                side.create_hooks(&servers, &token, "admin/r1", hooks),
                side.upload(&servers, &job, uploads),
            )
        };
        tokio::task::block_in_place(|| tokio::runtime::Handle::current().block_on(all));
    });
    let changes = check_refs(&cluster, &refs, &pushes);
    check_side_work(&cluster, &job, &side).await;
    let delivered = check_deliveries(&pushes, &receiver).await;
    report(&pushes, &side, &caused, changes, delivered);
    for node in &mut cluster.nodes {
        node.stop().await;
    }
    let checked = cluster.nodes[0].command(&["check-data", "--content"]).await;
    let text = String::from_utf8_lossy(&checked.stdout).into_owned();
    assert!(checked.status.success(), "{text}{}", String::from_utf8_lossy(&checked.stderr));
}

#[tokio::test(flavor = "multi_thread")]
async fn daemons_behind_a_proxy_are_restarted_one_after_another_without_a_failed_push() {
    let Some(mut cluster) = Cluster::start(2).await else { return };
    for name in REPOSITORIES {
        cluster.nodes[0].done(Method::POST, "/api/v1/user/repos", json!({ "name": name })).await;
    }
    let balancer = Balancer::start(cluster.nodes.iter().map(|node| node.address().to_owned()).collect()).await;
    let urls = [format!("http://admin:{}@{}", cluster.token, balancer.address)];
    let refs = refs();
    let (pushes, side) = (Pushes::default(), SideWork::default());
    let mut random = Random::new(5);
    std::thread::scope(|scope| {
        let _ends = EndClients(&pushes, &side);
        for number in 0..PUSHERS {
            let dir = cluster.scratch(&format!("work{number}"));
            let mut pusher = Pusher::new(&pushes, &refs, &urls, dir, random.fork());
            scope.spawn(move || pusher.run());
        }
        let restarts = async {
            for node in &mut cluster.nodes {
                pushes.advance(10).await;
                node.stop().await;
                pushes.advance(10).await;
                node.start().await;
            }
            pushes.advance(10).await;
            // A daemon that has never seen the repositories serves them as well.
            cluster.nodes[1].stop().await;
            cluster.nodes[1].wipe();
            cluster.nodes[1].start().await;
            pushes.advance(10).await;
            drop(EndClients(&pushes, &side));
        };
        tokio::task::block_in_place(|| tokio::runtime::Handle::current().block_on(restarts));
    });
    let changes = check_refs(&cluster, &refs, &pushes);
    let count = |count: &std::sync::atomic::AtomicU64| count.load(Ordering::SeqCst);
    println!("acknowledged {}, refused {}, changes {changes}", count(&pushes.acknowledged), count(&pushes.refused));
    let unknown = pushes.unknown.lock().expect("no panic").clone();
    assert!(unknown.is_empty(), "{unknown:#?}\n{}", logs(&cluster));
}

/// The refs to which the clients push.
fn refs() -> Vec<RefId> {
    let of = |name: &str, number: usize| (format!("admin/{name}"), format!("refs/heads/shared{number}"));
    REPOSITORIES.iter().flat_map(|name| (0..REFS).map(move |number| of(name, number))).collect()
}

/// Ends the clients when it is dropped.
struct EndClients<'a>(&'a Pushes, &'a SideWork);

impl Drop for EndClients<'_> {
    fn drop(&mut self) {
        self.0.stop.store(true, Ordering::SeqCst);
        self.1.stop.store(true, Ordering::SeqCst);
    }
}

/// Creates the repositories, the hook, and a job for the uploads.
async fn prepare(cluster: &Cluster, receiver: &Receiver) -> Job {
    let node = &cluster.nodes[0];
    for name in REPOSITORIES {
        node.done(Method::POST, "/api/v1/user/repos", json!({ "name": name })).await;
    }
    let config = json!({ "url": receiver.url, "content_type": "json" });
    let hook = json!({ "type": "gitea", "events": ["push", "create"], "config": config, "active": true });
    node.done(Method::POST, "/api/v1/repos/admin/r0/hooks", hook).await;
    Job::of(&node.done(Method::POST, "/api/farrier/v1/jobs", json!({ "repo": "admin/r0" })).await)
}

/// Checks that all daemons list the same refs, that clones from each are complete, and the history of each ref.
/// Returns the number of changes.
fn check_refs(cluster: &Cluster, refs: &[RefId], pushes: &Pushes) -> usize {
    let client = Client::at(cluster.scratch("checks"));
    let mut tips: BTreeMap<RefId, String> = BTreeMap::new();
    for name in REPOSITORIES {
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
            let id = REPOSITORIES.iter().position(|it| *it == name).expect("a repository") + 1;
            let copy = node.data_dir().join(format!("repositories/{id}.git"));
            Client::at(copy).done(&["fsck", "--full", "--strict", "--connectivity-only"]);
        }
    }
    let histories = pushes.histories.lock().expect("no panic");
    let mut changes = 0;
    for id in refs {
        let last = tips.get(id).map(String::as_str).unwrap_or_default();
        let operations = histories.get(id).map(Vec::as_slice).unwrap_or_default();
        match history::check(operations, last) {
            Ok(count) => changes += count,
            Err(problem) => panic!("{id:?}: {problem}\n{}", logs(cluster)),
        }
    }
    changes
}

/// Checks that each hook and each artifact is there on all daemons.
async fn check_side_work(cluster: &Cluster, job: &Job, side: &SideWork) {
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
async fn check_deliveries(pushes: &Pushes, receiver: &Receiver) -> usize {
    let expected: BTreeSet<String> = {
        let histories = pushes.histories.lock().expect("no panic");
        let with_hook = histories.iter().filter(|((path, _), _)| path.ends_with(REPOSITORIES[0]));
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

fn report(pushes: &Pushes, side: &SideWork, caused: &BTreeMap<Fault, usize>, changes: usize, delivered: usize) {
    let mut faults = String::new();
    for (fault, count) in caused {
        write!(faults, " {fault:?} {count},").expect("a string");
    }
    let count = |count: &std::sync::atomic::AtomicU64| count.load(Ordering::SeqCst);
    println!(
        "faults:{faults} pushes: acknowledged {}, refused {}, unknown {}, changes of refs {changes}, reads {}; \
         longest time without an acknowledged push {:?}; hooks {}, artifacts {}, requests to the receiver {delivered}; \
         lost 0",
        count(&pushes.acknowledged),
        count(&pushes.refused),
        pushes.unknown.lock().expect("no panic").len(),
        count(&pushes.reads),
        pushes.pause.lock().expect("no panic").1,
        side.hooks.lock().expect("no panic").len(),
        side.artifacts.lock().expect("no panic").len(),
    );
}

/// The logs of all daemons.
fn logs(cluster: &Cluster) -> String {
    let mut logs = String::new();
    for (number, node) in cluster.nodes.iter().enumerate() {
        writeln!(logs, "== node {number}\n{}", node.log()).expect("a string");
    }
    logs
}
