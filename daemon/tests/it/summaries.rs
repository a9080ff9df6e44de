//! Summaries of jobs, as the runner of Gitea sends them.

use bytes::Bytes;
use farrierd::clock::Clock;
use http::Method;
use serde_json::{Value, json};

use crate::support::{Answer, Job, TestDaemon, eventually, send};

/// Jan 1, 2026.
const NOW: i64 = 1_767_225_600_000;
const DAY_MS: i64 = 86_400_000;

/// Sends the summary of a step with the headers of the runner.
async fn put_at(farrier: &TestDaemon, token: &str, steps: &str, kind: &str, text: impl Into<Bytes>) -> Answer {
    let path = format!("/api/actions_pipeline/_apis/pipelines/workflows/{steps}/summary");
    let authorization = format!("Bearer {token}");
    let headers =
        [("authorization", authorization.as_str()), ("content-type", kind), ("user-agent", "Go-http-client/1.1")];
    send(&farrier.tcp(), Method::PUT, &path, &headers, text).await
}

async fn put(farrier: &TestDaemon, job: &Job, step: u64, text: impl Into<Bytes>) -> Answer {
    put_at(farrier, &job.token, &format!("{}/jobs/{}/steps/{step}", job.run_id, job.job_id), "text/markdown", text)
        .await
}

/// Returns the summary of a job as the administrator reads it.
async fn summary(farrier: &TestDaemon, job: &Job) -> String {
    let answer = farrier.admin(Method::GET, &format!("/api/farrier/v1/jobs/{}/summary", job.job_id), Value::Null).await;
    assert_eq!((answer.status, answer.header("content-type")), (200, "text/markdown; charset=utf-8"), "{answer:?}");
    assert!(answer.header("content-security-policy").contains("sandbox"));
    answer.text()
}

#[tokio::test]
async fn the_summaries_of_steps_are_stored_replaced_and_cleared() {
    let farrier = TestDaemon::start().await;
    farrier.repository("r").await;
    let job = farrier.begin("r", None).await;
    assert_eq!(summary(&farrier, &job).await, "");
    let stored = put(&farrier, &job, 10, "# Last\n").await;
    assert_eq!(stored.status, 200, "{stored:?}");
    assert_eq!(stored.json(), json!({ "message": "success", "sizeBytes": 7, "runAttempt": 1 }));
    // A text of several rows, with characters at their borders.
    let long = "é日本".repeat(100_000);
    assert_eq!(put(&farrier, &job, 2, long.clone()).await.status, 200);
    assert_eq!(summary(&farrier, &job).await, format!("{long}\n# Last\n\n"));
    assert_eq!(put(&farrier, &job, 2, "First").await.status, 200);
    assert_eq!(summary(&farrier, &job).await, "First\n# Last\n\n");
    let cleared = put(&farrier, &job, 10, "").await;
    assert_eq!(cleared.json(), json!({ "message": "cleared", "sizeBytes": 0, "runAttempt": 1 }));
    assert_eq!(put(&farrier, &job, 11, "").await.status, 200, "there is nothing to clear");
    farrier.end(&job).await;
    assert_eq!(summary(&farrier, &job).await, "First\n", "a summary stays after the end of its job");
}

#[tokio::test]
async fn only_the_running_job_itself_writes_its_summary() {
    let farrier = TestDaemon::start().await;
    farrier.repository("r").await;
    let (job, other) = (farrier.begin("r", None).await, farrier.begin("r", None).await);
    let at = |run: i64, job: i64, step: &str| format!("{run}/jobs/{job}/steps/{step}");
    for (steps, kind, status) in [
        (at(other.run_id, other.job_id, "0"), "text/markdown", 403),
        (at(job.run_id, other.job_id, "0"), "text/markdown", 403),
        (at(other.run_id, job.job_id, "0"), "text/markdown", 403),
        (at(job.run_id, job.job_id, "1000"), "text/markdown", 400),
        (at(job.run_id, job.job_id, "-1"), "text/markdown", 400),
        (at(job.run_id, job.job_id, "x"), "text/markdown", 400),
        (at(job.run_id, job.job_id, "0"), "text/html", 400),
        (at(job.run_id, job.job_id, "0"), "text/markdown; charset=utf-8", 200),
        (at(job.run_id, job.job_id, "0"), "application/octet-stream", 200),
    ] {
        let answer = put_at(&farrier, &job.token, &steps, kind, "x").await;
        assert_eq!(answer.status, status, "{steps} {kind}: {answer:?}");
    }
    let own = at(job.run_id, job.job_id, "0");
    assert_eq!(put_at(&farrier, "x.y.z", &own, "text/markdown", "x").await.status, 401);
    farrier.end(&job).await;
    assert_eq!(put(&farrier, &job, 1, "late").await.status, 401);
    assert_eq!((summary(&farrier, &job).await.as_str(), summary(&farrier, &other).await.as_str()), ("x\n", ""));
}

#[tokio::test]
async fn summaries_over_the_limits_are_refused_and_the_former_ones_stay() {
    let farrier = TestDaemon::start().await;
    farrier.repository("r").await;
    let job = farrier.begin("r", None).await;
    let largest = "x".repeat(1 << 20);
    for step in 0..8 {
        assert_eq!(put(&farrier, &job, step, largest.clone()).await.status, 200);
    }
    let over = put(&farrier, &job, 8, "x").await;
    assert_eq!((over.status, over.json()["message"].is_string()), (403, true), "{over:?}");
    assert_eq!(put(&farrier, &job, 3, largest.clone()).await.status, 200, "replacing needs no more space");
    assert_eq!(put(&farrier, &job, 3, format!("{largest}x")).await.status, 413);
    assert_eq!(summary(&farrier, &job).await.len(), 8 * ((1 << 20) + 1));
}

#[tokio::test]
async fn summaries_are_deleted_after_the_retention_and_with_their_repository() {
    let mut farrier = TestDaemon::with_clock(Clock::manual(NOW), |config| {
        config.artifacts.max_retention_days = 5;
        config.storage.set_aside_days = 0;
        config.ci.job_timeout = std::time::Duration::from_secs(30 * 86_400);
    })
    .await;
    for name in ["r", "gone"] {
        farrier.repository(name).await;
    }
    let (job, gone) = (farrier.begin("r", None).await, farrier.begin("gone", None).await);
    for step in [1, 2] {
        assert_eq!(put(&farrier, &job, step, format!("step {step}")).await.status, 200);
    }
    farrier.clock.jump_ms(3 * DAY_MS);
    assert_eq!(put(&farrier, &job, 2, "newer").await.status, 200);
    assert_eq!(put(&farrier, &gone, 1, "gone").await.status, 200);
    farrier.clock.jump_ms(3 * DAY_MS);
    eventually("the older summary is deleted", async || summary(&farrier, &job).await == "newer\n").await;
    let deleted = farrier.admin(Method::DELETE, "/api/v1/repos/admin/gone", Value::Null).await;
    assert_eq!(deleted.status, 204, "{deleted:?}");
    let path = format!("/api/farrier/v1/jobs/{}/summary", gone.job_id);
    eventually("the job is deleted", async || farrier.admin(Method::GET, &path, Value::Null).await.status == 404).await;
    farrier.stop().await;
    let checked = farrier.check_data(&[]).await;
    assert!(checked.status.success(), "{checked:?}");
}
