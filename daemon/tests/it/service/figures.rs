//! What Prometheus gets to read.

use std::collections::BTreeSet;

use http::Method;
use serde_json::{Value, json};

use crate::support::{Answer, TestDaemon, send};

/// The value behind `name`, labels and all.
pub(super) fn value(figures: &Answer, name: &str) -> u64 {
    let text = figures.text();
    let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
    line.unwrap_or_else(|| panic!("no {name} in {text}")).parse().expect("a number")
}

#[tokio::test]
async fn figures_follow_what_happens() {
    let farrier = TestDaemon::start().await;
    let read = async || {
        let figures = send(&farrier.unix(), Method::GET, "/metrics", &[], "").await;
        assert_eq!((figures.status, figures.header("content-type")), (200, "text/plain; version=0.0.4; charset=utf-8"));
        figures
    };
    let before = read().await;
    farrier.repository("tool").await;
    send(&farrier.tcp(), Method::GET, "/api/v1/nothing", &[], "").await;
    send(&farrier.tcp(), Method::GET, "/admin/none.git/info/refs?service=git-upload-pack", &[], "").await;
    let after = read().await;
    let grown = |name: &str| value(&after, name) - value(&before, name);
    assert_eq!(grown(r#"farrier_http_requests_total{class="api",status="2xx"}"#), 1);
    assert_eq!(grown(r#"farrier_http_requests_total{class="api",status="4xx"}"#), 1);
    assert_eq!(grown(r#"farrier_http_requests_total{class="git",status="4xx"}"#), 1);
    assert_eq!(grown(r#"farrier_http_requests_total{class="other",status="2xx"}"#), 1, "the first look itself");
    assert!(grown("farrier_store_commits_total") >= 1);
    assert!(grown("farrier_git_processes_started_total") >= 1, "a repository is made by git");
    for name in ["farrier_connections_open", "farrier_disk_free_bytes", "process_resident_memory_bytes"] {
        assert!(value(&after, name) > 0, "{name}");
    }
}

#[tokio::test]
async fn figures_are_for_administrators_and_every_one_is_explained() {
    let farrier = TestDaemon::start().await;
    assert_eq!(send(&farrier.tcp(), Method::GET, "/metrics", &[], "").await.status, 401);
    let token = format!("token {}", farrier.token("admin", &["read:admin"]).await);
    let figures = send(&farrier.tcp(), Method::GET, "/metrics", &[("authorization", &token)], "").await;
    assert_eq!(figures.status, 200);
    let manual = include_str!("../../../../docs/operations.md");
    let rows = manual.lines().skip_while(|line| !line.starts_with("| figure |")).skip(2);
    let rows = rows.take_while(|line| line.starts_with('|')).map(|line| line.split(" | ").next().expect("a cell"));
    // Those that belong together share a row.
    let explained: BTreeSet<&str> = rows.flat_map(|cell| cell.split('`').skip(1).step_by(2)).collect();
    let text = figures.text();
    let given = text.lines().filter_map(|line| line.strip_prefix("# TYPE ")?.split(' ').next()).collect();
    assert_eq!(explained, given, "docs/operations.md and what there is");
}

#[tokio::test]
async fn administrators_see_how_much_is_kept() {
    let farrier = TestDaemon::start().await;
    let kept = async || farrier.admin(Method::GET, "/api/farrier/v1/status", Value::Null).await.json()["kept"].clone();
    let amount = |count: u32, size_bytes: u32| json!({ "count": count, "size_bytes": size_bytes });
    let nothing = amount(0, 0);
    let expected = |repositories: Value, artifacts: Value, deleted_artifacts: Value| {
        json!({
            "repositories": repositories,
            "artifacts": artifacts,
            "deleted_repositories": nothing,
            "deleted_artifacts": deleted_artifacts,
            "set_aside": nothing,
        })
    };
    assert_eq!(kept().await, expected(amount(0, 0), amount(0, 0), amount(0, 0)));
    farrier.repository("tool").await;
    let job = farrier.begin("tool", None).await;
    let artifact = farrier.upload(&job, "a", &[7; 4_000]).await;
    farrier.create(&job, "unfinished").await;
    assert_eq!(kept().await, expected(amount(1, 0), amount(1, 4_000), amount(0, 0)));
    let path = format!("/api/v1/repos/admin/tool/actions/artifacts/{artifact}");
    assert_eq!(farrier.admin(Method::DELETE, &path, Value::Null).await.status, 204);
    assert_eq!(kept().await, expected(amount(1, 0), amount(0, 0), amount(1, 4_000)));

    farrier.user("octo").await;
    let token = format!("token {}", farrier.token("octo", &["all"]).await);
    let status = send(&farrier.tcp(), Method::GET, "/api/farrier/v1/status", &[("authorization", &token)], "").await;
    assert_eq!((status.status, &status.json()["kept"]), (200, &Value::Null));
}
