//! Faults of the store: clients get 503 and can safely repeat the request.

use http::Method;
use serde_json::{Value, json};

use super::{artifact_file_sizes, assert_healthy};
use crate::support::{Answer, Job, TestDaemon, eventually, send};
use farrierd::store::engine::{Faults, LostCommit, MemoryEngine};

const XML: &str = "<BlockList><Latest>YQ</Latest></BlockList>";

/// The requests of one artifact from its creation to its deletion.
struct ArtifactSteps<'a> {
    farrier: &'a TestDaemon,
    job: &'a Job,
    name: String,
    address: String,
}

impl ArtifactSteps<'_> {
    /// Sends the request of step number `step`. It can be sent again.
    async fn send(&mut self, step: usize) -> Answer {
        let message: Value = json!({ "name": self.name, "size": "5" });
        match step {
            0 => {
                let created = self.farrier.call(self.job, "CreateArtifact", message).await;
                if created.status == 200 {
                    self.address = self.farrier.path_of(created.json()["signed_upload_url"].as_str().expect("text"));
                }
                created
            }
            1 => self.put("comp=block&blockid=YQ", "bytes").await,
            2 => self.put("comp=blocklist", XML).await,
            3 => self.farrier.call(self.job, "FinalizeArtifact", message).await,
            _ => self.farrier.call(self.job, "DeleteArtifact", message).await,
        }
    }

    async fn put(&self, what: &str, body: &'static str) -> Answer {
        send(&self.farrier.tcp(), Method::PUT, &format!("{}&{what}", self.address), &[], body).await
    }

    /// The only artifact with this name in the list.
    async fn listed(&self) -> Value {
        let list = self.farrier.call(self.job, "ListArtifacts", json!({ "name_filter": self.name })).await.json();
        assert!(list["artifacts"].as_array().expect("a list").len() <= 1, "{list}");
        list["artifacts"][0].clone()
    }
}

/// Runs the steps up to `step`, whose transaction result is lost. Repeats this with other names until the fault hits
/// the request and not a background transaction.
async fn fail_at_step<'a>(
    farrier: &'a TestDaemon,
    job: &'a Job,
    faults: &Faults,
    (lost, step): (LostCommit, usize),
) -> ArtifactSteps<'a> {
    for attempt in 0..50 {
        let mut steps =
            ArtifactSteps { farrier, job, name: format!("{lost:?}-{step}-{attempt}"), address: String::new() };
        for before in 0..step {
            let answer = steps.send(before).await;
            // A fault of an earlier attempt may still be armed.
            assert!([200, 201].contains(&answer.status), "{answer:?}");
        }
        faults.lose_answers(lost, 1);
        let answer = steps.send(step).await;
        faults.lose_answers(lost, 0);
        if answer.status == 503 {
            let code = if step == 1 || step == 2 {
                answer.header("x-ms-error-code").to_owned()
            } else {
                answer.json()["code"].to_string()
            };
            assert!(["ServerBusy", "\"unavailable\""].contains(&code.as_str()), "{answer:?}");
            return steps;
        }
        assert!([200, 201].contains(&answer.status), "{answer:?}");
    }
    panic!("the fault never hits step {step}")
}

#[tokio::test]
async fn a_lost_result_of_the_store_is_503_and_repeating_the_request_is_safe() {
    let engine = MemoryEngine::new();
    let faults = engine.faults();
    let farrier = TestDaemon::with_engine(engine).await;
    farrier.repository("tool").await;
    let job = farrier.begin("tool", None).await;
    for lost in [LostCommit::Applied, LostCommit::Dropped] {
        for step in 0..5 {
            let mut steps = fail_at_step(&farrier, &job, &faults, (lost, step)).await;
            let before = steps.listed().await;
            for next in step..5 {
                let answer = steps.send(next).await;
                let is_deleted = lost == LostCommit::Applied && step == 4;
                let expected = if next == 1 || next == 2 { 201 } else { 200 };
                assert_eq!(
                    answer.status,
                    if is_deleted { 404 } else { expected },
                    "{lost:?} {step} {next}: {answer:?}"
                );
                if next == 3 {
                    let again = steps.send(3).await;
                    assert_eq!(answer.json()["artifact_id"], again.json()["artifact_id"]);
                    assert_eq!(steps.listed().await["database_id"], answer.json()["artifact_id"]);
                    assert!(before.is_null() || before["database_id"] == answer.json()["artifact_id"], "{before}");
                }
            }
            assert!(steps.listed().await.is_null());
        }
    }
}

#[tokio::test]
async fn every_protocol_and_the_health_check_report_an_unavailable_store() {
    let engine = MemoryEngine::new();
    let faults = engine.faults();
    let farrier = TestDaemon::with_engine(engine).await;
    farrier.repository("tool").await;
    let job = farrier.begin("tool", None).await;
    let address = farrier.create(&job, "x").await;
    faults.unavailable(true);
    let blob = send(&farrier.tcp(), Method::PUT, &format!("{address}&comp=block&blockid=YQ"), &[], "x").await;
    assert_eq!((blob.status, blob.header("x-ms-error-code")), (503, "ServerBusy"));
    let twirp = farrier.call(&job, "ListArtifacts", json!({})).await;
    assert_eq!((twirp.status, twirp.json()["code"].as_str()), (503, Some("unavailable")));
    let rest = send(&farrier.unix(), Method::GET, "/api/v1/repos/admin/tool", &[], "").await;
    assert_eq!(rest.status, 503, "{rest:?}");
    assert!(rest.json()["message"].is_string());
    assert_eq!(send(&farrier.tcp(), Method::GET, "/api/healthz", &[], "").await.status, 503);
    faults.unavailable(false);
    assert_healthy(&farrier).await;
    farrier.upload(&job, "x", b"bytes").await;
}

#[tokio::test]
async fn transactions_that_run_twice_have_one_effect() {
    let engine = MemoryEngine::new();
    engine.faults().rerun(true);
    let farrier = TestDaemon::with_engine(engine).await;
    farrier.repository("tool").await;
    let job = farrier.begin("tool", None).await;
    let first = farrier.upload(&job, "a", b"bytes").await;
    let second = farrier.upload(&job, "b", b"other bytes").await;
    assert!(first < second);
    let listed = farrier.call(&job, "ListArtifacts", json!({})).await.json();
    assert_eq!(listed["artifacts"].as_array().expect("a list").len(), 2, "{listed}");
    assert_eq!(farrier.call(&job, "DeleteArtifact", json!({ "name": "a" })).await.status, 200);
    let purge = format!("/api/farrier/v1/deleted/artifacts/{first}");
    assert_eq!(farrier.admin(Method::DELETE, &purge, Value::Null).await.status, 204);
    eventually("the bytes are removed", || async { artifact_file_sizes(&farrier) == [11] }).await;
    farrier.end(&job).await;
    assert_eq!(farrier.call(&job, "ListArtifacts", json!({})).await.status, 401);
}
