//! Reading files and directories, as JSON and as raw bytes.

use http::Method;
use serde_json::{Value, json};

use super::{ELSEWHERE, demo};
use crate::support::{TestDaemon, send};

#[tokio::test]
async fn paths_are_accepted_escaped_and_unescaped() {
    let farrier = TestDaemon::start().await;
    let demo = demo(&farrier).await;
    let file = farrier.json(&demo.at("/contents/src/a%20b")).await;
    assert_eq!(file, farrier.json(&demo.at("/contents/src%2Fa%20b")).await);
    assert_eq!(file, farrier.json(&demo.at("//contents//src/a%20b/?")).await);
    let api = format!("{}{}", farrier.url, demo.api);
    let id = demo.git(&["rev-parse", "main:src/a b"]);
    for (key, value) in [
        ("name", json!("a b")),
        ("path", json!("src/a b")),
        ("type", json!("file")),
        ("content", json!("YSBiCmMK")),
        ("encoding", json!("base64")),
        ("size", json!(6)),
        ("sha", json!(id)),
        ("last_commit_sha", json!(demo.git(&["rev-parse", "feature/x"]))),
        ("last_committer_date", json!("2026-01-02T05:04:05Z")),
        ("last_author_date", json!("2026-01-02T10:34:05+05:30")),
        ("target", json!(null)),
        ("submodule_git_url", json!(null)),
        ("url", json!(format!("{api}/contents/src/a%20b?ref=main"))),
        ("download_url", json!(format!("{api}/raw/src/a%20b?ref=main"))),
        ("git_url", json!(format!("{api}/git/blobs/{id}"))),
    ] {
        assert_eq!(file.get(key), Some(&value), "{key}");
    }
    assert_eq!(file["_links"]["git"], file["git_url"]);
    let old = farrier.json(&demo.at("/contents/src/a%20b?ref=v1.0")).await;
    assert_eq!(old["content"], "YSBiCg==");
    assert_eq!(farrier.status(&demo.at("/contents/%73rc/%C3%BC/%E6%97%A5%E6%9C%AC.txt?ref=main")).await, 200);
}

#[tokio::test]
async fn directories_list_files_symlinks_and_submodules() {
    let farrier = TestDaemon::start().await;
    let demo = demo(&farrier).await;
    let root = farrier.json(&demo.at("/contents")).await;
    let root = root.as_array().expect("a list");
    let of = |name: &str| root.iter().find(|item| item["name"] == name).unwrap_or_else(|| panic!("{name}"));
    let kinds = [("README.md", "file"), ("src", "dir"), ("link", "symlink"), ("lib", "submodule"), ("run.sh", "file")];
    for (name, kind) in kinds {
        assert_eq!(of(name)["type"], kind, "{name}");
        assert_eq!(of(name).get("content"), None, "{name}");
    }
    let rev = |name: &str| json!(demo.git(&["rev-parse", name]));
    assert_eq!(of("README.md")["last_commit_sha"], rev("main~2"));
    assert_eq!(of("run.sh")["last_commit_sha"], rev("v1.0^{commit}"));
    assert_eq!(of("side.txt")["last_commit_sha"], rev("feature/x"));
    let dates = |name: &str| [&of(name)["last_committer_date"], &of(name)["last_author_date"]];
    assert_eq!(dates("README.md"), ["2026-01-02T04:04:05Z", "2026-01-02T09:34:05+05:30"]);
    assert_eq!(dates("side.txt"), ["2026-01-02T05:04:05Z", "2026-01-02T10:34:05+05:30"]);
    let entries = farrier.json(&demo.at("/contents/src?ref=main")).await;
    let paths: Vec<_> = entries.as_array().expect("a list").iter().map(|item| &item["path"]).collect();
    assert_eq!(paths, [&json!("src/a b"), &json!("src/\u{fc}")]);

    let link = farrier.json(&demo.at("/contents/link")).await;
    assert_eq!((&link["target"], &link["type"]), (&json!("src/a b"), &json!("symlink")));
    let module = farrier.json(&demo.at("/contents/lib")).await;
    assert_eq!((&module["sha"], &module["type"]), (&json!(ELSEWHERE), &json!("submodule")));
    assert_eq!(module["submodule_git_url"], "https://elsewhere.example/lib.git");
    for absent in ["git_url", "html_url", "download_url"] {
        assert_eq!(module[absent], Value::Null, "{absent}");
    }
}

#[tokio::test]
async fn missing_and_invalid_paths_are_refused() {
    let farrier = TestDaemon::start().await;
    let empty = farrier.git_repository("empty").await;
    assert_eq!(farrier.json(&empty.at("/contents")).await, json!([]));
    assert_eq!(farrier.status(&empty.at("/contents/a")).await, 404);
    let missing = farrier.get(&empty.at("/raw/a")).await;
    assert_eq!((missing.status, &missing.json()["message"]), (404, &json!("not found")));
    let demo = demo(&farrier).await;
    for (path, status) in [
        ("contents/nothing", 404),
        ("contents/README.md?ref=nothing", 404),
        ("contents/src/../README.md", 422),
        ("contents/..%2F..%2Fetc", 422),
        ("contents/a%0Ab", 404),
        ("contents/*", 404),
        ("contents/:(top)README.md", 404),
        ("raw/src", 404),
        ("raw/lib", 404),
        ("raw/..%2fx", 422),
        ("raw/-x", 404),
        ("raw/%2F", 404),
        ("raw/%2F%2F", 404),
        ("raw/main%2F%2F", 404),
        ("raw/main/%2F%2FREADME.md", 200),
    ] {
        assert_eq!(farrier.status(&demo.at(&format!("/{path}"))).await, status, "{path}");
    }
}

#[tokio::test]
async fn raw_files_support_ranges_and_conditional_requests() {
    let farrier = TestDaemon::start().await;
    let demo = demo(&farrier).await;
    let raw = farrier.get(&demo.at("/raw/src/a%20b")).await;
    let id = demo.git(&["rev-parse", "main:src/a b"]);
    assert_eq!((raw.status, raw.text().as_str()), (200, "a b\nc\n"));
    for (name, value) in [
        ("etag", format!("\"{id}\"")),
        ("last-modified", "Fri, 02 Jan 2026 05:04:05 GMT".into()),
        ("content-type", "text/plain; charset=utf-8".into()),
        ("content-length", "6".into()),
        ("x-gitea-object-type", "file".into()),
        ("x-forgejo-object-type", "file".into()),
    ] {
        assert_eq!(raw.header(name), value, "{name}");
    }
    assert!(raw.header("content-disposition").starts_with("inline; filename=\"a%20b\""));
    assert!(raw.header("content-security-policy").contains("sandbox"));
    for (path, body) in [
        ("/raw/src%2Fa%20b?ref=v1.0", &b"a b\n"[..]),
        ("/raw/v1.0/src/a%20b", b"a b\n"),
        ("/raw/feature/x/side.txt", b"1\n2\n3\n"),
        ("/media/binary", b"\0\x01\x02"),
        ("/raw/link", b"src/a b"),
    ] {
        let answer = farrier.get(&demo.at(path)).await;
        assert_eq!((answer.status, &answer.body[..]), (200, body), "{path}");
    }
    assert_eq!(farrier.get(&demo.at("/raw/link")).await.header("x-gitea-object-type"), "symlink");
    assert_eq!(farrier.get(&demo.at("/raw/binary")).await.header("content-type"), "application/octet-stream");

    let with = |name: &'static str, value: String| {
        let (server, path) = (farrier.tcp(), demo.at("/raw/src/a%20b"));
        async move { send(&server, Method::GET, &path, &[(name, &value)], "").await }
    };
    let part = with("range", "bytes=2-4".into()).await;
    assert_eq!((part.status, part.text().as_str()), (206, "b\nc"));
    assert_eq!(part.header("content-range"), "bytes 2-4/6");
    let beyond = with("range", "bytes=6-".into()).await;
    assert_eq!((beyond.status, beyond.header("content-range")), (416, "bytes */6"));
    assert_eq!(with("if-none-match", format!("\"{id}\"")).await.status, 304);
    assert_eq!(with("if-none-match", "\"other\"".into()).await.status, 200);
}
