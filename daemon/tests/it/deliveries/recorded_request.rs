//! The recorded request of a delivery equals the request that the receiver got.

use base64::{Engine as _, engine::general_purpose::STANDARD as BASE64};

use super::*;
use crate::support::{Receiver, Reply};

#[tokio::test(flavor = "multi_thread")]
async fn the_recorded_request_equals_the_sent_request() {
    let farrier = farrier().await;
    let init = json!({ "name": "demo", "auto_init": true });
    assert_eq!(farrier.admin(Method::POST, "/api/v1/user/repos", init).await.status, 201);
    for (n, (kind, config, name)) in [
        ("gitea", json!({ "secret": "s3cr3t" }), "b0"),
        ("gitea", json!({ "secret": "s3cr3t", "content_type": "form" }), "b1"),
        ("forgejo", json!({ "secret": "s3cr3t" }), "refs/heads/b2"),
        ("slack", json!({ "channel": "#dev" }), ""),
    ]
    .into_iter()
    .enumerate()
    {
        let receiver = Receiver::start().await;
        let id = hook_of(&farrier, kind, &receiver.url, &["create"], config).await;
        let branch = json!({ "new_branch_name": format!("b{n}") });
        let created = farrier.admin(Method::POST, "/api/v1/repos/admin/demo/branches", branch).await;
        assert_eq!(created.status, 201, "{created:?}");
        let received = &receiver.wait(1).await[0];
        let detail = newest(&farrier, id, in_state("success")).await;
        let request = &detail["request"];
        let body = String::from_utf8(received.body.to_vec()).expect("text");
        assert_eq!(request["body"], body, "{kind}");
        assert_eq!((&request["method"], request.get("body_base64")), (&json!("POST"), None));
        if !name.is_empty() {
            assert_eq!(request["payload"]["ref"], name, "{kind}");
            assert_eq!(request["headers"]["x-hub-signature-256"], received.header("x-hub-signature-256"));
        }
        at_hook(&farrier, Method::DELETE, id, "", Value::Null).await;
        let path = format!("/api/farrier/v1/deliveries/{}", detail["guid"].as_str().expect("text"));
        let later = farrier.admin(Method::GET, &path, Value::Null).await.json();
        assert_eq!(later["request"]["body"], body, "{kind}: after the hook is deleted");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_binary_response_is_recorded_unchanged() {
    let farrier = farrier().await;
    let receiver = Receiver::start().await;
    let binary: Vec<u8> = (0..=u8::MAX).collect();
    receiver.always_reply_with(Reply::Full(200, "x-a", "b".into(), binary.clone().into()));
    let id = hook(&farrier, &receiver.url, &["repository"], json!({})).await;
    farrier.repository("demo").await;
    let detail = newest(&farrier, id, in_state("success")).await;
    let fetched = detail["response"]["payload_base64"].as_str().expect("Base64");
    assert_eq!(BASE64.decode(fetched).expect("Base64"), binary);
}
