//! Real deliveries are verified with unmodified third-party libraries.

use super::*;
use crate::support::{
    ReceivedRequest, Receiver,
    client::{home, installed},
    process::{command, output},
};

/// The results of the npm libraries for `got`. `at_ms` is the time that they assume.
async fn verify(received: &ReceivedRequest, secret: &str, at_ms: i64) -> Value {
    let headers: serde_json::Map<String, Value> =
        received.headers.iter().map(|(name, value)| (name.to_string(), value.to_str().expect("text").into())).collect();
    let body = String::from_utf8(received.body.to_vec()).expect("text");
    let input = json!({ "headers": headers, "body": body, "secret": secret, "now": at_ms });
    let mut node = command("node");
    node.arg("verify.mjs").arg(input.to_string()).current_dir(home());
    let output = output(node).await.expect("node is installed");
    let stdout = String::from_utf8_lossy(&output.stdout).into_owned();
    let Some((_, result)) = stdout.rsplit_once("RESULT ") else {
        panic!("the verifier broke: {stdout}\n{}", String::from_utf8_lossy(&output.stderr))
    };
    serde_json::from_str(result).expect("JSON")
}

const OLD: &str = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
const NEW: &str = "whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=";

#[tokio::test(flavor = "multi_thread")]
async fn signatures_are_accepted_by_client_libraries() {
    if !installed().await {
        return;
    }
    let farrier = farrier().await;
    let receiver = Receiver::start().await;
    let id = hook(&farrier, &receiver.url, &["repository"], json!({ "secret": OLD })).await;
    farrier.repository("demo").await;
    let received = receiver.wait(1).await.remove(0);
    let now = received.header("webhook-timestamp").parse::<i64>().expect("a number") * 1_000;
    assert_eq!(verify(&received, OLD, now).await, json!({ "octokit": true, "standard": true }));
    assert_eq!(verify(&received, NEW, now).await, json!({ "octokit": false, "standard": false }));
    let later = verify(&received, OLD, now + 600_000).await;
    assert_eq!(later, json!({ "octokit": true, "standard": false }), "a replay after ten minutes is refused");

    let config = json!({ "config": { "secret": NEW } });
    assert_eq!(at_hook(&farrier, Method::PATCH, id, "", config).await.status, 200);
    touch(&farrier, "demo", "x").await;
    let received = receiver.wait(2).await.remove(1);
    let now = received.header("webhook-timestamp").parse::<i64>().expect("a number") * 1_000;
    assert_eq!(verify(&received, NEW, now).await, json!({ "octokit": true, "standard": true }));
    assert_eq!(
        verify(&received, OLD, now).await,
        json!({ "octokit": false, "standard": true }),
        "the old secret is valid during the grace period"
    );
}
