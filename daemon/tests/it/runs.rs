//! Environment and tokens of jobs, cancellation of runs, and leases of jobs.

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use farrierd::clock::Clock;
use http::Method;
use serde_json::{Value, json};

use crate::support::{Answer, Job, TestDaemon, eventually, send};

const NOW: i64 = 1_764_000_000_000;
const SECOND_MS: i64 = 1_000;

async fn farrier() -> TestDaemon {
    let farrier = TestDaemon::with_clock(Clock::manual(NOW), |_| {}).await;
    farrier.repository("r").await;
    farrier
}

async fn begin(farrier: &TestDaemon, run: Option<i64>, lease_secs: Option<i64>) -> Job {
    let body = json!({ "repo": "admin/r", "run_id": run, "lease_secs": lease_secs });
    let started = farrier.admin(Method::POST, "/api/farrier/v1/jobs", body).await;
    assert_eq!(started.status, 201, "{started:?}");
    Job::of(&started.json())
}

async fn run(farrier: &TestDaemon, job: &Job) -> Value {
    farrier.admin(Method::GET, &format!("/api/farrier/v1/runs/{}", job.run_id), Value::Null).await.json()
}

async fn cancel(farrier: &TestDaemon, job: &Job) -> Answer {
    farrier.admin(Method::POST, &format!("/api/farrier/v1/runs/{}/cancel", job.run_id), json!({})).await
}

async fn renew(farrier: &TestDaemon, job: &Job) -> Answer {
    farrier.admin(Method::POST, &format!("/api/farrier/v1/jobs/{}/renew", job.job_id), json!({})).await
}

/// Whether the artifact service accepts the job's token.
async fn token_works(farrier: &TestDaemon, job: &Job) -> bool {
    farrier.call(job, "ListArtifacts", json!({})).await.status == 200
}

/// Waits until the sweep has given the job's run this conclusion.
async fn conclusion_becomes(farrier: &TestDaemon, job: &Job, conclusion: &str) {
    let what = format!("the conclusion is {conclusion}");
    eventually(&what, async || run(farrier, job).await["conclusion"] == conclusion).await;
}

#[tokio::test]
async fn cancelling_a_run_ends_its_jobs_and_tokens_and_emits_events() {
    let farrier = farrier().await;
    let first = begin(&farrier, None, None).await;
    farrier.end(&first).await;
    let first = begin(&farrier, None, None).await;
    let ended = begin(&farrier, Some(first.run_id), None).await;
    farrier.end(&ended).await;
    let mut others = Vec::new();
    // Enough jobs that cancelling them takes more than one transaction.
    for _ in 0..20 {
        others.push(begin(&farrier, Some(first.run_id), None).await);
    }
    assert!(token_works(&farrier, &first).await);

    let cancelled = cancel(&farrier, &first).await;
    assert_eq!(cancelled.status, 200, "{cancelled:?}");
    let fetched = cancelled.json();
    assert_eq!((&fetched["status"], &fetched["conclusion"]), (&json!("completed"), &json!("cancelled")), "{fetched}");
    for job in fetched["jobs"].as_array().expect("jobs") {
        let expected = if job["id"] == ended.job_id { "success" } else { "cancelled" };
        assert_eq!(job["conclusion"], expected, "{job}");
    }
    assert!(!token_works(&farrier, &first).await);

    // Without this header, the response is a stream that does not end.
    let headers = [("accept", "application/json")];
    let events = send(&farrier.unix(), Method::GET, "/api/farrier/v1/events?limit=500", &headers, "").await.json();
    let events = events["events"].as_array().expect("events").clone();
    let count = |kind: &str| {
        let matches = |event: &&Value| {
            event["kind"] == kind && event["run_id"] == first.run_id && event["conclusion"] == "cancelled"
        };
        events.iter().filter(matches).count()
    };
    assert_eq!((count("workflow_job"), count("workflow_run")), (21, 1));
}

#[tokio::test]
async fn a_completed_run_cannot_be_cancelled() {
    let farrier = farrier().await;
    let job = begin(&farrier, None, None).await;
    farrier.end(&job).await;
    let refused = cancel(&farrier, &job).await;
    assert_eq!(refused.status, 409);
    let message = refused.json()["message"].as_str().expect("text").to_owned();
    assert!(message.contains("already completed with conclusion success"), "{message}");
    assert_eq!(run(&farrier, &job).await["conclusion"], "success");
    let missing = farrier.admin(Method::POST, "/api/farrier/v1/runs/999/cancel", json!({})).await;
    assert_eq!(missing.status, 404);
}

#[tokio::test]
async fn runs_are_listed_by_status() {
    let farrier = farrier().await;
    let done = begin(&farrier, None, None).await;
    farrier.end(&done).await;
    let live = begin(&farrier, None, None).await;
    for (status, expected) in [("in_progress", live.run_id), ("completed", done.run_id)] {
        let path = format!("/api/farrier/v1/runs?status={status}");
        let listed = farrier.admin(Method::GET, &path, Value::Null).await.json();
        let ids: Vec<_> = listed.as_array().expect("runs").iter().map(|run| run["id"].clone()).collect();
        assert_eq!(ids, [json!(expected)], "{status}");
    }
    let refused = farrier.admin(Method::GET, "/api/farrier/v1/runs?status=odd", Value::Null).await;
    assert_eq!(refused.status, 422);
}

#[tokio::test]
async fn runs_are_listed_by_conclusion_page_by_page() {
    let farrier = farrier().await;
    let mut failed = Vec::new();
    for conclusion in ["failure", "success", "failure", "cancelled", "skipped"] {
        let job = begin(&farrier, None, None).await;
        let path = format!("/api/farrier/v1/jobs/{}/end", job.job_id);
        let ended = farrier.admin(Method::POST, &path, json!({ "conclusion": conclusion })).await;
        assert_eq!(ended.status, 200, "{ended:?}");
        if conclusion == "failure" {
            failed.insert(0, job.run_id);
        }
    }
    begin(&farrier, None, None).await;
    let listed = async |query: &str| {
        let path = format!("/api/farrier/v1/runs?{query}");
        let listed = farrier.admin(Method::GET, &path, Value::Null).await;
        assert_eq!(listed.status, 200, "{query}: {listed:?}");
        let ids: Vec<_> = listed.json().as_array().expect("runs").iter().map(|run| run["id"].clone()).collect();
        ids
    };
    assert_eq!(listed("conclusion=failure").await, [json!(failed[0]), json!(failed[1])]);
    assert_eq!(listed("conclusion=failure&limit=1").await, [json!(failed[0])]);
    let older = format!("conclusion=failure&limit=1&cursor={}", failed[0]);
    assert_eq!(listed(&older).await, [json!(failed[1])], "the cursor is the last run of the page before");
    assert_eq!(listed("conclusion=skipped&status=completed").await.len(), 1);
    assert!(listed("conclusion=failure&status=in_progress").await.is_empty());
    assert_eq!(listed("conclusion=").await.len(), 6, "an empty value does not filter");
    assert!(listed(&format!("q=RUN%20{}", failed[1])).await.contains(&json!(failed[1])));
    assert!(listed("q=run%20nothinglikeit%00").await.is_empty());
    assert_eq!(listed("q=run&conclusion=failure").await.len(), 2);
    let searched = farrier.admin(Method::GET, "/api/farrier/v1/runs?q=run&limit=1", Value::Null).await;
    assert_eq!(searched.header("x-examined-count"), "1", "a full page reads no further");
    let long = format!("/api/farrier/v1/runs?q={}", "x".repeat(513));
    assert_eq!(farrier.admin(Method::GET, &long, Value::Null).await.status, 422);
    for odd in ["odd", "Failure", "failure,success"] {
        let path = format!("/api/farrier/v1/runs?conclusion={odd}");
        let refused = farrier.admin(Method::GET, &path, Value::Null).await;
        assert_eq!(refused.status, 422, "{odd}: {refused:?}");
    }
}

#[tokio::test]
async fn workflows_whose_last_runs_failed_are_listed_until_one_succeeds() {
    let clock = Clock::manual(1_767_323_045_000);
    let farrier = TestDaemon::with_clock(clock.clone(), |_| {}).await;
    farrier.repository("demo").await;
    let end = async |branch: &str, conclusion: &str| {
        let body = json!({ "repo": "admin/demo", "branch": branch, "workflow": "ci" });
        let begun = farrier.admin(Method::POST, "/api/farrier/v1/jobs", body).await;
        let job = Job::of(&begun.json());
        let path = format!("/api/farrier/v1/jobs/{}/end", job.job_id);
        let ended = farrier.admin(Method::POST, &path, json!({ "conclusion": conclusion })).await;
        assert_eq!(ended.status, 200, "{ended:?}");
        job.run_id
    };
    let failing = async || farrier.show("/api/farrier/v1/runs/failing").await.json();
    end("main", "success").await;
    end("main", "failure").await;
    clock.advance_ms(3_600_000);
    let last = end("main", "failure").await;
    end("main", "cancelled").await;
    end("dev", "failure").await;
    end("dev", "success").await;
    let found = failing().await;
    let expected = json!([{
        "repository": "admin/demo", "repository_id": found["workflows"][0]["repository_id"], "head_branch": "main",
        "workflow": "ci", "run_id": last, "failures": 2, "failing_since": "2026-01-02T03:04:05Z",
        "recent_failures": { "last_hour": 1, "hour_before": 1 },
    }]);
    assert_eq!((&found["workflows"], &found["truncated"]), (&expected, &json!(false)), "{found}");
    assert_eq!(found["examined"], 6);

    // Others see only the runs of repositories that they may read, and old failures are not listed.
    let anonymous = send(&farrier.tcp(), Method::GET, "/api/farrier/v1/runs/failing", &[], "").await;
    assert_eq!(anonymous.status, 401, "{anonymous:?}");
    clock.advance_ms(8 * 86_400_000);
    assert_eq!(failing().await["workflows"], json!([]));
}

#[tokio::test]
async fn a_job_whose_lease_is_not_renewed_is_cancelled() {
    let farrier = farrier().await;
    let job = begin(&farrier, None, Some(60)).await;
    let without = begin(&farrier, None, None).await;
    farrier.clock.advance_ms(61 * SECOND_MS);
    // A sweep that finds the lease expired extends it once.
    eventually("the lease has lapsed", async || {
        let renewable = renew(&farrier, &without).await.status == 200;
        renewable && run(&farrier, &job).await["status"] == "in_progress"
    })
    .await;
    assert!(token_works(&farrier, &job).await);
    for _ in 0..3 {
        farrier.clock.advance_ms(61 * SECOND_MS);
        tokio::task::yield_now().await;
    }
    conclusion_becomes(&farrier, &job, "cancelled").await;
    assert!(!token_works(&farrier, &job).await);
    assert_eq!(renew(&farrier, &job).await.status, 409);
    assert_eq!(run(&farrier, &without).await["status"], "in_progress");
}

#[tokio::test]
async fn a_renewed_lease_keeps_the_job_until_its_time_limit() {
    let farrier = TestDaemon::with_clock(Clock::manual(NOW), |config| {
        config.ci.job_timeout = std::time::Duration::from_secs(300);
    })
    .await;
    farrier.repository("r").await;
    let job = begin(&farrier, None, Some(60)).await;
    for _ in 0..9 {
        farrier.clock.advance_ms(30 * SECOND_MS);
        let renewed = renew(&farrier, &job).await;
        assert_eq!(renewed.status, 200, "{renewed:?}");
        assert!(token_works(&farrier, &job).await);
    }
    farrier.clock.advance_ms(31 * SECOND_MS);
    conclusion_becomes(&farrier, &job, "cancelled").await;
}

#[tokio::test]
async fn after_a_long_downtime_agents_can_still_renew_their_leases() {
    let mut farrier = farrier().await;
    let job = begin(&farrier, None, Some(60)).await;
    farrier.stop().await;
    farrier.clock.advance_ms(3_600 * SECOND_MS);
    farrier.restart().await;
    let renewed = renew(&farrier, &job).await;
    assert_eq!(renewed.status, 200, "{renewed:?}");
    assert_eq!(run(&farrier, &job).await["status"], "in_progress");
    assert!(token_works(&farrier, &job).await);
}

#[tokio::test]
async fn a_lease_that_is_too_short_or_too_long_is_refused() {
    let farrier = farrier().await;
    for seconds in [0, 9, 3_601] {
        let body = json!({ "repo": "admin/r", "lease_secs": seconds });
        let refused = farrier.admin(Method::POST, "/api/farrier/v1/jobs", body).await;
        assert_eq!(refused.status, 422, "{seconds}");
        let message = refused.json()["message"].as_str().expect("text").to_owned();
        assert!(message.contains("expected 10 to 3600"), "{message}");
    }
    let anonymous = send(&farrier.tcp(), Method::POST, "/api/farrier/v1/runs/1/cancel", &[], "").await;
    assert_eq!(anonymous.status, 401);
}

/// The claims of a runtime token.
fn claims(token: &str) -> Value {
    let payload = URL_SAFE_NO_PAD.decode(token.split('.').nth(1).expect("a payload")).expect("base64url");
    serde_json::from_slice(&payload).expect("JSON")
}

#[tokio::test]
async fn a_job_gets_the_environment_of_cache_clients() {
    let farrier = farrier().await;
    let job = farrier.begin("r", None).await;
    let value = |name: &str| job.env.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str());
    let root = format!("{}/", farrier.url);
    assert_eq!(value("ACTIONS_CACHE_SERVICE_V2"), Some("true"));
    assert_eq!((value("ACTIONS_CACHE_URL"), value("ACTIONS_RESULTS_URL")), (Some(&*root), Some(&*root)));
    assert_eq!(value("GITHUB_SERVER_URL"), None);
}

#[tokio::test]
async fn a_runtime_token_names_the_refs_whose_caches_the_job_may_use() {
    let farrier = farrier().await;
    let token = async |body: Value| {
        let started = farrier.admin(Method::POST, "/api/farrier/v1/jobs", body).await;
        assert_eq!(started.status, 201, "{started:?}");
        started.json()
    };
    let refs = |started: &Value| {
        let claims = claims(started["token"].as_str().expect("text"));
        assert!(claims["nbf"].is_i64() && claims["exp"].is_i64(), "{claims}");
        serde_json::from_str::<Value>(claims["ac"].as_str().expect("a JSON text")).expect("JSON")
    };
    let own = json!({ "Scope": "refs/heads/feature", "Permission": 3 });
    let expected = json!([own, { "Scope": "refs/heads/main", "Permission": 1 }]);
    let first = token(json!({ "repo": "admin/r", "branch": "feature" })).await;
    assert_eq!(refs(&first), expected);
    // A job that joins a run has the branch of the run.
    let second = token(json!({ "repo": "admin/r", "run_id": first["run_id"], "branch": "other" })).await;
    assert_eq!(refs(&second), expected);
    let default = token(json!({ "repo": "admin/r" })).await;
    assert_eq!(refs(&default), json!([{ "Scope": "refs/heads/main", "Permission": 3 }]));
}

#[tokio::test]
async fn the_token_of_a_job_needs_the_access_of_the_account_that_began_it() {
    let farrier = farrier().await;
    farrier.user("bob").await;
    let authorization = format!("token {}", farrier.token("bob", &["all"]).await);
    let begin_as_bob = async |run: Option<i64>| {
        let headers = [("content-type", "application/json"), ("authorization", authorization.as_str())];
        let body = json!({ "repo": "admin/r", "run_id": run }).to_string();
        send(&farrier.tcp(), Method::POST, "/api/farrier/v1/jobs", &headers, body).await
    };
    let set_permission = async |permission: &str| {
        let path = "/api/v1/repos/admin/r/collaborators/bob";
        let answer = match permission {
            "none" => farrier.admin(Method::DELETE, path, Value::Null).await,
            _ => farrier.admin(Method::PUT, path, json!({ "permission": permission })).await,
        };
        assert_eq!(answer.status, 204, "{answer:?}");
    };
    let set_active = async |active: bool| {
        let answer = farrier.admin(Method::PATCH, "/api/v1/admin/users/bob", json!({ "active": active })).await;
        assert_eq!(answer.status, 200, "{answer:?}");
    };
    assert_eq!(begin_as_bob(None).await.status, 403, "bob may not begin jobs");
    set_permission("write").await;
    let of_admin = begin(&farrier, None, None).await;
    let own = Job::of(&begin_as_bob(None).await.json());
    let joined = Job::of(&begin_as_bob(Some(of_admin.run_id)).await.json());
    for permission in ["none", "read"] {
        set_permission(permission).await;
        assert!(!token_works(&farrier, &own).await && !token_works(&farrier, &joined).await, "{permission}");
        assert!(token_works(&farrier, &of_admin).await, "{permission}");
        set_permission("write").await;
        assert!(token_works(&farrier, &own).await && token_works(&farrier, &joined).await, "{permission}");
    }
    set_active(false).await;
    assert!(!token_works(&farrier, &own).await, "a closed account");
    set_active(true).await;
    assert!(token_works(&farrier, &own).await);
    assert_eq!(farrier.admin(Method::DELETE, "/api/v1/admin/users/bob?purge=true", Value::Null).await.status, 204);
    assert!(!token_works(&farrier, &own).await, "a deleted account");
    assert!(token_works(&farrier, &of_admin).await);
}
