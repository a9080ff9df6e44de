//! Version 1 of the cache protocol, by requests and with the official client.

use bytes::Bytes;
use farrierd::clock::Clock;
use http::Method;
use serde_json::{Value, json};

use super::{VERSION, content, restore, save};
use crate::{
    artifacts::{noise, tree, write},
    support::{Answer, Job, TestDaemon, client::cache_client, send},
};

/// Sends a request below `/_apis/artifactcache` with the token of `job`.
async fn ask(farrier: &TestDaemon, job: &Job, method: Method, path: &str, body: Value) -> Answer {
    let authorization = format!("Bearer {}", job.token);
    let headers = [("authorization", authorization.as_str()), ("accept", "application/json;api-version=6.0-preview.1")];
    let body = if body.is_null() { String::new() } else { body.to_string() };
    send(&farrier.tcp(), method, &format!("/_apis/artifactcache/{path}"), &headers, body).await
}

async fn reserve(farrier: &TestDaemon, job: &Job, key: &str) -> Answer {
    ask(farrier, job, Method::POST, "caches", json!({ "key": key, "version": VERSION })).await
}

/// Reserves a key, which must succeed, and returns the number.
async fn reserved(farrier: &TestDaemon, job: &Job, key: &str) -> i64 {
    let answer = reserve(farrier, job, key).await;
    assert_eq!(answer.status, 201, "{answer:?}");
    answer.json()["cacheId"].as_i64().expect("a number")
}

async fn put_range(farrier: &TestDaemon, job: &Job, id: i64, range: &str, body: impl Into<Bytes>) -> Answer {
    let authorization = format!("Bearer {}", job.token);
    let range = format!("bytes {range}/*");
    let headers = [
        ("authorization", authorization.as_str()),
        ("content-range", range.as_str()),
        ("content-type", "application/octet-stream"),
    ];
    send(&farrier.tcp(), Method::PATCH, &format!("/_apis/artifactcache/caches/{id}"), &headers, body).await
}

async fn commit(farrier: &TestDaemon, job: &Job, id: i64, size: usize) -> Answer {
    ask(farrier, job, Method::POST, &format!("caches/{id}"), json!({ "size": size })).await
}

async fn find(farrier: &TestDaemon, job: &Job, keys: &str) -> Answer {
    ask(farrier, job, Method::GET, &format!("cache?keys={keys}&version={VERSION}"), Value::Null).await
}

async fn daemon_with_job() -> (TestDaemon, Job) {
    let farrier = TestDaemon::start().await;
    farrier.repository("r").await;
    let job = farrier.begin_on("r", "feature").await;
    (farrier, job)
}

#[tokio::test]
async fn ranges_in_any_order_become_an_entry_that_both_versions_restore() {
    let (farrier, job) = daemon_with_job().await;
    assert_eq!(find(&farrier, &job, "k").await.status, 204);
    let id = reserved(&farrier, &job, "k").await;
    for (range, body) in [("5-10", " world"), ("0-4", "HELLO"), ("0-4", "hello")] {
        let put = put_range(&farrier, &job, id, range, body).await;
        assert_eq!((put.status, put.body.len()), (204, 0), "{put:?}");
    }
    assert_eq!(find(&farrier, &job, "k").await.status, 204, "not committed");
    assert_eq!(commit(&farrier, &job, id, 11).await.status, 204);
    let found = find(&farrier, &job, "x%2Ck").await;
    let body = found.json();
    assert_eq!((found.status, &body["cacheKey"], &body["scope"]), (200, &json!("k"), &json!("refs/heads/feature")));
    assert!(body["creationTime"].as_str().is_some_and(|time| time.ends_with('Z')), "{body}");
    let address = farrier.path_of(body["archiveLocation"].as_str().expect("an address"));
    let read = send(&farrier.tcp(), Method::GET, &address, &[], "").await;
    assert_eq!((read.status, read.text().as_str(), read.header("content-length")), (200, "hello world", "11"));
    let part = send(&farrier.tcp(), Method::GET, &address, &[("range", "bytes=6-")], "").await;
    assert_eq!((part.status, part.text().as_str()), (206, "world"));
    assert_eq!(content(&farrier, &job, "k").await.as_deref(), Some("hello world"));

    save(&farrier, &job, "of-version-2", "content").await;
    assert_eq!(find(&farrier, &job, "of-version-2").await.json()["cacheKey"], "of-version-2");
}

#[tokio::test]
async fn a_single_key_is_a_prefix_and_finds_the_newest_entry() {
    let (farrier, job) = daemon_with_job().await;
    for key in ["index#1", "index#2", "other/a b+c"] {
        save(&farrier, &job, key, "content").await;
    }
    for (keys, found) in [("index%23", "index#2"), ("index%231", "index#1"), ("other/a%20b%2Bc", "other/a b+c")] {
        assert_eq!(find(&farrier, &job, keys).await.json()["cacheKey"], found, "{keys}");
    }
    assert_eq!(restore(&farrier, &job, "index#", &[]).await, None, "version 2 finds the complete key only");
}

#[tokio::test]
async fn gaps_overlaps_and_wrong_sizes_are_refused_with_a_message() {
    let (farrier, job) = daemon_with_job().await;
    for (ranges, size, message) in [
        (&[("0-4", "hello"), ("6-6", "x")][..], 6, "the ranges have a gap at byte 5"),
        (&[("0-4", "hello"), ("3-5", "xyz")], 6, "the ranges overlap at byte 3"),
        (&[("1-2", "xy")], 3, "the ranges have a gap at byte 0"),
        (&[("0-4", "hello")], 6, "expected 6 bytes, have 5"),
        (&[], 6, "expected 6 bytes, have 0"),
    ] {
        let id = reserved(&farrier, &job, "k").await;
        for (range, body) in ranges {
            assert_eq!(put_range(&farrier, &job, id, range, *body).await.status, 204);
        }
        let refused = commit(&farrier, &job, id, size).await;
        let body = refused.json();
        let text = body["message"].as_str().expect("a text");
        assert!(refused.status == 400 && text.contains(message), "{message}: {refused:?}");
    }
    let id = reserved(&farrier, &job, "k").await;
    for (range, body) in [("0-4", "four"), ("0-4", "sixsix"), ("5-3", ""), ("x", "x")] {
        let refused = put_range(&farrier, &job, id, range, body).await;
        assert_eq!(refused.status, 400, "{range}: {refused:?}");
        assert!(refused.json()["message"].is_string());
    }
    assert_eq!(find(&farrier, &job, "k").await.status, 204);
}

#[tokio::test]
async fn a_key_in_use_is_a_conflict_with_its_type() {
    let (farrier, job) = daemon_with_job().await;
    save(&farrier, &job, "k", "first").await;
    let conflict = reserve(&farrier, &job, "k").await;
    assert_eq!(conflict.status, 409);
    let message = format!("Cache already exists. Scope: refs/heads/feature, Key: k, Version: {VERSION}");
    let name = "ArtifactCacheItemAlreadyExistsException";
    assert_eq!(conflict.json(), json!({ "typeKey": name, "typeName": name, "message": message, "errorCode": 0 }));
    assert_eq!(content(&farrier, &job, "k").await.as_deref(), Some("first"));
}

#[tokio::test]
async fn only_the_job_that_reserved_an_entry_uploads_and_commits_it_once() {
    let (farrier, job) = daemon_with_job().await;
    farrier.repository("other").await;
    let foreign = farrier.begin_on("other", "feature").await;
    let sibling = farrier.begin_on("r", "feature").await;
    let id = reserved(&farrier, &job, "k").await;
    for other in [&foreign, &sibling] {
        assert_eq!(put_range(&farrier, other, id, "0-0", "x").await.status, 404);
        assert_eq!(commit(&farrier, other, id, 1).await.status, 404);
    }
    assert_eq!(put_range(&farrier, &job, id, "0-0", "x").await.status, 204);
    assert_eq!(commit(&farrier, &job, id, 1).await.status, 204);
    assert_eq!(put_range(&farrier, &job, id, "0-0", "y").await.status, 400);
    assert_eq!(commit(&farrier, &job, id, 1).await.status, 400);
    assert_eq!(content(&farrier, &job, "k").await.as_deref(), Some("x"));
    farrier.end(&job).await;
    for (method, path) in [
        (Method::GET, "cache?keys=k&version=v".to_owned()),
        (Method::POST, "caches".to_owned()),
        (Method::PATCH, format!("caches/{id}")),
        (Method::POST, format!("caches/{id}")),
        (Method::POST, "clean".to_owned()),
    ] {
        let refused = ask(&farrier, &job, method.clone(), &path, json!({})).await;
        assert_eq!(refused.status, 401, "{method} {path}: {refused:?}");
        assert!(refused.json()["message"].is_string());
    }
    assert_eq!(ask(&farrier, &sibling, Method::POST, "clean", json!({})).await.status, 200);
    let unknown = ask(&farrier, &sibling, Method::GET, "nothing", Value::Null).await;
    assert!(unknown.status == 404 && unknown.json()["message"].is_string(), "{unknown:?}");
}

#[tokio::test]
async fn an_entry_over_the_limit_is_refused_with_a_message() {
    let farrier = TestDaemon::with_clock(Clock::system(), |config| config.caches.max_bytes = 10).await;
    farrier.repository("r").await;
    let job = farrier.begin_on("r", "main").await;
    let body = json!({ "key": "k", "version": VERSION, "cacheSize": 11 });
    let refused = ask(&farrier, &job, Method::POST, "caches", body).await;
    assert_eq!(refused.status, 400, "{refused:?}");
    let id = reserved(&farrier, &job, "k").await;
    let refused = put_range(&farrier, &job, id, "0-10", "0123456789x").await;
    assert!(refused.status == 400 && refused.text().contains("over the limit of 10 bytes"), "{refused:?}");
}

fn operation(call: &str, key: &str, restore_keys: &[&str]) -> Value {
    json!({ "call": call, "paths": ["data"], "key": key, "restoreKeys": restore_keys })
}

#[tokio::test]
async fn the_client_uses_version_1_with_the_address_of_another_forge() {
    let farrier = TestDaemon::start().await;
    farrier.repository("r").await;
    for (package, variable, value) in [
        ("cache-6", "GITHUB_SERVER_URL", "http://forge.example:3000"),
        ("cache-5", "ACTIONS_CACHE_SERVICE_V2", ""),
        ("cache-4", "ACTIONS_CACHE_SERVICE_V2", ""),
        ("cache-3", "ACTIONS_CACHE_SERVICE_V2", "true"),
    ] {
        let job = farrier.begin_on("r", "main").await;
        let workspace = farrier.files(package);
        let Some(client) = cache_client(package, &job, &workspace).await else { return };
        let client = client.env(variable, value);
        write(&workspace, "data/a.txt", package);
        write(&workspace, "data/sub/b.bin", noise(200_000, 1));
        let before = tree(&workspace.join("data"));
        let key = format!("{package}-npm-1");
        let remove = operation("remove", "", &[]);
        let outcome = client
            .run(&[
                operation("save", &key, &[]),
                remove.clone(),
                operation("restore", &key, &[]),
                remove,
                operation("restore", "other", &[&format!("{package}-npm-")]),
                operation("restore", "unknown", &[]),
                operation("save", &key, &[]),
                operation("available", "", &[]),
            ])
            .await;
        assert!(outcome.ok(0).as_i64().is_some_and(|id| id > 0), "{package}: {}", outcome.log);
        assert_eq!((outcome.ok(2), outcome.ok(4)), (&json!(key), &json!(key)), "{package}: {}", outcome.log);
        assert_eq!(outcome.ok(5), &Value::Null, "{package}");
        assert_eq!(outcome.ok(6), -1, "{package}");
        assert!(outcome.log.contains("Unable to reserve cache with key"), "{package}: {}", outcome.log);
        assert_eq!(outcome.ok(7), true, "{package}");
        assert_eq!(tree(&workspace.join("data")), before, "{package}");
    }
}

#[tokio::test]
async fn an_entry_of_one_version_is_restored_by_the_client_in_the_other() {
    let farrier = TestDaemon::start().await;
    farrier.repository("r").await;
    let job = farrier.begin_on("r", "main").await;
    let workspace = farrier.files("both");
    for (saving, restoring) in [("true", ""), ("", "true")] {
        let versioned = async |version: &str| {
            let client = cache_client("cache-5", &job, &workspace).await?;
            Some(client.env("ACTIONS_CACHE_SERVICE_V2", version))
        };
        let (Some(saver), Some(restorer)) = (versioned(saving).await, versioned(restoring).await) else { return };
        write(&workspace, "data/a.txt", saving);
        let before = tree(&workspace.join("data"));
        let key = format!("saved-with-{saving}");
        let saved = saver.run(&[operation("save", &key, &[]), operation("remove", "", &[])]).await;
        assert!(saved.ok(0).as_i64().is_some_and(|id| id > 0), "{}", saved.log);
        let restored = restorer.run(&[operation("restore", &key, &[])]).await;
        assert_eq!(restored.ok(0), &json!(key), "{}", restored.log);
        assert_eq!(tree(&workspace.join("data")), before);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_client_uploads_140_megabytes_in_chunks() {
    let farrier = TestDaemon::start().await;
    farrier.repository("r").await;
    let job = farrier.begin_on("r", "main").await;
    let workspace = farrier.files("large");
    let Some(client) = cache_client("cache-3", &job, &workspace).await else { return };
    write(&workspace, "data/large.bin", noise(140_000_000, 2));
    let before = tree(&workspace.join("data"));
    let outcome = client
        .run(&[operation("save", "large", &[]), operation("remove", "", &[]), operation("restore", "large", &[])])
        .await;
    assert_eq!(outcome.ok(2), "large", "{}", outcome.log);
    assert!(tree(&workspace.join("data")) == before);
}

/// Sends a request of `job` as the cache proxy of Forgejo's runner forwards it. The token of the job passes through it.
async fn ask_proxied(
    farrier: &TestDaemon,
    job: &Job,
    isolation: Option<&str>,
    method: Method,
    path: &str,
    body: Value,
) -> Answer {
    let authorization = format!("Bearer {}", job.token);
    let mut headers = vec![
        ("authorization", authorization.as_str()),
        ("content-type", "application/json"),
        ("forgejo-cache-repo", "admin/r"),
        ("forgejo-cache-runnumber", "1"),
        ("forgejo-cache-runid", "1"),
        ("forgejo-cache-timestamp", "1764000000"),
        ("forgejo-cache-mac", "00ff"),
        ("forgejo-cache-host", "http://runner:1234"),
    ];
    headers.extend(isolation.map(|key| ("forgejo-cache-writeisolationkey", key)));
    let body = if body.is_null() { String::new() } else { body.to_string() };
    send(&farrier.tcp(), method, &format!("/_apis/artifactcache/{path}"), &headers, body).await
}

/// Saves `content` under the key `k` through the proxy.
async fn save_proxied(farrier: &TestDaemon, job: &Job, isolation: Option<&str>, content: &'static str) {
    let body = json!({ "key": "k", "version": VERSION });
    let reserved = ask_proxied(farrier, job, isolation, Method::POST, "caches", body).await;
    assert_eq!(reserved.status, 201, "{reserved:?}");
    let id = reserved.json()["cacheId"].as_i64().expect("a number");
    let range = format!("0-{}", content.len() - 1);
    assert_eq!(put_range(farrier, job, id, &range, content).await.status, 204);
    assert_eq!(commit(farrier, job, id, content.len()).await.status, 204);
}

/// Looks for the key `k` through the proxy. Returns the scope and the content of the entry.
async fn find_proxied(farrier: &TestDaemon, job: &Job, isolation: Option<&str>) -> Option<(String, String)> {
    let path = format!("cache?keys=k&version={VERSION}");
    let found = ask_proxied(farrier, job, isolation, Method::GET, &path, Value::Null).await;
    if found.status == 204 {
        return None;
    }
    let (scope, address) = (found.json()["scope"].clone(), found.json()["archiveLocation"].clone());
    let path = farrier.path_of(address.as_str().expect("an address"));
    let content = send(&farrier.tcp(), Method::GET, &path, &[], "").await.text();
    Some((scope.as_str().expect("a text").to_owned(), content))
}

#[tokio::test]
async fn an_isolated_job_behind_the_cache_proxy_of_forgejo_writes_to_its_own_scope() {
    let (farrier, branch) = daemon_with_job().await;
    let pull_request = farrier.begin_on("r", "feature").await;
    let found = |scope: &str, content: &str| Some((scope.to_owned(), content.to_owned()));
    save_proxied(&farrier, &pull_request, Some("refs/heads/main"), "of a pull request").await;
    assert_eq!(find_proxied(&farrier, &branch, None).await, None, "isolated jobs write no entry of a branch");
    assert_eq!(find_proxied(&farrier, &branch, Some("other")).await, None);
    let isolated = found("isolated/refs/heads/feature:refs/heads/main", "of a pull request");
    let next = farrier.begin_on("r", "feature").await;
    assert_eq!(find_proxied(&farrier, &next, Some("refs/heads/main")).await, isolated);
    save_proxied(&farrier, &branch, None, "of the branch").await;
    let of_branch = found("refs/heads/feature", "of the branch");
    assert_eq!(find_proxied(&farrier, &branch, None).await, of_branch);
    assert_eq!(find_proxied(&farrier, &next, Some("other")).await, of_branch, "isolated jobs read as usual");
    assert_eq!(find_proxied(&farrier, &next, Some("refs/heads/main")).await, isolated);
    let long = "x".repeat(600);
    let refused = ask_proxied(&farrier, &next, Some(&long), Method::GET, "cache?keys=k&version=v", Value::Null).await;
    assert_eq!(refused.status, 400, "{refused:?}");
}

#[tokio::test]
async fn jobs_of_another_branch_neither_read_nor_write_the_scope_of_an_isolated_job() {
    let (farrier, pull_request) = daemon_with_job().await;
    let other = farrier.begin_on("r", "evil").await;
    save_proxied(&farrier, &other, Some("7"), "of another branch").await;
    assert_eq!(find_proxied(&farrier, &pull_request, Some("7")).await, None);
    save_proxied(&farrier, &pull_request, Some("7"), "of the pull request").await;
    let content = async |job: &Job| find_proxied(&farrier, job, Some("7")).await.map(|(_, content)| content);
    assert_eq!(content(&pull_request).await.as_deref(), Some("of the pull request"));
    assert_eq!(content(&other).await.as_deref(), Some("of another branch"));
}
