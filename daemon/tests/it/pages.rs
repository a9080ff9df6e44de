//! URLs in responses can be opened, and the pages behind them show only what the caller may see.

use std::collections::{BTreeMap, VecDeque};

use base64::{Engine as _, prelude::BASE64_STANDARD};
use http::Method;
use serde_json::{Value, json};

use crate::support::{Answer, Receiver, TestDaemon, eventually, git::Client, send};

/// Maximum number of URLs that the test follows.
const ADDRESSES_MAX: usize = 2_000;

async fn anonymous(farrier: &TestDaemon, path: &str) -> Answer {
    send(&farrier.tcp(), Method::GET, path, &[("accept", "text/html")], "").await
}

/// A daemon with an object of every kind that has a URL.
async fn populated() -> TestDaemon {
    let farrier = TestDaemon::with(|config| config.webhook.allowed_hosts = "loopback".into()).await;
    let receiver = Receiver::start().await;
    farrier.user("octo").await;
    for (path, body) in [
        ("/api/v1/orgs", json!({ "username": "acme" })),
        ("/api/v1/orgs/acme/repos", json!({ "name": "web" })),
        ("/api/v1/user/repos", json!({ "name": "demo", "description": "a <b>\"bold\"</b> tool" })),
        (
            "/api/v1/repos/admin/demo/hooks",
            json!({
                "type": "gitea", "active": true, "events": ["push", "create", "repository", "workflow_job", "workflow_run"],
                "config": { "url": receiver.url, "content_type": "json" },
            }),
        ),
    ] {
        let created = farrier.admin(Method::POST, path, body).await;
        assert_eq!(created.status, 201, "{created:?}");
    }
    let token = farrier.token("admin", &["all"]).await;
    let work = Client::init(farrier.scratch().join("work"));
    std::fs::create_dir(work.dir().join("dir")).expect("a directory");
    work.commit("dir/a b.txt", "text");
    work.commit("b", "b");
    work.done(&["tag", "light"]);
    work.done(&["tag", "-a", "-m", "heavy", "heavy"]);
    work.done(&["push", "-q", &farrier.remote("admin/demo", &token), "main", "main:topic/x", "light", "heavy"]);
    let job = farrier.begin("demo", None).await;
    farrier.upload(&job, "log", b"bytes").await;
    farrier.end(&job).await;
    eventually("all deliveries have succeeded", async || {
        let list = farrier.admin(Method::GET, "/api/farrier/v1/deliveries", Value::Null).await.json();
        let rows = list.as_array().expect("a list").clone();
        rows.len() >= 6 && rows.iter().all(|row| row["state"] == "success")
    })
    .await;
    farrier
}

/// Collects all URLs in `value` that begin with `root`, with the names of their fields.
fn addresses(root: &str, value: &Value, field: &str, found: &mut Vec<(String, String)>) {
    match value {
        Value::String(text) if text.starts_with(root) && !text.contains('{') => {
            found.push((text.clone(), field.to_owned()));
        }
        Value::Array(all) => all.iter().for_each(|one| addresses(root, one, field, found)),
        Value::Object(fields) => fields.iter().for_each(|(name, one)| addresses(root, one, name, found)),
        _ => {}
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn every_url_in_a_response_can_be_opened() {
    let farrier = populated().await;
    let fetched = farrier.admin(Method::GET, "/api/v1/repos/admin/demo", Value::Null).await.json();
    let clone_url = fetched["clone_url"].as_str().expect("text");
    let root = clone_url.strip_suffix("/admin/demo.git").expect("the clone URL of the repository").to_owned();
    let repository = "/api/v1/repos/admin/demo";
    let mut begin: Vec<String> = ["", "/branches", "/tags", "/commits", "/contents", "/contents/dir", "/git/refs"]
        .into_iter()
        .chain(["/git/trees/main?recursive=1", "/hooks", "/actions/runs", "/actions/tasks", "/actions/artifacts"])
        .map(|path| format!("{repository}{path}"))
        .collect();
    for path in ["/user", "/users/search", "/orgs", "/orgs/acme/teams", "/repos/search", "/user/repos", "/licenses"] {
        begin.push(format!("/api/v1{path}"));
    }
    // Not /events: its answer is a stream without an end.
    for path in ["/hooks", "/deliveries", "/runs", "/artifacts", "/status"] {
        begin.push(format!("/api/farrier/v1{path}"));
    }
    let deliveries = farrier.admin(Method::GET, "/api/farrier/v1/deliveries", Value::Null).await.json();
    for row in deliveries.as_array().expect("a list") {
        begin.push(format!("/api/farrier/v1/deliveries/{}", row["id"]));
    }
    let mut observed: BTreeMap<String, u16> = BTreeMap::new();
    let mut fields: BTreeMap<String, usize> = BTreeMap::new();
    let mut queue: VecDeque<(String, String)> = begin.into_iter().map(|path| (path, "begin".to_owned())).collect();
    while let Some((path, field)) = queue.pop_front() {
        if observed.contains_key(&path) {
            continue;
        }
        assert!(observed.len() < ADDRESSES_MAX, "the responses contain too many URLs: {fields:?}");
        let answer = farrier.admin(Method::GET, &path, Value::Null).await;
        let exists = matches!(answer.status, 200 | 302 | 401 | 405);
        assert!(exists, "{field} leads to {path}: {} {}", answer.status, answer.text());
        observed.insert(path, answer.status);
        *fields.entry(field).or_default() += 1;
        if answer.status == 200 && answer.header("content-type").starts_with("application/json") {
            let mut found = Vec::new();
            addresses(&root, &answer.json(), "", &mut found);
            for (address, field) in found {
                let path = &address[root.len()..];
                queue.push_back((if path.is_empty() { "/" } else { path }.to_owned(), field));
            }
        }
    }
    for field in ["html_url", "avatar_url", "clone_url", "url", "git", "download_url", "zipball_url", "compare_url"] {
        assert!(fields.contains_key(field), "no response has {field}: {fields:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_page_shows_the_clone_url_and_allows_no_scripts() {
    let farrier = populated().await;
    let page = anonymous(&farrier, "/admin/demo").await;
    assert_eq!((page.status, page.header("content-type")), (200, "text/html; charset=utf-8"));
    assert_eq!(
        page.header("content-security-policy"),
        "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    );
    let text = page.text();
    assert!(text.contains("git clone http://") && text.contains("/admin/demo.git\n"), "{text}");
    assert!(text.contains("a &lt;b&gt;&quot;bold&quot;&lt;/b&gt; tool"), "{text}");
    let owner = anonymous(&farrier, "/acme").await;
    assert!(owner.text().contains("<a href=\"/acme/web\">acme/web</a>"), "{owner:?}");
    let commit = anonymous(&farrier, "/admin/demo/commit/abcd").await.text();
    assert!(commit.contains("git show abcd"), "{commit}");
    let avatar = anonymous(&farrier, "/avatars/1").await;
    assert_eq!((avatar.status, avatar.header("content-type")), (200, "image/svg+xml"));
    let post = send(&farrier.tcp(), Method::POST, "/admin/demo", &[], "").await;
    assert_eq!(post.status, 404, "{post:?}");

    let edit = json!({ "name": "tool" });
    assert_eq!(farrier.admin(Method::PATCH, "/api/v1/repos/admin/demo", edit).await.status, 200);
    let moved = anonymous(&farrier, "/admin/demo").await;
    assert_eq!((moved.status, moved.header("location").ends_with("/admin/tool")), (307, true), "{moved:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_private_repository_looks_like_a_missing_one() {
    let farrier = TestDaemon::start().await;
    for (name, private) in [("open", false), ("hidden", true)] {
        let body = json!({ "name": name, "private": private });
        assert_eq!(farrier.admin(Method::POST, "/api/v1/user/repos", body).await.status, 201);
    }
    farrier.user("eve").await;
    let basic = async |user: &str| {
        let token = farrier.token(user, &["all"]).await;
        format!("Basic {}", BASE64_STANDARD.encode(format!("{user}:{token}")))
    };
    let (admin, eve) = (basic("admin").await, basic("eve").await);
    let look = async |who: &str, path: &str| {
        let mut headers = vec![("accept", "text/html")];
        headers.extend(Some(("authorization", who)).filter(|(_, who)| !who.is_empty()));
        send(&farrier.tcp(), Method::GET, path, &headers, "").await
    };
    for who in ["", &eve] {
        for path in ["hidden", "hidden.git", "hidden/commit/abcd", "missing"] {
            let answer = look(who, &format!("/admin/{path}")).await;
            assert_eq!((answer.status, answer.text().contains("hidden")), (404, false), "{who} {path}: {answer:?}");
            assert_eq!(answer.body, look(who, "/admin/missing").await.body);
        }
        let owner = look(who, "/admin").await;
        assert!(owner.text().contains("admin/open") && !owner.text().contains("hidden"), "{owner:?}");
    }
    assert_eq!(look(&admin, "/admin/hidden").await.status, 200);
    assert!(look(&admin, "/admin").await.text().contains("admin/hidden"));
    // Other clients get the same response as for a missing route.
    let program = send(&farrier.tcp(), Method::GET, "/admin/hidden", &[], "").await;
    assert_eq!((program.status, program.json().is_object()), (404, true), "{program:?}");
}
