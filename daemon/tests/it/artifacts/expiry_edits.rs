//! Edits of an artifact's expiry time.

use farrierd::clock::Clock;
use http::Method;
use serde_json::{Value, json};

use super::{bytes_on_disk, read, read_address};
use crate::support::{Answer, Job, TestDaemon, eventually, send};

const NOW: i64 = 1_764_000_000_000;
const DAY_MS: i64 = 86_400_000;

async fn daemon_with_artifact() -> (TestDaemon, Job, i64) {
    let farrier = TestDaemon::with_clock(Clock::manual(NOW), |config| config.artifacts.max_retention_days = 400).await;
    farrier.repository("r").await;
    let job = farrier.begin("r", None).await;
    let id = farrier.upload(&job, "x", b"content").await;
    (farrier, job, id)
}

async fn edit(farrier: &TestDaemon, id: i64, body: Value) -> Answer {
    farrier.admin(Method::PATCH, &format!("/api/farrier/v1/artifacts/{id}"), body).await
}

async fn expired(farrier: &TestDaemon, id: i64) -> bool {
    let path = format!("/api/v1/repos/admin/r/actions/artifacts/{id}");
    send(&farrier.tcp(), Method::GET, &path, &[], "").await.json()["expired"].as_bool().expect("a boolean")
}

#[tokio::test]
async fn an_artifact_is_readable_until_its_new_earlier_expiry_and_then_removed() {
    let (farrier, job, id) = daemon_with_artifact().await;
    let address = read_address(&farrier, &job, "x").await;
    let kept = edit(&farrier, id, json!({ "expires_at": "2025-11-24T17:00:00Z" })).await;
    assert_eq!((kept.status, &kept.json()["expires_at"]), (200, &json!("2025-11-24T17:00:00Z")));
    // The signed URL from before the edit works as well.
    let bytes = send(&farrier.tcp(), Method::GET, &address, &[], "").await;
    assert_eq!((bytes.status, bytes.text()), (200, "content".into()));
    assert_eq!(read(&farrier, &job, "x").await, "content");
    farrier.clock.advance_ms(DAY_MS / 24);
    assert!(expired(&farrier, id).await);
    eventually("the bytes are removed from the disk", async || bytes_on_disk(&farrier) == 0).await;
    let again = edit(&farrier, id, json!({ "days": 5 })).await;
    assert_eq!((again.status, &again.json()["message"]), (409, &json!("the artifact has expired")));
}

#[tokio::test]
async fn a_later_expiry_replaces_the_first_one_and_survives_a_restart() {
    let (mut farrier, job, id) = daemon_with_artifact().await;
    assert_eq!(edit(&farrier, id, json!({ "days": 1 })).await.status, 200);
    let kept = edit(&farrier, id, json!({ "days": 3 })).await;
    assert_eq!(kept.json()["expires_at"], "2025-11-27T16:00:00Z");
    let other = farrier.upload(&job, "y", b"y").await;
    farrier.clock.advance_ms(2 * DAY_MS);
    // Deleting another artifact makes the sweep run.
    farrier.admin(Method::DELETE, &format!("/api/v1/repos/admin/r/actions/artifacts/{other}"), Value::Null).await;
    farrier.admin(Method::DELETE, &format!("/api/farrier/v1/deleted/artifacts/{other}"), Value::Null).await;
    eventually("the sweep has run", async || bytes_on_disk(&farrier) == 7).await;
    assert!(!expired(&farrier, id).await, "the first expiry time no longer applies");
    farrier.stop().await;
    farrier.clock.advance_ms(DAY_MS);
    farrier.restart().await;
    assert!(expired(&farrier, id).await);
    eventually("the bytes are removed from the disk", async || bytes_on_disk(&farrier) == 0).await;
}

#[tokio::test]
async fn invalid_expiry_times_are_refused_and_change_nothing() {
    let (farrier, _, id) = daemon_with_artifact().await;
    for (body, field, text) in [
        (json!({}), "expires_at", "[expires_at]: this or days must be given"),
        (json!({ "expires_at": null }), "expires_at", "[expires_at]: this or days must be given"),
        (json!({ "expires_at": "2025-12-01T00:00:00Z", "days": 2 }), "days", "[days]: only without expires_at"),
        (json!({ "expires_at": "2025-11-24T16:00:00Z" }), "expires_at", "[ExpiresAt]: must be in the future"),
        (json!({ "expires_at": "1970-01-01T00:00:00Z" }), "expires_at", "[ExpiresAt]: must be in the future"),
        (
            json!({ "expires_at": "9000-12-31T00:00:00Z" }),
            "expires_at",
            "[ExpiresAt]: must be at most 400 days from now",
        ),
        (json!({ "expires_at": "soon" }), "expires_at", "[ExpiresAt]: is not a time in RFC 3339 format"),
        (json!({ "days": 0 }), "days", "[Days]: must be in the future"),
        (json!({ "days": -3 }), "days", "[Days]: must be in the future"),
        (json!({ "days": 401 }), "days", "[Days]: must be at most 400 days from now"),
        (json!({ "days": i64::MAX }), "days", "[Days]: must be at most 400 days from now"),
    ] {
        let refused = edit(&farrier, id, body.clone()).await;
        let error = refused.json();
        assert_eq!((refused.status, &error["field"], &error["message"]), (422, &json!(field), &json!(text)), "{body}");
    }
    let path = format!("/api/farrier/v1/artifacts/{id}");
    assert_eq!(farrier.admin(Method::GET, &path, Value::Null).await.json()["expires_at"], "2026-02-22T16:00:00Z");
}

#[tokio::test]
async fn changing_the_expiry_requires_write_access() {
    let (farrier, _, id) = daemon_with_artifact().await;
    farrier.user("unrelated").await;
    let unrelated = farrier.token("unrelated", &["write:repository"]).await;
    let reader = farrier.token("admin", &["read:repository"]).await;
    let path = format!("/api/farrier/v1/artifacts/{id}");
    for (token, status) in [("", 401), (unrelated.as_str(), 403), (&reader, 403)] {
        let authorization = format!("token {token}");
        let headers = [("authorization", authorization.as_str())];
        let headers = if token.is_empty() { &headers[1..] } else { &headers[..] };
        let refused = send(&farrier.tcp(), Method::PATCH, &path, headers, json!({ "days": 2 }).to_string()).await;
        assert_eq!(refused.status, status, "{token}");
    }
    assert_eq!(edit(&farrier, 999, json!({ "days": 2 })).await.status, 404);
}
