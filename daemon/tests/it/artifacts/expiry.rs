//! Expiry of artifacts and uploads, and removal of their bytes from the disk.

use farrierd::{clock::Clock, config::Config};
use http::Method;
use serde_json::{Value, json};

use super::{assert_twirp_error, assert_xml_error, block, bytes_on_disk, commit, finalize, list, put, read_address};
use crate::support::{Job, TestDaemon, eventually, send};

const NOW: i64 = 1_764_000_000_000;
const HOUR_MS: i64 = 3_600_000;
const DAY_SECS: i64 = 86_400;

async fn daemon_with_job(change: impl FnOnce(&mut Config)) -> (TestDaemon, Job) {
    let farrier = TestDaemon::with_clock(Clock::manual(NOW), change).await;
    farrier.repository("r").await;
    let job = farrier.begin("r", None).await;
    (farrier, job)
}

/// RFC 3339 form of the time `seconds` after now.
fn later(seconds: i64) -> String {
    jiff::Timestamp::from_second(NOW / 1_000 + seconds).expect("a time").to_string()
}

/// Uploads an artifact with the expiry time `expires_at`.
async fn upload_until(farrier: &TestDaemon, job: &Job, name: &str, expires_at: Value) -> i64 {
    let created = farrier.call(job, "CreateArtifact", json!({ "name": name, "expires_at": expires_at })).await;
    let address = farrier.path_of(created.json()["signed_upload_url"].as_str().expect("an address"));
    block(farrier, &address, "a", "content").await;
    assert_eq!(commit(farrier, &address, &["a"]).await.status, 201);
    let finalized = finalize(farrier, job, name, 7).await;
    finalized.json()["artifact_id"].as_str().expect("text").parse().expect("a number")
}

async fn fetch_artifact(farrier: &TestDaemon, id: i64) -> Value {
    let path = format!("/api/v1/repos/admin/r/actions/artifacts/{id}");
    send(&farrier.tcp(), Method::GET, &path, &[], "").await.json()
}

async fn disk_is_empty(farrier: &TestDaemon) {
    eventually("the bytes are removed from the disk", async || bytes_on_disk(farrier) == 0).await;
}

#[tokio::test]
async fn an_artifact_expires_at_the_requested_time_within_the_maximum_or_after_90_days() {
    let (farrier, job) = daemon_with_job(|config| config.artifacts.max_retention_days = 100).await;
    for (name, requested, expected) in [
        ("five", json!(later(5 * DAY_SECS)), 5),
        ("capped", json!(later(500 * DAY_SECS)), 100),
        ("absent", Value::Null, 90),
    ] {
        let id = upload_until(&farrier, &job, name, requested).await;
        assert_eq!(fetch_artifact(&farrier, id).await["expires_at"], later(expected * DAY_SECS), "{name}");
    }
    for past in [later(-1), later(0), "1970-01-01T00:00:00Z".to_owned()] {
        let refused = farrier.call(&job, "CreateArtifact", json!({ "name": "past", "expires_at": past })).await;
        assert_twirp_error(&refused, 400, "invalid_argument");
    }
}

#[tokio::test]
async fn an_expired_artifact_is_not_served_and_its_bytes_are_removed() {
    let (farrier, job) = daemon_with_job(|_| {}).await;
    let id = upload_until(&farrier, &job, "x", json!(later(3_600))).await;
    let address = read_address(&farrier, &job, "x").await;
    assert_eq!(fetch_artifact(&farrier, id).await["expired"], false);
    assert_eq!(bytes_on_disk(&farrier), 7);

    farrier.clock.advance_ms(HOUR_MS);
    assert!(list(&farrier, &job).await.is_empty());
    let url = farrier.call(&job, "GetSignedArtifactURL", json!({ "name": "x" })).await;
    assert_twirp_error(&url, 404, "not_found");
    assert_xml_error(&send(&farrier.tcp(), Method::GET, &address, &[], "").await, 404, "BlobNotFound");
    assert_eq!(fetch_artifact(&farrier, id).await["expired"], true);
    let zip = format!("/api/v1/repos/admin/r/actions/artifacts/{id}/zip");
    let zip = send(&farrier.tcp(), Method::GET, &zip, &[], "").await;
    assert_eq!(zip.status, 404);
    assert!(zip.json()["message"].as_str().expect("a text").contains("expired"), "{zip:?}");
    disk_is_empty(&farrier).await;
    assert_eq!(fetch_artifact(&farrier, id).await["expired"], true, "the row remains");
    // The name can be used again.
    farrier.upload(&job, "x", b"new").await;
}

#[tokio::test]
async fn a_deleted_artifact_is_not_served_and_its_bytes_are_removed() {
    let (farrier, job) = daemon_with_job(|config| config.storage.set_aside_days = 0).await;
    let id = farrier.upload(&job, "x", b"content").await;
    let address = read_address(&farrier, &job, "x").await;
    let deleted = farrier.call(&job, "DeleteArtifact", json!({ "name": "x" })).await;
    assert_eq!(deleted.json(), json!({ "ok": true, "artifact_id": id.to_string() }));
    assert!(list(&farrier, &job).await.is_empty());
    assert_xml_error(&send(&farrier.tcp(), Method::GET, &address, &[], "").await, 404, "BlobNotFound");
    assert_twirp_error(&farrier.call(&job, "DeleteArtifact", json!({ "name": "x" })).await, 404, "not_found");
    disk_is_empty(&farrier).await;
}

#[tokio::test]
async fn an_abandoned_upload_is_never_listed_and_is_removed_after_its_time() {
    let (farrier, job) = daemon_with_job(|_| {}).await;
    let address = farrier.create(&job, "x").await;
    block(&farrier, &address, "a", "content").await;
    assert_eq!(commit(&farrier, &address, &["a"]).await.status, 201);
    assert!(list(&farrier, &job).await.is_empty());
    assert_twirp_error(&farrier.call(&job, "GetSignedArtifactURL", json!({ "name": "x" })).await, 404, "not_found");
    farrier.clock.advance_ms(23 * HOUR_MS);
    assert_eq!(bytes_on_disk(&farrier), 7);
    farrier.clock.advance_ms(HOUR_MS);
    disk_is_empty(&farrier).await;
}

#[tokio::test]
async fn an_upload_abandoned_before_a_restart_is_removed_after_the_restart() {
    let (mut farrier, job) =
        daemon_with_job(|config| config.artifacts.abandoned = std::time::Duration::from_hours(1)).await;
    let address = farrier.create(&job, "x").await;
    block(&farrier, &address, "a", "content").await;
    farrier.stop().await;
    assert_eq!(bytes_on_disk(&farrier), 7);
    farrier.clock.advance_ms(HOUR_MS);
    farrier.restart().await;
    disk_is_empty(&farrier).await;
    assert_xml_error(&put(&farrier, &address, "&comp=block&blockid=b", "late").await, 404, "BlobNotFound");
}

#[tokio::test]
async fn blocks_of_a_replaced_upload_and_blocks_missing_from_the_list_are_removed() {
    let (farrier, job) = daemon_with_job(|_| {}).await;
    let older = farrier.create(&job, "x").await;
    block(&farrier, &older, "a", "dropped").await;
    let address = farrier.create(&job, "x").await;
    block(&farrier, &address, "a", "kept").await;
    block(&farrier, &address, "b", "unnamed").await;
    assert_eq!(commit(&farrier, &address, &["a"]).await.status, 201);
    assert_eq!(finalize(&farrier, &job, "x", 4).await.status, 200);
    eventually("only the committed block is left", async || bytes_on_disk(&farrier) == 4).await;
    assert_eq!(super::read(&farrier, &job, "x").await, "kept");
}
