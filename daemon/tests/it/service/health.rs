//! The daemon's health in its parts, and the listener on which whoever watches it asks.

use farrierd::clock::Clock;
use http::Method;
use serde_json::{Value, json};

use super::figures::value;
use crate::support::{Over, Receiver, Say, TestDaemon, eventually, send};

const MINUTE_MS: i64 = 60_000;

async fn health(over: &Over) -> (u16, Value) {
    let answer = send(over, Method::GET, "/api/healthz", &[], "").await;
    (answer.status, answer.json())
}

async fn figure(farrier: &TestDaemon, name: &str) -> u64 {
    value(&send(&farrier.unix(), Method::GET, "/metrics", &[], "").await, name)
}

/// Makes a system hook that hears of repositories.
async fn hook(farrier: &TestDaemon, url: &str) {
    let body = json!({ "type": "farrier", "config": { "url": url, "content_type": "json", "is_system_webhook": true },
        "events": ["repository"], "active": true });
    let made = farrier.admin(Method::POST, "/api/v1/admin/hooks", body).await;
    assert_eq!(made.status, 201, "{made:?}");
}

#[tokio::test]
async fn every_part_has_its_word() {
    let farrier = TestDaemon::start().await;
    let pass = json!([{ "status": "pass" }]);
    let all = json!({ "status": "pass", "problems": [],
        "checks": { "store": pass, "disk": pass, "deliveries": pass } });
    assert_eq!(health(&farrier.tcp()).await, (200, all));

    let full = TestDaemon::with(|config| config.artifacts.reserve_bytes = u64::MAX).await;
    let (status, said) = health(&full.tcp()).await;
    let almost = "the disk is almost full: uploads are refused";
    assert_eq!((status, &said["status"], &said["problems"]), (503, &json!("fail"), &json!([almost])));
    assert_eq!(said["checks"]["disk"], json!([{ "status": "fail", "output": almost }]));
    assert_eq!(said["checks"]["store"], pass);
    let status = full.admin(Method::GET, "/api/farrier/v1/status", Value::Null).await.json();
    assert_eq!(
        (&status["status"], &status["problems"]),
        (&json!("fail"), &json!([almost])),
        "the status says the same"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn deliveries_that_stand_still_are_a_warning_and_a_slow_receiver_is_none() {
    let clock = Clock::manual(1_767_323_045_000);
    let farrier = TestDaemon::with_clock(clock.clone(), |config| {
        config.webhook.allowed_hosts = "loopback".into();
        config.webhook.timeout = std::time::Duration::from_secs(60);
    })
    .await;
    let receiver = Receiver::start().await;
    receiver.always(Say::Nothing);
    hook(&farrier, &receiver.url).await;
    farrier.repository("demo").await;
    receiver.wait(1).await;
    clock.advance_ms(4 * MINUTE_MS);
    assert_eq!(health(&farrier.tcp()).await.1["status"], "pass", "an attempt may take long");
    assert_eq!(figure(&farrier, "farrier_deliveries_pending").await, 1);
    assert_eq!(figure(&farrier, "farrier_deliveries_oldest_due_seconds").await, 240);
    clock.advance_ms(2 * MINUTE_MS);
    let (status, said) = health(&farrier.tcp()).await;
    assert_eq!((status, &said["status"]), (200, &json!("warn")), "requests are served: {said}");
    assert_eq!(said["checks"]["deliveries"][0]["status"], "warn");
    assert!(said["problems"][0].as_str().expect("text").contains("deliveries of webhooks are overdue"), "{said}");
}

#[tokio::test(flavor = "multi_thread")]
async fn figures_follow_deliveries() {
    let clock = Clock::manual(1_767_323_045_000);
    let farrier = TestDaemon::with_clock(clock.clone(), |config| {
        config.webhook.allowed_hosts = "loopback".into();
        config.webhook.retry_schedule_secs = vec![10];
    })
    .await;
    let receiver = Receiver::start().await;
    receiver.say([Say::Status(204), Say::Status(500), Say::Status(500)]);
    hook(&farrier, &receiver.url).await;
    let is = async |name: &str, wanted: u64| {
        eventually(&format!("{name} is {wanted}"), async || figure(&farrier, name).await == wanted).await;
    };
    farrier.repository("a").await;
    is(r#"farrier_deliveries_total{state="success"}"#, 1).await;
    is("farrier_deliveries_pending", 0).await;
    farrier.repository("b").await;
    is(r#"farrier_delivery_attempts_total{result="failure"}"#, 1).await;
    is("farrier_deliveries_pending", 1).await;
    is("farrier_deliveries_oldest_due_seconds", 0).await;
    clock.advance_ms(13_000);
    is(r#"farrier_deliveries_total{state="failed"}"#, 1).await;
    is("farrier_deliveries_pending", 0).await;
    is(r#"farrier_delivery_attempts_total{result="success"}"#, 1).await;
    is(r#"farrier_delivery_attempts_total{result="failure"}"#, 2).await;
    is("farrier_hooks_probed", 0).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn hooks_that_are_only_probed_and_that_are_switched_off_are_counted() {
    let clock = Clock::manual(1_767_323_045_000);
    let farrier = TestDaemon::with_clock(clock.clone(), |config| {
        config.webhook.allowed_hosts = "loopback".into();
        config.webhook.retry_schedule_secs = vec![1; 9];
    })
    .await;
    let receiver = Receiver::start().await;
    receiver.always(Say::Status(500));
    hook(&farrier, &receiver.url).await;
    farrier.repository("demo").await;
    for attempt in 1..10 {
        receiver.wait(attempt).await;
        let failures = r#"farrier_delivery_attempts_total{result="failure"}"#;
        eventually("the attempt is recorded", async || figure(&farrier, failures).await == attempt as u64).await;
        assert_eq!(figure(&farrier, "farrier_hooks_probed").await, 0);
        clock.advance_ms(2_000);
    }
    eventually("the hook is only probed", async || figure(&farrier, "farrier_hooks_probed").await == 1).await;
    receiver.say([Say::Status(410)]);
    clock.advance_ms(2 * MINUTE_MS);
    farrier.repository("another").await;
    eventually("it is switched off", async || figure(&farrier, "farrier_hooks_switched_off_total").await == 1).await;
    assert_eq!(figure(&farrier, "farrier_hooks_probed").await, 0);
}

#[tokio::test]
async fn a_listener_of_its_own_gives_figures_and_health_and_nothing_else_to_anybody() {
    let farrier = TestDaemon::with(|config| {
        config.server.max_connections = 1;
        config.metrics.listen = Some("127.0.0.1:0".parse().expect("an address"));
    })
    .await;
    let own = Over::Tcp(farrier.metrics.clone());
    // The one place of all others is taken.
    let _taken = crate::support::Raw::sending(&farrier.tcp(), "").await;
    let figures = send(&own, Method::GET, "/metrics", &[], "").await;
    assert_eq!((figures.status, value(&figures, "farrier_connections_max")), (200, 1));
    assert_eq!(health(&own).await.0, 200);
    for path in ["/api/v1/version", "/api/farrier/v1/status", "/", "/_blob/1/1/a", "/openapi.json"] {
        assert_eq!(send(&own, Method::GET, path, &[], "").await.status, 404, "{path}");
    }
    assert_eq!(send(&own, Method::POST, "/metrics", &[], "").await.status, 405);
}
