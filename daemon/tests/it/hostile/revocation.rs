//! Long transfers of callers who lose their access: each ends promptly.

use http::Method;
use serde_json::{Value, json};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
};

use crate::{
    accounts::world::{PASSWORD, World, basic},
    support::{
        TestDaemon, eventually,
        git::{Client, noise},
        in_time, send,
    },
};

/// Sends `request` and reads the first bytes of the response.
async fn begin(farrier: &TestDaemon, request: impl AsRef<[u8]>) -> TcpStream {
    let mut stream = TcpStream::connect(farrier.url.trim_start_matches("http://")).await.expect("the daemon listens");
    stream.write_all(request.as_ref()).await.expect("the daemon reads");
    let mut start = [0; 12];
    in_time("the response begins", stream.read_exact(&mut start)).await.expect("a response");
    assert_eq!(String::from_utf8_lossy(&start), "HTTP/1.1 200");
    stream
}

/// Opens an event stream.
async fn follow(world: &World, authorization: &str, query: &str) -> TcpStream {
    let request =
        format!("GET /api/farrier/v1/events{query} HTTP/1.1\r\nhost: x\r\nauthorization: {authorization}\r\n\r\n");
    begin(&world.farrier, request).await
}

/// The end of a complete chunked response. A broken off response has none.
const LAST_CHUNK: &[u8] = b"\r\n0\r\n\r\n";

/// Reads until the daemon ends the response.
async fn rest(mut stream: TcpStream) -> Vec<u8> {
    let mut read = Vec::new();
    in_time("the response ends", async {
        while !read.ends_with(LAST_CHUNK) && stream.read_buf(&mut read).await.is_ok_and(|length| length > 0) {}
    })
    .await;
    read
}

#[tokio::test]
async fn an_event_stream_ends_when_its_token_or_account_loses_its_rights() {
    let world = World::new().await;
    world.user("octo").await;
    let closed = json!({ "prohibit_login": true });
    let changes = [
        ("delete", "/users/octo/tokens/{token}", Value::Null, 204),
        ("patch", "/admin/users/octo", closed, 200),
        ("delete", "/admin/users/octo", Value::Null, 204),
    ];
    for (word, path, body, status) in changes {
        let created = world
            .admin("post", "/users/octo/tokens", json!({ "name": word.to_owned() + path, "scopes": ["all"] }), 201)
            .await;
        let token = created["sha1"].as_str().expect("text");
        let stream = follow(&world, &format!("token {token}"), "").await;
        world.admin(word, &path.replace("{token}", &created["id"].to_string()), body, status).await;
        rest(stream).await;
        if status == 200 {
            world.admin("patch", "/admin/users/octo", json!({ "prohibit_login": false }), 200).await;
        }
    }
}

#[tokio::test]
async fn an_event_stream_ends_when_the_password_changes() {
    let world = World::new().await;
    world.user("octo").await;
    let stream = follow(&world, &basic("octo", PASSWORD), "").await;
    world.admin("patch", "/admin/users/octo", json!({ "password": "another password" }), 200).await;
    rest(stream).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn transfers_opened_with_a_password_end_when_passwords_are_no_longer_accepted() {
    let config = "[server]\nhosts = [\"x\"]\n";
    let world = World { farrier: TestDaemon::program(config).await };
    let (tip, _) = private_repository(&world).await;
    world.user("octo").await;
    world.admin("put", "/repos/admin/demo/collaborators/octo", json!({ "permission": "read" }), 204).await;
    let by_token = format!("token {}", world.token("octo", &["all"]).await);
    let events = follow(&world, &basic("octo", PASSWORD), "").await;
    let fetch = begin(&world.farrier, fetch_request(&basic("octo", PASSWORD), &tip)).await;
    let mut other = follow(&world, &by_token, "").await;
    world.farrier.reload(&format!("{config}[auth]\npassword_login = false\n")).await;
    rest(events).await;
    let read = rest(fetch).await;
    assert!(read.len() < 24 << 20 && !read.ends_with(LAST_CHUNK), "the response was completed");
    // A stream that was opened with a token continues.
    world.admin("post", "/admin/users/octo/repos", json!({ "name": "own" }), 201).await;
    let mut text = String::new();
    in_time("an event arrives", async {
        let mut bytes = [0; 4_096];
        while !text.contains("octo/own") {
            let read = other.read(&mut bytes).await.expect("events");
            assert!(read > 0, "the stream ended: {text}");
            text.push_str(&String::from_utf8_lossy(&bytes[..read]));
        }
    })
    .await;
}

#[tokio::test]
async fn an_event_stream_of_a_repository_ends_with_the_access_to_it() {
    let world = World::new().await;
    world.user("octo").await;
    world.admin("post", "/user/repos", json!({ "name": "demo", "private": true }), 201).await;
    world.admin("put", "/repos/admin/demo/collaborators/octo", json!({ "permission": "read" }), 204).await;
    let token = format!("token {}", world.token("octo", &["read:repository"]).await);
    let stream = follow(&world, &token, "?repository=admin/demo").await;
    let mut other = follow(&world, &token, "").await;
    world.admin("delete", "/repos/admin/demo/collaborators/octo", Value::Null, 204).await;
    rest(stream).await;
    // A stream of all events continues, without those of the repository.
    world.admin("patch", "/repos/admin/demo", json!({ "private": true, "description": "secret" }), 200).await;
    world.admin("post", "/admin/users/octo/repos", json!({ "name": "own" }), 201).await;
    let mut text = String::new();
    in_time("an event arrives", async {
        let mut bytes = [0; 4_096];
        while !text.contains("octo/own") {
            let read = other.read(&mut bytes).await.expect("events");
            assert!(read > 0, "the stream ended: {text}");
            text.push_str(&String::from_utf8_lossy(&bytes[..read]));
        }
    })
    .await;
}

/// A daemon with the private repository `admin/demo`, which has a large file. Returns the commit and the working copy.
async fn private_repository(world: &World) -> (String, Client) {
    world.admin("post", "/user/repos", json!({ "name": "demo", "private": true }), 201).await;
    let work = Client::init(world.farrier.scratch().join("work"));
    let tip = work.commit("large", noise(24 << 20));
    let token = world.token("admin", &["all"]).await;
    work.done(&["push", "-q", &world.farrier.remote("admin/demo", &token), "main"]);
    (tip, work)
}

/// A fetch of `tip` from `admin/demo`.
fn fetch_request(authorization: &str, tip: &str) -> String {
    let body = format!("0011command=fetch0001000fno-progress0032want {tip}\n0009done\n0000");
    format!(
        "POST /admin/demo/git-upload-pack HTTP/1.1\r\nhost: x\r\nauthorization: {authorization}\r\n\
         content-type: application/x-git-upload-pack-request\r\ngit-protocol: version=2\r\n\
         content-length: {}\r\n\r\n{body}",
        body.len()
    )
}

#[tokio::test(flavor = "multi_thread")]
async fn a_fetch_ends_when_its_token_is_deleted() {
    let world = World::new().await;
    let (tip, _) = private_repository(&world).await;
    let created = world.admin("post", "/users/admin/tokens", json!({ "name": "t", "scopes": ["all"] }), 201).await;
    let authorization = basic("any", created["sha1"].as_str().expect("text"));
    let stream = begin(&world.farrier, fetch_request(&authorization, &tip)).await;
    world.admin("delete", &format!("/users/admin/tokens/{}", created["id"]), Value::Null, 204).await;
    let read = rest(stream).await;
    assert!(read.len() < 24 << 20 && !read.ends_with(LAST_CHUNK), "the response was completed");
}

/// Sends a push of the commit `tip` to the new branch `name` of `admin/demo`, except for its last bytes. Waits until
/// git runs. Returns the missing bytes.
async fn begin_push(world: &World, authorization: &str, tip: &str, name: &str) -> (TcpStream, Vec<u8>) {
    let line = format!("{} {tip} refs/heads/{name}\0report-status", "0".repeat(40));
    // A pack with a file that no commit has, so that git runs. The commit exists already.
    let mut pack = b"PACK\0\0\0\x02\0\0\0\x01\x31\x78\x01\x01\x01\0\xfe\xff\x78\0\x79\0\x79".to_vec();
    pack.extend(hex::decode("ae3c058e7e4ac6914f0954fdf89c105ae1bde768").expect("the digest of the pack"));
    let body = [format!("{:04x}{line}0000", line.len() + 4).as_bytes(), &pack].concat();
    let head = format!(
        "POST /admin/demo/git-receive-pack HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\
         authorization: {authorization}\r\ncontent-type: application/x-git-receive-pack-request\r\n\
         content-length: {}\r\n\r\n",
        body.len()
    );
    let mut stream =
        TcpStream::connect(world.farrier.url.trim_start_matches("http://")).await.expect("the daemon listens");
    let (first, last) = body.split_at(body.len() - 5);
    stream.write_all(&[head.as_bytes(), first].concat()).await.expect("the daemon reads");
    let running = async || {
        let status = send(&world.farrier.unix(), Method::GET, "/api/farrier/v1/status", &[], "").await.json();
        status["limits"].as_array().expect("a list").iter().any(|limit| limit["kind"] == "git" && limit["running"] == 1)
    };
    eventually("git runs", running).await;
    (stream, last.to_vec())
}

/// The status of a push whose branch a rule protects, and a text of its report.
const REFUSED_BY_RULE: [&str; 2] = ["200", "ng refs/heads/new branch new is protected: "];

/// Sends the last bytes of a push, which must be refused with the text `expected`. No branch was created.
async fn end_refused_push(
    world: &World,
    work: &Client,
    (mut stream, last): (TcpStream, Vec<u8>),
    [status, expected]: [&str; 2],
) {
    // The daemon may have answered already.
    let _ = stream.write_all(&last).await;
    let mut text = Vec::new();
    in_time("the response ends", stream.read_to_end(&mut text)).await.expect("a response");
    let text = String::from_utf8_lossy(&text).into_owned();
    assert!(text.starts_with(&format!("HTTP/1.1 {status} ")) && text.contains(expected), "{text}");
    let token = world.token("admin", &["all"]).await;
    let refs = work.done(&["ls-remote", "--heads", &world.farrier.remote("admin/demo", &token)]);
    assert_eq!(refs.lines().count(), 1, "{refs}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_push_is_refused_when_its_token_is_deleted_before_its_end() {
    let world = World::new().await;
    let (tip, work) = private_repository(&world).await;
    let created = world.admin("post", "/users/admin/tokens", json!({ "name": "t", "scopes": ["all"] }), 201).await;
    let authorization = basic("any", created["sha1"].as_str().expect("text"));
    let push = begin_push(&world, &authorization, &tip, "stolen").await;
    world.admin("delete", &format!("/users/admin/tokens/{}", created["id"]), Value::Null, 204).await;
    end_refused_push(&world, &work, push, ["403", "your access was revoked"]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_push_is_refused_when_its_branch_is_protected_before_its_end() {
    let world = World::new().await;
    let (tip, work) = private_repository(&world).await;
    let authorization = basic("any", &world.token("admin", &["all"]).await);
    let push = begin_push(&world, &authorization, &tip, "new").await;
    let rule = json!({ "rule_name": "new", "enable_push": false });
    world.admin("post", "/repos/admin/demo/branch_protections", rule, 201).await;
    end_refused_push(&world, &work, push, REFUSED_BY_RULE).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_push_whose_objects_are_checked_is_refused_when_its_rule_becomes_stricter_before_its_end() {
    let world = World::new().await;
    let (tip, work) = private_repository(&world).await;
    let rule = json!({ "rule_name": "new", "enable_push": true, "protected_file_patterns": "x" });
    world.admin("post", "/repos/admin/demo/branch_protections", rule, 201).await;
    let authorization = basic("any", &world.token("admin", &["all"]).await);
    let push = begin_push(&world, &authorization, &tip, "new").await;
    let stricter = json!({ "enable_push": false });
    world.admin("patch", "/repos/admin/demo/branch_protections/new", stricter, 200).await;
    end_refused_push(&world, &work, push, REFUSED_BY_RULE).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_event_stream_ends_when_its_caller_loses_its_team() {
    let world = World::new().await;
    world.user("octo").await;
    world.admin("post", "/orgs", json!({ "username": "acme" }), 201).await;
    let units = json!({ "name": "devs", "units": ["repo.code"] });
    let team = world.admin("post", "/orgs/acme/teams", units, 201).await["id"].clone();
    world.admin("post", "/orgs/acme/repos", json!({ "name": "app", "private": true }), 201).await;
    let token = format!("token {}", world.token("octo", &["all"]).await);
    for (word, path) in [
        ("delete", format!("/teams/{team}/members/octo")),
        ("delete", format!("/teams/{team}/repos/acme/app")),
        ("delete", "/orgs/acme/members/octo".to_owned()),
        ("delete", format!("/teams/{team}")),
    ] {
        world.admin("put", &format!("/teams/{team}/members/octo"), Value::Null, 204).await;
        world.admin("put", &format!("/teams/{team}/repos/acme/app"), Value::Null, 204).await;
        let stream = follow(&world, &token, "?repository=acme/app").await;
        world.admin(word, &path, Value::Null, 204).await;
        rest(stream).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_artifact_download_ends_when_its_token_is_deleted() {
    let world = World::new().await;
    world.admin("post", "/user/repos", json!({ "name": "demo", "private": true }), 201).await;
    let job = world.farrier.begin("demo", None).await;
    world.farrier.upload(&job, "large", &noise(24 << 20)).await;
    let created = world.admin("post", "/users/admin/tokens", json!({ "name": "t", "scopes": ["all"] }), 201).await;
    let authorization = format!("token {}", created["sha1"].as_str().expect("text"));
    let list = world.ask(&authorization, "get", "/repos/admin/demo/actions/artifacts", Value::Null).await.json();
    let path = format!("/repos/admin/demo/actions/artifacts/{}/zip", list["artifacts"][0]["id"]);
    let found = world.ask(&authorization, "get", &path, Value::Null).await;
    assert_eq!(found.status, 302, "{found:?}");
    let path = world.farrier.path_of(found.header("location"));
    let stream = begin(&world.farrier, format!("GET {path} HTTP/1.1\r\nhost: x\r\n\r\n")).await;
    world.admin("delete", &format!("/users/admin/tokens/{}", created["id"]), Value::Null, 204).await;
    assert!(rest(stream).await.len() < 24 << 20, "the download was completed");
    assert_eq!(send(&world.farrier.tcp(), Method::GET, &path, &[], "").await.status, 403);
}
