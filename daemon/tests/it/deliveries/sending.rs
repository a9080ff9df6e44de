//! What a receiver gets, and when.

use super::*;

#[tokio::test(flavor = "multi_thread")]
async fn check_29_an_event_reaches_its_receiver() {
    let farrier = farrier().await;
    let receiver = Receiver::start().await;
    hook(&farrier, &receiver.url, &["repository"], json!({ "secret": "s3cr3t" })).await;
    farrier.repository("demo").await;
    let got = receiver.wait(1).await;
    assert_eq!((got[0].event(), got[0].uri.path()), ("repository created".into(), "/hook"));
    assert_eq!(got[0].header("content-type"), "application/json");
    assert_eq!(got[0].json()["repository"]["full_name"], "admin/demo");
    for n in 0..20 {
        touch(&farrier, "demo", &n.to_string()).await;
    }
    let got = receiver.wait(21).await;
    let seen: Vec<_> = got[1..].iter().map(|got| got.json()["repository"]["description"].clone()).collect();
    assert_eq!(seen, (0..20).map(|n| json!(n.to_string())).collect::<Vec<_>>(), "in order");
    assert_eq!(receiver.connections(), 1, "one connection is kept");
}
