//! The caches of workflow jobs: what their clients rely on.

mod client;
mod downloads;
mod full_disk;
mod life;
mod lookup;
mod other_clients;
mod program;
mod rest;
mod rpc;
mod runners;
mod v1;

use http::Method;
use serde_json::{Value, json};

use crate::support::{Answer, Job, TestDaemon, send};

/// The path of the service.
const SERVICE: &str = "/twirp/github.actions.results.api.v1.CacheService";
/// A version of entries, as clients compute it.
const VERSION: &str = "8c1f0b2e8c1f0b2e8c1f0b2e8c1f0b2e8c1f0b2e8c1f0b2e8c1f0b2e8c1f0b2e";

/// Sends a Twirp request of the cache service with the token `token`.
async fn call_as(farrier: &TestDaemon, token: &str, method: &str, message: &Value) -> Answer {
    let authorization = format!("Bearer {token}");
    let headers = [("content-type", "application/json"), ("authorization", authorization.as_str())];
    send(&farrier.tcp(), Method::POST, &format!("{SERVICE}/{method}"), &headers, message.to_string()).await
}

async fn call(farrier: &TestDaemon, job: &Job, method: &str, message: Value) -> Answer {
    call_as(farrier, &job.token, method, &message).await
}

/// Reserves a key.
async fn reserve(farrier: &TestDaemon, job: &Job, key: &str) -> Answer {
    call(farrier, job, "CreateCacheEntry", json!({ "key": key, "version": VERSION })).await
}

/// Reserves a key, which must succeed, and returns path and query of the upload URL.
async fn reserved(farrier: &TestDaemon, job: &Job, key: &str) -> String {
    let answer = reserve(farrier, job, key).await;
    assert_eq!((answer.status, answer.json()["ok"].as_bool()), (200, Some(true)), "{answer:?}");
    farrier.path_of(answer.json()["signed_upload_url"].as_str().expect("an address"))
}

/// Sends the content in one request, as clients do for small entries.
async fn put_blob(farrier: &TestDaemon, address: &str, content: impl Into<bytes::Bytes>) -> Answer {
    send(&farrier.tcp(), Method::PUT, address, &[("x-ms-blob-type", "BlockBlob")], content).await
}

async fn finalize(farrier: &TestDaemon, job: &Job, key: &str, size: usize) -> Answer {
    let message = json!({ "key": key, "size_bytes": size.to_string(), "version": VERSION });
    call(farrier, job, "FinalizeCacheEntryUpload", message).await
}

/// Saves `content` under a free key and returns the id of the entry.
pub(crate) async fn save(farrier: &TestDaemon, job: &Job, key: &str, content: &'static str) -> i64 {
    let address = reserved(farrier, job, key).await;
    let put = put_blob(farrier, &address, content).await;
    assert_eq!(put.status, 201, "{put:?}");
    let answer = finalize(farrier, job, key, content.len()).await;
    assert_eq!((answer.status, answer.json()["ok"].as_bool()), (200, Some(true)), "{answer:?}");
    answer.json()["entry_id"].as_str().expect("text").parse().expect("a number")
}

/// Looks for `key` and returns the key and the content that are found.
async fn restore(farrier: &TestDaemon, job: &Job, key: &str, restore_keys: &[&str]) -> Option<(String, String)> {
    let message = json!({ "key": key, "restore_keys": restore_keys, "version": VERSION });
    let answer = call(farrier, job, "GetCacheEntryDownloadURL", message).await;
    assert_eq!(answer.status, 200, "{answer:?}");
    let found = answer.json();
    if found["ok"] == false {
        assert_eq!(found, json!({ "ok": false }));
        return None;
    }
    let address = farrier.path_of(found["signed_download_url"].as_str().expect("an address"));
    let content = send(&farrier.tcp(), Method::GET, &address, &[], "").await;
    assert_eq!(content.status, 200, "{content:?}");
    Some((found["matched_key"].as_str().expect("a key").to_owned(), content.text()))
}

/// The content that is found under `key`.
pub(crate) async fn content(farrier: &TestDaemon, job: &Job, key: &str) -> Option<String> {
    restore(farrier, job, key, &[]).await.map(|(_, content)| content)
}

/// Checks a Twirp error. Go clients read a member `message` before the code, so there must be none.
fn assert_error(answer: &Answer, status: u16, code: &str) {
    let body = answer.json();
    assert_eq!((answer.status, body["code"].as_str()), (status, Some(code)), "{answer:?}");
    assert!(body["message"].is_null() && body["msg"].is_string(), "{body}");
}
