//! Operations of clients: each is performed, and its result is recorded in the model.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
};

use http::Method;
use serde_json::{Value, json};

use super::{
    acknowledged::{Artifact, Hook, Repository, SET_ASIDE_MS, State},
    sequence::{Sequence, request},
};
use crate::support::{ServerAddress, git::Client, send, try_send};

/// Names of repositories: few, so that names of deleted repositories are reused.
const NAMES: [&str; 5] = ["alpha", "beta", "gamma", "delta", "epsilon"];
/// Refs that pushes move.
const REFS: [&str; 3] = ["refs/heads/main", "refs/heads/topic", "refs/tags/v1"];

/// An operation that may get no response because the daemon is killed.
#[derive(Clone, Debug)]
pub(super) enum Operation {
    Create { name: String },
    Push { repository: u64, name: String, tip: Option<String> },
    Upload { repository: u64, name: String, content: Content },
    Rename { repository: u64, name: String },
    Delete { repository: u64 },
}

/// The content of an artifact.
#[derive(Clone)]
pub(super) struct Content(Vec<u8>);

impl fmt::Debug for Content {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} bytes", self.0.len())
    }
}

/// The outcome of an operation.
#[derive(Debug)]
pub(super) enum Outcome {
    /// The daemon confirmed it. Holds the JSON of the response, if any.
    Acknowledged(Value),
    /// The connection ended without a response.
    Unanswered,
}

/// The addresses that an operation needs. Separate from the sequence, because the daemon may be killed during
/// the operation.
#[derive(Clone, Debug)]
pub(super) struct Target {
    unix: ServerAddress,
    tcp: ServerAddress,
    remote: String,
    path: String,
    pushes_from: std::path::PathBuf,
}

impl Operation {
    /// Performs the operation.
    pub(super) async fn perform(&self, target: Target) -> Outcome {
        let Target { unix, path, .. } = &target;
        let api = format!("/api/v1/repos/admin/{path}");
        let (method, path, body, expected) = match self {
            Self::Create { name } => (Method::POST, "/api/v1/user/repos".to_owned(), json!({ "name": name }), 201),
            Self::Rename { name, .. } => (Method::PATCH, api, json!({ "name": name }), 200),
            Self::Delete { .. } => (Method::DELETE, api, Value::Null, 204),
            Self::Push { name, tip, .. } => return push(target.clone(), name, tip.as_deref()).await,
            Self::Upload { name, content, .. } => return upload(&target, name, &content.0).await,
        };
        let Ok(answer) = request(unix, method, &path, body).await else { return Outcome::Unanswered };
        assert_eq!(answer.status, expected, "{self:?}: {answer:?}");
        let json = if answer.body.is_empty() { Value::Null } else { answer.json() };
        Outcome::Acknowledged(json)
    }
}

/// Runs `git push`, which may fail if the daemon is killed.
async fn push(target: Target, name: &str, tip: Option<&str>) -> Outcome {
    let refspec = tip.map_or_else(|| format!(":{name}"), |tip| format!("+{tip}:{name}"));
    #[expect(clippy::disallowed_methods, reason = "tests own their tasks")]
    let pushed = tokio::task::spawn_blocking(move || {
        Client::at(target.pushes_from).run(&["push", "-q", &target.remote, &refspec])
    });
    if pushed.await.expect("no panic").ok { Outcome::Acknowledged(Value::Null) } else { Outcome::Unanswered }
}

/// Starts a job, uploads one artifact, and ends the job.
async fn upload(target: &Target, name: &str, content: &[u8]) -> Outcome {
    match try_upload(target, name, content).await {
        Ok(id) => Outcome::Acknowledged(json!({ "id": id })),
        Err(_) => Outcome::Unanswered,
    }
}

async fn try_upload(target: &Target, name: &str, content: &[u8]) -> Result<u64, crate::support::ConnectionLost> {
    let body = json!({ "repo": format!("admin/{}", target.path) });
    let started = request(&target.unix, Method::POST, "/api/farrier/v1/jobs", body).await?;
    assert_eq!(started.status, 201, "{started:?}");
    let job = started.json();
    let authorization = format!("Bearer {}", job["token"].as_str().expect("text"));
    let call = async |method: &str, mut message: Value| {
        message["workflow_run_backend_id"] = job["run_id"].to_string().into();
        message["workflow_job_run_backend_id"] = job["job_id"].to_string().into();
        let path = format!("/twirp/github.actions.results.api.v1.ArtifactService/{method}");
        let headers = [("content-type", "application/json"), ("authorization", authorization.as_str())];
        let answer = try_send(&target.tcp, Method::POST, &path, &headers, message.to_string()).await?;
        assert_eq!(answer.status, 200, "{answer:?}");
        Ok::<_, crate::support::ConnectionLost>(answer.json())
    };
    let created = call("CreateArtifact", json!({ "name": name, "version": 4 })).await?;
    let url = created["signed_upload_url"].as_str().expect("an address");
    let path = url.splitn(4, '/').nth(3).map(|rest| format!("/{rest}")).expect("a path");
    for (query, body) in [
        ("comp=block&blockid=YQ==", content.to_vec()),
        ("comp=blocklist", b"<BlockList><Latest>YQ==</Latest></BlockList>".to_vec()),
    ] {
        let put = try_send(&target.tcp, Method::PUT, &format!("{path}&{query}"), &[], body).await?;
        assert_eq!(put.status, 201, "{put:?}");
    }
    let finalized = call("FinalizeArtifact", json!({ "name": name, "size": content.len().to_string() })).await?;
    let path = format!("/api/farrier/v1/jobs/{}/end", job["job_id"]);
    // The artifact was already acknowledged, so the result of this request does not matter.
    let _ = request(&target.unix, Method::POST, &path, json!({ "conclusion": "success" })).await;
    Ok(finalized["artifact_id"].as_str().expect("text").parse().expect("a number"))
}

impl Sequence<'_> {
    /// The addresses for `operation`.
    pub(super) fn target(&self, operation: &Operation) -> Target {
        let path = match operation {
            Operation::Create { .. } => String::new(),
            Operation::Push { repository, .. }
            | Operation::Upload { repository, .. }
            | Operation::Rename { repository, .. }
            | Operation::Delete { repository } => self.model.repositories[repository].name.clone(),
        };
        Target {
            unix: self.daemon.unix(),
            tcp: self.daemon.tcp(),
            remote: self.daemon.remote(&format!("admin/{path}"), &self.token),
            path,
            pushes_from: self.commits.directory(),
        }
    }

    /// Performs `operation`, which must be acknowledged, and records it.
    async fn perform(&mut self, operation: Operation) {
        self.note(format!("{operation:?}"));
        // A git process that outlived a killed daemon may hold the lock of a ref for a moment.
        let mut tries = if matches!(operation, Operation::Push { .. }) { 20 } else { 1 };
        loop {
            match operation.perform(self.target(&operation)).await {
                Outcome::Acknowledged(answer) => {
                    let now = self.now_ms();
                    return self.record(&operation, &answer, now);
                }
                Outcome::Unanswered => tries -= 1,
            }
            assert!(tries > 0, "{operation:?} got no response");
            tokio::time::sleep(std::time::Duration::from_millis(100)).await;
        }
    }

    /// Records an operation that was acknowledged at the time `at_ms` of the daemon's clock.
    pub(super) fn record(&mut self, operation: &Operation, answer: &Value, at_ms: i64) {
        self.counts.acknowledged += 1;
        match operation {
            Operation::Create { name } => {
                let id = answer["id"].as_u64().expect("a number");
                let row = Repository { name: name.clone(), state: State::Live, refs: BTreeMap::new() };
                assert!(self.model.repositories.insert(id, row).is_none(), "the id {id} was assigned twice");
            }
            Operation::Push { repository, name, tip } => {
                let refs = &mut self.model.repositories.get_mut(repository).expect("known").refs;
                refs.insert(name.clone(), BTreeSet::from([tip.clone()]));
            }
            Operation::Upload { repository, content, .. } => {
                let id = answer["id"].as_u64().expect("a number");
                let (state, content) = (State::Live, content.0.clone());
                let row = Artifact { repository: *repository, state, content, created_ms: at_ms };
                assert!(self.model.artifacts.insert(id, row).is_none(), "the id {id} was assigned twice");
            }
            Operation::Rename { repository, name } => {
                self.model.repositories.get_mut(repository).expect("known").name.clone_from(name);
            }
            Operation::Delete { repository } => {
                self.model.repositories.get_mut(repository).expect("known").state = State::Deleted(at_ms);
            }
        }
    }

    /// Chooses an operation that a kill may interrupt. `None` if no repository suits it.
    pub(super) fn choose(&mut self) -> Option<Operation> {
        let live = self.model.live();
        let free: Vec<&str> = NAMES.into_iter().filter(|name| !self.model.is_name_used(name)).collect();
        let repository = self.pick(&live);
        match (self.random.below(6), repository) {
            (0, _) | (_, None) if !free.is_empty() => Some(Operation::Create { name: self.random.of(&free).into() }),
            (1 | 2, Some(repository)) => Some(self.random_push(repository)),
            (3, Some(repository)) => Some(self.random_upload(repository)),
            (4, Some(repository)) if !free.is_empty() => {
                Some(Operation::Rename { repository, name: self.random.of(&free).into() })
            }
            (5, Some(repository)) => Some(Operation::Delete { repository }),
            _ => None,
        }
    }

    fn random_push(&mut self, repository: u64) -> Operation {
        let name = self.random.of(&REFS).to_owned();
        let is_there = self.model.repositories[&repository].refs.get(&name).is_some_and(|tips| !tips.contains(&None));
        // The default branch cannot be deleted.
        let tip = if is_there && name != REFS[0] && self.random.one_in(4) {
            None
        } else {
            Some(self.commits.ids[self.random.below(self.commits.ids.len())].clone())
        };
        // The first push must go to the default branch; another branch would become the default.
        let name = if self.model.repositories[&repository].refs.is_empty() { REFS[0].to_owned() } else { name };
        let tip = if name == REFS[0] && tip.is_none() { Some(self.commits.ids[0].clone()) } else { tip };
        Operation::Push { repository, name, tip }
    }

    fn random_upload(&mut self, repository: u64) -> Operation {
        let length = 1 + self.random.below(3_000);
        let name = format!("artifact-{}", self.random.below(4));
        Operation::Upload { repository, name, content: Content(self.random.bytes(length)) }
    }

    /// Creates a repository.
    pub(super) async fn create(&mut self) {
        let free: Vec<&str> = NAMES.into_iter().filter(|name| !self.model.is_name_used(name)).collect();
        if let Some(name) = (!free.is_empty()).then(|| self.random.of(&free)) {
            self.perform(Operation::Create { name: name.to_owned() }).await;
        }
    }

    /// Moves or deletes a ref.
    pub(super) async fn push(&mut self) {
        let Some(repository) = self.pick(&self.model.live()) else { return };
        let operation = self.random_push(repository);
        self.perform(operation).await;
    }

    /// Uploads an artifact.
    pub(super) async fn upload(&mut self) {
        let Some(repository) = self.pick(&self.model.live()) else { return };
        let operation = self.random_upload(repository);
        self.perform(operation).await;
    }

    /// Renames a repository.
    pub(super) async fn rename(&mut self) {
        let free: Vec<&str> = NAMES.into_iter().filter(|name| !self.model.is_name_used(name)).collect();
        let repository = self.pick(&self.model.live());
        if let (Some(repository), false) = (repository, free.is_empty()) {
            let name = self.random.of(&free).to_owned();
            self.perform(Operation::Rename { repository, name }).await;
        }
    }

    /// Deletes a repository.
    pub(super) async fn delete_repository(&mut self) {
        if let Some(repository) = self.pick(&self.model.live()) {
            self.perform(Operation::Delete { repository }).await;
        }
    }

    /// Deletes an artifact.
    pub(super) async fn delete_artifact(&mut self) {
        let Some(id) = self.pick(&self.model.live_artifacts()) else { return };
        self.note(format!("delete artifact {id}"));
        let path = format!("{}/actions/artifacts/{id}", self.api(self.model.artifacts[&id].repository));
        self.request_ok(Method::DELETE, &path, Value::Null, 204).await;
        self.counts.acknowledged += 1;
        let now = self.now_ms();
        self.model.artifacts.get_mut(&id).expect("known").state = State::Deleted(now);
    }

    /// Creates, edits or deletes a hook.
    pub(super) async fn edit_hook(&mut self) {
        self.counts.acknowledged += 1;
        let url = format!("http://example.org/{}", self.random.below(1_000));
        let hooks = self.model.live_hooks();
        match (self.random.below(3), self.pick(&hooks)) {
            (0, Some(id)) => {
                self.note(format!("delete hook {id}"));
                let path = format!("{}/hooks/{id}", self.api(self.model.hooks[&id].repository));
                self.request_ok(Method::DELETE, &path, Value::Null, 204).await;
                self.model.hooks.remove(&id);
            }
            (1, Some(id)) => {
                self.note(format!("edit hook {id}: {url}"));
                let path = format!("{}/hooks/{id}", self.api(self.model.hooks[&id].repository));
                self.request_ok(Method::PATCH, &path, json!({ "config": { "url": url } }), 200).await;
                self.model.hooks.get_mut(&id).expect("known").url = url;
            }
            _ => {
                let Some(repository) = self.pick(&self.model.live()) else { return };
                self.note(format!("create a hook of repository {repository}: {url}"));
                let body = json!({
                    "type": "gitea",
                    "config": { "url": url, "content_type": "json" },
                    "events": ["push"],
                    "active": false,
                });
                let path = format!("{}/hooks", self.api(repository));
                let created = self.request_ok(Method::POST, &path, body, 201).await.json();
                self.model.hooks.insert(created["id"].as_u64().expect("a number"), Hook { repository, url });
            }
        }
    }

    /// Restores a deleted repository or artifact.
    pub(super) async fn restore(&mut self) {
        let latest = self.latest_ms;
        let in_time = |state| matches!(state, State::Deleted(at) if latest < at + SET_ASIDE_MS);
        let repositories = self.model.repositories.iter().filter(|(_, row)| in_time(row.state));
        let repositories: Vec<u64> = repositories.map(|(id, _)| *id).collect();
        let artifacts: Vec<u64> = self
            .model
            .artifacts
            .iter()
            .filter(|(_, row)| in_time(row.state) && self.model.is_live(row.repository))
            .map(|(id, _)| *id)
            .collect();
        if let Some(id) = self.pick(&repositories) {
            let name = self.model.repositories[&id].name.clone();
            let name = if self.model.is_name_used(&name) { format!("restored-{id}") } else { name };
            self.note(format!("restore repository {id} as {name}"));
            let path = format!("/api/farrier/v1/deleted/repositories/{id}/restore");
            self.request_ok(Method::POST, &path, json!({ "owner": "admin", "name": name }), 200).await;
            let row = self.model.repositories.get_mut(&id).expect("known");
            row.state = State::Live;
            row.name = name;
        } else if let Some(id) = self.pick(&artifacts) {
            self.note(format!("restore artifact {id}"));
            let path = format!("/api/farrier/v1/deleted/artifacts/{id}/restore");
            self.request_ok(Method::POST, &path, Value::Null, 200).await;
            self.model.artifacts.get_mut(&id).expect("known").state = State::Live;
        } else {
            return;
        }
        self.counts.acknowledged += 1;
        self.counts.restored += 1;
    }

    /// Finds out whether an unanswered operation took effect before the kill at `at_ms`, and records it if so. Any
    /// other outcome fails the test.
    pub(super) async fn resolve(&mut self, operation: &Operation, at_ms: i64) {
        self.counts.unanswered += 1;
        let unix = self.daemon.unix();
        match operation {
            Operation::Create { name } => {
                let found = send(&unix, Method::GET, &format!("/api/v1/repos/admin/{name}"), &[], "").await;
                if found.status == 200 {
                    self.record(operation, &found.json(), at_ms);
                }
            }
            Operation::Rename { repository, name } => {
                let found = send(&unix, Method::GET, &format!("/api/v1/repositories/{repository}"), &[], "").await;
                if found.json()["name"] == json!(name) {
                    self.record(operation, &Value::Null, at_ms);
                }
            }
            Operation::Delete { repository } => {
                let found = send(&unix, Method::GET, &format!("/api/v1/repositories/{repository}"), &[], "").await;
                if found.status == 404 {
                    self.record(operation, &Value::Null, at_ms);
                }
            }
            Operation::Push { repository, name, tip } => {
                let refs = &mut self.model.repositories.get_mut(repository).expect("known").refs;
                refs.entry(name.clone()).or_insert_with(|| BTreeSet::from([None])).insert(tip.clone());
            }
            Operation::Upload { repository, content, .. } => {
                let path = format!("{}/actions/artifacts?limit=50", self.api(*repository));
                let listed = send(&unix, Method::GET, &path, &[], "").await.json();
                let ids = listed["artifacts"].as_array().expect("a list").iter();
                let ids = ids.map(|artifact| (artifact["id"].as_u64().expect("a number"), artifact));
                let found = ids.into_iter().find(|(id, _)| !self.model.artifacts.contains_key(id));
                if let Some((id, artifact)) = found {
                    assert_eq!(artifact["size_in_bytes"].as_u64(), Some(content.0.len() as u64), "{artifact}");
                    self.record(operation, &json!({ "id": id }), at_ms);
                }
            }
        }
    }
}
