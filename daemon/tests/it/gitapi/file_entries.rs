//! The entries and objects that changes of files write.

use http::Method;
use serde_json::{Value, json};

use super::{
    files::{change, encoded},
    pushed,
};
use crate::support::{TestDaemon, eventually};

#[tokio::test(flavor = "multi_thread")]
async fn a_renamed_file_keeps_its_content() {
    let farrier = TestDaemon::start().await;
    let demo = pushed(&farrier).await;
    let readme = demo.git(&["rev-parse", "main:README.md"]);
    let rename = async |from: &str, to: &str| {
        let file = json!({ "operation": "rename", "path": to, "from_path": from, "content": "", "sha": "" });
        change(&farrier, &demo, Method::POST, "/contents", json!({ "files": [file] })).await
    };
    let renamed = rename("README.md", "docs/README.md").await;
    assert_eq!(renamed.status, 201, "{}", renamed.text());
    let shown = &renamed.json()["files"][0];
    assert_eq!((&shown["sha"], &shown["content"]), (&json!(readme), &json!(encoded("# demo\n"))));
    assert_eq!(demo.git(&["rev-parse", "main:docs/README.md"]), readme);
    assert_eq!(rename("side.txt", "side.txt").await.status, 422);
    assert_eq!(demo.git(&["show", "main:side.txt"]), "1\n2\n3");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_path_is_not_both_a_file_and_a_directory() {
    let farrier = TestDaemon::start().await;
    let demo = pushed(&farrier).await;
    let before = demo.git(&["for-each-ref"]);
    for paths in [["d/e/f", "d"], ["d", "d/e/f"]] {
        let files = paths.map(|path| json!({ "operation": "create", "path": path, "content": encoded("x") }));
        let answer = change(&farrier, &demo, Method::POST, "/contents", json!({ "files": files })).await;
        assert_eq!(answer.status, 422, "{paths:?}: {}", answer.text());
    }
    assert_eq!(demo.git(&["for-each-ref"]), before);
}

#[tokio::test(flavor = "multi_thread")]
async fn new_content_turns_a_symbolic_link_into_a_file() {
    let farrier = TestDaemon::start().await;
    let demo = pushed(&farrier).await;
    let link = demo.git(&["rev-parse", "main:link"]);
    let put = async |path: &str, body: Value| change(&farrier, &demo, Method::PUT, path, body).await.status;
    assert_eq!(put("/contents/moved", json!({ "sha": link, "from_path": "link" })).await, 200);
    assert_eq!(demo.git(&["ls-tree", "main", "moved"]), format!("120000 blob {link}\tmoved"));
    assert_eq!(put("/contents/moved", json!({ "sha": link, "content": encoded("a text\n") })).await, 200);
    assert!(demo.git(&["ls-tree", "main", "moved"]).starts_with("100644 blob"));
    assert_eq!(demo.git(&["show", "main:moved"]), "a text");
}

#[tokio::test(flavor = "multi_thread")]
async fn refused_changes_leave_no_objects_in_the_repository() {
    let farrier = TestDaemon::start().await;
    let demo = pushed(&farrier).await;
    let before = (demo.git(&["for-each-ref"]), demo.git(&["count-objects", "-v"]));
    let modules = demo.git(&["rev-parse", "main:.gitmodules"]);
    let option = "[submodule \"x\"]\n\tpath = x\n\turl = -u./payload\n";
    let link = json!({ "operation": "rename", "path": "x/.gitmodules", "from_path": "link" });
    for (method, path, body) in [
        // The checks of a push.
        (Method::PUT, "/contents/.gitmodules", json!({ "sha": modules, "content": encoded(option) })),
        (Method::POST, "/contents/x/.gitmodules", json!({ "content": encoded(option) })),
        (Method::POST, "/contents", json!({ "files": [link] })),
        // The content is new, but not the version that the client read.
        (Method::PUT, "/contents/README.md", json!({ "sha": modules, "content": encoded("never written") })),
    ] {
        let refused = change(&farrier, &demo, method, path, body).await;
        assert_eq!(refused.status, 422, "{path}: {}", refused.text());
    }
    assert_eq!((demo.git(&["for-each-ref"]), demo.git(&["count-objects", "-v"])), before);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_repository_that_is_changed_only_through_the_api_is_repacked() {
    let farrier = TestDaemon::start().await;
    let demo = farrier.git_repository("demo").await;
    // As many files as a repository with about 2,000 loose objects has in this directory.
    let sample = demo.path.join("objects/17");
    std::fs::create_dir_all(&sample).expect("a directory");
    for n in 0..9 {
        std::fs::write(sample.join(format!("tmp_obj_{n}")), "").expect("a file");
    }
    let created = change(&farrier, &demo, Method::POST, "/contents/a", json!({ "content": encoded("a") })).await;
    assert_eq!(created.status, 201, "{}", created.text());
    eventually("the repository is repacked", async || demo.git(&["count-objects", "-v"]).contains("packs: 1")).await;
}
