//! Prometheus metrics.

use std::collections::BTreeSet;

use http::Method;
use serde_json::{Value, json};

use crate::support::{Answer, TestDaemon, eventually, send};

/// Metrics that only a daemon has that shares its store and has a bucket. `git::removed_copies` reads them.
const WITH_SEVERAL_DAEMONS: [&str; 3] =
    ["farrier_git_copies_bytes", "farrier_git_copies_max_bytes", "farrier_git_copies_removed_total"];

/// The value of the metric `name`, which includes its labels.
pub(super) fn value(metrics: &Answer, name: &str) -> u64 {
    let text = metrics.text();
    let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
    line.unwrap_or_else(|| panic!("no {name} in {text}")).parse().expect("a number")
}

#[tokio::test]
async fn metrics_count_requests_commits_and_processes() {
    let farrier = TestDaemon::start().await;
    let read = async || {
        let metrics = send(&farrier.unix(), Method::GET, "/metrics", &[], "").await;
        assert_eq!((metrics.status, metrics.header("content-type")), (200, "text/plain; version=0.0.4; charset=utf-8"));
        metrics
    };
    let before = read().await;
    farrier.repository("tool").await;
    send(&farrier.tcp(), Method::GET, "/api/v1/nothing", &[], "").await;
    send(&farrier.tcp(), Method::GET, "/admin/none.git/info/refs?service=git-upload-pack", &[], "").await;
    let after = read().await;
    let increase = |name: &str| value(&after, name) - value(&before, name);
    assert_eq!(increase(r#"farrier_http_requests_total{class="api",status="2xx"}"#), 1);
    assert_eq!(increase(r#"farrier_http_requests_total{class="api",status="4xx"}"#), 1);
    assert_eq!(increase(r#"farrier_http_requests_total{class="git",status="4xx"}"#), 1);
    assert_eq!(
        increase(r#"farrier_http_requests_total{class="other",status="2xx"}"#),
        1,
        "the first metrics request itself"
    );
    assert!(increase("farrier_store_commits_total") >= 1);
    assert!(increase("farrier_git_processes_started_total") >= 1, "git creates the repository");
    for name in ["farrier_connections_open", "farrier_disk_free_bytes", "process_resident_memory_bytes"] {
        assert!(value(&after, name) > 0, "{name}");
    }
}

#[tokio::test]
async fn metrics_require_an_administrator_and_are_all_documented() {
    let farrier = TestDaemon::start().await;
    assert_eq!(send(&farrier.tcp(), Method::GET, "/metrics", &[], "").await.status, 401);
    let token = format!("token {}", farrier.token("admin", &["read:admin"]).await);
    let metrics = send(&farrier.tcp(), Method::GET, "/metrics", &[("authorization", &token)], "").await;
    assert_eq!(metrics.status, 200);
    let manual = include_str!("../../../../docs/operations.md");
    let rows = manual.lines().skip_while(|line| !line.starts_with("| figure |")).skip(2);
    let rows = rows.take_while(|line| line.starts_with('|')).map(|line| line.split(" | ").next().expect("a cell"));
    // Related metrics share a row.
    let explained: BTreeSet<&str> = rows.flat_map(|cell| cell.split('`').skip(1).step_by(2)).collect();
    let text = metrics.text();
    let given = text.lines().filter_map(|line| line.strip_prefix("# TYPE ")?.split(' ').next());
    let given = given.chain(WITH_SEVERAL_DAEMONS).collect();
    assert_eq!(explained, given, "documented metrics and existing metrics");
}

#[tokio::test]
async fn the_status_shows_the_amount_of_stored_data() {
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
            "fan_out_events": 0,
            "last_backup_at": "",
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

#[tokio::test]
async fn the_status_shows_the_storage_of_owners_that_was_added_up_in_the_background() {
    let clock = farrierd::clock::Clock::manual(1_767_323_045_000);
    let farrier = TestDaemon::with_clock(clock.clone(), |_| {}).await;
    let status = async || farrier.admin(Method::GET, "/api/farrier/v1/status", Value::Null).await.json();
    farrier.repository("tool").await;
    let job = farrier.begin("tool", None).await;
    farrier.upload(&job, "a", &[7; 4_000]).await;
    assert_eq!(status().await["storage"], Value::Null, "nothing is added up in a request");
    clock.advance_ms(60_000);
    eventually("the sums are complete", async || !status().await["storage"].is_null()).await;
    let storage = status().await["storage"].clone();
    let owner = &storage["owners"][0];
    assert_eq!((&owner["name"], &owner["repositories"]), (&json!("admin"), &json!(1)), "{storage}");
    assert_eq!(owner["sizes"]["artifact_bytes"], 4_000, "{storage}");
    assert_eq!(storage["other_owners"], 0);

    // Others, and tokens that may not read the administration, do not get it.
    farrier.user("octo").await;
    for (user, scopes, may_read) in [
        ("octo", &["all"][..], false),
        ("admin", &["write:repository"][..], false),
        ("admin", &["read:admin"][..], true),
    ] {
        let token = format!("token {}", farrier.token(user, scopes).await);
        let shown = send(&farrier.tcp(), Method::GET, "/api/farrier/v1/status", &[("authorization", &token)], "").await;
        assert_eq!((shown.status, shown.json()["storage"].is_null()), (200, !may_read), "{user} {scopes:?}");
    }
}

#[tokio::test]
async fn the_status_shows_a_nearly_full_quota_after_a_restart_without_an_upload() {
    let clock = farrierd::clock::Clock::manual(1_767_323_045_000);
    let mut farrier = TestDaemon::with_clock(clock.clone(), |config| config.artifacts.quota_bytes = 4_096).await;
    farrier.repository("tool").await;
    let job = farrier.begin("tool", None).await;
    let artifact = farrier.upload(&job, "a", &[7; 4_000]).await;
    farrier.restart().await;
    let quotas = async |farrier: &TestDaemon| {
        let status = farrier.admin(Method::GET, "/api/farrier/v1/status", Value::Null).await.json();
        status["quotas"].as_array().cloned().expect("a list")
    };
    assert!(quotas(&farrier).await.is_empty(), "nothing is known before the rows are read");
    clock.advance_ms(60_000);
    eventually("the quota is shown", async || !quotas(&farrier).await.is_empty()).await;
    let found = quotas(&farrier).await;
    assert_eq!((&found[0]["kind"], &found[0]["holder"]), (&json!("artifacts"), &json!("admin/tool")), "{found:?}");
    assert_eq!((&found[0]["used_bytes"], &found[0]["max_bytes"]), (&json!(4_000), &json!(4_096)), "{found:?}");

    // Deleting frees the quota.
    let path = format!("/api/v1/repos/admin/tool/actions/artifacts/{artifact}");
    assert_eq!(farrier.admin(Method::DELETE, &path, Value::Null).await.status, 204);
    clock.advance_ms(600_000);
    eventually("the quota has room", async || quotas(&farrier).await.is_empty()).await;
}
