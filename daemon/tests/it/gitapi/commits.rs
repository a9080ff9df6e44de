//! Reading commits, comparisons and notes.

use serde_json::{Value, json};

use super::demo;
use crate::support::TestDaemon;

#[tokio::test]
async fn commits_are_paged() {
    let farrier = TestDaemon::start().await;
    let empty = farrier.git_repository("empty").await;
    assert_eq!(farrier.status(&empty.at("/commits")).await, 409);
    let demo = demo(&farrier).await;
    let first = farrier.get(&demo.at("/commits?limit=3")).await;
    for (name, value) in [
        ("x-total-count", "4"),
        ("x-total", "4"),
        ("x-page", "1"),
        ("x-perpage", "3"),
        ("x-pagecount", "2"),
        ("x-hasmore", "true"),
    ] {
        assert_eq!(first.header(name), value, "{name}");
    }
    let list = first.json();
    assert_eq!(list.as_array().expect("a list").len(), 3);
    let merge = &list[0];
    let id = demo.git(&["rev-parse", "main"]);
    assert_eq!(merge["sha"], id);
    assert_eq!(merge["commit"]["tree"]["sha"], demo.git(&["rev-parse", "main^{tree}"]));
    assert_eq!(merge["created"], "2026-01-02T07:04:05Z");
    assert_eq!(merge["commit"]["author"]["date"], "2026-01-02T12:34:05+05:30");
    let parents: Vec<_> = merge["parents"].as_array().expect("a list").iter().map(|parent| &parent["sha"]).collect();
    assert_eq!(parents, [&json!(demo.git(&["rev-parse", "main^1"])), &json!(demo.git(&["rev-parse", "main^2"]))]);
    let files = json!([{ "filename": "side.txt", "status": "added" }, { "filename": "src/a b", "status": "modified" }]);
    assert_eq!(merge["files"], files);
    assert_eq!(merge["stats"], json!({ "total": 4, "additions": 4, "deletions": 0 }));
    assert_eq!(merge.get("author"), None, "no account has this e-mail address");
    let last = farrier.get(&demo.at("/commits?limit=3&page=2")).await;
    assert_eq!((last.header("x-hasmore"), last.json().as_array().map(Vec::len)), ("false", Some(1)));
    let beyond = farrier.get(&demo.at("/commits?limit=3&page=99")).await;
    assert_eq!((beyond.header("x-total-count"), beyond.text().as_str()), ("4", "[]\n"));
}

#[tokio::test]
async fn commits_are_filtered_by_ref_path_and_time() {
    let farrier = TestDaemon::start().await;
    let demo = demo(&farrier).await;
    let subjects = async |query: &str| {
        let list = farrier.json(&demo.at(&format!("/commits?{query}"))).await;
        let first_line =
            |commit: &Value| commit["commit"]["message"].as_str().expect("text").lines().next().map(str::to_owned);
        list.as_array().expect("a list").iter().filter_map(first_line).collect::<Vec<_>>()
    };
    assert_eq!(subjects("sha=feature/x").await, ["on the side", "first"]);
    assert_eq!(subjects("sha=feature%2Fx&not=v1.0").await, ["on the side"]);
    assert_eq!(subjects("path=side.txt").await, ["on the side"]);
    assert_eq!(subjects("path=src/%C3%BC").await, ["every shape"]);
    let touched = farrier.json(&demo.at("/commits?path=src/a%20b&limit=1")).await;
    assert_eq!(touched[0]["files"].as_array().map(Vec::len), Some(2), "all files that the commit changed");
    assert_eq!(subjects("path=nothing").await, Vec::<String>::new());
    assert_eq!(subjects("since=2026-01-02T05:30:00Z&until=2026-01-02T06:30:00Z").await, ["every shape"]);
    assert_eq!(subjects("since=2026-01-02T11:00:00+05:30").await, ["merge", "every shape"]);
    let plain = farrier.json(&demo.at("/commits?stat=false&files=false&verification=false")).await;
    assert_eq!((plain[0].get("stats"), &plain[0]["files"]), (None, &json!([])), "the list of files is always there");
    assert_eq!(plain[0]["commit"].get("verification"), None);
    for (query, status) in
        [("sha=nothing", 404), ("since=yesterday", 422), ("path=../x", 422), ("sha=HEAD%0Amain", 404)]
    {
        assert_eq!(farrier.status(&demo.at(&format!("/commits?{query}"))).await, status, "{query}");
    }
}

#[tokio::test]
async fn a_commit_is_served_as_json_diff_and_patch() {
    let farrier = TestDaemon::start().await;
    let demo = demo(&farrier).await;
    let id = demo.git(&["rev-parse", "v1.0^{commit}"]);
    let commit = farrier.json(&demo.at(&format!("/git/commits/{id}"))).await;
    assert_eq!(commit["sha"], id);
    for name in [&id[..8], "v1.0", "main~1", "refs/tags/v1.0"] {
        assert_eq!(farrier.json(&demo.at(&format!("/git/commits/{name}"))).await, commit, "{name}");
    }
    assert_eq!(farrier.json(&demo.at("/git/commits/feature%2Fx")).await["commit"]["message"], "on the side");
    let diff = farrier.get(&demo.at(&format!("/git/commits/{id}.diff"))).await;
    assert_eq!((diff.status, diff.header("content-type")), (200, "text/plain; charset=utf-8"));
    assert!(diff.text().starts_with("diff --git a/.gitmodules"), "{diff:?}");
    let index = diff.text().lines().find_map(|line| line.strip_prefix("index ").map(str::to_owned)).unwrap_or_default();
    assert_eq!(index.split(' ').next().map(str::len), Some("0000000..0000000".len()), "short IDs: {index}");
    let patch = farrier.get(&demo.at("/git/commits/feature/x.patch")).await.text();
    assert!(patch.starts_with("From ") && patch.contains("Subject: [PATCH] on the side"), "{patch}");
    let random = "a".repeat(40);
    for (name, status) in [(random.as_str(), 404), ("nothing", 404), ("main..x", 422), ("nothing.diff", 404)] {
        assert_eq!(farrier.status(&demo.at(&format!("/git/commits/{name}"))).await, status, "{name}");
    }
}

#[tokio::test]
async fn comparisons_and_notes_are_served() {
    let farrier = TestDaemon::start().await;
    let demo = demo(&farrier).await;
    let compared = farrier.json(&demo.at("/compare/v1.0...feature/x")).await;
    assert_eq!(compared, farrier.json(&demo.at("/compare/v1.0...feature%2Fx")).await);
    assert_eq!(compared["total_commits"], 1);
    assert_eq!(compared["commits"][0]["commit"]["message"], "on the side");
    assert_eq!(farrier.json(&demo.at("/compare/main...main")).await, json!({ "total_commits": 0, "commits": [] }));
    assert_eq!(farrier.status(&demo.at("/compare/main...nothing")).await, 404);
    assert_eq!(farrier.status(&demo.at("/compare/main")).await, 404);

    let id = demo.git(&["rev-parse", "main"]);
    assert_eq!(farrier.status(&demo.at(&format!("/git/notes/{id}"))).await, 404);
    demo.git(&["notes", "add", "-m", "well done", "main"]);
    let note = farrier.json(&demo.at(&format!("/git/notes/{id}"))).await;
    assert_eq!((&note["message"], &note["commit"]["sha"]), (&json!("well done\n"), &json!(id)));
}
