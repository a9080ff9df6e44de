//! Nodes whose clocks are ten minutes apart: only the clock of the store counts.

use std::{pin::Pin, sync::Arc, time::Duration};

use farrierd::{
    clock::Clock,
    store::{Store, delivery_shards::ShardTable, engine::MemoryEngine, nodes, runs},
};
use http::Method;
use serde_json::json;

use super::beside_with_clock;
use crate::support::{Job, TestDaemon, eventually, send};

/// The time of the store at the beginning.
const NOW: i64 = 1_764_000_000_000;
const SECOND_MS: i64 = 1_000;
/// Half of the difference between the nodes.
const APART_MS: i64 = 300 * SECOND_MS;
/// Time for which a signed address is valid.
const SIGNED_MS: i64 = 6 * 3_600 * SECOND_MS;

/// Two daemons on one store with a clock of its own. They have the repository `admin/demo`.
struct World {
    server: Clock,
    store: Store,
    one: TestDaemon,
    other: TestDaemon,
}

impl World {
    /// Starts both. The clock of the first one, which takes the leases of background work, is `ahead_ms` ahead.
    async fn start(ahead_ms: i64) -> Self {
        let server = Clock::manual(NOW);
        let engine = MemoryEngine::shared_with_clock(server.clone());
        let store = Store::open(Arc::new(engine)).await.expect("a store");
        let one = TestDaemon::start_with(Clock::manual(NOW + ahead_ms), Some(store.clone()), |_| {}).await;
        let other = beside_with_clock(&one, store.clone(), Clock::manual(NOW - ahead_ms), |_| {}).await;
        one.repository("demo").await;
        Self { server, store, one, other }
    }

    fn nodes(&self) -> [&TestDaemon; 2] {
        [&self.one, &self.other]
    }

    /// Lets the same time pass on all machines.
    fn pass(&self, ms: i64) {
        for clock in [&self.server, &self.one.clock, &self.other.clock] {
            clock.advance_ms(ms);
        }
    }

    /// Lets `ms` pass, and then as much as background work needs until `is_done`. The nodes are late after the first
    /// step, so that they do nothing before they are renewed, and then look at the time again after some seconds.
    async fn pass_until(&self, ms: i64, what: &str, is_done: impl AsyncFn() -> bool) {
        self.pass(ms);
        let is_renewed = async || {
            let rows = nodes::all(&self.store.read().await.expect("a snapshot")).await.expect("rows");
            rows.iter().all(|row| row.until_ms == self.server.now_ms() + nodes::ALIVE_MS)
        };
        let done = async {
            while !is_done().await {
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        };
        let mut done = std::pin::pin!(done);
        for _ in 0..10 {
            eventually("both nodes are renewed", async || is_renewed().await).await;
            self.pass(6 * SECOND_MS);
            if tokio::time::timeout(Duration::from_secs(3), &mut done).await.is_ok() {
                return;
            }
        }
        panic!("timed out waiting until {what}");
    }

    /// The time of the store in `ms`.
    fn in_ms(&self, ms: i64) -> String {
        jiff::Timestamp::from_millisecond(self.server.now_ms() + ms).expect("a time").to_string()
    }
}

/// Runs a test in which the node that does background work is ahead, and one in which it is behind.
fn ahead_and_behind<F: Future<Output = ()>>(test: impl Fn(World) -> F) -> Pin<Box<impl Future<Output = ()>>> {
    Box::pin(async move {
        let [ahead, behind] = [APART_MS, -APART_MS].map(async |ahead_ms| test(World::start(ahead_ms).await).await);
        tokio::join!(ahead, behind);
    })
}

#[tokio::test(flavor = "multi_thread")]
async fn both_nodes_are_alive_by_the_clock_of_the_store_and_share_the_shards() {
    ahead_and_behind(async |world| {
        for round in 0..2 {
            eventually("both nodes have half of the shards", async || {
                let read = world.store.read().await.expect("a snapshot");
                let table = ShardTable::read(&read, world.one.clock.now_ms()).await.expect("a read");
                let count = |id: u64| table.leases.iter().filter(|lease| lease.node == id).count();
                table.nodes.len() == 2 && table.nodes.iter().all(|node| count(node.id) == table.leases.len() / 2)
            })
            .await;
            for farrier in world.nodes() {
                let status = farrier.show("/api/farrier/v1/status").await.json();
                let nodes = status["nodes"].as_array().expect("a list");
                assert_eq!(nodes.len(), 2);
                assert!(nodes.iter().all(|node| node["state"] == "live"), "round {round}: {status}");
            }
            // Both are late then, and are renewed.
            world.pass(60 * SECOND_MS);
        }
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_address_that_one_node_signs_expires_on_both_at_the_same_time() {
    ahead_and_behind(async |world| {
        let job = world.one.begin("demo", None).await;
        let mut addresses = Vec::new();
        for (number, farrier) in world.nodes().into_iter().enumerate() {
            addresses.push(farrier.create(&job, &format!("artifact-{number}")).await);
        }
        let statuses = async || {
            let mut statuses = Vec::new();
            for farrier in world.nodes() {
                for address in &addresses {
                    let block = format!("{address}&comp=block&blockid=YQ==");
                    statuses.push(send(&farrier.tcp(), Method::PUT, &block, &[], "x").await.status);
                }
            }
            statuses
        };
        world.pass(SIGNED_MS - SECOND_MS);
        assert_eq!(statuses().await, [201; 4]);
        world.pass(SECOND_MS);
        assert_eq!(statuses().await, [403; 4]);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn tokens_and_an_artifact_expire_on_both_nodes_at_the_same_time() {
    ahead_and_behind(async |world| {
        let expires_at = world.in_ms(60 * SECOND_MS);
        let job = world.one.begin("demo", None).await;
        let mut tokens = Vec::new();
        for (number, farrier) in world.nodes().into_iter().enumerate() {
            let name = format!("token-{number}");
            let body = json!({ "name": name, "scopes": ["all"], "expires_at": expires_at });
            let created = farrier.admin(Method::POST, "/api/v1/users/admin/tokens", body).await;
            assert_eq!(created.status, 201, "{created:?}");
            tokens.push(format!("token {}", created.json()["sha1"].as_str().expect("text")));
        }
        let artifact = world.one.upload(&job, "artifact", b"x").await;
        let path = format!("/api/farrier/v1/artifacts/{artifact}");
        let edited = world.other.admin(Method::PATCH, &path, json!({ "expires_at": expires_at })).await;
        assert_eq!(edited.status, 200, "{edited:?}");
        let seen = async || {
            let mut seen = Vec::new();
            for farrier in world.nodes() {
                let path = format!("/api/v1/repos/admin/demo/actions/artifacts/{artifact}");
                let has_expired = farrier.show(&path).await.json()["expired"] == true;
                for token in &tokens {
                    let headers = [("authorization", token.as_str())];
                    let status = send(&farrier.tcp(), Method::GET, "/api/v1/user", &headers, "").await.status;
                    seen.push((status, has_expired));
                }
            }
            seen
        };
        world.pass(59 * SECOND_MS);
        assert_eq!(seen().await, [(200, false); 4]);
        world.pass(SECOND_MS);
        assert_eq!(seen().await, [(401, true); 4]);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn jobs_end_at_their_deadline_by_the_clock_of_the_store() {
    ahead_and_behind(async |world| {
        let begin = async |farrier: &TestDaemon, lease_secs: i64| {
            let body = json!({ "repo": "admin/demo", "lease_secs": lease_secs });
            let started = farrier.admin(Method::POST, "/api/farrier/v1/jobs", body).await;
            assert_eq!(started.status, 201, "{started:?}");
            Job::of(&started.json())
        };
        let renew = async |farrier: &TestDaemon, job: &Job| {
            let path = format!("/api/farrier/v1/jobs/{}/renew", job.job_id);
            farrier.admin(Method::POST, &path, json!({})).await
        };
        let has_lapsed = async |job: &Job| {
            let read = world.store.read().await.expect("a snapshot");
            let id = job.job_id.unsigned_abs();
            runs::job_by_id(&read, id).await.expect("a read").is_some_and(|row| row.lapsed)
        };
        // The clock of the node that is ahead is past the end of the long lease.
        let (short, long) = (begin(&world.one, 20).await, begin(&world.other, 280).await);
        for farrier in world.nodes() {
            let renewed = renew(farrier, &short).await;
            assert_eq!(renewed.json()["expires_at"], world.in_ms(20 * SECOND_MS), "{renewed:?}");
        }
        let status = async |farrier: &TestDaemon, job: &Job| {
            farrier.show(&format!("/api/farrier/v1/runs/{}", job.run_id)).await.json()["status"].clone()
        };
        let is_cancelled = async || status(&world.one, &short).await == "completed";
        // The first sweep after the end of a lease extends it once.
        world.pass_until(21 * SECOND_MS, "the lease has lapsed", async || has_lapsed(&short).await).await;
        world.pass_until(21 * SECOND_MS, "the job was cancelled", is_cancelled).await;
        for farrier in world.nodes() {
            assert_eq!(status(farrier, &short).await, "completed");
            assert_eq!(status(farrier, &long).await, "in_progress");
            assert_eq!(renew(farrier, &short).await.status, 409);
        }
        assert!(!has_lapsed(&long).await);
        let renewed = renew(&world.one, &long).await;
        assert_eq!(renewed.json()["expires_at"], world.in_ms(280 * SECOND_MS), "{renewed:?}");
    })
    .await;
}
