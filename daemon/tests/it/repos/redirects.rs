//! Old names of owners and repositories redirect to the new names, on every route.

use farrierd::http::ROUTES;
use http::Method;
use serde_json::{Value, json};

use crate::support::{TestDaemon, send};

/// Routes with an owner in their path that do not redirect, with the reason.
const EXCEPT: [(&str, &str, &str); 3] = [
    ("get", "/{owner}/{repo}/info/lfs/objects/{oid}", SIGNED),
    ("put", "/{owner}/{repo}/info/lfs/objects/{oid}", SIGNED),
    ("post", "/{owner}/{repo}/info/lfs/verify", SIGNED),
];
const SIGNED: &str = "its address is signed and names the repository by its ID";

/// A daemon with the user `new-octo` (formerly `octo`) and the organization `new-acme` (formerly `acme`), each with a
/// renamed repository.
async fn world() -> TestDaemon {
    let farrier = TestDaemon::start().await;
    farrier.account("octo").await;
    let admin = async |method, path: &str, body| {
        let answer = farrier.admin(method, path, body).await;
        assert!(answer.status < 300, "{path}: {answer:?}");
    };
    admin(Method::POST, "/api/v1/orgs", json!({ "username": "acme" })).await;
    for path in ["/api/v1/admin/users/octo/repos", "/api/v1/orgs/acme/repos"] {
        for name in ["same", "demo"] {
            admin(Method::POST, path, json!({ "name": name, "auto_init": true })).await;
        }
    }
    admin(Method::PATCH, "/api/v1/repos/octo/demo", json!({ "name": "new-demo" })).await;
    admin(Method::POST, "/api/v1/admin/users/octo/rename", json!({ "new_username": "new-octo" })).await;
    admin(Method::POST, "/api/v1/orgs/acme/rename", json!({ "new_name": "new-acme" })).await;
    farrier
}

/// A valid request body, so that only the old name matters.
fn body(word: &str, path: &str) -> String {
    let body = match (word, path.rsplit('/').next().unwrap_or_default()) {
        ("post", "repos") => json!({ "name": "x" }),
        ("post", "tokens") => json!({ "name": "x", "scopes": ["all"] }),
        ("post", "teams") => json!({ "name": "x", "units": ["repo.code"] }),
        ("post", "orgs") => json!({ "username": "x" }),
        ("post", "rename") => json!({ "new_username": "x", "new_name": "x" }),
        ("post", "branches") => json!({ "new_branch_name": "x" }),
        ("post", "tags") => json!({ "tag_name": "x" }),
        ("patch", _) if path.contains("branches") => json!({ "name": "x" }),
        ("put", _) => json!({ "permission": "read" }),
        ("patch", _) => json!({}),
        _ => return String::new(),
    };
    body.to_string()
}

#[tokio::test]
async fn every_route_redirects_from_the_old_owner_to_the_new_one() {
    let farrier = world().await;
    let mut wrong = Vec::new();
    for (word, path) in ROUTES {
        let is_org_route = path.starts_with("/api/v1/org");
        let owner = if is_org_route { "acme" } else { "octo" };
        let capture = ["{owner}", "{org}", "{name}"].into_iter().find(|capture| path.contains(capture));
        let Some(capture) = capture.filter(|capture| path.find(capture) == path.find('{')) else { continue };
        if EXCEPT.iter().any(|(method, route, _)| (method, route) == (word, path)) || path.contains("_blob") {
            continue;
        }
        let fill = |owner: &str| {
            let path = path.replacen(capture, owner, 1).replace("{repo}", "same").replace("{user}", "admin");
            let path = path.replace("{org}", "new-acme").replace("{*name}", "main.zip").replace("{*both}", "a...b");
            let mut parts = path.split('/').map(|part| if part.starts_with('{') { "1" } else { part });
            let path = parts.by_ref().collect::<Vec<_>>().join("/");
            if path.ends_with("info/refs") { path + "?service=git-upload-pack" } else { path }
        };
        let method: Method = word.to_uppercase().parse().expect("a method");
        let answer = send(&farrier.unix(), method, &fill(owner), &[], body(word, path)).await;
        let location = answer.header("location").trim_start_matches(&farrier.url).to_owned();
        let mut expected = fill(&format!("new-{owner}"));
        if path.starts_with("/{owner}") && !path.contains("/releases/") && !path.contains("/archive/") {
            expected = expected.replacen("/same/", "/same.git/", 1);
        }
        if (answer.status, location.as_str()) != (307, expected.as_str()) {
            wrong.push(format!("{word} {path}: {} {location:?}, not {expected}", answer.status));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[tokio::test]
async fn an_old_repository_name_below_an_old_owner_name_redirects_as_well() {
    let farrier = world().await;
    for (path, expected) in [
        ("/api/v1/repos/octo/demo", "/api/v1/repos/new-octo/new-demo"),
        ("/api/v1/repos/new-octo/demo", "/api/v1/repos/new-octo/new-demo"),
        ("/api/v1/repos/OCTO/Demo/branches?page=1", "/api/v1/repos/new-octo/new-demo/branches?page=1"),
        (
            "/octo/demo.git/info/refs?service=git-upload-pack",
            "/new-octo/new-demo.git/info/refs?service=git-upload-pack",
        ),
    ] {
        let answer = farrier.admin(Method::GET, path, Value::Null).await;
        let location = answer.header("location").trim_start_matches(&farrier.url);
        assert_eq!((answer.status, location), (307, expected), "{path}");
    }
    // The current owner of a name takes precedence over a redirect.
    let body = json!({ "username": "octo", "email": "other@example.org" });
    assert_eq!(farrier.admin(Method::POST, "/api/v1/admin/users", body).await.status, 201);
    assert_eq!(farrier.show("/api/v1/repos/octo/same").await.status, 404);
    assert_eq!(farrier.show("/api/v1/users/octo").await.json()["login"], "octo");
}
