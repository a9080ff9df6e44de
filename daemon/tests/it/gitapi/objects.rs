//! Reading references, trees and blobs.

use serde_json::{Value, json};

use super::{ELSEWHERE, demo};
use crate::support::{Import, TestDaemon};

#[tokio::test]
async fn references_are_listed_by_prefix_also_for_a_full_name() {
    let farrier = TestDaemon::start().await;
    let demo = demo(&farrier).await;
    let names = async |prefix: &str| {
        let list = farrier.json(&demo.at(&format!("/git/refs{prefix}"))).await;
        let name = |reference: &Value| reference["ref"].as_str().expect("text").to_owned();
        list.as_array().expect("a list").iter().map(name).collect::<Vec<_>>()
    };
    assert_eq!(names("").await.len(), 5);
    assert_eq!(names("/heads").await, ["refs/heads/feature/x", "refs/heads/main"]);
    assert_eq!(names("/tags/rel").await, ["refs/tags/release/2"]);
    let tag = farrier.json(&demo.at("/git/refs/tags/v1.0")).await;
    let id = demo.git(&["rev-parse", "v1.0"]);
    let url = format!("{}{}/git", farrier.url, demo.api);
    let object = json!({ "type": "tag", "sha": id, "url": format!("{url}/tags/{id}") });
    assert_eq!(tag, json!([{ "ref": "refs/tags/v1.0", "url": format!("{url}/refs/tags/v1.0"), "object": object }]));
    assert_eq!(farrier.json(&demo.at("/git/refs/heads%2Ffeature%2Fx")).await[0]["object"]["type"], "commit");
    for missing in ["/git/refs/nothing", "/git/refs/heads/nothing", "/git/refs/heads/..", "/git/refs/--count=1"] {
        assert_eq!(farrier.status(&demo.at(missing)).await, 404, "{missing}");
    }
}

#[tokio::test]
async fn trees_list_entries_of_every_type() {
    let farrier = TestDaemon::start().await;
    let demo = demo(&farrier).await;
    let tree = farrier.json(&demo.at("/git/trees/main?recursive=true")).await;
    assert_eq!(tree["sha"], demo.git(&["rev-parse", "main^{tree}"]));
    let entries = tree["tree"].as_array().expect("a list");
    let short = |entry: &Value| {
        let text = |key: &str| entry[key].as_str().expect("text").to_owned();
        (text("path"), text("mode"), text("type"), entry["size"].as_i64().expect("an integer"))
    };
    let short: Vec<_> = entries.iter().map(short).collect();
    for (path, mode, kind, size) in [
        ("run.sh", "100755", "blob", 10),
        ("link", "120000", "blob", 7),
        ("lib", "160000", "commit", 0),
        ("src", "040000", "tree", 0),
        ("src/a b", "100644", "blob", 6),
        ("src/\u{fc}/\u{65e5}\u{672c}.txt", "100644", "blob", 3),
    ] {
        assert!(short.contains(&(path.into(), mode.into(), kind.into(), size)), "{path} in {short:?}");
    }
    let module = entries.iter().find(|entry| entry["path"] == "lib").expect("the submodule");
    assert_eq!((&module["sha"], &module["url"]), (&json!(ELSEWHERE), &json!("")));
    assert_eq!((&tree["truncated"], &tree["page"]), (&json!(false), &json!(1)));
    assert_eq!(tree["total_count"], json!(entries.len()));

    let flat = farrier.json(&demo.at("/git/trees/main")).await;
    assert!(flat["tree"].as_array().expect("a list").iter().all(|entry| entry["path"] != "src/a b"));
    let page = farrier.json(&demo.at("/git/trees/main?per_page=3&page=2")).await;
    assert_eq!(page["tree"], json!(flat["tree"].as_array().expect("a list")[3..6]));
    assert_eq!(page["truncated"], true);
    for (name, status) in [("nothing", 404), ("-r", 400), ("main..v1.0", 400)] {
        assert_eq!(farrier.status(&demo.at(&format!("/git/trees/{name}"))).await, status, "{name}");
    }
}

#[tokio::test]
async fn a_blob_is_served_and_other_ids_are_refused() {
    let farrier = TestDaemon::start().await;
    let demo = demo(&farrier).await;
    let id = demo.git(&["rev-parse", "main:binary"]);
    let blob = farrier.json(&demo.at(&format!("/git/blobs/{id}"))).await;
    assert_eq!((&blob["content"], &blob["encoding"]), (&json!("AAEC"), &json!("base64")));
    assert_eq!((&blob["sha"], &blob["size"]), (&json!(id), &json!(3)));
    let tree = demo.git(&["rev-parse", "main^{tree}"]);
    for (name, status) in [(tree.as_str(), 404), (&"b".repeat(40), 404), ("main", 400), ("main:binary", 400)] {
        assert_eq!(farrier.status(&demo.at(&format!("/git/blobs/{name}"))).await, status, "{name}");
    }
}

#[tokio::test]
async fn blobs_over_ten_mebibytes_are_not_embedded_in_json() {
    let farrier = TestDaemon::start().await;
    let large = farrier.git_repository("large").await;
    let limit = 10 << 20;
    let import = Import::default().commit("main", 1, &[], "large");
    large.import(&import.file("100644", "at", &vec![b'x'; limit]).file("100644", "over", &vec![b'x'; limit + 1]));
    for (path, fetched) in [("at", limit.div_ceil(3) * 4), ("over", 0)] {
        let id = large.git(&["rev-parse", &format!("main:{path}")]);
        for address in [format!("/git/blobs/{id}"), format!("/contents/{path}")] {
            let answer = farrier.json(&large.at(&address)).await;
            assert_eq!(answer["content"].as_str().expect("text").len(), fetched, "{address}");
        }
    }
    let raw = farrier.get(&large.at("/raw/over")).await;
    assert_eq!((raw.status, raw.body.len()), (200, limit + 1));
}
