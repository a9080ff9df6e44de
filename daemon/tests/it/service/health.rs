//! The health checks, and the metrics listener that serves health and metrics without authentication.

use farrierd::clock::Clock;
use http::Method;
use serde_json::{Value, json};

use super::metrics::value;
use crate::support::{Receiver, Reply, ServerAddress, TestDaemon, eventually, send};

const MINUTE_MS: i64 = 60_000;

async fn health(server: &ServerAddress) -> (u16, Value) {
    let answer = send(server, Method::GET, "/api/healthz", &[], "").await;
    (answer.status, answer.json())
}

async fn metric(farrier: &TestDaemon, name: &str) -> u64 {
    value(&send(&farrier.unix(), Method::GET, "/metrics", &[], "").await, name)
}

/// Creates a system hook for repository events.
async fn hook(farrier: &TestDaemon, url: &str) {
    let body = json!({ "type": "farrier", "config": { "url": url, "content_type": "json", "is_system_webhook": true },
        "events": ["repository"], "active": true });
    let created = farrier.admin(Method::POST, "/api/v1/admin/hooks", body).await;
    assert_eq!(created.status, 201, "{created:?}");
}

#[tokio::test]
async fn each_check_reports_its_status() {
    let farrier = TestDaemon::start().await;
    let pass = json!([{ "status": "pass" }]);
    let all = json!({ "status": "pass", "problems": [],
        "checks": { "store": pass, "disk": pass, "deliveries": pass, "audit": pass, "ssh": pass } });
    assert_eq!(health(&farrier.tcp()).await, (200, all));

    let clock = Clock::manual(1_767_323_045_000);
    let full = TestDaemon::with_clock(clock.clone(), |config| config.artifacts.reserve_bytes = u64::MAX).await;
    let (status, body) = health(&full.tcp()).await;
    let disk_problem = "the disk is almost full: uploads are refused";
    assert_eq!((status, &body["status"], &body["problems"]), (503, &json!("fail"), &json!([disk_problem])));
    let disk = json!([{ "status": "fail", "output": disk_problem, "since": "2026-01-02T03:04:05Z" }]);
    assert_eq!(body["checks"]["disk"], disk);
    assert_eq!(body["checks"]["store"], pass);
    clock.advance_ms(MINUTE_MS);
    assert_eq!(health(&full.tcp()).await.1["checks"]["disk"], disk, "the time of the first check that found it");
    let status = full.admin(Method::GET, "/api/farrier/v1/status", Value::Null).await.json();
    assert_eq!(
        (&status["status"], &status["problems"]),
        (&json!("fail"), &json!([disk_problem])),
        "the status route reports the same problem"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn overdue_deliveries_are_a_warning_and_a_slow_receiver_is_not() {
    let clock = Clock::manual(1_767_323_045_000);
    let farrier = TestDaemon::with_clock(clock.clone(), |config| {
        config.webhook.allowed_hosts = "loopback".into();
        config.webhook.timeout = std::time::Duration::from_secs(60);
    })
    .await;
    let receiver = Receiver::start().await;
    receiver.always_reply_with(Reply::Never);
    hook(&farrier, &receiver.url).await;
    farrier.repository("demo").await;
    receiver.wait(1).await;
    clock.advance_ms(4 * MINUTE_MS);
    assert_eq!(health(&farrier.tcp()).await.1["status"], "pass", "a long attempt is not a problem");
    assert_eq!(metric(&farrier, "farrier_deliveries_pending").await, 1);
    assert_eq!(metric(&farrier, "farrier_deliveries_oldest_due_seconds").await, 240);
    clock.advance_ms(2 * MINUTE_MS);
    let (status, body) = health(&farrier.tcp()).await;
    assert_eq!((status, &body["status"]), (200, &json!("warn")), "requests are served: {body}");
    assert_eq!(body["checks"]["deliveries"][0]["status"], "warn");
    assert!(body["problems"][0].as_str().expect("text").contains("deliveries of webhooks are overdue"), "{body}");
}

#[tokio::test(flavor = "multi_thread")]
async fn metrics_count_deliveries_and_attempts() {
    let clock = Clock::manual(1_767_323_045_000);
    let farrier = TestDaemon::with_clock(clock.clone(), |config| {
        config.webhook.allowed_hosts = "loopback".into();
        config.webhook.retry_schedule_secs = vec![10];
    })
    .await;
    let receiver = Receiver::start().await;
    receiver.reply_with([Reply::Status(204), Reply::Status(500), Reply::Status(500)]);
    hook(&farrier, &receiver.url).await;
    let wait_for = async |name: &str, expected: u64| {
        eventually(&format!("{name} is {expected}"), async || metric(&farrier, name).await == expected).await;
    };
    farrier.repository("a").await;
    wait_for(r#"farrier_deliveries_total{state="success"}"#, 1).await;
    wait_for("farrier_deliveries_pending", 0).await;
    farrier.repository("b").await;
    wait_for(r#"farrier_delivery_attempts_total{result="failure"}"#, 1).await;
    wait_for("farrier_deliveries_pending", 1).await;
    wait_for("farrier_deliveries_oldest_due_seconds", 0).await;
    clock.advance_ms(13_000);
    wait_for(r#"farrier_deliveries_total{state="failed"}"#, 1).await;
    wait_for("farrier_deliveries_pending", 0).await;
    wait_for(r#"farrier_delivery_attempts_total{result="success"}"#, 1).await;
    wait_for(r#"farrier_delivery_attempts_total{result="failure"}"#, 2).await;
    wait_for("farrier_hooks_probed", 0).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn probed_and_disabled_hooks_are_counted() {
    let clock = Clock::manual(1_767_323_045_000);
    let farrier = TestDaemon::with_clock(clock.clone(), |config| {
        config.webhook.allowed_hosts = "loopback".into();
        config.webhook.retry_schedule_secs = vec![1; 9];
    })
    .await;
    let receiver = Receiver::start().await;
    receiver.always_reply_with(Reply::Status(500));
    hook(&farrier, &receiver.url).await;
    farrier.repository("demo").await;
    for attempt in 1..10 {
        receiver.wait(attempt).await;
        let failures = r#"farrier_delivery_attempts_total{result="failure"}"#;
        eventually("the attempt is recorded", async || metric(&farrier, failures).await == attempt as u64).await;
        assert_eq!(metric(&farrier, "farrier_hooks_probed").await, 0);
        clock.advance_ms(2_000);
    }
    eventually("the hook is probed", async || metric(&farrier, "farrier_hooks_probed").await == 1).await;
    receiver.reply_with([Reply::Status(410)]);
    clock.advance_ms(2 * MINUTE_MS);
    farrier.repository("another").await;
    eventually("the hook is disabled", async || metric(&farrier, "farrier_hooks_switched_off_total").await == 1).await;
    assert_eq!(metric(&farrier, "farrier_hooks_probed").await, 0);
}

#[tokio::test]
async fn the_metrics_listener_serves_only_metrics_and_health_without_authentication() {
    let farrier = TestDaemon::with(|config| {
        config.server.max_connections = 1;
        config.metrics.listen = Some("127.0.0.1:0".parse().expect("an address"));
    })
    .await;
    let own = ServerAddress::Tcp(farrier.metrics.clone());
    // Uses the only connection of the other listeners.
    let _taken = crate::support::RawConnection::sending(&farrier.tcp(), "").await;
    let metrics = send(&own, Method::GET, "/metrics", &[], "").await;
    assert_eq!((metrics.status, value(&metrics, "farrier_connections_max")), (200, 1));
    assert_eq!(health(&own).await.0, 200);
    for path in ["/api/v1/version", "/api/farrier/v1/status", "/", "/_blob/1/1/a", "/openapi.json"] {
        assert_eq!(send(&own, Method::GET, path, &[], "").await.status, 404, "{path}");
    }
    assert_eq!(send(&own, Method::POST, "/metrics", &[], "").await.status, 405);
}
