//! Replays: a delivery is sent once to another URL, or with another payload, and its caller gets the result.

use std::pin::pin;

use bytes::Bytes;
use futures_util::future::{Either, join_all, select};
use hmac::{Hmac, KeyInit as _, Mac as _};
use sha2::Sha256;

use super::*;
use crate::support::{ReceivedRequest, Receiver, Reply, send};

const SECRET: &str = "s3cr3t-of-the-hook";
const EDITED: &str = "{ \"action\":\"edited by hand\",\t\"b\": [1] }";

/// A daemon with a hook and one delivery to its receiver.
struct Scene {
    own: Receiver,
    other: Receiver,
    hook: i64,
    delivery: String,
    farrier: TestDaemon,
}

impl Scene {
    async fn new(config: Value) -> Self {
        let farrier = farrier().await;
        let (own, other) = (Receiver::start().await, Receiver::start().await);
        let mut all = json!({ "secret": SECRET });
        for (key, value) in config.as_object().into_iter().flatten() {
            all[key] = value.clone();
        }
        let hook = hook(&farrier, &own.url, &["repository"], all).await;
        farrier.repository("demo").await;
        let first = newest(&farrier, hook, in_state("success")).await;
        let delivery = first["guid"].as_str().expect("text").to_owned();
        Self { own, other, hook, delivery, farrier }
    }

    fn path(&self) -> String {
        format!("/api/farrier/v1/deliveries/{}/replays", self.delivery)
    }

    async fn ask(&self, body: Value) -> Answer {
        self.farrier.admin(Method::POST, &self.path(), body).await
    }

    /// The result of a replay.
    async fn replay(&self, body: Value) -> Value {
        let answer = self.ask(body).await;
        assert_eq!(answer.status, 200, "{answer:?}");
        answer.json()
    }

    /// The hook and its deliveries, as the API shows them.
    async fn state(&self) -> (Value, Vec<Value>) {
        let shown = at_hook(&self.farrier, Method::GET, self.hook, "", Value::Null).await.json();
        (shown, sent(&self.farrier, self.hook, "").await)
    }

    /// The audit entries of replays, newest first.
    async fn audited(&self) -> Vec<Value> {
        let path = "/api/farrier/v1/audit?action=delivery.replay";
        let listed = self.farrier.admin(Method::GET, path, Value::Null).await.json();
        listed.as_array().expect("a list").clone()
    }
}

fn signature(secret: &str, body: &[u8]) -> String {
    let mut mac = Hmac::<Sha256>::new_from_slice(secret.as_bytes()).expect("a key");
    mac.update(body);
    hex::encode(mac.finalize().into_bytes())
}

fn has_signature(request: &ReceivedRequest) -> bool {
    request.headers.keys().any(|name| name.as_str().contains("signature"))
}

#[tokio::test(flavor = "multi_thread")]
async fn another_url_gets_the_payload_without_the_secrets_of_the_hook() {
    let scene = Scene::new(json!({})).await;
    let body = Bytes::from_static(b"thanks");
    scene.other.reply_with([Reply::Full(202, "x-receiver", "here".into(), body)]);
    let result = scene.replay(json!({ "url": scene.other.url })).await;
    let (original, replay) = (&scene.own.wait(1).await[0], &scene.other.wait(1).await[0]);
    assert_eq!((&replay.body, &replay.method), (&original.body, &Method::POST));
    for name in ["content-type", "x-gitea-event", "x-github-event-type", "x-gitea-hook-id", "user-agent"] {
        assert_eq!(replay.header(name), original.header(name), "{name}");
    }
    assert_eq!((replay.header("x-farrier-replay"), replay.header("authorization")), ("original", ""));
    assert!(has_signature(original) && !has_signature(replay), "{replay:?}");
    assert_ne!(replay.id(), scene.delivery);
    assert_eq!((&result["guid"], &result["replay_of"]), (&json!(replay.id()), &json!(scene.delivery)));
    assert_eq!(
        (&result["signed"], &result["edited"], &result["event"]),
        (&json!(false), &json!(false), &json!("repository"))
    );
    assert_eq!(
        (&result["status_code"], &result["error_class"], &result["method"]),
        (&json!(202), &json!(""), &json!("POST"))
    );
    assert_eq!(
        (&result["response"]["payload"], &result["response"]["headers"]["x-receiver"]),
        (&json!("thanks"), &json!("here"))
    );
    assert_eq!(scene.own.requests().len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn another_url_gets_a_signature_with_the_secret_of_the_request() {
    let scene = Scene::new(json!({})).await;
    let url = scene.other.url.replace("http://", "http://me:pw@");
    let result = scene.replay(json!({ "url": url, "secret": "another secret" })).await;
    let replay = &scene.other.wait(1).await[0];
    assert_eq!(replay.header("x-gitea-signature"), signature("another secret", &replay.body));
    assert_ne!(replay.header("x-gitea-signature"), signature(SECRET, &replay.body));
    assert_eq!(replay.header("authorization"), "Basic bWU6cHc=");
    assert_eq!((&result["signed"], &result["url"]), (&json!(true), &json!(scene.other.url)));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_edited_payload_goes_to_the_hook_with_the_signature_of_the_hook() {
    for (form, expected) in [
        ("json", EDITED.to_owned()),
        ("form", "payload=%7B+%22action%22%3A%22edited+by+hand%22%2C%09%22b%22%3A+%5B1%5D+%7D".to_owned()),
    ] {
        let scene = Scene::new(json!({ "content_type": form })).await;
        let result = scene.replay(json!({ "payload": EDITED })).await;
        let received = scene.own.wait(2).await;
        let replay = &received[1];
        assert_eq!(replay.body, expected, "{form}");
        assert_eq!(replay.header("x-gitea-signature"), signature(SECRET, EDITED.as_bytes()), "{form}");
        assert_eq!(replay.header("authorization"), "Bearer t0ps3cret", "{form}");
        assert_eq!((replay.header("x-farrier-replay"), replay.header("x-farrier-attempt")), ("edited", "1"));
        assert_ne!(replay.id(), received[0].id());
        assert_eq!((&result["signed"], &result["edited"]), (&json!(true), &json!(true)));
        let shown = result.to_string();
        assert!(!shown.contains(SECRET) && !shown.contains(replay.header("x-gitea-signature")), "{shown}");
        let elsewhere = scene.replay(json!({ "payload": EDITED, "url": scene.other.url })).await;
        assert_eq!((&elsewhere["signed"], &elsewhere["edited"]), (&json!(false), &json!(true)));
        assert!(!has_signature(&scene.other.wait(1).await[0]), "{form}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn replays_change_neither_the_hook_nor_its_deliveries() {
    let scene = Scene::new(json!({})).await;
    let before = scene.state().await;
    scene.own.always_reply_with(Reply::Status(500));
    scene.other.always_reply_with(Reply::Status(410));
    let failed = scene.replay(json!({ "payload": EDITED })).await;
    assert_eq!((&failed["status_code"], &failed["error_class"]), (&json!(500), &json!("http")));
    let gone = scene.replay(json!({ "url": scene.other.url })).await;
    assert_eq!((&gone["status_code"], &gone["error_class"]), (&json!(410), &json!("http")));
    assert_eq!(scene.state().await, before);
    let unknown = format!("/api/farrier/v1/deliveries/{}", gone["guid"].as_str().expect("text"));
    assert_eq!(scene.farrier.admin(Method::GET, &unknown, Value::Null).await.status, 404);
}

#[tokio::test(flavor = "multi_thread")]
async fn refused_addresses_and_redirects_are_not_followed() {
    let scene = Scene::new(json!({ "follow_redirects": "true" })).await;
    for url in ["http://169.254.169.254/latest", "http://10.0.0.1/", "http://100.64.0.1/"] {
        let result = scene.replay(json!({ "url": url })).await;
        assert_eq!((&result["error_class"], &result["status_code"]), (&json!("blocked"), &json!(0)), "{url}");
        let error = result["error"].as_str().expect("text");
        assert!(error.contains("webhook.allowed_hosts"), "{error}");
    }
    scene.other.reply_with([Reply::Full(307, "location", scene.own.url.clone(), Bytes::new())]);
    let redirected = scene.replay(json!({ "url": scene.other.url })).await;
    assert_eq!((&redirected["error_class"], &redirected["status_code"]), (&json!("redirect"), &json!(307)));
    assert_eq!(scene.own.requests().len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_receiver_that_hangs_ends_the_replay_at_the_time_limit_of_the_hook() {
    let scene = Scene::new(json!({})).await;
    let config = json!({ "config": { "timeout_secs": "1" } });
    assert_eq!(at_hook(&scene.farrier, Method::PATCH, scene.hook, "", config).await.status, 200);
    scene.other.always_reply_with(Reply::Never);
    let result = scene.replay(json!({ "url": scene.other.url })).await;
    assert_eq!((&result["error_class"], &result["status_code"]), (&json!("timeout"), &json!(0)), "{result}");
    assert_eq!(scene.own.requests().len(), 1, "nothing is sent to the hook");
}

#[tokio::test(flavor = "multi_thread")]
async fn too_many_replays_of_one_caller_are_refused() {
    let scene = Scene::new(json!({ "timeout_secs": "60" })).await;
    let token = scene.farrier.token("admin", &["all"]).await;
    scene.other.always_reply_with(Reply::Never);
    let running = join_all((0..4).map(|_| scene.ask(json!({ "url": scene.other.url }))));
    let refused = async {
        scene.other.wait(4).await;
        let refused = scene.ask(json!({ "url": scene.other.url })).await;
        // The local user on the socket and the account on TCP have shares of their own.
        let authorization = format!("token {token}");
        let headers = [("authorization", authorization.as_str()), ("content-type", "application/json")];
        let body = json!({ "payload": EDITED }).to_string();
        (refused, send(&scene.farrier.tcp(), Method::POST, &scene.path(), &headers, body).await)
    };
    let (answer, on_tcp) = match select(pin!(running), pin!(refused)).await {
        Either::Left((ended, _)) => panic!("the receiver hangs: {ended:?}"),
        Either::Right((answers, _)) => answers,
    };
    assert_eq!(answer.status, 429, "{answer:?}");
    assert_eq!(answer.json()["message"].as_str().map(|text| text.contains("replays of deliveries")), Some(true));
    assert_eq!(on_tcp.status, 200, "{on_tcp:?}");
    assert_eq!((scene.other.requests().len(), scene.audited().await.len()), (4, 5), "recorded before they are sent");
}

#[tokio::test(flavor = "multi_thread")]
async fn invalid_replays_are_refused_and_not_recorded() {
    let scene = Scene::new(json!({})).await;
    let url = &scene.other.url;
    for (body, status, text) in [
        (json!({}), 422, "[Url]"),
        (json!({ "url": null, "payload": null }), 422, "[Url]"),
        (json!({ "url": "" }), 422, "Invalid url"),
        (json!({ "url": "ftp://h/" }), 422, "Invalid url"),
        (json!({ "url": 7 }), 422, "[]"),
        (json!({ "url": url, "secret": "x".repeat(2_049) }), 422, "Invalid secret"),
        (json!({ "payload": EDITED, "secret": "mine" }), 422, "[Secret]"),
        (json!({ "payload": "[1]" }), 422, "[Payload]"),
        (json!({ "payload": "{\"a\":" }), 422, "[Payload]"),
        (json!({ "payload": "" }), 422, "[Payload]"),
        (json!({ "payload": "[".repeat(100_000) }), 422, "[Payload]"),
        (json!({ "payload": format!("{{\"a\":\"{}\"}}", "x".repeat(1 << 20)) }), 413, ""),
    ] {
        let answer = scene.ask(body).await;
        assert_eq!(answer.status, status, "{answer:?}");
        let message = answer.json()["message"].as_str().expect("text").to_owned();
        assert!(message.contains(text), "{text}: {message}");
    }
    for (path, status) in [
        ("/api/farrier/v1/deliveries/00000000-0000-4000-8000-000000000000/replays", 404),
        ("/api/farrier/v1/deliveries/x/replays", 404),
    ] {
        let answer = scene.farrier.admin(Method::POST, path, json!({ "url": url })).await;
        assert_eq!(answer.status, status, "{path}");
    }
    let off = json!({ "active": false, "events": ["repository"] });
    assert_eq!(at_hook(&scene.farrier, Method::PATCH, scene.hook, "", off).await.status, 200);
    assert_eq!(scene.ask(json!({ "payload": EDITED })).await.status, 422, "the hook is inactive");
    assert_eq!(scene.audited().await.len(), 0);
    assert_eq!(scene.ask(json!({ "url": url })).await.status, 200, "another URL does not need an active hook");
    at_hook(&scene.farrier, Method::DELETE, scene.hook, "", Value::Null).await;
    assert_eq!(scene.ask(json!({ "url": url })).await.status, 409, "the hook is gone");
    assert_eq!((scene.own.requests().len(), scene.other.requests().len()), (1, 1));
}

#[tokio::test(flavor = "multi_thread")]
async fn the_audit_log_has_each_replay_without_secrets() {
    let scene = Scene::new(json!({})).await;
    let url = format!("{}?token=hidden-token", scene.other.url.replace("http://", "http://me:hidden-password@"));
    scene.replay(json!({ "url": url, "secret": "hidden-secret", "payload": "{\"a\":\"hidden-payload\"}" })).await;
    scene.replay(json!({ "url": "http://10.0.0.1/hidden-path" })).await;
    let entries = scene.audited().await;
    assert_eq!(entries.len(), 2, "{entries:?}");
    let (blocked, signed) = (&entries[0]["after"], &entries[1]["after"]);
    assert_eq!((&signed["signed"], &signed["edited"]), (&json!(true), &json!(true)));
    assert_eq!(signed["url"], json!(scene.other.url.trim_end_matches("/hook")));
    assert_eq!((&blocked["url"], &blocked["signed"]), (&json!("http://10.0.0.1"), &json!(false)));
    assert_eq!(entries[1]["object"]["kind"], "hook");
    assert!(!format!("{entries:?}").contains("hidden"), "{entries:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn only_callers_who_may_manage_the_hook_can_replay_its_deliveries() {
    let farrier = farrier().await;
    let receiver = Receiver::start().await;
    for name in ["octo", "eve"] {
        farrier.user(name).await;
    }
    let octo = farrier.token("octo", &["all"]).await;
    let reader = farrier.token("octo", &["read:repository", "read:user"]).await;
    let eve = farrier.token("eve", &["all"]).await;
    let ask = async |token: &str, method: Method, path: &str, body: Value| {
        let authorization = format!("token {token}");
        let headers = [("authorization", authorization.as_str()), ("content-type", "application/json")];
        send(&farrier.tcp(), method, path, &headers, body.to_string()).await
    };
    ask(&octo, Method::POST, "/api/v1/user/repos", json!({ "name": "demo" })).await;
    let config = json!({ "url": receiver.url, "content_type": "json" });
    let body = json!({ "type": "gitea", "config": config, "events": ["repository"], "active": true });
    let created = ask(&octo, Method::POST, "/api/v1/repos/octo/demo/hooks", body).await.json();
    let hook = format!("/api/farrier/v1/hooks/{}", created["id"]);
    let pinged = ask(&octo, Method::POST, &format!("{hook}/pings?wait=1"), json!({})).await.json();
    let delivery = pinged["guid"].as_str().expect("text");
    let own = format!("{hook}/deliveries/{delivery}/replays");
    let any = format!("/api/farrier/v1/deliveries/{delivery}/replays");
    let request = json!({ "url": receiver.url });
    for (token, path, status) in
        [(&octo, &own, 200), (&reader, &own, 403), (&eve, &own, 404), (&octo, &any, 403), (&eve, &any, 403)]
    {
        let answer = ask(token, Method::POST, path, request.clone()).await;
        assert_eq!(answer.status, status, "{path} {answer:?}");
    }
    // The delivery belongs to another hook.
    let body = json!({ "type": "gitea", "config": config, "events": ["repository"], "active": true });
    let created = ask(&eve, Method::POST, "/api/v1/user/hooks", body).await.json();
    let foreign = format!("/api/farrier/v1/hooks/{}/deliveries/{delivery}/replays", created["id"]);
    assert_eq!(ask(&eve, Method::POST, &foreign, request).await.status, 404);
    assert_eq!(receiver.requests().len(), 2, "the ping and one replay");
}
