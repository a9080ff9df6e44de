//! The REST API of artifacts: response format, downloads, permissions.

use farrierd::clock::Clock;
use http::Method;
use serde_json::{Value, json};

use crate::support::{Answer, Job, TestDaemon, send};

const NOW: i64 = 1_764_000_000_000;
const ACTIONS: &str = "/api/v1/repos/admin/r/actions";

async fn daemon_with_job() -> (TestDaemon, Job) {
    let farrier = TestDaemon::with_clock(Clock::manual(NOW), |_| {}).await;
    farrier.repository("r").await;
    let job = farrier.begin("r", None).await;
    (farrier, job)
}

async fn ask(farrier: &TestDaemon, method: Method, path: &str, token: &str) -> Answer {
    let authorization = format!("token {token}");
    let headers = [("authorization", authorization.as_str())];
    let headers = if token.is_empty() { &headers[1..] } else { &headers };
    send(&farrier.tcp(), method, path, headers, "").await
}

#[tokio::test]
async fn artifact_lists_wrap_complete_artifacts_in_an_envelope() {
    let (farrier, _) = daemon_with_job().await;
    let body = json!({ "repo": "admin/r", "sha": "c0ffee", "branch": "main" });
    let started = farrier.admin(Method::POST, "/api/farrier/v1/jobs", body).await.json();
    let (run, job) = (started["run_id"].as_i64().expect("a number"), started["job_id"].as_i64().expect("a number"));
    let token = started["token"].as_str().expect("text").to_owned();
    let job = Job { run_id: run, job_id: job, token, env: Vec::new() };
    let id = farrier.upload(&job, "x", b"hello world\n").await;
    let root = &farrier.url;
    let url = format!("{root}{ACTIONS}/artifacts/{id}");
    let expected = json!({
        "id": id,
        "name": "x",
        "size_in_bytes": 12,
        "url": url,
        "archive_download_url": format!("{url}/zip"),
        "expired": false,
        "digest": "sha256:a948904f2f0f479b8f8197694b30184b0d2ed1c1cd2a1ec0fb85d299a192a447",
        "created_at": "2025-11-24T16:00:00Z",
        "updated_at": "2025-11-24T16:00:00Z",
        "expires_at": "2026-02-22T16:00:00Z",
        "workflow_run": {
            "id": run, "repository_id": 1, "head_repository_id": 1, "head_branch": "main", "head_sha": "c0ffee"
        },
    });
    for list in [format!("{ACTIONS}/runs/{run}/artifacts"), format!("{ACTIONS}/artifacts")] {
        let answer = ask(&farrier, Method::GET, &list, "").await;
        assert_eq!((answer.status, answer.header("x-total-count")), (200, "1"));
        assert_eq!(answer.json(), json!({ "total_count": 1, "artifacts": [expected] }));
    }
    assert_eq!(ask(&farrier, Method::GET, &format!("{ACTIONS}/artifacts/{id}"), "").await.json(), expected);
    let none = ask(&farrier, Method::GET, &format!("{ACTIONS}/runs/999/artifacts"), "").await;
    assert_eq!((none.status, none.json()), (200, json!({ "total_count": 0, "artifacts": [] })));
}

#[tokio::test]
async fn a_zip_download_redirects_to_a_url_that_needs_no_credentials() {
    let (farrier, job) = daemon_with_job().await;
    let id = farrier.upload(&job, "x", b"content").await;
    let answer = ask(&farrier, Method::GET, &format!("{ACTIONS}/artifacts/{id}/zip"), "").await;
    assert_eq!(answer.status, 302);
    let location = farrier.path_of(answer.header("location"));
    let bytes = ask(&farrier, Method::GET, &location, "").await;
    assert_eq!((bytes.status, bytes.text()), (200, "content".into()));
}

#[tokio::test]
async fn deleting_requires_write_access_and_private_artifacts_are_hidden() {
    let (farrier, job) = daemon_with_job().await;
    for name in ["owner", "unrelated"] {
        farrier.user(name).await;
    }
    let unrelated = farrier.token("unrelated", &["write:repository"]).await;
    let reader = farrier.token("admin", &["read:repository"]).await;
    let writer = farrier.token("admin", &["write:repository"]).await;
    let id = farrier.upload(&job, "x", b"x").await;
    let path = format!("{ACTIONS}/artifacts/{id}");
    for (token, status) in [("", 401), ("nonsense", 401), (unrelated.as_str(), 403), (&reader, 403)] {
        assert_eq!(ask(&farrier, Method::DELETE, &path, token).await.status, status, "{token}");
    }
    let deleted = ask(&farrier, Method::DELETE, &path, &writer).await;
    assert_eq!((deleted.status, deleted.body.len()), (204, 0));
    for method in [Method::GET, Method::DELETE] {
        assert_eq!(ask(&farrier, method, &path, &writer).await.status, 404);
    }
    let zip = ask(&farrier, Method::GET, &format!("{path}/zip"), &writer).await;
    assert_eq!(zip.status, 404);

    let created = farrier.admin(Method::POST, "/api/v1/user/repos", json!({ "name": "hidden", "private": true })).await;
    assert_eq!(created.status, 201);
    let hidden_job = farrier.begin("hidden", None).await;
    let id = farrier.upload(&hidden_job, "x", b"x").await;
    let hidden = "/api/v1/repos/admin/hidden/actions";
    for (method, path) in [
        (Method::GET, format!("{hidden}/artifacts")),
        (Method::GET, format!("{hidden}/runs/{}/artifacts", hidden_job.run_id)),
        (Method::GET, format!("{hidden}/artifacts/{id}")),
        (Method::GET, format!("{hidden}/artifacts/{id}/zip")),
        (Method::DELETE, format!("{hidden}/artifacts/{id}")),
    ] {
        for token in ["", &unrelated] {
            let answer = ask(&farrier, method.clone(), &path, token).await;
            assert_eq!(answer.status, 404, "{method} {path}");
        }
    }
    assert_eq!(ask(&farrier, Method::GET, &format!("{hidden}/artifacts/{id}"), &reader).await.status, 200);
}

#[tokio::test]
async fn an_artifact_is_not_found_in_another_repository() {
    let (farrier, job) = daemon_with_job().await;
    farrier.repository("other").await;
    let id = farrier.upload(&job, "x", b"x").await;
    let writer = farrier.token("admin", &["write:repository"]).await;
    let other = "/api/v1/repos/admin/other/actions";
    for (method, path) in [
        (Method::GET, format!("{other}/artifacts/{id}")),
        (Method::GET, format!("{other}/artifacts/{id}/zip")),
        (Method::DELETE, format!("{other}/artifacts/{id}")),
        (Method::GET, format!("{ACTIONS}/artifacts/999")),
        (Method::GET, format!("{ACTIONS}/artifacts/x")),
        (Method::GET, format!("{ACTIONS}/artifacts/-1")),
    ] {
        assert_eq!(ask(&farrier, method.clone(), &path, &writer).await.status, 404, "{method} {path}");
    }
    let run = format!("{other}/runs/{}/artifacts", job.run_id);
    assert_eq!(ask(&farrier, Method::GET, &run, "").await.json()["artifacts"], json!([]));
    assert_eq!(ask(&farrier, Method::GET, &format!("{ACTIONS}/artifacts/{id}"), "").await.status, 200);
}

#[tokio::test]
async fn an_unfinalized_upload_is_not_listed() {
    let (farrier, job) = daemon_with_job().await;
    farrier.create(&job, "x").await;
    let fetched: Value = ask(&farrier, Method::GET, &format!("{ACTIONS}/artifacts"), "").await.json();
    assert_eq!(fetched["total_count"], 0);
    assert_eq!(ask(&farrier, Method::GET, &format!("{ACTIONS}/artifacts/1"), "").await.status, 404);
}
