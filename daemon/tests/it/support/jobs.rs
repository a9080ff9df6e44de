//! Jobs of workflow runs and their artifacts, as a CI agent uses them.

use http::Method;
use serde_json::{Value, json};

use super::{
    daemon::TestDaemon,
    http::{Answer, send},
};

/// A job that was started over the API.
#[derive(Clone, Debug)]
#[expect(clippy::struct_field_names, reason = "field names of the API")]
pub struct Job {
    pub run_id: i64,
    pub job_id: i64,
    pub token: String,
    pub env: Vec<(String, String)>,
}

impl Job {
    /// Reads the response of the API to the start of a job.
    pub fn of(started: &Value) -> Self {
        let text = |value: &Value| value.as_str().expect("text").to_owned();
        let env = started["env"].as_object().expect("an environment");
        Self {
            run_id: started["run_id"].as_i64().expect("an integer"),
            job_id: started["job_id"].as_i64().expect("an integer"),
            token: text(&started["token"]),
            env: env.iter().map(|(name, value)| (name.clone(), text(value))).collect(),
        }
    }
}

impl TestDaemon {
    /// Starts a job of `admin/REPO` in a new run, or in the existing run `run`.
    pub async fn begin(&self, repo: &str, run: Option<i64>) -> Job {
        self.begin_with(json!({ "repo": format!("admin/{repo}"), "run_id": run })).await
    }

    /// Starts a job of `admin/REPO` on `branch` in a new run.
    pub async fn begin_on(&self, repo: &str, branch: &str) -> Job {
        self.begin_with(json!({ "repo": format!("admin/{repo}"), "branch": branch })).await
    }

    async fn begin_with(&self, body: Value) -> Job {
        let started = self.admin(Method::POST, "/api/farrier/v1/jobs", body).await;
        assert_eq!(started.status, 201, "{started:?}");
        Job::of(&started.json())
    }

    /// Ends a job successfully.
    pub async fn end(&self, job: &Job) {
        let path = format!("/api/farrier/v1/jobs/{}/end", job.job_id);
        let ended = self.admin(Method::POST, &path, json!({ "conclusion": "success" })).await;
        assert_eq!(ended.status, 200, "{ended:?}");
    }

    /// Sends a Twirp request as `job`. Adds the ids of the run and the job to the message.
    pub async fn call(&self, job: &Job, method: &str, message: Value) -> Answer {
        let mut message = message;
        message["workflow_run_backend_id"] = job.run_id.to_string().into();
        message["workflow_job_run_backend_id"] = job.job_id.to_string().into();
        self.call_raw(&job.token, method, &message.to_string()).await
    }

    /// Sends a Twirp request with `body` unchanged.
    pub async fn call_raw(&self, token: &str, method: &str, body: &str) -> Answer {
        let path = format!("/twirp/github.actions.results.api.v1.ArtifactService/{method}");
        let authorization = format!("Bearer {token}");
        let headers = [("content-type", "application/json"), ("authorization", authorization.as_str())];
        send(&self.tcp(), Method::POST, &path, &headers, body.to_owned()).await
    }

    /// Creates an artifact and returns the path and query of its upload URL.
    pub async fn create(&self, job: &Job, name: &str) -> String {
        let created = self.call(job, "CreateArtifact", json!({ "name": name, "version": 4 })).await;
        assert_eq!(created.status, 200, "{created:?}");
        self.path_of(created.json()["signed_upload_url"].as_str().expect("an address"))
    }

    /// Path and query of an absolute URL of this daemon.
    pub fn path_of(&self, url: &str) -> String {
        let rest = url.strip_prefix(&self.url).unwrap_or_else(|| panic!("{url} begins with {}", self.url));
        rest.to_owned()
    }

    /// Uploads `content` in one block, commits and finalizes it. Returns the artifact's id.
    pub async fn upload(&self, job: &Job, name: &str, content: &[u8]) -> i64 {
        let address = self.create(job, name).await;
        let put = |suffix: &str, body: Vec<u8>| {
            let (server, path) = (self.tcp(), format!("{address}&{suffix}"));
            async move { send(&server, Method::PUT, &path, &[], body).await.status }
        };
        assert_eq!(put("comp=block&blockid=YQ==", content.to_vec()).await, 201);
        let list = b"<BlockList><Latest>YQ==</Latest></BlockList>".to_vec();
        assert_eq!(put("comp=blocklist", list).await, 201);
        let finalized =
            self.call(job, "FinalizeArtifact", json!({ "name": name, "size": content.len().to_string() })).await;
        assert_eq!(finalized.status, 200, "{finalized:?}");
        finalized.json()["artifact_id"].as_str().expect("text").parse().expect("a number")
    }
}
