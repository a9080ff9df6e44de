//! Failing receivers: retries, their times, and when they end.

use bytes::Bytes;
use farrierd::clock::Clock;

use super::*;
use crate::support::{ReceivedRequest, Receiver, Reply};

const NOW: i64 = 1_767_323_045_000;

#[tokio::test(flavor = "multi_thread")]
async fn two_failures_and_a_success_are_three_attempts_of_one_delivery() {
    let clock = Clock::manual(NOW);
    let farrier = farrier_at(clock.clone(), |config| config.webhook.retry_schedule_secs = vec![10, 100]).await;
    let receiver = Receiver::start().await;
    receiver.reply_with([Reply::Status(500), Reply::Status(500)]);
    let id = hook(&farrier, &receiver.url, &["repository"], json!({})).await;
    farrier.repository("demo").await;
    for (attempt, pause_ms) in [(1, 10_000), (2, 100_000)] {
        let detail = newest(&farrier, id, attempted(attempt)).await;
        assert_eq!((&detail["state"], &detail["status_code"]), (&json!("pending"), &json!(500)), "{detail}");
        clock.advance_ms(pause_ms * 8 / 10 - 1);
        give_dispatcher_time(&farrier).await;
        assert_eq!(receiver.requests().len(), usize::try_from(attempt).expect("small"), "no attempt before its time");
        clock.advance_ms(pause_ms * 4 / 10 + 1);
        receiver.wait(usize::try_from(attempt).expect("small") + 1).await;
    }
    let detail = newest(&farrier, id, in_state("success")).await;
    let received = receiver.requests();
    let numbers: Vec<&str> = received.iter().map(|received| received.header("x-farrier-attempt")).collect();
    assert_eq!(numbers, ["1", "2", "3"]);
    assert!(received.iter().all(|one| one.id() == received[0].id() && one.body == received[0].body));
    let triggers: Vec<_> = detail["history"].as_array().expect("a list").iter().map(|a| a["trigger"].clone()).collect();
    assert_eq!(triggers, ["event", "retry", "retry"]);
    assert_eq!(detail["guid"], json!(received[0].id()));
}

/// Sends unrelated requests, so that the dispatcher has time to send something that it must not send.
pub(super) async fn give_dispatcher_time(farrier: &TestDaemon) {
    for _ in 0..20 {
        farrier.admin(Method::GET, "/api/v1/version", Value::Null).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn status_410_disables_the_hook_and_retry_after_is_honored() {
    let clock = Clock::manual(NOW);
    let farrier = farrier_at(clock.clone(), |config| config.webhook.retry_schedule_secs = vec![1, 1]).await;
    let receiver = Receiver::start().await;
    receiver.reply_with([Reply::Full(429, "retry-after", "30".into(), Bytes::new()), Reply::Status(410)]);
    let id = hook(&farrier, &receiver.url, &["repository"], json!({})).await;
    farrier.repository("demo").await;
    newest(&farrier, id, attempted(1)).await;
    clock.advance_ms(29_999);
    give_dispatcher_time(&farrier).await;
    assert_eq!(receiver.requests().len(), 1);
    clock.advance_ms(1);
    let detail = newest(&farrier, id, in_state("failed")).await;
    assert_eq!((&detail["attempts"], &detail["status_code"]), (&json!(2), &json!(410)));
    let hook = at_hook(&farrier, Method::GET, id, "", Value::Null).await.json();
    assert_eq!(hook["active"], false);
    assert!(hook["disabled_reason"].as_str().expect("text").contains("410"), "{hook}");
    touch(&farrier, "demo", "x").await;
    clock.advance_ms(1_000_000);
    give_dispatcher_time(&farrier).await;
    assert_eq!(receiver.requests().len(), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn redirects_are_followed_only_when_the_hook_allows_it() {
    let farrier = farrier().await;
    let (from, to) = (Receiver::start().await, Receiver::start().await);
    from.always_reply_with(Reply::Full(307, "location", to.url.clone(), Bytes::new()));
    let plain = hook(&farrier, &from.url, &["repository"], json!({})).await;
    farrier.repository("demo").await;
    let detail = newest(&farrier, plain, attempted(1)).await;
    assert_eq!((&detail["status"], &detail["status_code"]), (&json!("redirect"), &json!(307)));
    assert!(detail["history"][0]["error"].as_str().expect("text").contains(&to.url), "{detail}");
    assert_eq!(to.requests().len(), 0);
    let config = json!({ "config": { "follow_redirects": "true" } });
    assert_eq!(at_hook(&farrier, Method::PATCH, plain, "", config).await.status, 200);
    touch(&farrier, "demo", "x").await;
    newest(&farrier, plain, in_state("success")).await;
    let received = to.wait(1).await;
    assert_eq!((&received[0].method, received[0].event()), (&Method::POST, "repository edited".into()));
    let credentials = |received: &ReceivedRequest| {
        let names = ["authorization", "x-gitea-signature", "x-hub-signature-256", "webhook-signature"];
        names.map(|name| received.header(name).to_owned()).into_iter().filter(|value| !value.is_empty()).count()
    };
    let secret = json!({ "config": { "secret": "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw" } });
    assert_eq!(at_hook(&farrier, Method::PATCH, plain, "", secret).await.status, 200);
    touch(&farrier, "demo", "y").await;
    assert_eq!(credentials(&to.wait(2).await[1]), 0, "another port is another origin");
    assert_eq!(credentials(from.requests().last().expect("a request")), 4);
    from.reply_with([Reply::Full(308, "location", "/elsewhere".into(), Bytes::new()), Reply::Status(200)]);
    touch(&farrier, "demo", "z").await;
    newest(&farrier, plain, |row| row["state"] == "success" && row["status_code"] == 200).await;
    eventually("a redirect to the same origin keeps the credentials", async || {
        from.requests().last().is_some_and(|received| received.uri.path() == "/elsewhere" && credentials(received) == 4)
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_long_response_is_truncated() {
    let farrier = farrier_with(|config| config.webhook.response_bytes = 1_000).await;
    let receiver = Receiver::start().await;
    receiver.reply_with([Reply::Full(200, "x-a", "b".into(), Bytes::from(vec![b'x'; 8 << 20]))]);
    let id = hook(&farrier, &receiver.url, &["repository"], json!({})).await;
    farrier.repository("demo").await;
    let detail = newest(&farrier, id, in_state("success")).await;
    assert_eq!(detail["response"]["payload"].as_str().expect("text").len(), 1_000);
    assert_eq!(detail["response"]["truncated"], true);
    touch(&farrier, "demo", "x").await;
    receiver.wait(2).await;
    assert_eq!(receiver.connections(), 2, "the rest of the answer was not read");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hook_that_keeps_failing_is_probed_and_then_disabled() {
    let clock = Clock::manual(NOW);
    let farrier = farrier_at(clock.clone(), |config| {
        config.webhook.retry_schedule_secs = vec![];
        config.webhook.disable_after = std::time::Duration::from_secs(600);
    })
    .await;
    let receiver = Receiver::start().await;
    receiver.always_reply_with(Reply::Status(500));
    let id = hook(&farrier, &receiver.url, &["repository"], json!({})).await;
    farrier.repository("demo").await;
    for n in 0..30 {
        touch(&farrier, "demo", &n.to_string()).await;
    }
    receiver.wait(10).await;
    eventually("ten failures are recorded", async || sent(&farrier, id, "?status=failed").await.len() == 10).await;
    give_dispatcher_time(&farrier).await;
    assert_eq!(receiver.requests().len(), 10, "the other deliveries wait");
    let waiting = sent(&farrier, id, "?status=pending&limit=50").await;
    assert_eq!(waiting.len(), 21);
    for row in &waiting {
        let (about, due) = (&row["repository"], &row["next_attempt_at"]);
        assert_eq!(
            (about, due),
            (&json!("admin/demo"), &json!("2026-01-02T03:05:05Z")),
            "due at the hook's next probe"
        );
        assert_eq!((&row["attempts"], &row["max_attempts"]), (&json!(0), &json!(1)));
    }
    for probe in 11..=20 {
        clock.advance_ms(60_000);
        receiver.wait(probe).await;
        eventually("the probe is recorded", async || {
            sent(&farrier, id, "?status=failed&limit=50").await.len() == probe
        })
        .await;
    }
    eventually("the hook is disabled", async || {
        at_hook(&farrier, Method::GET, id, "", Value::Null).await.json()["active"] == false
    })
    .await;
    eventually("the waiting deliveries are cancelled", async || sent(&farrier, id, "?status=pending").await.is_empty())
        .await;
    assert_eq!((receiver.requests().len(), sent(&farrier, id, "?status=cancelled").await.len()), (20, 11));

    receiver.always_reply_with(Reply::Status(200));
    assert_eq!(at_hook(&farrier, Method::PATCH, id, "", json!({ "active": true })).await.status, 200);
    let recovered = at_hook(&farrier, Method::POST, id, "/recover", Value::Null).await;
    assert_eq!((recovered.status, &recovered.json()["count"]), (202, &json!(31)));
    receiver.wait(20 + 31).await;
}
