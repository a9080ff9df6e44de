//! Invalid Twirp calls. Every error must be JSON, because clients retry other responses.

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD as BASE64};
use farrierd::clock::Clock;
use http::Method;
use serde_json::json;

use super::{assert_twirp_error, list};
use crate::support::{Job, TestDaemon, send};

const SERVICE: &str = "/twirp/github.actions.results.api.v1.ArtifactService";
const NOW: i64 = 1_764_000_000_000;

async fn daemon_with_job() -> (TestDaemon, Job) {
    let farrier = TestDaemon::with_clock(Clock::manual(NOW), |_| {}).await;
    farrier.repository("r").await;
    let job = farrier.begin("r", None).await;
    (farrier, job)
}

#[tokio::test]
async fn invalid_tokens_are_refused_as_unauthenticated() {
    let (farrier, job) = daemon_with_job().await;
    let (signed, signature) = job.token.rsplit_once('.').expect("three parts");
    let payload = signed.split_once('.').expect("two parts").1;
    let none = BASE64.encode(r#"{"alg":"none","typ":"JWT"}"#);
    let flipped = if signature.starts_with('A') { "B" } else { "A" };
    let ended = farrier.begin("r", None).await;
    farrier.end(&ended).await;
    for token in [
        "",
        "nonsense",
        "a.b.c",
        &format!("{signed}.{flipped}{}", &signature[1..]),
        &format!("{none}.{payload}."),
        &format!("{none}.{payload}.{signature}"),
        &"x".repeat(8_000),
        &ended.token,
    ] {
        let answer = farrier.call_raw(token, "ListArtifacts", "{}").await;
        assert_twirp_error(&answer, 401, "unauthenticated");
    }
    for authorization in ["", "Bearer", "Basic YTpi", "token abc"] {
        let headers = [("content-type", "application/json"), ("authorization", authorization)];
        let headers = if authorization.is_empty() { &headers[..1] } else { &headers[..] };
        let path = format!("{SERVICE}/ListArtifacts");
        let answer = send(&farrier.tcp(), Method::POST, &path, headers, "{}").await;
        assert_twirp_error(&answer, 401, "unauthenticated");
    }
    assert!(list(&farrier, &job).await.is_empty(), "the unchanged token is valid");
    farrier.clock.advance_ms(6 * 3_600_000 + 2_000);
    let late = farrier.call(&job, "ListArtifacts", json!({})).await;
    assert_twirp_error(&late, 401, "unauthenticated");
}

#[tokio::test]
async fn unknown_routes_and_methods_are_refused_with_json() {
    let (farrier, job) = daemon_with_job().await;
    let authorization = format!("Bearer {}", job.token);
    let headers = [("content-type", "application/json"), ("authorization", authorization.as_str())];
    for path in [
        "/twirp",
        "/twirp/",
        "/twirp/nothing",
        &format!("{SERVICE}/Nothing"),
        &format!("{SERVICE}/MigrateArtifact"),
        "/twirp/other.actions.results.api.v1.ArtifactService/ListArtifacts",
        "/twirp/github.actions.results.api.v1.CacheService/DeleteCacheEntry",
        "/twirp/github.actions.results.api.v1.CacheService/ListArtifacts",
    ] {
        let answer = send(&farrier.tcp(), Method::POST, path, &headers, "{}").await;
        assert_twirp_error(&answer, 404, "bad_route");
    }
    for method in [Method::GET, Method::PUT, Method::DELETE] {
        let answer = send(&farrier.tcp(), method, &format!("{SERVICE}/ListArtifacts"), &headers, "").await;
        assert_twirp_error(&answer, 405, "bad_route");
        assert_eq!(answer.header("allow"), "POST");
    }
    let typed = [("content-type", "text/plain"), headers[1]];
    let answer = send(&farrier.tcp(), Method::POST, &format!("{SERVICE}/ListArtifacts"), &typed, "{}").await;
    assert_twirp_error(&answer, 404, "bad_route");
}

/// Version 3 of the artifact protocol and version 1 of the cache protocol are offered below other paths.
#[tokio::test]
async fn unknown_paths_of_older_protocols_answer_404_with_json() {
    let (farrier, job) = daemon_with_job().await;
    let authorization = format!("Bearer {}", job.token);
    let headers = [("content-type", "application/json"), ("authorization", authorization.as_str())];
    for (method, path) in [
        (Method::POST, format!("/_apis/pipelines/workflows/{}/artifacts?api-version=6.0-preview", job.run_id)),
        (Method::GET, "/_apis/artifactcache/nothing".to_owned()),
    ] {
        let answer = send(&farrier.tcp(), method, &path, &headers, "{}").await;
        assert_eq!(answer.status, 404, "{path}");
        assert_eq!(answer.json()["message"], "not found");
    }
}

#[tokio::test]
async fn other_vendor_prefixes_can_be_configured() {
    let farrier = TestDaemon::with(|config| config.artifacts.vendors = vec!["github".into(), "gitea".into()]).await;
    farrier.repository("r").await;
    let job = farrier.begin("r", None).await;
    let authorization = format!("Bearer {}", job.token);
    let headers = [("content-type", "application/json"), ("authorization", authorization.as_str())];
    let body = json!({ "workflow_run_backend_id": job.run_id.to_string() }).to_string();
    for (vendor, status) in [("github", 200), ("gitea", 200), ("forgejo", 404), ("", 404)] {
        let path = format!("/twirp/{vendor}.actions.results.api.v1.ArtifactService/ListArtifacts");
        let answer = send(&farrier.tcp(), Method::POST, &path, &headers, body.clone()).await;
        assert_eq!(answer.status, status, "{vendor}");
    }
}

#[tokio::test]
async fn malformed_and_oversized_messages_are_refused() {
    let (farrier, job) = daemon_with_job().await;
    let deep = format!("{{\"a\":{}", "[".repeat(100_000));
    let large = format!("{{\"name\":\"{}\"}}", "x".repeat(2 << 20));
    for body in ["", "[]", "7", "null", "{", "{\"name\":7}", "{\"expires_at\":\"soon\"}", "\u{0}", &deep, &large] {
        let answer = farrier.call_raw(&job.token, "CreateArtifact", body).await;
        assert_twirp_error(&answer, 400, "malformed");
    }
    assert!(list(&farrier, &job).await.is_empty());
}

/// Uploads of version 3 have other limits, which count the files that clients announce over its protocol.
#[tokio::test]
async fn version_3_is_refused() {
    let (farrier, job) = daemon_with_job().await;
    for (version, status) in [(3, 400), (4, 200), (7, 200)] {
        let answer = farrier.call(&job, "CreateArtifact", json!({ "name": "x", "version": version })).await;
        assert_eq!(answer.status, status, "{version}: {answer:?}");
    }
}

#[tokio::test]
async fn names_with_path_or_control_characters_are_refused() {
    let (farrier, job) = daemon_with_job().await;
    let long = "n".repeat(256);
    let wide = "é".repeat(128);
    for name in [
        "", ".", "..", "a/b", "a\\b", "a:b", "a*b", "a?b", "a\"b", "a<b", "a>b", "a|b", "a\rb", "a\nb", "a\0b", &long,
        &wide,
    ] {
        let answer = farrier.call(&job, "CreateArtifact", json!({ "name": name })).await;
        assert_twirp_error(&answer, 400, "invalid_argument");
        for method in ["FinalizeArtifact", "GetSignedArtifactURL", "DeleteArtifact"] {
            assert_twirp_error(&farrier.call(&job, method, json!({ "name": name })).await, 404, "not_found");
        }
    }
    let longest = "n".repeat(255);
    for name in ["CON", "a'b;c%d&e+f", "日本 語", "...", " ", &longest] {
        farrier.upload(&job, name, name.as_bytes()).await;
        assert_eq!(super::read(&farrier, &job, name).await, name.as_bytes(), "{name}");
    }
}

#[tokio::test]
async fn invalid_media_types_are_refused() {
    let (farrier, job) = daemon_with_job().await;
    for (mime_type, status) in [("zip", 400), ("text/", 400), ("a/b\r\nX: y", 400), ("font/woff2", 200), ("", 200)] {
        let answer = farrier.call(&job, "CreateArtifact", json!({ "name": "x", "mime_type": mime_type })).await;
        assert_eq!(answer.status, status, "{mime_type}");
        if status == 400 {
            let msg = assert_twirp_error(&answer, 400, "invalid_argument");
            assert!(msg.contains("a valid mime_type is required for this artifact version"), "{msg}");
        }
    }
}
