//! The service itself: version, health, errors, limits.

use http::Method;

use crate::support::{TestDaemon, send};

#[tokio::test]
async fn version_and_health_answer_on_both_listeners() {
    let farrier = TestDaemon::start().await;
    for over in [farrier.tcp(), farrier.unix()] {
        let version = send(&over, Method::GET, "/api/v1/version", &[], "").await;
        assert_eq!(version.status, 200);
        assert!(version.json()["version"].as_str().expect("text").starts_with("1.24.0+farrier-"));
        let health = send(&over, Method::GET, "/api/healthz", &[], "").await;
        assert_eq!((health.status, health.json()["status"].as_str()), (200, Some("pass")));
    }
}

#[tokio::test]
async fn unknown_routes_and_methods_answer_json() {
    let farrier = TestDaemon::start().await;
    let missing = send(&farrier.tcp(), Method::GET, "/api/v1/nothing", &[], "").await;
    assert_eq!((missing.status, missing.json()["message"].as_str()), (404, Some("not found")));
    assert_eq!(missing.json()["url"], format!("{}/api/swagger", farrier.url));
    assert_eq!(missing.json()["request_id"].as_str(), Some(missing.header("x-request-id")));
    let method = send(&farrier.tcp(), Method::POST, "/api/v1/version", &[], "").await;
    assert_eq!((method.status, method.header("allow")), (405, "GET,HEAD"));
    assert!(method.json()["message"].is_string());
    let slashes = send(&farrier.tcp(), Method::GET, "//api//v1/version/", &[], "").await;
    assert_eq!(slashes.status, 200);
}
