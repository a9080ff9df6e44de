//! Authentication of callers, and refusals.

use std::net::Ipv4Addr;

use farrierd::clock::Clock;
use http::Method;
use serde_json::{Value, json};

use super::world::{PASSWORD, World, basic};
use crate::support::{send, send_from};

#[tokio::test]
async fn every_form_of_a_token_is_accepted_and_a_wrong_token_is_refused_on_every_route() {
    let world = World::new().await;
    world.user("octo").await;
    let token = world.token("octo", &["read:user"]).await;
    let forms = [
        format!("token {token}"),
        format!("TOKEN {token}"),
        format!("Bearer {token}"),
        format!("bearer  {token} "),
        basic(&token, ""),
        basic(&token, "x-oauth-basic"),
        basic("anybody", &token),
        basic("octo", PASSWORD),
    ];
    for form in &forms {
        assert_eq!(world.get(form, "/user").await.1["login"], "octo", "{form}");
    }
    for wrong in ["token 0123", "Bearer", "Bearer ", "token", "Basic !", "Digest x", "x", &basic("octo", "wrong")] {
        for path in ["/version", "/user", "/settings/api", "/orgs"] {
            let answer = world.ask(wrong, "get", path, Value::Null).await;
            assert_eq!((answer.status, answer.header("www-authenticate")), (401, ""), "{wrong} {path}");
            assert!(answer.json()["message"].is_string());
        }
    }
}

#[tokio::test]
async fn tokens_in_the_query_are_refused_unless_enabled() {
    for allowed in [true, false] {
        let world =
            if allowed { World::with(|config| config.auth.query_tokens = true).await } else { World::new().await };
        world.user("octo").await;
        let token = world.token("octo", &["read:user"]).await;
        for name in ["token", "access_token"] {
            let path = format!("/api/v1/user?{name}={token}");
            let answer = send(&world.farrier.tcp(), Method::GET, &path, &[], "").await;
            assert_eq!(answer.status, if allowed { 200 } else { 401 });
            assert!(answer.header("x-gitea-warning").contains("deprecated"));
            assert!(allowed || answer.text().contains("auth.query_tokens"), "{answer:?}");
        }
        assert_eq!(world.get("", "/user?token=0123").await.0, 401);
    }
}

#[tokio::test]
async fn administrators_act_as_other_users_with_sudo() {
    let world = World::new().await;
    world.user("octo").await;
    world.user_with("boss", json!({ "admin": true })).await;
    let octo = format!("token {}", world.token("octo", &["all"]).await);
    let boss = format!("token {}", world.token("boss", &["read:user"]).await);
    for (who, name, status) in [(&octo, "boss", 403), (&boss, "nobody", 404), (&boss, "OCTO", 200)] {
        assert_eq!(world.get(who, &format!("/user?sudo={name}")).await.0, status, "{name}");
        let headers = [("authorization", who.as_str()), ("Sudo", name)];
        let answer = send(&world.farrier.tcp(), Method::GET, "/api/v1/user", &headers, "").await;
        assert_eq!(answer.status, status, "{name}");
        if status == 200 {
            assert_eq!(answer.json()["login"], "octo");
        }
    }
    assert_eq!(world.get("", "/user?sudo=octo").await.0, 403);
    let org = json!({ "username": "acme" });
    assert_eq!(
        world.status(&boss, "post", "/orgs?sudo=octo", org.clone()).await,
        403,
        "sudo does not extend the token's scopes"
    );
    world.admin("post", "/orgs?sudo=octo", org, 201).await;
    assert_eq!(world.get(&octo, "/user/orgs").await.1[0]["name"], "acme");
}

#[tokio::test]
async fn a_closed_account_gets_403_on_every_route_and_the_operator_is_not_affected() {
    let world = World::new().await;
    world.user("octo").await;
    let token = format!("token {}", world.token("octo", &["all"]).await);
    for (field, closed) in [("prohibit_login", true), ("active", false), ("must_change_password", true)] {
        world.admin("patch", "/admin/users/octo", json!({ field: closed }), 200).await;
        world.admin("patch", "/admin/users/admin", json!({ field: closed }), 200).await;
        for path in ["/version", "/user", "/orgs"] {
            assert_eq!(world.get(&token, path).await.0, 403, "{field} {path}");
            assert_eq!(world.get(&basic("octo", PASSWORD), path).await.0, 403, "{field} {path}");
        }
        assert_eq!(
            world.get(&basic("octo", "wrong"), "/user").await.0,
            401,
            "the state of the account is shown only with the right password"
        );
        world.admin("patch", "/admin/users/octo", json!({ field: !closed }), 200).await;
        assert_eq!(world.get(&token, "/user").await.0, 200);
    }
}

#[tokio::test]
async fn repeated_wrong_passwords_block_the_account_at_this_address_but_not_its_tokens() {
    let world = World::with_clock(Clock::manual(1_767_323_045_000)).await;
    world.user("octo").await;
    world.user("other").await;
    let token = format!("token {}", world.token("octo", &["read:user"]).await);
    for _ in 0..10 {
        assert_eq!(world.get(&basic("octo", "wrong one"), "/user").await.0, 401);
    }
    let refused = world.ask(&basic("octo", PASSWORD), "get", "/user", Value::Null).await;
    assert_eq!((refused.status, refused.header("retry-after")), (429, "30"));
    assert_eq!(world.get(&token, "/user").await.0, 200);
    assert_eq!(world.get(&basic("other", PASSWORD), "/user").await.0, 200);
    world.farrier.clock.advance_ms(30_000);
    assert_eq!(world.get(&basic("octo", PASSWORD), "/user").await.0, 200);
}

/// Requests the own account from another loopback address. Returns the status.
async fn user_from(world: &World, number: u8, headers: &[(&str, &str)]) -> u16 {
    let from = Ipv4Addr::new(127, 0, 2, number);
    send_from(from, &world.farrier.tcp(), Method::GET, "/api/v1/user", headers, "").await.status
}

#[tokio::test]
async fn wrong_passwords_of_a_stranger_do_not_block_the_owner_at_another_address() {
    let world = World::with_clock(Clock::manual(1_767_323_045_000)).await;
    world.user("octo").await;
    let (right, wrong) = (basic("octo", PASSWORD), basic("octo", "wrong one"));
    for _ in 0..10 {
        assert_eq!(user_from(&world, 1, &[("authorization", &wrong)]).await, 401);
    }
    assert_eq!(user_from(&world, 1, &[("authorization", &right)]).await, 429);
    assert_eq!(user_from(&world, 2, &[("authorization", &right)]).await, 200);
}

#[tokio::test]
async fn a_forwarded_address_is_used_only_from_a_trusted_proxy() {
    for trusted in [false, true] {
        let world = World::with(|config| {
            if trusted {
                config.server.trusted_proxies = vec!["127.0.0.0/8".parse().expect("a network")];
            }
        })
        .await;
        world.user("octo").await;
        let mut statuses = Vec::new();
        for number in 0..11 {
            let (wrong, forwarded) = (basic("octo", "wrong one"), format!("203.0.113.{number}"));
            let headers = [("authorization", wrong.as_str()), ("x-forwarded-for", forwarded.as_str())];
            statuses.push(user_from(&world, 1, &headers).await);
        }
        assert_eq!(statuses[..10], [401; 10]);
        assert_eq!(statuses[10], if trusted { 401 } else { 429 });
    }
}

#[tokio::test]
async fn setting_the_clock_neither_extends_nor_ends_a_limit() {
    const DAYS_91_MS: i64 = 91 * 86_400_000;
    let world = World::with_clock(Clock::manual(1_767_323_045_000)).await;
    world.user("octo").await;
    let status = async |password: &str| world.get(&basic("octo", password), "/user").await.0;
    for _ in 0..10 {
        assert_eq!(status("wrong one").await, 401);
    }
    for jump_ms in [DAYS_91_MS, -2 * DAYS_91_MS, DAYS_91_MS] {
        world.farrier.clock.jump_ms(jump_ms);
        assert_eq!(status(PASSWORD).await, 429);
    }
    world.farrier.clock.advance_ms(30_000);
    assert_eq!(status(PASSWORD).await, 200);
}

/// The order of the checks decides what a caller can learn from the status.
#[tokio::test]
async fn missing_objects_are_reported_before_permissions_and_permissions_before_the_body() {
    let world = World::new().await;
    world.user("octo").await;
    let wrong = format!("token {}", world.token("octo", &["read:misc"]).await);
    for (path, status) in [("/users/octo", 403), ("/users/nobody", 404), ("/orgs/nothing", 404), ("/repos/a/b", 404)] {
        assert_eq!(world.get(&wrong, path).await.0, status, "{path}");
    }
    let broken = async |who: &str, path: &str| {
        let headers = [("authorization", who)];
        let headers = if who.is_empty() { &headers[..0] } else { &headers[..] };
        send(&world.farrier.tcp(), Method::POST, &format!("/api/v1{path}"), headers, "{").await.status
    };
    assert_eq!(broken("", "/admin/users").await, 401);
    assert_eq!(broken("", "/orgs").await, 401);
    assert_eq!(broken(&wrong, "/orgs").await, 403);
    let all = format!("token {}", world.token("octo", &["all"]).await);
    assert_eq!(broken(&all, "/admin/users").await, 403);
    assert_eq!(broken(&all, "/orgs").await, 422);
}

/// Changes the caller's own password. Returns the status and the message, if any.
async fn change_password(world: &World, who: &str, old: &str, new: &str) -> (u16, String) {
    let body = json!({ "old_password": old, "new_password": new }).to_string();
    let mut headers = vec![("content-type", "application/json")];
    headers.extend((!who.is_empty()).then_some(("authorization", who)));
    let server = if who.is_empty() { world.farrier.unix() } else { world.farrier.tcp() };
    let answer = send(&server, Method::PUT, "/api/farrier/v1/user/password", &headers, body).await;
    let message = if answer.body.is_empty() { String::new() } else { answer.json()["message"].to_string() };
    (answer.status, message)
}

#[tokio::test]
async fn an_account_that_must_change_its_password_can_change_it() {
    let world = World::new().await;
    world.user_with("octo", json!({ "must_change_password": true })).await;
    let who = basic("octo", PASSWORD);
    let (status, refused) = world.get(&who, "/user").await;
    assert!(status == 403 && refused["message"].to_string().contains("farrier passwd"), "{refused}");
    assert_eq!(world.admin("get", "/users/octo", Value::Null, 200).await["must_change_password"], true);

    assert_eq!(change_password(&world, &who, PASSWORD, PASSWORD).await.0, 422, "the new password equals the old one");
    assert_eq!(change_password(&world, &who, PASSWORD, "short").await.0, 422);
    assert_eq!(world.get(&who, "/user").await.0, 403);
    assert_eq!(change_password(&world, &who, PASSWORD, "a new password").await, (204, String::new()));
    assert_eq!(world.get(&who, "/user").await.0, 401);
    let (status, user) = world.get(&basic("octo", "a new password"), "/user").await;
    assert!(status == 200 && user.get("must_change_password").is_none(), "{user}");

    world
        .admin("patch", "/admin/users/octo", json!({ "must_change_password": true, "prohibit_login": true }), 200)
        .await;
    let closed = change_password(&world, &basic("octo", "a new password"), "a new password", "another one").await;
    assert_eq!(closed.0, 403, "{closed:?}");
}

#[tokio::test]
async fn changing_a_password_requires_the_old_one() {
    let world = World::new().await;
    world.user("octo").await;
    let token = format!("token {}", world.token("octo", &["write:user"]).await);
    let (status, message) = change_password(&world, &token, "wrong", "a new password").await;
    assert!(status == 422 && message.contains("[OldPassword]: is wrong"), "{message}");
    assert_eq!(change_password(&world, &token, PASSWORD, "a new password").await.0, 204);
    assert_eq!(world.get(&basic("octo", "a new password"), "/user").await.0, 200);
    // Wrong passwords on this route count towards the sign-in limit.
    let mut statuses = Vec::new();
    for _ in 0..12 {
        statuses.push(change_password(&world, &token, "wrong", "another one").await.0);
    }
    assert_eq!((statuses[0], statuses[11]), (422, 429));

    world
        .admin(
            "post",
            "/admin/users",
            json!({ "username": "bare", "email": "b@x", "must_change_password": false }),
            201,
        )
        .await;
    let bare = format!("token {}", world.token("bare", &["all"]).await);
    assert_eq!(change_password(&world, &bare, "", "a new password").await.0, 409, "the account has no password");
    // The operator may set any password without the old one.
    assert_eq!(change_password(&world, "", "", "a new password").await.0, 204);
    assert_eq!(world.get(&basic("admin", "a new password"), "/user").await.0, 200);
}
