//! Correct and incorrect uses of secrets by users and programs.

use base64::{Engine as _, engine::general_purpose::STANDARD as BASE64};
use bytes::Bytes;
use http::Method;
use serde_json::{Value, json};

use super::outputs::{Outputs, Secret};
use crate::support::{Binary, Receiver, Reply, Source, eventually, git, send};

const PASSWORD: Secret = Secret::never("a password", "wombat-pw-03f1a");
const WRONG_PASSWORD: Secret = Secret::never("a mistyped password", "wombat-pw-typo7");
const NEW_PASSWORD: Secret = Secret::never("a changed password", "wombat-pw-55e20");
const FOREIGN_TOKEN: Secret = Secret::never("a token of another service", "wombat-tk-c0ffee");

fn basic(user: &str, password: &str) -> String {
    format!("Basic {}", BASE64.encode(format!("{user}:{password}")))
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_else(|| panic!("no text: {value}")).to_owned()
}

/// Passwords and tokens in every place where they can be used.
pub(super) async fn accounts(program: &Binary, outputs: &mut Outputs) {
    let alice = json!({ "username": "alice", "email": "a@example.org", "password": PASSWORD.text,
        "must_change_password": false });
    assert_eq!(outputs.ask("POST", "/api/v1/admin/users", &[], &alice.to_string()).await.status, 201);
    let right = basic("alice", &PASSWORD.text);
    let body = json!({ "name": "t", "scopes": ["all"] }).to_string();
    let created = outputs.ask_as("POST", "/api/v1/users/alice/tokens", &[("authorization", &right)], &body).await;
    assert_eq!(created.status, 201, "{created:?}");
    let token = text(&created.json()["sha1"]);
    for header in
        [basic("alice", &WRONG_PASSWORD.text), format!("token {}", FOREIGN_TOKEN.text), format!("Bearer {token}x")]
    {
        assert_eq!(outputs.ask_as("GET", "/api/v1/user", &[("authorization", &header)], "").await.status, 401);
    }
    for path in ["/api/v1/user", "/api/v1/nothing", "/api/v1/users/alice/tokens"] {
        for query in ["token", "access_token"] {
            outputs.ask_as("GET", &format!("{path}?{query}={token}"), &[], "").await;
        }
        outputs.ask_as("PUT", path, &[("authorization", &format!("token {token}"))], "").await;
    }
    let changed = json!({ "password": NEW_PASSWORD.text }).to_string();
    assert_eq!(outputs.ask("PATCH", "/api/v1/admin/users/alice", &[], &changed).await.status, 200);

    assert_eq!(outputs.ask("POST", "/api/v1/user/repos", &[], r#"{"name":"tool"}"#).await.status, 201);
    let admin = outputs.ask("POST", "/api/v1/admin/users/admin/tokens", &[], &body).await;
    let admin = text(&admin.json()["sha1"]);
    let work = git::Client::init(program.scratch().join("work"));
    std::fs::write(work.dir().join("file"), "x").expect("a file");
    work.done(&["add", "."]);
    work.done(&["commit", "-q", "-m", "one"]);
    let crate::support::ServerAddress::Tcp(address) = &outputs.tcp else { panic!("over TCP") };
    work.done(&["push", "-q", &format!("http://any:{admin}@{address}/admin/tool.git"), "main"]);
    work.refused(&["push", "-q", &format!("http://any:{}@{address}/admin/tool.git", FOREIGN_TOKEN.text), "main"]);
    outputs.processes(program.id());

    for secret in [PASSWORD, WRONG_PASSWORD, NEW_PASSWORD, FOREIGN_TOKEN] {
        outputs.secret(secret);
    }
    outputs.secret(Secret::generated("a token", &token, &["POST /api/v1/users/alice/tokens"]));
    outputs.secret(Secret::generated("an administrator's token", &admin, &["POST /api/v1/admin/users/admin/tokens"]));
}

/// Job tokens and signed URLs.
pub(super) async fn jobs(_: &Binary, outputs: &mut Outputs) {
    let started = outputs.ask("POST", "/api/farrier/v1/jobs", &[], r#"{"repo":"admin/tool"}"#).await.json();
    let (token, run, job) = (text(&started["token"]), started["run_id"].to_string(), started["job_id"].to_string());
    let bearer = format!("Bearer {token}");
    let headers = [("authorization", bearer.as_str()), ("content-type", "application/json")];
    let call = |method: &str| format!("/twirp/github.actions.results.api.v1.ArtifactService/{method}");
    let ids = json!({ "workflow_run_backend_id": run, "workflow_job_run_backend_id": job, "name": "a", "version": 4,
        "size": "4" })
    .to_string();
    let created = outputs.ask_as("POST", &call("CreateArtifact"), &headers, &ids).await.json();
    let path_of = |url: &str| url.splitn(4, '/').nth(3).map(|rest| format!("/{rest}")).expect("a path");
    let signature = |path: &str| text(&json!(path.split("sig=").nth(1).and_then(|rest| rest.split('&').next())));
    let upload = path_of(&text(&created["signed_upload_url"]));
    for (what, body) in [
        ("comp=block&blockid=YQ", "1234"),
        ("comp=nonsense", ""),
        ("comp=blocklist", "<nonsense"),
        ("comp=blocklist", "<BlockList><Latest>YQ</Latest></BlockList>"),
    ] {
        outputs.ask_as("PUT", &format!("{upload}&{what}"), &[], body).await;
    }
    let other_blob = upload.replacen("/_blob/", "/_blob/9", 1);
    assert_eq!(outputs.ask_as("PUT", &format!("{other_blob}&comp=block&blockid=YQ"), &[], "x").await.status, 403);
    assert_eq!(outputs.ask_as("POST", &call("FinalizeArtifact"), &headers, &ids).await.status, 200);
    let signed = outputs.ask_as("POST", &call("GetSignedArtifactURL"), &headers, &ids).await.json();
    let download = path_of(&text(&signed["signed_url"]));
    assert_eq!(outputs.ask_as("GET", &download, &[], "").await.status, 200);
    assert_eq!(outputs.ask_as("GET", &download, &[("range", "bytes=9-")], "").await.status, 416);
    let end = format!("/api/farrier/v1/jobs/{job}/end");
    assert_eq!(outputs.ask("POST", &end, &[], r#"{"conclusion":"success"}"#).await.status, 200);
    assert_eq!(outputs.ask_as("POST", &call("ListArtifacts"), &headers, &ids).await.status, 401);

    outputs.secret(Secret::generated(
        "a runtime token",
        token.rsplit('.').next().expect("a part"),
        &["POST /api/farrier/v1/jobs"],
    ));
    outputs.secret(Secret::generated("an upload's signature", &signature(&upload), &["/CreateArtifact"]));
    outputs.secret(Secret::generated("a download's signature", &signature(&download), &["/GetSignedArtifactURL"]));
}

/// Managers of a hook may see its URL with everything in it.
const FOR_MANAGERS: &[&str] = &["/hooks", "/deliveries"];
const HOOKS: [Secret; 8] = [
    Secret::never("a hook's secret", "wombat-hs-11aa0"),
    Secret::never("a hook's authorization", "wombat-ha-22bb1"),
    Secret::never("a password in a hook's address", "wombat-hp-33cc2"),
    Secret::but("the path of a Slack address", "wombat-sl-44dd3", FOR_MANAGERS),
    Secret::but("the query of a chat's address", "wombat-dc-55ee4", FOR_MANAGERS),
    Secret::never("a bot's token", "1234:wombat-tg-66ff5"),
    Secret::never("an account's token at Matrix", "wombat-mx-7700a"),
    Secret::never("a rotated secret", "wombat-hr-88bb7"),
];

/// Hooks of all kinds, whose receivers fail and return what they received.
pub(super) async fn hooks(_: &Binary, outputs: &mut Outputs) {
    let [secret, authorization, userinfo, slack, discord, bot, matrix, rotated] = HOOKS.map(|secret| secret.text);
    // Each receiver returns the secrets of its own hook only.
    let mut receivers = Vec::new();
    for own in
        [vec![&secret, &authorization, &rotated], vec![&secret, &userinfo], vec![], vec![], vec![&bot], vec![&matrix]]
    {
        let receiver = Receiver::start().await;
        let echo = own.into_iter().cloned().collect::<Vec<_>>().join(" ");
        receiver.always_reply_with(Reply::Full(
            500,
            "x-echo",
            echo.clone(),
            Bytes::from(format!("{{\"you sent\":\"{echo}\"}}")),
        ));
        receivers.push(receiver);
    }
    let url = |at: usize| receivers[at].url.clone();
    let base = |at: usize| receivers[at].url.trim_end_matches("/hook").to_owned();
    let with_userinfo = url(1).replacen("http://", &format!("http://hooker:{userinfo}@"), 1);
    for (kind, config, header) in [
        ("farrier", json!({ "url": url(0), "secret": secret }), format!("Bearer {authorization}")),
        ("gitea", json!({ "url": with_userinfo, "secret": secret }), String::new()),
        ("slack", json!({ "url": format!("{}/services/T0/B0/{slack}", base(2)), "channel": "#x" }), String::new()),
        ("discord", json!({ "url": format!("{}/webhooks/1?key={discord}", base(3)) }), String::new()),
        ("telegram", json!({ "url": base(4), "bot_token": bot, "chat_id": "1" }), String::new()),
        (
            "matrix",
            json!({ "url": base(5), "homeserver_url": base(5), "room_id": "!r:m", "access_token": matrix }),
            String::new(),
        ),
        ("gitea", json!({ "url": "http://far.proxied.example/", "secret": secret }), String::new()),
        ("gitea", json!({ "url": "https://tls.proxied.example/", "secret": secret }), String::new()),
    ] {
        let mut config = config;
        config["content_type"] = json!("json");
        config["is_system_webhook"] = json!(true);
        let body = json!({ "type": kind, "config": config, "events": ["repository", "push"], "active": true,
            "authorization_header": header });
        let created = outputs.ask("POST", "/api/v1/admin/hooks", &[], &body.to_string()).await;
        assert_eq!(created.status, 201, "{kind}: {created:?}");
    }
    let hooks = outputs.get("/api/v1/admin/hooks").await.json();
    let first = hooks[0]["id"].to_string();
    let change = json!({ "config": { "secret": rotated } }).to_string();
    assert_eq!(outputs.ask("PATCH", &format!("/api/v1/admin/hooks/{first}"), &[], &change).await.status, 200);
    let refused =
        json!({ "type": "gitea", "config": { "url": format!("ftp://x:{userinfo}@h/"), "content_type": "json" } });
    assert_eq!(outputs.ask("POST", "/api/v1/admin/hooks", &[], &refused.to_string()).await.status, 422);

    assert_eq!(outputs.ask("POST", "/api/v1/user/repos", &[], r#"{"name":"notified"}"#).await.status, 201);
    let (unix, hooks) = (outputs.unix.clone(), hooks.as_array().expect("a list").len());
    eventually("all deliveries have failed", async || {
        let ended = send(&unix, Method::GET, "/api/farrier/v1/deliveries?status=failure", &[], "").await.json();
        ended.as_array().expect("a list").len() >= hooks
    })
    .await;
    for delivery in outputs.get("/api/farrier/v1/deliveries").await.json().as_array().expect("a list") {
        let detail = outputs.get(&format!("/api/farrier/v1/deliveries/{}", text(&delivery["guid"]))).await;
        assert_eq!(detail.status, 200, "{detail:?}");
    }
    assert!(outputs.with("******") > 0, "hidden values are shown as asterisks");
    for secret in HOOKS {
        outputs.secret(secret);
    }
}

/// git gets credentials in its environment, which only the daemon's user can read. They must not appear anywhere
/// else.
const IN_GIT: &[&str] = &["environment of a process"];
const MIGRATIONS: [Secret; 3] = [
    Secret::but("a source's password", "wombat-mp-a1b2c", IN_GIT),
    Secret::but("a source's token", "wombat-mt-d3e4f", IN_GIT),
    Secret::but("a password in a source's address", "wombat-mu-56789", IN_GIT),
];

/// Migrations with credentials from sources that refuse, that do not answer, or whose URL is invalid.
pub(super) async fn migrations(program: &Binary, outputs: &mut Outputs) {
    let [password, token, userinfo] = MIGRATIONS.map(|secret| secret.text);
    let head =
        b"HTTP/1.1 401 Unauthorized\r\nWWW-Authenticate: Basic\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
    let refusing = Source::answering(move |_| Some(head.to_vec())).await;
    let silent = Source::answering(|_| None).await;
    let in_address = format!("http://u:{userinfo}@");
    for fields in [
        json!({ "auth_username": "u", "auth_password": password }),
        json!({ "auth_token": token }),
        json!({ "clone_addr": refusing.url("x").replacen("http://", &in_address, 1) }),
        json!({ "clone_addr": format!("{in_address}no.example:1/x") }),
        json!({ "clone_addr": format!("ssh://u:{userinfo}@h/x") }),
    ] {
        let mut body = json!({ "clone_addr": refusing.url("x"), "repo_name": "copy" });
        for (key, value) in fields.as_object().expect("an object") {
            body[key] = value.clone();
        }
        let refused = outputs.ask("POST", "/api/v1/repos/migrate", &[], &body.to_string()).await;
        assert_eq!(refused.status, 422, "{refused:?}");
    }
    let body = json!({ "clone_addr": silent.url("x").replacen("http://", &in_address, 1), "repo_name": "slow",
        "auth_username": "u", "auth_password": password });
    let started = outputs.ask("POST", "/api/v1/repos/migrate", &[("prefer", "respond-async")], &body.to_string()).await;
    assert_eq!(started.status, 202, "{started:?}");
    eventually("git asks the source", async || silent.requests.load(std::sync::atomic::Ordering::SeqCst) > 0).await;
    outputs.processes(program.id());
    assert!(outputs.with(&silent.address) > 0, "the git process was recorded");
    outputs.get("/api/v1/repos/admin/slow").await;
    assert_eq!(outputs.ask("DELETE", "/api/v1/repos/admin/slow", &[], "").await.status, 204);
    for secret in MIGRATIONS {
        outputs.secret(secret);
    }
}
