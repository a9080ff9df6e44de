//! Statuses of commits that jobs write.

use farrierd::clock::Clock;
use http::Method;
use serde_json::{Value, json};

use super::demo;
use crate::support::{GitDir, Job, Receiver, TestDaemon, eventually};

const NOW: i64 = 1_764_000_000_000;

/// Begins a job of `admin/demo` on the commit `sha`.
async fn begin(farrier: &TestDaemon, sha: &str, run: Option<i64>, job: &str) -> Job {
    let body =
        json!({ "repo": "admin/demo", "workflow": "ci.yml", "sha": sha, "run_id": run, "job": job, "lease_secs": 60 });
    let started = farrier.admin(Method::POST, "/api/farrier/v1/jobs", body).await;
    assert_eq!(started.status, 201, "{started:?}");
    Job::of(&started.json())
}

async fn end(farrier: &TestDaemon, job: &Job, conclusion: &str) {
    let path = format!("/api/farrier/v1/jobs/{}/end", job.job_id);
    assert_eq!(farrier.admin(Method::POST, &path, json!({ "conclusion": conclusion })).await.status, 200);
}

/// Context and state of the last statuses of a commit, sorted by context.
async fn states(farrier: &TestDaemon, demo: &GitDir, commit: &str) -> Vec<(String, String)> {
    let combined = farrier.json(&demo.at(&format!("/commits/{commit}/status?limit=50"))).await;
    let text = |value: &Value| value.as_str().expect("text").to_owned();
    let rows = combined["statuses"].as_array().expect("a list").iter();
    let mut states: Vec<_> = rows.map(|row| (text(&row["context"]), text(&row["status"]))).collect();
    states.sort();
    states
}

fn pairs(expected: &[(&str, &str)]) -> Vec<(String, String)> {
    expected.iter().map(|(context, state)| ((*context).to_owned(), (*state).to_owned())).collect()
}

#[tokio::test]
async fn jobs_write_statuses_of_their_commit_when_they_begin_and_end() {
    let farrier = TestDaemon::with_clock(Clock::manual(NOW), |_| {}).await;
    let demo = demo(&farrier).await;
    let commit = demo.git(&["rev-parse", "main"]);
    let first = begin(&farrier, &commit, None, "build").await;
    let run = Some(first.run_id);
    let listed = farrier.json(&demo.at("/statuses/main")).await;
    let status = &listed[0];
    assert_eq!((&status["context"], &status["status"]), (&json!("ci.yml / build"), &json!("pending")), "{listed}");
    assert_eq!(status["creator"]["login"], "admin");
    let address = format!("{}{}/actions/runs/{}", farrier.url, demo.api, first.run_id);
    assert_eq!(status["target_url"], json!(address));
    assert_eq!(farrier.status(&farrier.path_of(&address)).await, 200);

    let others = ["lint", "docs", "slow", "late"];
    let mut jobs = Vec::new();
    for name in others {
        jobs.push(begin(&farrier, "another text", run, name).await);
    }
    end(&farrier, &first, "success").await;
    end(&farrier, &jobs[0], "failure").await;
    end(&farrier, &jobs[1], "skipped").await;
    // Ending a job again writes no other status.
    end(&farrier, &jobs[1], "skipped").await;
    let expected = [
        ("ci.yml / build", "success"),
        ("ci.yml / docs", "skipped"),
        ("ci.yml / late", "pending"),
        ("ci.yml / lint", "failure"),
        ("ci.yml / slow", "pending"),
    ];
    assert_eq!(states(&farrier, &demo, &commit).await, pairs(&expected));
    assert_eq!(farrier.get(&demo.at("/statuses/main")).await.header("x-total-count"), "8");

    let cancel = format!("/api/farrier/v1/runs/{}/cancel", first.run_id);
    assert_eq!(farrier.admin(Method::POST, &cancel, json!({})).await.status, 200);
    let ended = states(&farrier, &demo, &commit).await;
    assert_eq!((&ended[2].1, &ended[4].1), (&"error".to_owned(), &"error".to_owned()), "{ended:?}");

    // A new run on the same commit begins with the state pending again.
    begin(&farrier, &commit, None, "build").await;
    assert_eq!(states(&farrier, &demo, &commit).await[0].1, "pending");
}

#[tokio::test]
async fn a_job_that_is_cancelled_at_its_deadline_has_the_status_error() {
    let farrier = TestDaemon::with_clock(Clock::manual(NOW), |_| {}).await;
    let demo = demo(&farrier).await;
    let commit = demo.git(&["rev-parse", "feature/x"]);
    begin(&farrier, &commit, None, "build").await;
    eventually("the job is cancelled", async || {
        farrier.clock.advance_ms(61_000);
        states(&farrier, &demo, &commit).await == pairs(&[("ci.yml / build", "error")])
    })
    .await;
}

#[tokio::test]
async fn only_a_commit_of_the_repository_gets_statuses_of_jobs() {
    let farrier = TestDaemon::start().await;
    let demo = demo(&farrier).await;
    let tag = demo.git(&["rev-parse", "v1.0"]);
    let tree = demo.git(&["rev-parse", "main^{tree}"]);
    for sha in ["", "main", &"b".repeat(40), &"b".repeat(64), &tag, &tree, &demo.git(&["rev-parse", "main"])[..10]] {
        let job = begin(&farrier, sha, None, "build").await;
        end(&farrier, &job, "success").await;
        assert_eq!(farrier.json(&demo.at("/statuses/main")).await, json!([]), "{sha}");
    }
}

#[tokio::test]
async fn deleting_a_repository_cancels_its_jobs_without_a_status() {
    let farrier = TestDaemon::start().await;
    let demo = demo(&farrier).await;
    let commit = demo.git(&["rev-parse", "main"]);
    let id = farrier.json(&demo.api).await["id"].clone();
    begin(&farrier, &commit, None, "build").await;
    assert_eq!(farrier.admin(Method::DELETE, &demo.api, Value::Null).await.status, 204);
    let restore = format!("/api/farrier/v1/deleted/repositories/{id}/restore");
    assert_eq!(farrier.admin(Method::POST, &restore, json!({})).await.status, 200);
    let run = farrier.json(&demo.at("/actions/runs")).await["workflow_runs"][0].clone();
    assert_eq!(run["conclusion"], "cancelled", "{run}");
    assert_eq!(states(&farrier, &demo, &commit).await, pairs(&[("ci.yml / build", "pending")]));
}

#[tokio::test(flavor = "multi_thread")]
async fn the_statuses_of_jobs_are_sent_to_hooks() {
    let farrier = TestDaemon::with(|config| config.webhook.allowed_hosts = "external, loopback".into()).await;
    let demo = demo(&farrier).await;
    let receiver = Receiver::start().await;
    let config = json!({ "url": receiver.url, "content_type": "json" });
    let body = json!({ "type": "gitea", "active": true, "events": ["status"], "config": config });
    assert_eq!(farrier.admin(Method::POST, &demo.at("/hooks"), body).await.status, 201);
    let commit = demo.git(&["rev-parse", "main"]);
    let job = begin(&farrier, &commit, None, "build").await;
    end(&farrier, &job, "failure").await;
    let requests = receiver.wait(2).await;
    let states: Vec<Value> = requests.iter().map(|request| request.json()["state"].clone()).collect();
    assert_eq!(states, ["pending", "failure"]);
    let payload = requests[1].json();
    assert_eq!((&payload["sha"], &payload["context"]), (&json!(commit), &json!("ci.yml / build")));
    assert_eq!((&payload["commit"]["message"], &payload["sender"]["login"]), (&json!("merge"), &json!("admin")));
}
