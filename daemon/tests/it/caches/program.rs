//! Caches with the `farrierd` program: memory, and secrets in the log.

use http::Method;
use serde_json::{Value, json};

use super::{VERSION, call, content, finalize, put_blob, reserved, save};
use crate::{
    artifacts::noise,
    support::{Answer, Job, TestDaemon, send},
};

const MIB: usize = 1 << 20;
const SECRET: &str = "the secret of all runners";

async fn program_with_job(toml: &str) -> (TestDaemon, Job) {
    let farrier = TestDaemon::program(toml).await;
    farrier.repository("r").await;
    let job = farrier.begin_on("r", "main").await;
    (farrier, job)
}

/// Sends a request with a bearer token.
async fn ask(farrier: &TestDaemon, token: &str, method: Method, path: &str, range: &str, body: &str) -> Answer {
    let authorization = format!("Bearer {token}");
    let headers =
        [("authorization", authorization.as_str()), ("content-type", "application/json"), ("content-range", range)];
    let headers = if range.is_empty() { &headers[..2] } else { &headers[..] };
    send(&farrier.tcp(), method, path, headers, body.to_owned()).await
}

#[tokio::test]
async fn an_entry_of_140_megabytes_in_chunks_needs_little_memory() {
    let (farrier, job) = program_with_job("").await;
    save(&farrier, &job, "warm", "content").await;
    let (before, _) = farrier.child().memory_kib();
    let bytes = noise(140 * MIB, 2);
    let reserved = json!({ "key": "large", "version": VERSION }).to_string();
    let reserved = ask(&farrier, &job.token, Method::POST, "/_apis/artifactcache/caches", "", &reserved).await;
    let path = format!("/_apis/artifactcache/caches/{}", reserved.json()["cacheId"]);
    let authorization = format!("Bearer {}", job.token);
    // The order in which four parallel requests may arrive.
    for chunk in [3, 1, 0, 4, 2] {
        let part = chunk * 32 * MIB..bytes.len().min((chunk + 1) * 32 * MIB);
        let range = format!("bytes {}-{}/*", part.start, part.end - 1);
        let headers = [("authorization", authorization.as_str()), ("content-range", range.as_str())];
        let stored = send(&farrier.tcp(), Method::PATCH, &path, &headers, bytes[part].to_vec()).await;
        assert_eq!(stored.status, 204, "{stored:?}");
    }
    let size = json!({ "size": bytes.len() }).to_string();
    assert_eq!(ask(&farrier, &job.token, Method::POST, &path, "", &size).await.status, 204);
    let found = call(&farrier, &job, "GetCacheEntryDownloadURL", json!({ "key": "large", "version": VERSION })).await;
    let address = farrier.path_of(found.json()["signed_download_url"].as_str().expect("an address"));
    assert!(send(&farrier.tcp(), Method::GET, &address, &[], "").await.body == bytes);
    let (after, _) = farrier.child().memory_kib();
    assert!(after - before < 64 << 10, "{before} KiB before, {after} KiB after");
}

#[tokio::test]
async fn the_log_contains_no_token_no_signature_and_no_secret() {
    let toml = format!("[ci]\ncache_secret = \"{SECRET}\"\n[log]\nfilter = \"trace\"\n");
    let (mut farrier, job) = program_with_job(&toml).await;
    let mut secrets = vec![job.token.clone(), SECRET.to_owned()];
    let signature = |address: &str| address.split("sig=").nth(1).expect("a signature").to_owned();

    let address = reserved(&farrier, &job, "a").await;
    secrets.push(signature(&address));
    assert_eq!(put_blob(&farrier, &address, "content").await.status, 201);
    assert_eq!(finalize(&farrier, &job, "a", 7).await.status, 200);
    assert_eq!(content(&farrier, &job, "a").await.as_deref(), Some("content"));
    let v1 = format!("/_apis/artifactcache/cache?keys=a&version={VERSION}");
    let found = ask(&farrier, &job.token, Method::GET, &v1, "", "").await;
    secrets.push(signature(found.json()["archiveLocation"].as_str().expect("an address")));

    let run = format!("/api/actions_pipeline/_apis/pipelines/workflows/{}", job.run_id);
    let id_token = ask(&farrier, &job.token, Method::GET, &format!("{run}/idtoken"), "", "").await;
    secrets.push(id_token.json()["value"].as_str().expect("a token").to_owned());
    let created =
        ask(&farrier, &job.token, Method::POST, &format!("{run}/artifacts"), "", r#"{"Name":"old"}"#).await.json();
    let upload = farrier.path_of(created["fileContainerResourceUrl"].as_str().expect("an address"));
    let upload = format!("{upload}?itemPath=old/x");
    assert_eq!(ask(&farrier, &job.token, Method::PUT, &upload, "bytes 0-0/1", "x").await.status, 200);

    let registration = json!({ "token": job.token }).to_string();
    let registered = ask(&farrier, SECRET, Method::POST, "/_internal/register", "", &registration).await;
    assert_eq!(registered.status, 200, "{registered:?}");
    for token in ["a wrong secret of a runner", &format!("{}x", job.token)] {
        secrets.push(token.to_owned());
        assert_eq!(ask(&farrier, token, Method::POST, "/_internal/register", "", &registration).await.status, 401);
        assert_eq!(ask(&farrier, token, Method::GET, &v1, "", "").await.status, 401);
    }
    let audit = farrier.admin(Method::GET, "/api/farrier/v1/audit", Value::Null).await.text();
    farrier.stop().await;
    let log = farrier.log();
    assert!(log.contains("/_internal/register"), "the requests are logged: {log}");
    for secret in secrets {
        assert!(!log.contains(&secret), "{secret} is in the log");
        assert!(!audit.contains(&secret), "{secret} is in the audit log");
    }
}
