//! Version, health, errors and conditional requests.

use http::Method;
use serde_json::json;

use crate::support::{TestDaemon, send};

#[tokio::test]
async fn version_and_health_are_served_on_both_listeners() {
    let farrier = TestDaemon::start().await;
    for server in [farrier.tcp(), farrier.unix()] {
        let version = send(&server, Method::GET, "/api/v1/version", &[], "").await;
        assert_eq!(version.status, 200);
        assert!(version.json()["version"].as_str().expect("text").starts_with("1.24.0+farrier-"));
        let health = send(&server, Method::GET, "/api/healthz", &[], "").await;
        assert_eq!((health.status, health.json()["status"].as_str()), (200, Some("pass")));
    }
}

#[tokio::test]
async fn unknown_routes_and_methods_are_refused_with_json() {
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

#[tokio::test]
async fn an_unchanged_resource_answers_304() {
    let farrier = TestDaemon::start().await;
    farrier.repository("demo").await;
    let path = "/api/v1/repos/admin/demo";
    let get = async |method: Method, path: &str, known: &str| {
        send(&farrier.tcp(), method, path, &[("if-none-match", known)], "").await
    };
    let first = get(Method::GET, path, "\"other\"").await;
    let tag = first.header("etag").to_owned();
    assert!(first.status == 200 && tag.starts_with("W/\""), "{first:?}");
    for known in [tag.as_str(), tag.trim_start_matches("W/"), "*"] {
        let again = get(Method::GET, path, known).await;
        assert_eq!((again.status, again.body.len(), again.header("etag")), (304, 0, tag.as_str()), "{known}");
        assert_eq!(again.header("cache-control"), first.header("cache-control"));
    }
    assert_eq!(get(Method::HEAD, path, &tag).await.status, 304);
    let changed = farrier.admin(Method::PATCH, path, json!({ "description": "new" })).await;
    assert!(changed.status == 200 && changed.header("etag") != tag, "{changed:?}");
    let account = farrier.admin(Method::PATCH, "/api/v1/admin/users/admin", json!({ "location": "here" })).await;
    assert_eq!((account.status, account.header("etag")), (200, ""), "the response differs from that of a GET");
    let after = get(Method::GET, path, &tag).await;
    assert!(after.status == 200 && after.header("etag") != tag, "{after:?}");
    let list = get(Method::GET, "/api/v1/repos/search", "*").await;
    assert_eq!(list.status, 304, "search returns an object");
    let list = get(Method::GET, "/api/v1/users/admin/repos", "*").await;
    assert_eq!((list.status, list.header("etag")), (200, ""));
    assert_eq!(get(Method::GET, "/api/v1/repos/admin/none", "*").await.status, 404);
}
