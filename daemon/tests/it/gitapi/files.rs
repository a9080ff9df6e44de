//! Changing files through the API.

use base64::{Engine as _, engine::general_purpose::STANDARD as BASE64};
use farrierd::store::{events, refs};
use http::Method;
use serde_json::{Value, json};

use super::pushed;
use crate::support::{Answer, GitDir, TestDaemon, send};

pub(super) fn encoded(text: &str) -> String {
    BASE64.encode(text)
}

pub(super) async fn change(farrier: &TestDaemon, demo: &GitDir, method: Method, path: &str, body: Value) -> Answer {
    farrier.admin(method, &demo.at(path), body).await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_is_added_changed_moved_and_deleted() {
    let farrier = TestDaemon::start().await;
    let demo = pushed(&farrier).await;
    let base = demo.git(&["rev-parse", "main"]);
    // The fields that the Go client sends with every request.
    let body = json!({ "content": encoded("one\n"), "message": "add a\n", "branch": "", "new_branch": "",
        "author": { "name": "Au", "email": "au@x.org" }, "committer": { "name": "", "email": "" },
        "dates": { "author": "2020-01-02T03:04:05Z", "committer": "0001-01-01T00:00:00Z" }, "signoff": true });
    let added = change(&farrier, &demo, Method::POST, "/contents/new%20dir/sub/a.txt", body).await;
    assert_eq!(added.status, 201, "{added:?}");
    let added = added.json();
    let tip = demo.git(&["rev-parse", "main"]);
    let blob = demo.git(&["rev-parse", "main:new dir/sub/a.txt"]);
    let api = format!("{}{}", farrier.url, demo.api);
    for (pointer, value) in [
        ("/content/path", json!("new dir/sub/a.txt")),
        ("/content/sha", json!(blob)),
        ("/content/content", json!("b25lCg==")),
        ("/content/size", json!(4)),
        ("/content/last_commit_sha", json!(tip)),
        ("/content/url", json!(format!("{api}/contents/new%20dir/sub/a.txt?ref=main"))),
        ("/commit/sha", json!(tip)),
        ("/commit/message", json!("add a\n\nSigned-off-by: Au <au@x.org>")),
        ("/commit/author", json!({ "name": "Au", "email": "au@x.org", "date": "2020-01-02T03:04:05Z" })),
        ("/commit/committer/name", json!("Au")),
        ("/commit/parents/0/sha", json!(base)),
        ("/commit/tree/sha", json!(demo.git(&["rev-parse", "main^{tree}"]))),
        ("/verification/verified", json!(false)),
    ] {
        assert_eq!(added.pointer(pointer), Some(&value), "{pointer}: {added}");
    }
    let read = farrier.json(&demo.at("/contents/new%20dir/sub/a.txt")).await;
    assert_eq!(read, added["content"], "the same object as when the file is read");

    let put = async |path: &str, body: Value| change(&farrier, &demo, Method::PUT, path, body).await;
    let updated = put("/contents/new%20dir/sub/a.txt", json!({ "content": encoded("two\n"), "sha": blob })).await;
    assert_eq!((updated.status, &updated.json()["commit"]["message"]), (200, &json!("Update new dir/sub/a.txt")));
    let blob = demo.git(&["rev-parse", "main:new dir/sub/a.txt"]);
    let moved = put("/contents/b.txt", json!({ "sha": blob, "from_path": "new dir/sub/a.txt" })).await;
    assert_eq!((moved.status, &moved.json()["content"]["content"]), (200, &json!(encoded("two\n"))));
    assert_eq!(demo.git(&["ls-tree", "--name-only", "main", "new dir"]), "", "the empty directory is gone");
    assert_eq!(demo.git(&["show", "main:b.txt"]), "two");
    let created = put("/contents/c.txt", json!({})).await;
    assert_eq!((created.status, &created.json()["content"]["size"]), (201, &json!(0)));

    // An executable file stays one.
    let script = demo.git(&["rev-parse", "main:run.sh"]);
    assert_eq!(
        put("/contents/run.sh", json!({ "content": encoded("#!/bin/true\n"), "sha": script })).await.status,
        200
    );
    assert!(demo.git(&["ls-tree", "main", "run.sh"]).starts_with("100755 blob"));

    let remove = async |path: &str| change(&farrier, &demo, Method::DELETE, path, Value::Null).await;
    let deleted = remove(&format!("/contents/b.txt?sha={blob}&message=bye")).await;
    assert_eq!((deleted.status, &deleted.json()["content"]), (200, &json!(null)));
    assert_eq!(deleted.json()["commit"]["message"], "bye");
    assert_eq!(remove(&format!("/contents/b.txt?sha={blob}")).await.status, 404);
    demo.git(&["fsck", "--strict"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn invalid_changes_are_refused_and_move_nothing() {
    let farrier = TestDaemon::start().await;
    let demo = pushed(&farrier).await;
    let readme = demo.git(&["rev-parse", "main:README.md"]);
    let before = demo.git(&["for-each-ref"]);
    let content = encoded("x");
    let (long, deep) = ("x".repeat(256), ["x"; 129].join("/"));
    for (method, path, body, status) in [
        (Method::POST, "/contents/README.md", json!({ "content": content }), 422),
        (Method::PUT, "/contents/README.md", json!({ "content": content }), 422),
        (Method::PUT, "/contents/README.md", json!({ "content": content, "sha": "0".repeat(40) }), 422),
        (Method::PUT, "/contents/nothing", json!({ "content": content, "sha": readme }), 404),
        (Method::PUT, "/contents/src", json!({ "content": content, "sha": readme }), 422),
        (Method::PUT, "/contents/lib", json!({ "content": content, "sha": super::ELSEWHERE }), 422),
        (Method::PUT, "/contents/side.txt", json!({ "sha": readme, "from_path": "README.md" }), 422),
        (Method::DELETE, "/contents/README.md", json!({}), 422),
        (Method::DELETE, "/contents/README.md", json!({ "sha": "0".repeat(40) }), 422),
        (Method::DELETE, "/contents/nothing", json!({ "sha": readme }), 404),
        (Method::POST, "/contents/new", json!({ "content": "no base64!" }), 422),
        (Method::POST, "/contents/new", json!({ "content": content, "branch": "nothing" }), 404),
        (Method::POST, "/contents/new", json!({ "content": content, "new_branch": "feature/x" }), 422),
        (Method::POST, "/contents/new", json!({ "content": content, "new_branch": "a..b" }), 422),
        (Method::POST, "/contents/new", json!({ "content": content, "branch": "a..b" }), 422),
        (Method::PUT, "/contents/new", json!({ "from_path": "README.md" }), 422),
        (Method::POST, &format!("/contents/{deep}"), json!({ "content": content }), 422),
        (Method::POST, "/contents/new", json!({ "content": content, "dates": { "author": "soon" } }), 422),
        (Method::POST, "/contents/.git/config", json!({ "content": content }), 422),
        (Method::POST, "/contents/src/.GIT%20", json!({ "content": content }), 422),
        (Method::POST, "/contents/src", json!({ "content": content }), 422),
        (Method::POST, "/contents/README.md/x", json!({ "content": content }), 422),
        (Method::POST, "/contents/a%0Ab", json!({ "content": content }), 422),
        (Method::POST, &format!("/contents/{long}"), json!({ "content": content }), 422),
        (Method::POST, "/contents", json!({}), 422),
        (Method::POST, "/contents", json!({ "files": [] }), 422),
        (Method::POST, "/contents", json!({ "files": [{ "operation": "create", "path": "" }] }), 422),
        (Method::POST, "/contents", json!({ "files": [{ "operation": "create", "path": "a/../../b" }] }), 422),
        (Method::POST, "/contents", json!({ "files": [{ "operation": "chmod", "path": "README.md" }] }), 422),
        (
            Method::POST,
            "/contents",
            json!({ "files": [{ "operation": "create", "path": "a" }, { "operation": "upload", "path": "a" }] }),
            422,
        ),
        (
            Method::POST,
            "/contents",
            json!({ "files": [{ "operation": "create", "path": "a" }, { "operation": "create", "path": "a/b" }] }),
            422,
        ),
        (
            Method::POST,
            "/contents",
            json!({ "files": [{ "operation": "create", "path": "a" }, { "operation": "delete", "path": "b", "sha": readme }] }),
            404,
        ),
    ] {
        let answer = change(&farrier, &demo, method.clone(), path, body.clone()).await;
        assert_eq!(answer.status, status, "{method} {path} {body}: {}", answer.text());
    }
    let headers = [("content-type", "application/json")];
    let body = json!({ "content": content }).to_string();
    assert_eq!(send(&farrier.tcp(), Method::POST, &demo.at("/contents/new"), &headers, body).await.status, 401);
    assert_eq!(demo.git(&["for-each-ref"]), before);
    assert_eq!(change(&farrier, &demo, Method::PATCH, "", json!({ "archived": true })).await.status, 200);
    assert_eq!(change(&farrier, &demo, Method::POST, "/contents/new", json!({ "content": content })).await.status, 423);
}

#[tokio::test(flavor = "multi_thread")]
async fn many_files_are_changed_in_one_commit() {
    let farrier = TestDaemon::start().await;
    let demo = pushed(&farrier).await;
    let readme = demo.git(&["rev-parse", "main:README.md"]);
    let side = demo.git(&["rev-parse", "main:side.txt"]);
    let mut files: Vec<Value> = (0..300)
        .map(|n| json!({ "operation": "create", "path": format!("many/{}/f{n}", n % 7), "content": encoded(&n.to_string()) }))
        .collect();
    files.push(json!({ "operation": "rename", "path": "docs/README.md", "from_path": "README.md" }));
    files.push(json!({ "operation": "upload", "path": "README.md", "content": encoded("new\n") }));
    files.push(json!({ "operation": "delete", "path": "side.txt", "sha": side }));
    let answer =
        change(&farrier, &demo, Method::POST, "/contents", json!({ "files": files, "new_branch": "bulk" })).await;
    // The old README.md is moved away and its path used again, which needs two commits.
    assert_eq!(answer.status, 422, "{}", answer.text());
    files.remove(301);
    let body = json!({ "files": files, "new_branch": "bulk", "message": "bulk" });
    let answer = change(&farrier, &demo, Method::POST, "/contents", body).await;
    assert_eq!(answer.status, 201, "{}", answer.text());
    let answer = answer.json();
    let shown = answer["files"].as_array().expect("a list");
    assert_eq!((shown.len(), &shown[300]["sha"], &shown[301]), (302, &json!(readme), &json!(null)));
    assert_eq!(shown[8]["path"], "many/1/f8");
    assert_eq!(demo.git(&["rev-list", "--count", "main..bulk"]), "1");
    assert_eq!(demo.git(&["rev-parse", "bulk"]), answer["commit"]["sha"]);
    assert_eq!(demo.git(&["ls-tree", "-r", "--name-only", "bulk", "many"]).lines().count(), 300);
    assert_eq!(demo.git(&["show", "bulk:many/5/f299"]), "299");
    assert_eq!(demo.git(&["rev-parse", "bulk:docs/README.md"]), readme);
    assert_eq!(demo.git(&["ls-tree", "--name-only", "bulk", "side.txt", "README.md"]), "");
    demo.git(&["fsck", "--strict"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_first_file_creates_the_default_branch() {
    let farrier = TestDaemon::start().await;
    let demo = farrier.git_repository("demo").await;
    let body = json!({ "content": encoded("# demo\n") });
    let created = change(&farrier, &demo, Method::POST, "/contents/README.md", body).await;
    assert_eq!((created.status, &created.json()["commit"]["parents"]), (201, &json!([])), "{created:?}");
    let shown = farrier.json(&demo.api).await;
    assert_eq!(
        (&shown["empty"], &shown["default_branch"], &shown["branch_count"]),
        (&json!(false), &json!("main"), &json!(1))
    );
    let log = demo.git(&["log", "--format=%an <%ae> %s", "main"]);
    assert!(log.starts_with("admin <admin@noreply.127.") && log.ends_with("> Add README.md"), "{log}");
}

#[tokio::test(flavor = "multi_thread")]
async fn writers_at_the_same_time_lose_nothing() {
    let farrier = TestDaemon::start().await;
    let demo = pushed(&farrier).await;
    let write = |n: usize| {
        let (farrier, demo) = (&farrier, &demo);
        async move {
            let body = json!({ "content": encoded(&n.to_string()) });
            change(farrier, demo, Method::POST, &format!("/contents/parallel/{n}"), body).await.status
        }
    };
    let statuses = futures_util::future::join_all((0..4).map(write)).await;
    // A writer retries three times, and each of its retries follows the success of another writer.
    assert_eq!(statuses, [201; 4]);
    assert_eq!(demo.git(&["ls-tree", "-r", "--name-only", "main", "parallel"]).lines().count(), 4);

    // Of two changes of the same version, one succeeds.
    let sha = demo.git(&["rev-parse", "main:README.md"]);
    let replace = |text: &'static str| {
        let (farrier, demo, sha) = (&farrier, &demo, &sha);
        async move {
            let body = json!({ "content": encoded(text), "sha": sha });
            change(farrier, demo, Method::PUT, "/contents/README.md", body).await.status
        }
    };
    let (first, second) = tokio::join!(replace("first\n"), replace("second\n"));
    assert!([first, second].contains(&200) && (first != 200 || second != 200), "{first} {second}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_change_is_recorded_like_a_push() {
    let mut farrier = TestDaemon::start().await;
    let demo = pushed(&farrier).await;
    let recorded = async |store: &farrierd::store::Store| {
        let snapshot = store.read().await.expect("a snapshot");
        assert!(refs::marks(&snapshot).await.expect("rows").is_empty(), "every change is recorded");
        let all = events::after(&snapshot, 0, 100).await.expect("rows");
        let line = |event: &farrier_proto::store::Event| {
            format!("{} {}", event.kind, event.ref_change.clone().unwrap_or_default().r#ref)
        };
        all.iter().map(line).collect::<Vec<_>>()
    };
    let before = farrier.with_store(recorded).await.len();
    let content = encoded("x");
    for body in [
        json!({ "content": content }),
        json!({ "content": content, "branch": "main", "new_branch": "topic" }),
        json!({ "content": content, "branch": "main", "new_branch": "topic", "force_push": true, "message": "again" }),
    ] {
        let path = if body.get("branch").is_none() { "/contents/one" } else { "/contents/two" };
        assert_eq!(change(&farrier, &demo, Method::POST, path, body.clone()).await.status, 201, "{body}");
    }
    assert_eq!(demo.git(&["rev-list", "--count", "main..topic"]), "1", "topic was replaced");
    let after = farrier.with_store(recorded).await;
    let (main, topic) = ("push refs/heads/main", "refs/heads/topic");
    assert_eq!(
        after[before..],
        [main.to_owned(), format!("create {topic}"), format!("push {topic}"), format!("push {topic}")]
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_patch_is_applied_or_changes_nothing() {
    let farrier = TestDaemon::start().await;
    let demo = pushed(&farrier).await;
    let apply = async |patch: &str| {
        change(&farrier, &demo, Method::POST, "/diffpatch", json!({ "content": patch, "message": "patched" })).await
    };
    let patch = "diff --git a/side.txt b/side.txt\n--- a/side.txt\n+++ b/side.txt\n@@ -1,3 +1,3 @@\n 1\n-2\n+two\n 3\n\
                 diff --git a/run.sh b/bin/run.sh\nold mode 100755\nnew mode 100644\nsimilarity index 100%\nrename from run.sh\nrename to bin/run.sh\n\
                 diff --git a/added b/added\nnew file mode 100644\n--- /dev/null\n+++ b/added\n@@ -0,0 +1 @@\n+new\n\
                 diff --git a/README.md b/README.md\ndeleted file mode 100644\n--- a/README.md\n+++ /dev/null\n@@ -1 +0,0 @@\n-# demo\n";
    let applied = apply(patch).await;
    assert_eq!((applied.status, &applied.json()["content"]), (201, &json!(null)), "{applied:?}");
    assert_eq!(applied.json()["commit"]["message"], "patched");
    assert_eq!(demo.git(&["show", "main:side.txt"]), "1\ntwo\n3");
    assert_eq!(
        demo.git(&["diff", "--name-status", "--find-renames", "main~1", "main"]),
        "D\tREADME.md\nA\tadded\nR100\trun.sh\tbin/run.sh\nM\tside.txt"
    );
    assert!(demo.git(&["ls-tree", "main", "bin/run.sh"]).starts_with("100644"));
    demo.git(&["fsck", "--strict"]);

    let tip = demo.git(&["rev-parse", "main"]);
    let outside = "--- /dev/null\n+++ b/../../evil\n@@ -0,0 +1 @@\n+x\n";
    let hooks = "--- /dev/null\n+++ b/.git/hooks/post-update\n@@ -0,0 +1 @@\n+x\n";
    let binary = "diff --git a/x b/x\nnew file mode 100644\nindex 0000000..e69de29\nGIT binary patch\nliteral 0\nHcmV?d00001\n\n";
    let missing = "--- a/nothing\n+++ b/nothing\n@@ -1 +1 @@\n-a\n+b\n";
    for (patch, status) in [
        (patch, 409),
        (missing, 409),
        (outside, 422),
        (hooks, 422),
        (binary, 422),
        ("garbage", 422),
        ("\0\u{1}", 422),
        ("", 422),
    ] {
        let refused = apply(patch).await;
        assert_eq!(refused.status, status, "{patch:?}: {}", refused.text());
    }
    assert_eq!(demo.git(&["rev-parse", "main"]), tip);
    let incoming = farrier.data_dir().join("incoming");
    assert_eq!(std::fs::read_dir(incoming).expect("the directory").count(), 0, "no workspaces are left");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_branch_is_moved_to_a_commit() {
    let farrier = TestDaemon::start().await;
    let demo = pushed(&farrier).await;
    let id = |name: &str| demo.git(&["rev-parse", name]);
    let (tip, side) = (id("main"), id("feature/x"));
    for (branch, body, status) in [
        ("nothing", json!({ "new_commit_id": tip }), 404),
        ("feature/x", json!({ "new_commit_id": "0".repeat(40) }), 404),
        ("feature/x", json!({}), 422),
        ("feature/x", json!({ "new_commit_id": tip, "old_commit_id": tip }), 422),
        ("main", json!({ "new_commit_id": side }), 422),
        ("feature/x", json!({ "new_commit_id": tip, "old_commit_id": side }), 204),
        ("feature%2Fx", json!({ "new_commit_id": side, "force": true }), 204),
        ("feature/x", json!({ "new_commit_id": side }), 204),
    ] {
        let moved = change(&farrier, &demo, Method::PUT, &format!("/branches/{branch}"), body.clone()).await;
        assert_eq!(moved.status, status, "{branch} {body}: {}", moved.text());
    }
    assert_eq!((id("main"), id("feature/x")), (tip, side));
}
