//! The effect of hostile clients, each of which uses all that it may use, on other clients.

mod attack;

use std::{sync::Arc, time::Duration};

use serde_json::json;

use self::attack::Attack;
use super::git::fixture::{BRANCH, git_at, make};
use crate::{
    Result,
    client::{Over, head, json as json_request},
    farrier::Farrier,
    figures::{micros, ratio, spread},
    load::{block_id, requests},
    plan::Plan,
    table::{Budget, Table},
};

/// Number of connections whose latency is measured.
const CONNECTIONS: usize = 4;
/// Number of commits of the repository that hostile clients read, about 20 MB.
const LARGE_COMMITS: usize = 2_000;
/// Time in which the hostile clients take all that they can get.
const START_TIME: Duration = Duration::from_secs(5);
/// Announced length of a stalled block.
const STALLED_BYTES: u64 = 1 << 20;
/// `octo:wrong` and `octo:correct horse`, encoded for basic authentication.
const WRONG_PASSWORD: &str = "authorization: Basic b2N0bzp3cm9uZw==";
const RIGHT_PASSWORD: &str = "authorization: Basic b2N0bzpjb3JyZWN0IGhvcnNl";

/// Builds the measured requests from a running number.
type Requests = Arc<dyn Fn(usize) -> Arc<[u8]> + Send + Sync>;

/// What is measured beside one kind of hostile client.
struct Case {
    /// Describes the measured request.
    measured: &'static str,
    requests: Requests,
    /// Expected status of the responses.
    status: u16,
    /// Describes the hostile clients.
    hostile: &'static str,
    attack: Attack,
}

pub(super) async fn measure(plan: &Plan, table: &mut Table) -> Result<()> {
    // Each fetch occupies git.
    let farrier = Farrier::configured(&plan.dir("fairness")?, "[git]\ncache_max_bytes = 0\n").await?;
    for (number, case) in cases(plan, &farrier).await?.into_iter().enumerate() {
        beside(plan, table, &farrier.tcp, u8::try_from(number)?, case).await?;
    }
    Ok(())
}

/// Prepares the daemon and returns all cases. The measured client is signed in, because a part of each capacity is
/// reserved for signed-in callers; the hostile ones are anonymous, except where only accounts are served.
async fn cases(plan: &Plan, farrier: &Farrier) -> Result<Vec<Case>> {
    let token = farrier.token().await?;
    let octo = json!({ "username": "octo", "email": "octo@example.org", "password": "correct horse", "must_change_password": false });
    farrier.admin("/api/v1/admin/users", &octo).await?;
    let large = push(plan, farrier, &token, "large", LARGE_COMMITS).await?;
    let small = push(plan, farrier, &token, "small", 1).await?;
    let job = farrier.begin("small").await?;
    let (block, stalled) = (farrier.create(&job, "measured").await?, farrier.create(&job, "stalled").await?);

    let authorization = format!("authorization: token {token}");
    let read: Requests = constant(head("GET", "/api/v1/repos/admin/small", 0, &[&authorization]));
    let archive =
        |repo: &str, headers: &[&str]| head("GET", &format!("/api/v1/repos/admin/{repo}/archive/main.zip"), 0, headers);
    let change = json_request("PATCH", "/api/v1/repos/admin/small", &[&authorization], &json!({ "description": "x" }));
    let put: Requests = Arc::new(move |number| {
        let target = format!("{block}&comp=block&blockid={}", block_id(number % 1_000));
        [head("PUT", &target, 4, &[]), b"test".to_vec()].concat().into()
    });
    let begun = move |number: usize| {
        let target = format!("{stalled}&comp=block&blockid={}", block_id(number));
        [head("PUT", &target, STALLED_BYTES, &[]), b"x".to_vec()].concat()
    };
    Ok(vec![
        Case {
            measured: "a fetch of a small repository",
            requests: constant(fetch("small", &small, &[&authorization])),
            status: 200,
            hostile: "clones that read nothing",
            attack: Attack::hold(move |_| fetch("large", &large, &[])),
        },
        Case {
            measured: "an archive of a small repository",
            requests: constant(archive("small", &[&authorization])),
            status: 200,
            hostile: "downloads of archives that read nothing",
            attack: Attack::hold({
                let request = archive("large", &[]);
                move |_| request.clone()
            }),
        },
        Case {
            measured: "an upload of a small block",
            requests: put,
            status: 201,
            hostile: "uploads that send one byte",
            attack: Attack::hold(begun),
        },
        Case {
            measured: "a read of a repository",
            requests: read.clone(),
            status: 200,
            hostile: "incomplete heads of requests",
            attack: Attack::hold(|_| b"GET /api/v1/version HTTP/1.1\r\nhost: localhost\r\n".to_vec()),
        },
        Case {
            measured: "a change of a description",
            requests: constant(change),
            status: 200,
            hostile: "event streams of one account that read nothing",
            attack: Attack::hold(|_| {
                head("GET", "/api/farrier/v1/events", 0, &["accept: text/event-stream", RIGHT_PASSWORD])
            }),
        },
        Case {
            measured: "a read of a repository",
            requests: read,
            status: 200,
            hostile: "clients that try passwords",
            attack: Attack::repeat(head("GET", "/api/v1/user", 0, &[WRONG_PASSWORD])),
        },
    ])
}

/// Adds the row of one case. Each case has its own hostile addresses, because refused addresses stay refused for a
/// while.
async fn beside(plan: &Plan, table: &mut Table, over: &Over, number: u8, case: Case) -> Result<()> {
    let Case { measured, requests: build, status, hostile, attack } = case;
    let p99 = async || {
        let build = build.clone();
        let answers = requests(over, CONNECTIONS, plan.round, status, move |number| build(number)).await?;
        Result::Ok(micros(answers.percentile(99)))
    };
    let (mut alone, mut beside) = (Vec::new(), Vec::new());
    for _ in 0..plan.rounds {
        alone.push(p99().await?);
        let running = attack.start(over, number).await?;
        tokio::time::sleep(START_TIME).await;
        beside.push(p99().await?);
        drop(running);
        super::settle().await;
    }
    let what = format!(
        "p99 of {measured}, TCP, {CONNECTIONS} connections, beside {} {hostile}, from {} addresses; and alone",
        attack::CLIENTS,
        attack::ADDRESSES
    );
    table.beside(&what, spread(&beside, "µs"), spread(&alone, "µs"), ratio(&beside, &alone), Budget::AtMost(2.0));
    Ok(())
}

/// Creates the repository `admin/NAME` and pushes `commits` commits to it. Returns the tip.
async fn push(plan: &Plan, farrier: &Farrier, token: &str, name: &str, commits: usize) -> Result<String> {
    let Over::Tcp(address) = &farrier.tcp else { return Err("no TCP address".into()) };
    farrier.repository(name).await?;
    let bare = make(&plan.dir(&format!("fairness-{name}"))?, commits).await?;
    let remote = format!("http://admin:{token}@{address}/admin/{name}.git");
    git_at(&bare, &["push", "--quiet", &remote, &format!("{BRANCH}:{BRANCH}")]).await?;
    git_at(&bare, &["rev-parse", BRANCH]).await
}

fn constant(request: Vec<u8>) -> Requests {
    let request: Arc<[u8]> = request.into();
    Arc::new(move |_| request.clone())
}

/// Returns the request for all objects of `tip`.
fn fetch(repository: &str, tip: &str, headers: &[&str]) -> Vec<u8> {
    let body = format!("0011command=fetch0001000fno-progress0032want {tip}\n0009done\n0000");
    let protocol = ["content-type: application/x-git-upload-pack-request", "git-protocol: version=2"];
    let target = format!("/admin/{repository}/git-upload-pack");
    let head = head("POST", &target, body.len() as u64, &[&protocol, headers].concat());
    [head, body.into_bytes()].concat()
}
