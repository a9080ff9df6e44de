//! Fetches and deliveries of one, two and three daemons, each with the same share of a processor.

use std::{
    sync::{Arc, atomic::Ordering},
    time::{Duration, Instant},
};

use serde_json::{Value, json};
use tokio::task::JoinSet;

use super::scene::{Cluster, Servers, first_fetch, url};
use crate::{
    Result,
    client::head,
    farrier::Farrier,
    figures::{plain, ratio, spread},
    plan::Plan,
    rows::{
        git::{
            fetch_request, fetches,
            fixture::{self, BRANCH, git_at},
            post,
        },
        hooks::scene::{Arrived, CONFIG, REPOSITORIES, hook, patch, receiver},
        settle,
    },
    servers::share::Share,
    table::{Budget, Table},
};

/// Number of daemons.
const NODES: usize = 3;
/// The share of each, percent of one processor. All daemons, PostgreSQL, the bucket, the clients and the receivers
/// together must not need all processors.
const PERCENT: u32 = 20;
/// Number of hooks of each event. A daemon has the deliveries of a share of all hooks.
const HOOKS: usize = 60;
/// Time limit until a daemon has its share of the hooks.
const PATIENCE: Duration = Duration::from_secs(30);

pub(super) async fn measure(plan: &Plan, table: &mut Table, servers: &Servers) -> Result<()> {
    let what = format!("fetches and deliveries of {NODES} nodes, each with {PERCENT} % of a processor");
    let shares: std::result::Result<Vec<Share>, String> =
        (0..NODES).map(|number| Share::create(&number.to_string(), PERCENT)).collect();
    let shares = match shares {
        Ok(shares) => shares,
        Err(why) => {
            table.missing(&what, "–".into(), &why);
            return Ok(());
        }
    };
    // Stored answers need no git process.
    let cluster = Cluster::new(plan, servers, "shares", &format!("[git]\ncache_max_bytes = 0\n{CONFIG}"))?;
    let bare = fixture::make(&plan.dir("shares-git")?, if plan.quick { 20 } else { 200 }).await?;
    let tip = git_at(&bare, &["rev-parse", BRANCH]).await?;
    let (mut running, arrived) = (JoinSet::new(), Arc::new(Arrived::default()));
    let mut first = Some(prepare(&cluster, &bare, &mut running, &arrived).await?);
    let mut delivered = vec![Vec::new(); NODES];
    let mut fetched = vec![Vec::new(); 2];
    for round in 0..plan.rounds.min(3) {
        let mut nodes: Vec<Farrier> = first.take().into_iter().collect();
        for number in 0..NODES {
            if nodes.len() <= number {
                nodes.push(cluster.start(number).await?);
            }
            shares[number].add(nodes[number].watch())?;
            balanced(&nodes).await?;
            delivered[number].push(deliveries(plan, &nodes, &arrived).await?);
        }
        for node in &nodes {
            first_fetch(node, "small", &tip).await?;
        }
        settle().await;
        fetched[0].push(rate(plan, &nodes[round % NODES..=round % NODES], &tip).await?);
        fetched[1].push(rate(plan, &nodes, &tip).await?);
        for node in nodes {
            node.stop()?;
        }
    }
    let share = format!("each with {PERCENT} % of a processor");
    let what = format!("fetches from {NODES} nodes, {share}; from one of them");
    let (three, one) = (&fetched[1], &fetched[0]);
    table.beside(&what, spread(three, "/s"), spread(one, "/s"), ratio(three, one), Budget::AtLeast(2.5));
    for nodes in 2..=NODES {
        let (ours, one) = (&delivered[nodes - 1], &delivered[0]);
        let what = format!("deliveries to {HOOKS} hooks, {nodes} nodes, {share}; one node");
        #[expect(clippy::cast_precision_loss, reason = "a small number")]
        let budget = Budget::AtLeast(nodes as f64 * 0.75);
        table.beside(&what, spread(ours, "/s"), spread(one, "/s"), ratio(ours, one), budget);
    }
    Ok(())
}

/// Creates repositories and hooks with the first daemon, and returns it.
async fn prepare(
    cluster: &Cluster,
    bare: &std::path::Path,
    running: &mut JoinSet<()>,
    arrived: &Arc<Arrived>,
) -> Result<Farrier> {
    let farrier = cluster.start(0).await?;
    farrier.repository("small").await?;
    let url = url(&farrier, &farrier.token().await?, "small")?;
    git_at(bare, &["push", "--quiet", &url, &format!("{BRANCH}:{BRANCH}")]).await?;
    for number in 0..REPOSITORIES {
        farrier.repository(&format!("demo-{number}")).await?;
    }
    for _ in 0..HOOKS {
        hook(&farrier, &receiver(running, arrived).await?, true, json!({})).await?;
    }
    Ok(farrier)
}

/// Waits until all daemons have equally many leases of deliveries.
async fn balanced(nodes: &[Farrier]) -> Result<()> {
    let begun = Instant::now();
    while begun.elapsed() < PATIENCE {
        let mut connection = nodes[0].unix.connect().await?;
        connection.send(&head("GET", "/api/farrier/v1/status", 0, &[])).await?;
        let status: Value = serde_json::from_slice(&connection.expect(200).await?)?;
        // One of the leases is the number of shards, such as "deliveries (32)".
        let of_node = |node: &Value| {
            let mut leases = node["leases"].as_array().into_iter().flatten().filter_map(Value::as_str);
            let number = leases.find_map(|lease| lease.strip_prefix("deliveries (")?.strip_suffix(')'));
            number.and_then(|number| number.parse().ok()).unwrap_or(0_usize)
        };
        let live = status["nodes"].as_array().into_iter().flatten().filter(|node| node["state"] == "live");
        let counts: Vec<usize> = live.map(of_node).collect();
        let (least, most) = (counts.iter().min().unwrap_or(&0), counts.iter().max().unwrap_or(&0));
        if counts.len() == nodes.len() && *least > 0 && most - least <= 1 {
            return Ok(());
        }
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
    Err("the nodes do not share the deliveries".into())
}

/// Returns the deliveries per second, from the first event to the last arrival.
async fn deliveries(plan: &Plan, nodes: &[Farrier], arrived: &Arc<Arrived>) -> Result<f64> {
    let events = if plan.quick { 10 } else { 60 } * nodes.len();
    // Each change has another description, because an equal one is no event.
    let target = arrived.count.load(Ordering::SeqCst) + (events * HOOKS) as u64;
    let begun = Instant::now();
    let mut clients = JoinSet::new();
    for (at, node) in nodes.iter().enumerate() {
        let (over, step) = (node.unix.clone(), nodes.len());
        clients.spawn(async move {
            let mut connection = over.connect().await?;
            for number in (at..events).step_by(step) {
                connection.send(&patch(number, &format!("share {target}"))).await?;
                connection.expect(200).await?;
            }
            Result::Ok(())
        });
    }
    while let Some(ended) = clients.join_next().await {
        ended??;
    }
    let elapsed = arrived.wait(target).await? - begun;
    #[expect(clippy::cast_precision_loss, reason = "a rate is for reading")]
    let rate = (events * HOOKS) as f64 / elapsed.as_secs_f64();
    eprintln!("         {} nodes: {} deliveries/s", nodes.len(), plain(rate));
    Ok(rate)
}

/// Returns the fetches per second of all `nodes`, with equally many clients of each.
async fn rate(plan: &Plan, nodes: &[Farrier], tip: &str) -> Result<f64> {
    let mut loads = JoinSet::new();
    for node in nodes {
        let (over, request) = (node.tcp.clone(), post("/admin/small.git/git-upload-pack", &fetch_request(tip, &[])));
        let round = plan.round * 2;
        loads.spawn(async move { fetches(round, &over, request).await });
    }
    let mut sum = 0.0;
    while let Some(ended) = loads.join_next().await {
        sum += ended??;
    }
    Ok(sum)
}
