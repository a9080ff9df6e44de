//! Several daemons that serve one store at the same time, and what happens when they, the database or the bucket fail.
//!
//! `FARRIER_ROUNDS` sets the number of faults (default 6). From 14 on, every kind is caused at least once, which takes
//! more than five minutes. `FARRIER_SEED` repeats the random choices of a run.

mod checks;
mod events;
mod faults;
mod history;
mod load;
mod nodes;
mod pushers;
mod races;
mod report;
mod servers;
mod side_work;

use std::sync::atomic::Ordering;

use http::Method;
use serde_json::json;

use self::{
    checks::{check_changes, check_deliveries, check_events, check_health, check_refs, check_side_work, logs},
    events::EventReader,
    load::{EndClients, PROBED, PUSHERS, SHARED, prepare, shared_refs},
    nodes::Cluster,
    pushers::{Pusher, Pushes},
    report::Counts,
    side_work::SideWork,
};
use crate::support::{Balancer, Random, Receiver};

const NODES: usize = 3;

#[tokio::test(flavor = "multi_thread")]
async fn nothing_acknowledged_is_lost_and_refs_are_linearizable_while_daemons_and_servers_fail() {
    let rounds: usize = std::env::var("FARRIER_ROUNDS").map_or(6, |text| text.parse().expect("a number"));
    let seed = Random::seed("FARRIER_SEED");
    println!("FARRIER_SEED={seed} FARRIER_ROUNDS={rounds}");
    let mut random = Random::new(seed);
    let faults = faults::plan(rounds, &mut random);
    let Some(mut cluster) = Cluster::start_with_standby(NODES).await else { return };
    let receiver = Receiver::start().await;
    let job = prepare(&cluster, &receiver).await;
    let reader = EventReader::start(&cluster, random.fork());
    let (pushes, side) = (Pushes::default(), SideWork::default());
    let (recoveries, refs) = load::run(&mut cluster, &faults, &job, (&pushes, &side), &mut random);
    let tips = check_refs(&cluster, &[SHARED, PROBED].concat());
    let changes = check_changes(&cluster, &refs, &tips, &pushes);
    check_side_work(&cluster, &job, &side).await;
    let requests_to_receiver = check_deliveries(&pushes, &receiver).await;
    let events = reader.check(&cluster).await;
    check_events(&events, &changes);
    check_health(&cluster).await;
    let changes = changes.values().map(Vec::len).sum();
    report::print(&pushes, &side, &recoveries, &Counts { changes, requests_to_receiver, events: events.len() });
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
    for name in SHARED {
        cluster.nodes[0].done(Method::POST, "/api/v1/user/repos", json!({ "name": name })).await;
    }
    let balancer = Balancer::start(cluster.nodes.iter().map(|node| node.address().to_owned()).collect()).await;
    let urls = [format!("http://admin:{}@{}", cluster.token, balancer.address)];
    let refs = shared_refs();
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
    let changes = check_changes(&cluster, &refs, &check_refs(&cluster, &SHARED), &pushes);
    let changes: usize = changes.values().map(Vec::len).sum();
    let count = |count: &std::sync::atomic::AtomicU64| count.load(Ordering::SeqCst);
    println!("acknowledged {}, refused {}, changes {changes}", count(&pushes.acknowledged), count(&pushes.refused));
    let unknown = pushes.unknown.lock().expect("no panic").clone();
    assert!(unknown.is_empty(), "{unknown:#?}\n{}", logs(&cluster));
}
