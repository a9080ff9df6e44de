//! Properties of every route: lists, paging, spellings and methods.

use http::Method;
use serde_json::{Value, json};

use super::world::{World, names};
use crate::support::send;

#[tokio::test]
async fn an_empty_list_has_a_total_count_of_zero() {
    let world = World::new().await;
    world.user("octo").await;
    let token = format!("token {}", world.token("octo", &["all"]).await);
    for path in ["/orgs", "/user/orgs", "/users/octo/orgs", "/users/search?q=nobody"] {
        let answer = world.ask(&token, "get", path, Value::Null).await;
        let json = answer.json();
        let list = if json.is_object() { &json["data"] } else { &json };
        assert_eq!((list, answer.header("x-total-count")), (&json!([]), "0"), "{path}");
    }
    let admin = world.farrier.admin(Method::GET, "/api/v1/admin/orgs", Value::Null).await;
    assert_eq!((admin.json(), admin.header("x-total-count")), (json!([]), "0"));
    assert_eq!(world.get(&token, "/users/admin/tokens").await.0, 403);
}

#[tokio::test]
async fn pages_have_size_limits_and_links_to_other_pages() {
    let world = World::new().await;
    for n in 0..54 {
        world.admin("post", "/orgs", json!({ "username": format!("org{n:02}") }), 201).await;
    }
    let page = async |query: &str| world.ask("", "get", &format!("/orgs{query}"), Value::Null).await;
    let count = |answer: &crate::support::Answer| answer.json().as_array().expect("a list").len();
    for (query, items) in [("?limit=500", 50), ("?limit=0", 30), ("?limit=x", 30), ("?page=-1", 30), ("?page=9", 0)] {
        let answer = page(query).await;
        assert_eq!((answer.status, count(&answer), answer.header("x-total-count")), (200, items, "54"), "{query}");
    }
    let first = page("?limit=20&page=1").await;
    let url = format!("{}/api/v1/orgs?limit=20&page=", world.farrier.url);
    assert_eq!(first.header("link"), format!("<{url}2>; rel=\"next\",<{url}3>; rel=\"last\""));
    let last = page("?limit=20&page=3").await;
    assert_eq!(last.header("link"), format!("<{url}1>; rel=\"first\",<{url}2>; rel=\"prev\""));
    assert_eq!(names(&last.json(), "name").first().map(String::as_str), Some("org40"));
}

#[tokio::test]
async fn head_wrong_methods_and_path_spellings_are_handled() {
    let world = World::new().await;
    let tcp = world.farrier.tcp();
    for path in ["/api/v1/users/admin", "/api/v1/orgs", "/api/v1/users/nobody", "/api/v1/user"] {
        let get = send(&tcp, Method::GET, path, &[], "").await;
        let head = send(&tcp, Method::HEAD, path, &[], "").await;
        assert_eq!((head.status, head.body.len()), (get.status, 0), "{path}");
        assert_eq!(head.header("content-length"), get.header("content-length"), "{path}");
        assert_eq!(head.header("content-type"), get.header("content-type"), "{path}");
    }
    let wrong = send(&tcp, Method::POST, "/api/v1/users/admin", &[], "").await;
    assert_eq!((wrong.status, wrong.header("allow")), (405, "GET,HEAD"));
    let wrong = send(&tcp, Method::PUT, "/api/v1/orgs/x", &[], "").await;
    let mut allowed: Vec<&str> = wrong.header("allow").split(',').collect();
    allowed.sort_unstable();
    assert_eq!((wrong.status, allowed), (405, vec!["DELETE", "GET", "HEAD", "PATCH"]));
    let plain = send(&tcp, Method::GET, "/api/v1/users/admin", &[], "").await.body;
    for spelling in ["/api/v1/users/admin/", "//api//v1/users///admin", "/api/v1/users/admin?", "/api/v1/users/ADMIN"] {
        assert_eq!(send(&tcp, Method::GET, spelling, &[], "").await.body, plain, "{spelling}");
    }
}

#[tokio::test]
async fn malformed_bodies_are_refused_and_change_nothing() {
    let world = World::new().await;
    let server = world.farrier.unix();
    let large = format!("{{\"username\":\"{}\"}}", "x".repeat(2 << 20));
    for (body, status) in [("{", 422), ("[]", 422), ("", 422), ("{\"username\":5}", 422), (large.as_str(), 413)] {
        for route in ["/api/v1/orgs", "/api/v1/admin/users"] {
            let headers = [("content-type", "application/json")];
            let answer = send(&server, Method::POST, route, &headers, body.to_owned()).await;
            assert_eq!((answer.status, answer.json()["message"].is_string()), (status, true), "{route} {body:.20}");
        }
    }
    assert_eq!(world.get("", "/users/search").await.1["data"].as_array().expect("a list").len(), 1);
}

#[tokio::test]
async fn the_unix_socket_answers_like_tcp() {
    let world = World::new().await;
    world.user("octo").await;
    let token = format!("token {}", world.token("octo", &["all"]).await);
    world.ask(&token, "post", "/orgs", json!({ "username": "acme" })).await;
    let paths = [
        "/user",
        "/users/octo",
        "/users/search",
        "/orgs",
        "/orgs/acme",
        "/orgs/acme/members",
        "/user/orgs",
        "/orgs/acme/teams",
        "/users/octo/orgs/acme/permissions",
        "/licenses",
        "/users/nobody",
        "/admin/users",
    ];
    for path in paths {
        let tcp = world.ask(&token, "get", path, Value::Null).await;
        let unix = world.ask_at(&world.farrier.unix(), &token, "get", path, Value::Null).await;
        let plain = |answer: &crate::support::Answer| {
            let mut json = answer.json();
            if let Some(object) = json.as_object_mut() {
                object.remove("request_id");
            }
            (answer.status, json)
        };
        assert_eq!(plain(&tcp), plain(&unix), "{path}");
    }
    let wrong = world.ask_at(&world.farrier.unix(), "token 0", "get", "/user", Value::Null).await;
    assert_eq!(wrong.status, 401, "the token in the request overrides the peer");
}
