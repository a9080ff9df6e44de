//! Reading branches.

use http::Method;
use serde_json::json;

use super::demo;
use crate::support::{Import, TestDaemon, send};

#[tokio::test]
async fn a_branch_with_slashes_is_found_escaped_and_unescaped() {
    let farrier = TestDaemon::start().await;
    let demo = demo(&farrier).await;
    let raw = farrier.json(&demo.at("/branches/feature/x")).await;
    assert_eq!(raw, farrier.json(&demo.at("/branches/feature%2Fx")).await);
    assert_eq!(raw, farrier.json(&demo.at("//branches/feature%2Fx/?")).await);
    assert_eq!(raw["name"], "feature/x");
    let commit = &raw["commit"];
    assert_eq!(commit["id"], demo.git(&["rev-parse", "feature/x"]));
    assert_eq!(commit["timestamp"], "2026-01-02T10:34:05+05:30");
    assert_eq!(commit["author"], json!({ "name": "A Ü Thor", "email": "a@x.example", "username": "" }));
    assert_eq!(commit["verification"]["verified"], false);
    assert_eq!(commit["verification"].get("signer"), Some(&json!(null)));
    assert_eq!(raw["user_can_push"], false, "the request is anonymous");
    let keys: Vec<_> = raw.as_object().expect("an object").keys().map(String::as_str).collect();
    assert_eq!(keys.len(), 9, "{keys:?}");
    let own = send(&farrier.unix(), Method::GET, &demo.at("/branches/main"), &[], "").await;
    assert_eq!(own.json()["user_can_push"], true);
    for missing in ["/branches/nothing", "/branches/feature", "/branches/main~1", "/branches/-x", "/branches/a%00b"] {
        assert_eq!(farrier.status(&demo.at(missing)).await, 404, "{missing}");
    }
}

#[tokio::test]
async fn an_empty_repository_has_empty_lists() {
    let farrier = TestDaemon::start().await;
    let empty = farrier.git_repository("empty").await;
    for list in ["/branches", "/tags", "/git/refs", "/releases", "/stargazers"] {
        let answer = farrier.get(&empty.at(list)).await;
        assert_eq!((answer.status, answer.text().as_str()), (200, "[]\n"), "{list}");
        assert_eq!(answer.header("x-total-count"), "0", "{list}");
    }
    assert_eq!(farrier.json(&empty.at("/topics")).await, json!({ "topics": [] }));
    assert_eq!(farrier.json(&empty.at("/languages")).await, json!({}));
    assert_eq!(farrier.status(&empty.at("/branches/main")).await, 404);
}

#[tokio::test]
async fn three_hundred_branches_are_paged() {
    let farrier = TestDaemon::start().await;
    let many = farrier.git_repository("many").await;
    let mut import = Import::default().commit("main", 1, &[], "one").file("100644", "a", b"a");
    for number in 0..299 {
        import = import.reference(&format!("refs/heads/b/{number:03}"), 1);
    }
    many.import(&import);
    let mut names = Vec::new();
    for page in 1.. {
        let answer = farrier.get(&many.at(&format!("/branches?limit=500&page={page}"))).await;
        assert_eq!((answer.status, answer.header("x-total-count")), (200, "300"));
        let list = answer.json();
        let list = list.as_array().expect("a list");
        assert!(list.len() <= 50);
        if list.is_empty() {
            break;
        }
        names.extend(list.iter().map(|branch| branch["name"].as_str().expect("text").to_owned()));
    }
    names.dedup();
    assert_eq!(names.len(), 300);
    let second = farrier.get(&many.at("/branches?page=2")).await;
    assert_eq!(second.json().as_array().expect("a list").len(), 30);
    let base = format!("<{}{}/branches?page=", farrier.url, many.api);
    let link = [("3", "next"), ("10", "last"), ("1", "first"), ("1", "prev")];
    assert_eq!(second.header("link"), link.map(|(page, rel)| format!("{base}{page}>; rel=\"{rel}\"")).join(","));
    for invalid in ["limit=0", "limit=x", "page=-1"] {
        let answer = farrier.json(&many.at(&format!("/branches?{invalid}"))).await;
        assert_eq!(answer.as_array().expect("a list").len(), 30, "{invalid}");
    }
}

#[tokio::test]
async fn head_has_no_body_and_other_methods_are_405() {
    let farrier = TestDaemon::start().await;
    let demo = demo(&farrier).await;
    for path in ["/branches", "/branches/main", "/commits", "/contents", "/raw/README.md", "/archive/main.zip"] {
        let get = farrier.get(&demo.at(path)).await;
        let head = send(&farrier.tcp(), Method::HEAD, &demo.at(path), &[], "").await;
        assert_eq!((head.status, head.body.len()), (get.status, 0), "{path}");
        for name in ["content-type", "etag", "link", "x-total-count", "last-modified", "content-disposition"] {
            assert_eq!(head.header(name), get.header(name), "{path} {name}");
        }
    }
    let wrong = send(&farrier.tcp(), Method::POST, &demo.at("/compare/main...main"), &[], "").await;
    assert_eq!((wrong.status, wrong.header("allow")), (405, "GET,HEAD"));
}

#[tokio::test]
async fn private_repositories_are_not_found_by_others() {
    let farrier = TestDaemon::start().await;
    let body = json!({ "name": "secret", "private": true });
    assert_eq!(farrier.admin(Method::POST, "/api/v1/user/repos", body).await.status, 201);
    for path in [
        "branches",
        "branches/main",
        "tags",
        "commits",
        "git/refs",
        "contents",
        "raw/a",
        "archive/main.zip",
        "releases",
    ] {
        let path = format!("/api/v1/repos/admin/secret/{path}");
        assert_eq!(farrier.status(&path).await, 404, "{path}");
    }
    assert_eq!(farrier.admin(Method::GET, "/api/v1/repos/admin/secret/branches", json!(null)).await.status, 200);
}
