//! Backs up a daemon under load, removes its data directory, and restores the backup.

use farrierd::clock::Clock;
use sha2::{Digest as _, Sha256};

use super::*;
use crate::support::{git::noise, send};

/// Path and query of an absolute address.
fn path_of(address: &Value) -> String {
    let (_, rest) = address.as_str().expect("text").split_once("://").expect("absolute");
    rest[rest.find('/').expect("a path")..].to_owned()
}

/// Attaches a file to a new release of `admin/demo`. Returns the path of its download.
async fn release(farrier: &TestDaemon, token: &str, content: &[u8]) -> String {
    let releases = "/api/v1/repos/admin/demo/releases";
    let created = farrier.admin(Method::POST, releases, json!({ "tag_name": "v1" })).await;
    assert_eq!(created.status, 201, "{created:?}");
    let path = format!("{releases}/{}/assets?name=file", created.json()["id"]);
    let authorization = format!("token {token}");
    let headers = [("content-type", "application/octet-stream"), ("authorization", authorization.as_str())];
    let added = send(&farrier.tcp(), Method::POST, &path, &headers, content.to_vec()).await;
    assert_eq!(added.status, 201, "{added:?}");
    path_of(&added.json()["browser_download_url"])
}

/// Requests the addresses of an LFS object.
async fn lfs(farrier: &TestDaemon, token: &str, operation: &str, content: &[u8]) -> Value {
    let oid = hex::encode(Sha256::digest(content));
    let body = json!({ "operation": operation, "objects": [{ "oid": oid, "size": content.len() }] }).to_string();
    let authorization = format!("token {token}");
    let kind = "application/vnd.git-lfs+json";
    let headers = [("content-type", kind), ("accept", kind), ("authorization", authorization.as_str())];
    let path = "/admin/demo.git/info/lfs/objects/batch";
    let answer = send(&farrier.tcp(), Method::POST, path, &headers, body).await;
    assert_eq!(answer.status, 200, "{answer:?}");
    answer.json()["objects"][0]["actions"][operation]["href"].clone()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_restore_has_everything_that_was_acknowledged_before_the_backup_began() {
    let mut farrier = TestDaemon::start().await;
    let fifo = pipe(&farrier.scratch().join("pipe"));
    farrier.configure(|config| config.file = Some(fifo.clone()));
    farrier.restart().await;
    let token = farrier.token("admin", &["all"]).await;
    let (work, tip) = pushed(&farrier, "demo", &token).await;
    let remote = farrier.remote("admin/demo", &token);
    // Names like those of temporary files.
    work.done(&["push", "-q", &remote, "main:refs/heads/new-x", "main:refs/heads/tmp_x", "main:refs/heads/a.keep"]);
    farrier.repository("empty").await;
    let config = json!({ "url": "http://203.0.113.9/", "content_type": "json", "secret": "s" });
    let hook = json!({ "type": "gitea", "active": false, "config": config });
    let hook = farrier.admin(Method::POST, "/api/v1/repos/admin/demo/hooks", hook).await;
    assert_eq!(hook.status, 201, "{hook:?}");
    let job = farrier.begin("demo", None).await;
    farrier.upload(&job, "log", &noise(300_000)).await;
    let file = release(&farrier, &token, b"a release file").await;
    let upload = path_of(&lfs(&farrier, &token, "upload", b"an LFS object").await);
    let octets = [("content-type", "application/octet-stream")];
    assert_eq!(send(&farrier.tcp(), Method::PUT, &upload, &octets, "an LFS object").await.status, 200);

    let refs = work.done(&["ls-remote", &remote]);

    // Clients push, upload and delete while the backup runs.
    let destination = farrier.scratch().join("backups");
    start(&farrier, &destination).await;
    let reading = held(&fifo).await;
    work.commit("b", noise(50_000));
    work.done(&["push", "-q", &remote, "main", "main:refs/heads/later"]);
    farrier.upload(&job, "later", &noise(100_000)).await;
    farrier.repository("later").await;
    let later_default = json!({ "default_branch": "later" });
    let changed = farrier.admin(Method::PATCH, "/api/v1/repos/admin/demo", later_default).await;
    assert_eq!(changed.status, 200, "{changed:?}");
    let head = farrier.data_dir().join(format!("repositories/{}.git/HEAD", changed.json()["id"]));
    drop(reading);
    let backup = ended(&farrier).await;
    assert_eq!((&backup["state"], &backup["warnings"]), (&json!("done"), &json!([])), "{backup}");
    let last_id = farrier.admin(Method::GET, "/api/v1/repos/admin/later", Value::Null).await.json()["id"].clone();

    farrier.stop().await;
    let data = farrier.data_dir();
    std::fs::remove_dir_all(&data).expect("the directory is lost");
    succeeds(&data, &["restore", text(&destination), "--dry-run"]).await;
    assert!(!data.exists(), "a dry run writes nothing");
    succeeds(&data, &["restore", text(&destination)]).await;
    farrier.start_in_process(Clock::system()).await;

    // The rows of the snapshot decide, and the push came after it.
    assert_eq!(work.done(&["ls-remote", &farrier.remote("admin/demo", &token)]), refs);
    let branches = farrier.admin(Method::GET, "/api/v1/repos/admin/demo/branches", Value::Null).await.json();
    let mut branches: Vec<_> =
        branches.as_array().expect("a list").iter().filter_map(|branch| branch["name"].as_str()).collect();
    branches.sort_unstable();
    assert_eq!(branches, ["a.keep", "main", "new-x", "tmp_x"]);
    // The default branch is that of the row, so `HEAD` follows it.
    eventually("HEAD names the default branch", async || {
        std::fs::read_to_string(&head).is_ok_and(|head| head == "ref: refs/heads/main\n")
    })
    .await;
    let remote = farrier.remote("admin/demo", &token);
    let clone = Client::at(farrier.scratch().join("clone"));
    clone.done(&["clone", "-q", "--mirror", &remote, "."]);
    clone.done(&["fsck", "--full", "--strict"]);
    clone.done(&["cat-file", "-e", &tip]);
    for branch in ["refs/heads/main", "refs/heads/new-x", "refs/heads/tmp_x", "refs/heads/a.keep"] {
        assert_eq!(clone.done(&["rev-parse", branch]), tip, "{branch}");
    }
    clone.done(&["ls-remote", &farrier.remote("admin/empty", &token)]);
    let listed = farrier.call(&job, "ListArtifacts", json!({})).await.json();
    let listed = listed["artifacts"].as_array().expect("a list");
    assert_eq!((listed.len(), &listed[0]["name"]), (1, &json!("log")), "{listed:?}");
    let authorization = format!("token {token}");
    let headers = [("authorization", authorization.as_str())];
    assert_eq!(send(&farrier.tcp(), Method::GET, &file, &headers, "").await.text(), "a release file");
    let download = path_of(&lfs(&farrier, &token, "download", b"an LFS object").await);
    assert_eq!(send(&farrier.tcp(), Method::GET, &download, &[], "").await.text(), "an LFS object");
    let hooks = farrier.admin(Method::GET, "/api/v1/repos/admin/demo/hooks", Value::Null).await.json();
    assert_eq!(hooks.as_array().map(Vec::len), Some(1), "{hooks}");

    // IDs that clients know from after the backup are not used again.
    farrier.repository("new").await;
    let new_id = farrier.admin(Method::GET, "/api/v1/repos/admin/new", Value::Null).await.json()["id"].clone();
    assert!(new_id.as_u64() > last_id.as_u64(), "{new_id} {last_id}");
    let work = Client::at(work.dir());
    work.commit("c", "c");
    work.done(&["push", "-q", &remote, "main"]);
    farrier.stop().await;
    let checked = farrier.check_data(&["--git", "--content"]).await;
    assert!(checked.status.success(), "{checked:?}");
}
