//! The log at its default level: one line per request, and one per action that matters for security.

use base64::{Engine as _, engine::general_purpose::STANDARD as BASE64};
use http::Method;
use serde_json::json;

use crate::support::{Binary, ServerAddress, eventually, git, send};

/// The lines of the log that contain `text`.
fn lines(program: &Binary, text: &str) -> Vec<String> {
    program.log().lines().filter(|line| line.contains(text)).map(str::to_owned).collect()
}

/// Waits for a log line that contains `text` and returns it.
async fn line(program: &Binary, text: &str) -> String {
    eventually(text, async || !lines(program, text).is_empty()).await;
    lines(program, text).remove(0)
}

#[tokio::test]
async fn each_request_is_logged_once_with_account_path_and_size() {
    let mut program = Binary::new("[server]\ntrusted_proxies = [\"127.0.0.0/8\"]\n");
    program.start().await;
    let path = "/api/v1/repos/search";
    let answer = send(&program.tcp(), Method::GET, &format!("{path}?token=&q=planted-in-the-query"), &[], "").await;
    let logged = line(&program, path).await;
    let id = answer.header("x-request-id");
    let bytes = answer.body.len();
    for part in [
        "INFO farrierd::access: request ".to_owned(),
        format!(
            "request_id=\"{id}\" method=\"GET\" path=\"{path}\" account=\"-\" client=127.0.0.1 status=200 bytes={bytes}"
        ),
        " duration_ms=".to_owned(),
    ] {
        assert!(logged.contains(&part), "{part}: {logged}");
    }
    assert!(!program.log().contains("planted-in-the-query"));

    send(&program.unix(), Method::GET, "/api/v1/user", &[], "").await;
    let logged = line(&program, "/api/v1/user").await;
    let uid = rustix::process::getuid().as_raw();
    assert!(logged.contains(&format!("account=\"admin\" uid={uid} status=200")), "{logged}");

    // The address that a trusted proxy forwards.
    let forwarded = [("x-forwarded-for", "203.0.113.9")];
    send(&program.tcp(), Method::HEAD, "/api/v1/nothing", &forwarded, "").await;
    let logged = line(&program, "/api/v1/nothing").await;
    assert!(logged.contains("client=203.0.113.9 status=404 bytes=0"), "{logged}");
    assert_eq!(lines(&program, "/api/v1/nothing").len(), 1);
}

#[tokio::test]
async fn a_stream_is_logged_when_it_ends() {
    let mut program = Binary::new("");
    program.start().await;
    let path = "/api/farrier/v1/events";
    let ServerAddress::Unix(socket) = program.unix() else { panic!("a socket") };
    let mut stream = tokio::net::UnixStream::connect(socket).await.expect("the daemon listens");
    let request = format!("GET {path} HTTP/1.1\r\nHost: localhost\r\nAccept: text/event-stream\r\n\r\n");
    tokio::io::AsyncWriteExt::write_all(&mut stream, request.as_bytes()).await.expect("the daemon reads");
    tokio::io::AsyncReadExt::read_u8(&mut stream).await.expect("an answer");
    assert!(lines(&program, path).is_empty(), "the stream is still open");
    drop(stream);
    let logged = line(&program, path).await;
    assert!(logged.contains("status=200"), "{logged}");
}

#[tokio::test]
async fn security_events_are_logged_without_secrets() {
    let mut program = Binary::new("");
    program.start().await;
    let admin = async |method: Method, path: &str, body: serde_json::Value| {
        send(&program.unix(), method, path, &[], body.to_string()).await
    };
    let user = json!({ "username": "alice", "email": "a@example.org", "password": "wombat-right-pw",
        "must_change_password": false });
    assert_eq!(admin(Method::POST, "/api/v1/admin/users", user).await.status, 201);
    let uid = rustix::process::getuid().as_raw();
    let logged = line(&program, "farrierd::security: user.create ").await;
    let part = format!("by=\"admin\" uid={uid} object=\"user\" object_id=2 name=\"alice\"");
    assert!(logged.contains(&part) && logged.contains("result=\"done\""), "{logged}");
    let body = json!({ "name": "t", "scopes": ["write:repository"] });
    let created = admin(Method::POST, "/api/v1/users/alice/tokens", body).await;
    let (token, id) = (created.json()["sha1"].as_str().expect("a token").to_owned(), created.json()["id"].to_string());
    let logged = line(&program, "farrierd::security: token.create ").await;
    let part = format!("object=\"token\" object_id={id} name=\"t\" owner=\"alice\"");
    assert!(logged.contains(&part) && logged.contains("write:repository"), "{logged}");

    let basic = |name: &str, password: &str| format!("Basic {}", BASE64.encode(format!("{name}:{password}")));
    for attempt in 0..11 {
        let header = basic("alice", "wombat-wrong-pw");
        let refused = send(&program.tcp(), Method::GET, "/api/v1/user", &[("authorization", &header)], "").await;
        assert_eq!(refused.status, if attempt < 3 { 401 } else { refused.status }, "{refused:?}");
    }
    line(&program, "sign-in failed account=\"alice\" source=\"ip 127.0.0.1\"").await;
    line(&program, "too many failed sign-ins: further ones are refused account=\"alice\"").await;
    // The user name may be a token or password by mistake, so it is not logged.
    let header = basic("wombat-secret-as-name", "wombat-wrong-pw");
    send(&program.unix(), Method::GET, "/api/v1/user", &[("authorization", &header)], "").await;
    line(&program, "sign-in failed account=\"-\" source=\"uid").await;

    assert_eq!(admin(Method::POST, "/api/v1/user/repos", json!({ "name": "tool" })).await.status, 201);
    let work = git::Client::init(program.scratch().join("work"));
    let ServerAddress::Tcp(address) = program.tcp() else { panic!("an address") };
    let all = json!({ "name": "push", "scopes": ["all"] });
    let pusher = admin(Method::POST, "/api/v1/users/admin/tokens", all).await.json()["sha1"].clone();
    let remote = format!("http://admin:{}@{address}/admin/tool.git", pusher.as_str().expect("a token"));
    for (message, options) in [("one", &["push", "-q"][..]), ("two", &["push", "-q", "--force"])] {
        work.done(&["checkout", "-q", "--orphan", message]);
        work.done(&["commit", "-q", "--allow-empty", "-m", message]);
        work.done(&[options, &[&remote, &format!("{message}:main")]].concat());
    }
    line(&program, "farrierd::security: ref.force_push ").await;
    work.done(&["commit", "-q", "--allow-empty", "-m", "three"]);
    work.done(&["push", "-q", &remote, "two:main"]);

    assert_eq!(admin(Method::DELETE, &format!("/api/v1/users/alice/tokens/{id}"), json!({})).await.status, 204);
    line(&program, "farrierd::security: token.delete ").await;
    assert_eq!(admin(Method::DELETE, "/api/v1/repos/admin/tool", json!({})).await.status, 204);
    line(&program, "farrierd::security: repository.delete ").await;
    assert_eq!(lines(&program, "ref.force_push").len(), 1, "an ordinary push is not a forced one");
    assert!(!program.log().contains("wombat") && !program.log().contains(&token), "{}", program.log());
}
