//! The acknowledged artifacts of the clients, which the daemon must still have after a kill.

use std::{
    collections::BTreeMap,
    sync::{
        Arc, Mutex, MutexGuard,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
};

use http::Method;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use tokio::sync::{RwLock, RwLockWriteGuard, watch};

use crate::support::{Answer, Job, ServerAddress, WAIT_LIMIT, try_send};

/// The content of an artifact: its blocks in order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Content(pub(super) Vec<Arc<Vec<u8>>>);

impl Content {
    pub(super) fn size(&self) -> usize {
        self.0.iter().map(|block| block.len()).sum()
    }

    pub(super) fn digest(&self) -> String {
        let mut sha256 = Sha256::new();
        self.0.iter().for_each(|block| sha256.update(block.as_slice()));
        format!("sha256:{}", hex::encode(sha256.finalize()))
    }

    pub(super) fn bytes(&self) -> Vec<u8> {
        self.0.iter().flat_map(|block| block.iter().copied()).collect()
    }
}

/// An upload that can be continued.
#[derive(Clone, Debug)]
pub(super) struct Upload {
    pub(super) address: String,
    /// Ids of acknowledged blocks.
    pub(super) acked: Vec<String>,
    /// The last acknowledged block list.
    pub(super) committed: Option<Vec<String>>,
}

/// An artifact name of one job.
#[derive(Clone, Debug)]
pub(super) struct Entry {
    /// States that readers may see: one, or several while a request is unanswered.
    pub(super) possible_states: Vec<Option<Content>>,
    pub(super) upload: Option<Upload>,
}

impl Default for Entry {
    fn default() -> Self {
        Self { possible_states: vec![None], upload: None }
    }
}

/// Index of a job, and the name of an artifact.
pub(super) type Name = (usize, String);

#[derive(Debug, Default)]
pub(super) struct Counts {
    pub(super) creates: AtomicU64,
    pub(super) blocks: AtomicU64,
    pub(super) commits: AtomicU64,
    pub(super) finalizes: AtomicU64,
    pub(super) deletes: AtomicU64,
    /// Requests whose response was lost by a kill.
    pub(super) cut: AtomicU64,
}

impl Counts {
    pub(super) fn acked(&self) -> u64 {
        let all = [&self.creates, &self.blocks, &self.commits, &self.finalizes, &self.deletes];
        all.into_iter().map(|count| count.load(Ordering::SeqCst)).sum()
    }
}

/// The state shared by all clients. Clients send requests only while it is open; [`World::wait_until_idle`] waits for
/// requests in flight.
pub(super) struct World {
    pub(super) jobs: Vec<Job>,
    pub(super) counts: Counts,
    pub(super) stop: AtomicBool,
    entries: Mutex<BTreeMap<Name, Entry>>,
    gate: RwLock<()>,
    running: watch::Sender<(u64, Option<ServerAddress>)>,
}

impl World {
    pub(super) fn new(jobs: Vec<Job>) -> Self {
        Self {
            jobs,
            counts: Counts::default(),
            stop: AtomicBool::new(false),
            entries: Mutex::default(),
            gate: RwLock::default(),
            running: watch::Sender::new((0, None)),
        }
    }

    pub(super) fn entries(&self) -> MutexGuard<'_, BTreeMap<Name, Entry>> {
        self.entries.lock().expect("no panic before")
    }

    pub(super) fn with<T>(&self, name: &Name, change: impl FnOnce(&mut Entry) -> T) -> T {
        change(self.entries().entry(name.clone()).or_default())
    }

    /// Lets clients send requests to the daemon at `server`.
    pub(super) fn open(&self, server: ServerAddress) {
        self.running.send_modify(|(epoch, running)| {
            *epoch += 1;
            *running = Some(server);
        });
    }

    /// Stops new requests, because the daemon is about to be killed.
    pub(super) fn close(&self) {
        self.running.send_modify(|(_, running)| *running = None);
    }

    /// Waits until no request is in flight. None starts until the guard is dropped.
    pub(super) async fn wait_until_idle(&self) -> RwLockWriteGuard<'_, ()> {
        tokio::time::timeout(WAIT_LIMIT, self.gate.write()).await.expect("requests end with the daemon")
    }

    async fn running(&self, after: u64) -> (u64, ServerAddress) {
        let mut running = self.running.subscribe();
        let found = running.wait_for(|(epoch, server)| *epoch > after && server.is_some());
        let found = tokio::time::timeout(WAIT_LIMIT, found).await.expect("the daemon is started again");
        let (epoch, server) = found.expect("the sender exists").clone();
        (epoch, server.expect("checked"))
    }

    /// Sends a request until it gets a response, across restarts of the daemon. Also returns whether an earlier
    /// response was lost. `on_answer` is called before the request counts as finished.
    pub(super) async fn send_until_answered(
        &self,
        (method, path): (Method, &str),
        headers: &[(&str, &str)],
        body: &[u8],
        on_answer: impl Fn(&Answer),
    ) -> (Answer, bool) {
        let (mut after, mut again) = (0, false);
        loop {
            let (epoch, server) = self.running(after).await;
            let _in_flight = self.gate.read().await;
            let sent = try_send(&server, method.clone(), path, headers, body.to_vec());
            match tokio::time::timeout(WAIT_LIMIT, sent).await.expect("a response or a closed connection") {
                // Too many concurrent uploads: the client has to retry.
                Ok(answer) if answer.status == 503 => tokio::task::yield_now().await,
                Ok(answer) => {
                    on_answer(&answer);
                    return (answer, again);
                }
                Err(_) => {
                    self.counts.cut.fetch_add(1, Ordering::SeqCst);
                    (after, again) = (epoch, true);
                }
            }
        }
    }

    /// Sends a Twirp request of a job for one name.
    pub(super) async fn call(
        &self,
        (job, name): &Name,
        method: &str,
        mut message: Value,
        on_answer: impl Fn(&Answer),
    ) -> (Answer, bool) {
        message["name"] = name.as_str().into();
        let (path, headers, body) = twirp(&self.jobs[*job], method, message);
        let headers: Vec<(&str, &str)> = headers.iter().map(|(name, value)| (*name, value.as_str())).collect();
        self.send_until_answered((Method::POST, &path), &headers, body.as_bytes(), on_answer).await
    }
}

/// Path, headers and body of a Twirp request.
pub(super) fn twirp(job: &Job, method: &str, mut message: Value) -> (String, [(&'static str, String); 2], String) {
    message["workflow_run_backend_id"] = job.run_id.to_string().into();
    message["workflow_job_run_backend_id"] = job.job_id.to_string().into();
    let path = format!("/twirp/github.actions.results.api.v1.ArtifactService/{method}");
    let headers = [("content-type", "application/json".to_owned()), ("authorization", format!("Bearer {}", job.token))];
    (path, headers, message.to_string())
}

/// Sends a Twirp request that must get a response.
pub(super) async fn call(server: &ServerAddress, job: &Job, method: &str, message: Value) -> Answer {
    let (path, headers, body) = twirp(job, method, message);
    let headers: Vec<(&str, &str)> = headers.iter().map(|(name, value)| (*name, value.as_str())).collect();
    try_send(server, Method::POST, &path, &headers, body).await.expect("an answer")
}

/// The XML body of a block list.
pub(super) fn block_list(ids: &[String]) -> String {
    let blocks: Vec<String> = ids.iter().map(|id| format!("<Latest>{id}</Latest>")).collect();
    format!("<BlockList>{}</BlockList>", blocks.concat())
}

/// Path and query of an absolute URL.
pub(super) fn path_of(address: &str) -> String {
    let rest = address.split_once("://").expect("a scheme").1;
    rest[rest.find('/').expect("a path")..].to_owned()
}

/// Starts a job in a new run of `admin/tool`, or in the existing run `run`.
pub(super) async fn begin(server: &ServerAddress, run: Option<i64>) -> Job {
    let body = json!({ "repo": "admin/tool", "run_id": run }).to_string();
    let started = try_send(server, Method::POST, "/api/farrier/v1/jobs", &[], body).await.expect("an answer");
    assert_eq!(started.status, 201, "{started:?}");
    Job::of(&started.json())
}
