//! Settings that restrict who gets in: `auth.password_login`, `auth.require_sign_in`, `repositories.default_private`.

use farrierd::{clock::Clock, http::ROUTES};
use http::Method;
use serde_json::{Value, json};

use super::world::{PASSWORD, World, basic, method};
use crate::support::{Source, TestDaemon, git::Client, send};

#[tokio::test(flavor = "multi_thread")]
async fn without_password_login_only_tokens_are_accepted() {
    let world = World::with(|config| config.auth.password_login = false).await;
    world.user_with("octo", json!({ "must_change_password": true })).await;
    world.admin("post", "/admin/users/octo/repos", json!({ "name": "demo", "private": true }), 201).await;
    let token = world.token("octo", &["all"]).await;
    for wrong in [basic("octo", PASSWORD), basic("octo", "wrong"), basic("nobody", PASSWORD)] {
        for path in ["/user", "/version"] {
            let (status, refused) = world.get(&wrong, path).await;
            let message = refused["message"].as_str().unwrap_or_default();
            assert!(status == 401 && message.contains("passwords are not accepted"), "{path}: {refused}");
        }
    }
    // The initial password cannot be used, so it need not be changed.
    for form in [format!("token {token}"), basic("octo", &token), basic(&token, "")] {
        assert_eq!(world.get(&form, "/user").await.0, 200, "{form}");
    }
    let body = json!({ "old_password": PASSWORD, "new_password": "a new password" }).to_string();
    let path = "/api/farrier/v1/user/password";
    let headers = [("authorization", &*format!("token {token}")), ("content-type", "application/json")];
    let refused = send(&world.farrier.tcp(), Method::PUT, path, &headers, body.clone()).await;
    assert!(refused.status == 403 && refused.text().contains("auth.password_login"), "{refused:?}");
    assert_eq!(send(&world.farrier.unix(), Method::PUT, path, &headers[1..], body).await.status, 204);

    let git = Client::at(world.farrier.scratch());
    let remote =
        |secret: &str| world.farrier.url.replace("http://", &format!("http://octo:{secret}@")) + "/octo/demo.git";
    git.done(&["ls-remote", &remote(&token)]);
    let refused = git.refused(&["ls-remote", &remote("correct%20horse")]);
    assert!(refused.contains("send an access token, for git as password"), "{refused}");
}

/// Routes that stay open: health, version, the public keys of ID tokens, and those with credentials of their own.
const OPEN: [&str; 11] = [
    "/api/healthz",
    "/api/v1/version",
    "/.well-known/openid-configuration",
    "/.well-known/jwks",
    "/_internal/register",
    "/_internal/revoke",
    "/twirp",
    "/twirp/{*service_and_method}",
    "/_blob/{artifact}/{generation}/{file}",
    "/{owner}/{repo}/info/lfs/objects/{oid}",
    "/{owner}/{repo}/info/lfs/verify",
];

#[tokio::test(flavor = "multi_thread")]
async fn with_required_sign_in_every_route_refuses_anonymous_callers() {
    let clock = Clock::manual(1_767_323_045_000);
    let farrier = TestDaemon::with_clock(clock.clone(), |config| config.auth.require_sign_in = true).await;
    let world = World { farrier };
    world.user("octo").await;
    world.admin("post", "/admin/users/octo/repos", json!({ "name": "demo", "auto_init": true }), 201).await;
    let fill = |path: &str| {
        let path = path.replace("{owner}", "octo").replace("{repo}", "demo").replace("{name}", "octo");
        let path = path.replace("{*name}", "main.zip").replace("{*ref}", "main").replace("{*path}", "README.md");
        let path = path.replace("/info/refs", "/info/refs?service=git-upload-pack");
        let segments = path.split('/').map(|part| if part.starts_with('{') { "1" } else { part });
        segments.collect::<Vec<_>>().join("/")
    };
    let pages = [("get", "/"), ("get", "/octo"), ("get", "/octo/demo"), ("get", "/avatars/1")];
    let mut wrong = Vec::new();
    for (word, path) in ROUTES.iter().filter(|(_, path)| !OPEN.contains(path)).chain(&pages) {
        let word = if *word == "any" { "post" } else { word };
        for headers in [&[][..], &[("authorization", "token 0123")]] {
            let answer = send(&world.farrier.tcp(), method(word), &fill(path), headers, "").await;
            if answer.status != 401 {
                wrong.push(format!("{word} {path} {headers:?}: {}", answer.status));
            }
            // More refused tokens at the same time would be answered with 429.
            clock.advance_ms(1_000);
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    for path in ["/api/healthz", "/api/v1/version", "/api/v1/version?x=1"] {
        assert_eq!(send(&world.farrier.tcp(), Method::GET, path, &[], "").await.status, 200, "{path}");
    }
    for path in ["/octo/demo", "/octo/demo.git/info/refs?service=git-upload-pack"] {
        let challenge = send(&world.farrier.tcp(), Method::GET, path, &[], "").await;
        assert_eq!(challenge.header("www-authenticate"), "Basic realm=\"farrier\"", "{path}");
    }

    let token = world.token("octo", &["all"]).await;
    let signed_in = basic("octo", &token);
    let archive = "/api/v1/repos/octo/demo/archive/main.zip";
    for path in [archive, "/octo/demo", "/avatars/1", "/openapi.json", "/api/v1/settings/api"] {
        let answer = send(&world.farrier.tcp(), Method::GET, path, &[("authorization", &signed_in)], "").await;
        assert_eq!(answer.status, 200, "{path}");
    }
    let git = Client::at(world.farrier.scratch());
    git.refused(&["ls-remote", &format!("{}/octo/demo.git", world.farrier.url)]);
    git.done(&["ls-remote", &world.farrier.remote("octo/demo", &token)]);
    // The socket identifies the operator.
    world.admin("get", "/repos/octo/demo", Value::Null, 200).await;
}

#[tokio::test]
async fn repositories_are_private_by_default_if_configured() {
    let world = World::with(|config| {
        config.repositories.default_private = true;
        config.migration.allowed_hosts = "loopback".into();
    })
    .await;
    world.user("octo").await;
    world.admin("post", "/admin/users/octo/orgs", json!({ "username": "acme" }), 201).await;
    let token = format!("token {}", world.token("octo", &["all"]).await);
    for (n, (path, private, expected)) in [
        ("/user/repos", None, true),
        ("/user/repos", Some(Value::Null), true),
        ("/user/repos", Some(json!(false)), false),
        ("/user/repos", Some(json!(true)), true),
        ("/orgs/acme/repos", None, true),
        ("/orgs/acme/repos", Some(json!(false)), false),
    ]
    .into_iter()
    .enumerate()
    {
        let mut body = json!({ "name": format!("r{n}") });
        if let Some(private) = private {
            body["private"] = private;
        }
        let created = world.ask(&token, "post", path, body.clone()).await;
        assert_eq!((created.status, &created.json()["private"]), (201, &json!(expected)), "{path} {body}");
    }
    let source = Source::answering(|_| None).await;
    let body = json!({ "clone_addr": source.url("x"), "repo_name": "imported" }).to_string();
    let json_type = ("content-type", "application/json");
    let headers = [("authorization", token.as_str()), ("prefer", "respond-async"), json_type];
    let imported = send(&world.farrier.tcp(), Method::POST, "/api/v1/repos/migrate", &headers, body).await;
    assert_eq!((imported.status, &imported.json()["private"]), (202, &json!(true)), "{imported:?}");
}

#[tokio::test]
async fn a_password_change_revokes_the_other_tokens_on_request() {
    let world = World::new().await;
    world.user("octo").await;
    let [kept, other] = [world.token("octo", &["all"]).await, world.token("octo", &["all"]).await];
    let change = async |old: &str, new: &str, revoke: bool| {
        let body = json!({ "old_password": old, "new_password": new, "revoke_tokens": revoke }).to_string();
        let headers = [("authorization", &*format!("token {kept}")), ("content-type", "application/json")];
        send(&world.farrier.tcp(), Method::PUT, "/api/farrier/v1/user/password", &headers, body).await.status
    };
    let status = async |token: &str| world.get(&format!("token {token}"), "/user").await.0;
    assert_eq!(change("wrong", "a new password", true).await, 422);
    assert_eq!(change(PASSWORD, "a new password", false).await, 204);
    assert_eq!((status(&kept).await, status(&other).await), (200, 200));
    assert_eq!(change("a new password", "a newer password", true).await, 204);
    assert_eq!((status(&kept).await, status(&other).await), (200, 401));
}
