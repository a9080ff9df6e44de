//! The log filter, changed over the API.

use http::Method;
use serde_json::{Value, json};

use crate::support::{Binary, TestDaemon, eventually, process::output, send};

const LOG: &str = "/api/farrier/v1/log";

async fn set(program: &Binary, filter: &str) -> Value {
    let body = json!({ "filter": filter }).to_string();
    let answer = send(&program.unix(), Method::PATCH, LOG, &[], body).await;
    assert_eq!(answer.status, 200, "{answer:?}");
    answer.json()
}

/// Repeats a request for `path` until the log contains it.
async fn wait_for_request_line(program: &Binary, path: &str) {
    eventually("requests are logged", async || {
        send(&program.unix(), Method::GET, path, &[], "").await;
        program.log().contains(path)
    })
    .await;
}

#[tokio::test]
async fn a_new_filter_applies_at_once_and_until_the_next_reload() {
    let mut program = Binary::new("[log]\nfilter = \"info,farrierd::access=off\"\n");
    program.start().await;
    send(&program.unix(), Method::GET, "/api/v1/version", &[], "").await;
    assert!(!program.log().contains("/api/v1/version"));
    let now = set(&program, "info").await;
    assert_eq!(now, json!({ "filter": "info", "configured": "info,farrierd::access=off" }));
    wait_for_request_line(&program, "/api/v1/version").await;
    assert!(program.log().contains("log filter changed"), "{}", program.log());

    let reloaded = output(program.reload_command()).await.expect("the program");
    assert!(reloaded.status.success(), "{reloaded:?}");
    let now = send(&program.unix(), Method::GET, LOG, &[], "").await.json();
    assert_eq!(now["filter"], "info,farrierd::access=off");
}

#[tokio::test]
async fn an_invalid_filter_is_refused_and_changes_nothing() {
    let farrier = TestDaemon::start().await;
    for wrong in ["farrierd=loud".to_owned(), "warning".to_owned(), "loud".to_owned(), "x".repeat(5_000)] {
        let refused = farrier.admin(Method::PATCH, LOG, json!({ "filter": wrong })).await;
        assert_eq!(refused.status, 422, "{refused:?}");
        let levels = "expected off, error, warn, info, debug or trace, or target=level";
        assert!(wrong.len() > 4_096 || refused.text().contains(levels), "{refused:?}");
    }
    assert_eq!(farrier.admin(Method::PATCH, LOG, json!({})).await.json()["filter"], "info");
    assert_eq!(farrier.admin(Method::GET, LOG, Value::Null).await.json()["filter"], "info");
}
