//! The effect of hostile clients, each of which uses all that it may use, on other clients.

use std::{net::Ipv4Addr, sync::Arc};

use super::git::fixture::{BRANCH, git_at, make};
use crate::{
    Result,
    client::{Connection, Over, head},
    farrier::Farrier,
    figures::{micros, ratio, spread},
    load::{block_id, requests},
    plan::Plan,
    table::{Budget, Table},
};

/// Number of connections whose latency is measured.
const CONNECTIONS: usize = 4;
/// Number of hostile clients.
const HOSTILE: usize = 64;
/// Number of loopback addresses that they use.
const ADDRESSES: usize = 16;
/// Number of commits of the repository that slow clients clone, about 20 MB.
const LARGE_COMMITS: usize = 2_000;
/// Announced length of a stalled block.
const STALLED_BYTES: u64 = 1 << 20;

pub(super) async fn measure(plan: &Plan, table: &mut Table) -> Result<()> {
    slow_clones(plan, table).await?;
    stalled_uploads(plan, table).await
}

/// Measures fetches of a small repository beside clients that request a large one and read nothing.
async fn slow_clones(plan: &Plan, table: &mut Table) -> Result<()> {
    let farrier = Farrier::start(&plan.dir("fairness-git")?).await?;
    let token = farrier.token().await?;
    let Over::Tcp(address) = &farrier.tcp else { return Err("no TCP address".into()) };
    let mut tips = Vec::new();
    for (name, commits) in [("large", LARGE_COMMITS), ("small", 1)] {
        farrier.repository(name).await?;
        let bare = make(&plan.dir(&format!("fairness-{name}"))?, commits).await?;
        let remote = format!("http://admin:{token}@{address}/admin/{name}.git");
        git_at(&bare, &["push", "--quiet", &remote, &format!("{BRANCH}:{BRANCH}")]).await?;
        tips.push(git_at(&bare, &["rev-parse", BRANCH]).await?);
    }
    let large = fetch("large", &tips[0], None);
    // The slow clients are anonymous, from several addresses, and use all that anonymous callers can use.
    let small: Arc<[u8]> = fetch("small", &tips[1], Some(&token)).into();
    let p99 = async || {
        let small = small.clone();
        let answers = requests(&farrier.tcp, CONNECTIONS, plan.round, 200, move |_| small.clone()).await?;
        Result::Ok(micros(answers.percentile(99)))
    };
    let (mut alone, mut beside) = (Vec::new(), Vec::new());
    for _ in 0..plan.rounds {
        alone.push(p99().await?);
        let slow = hostile(&farrier.tcp, |_| large.clone()).await?;
        super::settle().await;
        beside.push(p99().await?);
        drop(slow);
        super::settle().await;
    }
    let what = format!(
        "p99 of a fetch of a small repository with a token, TCP, {CONNECTIONS} connections, beside {HOSTILE} anonymous \
         clones that read nothing, from {ADDRESSES} addresses; and alone"
    );
    table.beside(&what, spread(&beside, "µs"), spread(&alone, "µs"), ratio(&beside, &alone), Budget::AtMost(2.0));
    Ok(())
}

/// Measures uploads of small blocks beside uploads that send one byte.
async fn stalled_uploads(plan: &Plan, table: &mut Table) -> Result<()> {
    let farrier = Farrier::start(&plan.dir("fairness-uploads")?).await?;
    farrier.repository("demo").await?;
    let job = farrier.begin("demo").await?;
    let target = farrier.create(&job, "measured").await?;
    let stalled = farrier.create(&job, "stalled").await?;
    let p99 = async || {
        let target = target.clone();
        let put = move |number: usize| {
            let target = format!("{target}&comp=block&blockid={}", block_id(number % 1_000));
            [head("PUT", &target, 4, &[]), b"test".to_vec()].concat().into()
        };
        let answers = requests(&farrier.tcp, CONNECTIONS, plan.round, 201, put).await?;
        Result::Ok(micros(answers.percentile(99)))
    };
    let (mut alone, mut beside) = (Vec::new(), Vec::new());
    for _ in 0..plan.rounds {
        alone.push(p99().await?);
        let begun = |number: usize| {
            let target = format!("{stalled}&comp=block&blockid={}", block_id(number));
            [head("PUT", &target, STALLED_BYTES, &[]), b"x".to_vec()].concat()
        };
        let stalled = hostile(&farrier.tcp, begun).await?;
        beside.push(p99().await?);
        drop(stalled);
        super::settle().await;
    }
    let what = format!(
        "p99 of an upload of a small block, TCP, {CONNECTIONS} connections, beside {HOSTILE} stalled uploads from \
         {ADDRESSES} addresses; and alone"
    );
    table.beside(&what, spread(&beside, "µs"), spread(&alone, "µs"), ratio(&beside, &alone), Budget::AtMost(2.0));
    Ok(())
}

/// Opens connections from several addresses and sends a request on each. The responses are not read.
async fn hostile(over: &Over, request: impl Fn(usize) -> Vec<u8>) -> Result<Vec<Connection>> {
    let mut connections = Vec::with_capacity(HOSTILE);
    for number in 0..HOSTILE {
        let last = u8::try_from(number % ADDRESSES + 1)?;
        let mut connection = over.connect_from(Ipv4Addr::new(127, 0, 3, last)).await?;
        connection.send(&request(number)).await?;
        connections.push(connection);
    }
    Ok(connections)
}

/// Returns the request for all objects of `tip`, with `token` or anonymous.
fn fetch(repository: &str, tip: &str, token: Option<&str>) -> Vec<u8> {
    let body = format!("0011command=fetch0001000fno-progress0032want {tip}\n0009done\n0000");
    let authorization = token.map(|token| format!("authorization: token {token}"));
    let mut headers = vec!["content-type: application/x-git-upload-pack-request", "git-protocol: version=2"];
    headers.extend(authorization.as_deref());
    let head = head("POST", &format!("/admin/{repository}/git-upload-pack"), body.len() as u64, &headers);
    [head, body.into_bytes()].concat()
}
