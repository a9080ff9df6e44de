//! Cache entries of workflow jobs on the command line, with a real daemon.

use std::{
    io::{Read as _, Write as _},
    os::unix::net::UnixStream,
    path::Path,
};

use serde_json::{Value, json};

use crate::session::Daemon;

/// Sends a request over the socket of the daemon and returns the body of its response, which must have status 2xx.
fn send(daemon: &Daemon, head: &str, token: &str, body: &str) -> String {
    let mut stream = UnixStream::connect(daemon.socket()).unwrap();
    let length = body.len();
    let lines = [
        head,
        "Host: localhost",
        "Connection: close",
        "Content-Type: application/json",
        "x-ms-blob-type: BlockBlob",
        &format!("Authorization: Bearer {token}"),
        &format!("Content-Length: {length}"),
    ];
    write!(stream, "{}\r\n\r\n{body}", lines.join("\r\n")).unwrap();
    let mut response = String::new();
    stream.read_to_string(&mut response).unwrap();
    assert!(response.starts_with("HTTP/1.1 2"), "{head}: {response}");
    response.split_once("\r\n\r\n").unwrap().1.to_owned()
}

/// Saves a cache entry as a job of `branch`.
fn save(daemon: &Daemon, repo: &str, branch: &str, key: &str, content: &str) {
    let job = daemon.farrier(&["ci", "begin", "--repo", repo, "--branch", branch, "--json"]).json();
    let token = job["token"].as_str().unwrap();
    let call = |method: &str, message: Value| -> Value {
        let head = format!("POST /twirp/github.actions.results.api.v1.CacheService/{method} HTTP/1.1");
        serde_json::from_str(&send(daemon, &head, token, &message.to_string())).unwrap()
    };
    let created = call("CreateCacheEntry", json!({ "key": key, "version": "v" }));
    let url = created["signed_upload_url"].as_str().unwrap();
    let path = &url[url.find("/_blob/").unwrap()..];
    send(daemon, &format!("PUT {path} HTTP/1.1"), token, content);
    let finalized = json!({ "key": key, "version": "v", "size_bytes": content.len() });
    assert_eq!(call("FinalizeCacheEntryUpload", finalized)["ok"], true);
}

fn keys(daemon: &Daemon, words: &[&str]) -> Vec<String> {
    let listed = daemon.farrier(&[&["cache", "list", "--json"], words].concat()).json();
    let mut keys: Vec<String> =
        listed["caches"].as_array().unwrap().iter().map(|entry| entry["key"].as_str().unwrap().to_owned()).collect();
    keys.sort();
    keys
}

#[test]
fn cache_entries_are_listed_counted_and_deleted() {
    let daemon = Daemon::start();
    for repo in ["admin/one", "admin/two"] {
        daemon.farrier(&["repo", "create", repo]).ok();
    }
    save(&daemon, "admin/one", "main", "npm-1", "hello");
    save(&daemon, "admin/one", "feature", "npm-1", "there");
    save(&daemon, "admin/one", "main", "go-1", "you");
    save(&daemon, "admin/two", "main", "npm-2", "all");
    assert_eq!(keys(&daemon, &[]), ["go-1", "npm-1", "npm-1", "npm-2"]);
    assert_eq!(keys(&daemon, &["--repo", "admin/one", "--key", "npm", "--ref", "refs/heads/main"]), ["npm-1"]);
    let table = daemon.farrier(&["cache", "list"]).ok().stdout;
    assert!(table.starts_with("ID ") && table.contains("refs/heads/feature"), "{table}");

    let usage = daemon.farrier(&["cache", "usage", "--json"]).json();
    assert_eq!(usage["total_count"], 2);
    let one = &usage["repositories"][0];
    let expected = json!({ "full_name": "admin/one", "active_caches_size_in_bytes": 13, "active_caches_count": 3 });
    assert_eq!(one, &expected);
    let largest = daemon.farrier(&["cache", "usage", "--limit", "1"]).ok();
    assert!(largest.stdout.contains("admin/one") && !largest.stdout.contains("admin/two"), "{largest:?}");
    assert!(largest.stderr.contains("Showing 1 of 2"), "{largest:?}");
    assert_eq!(daemon.farrier(&["cache", "usage", "--repo", "admin/two", "--limit", "1"]).code, 2);
    assert_eq!(daemon.farrier(&["cache", "usage", "-q", "--repo", "admin/two"]).ok().stdout.trim(), "admin/two");

    let id = daemon.farrier(&["cache", "list", "-q", "--key", "go-1"]).ok().stdout.trim().to_owned();
    assert_ne!(daemon.farrier(&["cache", "delete", &id, "--repo", "admin/one"]).code, 0, "without --yes");
    let deleted = daemon.farrier(&["cache", "delete", &id, "--repo", "admin/one", "--yes", "--json"]).json();
    assert_eq!(deleted["id"].to_string(), id);
    assert!(deleted.get("key").is_none() && deleted.get("size_in_bytes").is_none(), "{deleted}");
    assert_eq!(daemon.farrier(&["cache", "delete", &id, "--repo", "admin/one", "--yes"]).code, 3);
    for empty in [&["--key", ""][..], &["--key", "npm-1", "--ref", ""]] {
        let words = [&["cache", "delete", "--repo", "admin/one", "--yes"], empty].concat();
        assert_eq!(daemon.farrier(&words).code, 2, "{empty:?}");
    }
    assert_eq!(keys(&daemon, &[]), ["npm-1", "npm-1", "npm-2"]);
    let by_key = ["cache", "delete", "--repo", "admin/one", "--key", "npm-1", "--ref", "refs/heads/main", "--yes"];
    daemon.farrier(&by_key).ok();
    assert_eq!(keys(&daemon, &[]), ["npm-1", "npm-2"]);
    assert_eq!(daemon.farrier(&["cache", "delete", "--repo", "admin/one", "--yes"]).code, 2);
}

#[test]
fn a_command_of_ci_exec_uses_the_cache_with_nothing_but_its_environment() {
    let clients = Path::new(env!("CARGO_MANIFEST_DIR")).join("../daemon/tests/clients");
    if !clients.join("node_modules/cache-6").exists() {
        assert!(std::env::var_os("FARRIER_REQUIRE_CLIENTS").is_none(), "the clients are not installed");
        println!("skipped: the clients are not installed");
        return;
    }
    let daemon = Daemon::start();
    daemon.farrier(&["repo", "create", "admin/one"]).ok();
    let work = daemon.work("job");
    std::fs::create_dir_all(work.join("data")).unwrap();
    std::fs::write(work.join("data/a.txt"), "content").unwrap();
    // The two variables are set by runners, not by the server of the cache.
    let script = format!(
        "GITHUB_WORKSPACE={0} RUNNER_TEMP={0} exec node {1} \"$1\"",
        work.display(),
        clients.join("cache.mjs").display()
    );
    let exec = |operations: Value| -> Value {
        let input = json!({ "package": "cache-6", "operations": operations }).to_string();
        let words = ["ci", "exec", "--repo", "admin/one", "--branch", "main", "--", "sh", "-c", &script, "sh", &input];
        let output = daemon.farrier(&words).ok().stdout;
        serde_json::from_str(output.rsplit_once("RESULT ").expect(&output).1.lines().next().unwrap()).unwrap()
    };
    let of = |call: &str| json!({ "call": call, "paths": ["data"], "key": "npm-1", "restoreKeys": [] });
    let saved = exec(json!([of("available"), of("save"), of("remove")]));
    assert_eq!(saved[0]["ok"], true, "{saved}");
    assert!(saved[1]["ok"].as_i64().is_some_and(|id| id > 0), "{saved}");
    // A later job restores it.
    let restored = exec(json!([of("restore")]));
    assert_eq!(restored[0]["ok"], "npm-1", "{restored}");
    assert_eq!(std::fs::read_to_string(work.join("data/a.txt")).unwrap(), "content");
}
