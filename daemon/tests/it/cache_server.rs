//! The routes with which runners register jobs at a shared cache server.

use farrierd::{config::Config, model::secret::SharedSecret};
use http::Method;
use serde_json::json;

use crate::{
    caches::{content, save},
    support::{Answer, TestDaemon, send},
};

const SECRET: &str = "secret of the runners";

async fn farrier() -> TestDaemon {
    let set = |config: &mut Config| config.ci.cache_secret = SharedSecret::new(SECRET.into());
    let farrier = TestDaemon::with(set).await;
    farrier.repository("r").await;
    farrier
}

/// Sends what a runner sends, with `Authorization: Bearer SECRET`.
async fn post(farrier: &TestDaemon, path: &str, secret: &str, body: impl Into<bytes::Bytes>) -> Answer {
    let authorization = format!("Bearer {secret}");
    let headers = [("authorization", authorization.as_str()), ("content-type", "application/json")];
    send(&farrier.tcp(), Method::POST, path, &headers, body).await
}

/// The body of a registration, as the runner of Gitea 3 sends it.
fn registration(token: &str) -> String {
    let public = "http://forge.example";
    json!({ "token": token, "repo": "admin/r", "results": public, "insecure_tls": false, "public_url": public })
        .to_string()
}

#[tokio::test]
async fn a_runner_with_the_secret_registers_its_running_jobs() {
    let farrier = farrier().await;
    let job = farrier.begin("r", None).await;
    let registered = post(&farrier, "/_internal/register", SECRET, registration(&job.token)).await;
    assert_eq!((registered.status, registered.json()), (200, json!({ "results_url": farrier.url })));
    // The runner of Gitea 1 sends fewer members.
    let short = json!({ "token": job.token, "repo": "admin/r" }).to_string();
    assert_eq!(post(&farrier, "/_internal/register", SECRET, short).await.status, 200);

    for token in ["", "x", "a.b.c", &format!("{}x", job.token)] {
        let refused = post(&farrier, "/_internal/register", SECRET, registration(token)).await;
        assert_eq!(refused.status, 403, "{token}");
    }
    farrier.end(&job).await;
    assert_eq!(post(&farrier, "/_internal/register", SECRET, registration(&job.token)).await.status, 403);
    let revoked = post(&farrier, "/_internal/revoke", SECRET, json!({ "token": job.token }).to_string()).await;
    assert_eq!(revoked.status, 200);
}

#[tokio::test]
async fn a_job_of_a_second_runner_restores_what_a_job_of_the_first_saved() {
    let farrier = farrier().await;
    let first = farrier.begin_on("r", "main").await;
    assert_eq!(post(&farrier, "/_internal/register", SECRET, registration(&first.token)).await.status, 200);
    save(&farrier, &first, "npm-1", "content").await;
    farrier.end(&first).await;
    let revoked = post(&farrier, "/_internal/revoke", SECRET, json!({ "token": first.token }).to_string()).await;
    assert_eq!(revoked.status, 200);
    let second = farrier.begin_on("r", "main").await;
    let registered = post(&farrier, "/_internal/register", SECRET, registration(&second.token)).await;
    assert_eq!(registered.json()["results_url"], farrier.url);
    assert_eq!(content(&farrier, &second, "npm-1").await.as_deref(), Some("content"));
}

#[tokio::test]
async fn wrong_secrets_are_refused_and_counted() {
    let farrier = farrier().await;
    let job = farrier.begin("r", None).await;
    for path in ["/_internal/register", "/_internal/revoke"] {
        for secret in ["", "wrong", &SECRET[1..], &job.token] {
            let refused = post(&farrier, path, secret, registration(&job.token)).await;
            assert_eq!(refused.status, 401, "{path} {secret}");
            assert!(!refused.text().contains(SECRET), "{refused:?}");
        }
        assert_eq!(send(&farrier.tcp(), Method::POST, path, &[], registration(&job.token)).await.status, 401);
    }
    for body in ["", "{", "[]", "{}", r#"{"token":7}"#] {
        assert_eq!(post(&farrier, "/_internal/register", SECRET, body).await.status, 400, "{body}");
    }
    let too_large = vec![b' '; 100 << 10];
    assert_eq!(post(&farrier, "/_internal/register", SECRET, too_large).await.status, 413);

    let mut last = 401;
    for _ in 0..400 {
        last = post(&farrier, "/_internal/register", "wrong", "").await.status;
        if last != 401 {
            break;
        }
    }
    assert_eq!(last, 429, "guessing is not slowed down");
    assert_eq!(post(&farrier, "/_internal/register", SECRET, registration(&job.token)).await.status, 200);
}

#[tokio::test]
async fn without_a_configured_secret_the_routes_do_not_exist() {
    let farrier = TestDaemon::start().await;
    for path in ["/_internal/register", "/_internal/revoke"] {
        assert_eq!(post(&farrier, path, "", registration("")).await.status, 404);
        assert_eq!(post(&farrier, path, SECRET, registration("")).await.status, 404);
    }
}
