//! Deliveries across stops and kills of the daemon.

use super::*;
use crate::support::{Receiver, Reply, free_address};

const CONFIG: &str =
    "[webhook]\nallowed_hosts = \"loopback\"\nretry_schedule_secs = [1, 1, 1]\n[server]\ndrain_grace_secs = 1\n";

#[tokio::test(flavor = "multi_thread")]
async fn a_delivery_interrupted_by_a_kill_is_sent_after_the_next_start() {
    let mut farrier = TestDaemon::program(CONFIG).await;
    let receiver = Receiver::start().await;
    receiver.reply_with([Reply::Never]);
    hook(&farrier, &receiver.url, &["repository"], json!({})).await;
    farrier.repository("demo").await;
    receiver.wait(1).await;
    touch(&farrier, "demo", "while it waits").await;
    farrier.kill_and_start().await;
    let received = receiver.wait(3).await;
    assert_eq!(
        (received[0].id(), &received[0].body),
        (received[1].id(), &received[1].body),
        "the same delivery once more"
    );
    assert_eq!(received[2].event(), "repository edited");
}

#[tokio::test(flavor = "multi_thread")]
async fn deliveries_are_retried_until_the_receiver_recovers() {
    let farrier = farrier_with(|config| config.webhook.retry_schedule_secs = vec![1, 1, 1, 1]).await;
    let address = free_address();
    let id = hook(&farrier, &format!("http://{address}/hook"), &["repository"], json!({})).await;
    farrier.repository("demo").await;
    let down = newest(&farrier, id, attempted(1)).await;
    assert_eq!(down["status"], "connect", "{down}");
    let receiver = Receiver::on(tokio::net::TcpListener::bind(address).await.expect("the port"));
    receiver.wait(1).await;
    newest(&farrier, id, in_state("success")).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stop_ends_within_the_grace_time_and_loses_no_delivery() {
    let mut farrier = farrier_with(|config| config.server.drain_grace = std::time::Duration::from_secs(1)).await;
    let (silent, quick) = (Receiver::start().await, Receiver::start().await);
    silent.reply_with([Reply::Never]);
    let slow = hook(&farrier, &silent.url, &["repository"], json!({ "timeout_secs": "60" })).await;
    let fine = hook(&farrier, &quick.url, &["repository"], json!({})).await;
    farrier.repository("demo").await;
    silent.wait(1).await;
    quick.wait(1).await;
    farrier.restart().await;
    let received = silent.wait(2).await;
    assert_eq!(received[0].id(), received[1].id());
    let detail = newest(&farrier, slow, in_state("success")).await;
    assert_eq!(detail["attempts"], 1, "an aborted request does not count as an attempt: {detail}");
    assert_eq!(newest(&farrier, fine, in_state("success")).await["attempts"], 1);
    assert_eq!(quick.requests().len(), 1, "a recorded delivery is not sent again");
}
