//! Access tokens: creation, scopes, limits and expiry.

use farrierd::{clock::Clock, config::Config};
use http::Method;
use serde_json::{Value, json};

use super::world::{PASSWORD, World, basic};
use crate::support::{TestDaemon, eventually, send};

const NOW_MS: i64 = 1_767_323_045_000;

#[tokio::test]
async fn a_token_is_shown_once_and_deleted_by_id_or_name() {
    let world = World::new().await;
    world.user("octo").await;
    let me = basic("octo", PASSWORD);
    let create = async |body: Value| world.ask(&me, "post", "/users/octo/tokens", body).await;
    let created = create(json!({ "name": "ci", "scopes": ["write:repository"] })).await;
    let clear = created.json()["sha1"].as_str().expect("text").to_owned();
    assert_eq!((created.status, clear.len()), (201, 40));
    assert!(clear.starts_with("frr_") && clear[4..].bytes().all(|byte| byte.is_ascii_alphanumeric()), "{clear}");
    assert!(clear.ends_with(created.json()["token_last_eight"].as_str().expect("text")));
    for (name, scopes) in [("ci", json!(["all"])), ("x", json!([])), ("x", json!(["fly"])), ("", json!(["all"]))] {
        assert_eq!(create(json!({ "name": name, "scopes": scopes })).await.status, 400, "{name} {scopes}");
    }
    create(json!({ "name": "two words", "scopes": ["all"] })).await;
    let list = world.ask(&me, "get", "/users/octo/tokens", Value::Null).await;
    assert_eq!(list.header("x-total-count"), "2");
    let fetched = list.json();
    assert_eq!((&fetched[0]["name"], &fetched[1]["name"]), (&"two words".into(), &"ci".into()), "newest first");
    assert_eq!((&fetched[0]["sha1"], &fetched[1]["sha1"]), (&"".into(), &"".into()));
    let by_id = format!("/users/octo/tokens/{}", fetched[1]["id"]);
    for path in [by_id.as_str(), "/users/octo/tokens/two%20words"] {
        assert_eq!(world.status(&me, "delete", path, Value::Null).await, 204, "{path}");
        assert_eq!(world.status(&me, "delete", path, Value::Null).await, 404, "{path}");
    }
    assert_eq!(world.get(&format!("token {clear}"), "/version").await.0, 401);
}

#[tokio::test]
async fn a_route_requires_all_of_its_scopes() {
    let world = World::new().await;
    world.user("octo").await;
    let read = format!("token {}", world.token("octo", &["read:repository"]).await);
    let write = format!("token {}", world.token("octo", &["write:repository"]).await);
    let both = format!("token {}", world.token("octo", &["write:repository", "write:user"]).await);
    let repo = json!({ "name": "demo" });
    let refused = world.ask(&read, "post", "/user/repos", repo.clone()).await;
    assert_eq!(refused.status, 403);
    let message = refused.json()["message"].as_str().expect("text").to_owned();
    assert!(message.contains("required=write:user") && message.contains("token scope=read:repository"), "{message}");
    assert_eq!(world.status(&write, "post", "/user/repos", repo.clone()).await, 403);
    assert_eq!(world.status(&both, "post", "/user/repos", repo).await, 201);
    assert_eq!(world.get(&read, "/repos/octo/demo").await.0, 200);
}

#[tokio::test]
async fn a_token_cannot_create_a_token_with_more_access() {
    let world = World::new().await;
    for name in ["octo", "eve"] {
        world.user(name).await;
        for repo in ["a", "b"] {
            world
                .admin("post", &format!("/admin/users/{name}/repos"), json!({ "name": repo, "private": true }), 201)
                .await;
        }
    }
    let header = |token: String| format!("Bearer {token}");
    let narrow = header(world.token("octo", &["write:user", "read:repository"]).await);
    let public = header(world.token("octo", &["public-only", "all"]).await);
    let a_only = json!([{ "owner": "octo", "name": "a" }]);
    let b_only = json!([{ "owner": "OCTO", "name": "B" }]);
    let repo_a_token = header(world.token_with("octo", json!({ "scopes": ["all"], "repositories": a_only })).await);
    let short =
        header(world.token_with("octo", json!({ "scopes": ["all"], "expires_at": "2099-01-01T00:00:00Z" })).await);
    for (n, (who, fields, status)) in [
        (&narrow, json!({ "scopes": ["read:user"] }), 201),
        (&narrow, json!({ "scopes": ["write:repository"] }), 403),
        (&narrow, json!({ "scopes": ["all"] }), 403),
        (&public, json!({ "scopes": ["read:user"] }), 403),
        (&public, json!({ "scopes": ["read:user", "public-only"] }), 201),
        (&repo_a_token, json!({ "scopes": ["all"], "repositories": b_only }), 403),
        (&repo_a_token, json!({ "scopes": ["all"], "repositories": a_only }), 403),
        (&short, json!({ "scopes": ["all"] }), 403),
        (&short, json!({ "scopes": ["all"], "expires_at": "2100-01-01T00:00:00Z" }), 403),
        (&short, json!({ "scopes": ["all"], "expires_at": "2098-01-01T00:00:00Z" }), 201),
        (&narrow, json!({ "scopes": ["read:user"], "repositories": [] }), 400),
        (&narrow, json!({ "scopes": ["read:user"], "repositories": [{ "owner": "eve", "name": "a" }] }), 400),
    ]
    .into_iter()
    .enumerate()
    {
        let mut body = fields;
        body["name"] = format!("n{n}").into();
        let answer = world.ask(who, "post", "/users/octo/tokens", body.clone()).await;
        assert_eq!(answer.status, status, "{body} {answer:?}");
        assert_eq!(world.status(who, "post", "/users/eve/tokens", body).await, 403);
    }
    assert_eq!(world.get(&repo_a_token, "/repos/octo/a").await.0, 200);
    assert_eq!(world.get(&repo_a_token, "/repos/octo/b").await.0, 404);
    assert_eq!(world.get(&public, "/repos/octo/a").await.0, 404);
    let (_, list) = world.get(&basic("octo", PASSWORD), "/users/octo/tokens?limit=50").await;
    let limited: Vec<_> = list.as_array().expect("a list").iter().filter_map(|t| t.get("repositories")).collect();
    assert_eq!(limited.len(), 1);
    assert_eq!(limited[0][0]["full_name"], "octo/a");
}

#[tokio::test]
async fn a_public_only_token_does_not_reach_repositories_of_hidden_owners() {
    let world = World::new().await;
    for (user, visibility) in [("octo", "public"), ("half", "limited"), ("shut", "private")] {
        world.user_with(user, json!({ "visibility": visibility })).await;
        world.admin("post", &format!("/admin/users/{user}/repos"), json!({ "name": "own" }), 201).await;
    }
    for (org, visibility) in [("open", "public"), ("some", "limited"), ("none", "private")] {
        let body = json!({ "username": org, "visibility": visibility });
        world.admin("post", "/admin/users/octo/orgs", body, 201).await;
        world.admin("post", &format!("/orgs/{org}/repos"), json!({ "name": "code" }), 201).await;
    }
    world.user_with("chief", json!({ "admin": true })).await;
    for (user, everything) in [("octo", 5), ("chief", 6)] {
        let full = format!("token {}", world.token(user, &["all"]).await);
        let public = format!("token {}", world.token(user, &["all", "public-only"]).await);
        let names = async |who: &str| {
            let (_, found) = world.get(who, "/repos/search?limit=50").await;
            let found = found["data"].as_array().expect("a list").iter();
            let mut names: Vec<_> = found.map(|repo| repo["full_name"].as_str().expect("text").to_owned()).collect();
            names.sort_unstable();
            names
        };
        assert_eq!(names(&full).await.len(), everything, "{user}");
        assert_eq!(names(&public).await, ["octo/own", "open/code"], "{user}");
        for (repo, status) in [("open/code", 200), ("some/code", 404), ("none/code", 404), ("half/own", 404)] {
            for rest in ["", "/branches", "/hooks", "/actions/artifacts", "/collaborators"] {
                let path = format!("/repos/{repo}{rest}");
                assert_eq!(world.get(&public, &path).await.0, status, "{user} {path}");
            }
            let fetched = world.farrier.tcp();
            let path = format!("/{repo}/info/refs?service=git-upload-pack");
            let refs = send(&fetched, Method::GET, &path, &[("authorization", &public)], "").await;
            assert_eq!(refs.status, status, "{user} {path} {refs:?}");
        }
        for (org, status) in [("open", 200), ("none", 404)] {
            assert_eq!(world.get(&public, &format!("/orgs/{org}/hooks")).await.0, status, "{user} {org}");
        }
    }
    let own = world.token("octo", &["all", "public-only"]).await;
    let (_, own) = world.get(&format!("token {own}"), "/user/repos").await;
    assert_eq!(own.as_array().expect("a list").len(), 2, "{own}");
    let unrelated = format!("token {}", world.token("half", &["all"]).await);
    assert_eq!(world.get(&unrelated, "/orgs/none/hooks").await.0, 404);
}

#[tokio::test]
async fn a_token_limited_to_a_repository_changes_and_reads_nothing_else() {
    let world = World::new().await;
    world.user_with("boss", json!({ "admin": true })).await;
    world.admin("post", "/admin/users/boss/repos", json!({ "name": "a" }), 201).await;
    world.admin("post", "/admin/users/boss/orgs", json!({ "username": "team" }), 201).await;
    world.admin("post", "/orgs/team/repos", json!({ "name": "b" }), 201).await;
    let fields = json!({ "scopes": ["all"], "repositories": [{ "owner": "boss", "name": "a" }] });
    let limited = format!("Bearer {}", world.token_with("boss", fields).await);
    let hook = json!({ "type": "gitea", "config": { "url": "http://203.0.113.9/", "content_type": "json" } });
    for (word, path, body) in [
        ("post", "/user/repos", json!({ "name": "c" })),
        ("post", "/orgs/team/repos", json!({ "name": "c" })),
        ("post", "/admin/users/boss/repos", json!({ "name": "c" })),
        ("post", "/repos/migrate", json!({ "repo_name": "c", "clone_addr": "https://forge.example/x.git" })),
        ("get", "/user/hooks", Value::Null),
        ("post", "/user/hooks", hook.clone()),
        ("get", "/orgs/team/hooks", Value::Null),
        ("post", "/orgs/team/hooks", hook.clone()),
        ("get", "/admin/hooks", Value::Null),
        ("post", "/admin/hooks", hook.clone()),
        ("get", "/users/boss/tokens", Value::Null),
        ("post", "/users/boss/tokens", json!({ "name": "wide", "scopes": ["all"] })),
        ("delete", "/users/boss/tokens/1", Value::Null),
        ("post", "/orgs", json!({ "username": "other" })),
        ("patch", "/orgs/team", json!({ "description": "x" })),
        ("delete", "/orgs/team/repos", Value::Null),
        ("delete", "/orgs/team", Value::Null),
        ("get", "/admin/users", Value::Null),
        ("post", "/admin/users", json!({ "username": "eve", "email": "eve@example.org", "password": PASSWORD })),
        ("patch", "/admin/users/boss", json!({ "full_name": "x" })),
        ("get", "/repos/boss/a?sudo=admin", Value::Null),
        ("patch", "/repos/team/b", json!({ "description": "x" })),
    ] {
        let answer = world.ask(&limited, word, path, body).await;
        assert_eq!(answer.status, 403, "{word} {path}: {answer:?}");
    }
    assert_eq!(world.get(&limited, "/user").await.1["login"], "boss");
    assert_eq!(world.status(&limited, "patch", "/repos/boss/a", json!({ "description": "x" })).await, 200);
    assert_eq!(world.status(&limited, "post", "/repos/boss/a/hooks", hook).await, 201);
    world.admin("get", "/repos/team/b", Value::Null, 200).await;
}

/// A token of an administrator without the admin scope cannot use administrator routes.
#[tokio::test]
async fn an_administrators_token_needs_the_admin_scope() {
    let world = World::new().await;
    world.user_with("boss", json!({ "admin": true })).await;
    world.user("octo").await;
    let user = format!("token {}", world.token("boss", &["write:user"]).await);
    let admin = format!("token {}", world.token("boss", &["write:user", "write:admin"]).await);
    let body = json!({ "name": "n", "scopes": ["read:user"] });
    assert_eq!(world.status(&user, "post", "/users/octo/tokens", body.clone()).await, 403);
    assert_eq!(world.status(&user, "get", "/users/octo/tokens", Value::Null).await, 403);
    assert_eq!(world.status(&admin, "post", "/users/octo/tokens", body).await, 201);
    let other = json!({ "name": "m", "scopes": ["read:user"] });
    assert_eq!(world.status(&admin, "post", "/admin/users/octo/tokens", other).await, 201);
    assert_eq!(world.get(&admin, "/admin/users/octo/tokens").await.1.as_array().expect("a list").len(), 2);
    assert_eq!(world.status(&admin, "delete", "/admin/users/octo/tokens/m", Value::Null).await, 204);
}

#[tokio::test]
async fn a_token_reads_and_deletes_itself_and_expires() {
    let world = World::with_clock(Clock::manual(NOW_MS)).await;
    world.user("octo").await;
    let fields = json!({ "scopes": ["read:user"], "expires_at": "2026-01-02T04:04:05Z" });
    let token = format!("token {}", world.token_with("octo", fields).await);
    let (status, fetched) = world.get(&token, "/token").await;
    assert_eq!((status, &fetched["user"]["login"], &fetched["scopes"]), (200, &"octo".into(), &json!(["read:user"])));
    assert_eq!(
        (&fetched["created_at"], &fetched["last_used_at"]),
        (&"2026-01-02T03:04:05Z".into(), &"2026-01-02T03:04:05Z".into())
    );
    assert_eq!(fetched["expires_at"], "2026-01-02T04:04:05Z");
    assert_eq!(world.get(&basic("octo", PASSWORD), "/token").await.0, 404);
    assert_eq!(world.get("", "/token").await.0, 401);
    world.farrier.clock.advance_ms(3_600_000);
    let (status, refused) = world.get(&token, "/token").await;
    assert_eq!(
        (status, refused["message"].as_str()),
        (401, Some("the access token expired at 2026-01-02T04:04:05Z; create a new one"))
    );
    let fresh = format!("token {}", world.token("octo", &["read:misc"]).await);
    assert_eq!(world.status(&fresh, "delete", "/token", Value::Null).await, 204);
    assert_eq!(world.get(&fresh, "/version").await.0, 401);
}

/// Every way to send a token refuses one with a wrong checksum, without trying it as a password.
#[tokio::test]
async fn a_token_with_a_wrong_checksum_is_refused() {
    let world = World::new().await;
    world.user("octo").await;
    let token = world.token("octo", &["all"]).await;
    let last = if token.ends_with('0') { "1" } else { "0" };
    let damaged = format!("{}{last}", &token[..39]);
    assert_eq!(world.get(&format!("token {token}"), "/user").await.0, 200);
    for wrong in [damaged.as_str(), &token[..39], "frr_"] {
        for form in
            [format!("token {wrong}"), format!("Bearer {wrong}"), basic(wrong, ""), basic(wrong, "x-oauth-basic")]
        {
            assert_eq!(world.get(&form, "/user").await.0, 401, "{form}");
        }
        assert_eq!(world.get(&basic("octo", wrong), "/user").await.0, 401, "{wrong}");
    }
    let body = json!({ "password": token });
    world.admin("patch", "/admin/users/octo", body, 400).await;
}

#[tokio::test]
async fn an_expiry_in_the_past_or_above_the_maximum_is_refused() {
    let clock = Clock::manual(NOW_MS);
    let limited = |config: &mut Config| config.auth.token_max_days = 30;
    let world = World { farrier: TestDaemon::with_clock(clock, limited).await };
    world.user("octo").await;
    let me = basic("octo", PASSWORD);
    let create = async |name: &str, expires_at: Value| {
        let body = json!({ "name": name, "scopes": ["all"], "expires_at": expires_at });
        world.ask(&me, "post", "/users/octo/tokens", body).await
    };
    for (n, (expires_at, reason)) in [
        ("2026-01-02T03:04:05Z", "is in the past"),
        ("2000-01-01T00:00:00Z", "is in the past"),
        ("2026-02-02T00:00:00Z", "later than 2026-02-01T03:04:05Z: auth.token_max_days = 30"),
        ("9999-12-30T22:00:00Z", "auth.token_max_days = 30"),
        ("99999-01-01T00:00:00Z", "not a time"),
        ("9223372036854775807", "not a time"),
        ("tomorrow", "not a time"),
    ]
    .into_iter()
    .enumerate()
    {
        let refused = create(&format!("n{n}"), expires_at.into()).await;
        assert!(refused.status == 422 && refused.text().contains(reason), "{expires_at}: {refused:?}");
    }
    // Clients of the Gitea family do not send the field.
    assert_eq!(create("unset", Value::Null).await.json()["expires_at"], "2026-02-01T03:04:05Z");
    assert_eq!(create("shorter", "2026-01-03T00:00:00Z".into()).await.json()["expires_at"], "2026-01-03T00:00:00Z");
}

/// The time of the last use of a token that was never used.
const NEVER: &str = "0001-01-01T00:00:00Z";

#[tokio::test]
async fn lists_show_the_last_use_and_expired_tokens_until_they_are_deleted() {
    let world = World::with_clock(Clock::manual(NOW_MS)).await;
    world.user("octo").await;
    let fields = json!({ "scopes": ["read:user"], "expires_at": "2026-01-03T03:04:05Z" });
    let short = format!("token {}", world.token_with("octo", fields).await);
    world.token("octo", &["read:user"]).await;
    let list = async || world.get(&basic("octo", PASSWORD), "/users/octo/tokens").await.1;
    let before = list().await;
    assert!(before[1]["last_used_at"] == NEVER && before[1].get("last_used_address").is_none(), "{before}");
    assert_eq!(world.get(&short, "/user").await.0, 200);
    eventually("the use is recorded", async || list().await[1]["last_used_at"] != NEVER).await;
    let used = &list().await[1];
    assert_eq!(used["last_used_at"], "2026-01-02T03:04:05Z");
    assert!(used["last_used_address"].as_str().expect("text").starts_with("127."), "{used}");

    world.farrier.clock.advance_ms(2 * 86_400_000);
    let expired = list().await;
    assert_eq!((&expired[0]["expired"], &expired[1]["expired"]), (&false.into(), &true.into()));
    world.farrier.clock.advance_ms(31 * 86_400_000);
    eventually("only the token without an expiry is left", async || {
        let rows = list().await;
        rows.as_array().expect("a list").len() == 1 && rows[0]["expired"] == false
    })
    .await;
    assert_eq!(world.get(&short, "/user").await.1["message"], "invalid username, password or token");
}
