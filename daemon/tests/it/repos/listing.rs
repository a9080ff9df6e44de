//! Lists of repositories: content, visibility and order.

use http::Method;
use serde_json::{Value, json};

use super::names;
use crate::support::TestDaemon;

#[tokio::test]
async fn empty_lists_are_empty_json_arrays() {
    let farrier = TestDaemon::start().await;
    for path in ["/api/v1/user/repos", "/api/v1/users/admin/repos"] {
        let empty = farrier.show(path).await;
        assert_eq!((empty.status, empty.text().as_str(), empty.header("x-total-count")), (200, "[]\n", "0"), "{path}");
    }
    let search = farrier.show("/api/v1/repos/search").await;
    assert_eq!((search.text().as_str(), search.header("x-total-count")), ("{\"ok\":true,\"data\":[]}\n", "0"));
    farrier.create_repository(json!({ "name": "x" })).await;
    assert_eq!(farrier.show("/api/v1/repos/admin/x/forks").await.text(), "[]\n");
    assert_eq!(farrier.show("/api/v1/users/nobody/repos").await.status, 404);
    assert_eq!(farrier.show("/api/v1/orgs/admin/repos").await.status, 404);
    assert_eq!(farrier.by("", Method::GET, "/api/v1/user/repos", Value::Null).await.status, 401);
}

#[tokio::test]
async fn pages_have_size_limits_and_links_to_other_pages() {
    let farrier = TestDaemon::start().await;
    for n in 1..=53 {
        farrier.create_repository(json!({ "name": format!("r{n:02}") })).await;
    }
    for (query, items) in
        [("limit=500", 50), ("limit=0", 30), ("limit=x", 30), ("page=-1", 30), ("", 30), ("page=9", 0)]
    {
        let page = farrier.show(&format!("/api/v1/users/admin/repos?{query}")).await;
        assert_eq!((names(&page).len(), page.header("x-total-count")), (items, "53"), "{query}");
    }
    let page = farrier.show("/api/v1/users/admin/repos?page=2&limit=20").await;
    assert_eq!(names(&page).first().map(String::as_str), Some("r21"));
    let link = |n, rel| format!("<{}/api/v1/users/admin/repos?limit=20&page={n}>; rel=\"{rel}\"", farrier.url);
    assert_eq!(page.header("link"), [link(3, "next"), link(3, "last"), link(1, "first"), link(1, "prev")].join(","));
    let last = farrier.show("/api/v1/repos/search?sort=alpha&order=desc&limit=2&page=27").await;
    assert_eq!(names(&last), ["r01"]);
}

#[tokio::test]
async fn private_repositories_of_others_affect_neither_items_nor_totals() {
    let farrier = TestDaemon::start().await;
    farrier.account("octo").await;
    farrier.account("guest").await;
    for (name, private) in [("open", false), ("shut", true), ("shared", true)] {
        let created =
            farrier.by("octo", Method::POST, "/api/v1/user/repos", json!({ "name": name, "private": private })).await;
        assert_eq!(created.status, 201, "{created:?}");
    }
    let share = "/api/v1/repos/octo/shared/collaborators/guest";
    assert_eq!(farrier.by("octo", Method::PUT, share, json!({ "permission": "read" })).await.status, 204);
    for (who, observed) in [("", &["open"][..]), ("guest", &["open", "shared"]), ("octo", &["open", "shut", "shared"])]
    {
        for path in ["/api/v1/users/octo/repos", "/api/v1/repos/search", "/api/v1/repos/search?uid=2&exclusive=true"] {
            let list = farrier.by(who, Method::GET, path, Value::Null).await;
            assert_eq!(
                (names(&list), list.header("x-total-count")),
                (observed.iter().map(|n| (*n).to_owned()).collect(), observed.len().to_string().as_str()),
                "{who} {path}"
            );
        }
    }
    let list = |query: &'static str| {
        let farrier = &farrier;
        async move { names(&farrier.by("guest", Method::GET, &format!("/api/v1/repos/search?{query}"), Value::Null).await) }
    };
    assert_eq!(list("q=shut").await, Vec::<String>::new());
    assert_eq!(list("q=sha").await, ["shared"]);
    assert_eq!(list("q=s&private=false").await, Vec::<String>::new());
    assert_eq!(list("is_private=true").await, ["shared"]);
    assert_eq!(list("uid=3").await, ["shared"], "includes repositories on which the account collaborates");
    assert_eq!(list("uid=3&exclusive=true").await, Vec::<String>::new());
    assert_eq!(list("uid=3&mode=collaborative").await, ["shared"]);
    assert_eq!(names(&farrier.show("/api/v1/user/repos").await), Vec::<String>::new());
    assert_eq!(farrier.show("/api/v1/repos/search").await.header("x-total-count"), "3", "administrators see all");
}

#[tokio::test]
async fn searches_filter_sort_and_validate() {
    let farrier = TestDaemon::start().await;
    farrier.create_repository(json!({ "name": "Beta", "description": "a Hammer" })).await;
    farrier.create_repository(json!({ "name": "alpha-tool", "template": true })).await;
    farrier.create_repository(json!({ "name": "gamma-Tool" })).await;
    farrier.admin(Method::PATCH, "/api/v1/repos/admin/beta", json!({ "archived": true })).await;
    for (query, expected) in [
        ("", &["Beta", "alpha-tool", "gamma-Tool"][..]),
        ("sort=alpha", &["alpha-tool", "Beta", "gamma-Tool"]),
        ("sort=alpha&order=desc", &["gamma-Tool", "Beta", "alpha-tool"]),
        ("sort=created&order=desc", &["gamma-Tool", "alpha-tool", "Beta"]),
        ("q=TOOL", &["alpha-tool", "gamma-Tool"]),
        ("q=a-t", &["alpha-tool", "gamma-Tool"]),
        ("q=b", &["Beta"]),
        ("q=hammer", &[]),
        ("q=hammer&includeDesc=true", &["Beta"]),
        ("q=tool&topic=true", &[]),
        ("archived=true", &["Beta"]),
        ("archived=false&template=false", &["gamma-Tool"]),
        ("template=true", &["alpha-tool"]),
        ("mode=source&limit=1", &["Beta"]),
        ("mode=fork", &[]),
        ("mode=mirror", &[]),
        ("uid=1&archived=false", &["alpha-tool", "gamma-Tool"]),
        ("uid=77", &[]),
    ] {
        assert_eq!(names(&farrier.show(&format!("/api/v1/repos/search?{query}")).await), expected, "{query}");
    }
    for query in ["mode=odd", "sort=odd", "sort=alpha&order=odd"] {
        assert_eq!(farrier.show(&format!("/api/v1/repos/search?{query}")).await.status, 422, "{query}");
    }
    let order = async |word: &str| names(&farrier.show(&format!("/api/v1/user/repos?order_by={word}")).await);
    assert_eq!(order("name").await, ["alpha-tool", "Beta", "gamma-Tool"]);
    assert_eq!(order("newest").await, ["gamma-Tool", "alpha-tool", "Beta"]);
    assert_eq!(farrier.show("/api/v1/user/repos?order_by=odd").await.status, 422);
}

#[tokio::test]
async fn searches_sort_by_stars_and_forks() {
    let farrier = TestDaemon::start().await;
    for name in ["none", "one", "two"] {
        farrier.create_repository(json!({ "name": name })).await;
    }
    for name in ["ann", "bob"] {
        farrier.account(name).await;
    }
    let star = async |who: &str, method: Method, name: &str| {
        let answer = farrier.by(who, method, &format!("/api/v1/user/starred/admin/{name}"), Value::Null).await;
        assert_eq!(answer.status, 204, "{answer:?}");
    };
    for (who, name) in [("ann", "one"), ("ann", "two"), ("bob", "two")] {
        star(who, Method::PUT, name).await;
    }
    let fork = async |who: &str, name: &str| {
        let path = format!("/api/v1/repos/admin/{name}/forks");
        let forked = farrier.by(who, Method::POST, &path, json!({ "name": format!("{who}-{name}") })).await;
        assert_eq!(forked.status, 202, "{forked:?}");
    };
    for (who, name) in [("ann", "none"), ("bob", "none"), ("ann", "one")] {
        fork(who, name).await;
    }
    let search = async |query: &str| names(&farrier.show(&format!("/api/v1/repos/search?uid=1&{query}")).await);
    assert_eq!(search("sort=stars").await, ["none", "one", "two"]);
    assert_eq!(search("sort=stars&order=desc").await, ["two", "one", "none"]);
    assert_eq!(search("sort=forks").await, ["two", "one", "none"]);
    assert_eq!(search("sort=forks&order=desc&limit=1&page=2").await, ["one"]);
    assert_eq!(search("sort=stars&order=desc&q=o&archived=false").await, ["two", "one", "none"]);
    for name in ["one", "two"] {
        star("ann", Method::DELETE, name).await;
    }
    assert_eq!(search("sort=stars").await, ["none", "one", "two"], "the ID decides between equal numbers");
    star("bob", Method::DELETE, "two").await;
    star("bob", Method::PUT, "none").await;
    let own = async |order: &str| names(&farrier.show(&format!("/api/v1/user/repos?order_by={order}")).await);
    assert_eq!(own("moststars").await, ["none", "two", "one"]);
    assert_eq!(own("feweststars").await, ["one", "two", "none"]);
    assert_eq!(own("mostforks").await, ["none", "one", "two"]);
    assert_eq!(own("fewestforks").await, ["two", "one", "none"]);
}

#[tokio::test]
async fn lists_of_an_empty_repository_are_empty_json_arrays() {
    let farrier = TestDaemon::start().await;
    farrier.create_repository(json!({ "name": "void" })).await;
    for list in ["branches", "tags", "forks", "collaborators", "releases", "stargazers", "contents"] {
        let empty = farrier.show(&format!("/api/v1/repos/admin/void/{list}")).await;
        assert_eq!((empty.status, empty.text().as_str()), (200, "[]\n"), "{list}");
        if list != "contents" {
            assert_eq!(empty.header("x-total-count"), "0", "{list}");
        }
    }
    for (list, items) in [("artifacts", "artifacts"), ("runs", "workflow_runs"), ("tasks", "workflow_runs")] {
        let empty = farrier.show(&format!("/api/v1/repos/admin/void/actions/{list}")).await.json();
        assert_eq!((&empty["total_count"], &empty[items]), (&json!(0), &json!([])), "{list}");
    }
}
