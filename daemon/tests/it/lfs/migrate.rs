//! Migrations with the objects of Git LFS, from one daemon to another.

use http::Method;
use serde_json::{Value, json};

use super::{Lfs, oid, stored};
use crate::support::{Answer, TestDaemon, eventually, git::Client};

/// The text of a pointer file.
fn pointer(bytes: &[u8]) -> String {
    format!("version https://git-lfs.github.com/spec/v1\noid sha256:{}\nsize {}\n", oid(bytes), bytes.len())
}

/// More than one request for an object.
const LARGE_BYTES: usize = 9 << 20;

/// A daemon with the private repository `admin/demo`, which has objects on a branch, on a tag and in the history.
/// Returns a token of its owner, too.
async fn source(large: &[u8]) -> (TestDaemon, String) {
    let farrier = TestDaemon::start().await;
    let lfs = Lfs::new(&farrier, "demo").await;
    for bytes in [large, b"old", b"on a tag"] {
        lfs.upload(bytes).await;
    }
    let token = farrier.token("admin", &["all"]).await;
    let work = Client::init(farrier.scratch().join("work"));
    work.commit("a.bin", pointer(b"old"));
    work.commit("a.bin", pointer(large));
    work.commit("missing.bin", pointer(b"never uploaded"));
    let remote = farrier.remote("admin/demo", &token);
    work.done(&["push", "-q", &remote, "main"]);
    work.done(&["checkout", "-q", "--orphan", "side"]);
    work.commit("tag.bin", pointer(b"on a tag"));
    work.done(&["tag", "v1"]);
    work.done(&["push", "-q", &remote, "v1"]);
    let private = farrier.admin(Method::PATCH, "/api/v1/repos/admin/demo", json!({ "private": true })).await;
    assert_eq!(private.status, 200, "{private:?}");
    (farrier, token)
}

async fn target(allowed: &str) -> TestDaemon {
    let allowed = allowed.to_owned();
    TestDaemon::with(|config| config.migration.allowed_hosts = allowed).await
}

async fn migrate(farrier: &TestDaemon, source: &TestDaemon, token: &str, more: Value) -> Answer {
    let mut body = json!({
        "clone_addr": format!("{}/admin/demo", source.url), "repo_name": "copy", "auth_token": token,
    });
    for (name, value) in more.as_object().expect("an object") {
        body[name] = value.clone();
    }
    farrier.admin(Method::POST, "/api/v1/repos/migrate", body).await
}

async fn routes(farrier: &TestDaemon) -> Lfs<'_> {
    let token = farrier.token("admin", &["all"]).await;
    Lfs { farrier, repository: "admin/copy".into(), authorization: format!("token {token}") }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_migration_copies_the_objects_of_all_branches_and_tags_if_it_is_asked_to() {
    let large = crate::support::git::noise(LARGE_BYTES);
    let (source, token) = source(&large).await;
    let mut farrier = target("loopback").await;
    let done = migrate(&farrier, &source, &token, json!({ "lfs": true })).await;
    assert_eq!(done.status, 201, "{done:?}");
    let lfs = routes(&farrier).await;
    for bytes in [&large[..], b"old", b"on a tag"] {
        assert!(lfs.download(&oid(bytes), bytes.len()).await.body == bytes, "{}", bytes.len());
    }
    assert_eq!(lfs.problem("download", &oid(b"never uploaded"), 14).await, 404);
    assert_eq!(stored(&farrier), 3);

    let pointers = migrate(&farrier, &source, &token, json!({ "repo_name": "pointers" })).await;
    assert_eq!(pointers.status, 201, "{pointers:?}");
    let without = Lfs { repository: "admin/pointers".into(), authorization: lfs.authorization.clone(), ..lfs };
    assert_eq!(without.problem("download", &oid(b"old"), 3).await, 404);
    farrier.stop().await;
    let checked = farrier.check_data(&["--content"]).await;
    assert!(checked.status.success(), "{checked:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_sync_of_a_mirror_copies_the_objects_of_new_commits() {
    let (source, token) = source(b"content").await;
    let farrier = target("loopback").await;
    let wanted = json!({ "lfs": true, "mirror": true, "mirror_interval": "0s" });
    let done = migrate(&farrier, &source, &token, wanted).await;
    assert_eq!(done.status, 201, "{done:?}");
    let authorization = format!("token {token}");
    Lfs { farrier: &source, repository: "admin/demo".into(), authorization }.upload(b"added later").await;
    let work = Client::init(source.scratch().join("later"));
    work.commit("later.bin", pointer(b"added later"));
    work.done(&["push", "-q", &source.remote("admin/demo", &token), "main:later"]);
    let lfs = routes(&farrier).await;
    assert_eq!(lfs.problem("download", &oid(b"added later"), 11).await, 404);
    let requested = farrier.admin(Method::POST, "/api/v1/repos/admin/copy/mirror-sync", Value::Null).await;
    assert_eq!(requested.status, 200, "{requested:?}");
    eventually("the object is copied", async || lfs.problem("download", &oid(b"added later"), 11).await == 0).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_migration_whose_objects_cannot_be_copied_leaves_nothing() {
    let (source, token) = source(b"content").await;
    let mut farrier = target("loopback").await;
    // A route that is no LFS service, and an address that the policy refuses.
    for endpoint in [format!("{}/api/v1/version", source.url), "http://192.0.2.1/info/lfs".into()] {
        let failed = migrate(&farrier, &source, &token, json!({ "lfs": true, "lfs_endpoint": endpoint })).await;
        assert_eq!(failed.status, 422, "{failed:?}");
        assert!(failed.text().contains("lfs_endpoint") && !failed.text().contains(&token), "{failed:?}");
        assert!(!failed.text().contains("webhook"), "{failed:?}");
        let missing = farrier.admin(Method::GET, "/api/v1/repos/admin/copy", Value::Null).await;
        assert_eq!(missing.status, 404, "{missing:?}");
    }
    farrier.stop().await;
    let checked = farrier.check_data(&[]).await;
    assert!(checked.status.success(), "{checked:?}");
    farrier.restart().await;
    let quota = TestDaemon::with(|config| {
        config.migration.allowed_hosts = "loopback".into();
        config.lfs.quota_bytes = 5;
    })
    .await;
    let failed = migrate(&quota, &source, &token, json!({ "lfs": true })).await;
    assert!(failed.status >= 400, "{failed:?}");
    let missing = quota.admin(Method::GET, "/api/v1/repos/admin/copy", Value::Null).await;
    assert_eq!(missing.status, 404, "{missing:?}");
}
