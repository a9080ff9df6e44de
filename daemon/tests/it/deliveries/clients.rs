//! Independent verifiers, unmodified, judge real deliveries.

use super::*;
use crate::support::{
    Got, Receiver,
    client::{home, installed},
    process::{command, output},
};

/// What the libraries of npm say about `got`; `at_ms`: their clock.
async fn judged(got: &Got, secret: &str, at_ms: i64) -> Value {
    let headers: serde_json::Map<String, Value> =
        got.headers.iter().map(|(name, value)| (name.to_string(), value.to_str().expect("text").into())).collect();
    let body = String::from_utf8(got.body.to_vec()).expect("text");
    let what = json!({ "headers": headers, "body": body, "secret": secret, "now": at_ms });
    let mut node = command("node");
    node.arg("verify.mjs").arg(what.to_string()).current_dir(home());
    let done = output(node).await.expect("node was there before");
    let said = String::from_utf8_lossy(&done.stdout).into_owned();
    let Some((_, result)) = said.rsplit_once("RESULT ") else {
        panic!("the verifier broke: {said}\n{}", String::from_utf8_lossy(&done.stderr))
    };
    serde_json::from_str(result).expect("JSON")
}

const OLD: &str = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
const NEW: &str = "whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=";

#[tokio::test(flavor = "multi_thread")]
async fn client_libraries_accept_the_signatures() {
    if !installed().await {
        return;
    }
    let farrier = farrier().await;
    let receiver = Receiver::start().await;
    let id = hook(&farrier, &receiver.url, &["repository"], json!({ "secret": OLD })).await;
    farrier.repository("demo").await;
    let got = receiver.wait(1).await.remove(0);
    let now = got.header("webhook-timestamp").parse::<i64>().expect("a number") * 1_000;
    assert_eq!(judged(&got, OLD, now).await, json!({ "octokit": true, "standard": true }));
    assert_eq!(judged(&got, NEW, now).await, json!({ "octokit": false, "standard": false }));
    let later = judged(&got, OLD, now + 600_000).await;
    assert_eq!(later, json!({ "octokit": true, "standard": false }), "a replay after ten minutes");

    let config = json!({ "config": { "secret": NEW } });
    assert_eq!(at_hook(&farrier, Method::PATCH, id, "", config).await.status, 200);
    touch(&farrier, "demo", "x").await;
    let got = receiver.wait(2).await.remove(1);
    let now = got.header("webhook-timestamp").parse::<i64>().expect("a number") * 1_000;
    assert_eq!(judged(&got, NEW, now).await, json!({ "octokit": true, "standard": true }));
    assert_eq!(judged(&got, OLD, now).await, json!({ "octokit": false, "standard": true }), "the grace time");
}
