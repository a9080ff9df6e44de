//! Clients that create hooks and upload artifacts through any daemon, while others push.

use std::{
    collections::BTreeMap,
    sync::{
        Mutex,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use http::Method;
use serde_json::{Value, json};

use crate::support::{Job, Random, ServerAddress, try_send};

/// Pause between two objects, and after a request without an answer.
const PAUSE: Duration = Duration::from_millis(150);

/// The objects whose creation was acknowledged.
#[derive(Default)]
pub(super) struct SideWork {
    pub(super) stop: AtomicBool,
    /// The IDs of hooks.
    pub(super) hooks: Mutex<Vec<u64>>,
    /// Name and content of artifacts.
    pub(super) artifacts: Mutex<BTreeMap<String, Vec<u8>>>,
}

impl SideWork {
    /// Creates hooks of `path`, which never receive an event, until the test ends.
    pub(super) async fn create_hooks(&self, servers: &[ServerAddress], token: &str, path: &str, mut random: Random) {
        let authorization = format!("token {token}");
        let headers = [("content-type", "application/json"), ("authorization", authorization.as_str())];
        let config = json!({ "url": "http://127.0.0.1:1/never", "content_type": "json" });
        let hook = json!({ "type": "gitea", "events": ["release"], "config": config });
        while !self.stop.load(Ordering::SeqCst) {
            let server = &servers[random.below(servers.len())];
            let answer =
                try_send(server, Method::POST, &format!("/api/v1/repos/{path}/hooks"), &headers, hook.to_string())
                    .await;
            if let Ok(answer) = answer
                && answer.status == 201
            {
                self.hooks.lock().expect("no panic").extend(answer.json()["id"].as_u64());
            }
            tokio::time::sleep(PAUSE).await;
        }
    }

    /// Uploads artifacts of `job` until the test ends. Each request of an upload goes to another daemon.
    pub(super) async fn upload(&self, servers: &[ServerAddress], job: &Job, mut random: Random) {
        for number in 0_usize.. {
            if self.stop.load(Ordering::SeqCst) {
                return;
            }
            let name = format!("artifact-{number}");
            let lengths = [(); 3].map(|()| 1 + random.below(70_000));
            let blocks: Vec<Vec<u8>> = lengths.iter().map(|length| random.bytes(*length)).collect();
            if upload(servers, job, &name, &blocks, &mut random).await.is_some() {
                self.artifacts.lock().expect("no panic").insert(name, blocks.concat());
            }
            tokio::time::sleep(PAUSE).await;
        }
    }
}

/// Uploads an artifact. Returns `None` if a request was not answered with success.
async fn upload(
    servers: &[ServerAddress],
    job: &Job,
    name: &str,
    blocks: &[Vec<u8>],
    random: &mut Random,
) -> Option<()> {
    let mut any = || &servers[random.below(servers.len())];
    let created = call(any(), job, "CreateArtifact", json!({ "name": name, "version": 4 })).await?;
    let url = created["signed_upload_url"].as_str()?;
    let rest = url.split_once("://")?.1;
    let path = &rest[rest.find('/')?..];
    let mut list = String::new();
    for (number, block) in blocks.iter().enumerate() {
        let id = ["YQ", "Yg", "Yw"][number];
        let put = format!("{path}&comp=block&blockid={id}");
        let sent = try_send(any(), Method::PUT, &put, &[], block.clone()).await.ok()?;
        if sent.status != 201 {
            return None;
        }
        list.push_str("<Latest>");
        list.push_str(id);
        list.push_str("</Latest>");
    }
    let list = format!("<BlockList>{list}</BlockList>");
    let listed = try_send(any(), Method::PUT, &format!("{path}&comp=blocklist"), &[], list).await.ok()?;
    if listed.status != 201 {
        return None;
    }
    let size: usize = blocks.iter().map(Vec::len).sum();
    call(any(), job, "FinalizeArtifact", json!({ "name": name, "size": size.to_string() })).await.map(drop)
}

/// Sends a request of the artifact protocol. Returns the answer if it was successful.
pub(super) async fn call(server: &ServerAddress, job: &Job, method: &str, mut message: Value) -> Option<Value> {
    message["workflow_run_backend_id"] = job.run_id.to_string().into();
    message["workflow_job_run_backend_id"] = job.job_id.to_string().into();
    let path = format!("/twirp/github.actions.results.api.v1.ArtifactService/{method}");
    let authorization = format!("Bearer {}", job.token);
    let headers = [("content-type", "application/json"), ("authorization", authorization.as_str())];
    let answer = try_send(server, Method::POST, &path, &headers, message.to_string()).await.ok()?;
    (answer.status == 200).then(|| answer.json())
}
