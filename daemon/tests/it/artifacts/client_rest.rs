//! The official client with artifacts of other runs, which it reads over the REST API with an access token.

use http::Method;
use serde_json::{Value, json};

use super::{noise, tree, write};
use crate::support::{
    Job, TestDaemon,
    client::{client, download, upload},
    send,
};

/// The client option that selects another run.
fn find_by(run: i64, token: &str) -> Value {
    json!({ "findBy": { "token": token, "workflowRunId": run, "repositoryOwner": "admin", "repositoryName": "r" } })
}

async fn daemon_with_job_and_token() -> (TestDaemon, Job, String) {
    let farrier = TestDaemon::start().await;
    farrier.repository("r").await;
    let job = farrier.begin("r", None).await;
    let token = farrier.token("admin", &["read:repository", "write:repository"]).await;
    (farrier, job, token)
}

#[tokio::test]
async fn a_hundred_and_twenty_artifacts_are_all_listed() {
    let (farrier, job, token) = daemon_with_job_and_token().await;
    for number in 0..120 {
        farrier.upload(&job, &format!("a-{number}"), b"x").await;
    }
    let path = format!("/api/v1/repos/admin/r/actions/runs/{}/artifacts", job.run_id);
    let page = async |query: &str| send(&farrier.tcp(), Method::GET, &format!("{path}?{query}"), &[], "").await.json();
    for (query, count, total) in [
        ("limit=50&page=3", 20, 120),
        ("per_page=100&page=2", 20, 120),
        ("per_page=100", 100, 120),
        ("name=a-7", 1, 1),
        ("name=a-", 0, 0),
        ("page=9", 0, 120),
    ] {
        let fetched = page(query).await;
        let length = fetched["artifacts"].as_array().expect("a list").len();
        assert_eq!((length, fetched["total_count"].as_i64()), (count, Some(total)), "{query}");
    }
    let Some(client) = client(&job).await else { return };
    let other = json!({ "call": "listArtifacts", "options": find_by(job.run_id, &token) });
    let get = json!({ "call": "getArtifact", "name": "a-7", "options": find_by(job.run_id, &token) });
    let outcome = client.run(&[other, get]).await;
    let mut names: Vec<String> =
        outcome.ok(0)["artifacts"].as_array().expect("a list").iter().map(|a| a["name"].to_string()).collect();
    names.sort();
    names.dedup();
    assert_eq!(names.len(), 120);
    assert_eq!(outcome.ok(1)["artifact"]["name"], "a-7");
}

#[tokio::test]
async fn an_artifact_of_another_run_is_downloaded_verified_and_deleted() {
    let (farrier, job, token) = daemon_with_job_and_token().await;
    let (root, to) = (farrier.files("up"), farrier.files("down"));
    write(&root, "data", noise(100_000, 6));
    let Some(first) = client(&job).await else { return };
    let created = first.run(&[upload("x", &root, &["data"], Value::Null)]).await;
    let digest = created.ok(0)["digest"].as_str().expect("a digest");

    let later = farrier.begin("r", None).await;
    assert_ne!(later.run_id, job.run_id);
    let second = client(&later).await.expect("there");
    let mut options = find_by(job.run_id, &token);
    options["expectedHash"] = format!("sha256:{digest}").into();
    let outcome = second
        .run(&[
            json!({ "call": "getArtifact", "name": "x", "options": options }),
            download(json!({ "of": 0 }), &to, options.clone()),
            json!({ "call": "deleteArtifact", "name": "x", "options": options }),
            json!({ "call": "getArtifact", "name": "x", "options": options }),
        ])
        .await;
    assert_eq!(outcome.ok(0)["artifact"]["digest"], format!("sha256:{digest}"));
    assert_eq!(outcome.ok(1)["digestMismatch"], false);
    assert_eq!(tree(&to), tree(&root));
    assert_eq!(outcome.ok(2)["id"], created.ok(0)["id"]);
    assert!(outcome.error(3).starts_with("Artifact not found"), "{}", outcome.error(3));
}
