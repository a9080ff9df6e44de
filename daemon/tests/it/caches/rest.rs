//! Lists and deletion of cache entries over the REST API.

use farrierd::clock::Clock;
use http::Method;
use serde_json::{Value, json};

use super::{content, reserve, save};
use crate::support::{Answer, Job, TestDaemon, eventually, send};

const CACHES: &str = "/api/v1/repos/admin/r/actions/caches";

/// A repository with entries of two branches, of which `a` was used last.
async fn daemon_with_entries() -> (TestDaemon, Job, Job) {
    let farrier = TestDaemon::with_clock(Clock::manual(1_767_323_045_000), |_| {}).await;
    farrier.repository("r").await;
    let (main, feature) = (farrier.begin_on("r", "main").await, farrier.begin_on("r", "feature").await);
    for (job, key, content) in
        [(&main, "a", "1"), (&feature, "b", "333"), (&main, "npm-1", "22"), (&feature, "a", "4444")]
    {
        save(&farrier, job, key, content).await;
        farrier.clock.jump_ms(120_000);
    }
    (farrier, main, feature)
}

async fn get(farrier: &TestDaemon, path: &str) -> Value {
    let answer = farrier.admin(Method::GET, path, Value::Null).await;
    assert_eq!(answer.status, 200, "{path}: {answer:?}");
    answer.json()
}

/// The keys and sizes of a list.
fn shown(list: &Value) -> Vec<(String, i64)> {
    let entries = list["actions_caches"].as_array().expect("a list").iter();
    entries
        .map(|entry| {
            (entry["key"].as_str().expect("text").to_owned(), entry["size_in_bytes"].as_i64().expect("a number"))
        })
        .collect()
}

#[tokio::test]
async fn entries_are_listed_with_filters_orders_and_pages() {
    let (farrier, main, _) = daemon_with_entries().await;
    reserve(&farrier, &main, "reserved").await;
    for (query, expected) in [
        ("", &[("a", 4), ("npm-1", 2), ("b", 3), ("a", 1)][..]),
        ("?sort=created_at&direction=asc", &[("a", 1), ("b", 3), ("npm-1", 2), ("a", 4)]),
        ("?sort=size_in_bytes", &[("a", 4), ("b", 3), ("npm-1", 2), ("a", 1)]),
        ("?key=a", &[("a", 4), ("a", 1)]),
        ("?key=npm", &[("npm-1", 2)]),
        ("?ref=refs/heads/main", &[("npm-1", 2), ("a", 1)]),
        ("?ref=refs/heads/main&key=a", &[("a", 1)]),
        ("?ref=main", &[]),
        ("?per_page=3", &[("a", 4), ("npm-1", 2), ("b", 3)]),
        ("?per_page=3&page=2", &[("a", 1)]),
        ("?limit=1&page=2&key=a", &[("a", 1)]),
    ] {
        let list = get(&farrier, &format!("{CACHES}{query}")).await;
        let expected: Vec<(String, i64)> = expected.iter().map(|&(key, size)| (key.to_owned(), size)).collect();
        assert_eq!(shown(&list), expected, "{query}");
        let total = match query {
            _ if query.contains("key=npm") => 1,
            _ if query.contains("ref=main") => 0,
            _ if query.contains("main&key=a") => 1,
            _ if query.contains("key=a") || query.contains("ref=") => 2,
            _ => 4,
        };
        assert_eq!(list["total_count"], total, "{query}");
    }
    let newest = &get(&farrier, &format!("{CACHES}?sort=created_at")).await["actions_caches"][0];
    assert_eq!(newest["ref"], "refs/heads/feature");
    assert!(newest["id"].is_i64() && newest["version"].is_string(), "{newest}");
    assert!(newest["created_at"].is_string() && newest["last_accessed_at"].is_string(), "{newest}");
    for bad in ["?sort=name", "?direction=up"] {
        let refused = farrier.admin(Method::GET, &format!("{CACHES}{bad}"), Value::Null).await;
        assert_eq!(refused.status, 422, "{bad}: {refused:?}");
    }
    let usage = get(&farrier, "/api/v1/repos/admin/r/actions/cache/usage").await;
    let expected = json!({ "full_name": "admin/r", "active_caches_size_in_bytes": 10, "active_caches_count": 4 });
    assert_eq!(usage, expected);
}

#[tokio::test]
async fn deleted_entries_are_not_found_and_their_keys_can_be_saved_again() {
    let (farrier, main, feature) = daemon_with_entries().await;
    let delete = async |query: &str| farrier.admin(Method::DELETE, &format!("{CACHES}{query}"), Value::Null).await;
    assert_eq!(delete("").await.status, 422);
    assert_eq!(delete("?key=npm").await.status, 404, "the key is exact");
    for empty in ["?key=a&ref=", "?key=&ref=refs/heads/main"] {
        let refused = delete(empty).await;
        assert!(refused.status == 422 && refused.text().contains("must not be empty"), "{empty}: {refused:?}");
    }
    let one = delete("?key=a&ref=refs/heads/feature").await;
    assert_eq!((one.status, shown(&one.json())), (200, vec![("a".to_owned(), 4)]));
    assert_eq!(content(&farrier, &feature, "a").await.as_deref(), Some("1"), "of main");
    save(&farrier, &feature, "a", "again").await;
    let both = delete("?key=a").await;
    assert_eq!(both.json()["total_count"], 2);
    assert_eq!(content(&farrier, &main, "a").await, None);
    assert_eq!(delete("?key=a").await.status, 404);
    let id = get(&farrier, &format!("{CACHES}?key=b")).await["actions_caches"][0]["id"].clone();
    assert_eq!(delete(&format!("/{id}")).await.status, 204);
    assert_eq!(delete(&format!("/{id}")).await.status, 404);
    assert_eq!(content(&farrier, &feature, "b").await, None);
    let usage = get(&farrier, "/api/v1/repos/admin/r/actions/cache/usage").await;
    assert_eq!(
        (usage["active_caches_count"].clone(), usage["active_caches_size_in_bytes"].clone()),
        (json!(1), json!(2))
    );
}

#[tokio::test]
async fn readers_list_entries_and_only_writers_delete_them() {
    let (farrier, main, _) = daemon_with_entries().await;
    for name in ["reader", "stranger"] {
        farrier.user(name).await;
    }
    let path = "/api/v1/repos/admin/r";
    let private = farrier.admin(Method::PATCH, path, json!({ "private": true })).await;
    assert_eq!(private.status, 200, "{private:?}");
    let added =
        farrier.admin(Method::PUT, &format!("{path}/collaborators/reader"), json!({ "permission": "read" })).await;
    assert_eq!(added.status, 204, "{added:?}");
    let as_user = async |token: &str, method: Method, path: &str| -> Answer {
        let authorization = format!("token {token}");
        send(&farrier.tcp(), method, path, &[("authorization", authorization.as_str())], "").await
    };
    let (reader, stranger) = (farrier.token("reader", &["all"]).await, farrier.token("stranger", &["all"]).await);
    let by_key = format!("{CACHES}?key=a");
    let usage = format!("{path}/actions/cache/usage");
    let across = "/api/farrier/v1/caches";
    for (token, method, path, status) in [
        (&reader, Method::GET, CACHES, 200),
        (&reader, Method::GET, &usage, 200),
        (&reader, Method::DELETE, &by_key, 403),
        (&stranger, Method::GET, CACHES, 404),
        (&stranger, Method::GET, &usage, 404),
        (&stranger, Method::DELETE, &by_key, 404),
        (&main.token, Method::GET, CACHES, 401),
        (&main.token, Method::GET, across, 401),
    ] {
        assert_eq!(as_user(token, method.clone(), path).await.status, status, "{method} {path}");
    }
    let list = as_user(&reader, Method::GET, across).await.json();
    assert_eq!(list.as_array().map(Vec::len), Some(4));
    assert_eq!(as_user(&stranger, Method::GET, across).await.json(), json!([]));
    assert_eq!(as_user(&stranger, Method::GET, &format!("{across}/usage")).await.json(), json!([]));
}

#[tokio::test]
async fn entries_of_all_repositories_are_listed_by_last_use() {
    let (farrier, main, _) = daemon_with_entries().await;
    farrier.repository("other").await;
    let other = farrier.begin_on("other", "main").await;
    save(&farrier, &other, "npm-2", "55555").await;
    farrier.clock.jump_ms(120_000);
    assert!(content(&farrier, &main, "a").await.is_some());
    let keys = |list: &Value| -> Vec<String> {
        let entries = list.as_array().expect("a list").iter();
        entries
            .map(|entry| {
                format!("{} {}", entry["repository"].as_str().expect("text"), entry["key"].as_str().expect("text"))
            })
            .collect()
    };
    let all = ["admin/r a", "admin/other npm-2", "admin/r a", "admin/r npm-1", "admin/r b"];
    eventually("the use is recorded", async || keys(&get(&farrier, "/api/farrier/v1/caches").await) == all).await;
    for (query, expected) in [
        ("?repository=admin/other", &all[1..2]),
        ("?key=npm", &["admin/other npm-2", "admin/r npm-1"]),
        ("?ref=refs/heads/feature", &["admin/r a", "admin/r b"]),
        ("?limit=2", &all[..2]),
    ] {
        assert_eq!(keys(&get(&farrier, &format!("/api/farrier/v1/caches{query}")).await), expected, "{query}");
    }
    let mut path = "/api/farrier/v1/caches?limit=2".to_owned();
    let mut paged = Vec::new();
    loop {
        let answer = farrier.admin(Method::GET, &path, Value::Null).await;
        paged.extend(keys(&answer.json()));
        let Some((link, _)) = answer.header("link").split_once('>') else { break };
        let link = link.trim_start_matches('<');
        path = link[link.find("/api/").expect("a path")..].to_owned();
    }
    assert_eq!(paged, all);
    let usage = get(&farrier, "/api/farrier/v1/caches/usage").await;
    let expected = [("admin/r", 10, 4), ("admin/other", 5, 1)].map(|(name, size, count)| {
        json!({ "full_name": name, "active_caches_size_in_bytes": size, "active_caches_count": count })
    });
    assert_eq!(usage, json!(expected));
}

#[tokio::test]
async fn the_usage_of_repositories_has_pages_with_the_largest_first() {
    let farrier = TestDaemon::start().await;
    for (name, content) in [("a", "xx"), ("b", "xxxxx"), ("c", "x"), ("d", "xxxxx"), ("e", "xxx")] {
        farrier.repository(name).await;
        let job = farrier.begin_on(name, "main").await;
        save(&farrier, &job, "key", content).await;
    }
    // Equal sizes are sorted by ID.
    let all = ["admin/b", "admin/d", "admin/e", "admin/a", "admin/c"];
    let mut path = "/api/farrier/v1/caches/usage?limit=2".to_owned();
    let mut paged = Vec::new();
    loop {
        let answer = farrier.admin(Method::GET, &path, Value::Null).await;
        assert_eq!((answer.status, answer.header("x-total-count")), (200, "5"), "{path}");
        let items = answer.json().as_array().expect("a list").clone();
        paged.extend(items.iter().map(|item| item["full_name"].as_str().expect("text").to_owned()));
        let links: Vec<&str> = answer.header("link").split(',').collect();
        let Some(next) = links.into_iter().find(|link| link.contains("rel=\"next\"")) else { break };
        let link = next.split_once('>').expect("an address").0;
        path = link[link.find("/api/").expect("a path")..].to_owned();
    }
    assert_eq!(paged, all);
    let usage = async |query: &str| get(&farrier, &format!("/api/farrier/v1/caches/usage{query}")).await;
    assert_eq!(usage("").await.as_array().map(Vec::len), Some(5));
    for query in ["?page=4&limit=2", "?page=18446744073709551615&limit=50"] {
        assert_eq!(usage(query).await, json!([]), "{query}");
    }
    farrier.user("octo").await;
    let octo = format!("token {}", farrier.token("octo", &["all"]).await);
    let headers = [("authorization", octo.as_str())];
    let seen = send(&farrier.tcp(), Method::GET, "/api/farrier/v1/caches/usage?limit=1", &headers, "").await;
    assert_eq!((seen.status, seen.header("x-total-count")), (200, "5"), "public repositories");
}

#[tokio::test]
async fn lookups_that_find_an_entry_are_counted() {
    let (farrier, main, feature) = daemon_with_entries().await;
    for _ in 0..3 {
        assert!(content(&farrier, &main, "a").await.is_some());
    }
    assert!(content(&farrier, &feature, "npm-1").await.is_some());
    assert_eq!(content(&farrier, &main, "nothing").await, None);
    farrier.clock.jump_ms(120_000);
    let hits = async |query: &str| {
        let list = get(&farrier, &format!("/api/farrier/v1/caches{query}")).await;
        list[0]["hits"].as_i64().expect("a number")
    };
    eventually("the lookups are counted", async || {
        (hits("?key=a&ref=refs/heads/main").await, hits("?key=npm-1").await) == (3, 1)
    })
    .await;
    assert_eq!(hits("?key=b").await, 0);
}
