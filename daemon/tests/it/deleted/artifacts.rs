//! Restoring, purging and expiry of deleted artifacts.

use http::Method;
use serde_json::{Value, json};

use super::{DAY_MS, DELETED, ten_days};
use crate::support::{Answer, Job, TestDaemon, eventually, send};

async fn daemon_with_job() -> (TestDaemon, Job) {
    let farrier = ten_days().await;
    farrier.repository("r").await;
    let job = farrier.begin("r", None).await;
    (farrier, job)
}

async fn restore(farrier: &TestDaemon, id: i64) -> Answer {
    farrier.admin(Method::POST, &format!("{DELETED}/artifacts/{id}/restore"), Value::Null).await
}

fn artifact_path(id: i64) -> String {
    format!("/api/v1/repos/admin/r/actions/artifacts/{id}")
}

fn has_bytes(farrier: &TestDaemon, id: i64) -> bool {
    farrier.data_dir().join(format!("artifacts/{id}")).exists()
}

/// Path and query of the signed URL of an artifact.
async fn signed_address(farrier: &TestDaemon, id: i64) -> String {
    let answer = send(&farrier.tcp(), Method::GET, &format!("{}/zip", artifact_path(id)), &[], "").await;
    assert_eq!(answer.status, 302, "{answer:?}");
    farrier.path_of(answer.header("location"))
}

#[tokio::test]
async fn artifacts_deleted_in_any_way_can_be_restored() {
    let (mut farrier, job) = daemon_with_job().await;
    let mut ids = Vec::new();
    for name in ["rest", "twirp", "bulk"] {
        ids.push(farrier.upload(&job, name, name.as_bytes()).await);
    }
    let signed = signed_address(&farrier, ids[0]).await;
    assert_eq!(farrier.admin(Method::DELETE, &artifact_path(ids[0]), Value::Null).await.status, 204);
    assert_eq!(farrier.call(&job, "DeleteArtifact", json!({ "name": "twirp" })).await.status, 200);
    let body = json!({ "ids": [ids[2], ids[0]] });
    let bulk = farrier.admin(Method::POST, "/api/farrier/v1/artifacts/deletions", body).await;
    let results = bulk.json()["results"].clone();
    assert_eq!((&results[0]["deleted"], &results[1]["deleted"]), (&json!(true), &json!(false)), "{bulk:?}");

    assert_eq!(send(&farrier.tcp(), Method::GET, &signed, &[], "").await.status, 404);
    for id in &ids {
        assert_eq!(farrier.look(&artifact_path(*id)).await.status, 404);
        assert_eq!(farrier.look(&format!("/api/farrier/v1/artifacts/{id}")).await.status, 404);
        assert_eq!(farrier.admin(Method::DELETE, &artifact_path(*id), Value::Null).await.status, 404);
    }
    for list in ["/api/farrier/v1/artifacts", "/api/farrier/v1/artifacts?sort=expiry"] {
        assert_eq!(farrier.look(list).await.json(), json!([]), "{list}");
    }
    assert_eq!(farrier.look("/api/v1/repos/admin/r/actions/artifacts").await.json()["total_count"], 0);
    let kept = farrier.look("/api/farrier/v1/status").await.json()["kept"].clone();
    assert_eq!((&kept["artifacts"]["count"], &kept["deleted_artifacts"]["count"]), (&json!(0), &json!(3)));
    let listed = farrier.deleted("artifacts").await;
    let deleted_by: Vec<(&Value, &Value)> = listed.iter().map(|entry| (&entry["name"], &entry["deleted_by"])).collect();
    assert_eq!(
        deleted_by,
        [(&json!("bulk"), &json!("admin")), (&json!("twirp"), &json!("")), (&json!("rest"), &json!("admin"))]
    );

    farrier.restart().await;
    for (id, name) in ids.iter().zip(["rest", "twirp", "bulk"]) {
        let restored = restore(&farrier, *id).await;
        assert_eq!((restored.status, &restored.json()["state"]), (200, &json!("ready")), "{restored:?}");
        let read = send(&farrier.tcp(), Method::GET, &signed_address(&farrier, *id).await, &[], "").await;
        assert_eq!(read.body, name.as_bytes());
        assert_eq!(restore(&farrier, *id).await.status, 404, "it is no longer deleted");
    }
    assert!(farrier.deleted("artifacts").await.is_empty());
}

#[tokio::test]
async fn a_deleted_artifact_is_removed_after_the_retention_or_when_it_expires() {
    let (farrier, job) = daemon_with_job().await;
    let kept = farrier.upload(&job, "kept", b"kept").await;
    let short = farrier.upload(&job, "short", b"short").await;
    let edited =
        farrier.admin(Method::PATCH, &format!("/api/farrier/v1/artifacts/{short}"), json!({ "days": 3 })).await;
    assert_eq!(edited.status, 200, "{edited:?}");
    for id in [kept, short] {
        assert_eq!(farrier.admin(Method::DELETE, &artifact_path(id), Value::Null).await.status, 204);
    }
    let listed = farrier.deleted("artifacts").await;
    assert_eq!(listed[0]["restorable_until"], "2025-11-27T16:00:00Z", "it expires: {listed:?}");
    farrier.clock.advance_ms(3 * DAY_MS);
    eventually("the expired artifact is removed", async || !has_bytes(&farrier, short)).await;
    assert_eq!(restore(&farrier, short).await.status, 404);
    assert!(has_bytes(&farrier, kept));
    farrier.clock.advance_ms(7 * DAY_MS);
    eventually("the other artifact is removed", async || !has_bytes(&farrier, kept)).await;
    assert!(farrier.deleted("artifacts").await.is_empty());
}

#[tokio::test]
async fn a_conflict_on_restore_explains_how_to_resolve_it() {
    let (farrier, job) = daemon_with_job().await;
    let first = farrier.upload(&job, "log", b"first").await;
    assert_eq!(farrier.admin(Method::DELETE, &artifact_path(first), Value::Null).await.status, 204);
    let second = farrier.upload(&job, "log", b"second").await;
    let conflict = restore(&farrier, first).await;
    assert_eq!((conflict.status, conflict.text().contains("delete that one")), (409, true), "{conflict:?}");
    let response = farrier.admin(Method::DELETE, "/api/v1/repos/admin/r", Value::Null).await;
    assert_eq!(response.status, 204);
    let listed = farrier.deleted("artifacts").await;
    assert_eq!((&listed[0]["repository"], &listed[0]["repository_deleted"]), (&json!("admin/r"), &json!(true)));
    let refused = restore(&farrier, first).await;
    assert_eq!((refused.status, refused.text().contains("restore repository 1 first")), (409, true), "{refused:?}");
    let path = format!("{DELETED}/repositories/1/restore");
    assert_eq!(farrier.admin(Method::POST, &path, json!({})).await.status, 200);
    assert_eq!(farrier.admin(Method::DELETE, &artifact_path(second), Value::Null).await.status, 204);
    assert_eq!(restore(&farrier, first).await.status, 200);
}

#[tokio::test]
async fn a_purged_artifact_is_removed_at_once() {
    let (farrier, job) = daemon_with_job().await;
    let id = farrier.upload(&job, "log", b"log").await;
    let path = format!("{DELETED}/artifacts/{id}");
    assert_eq!(farrier.admin(Method::DELETE, &path, Value::Null).await.status, 404, "it is not deleted");
    assert_eq!(farrier.admin(Method::DELETE, &artifact_path(id), Value::Null).await.status, 204);
    assert_eq!(farrier.look(&path).await.json()["name"], "log");
    assert_eq!(farrier.admin(Method::DELETE, &path, Value::Null).await.status, 204);
    eventually("the artifact is removed", async || !has_bytes(&farrier, id)).await;
    assert_eq!(restore(&farrier, id).await.status, 404);
}

#[tokio::test]
async fn signed_urls_of_a_deleted_repository_are_refused() {
    let (farrier, job) = daemon_with_job().await;
    let id = farrier.upload(&job, "log", b"log").await;
    let read = signed_address(&farrier, id).await;
    let write = farrier.create(&job, "open").await;
    assert_eq!(farrier.admin(Method::DELETE, "/api/v1/repos/admin/r", Value::Null).await.status, 204);
    assert_eq!(send(&farrier.tcp(), Method::GET, &read, &[], "").await.status, 404);
    let put = send(&farrier.tcp(), Method::PUT, &format!("{write}&comp=block&blockid=YQ=="), &[], "block").await;
    assert_eq!(put.status, 404, "{put:?}");
}
