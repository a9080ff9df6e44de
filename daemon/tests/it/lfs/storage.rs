//! Quota, forks, deleted repositories, lost bytes, and `check-data`.

use farrierd::clock::Clock;
use http::Method;
use serde_json::{Value, json};

use super::{Lfs, oid, path_of, stored};
use crate::support::{TestDaemon, eventually, send};

const DAY_MS: i64 = 86_400_000;

/// The LFS routes of the repository `admin/NAME`.
fn at<'a>(farrier: &'a TestDaemon, name: &str, authorization: &str) -> Lfs<'a> {
    Lfs { farrier, repository: format!("admin/{name}"), authorization: authorization.to_owned() }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_quota_of_an_owner_is_checked_before_bytes_move() {
    let farrier = TestDaemon::with(|config| config.lfs.quota_bytes = 10).await;
    let (first, second) = (Lfs::new(&farrier, "first").await, Lfs::new(&farrier, "second").await);
    first.upload(b"123456").await;
    assert_eq!(second.problem("upload", &oid(b"12345"), 5).await, 507);
    let open = second.object("upload", &oid(b"1234"), 4).await;
    let (a, b) = (oid(b"123"), oid(b"12"));
    let objects = json!([{ "oid": a, "size": 3 }, { "oid": a, "size": 3 }, { "oid": b, "size": 2 }]);
    let answer = second.batch("upload", objects).await.json();
    let codes: Vec<Value> = (0..3).map(|at| answer["objects"][at]["error"]["code"].clone()).collect();
    assert_eq!(codes, [Value::Null, Value::Null, json!(507)], "each object counts once: {answer}");
    second.upload(b"123").await;
    let late = second.put(&path_of(&open["actions"]["upload"]["href"]), b"1234").await;
    assert_eq!(late.status, 507, "the address is older: {late:?}");
    eventually("only recorded objects are stored", async || stored(&farrier) == 2).await;
    assert_eq!(second.problem("download", &oid(b"1234"), 4).await, 404);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_fork_has_the_objects_of_its_source_and_they_are_stored_once() {
    let farrier = TestDaemon::with(|config| config.lfs.quota_bytes = 20).await;
    let source = Lfs::new(&farrier, "source").await;
    let id = source.upload(b"123456").await;
    let body = json!({ "name": "copy" });
    let forked = farrier.admin(Method::POST, "/api/v1/repos/admin/source/forks", body.clone()).await;
    assert_eq!(forked.status, 202, "{forked:?}");
    let authorization = source.authorization.clone();
    let fork = Lfs { farrier: &farrier, repository: "admin/copy".into(), authorization };
    assert_eq!(fork.download(&id, 6).await.text(), "123456");
    assert_eq!(stored(&farrier), 1);
    // What is uploaded later belongs to one of them.
    let later = source.upload(b"later").await;
    assert_eq!(fork.problem("download", &later, 5).await, 404);
    assert_eq!(source.problem("upload", &oid(b"1234"), 4).await, 507, "the objects of the fork count: 6 + 5 + 6");
    // The quota applies to forks as well.
    let body = json!({ "name": "third" });
    let refused = farrier.admin(Method::POST, "/api/v1/repos/admin/copy/forks", body).await;
    assert_eq!(refused.status, 403, "{refused:?}");
    let listed = farrier.admin(Method::GET, "/api/v1/repos/admin/copy/forks", Value::Null).await;
    assert_eq!(listed.text(), "[]\n");
    // The objects stay while one of the repositories has them.
    assert_eq!(farrier.admin(Method::DELETE, "/api/v1/repos/admin/source", json!({})).await.status, 204);
    assert_eq!(fork.download(&id, 6).await.text(), "123456");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_transfer_does_not_exceed_the_quota_of_the_new_owner() {
    let farrier = TestDaemon::with(|config| config.lfs.quota_bytes = 10).await;
    let source = Lfs::new(&farrier, "source").await;
    let id = source.upload(b"123456").await;
    for name in ["full", "empty"] {
        let body = json!({ "username": name });
        let created = farrier.admin(Method::POST, "/api/v1/admin/users/admin/orgs", body).await;
        assert_eq!(created.status, 201, "{created:?}");
    }
    let created = farrier.admin(Method::POST, "/api/v1/orgs/full/repos", json!({ "name": "other" })).await;
    assert_eq!(created.status, 201, "{created:?}");
    let authorization = source.authorization.clone();
    let of = |path: &str| Lfs { farrier: &farrier, repository: path.into(), authorization: authorization.clone() };
    of("full/other").upload(b"12345").await;
    let headers = [("authorization", authorization.as_str()), ("content-type", "application/json")];
    for (owner, status) in [("full", 403), ("empty", 202)] {
        let body = json!({ "new_owner": owner }).to_string();
        let path = "/api/v1/repos/admin/source/transfer";
        let answer = send(&farrier.tcp(), Method::POST, path, &headers, body).await;
        assert_eq!(answer.status, status, "{owner}: {answer:?}");
    }
    assert_eq!(of("empty/source").download(&id, 6).await.text(), "123456");
}

#[tokio::test(flavor = "multi_thread")]
async fn objects_go_with_their_repository_a_day_after_the_last_one() {
    let clock = Clock::manual(1_767_323_045_000);
    // No file names these objects, and many days pass.
    let keep = |config: &mut farrierd::config::Config| config.lfs.keep_unreferenced = std::time::Duration::ZERO;
    let mut farrier = TestDaemon::with_clock(clock.clone(), keep).await;
    let (authorization, shared, only) = {
        let (first, second) = (Lfs::new(&farrier, "first").await, Lfs::new(&farrier, "second").await);
        let (shared, only) = (first.upload(b"shared").await, first.upload(b"only").await);
        second.upload(b"shared").await;
        assert_eq!(first.post("locks", json!({ "path": "a" })).await.status, 201);
        (first.authorization.clone(), shared, only)
    };
    let delete = async |farrier: &TestDaemon| {
        let deleted = farrier.admin(Method::DELETE, "/api/v1/repos/admin/first", Value::Null).await;
        assert_eq!(deleted.status, 204, "{deleted:?}");
        farrier.admin(Method::GET, "/api/farrier/v1/deleted/repositories", Value::Null).await.json()[0]["id"]
            .to_string()
    };
    let id = delete(&farrier).await;
    assert_eq!(at(&farrier, "first", &authorization).batch("download", json!([])).await.status, 404);
    let restore = format!("/api/farrier/v1/deleted/repositories/{id}/restore");
    let restored = farrier.admin(Method::POST, &restore, json!({})).await;
    assert_eq!(restored.status, 200, "{restored:?}");
    assert_eq!(at(&farrier, "first", &authorization).download(&only, 4).await.text(), "only");
    assert_eq!(
        at(&farrier, "first", &authorization).get("locks").await.json()["locks"].as_array().map(Vec::len),
        Some(1)
    );

    let id = delete(&farrier).await;
    let path = format!("/api/farrier/v1/deleted/repositories/{id}");
    assert_eq!(farrier.admin(Method::DELETE, &path, Value::Null).await.status, 204);
    farrier.repository("first").await;
    assert_eq!(
        at(&farrier, "first", &authorization).problem("download", &only, 4).await,
        404,
        "a new repository with the same name"
    );
    assert_eq!(stored(&farrier), 2, "kept for a day");
    farrier.stop().await;
    let checked = farrier.check_data(&[]).await;
    assert!(checked.status.success(), "{checked:?}");
    farrier.start_in_process(clock.clone()).await;
    let is_collected = async || {
        clock.advance_ms(DAY_MS + 1_000);
        stored(&farrier) == 1
    };
    eventually("the bytes are removed", is_collected).await;
    let second = at(&farrier, "second", &authorization);
    assert_eq!(second.download(&shared, 6).await.text(), "shared");
    let id = at(&farrier, "first", &authorization).upload(b"only").await;
    assert_eq!(at(&farrier, "first", &authorization).download(&id, 4).await.text(), "only");
}

#[tokio::test(flavor = "multi_thread")]
async fn lost_bytes_are_reported_and_replaced_by_the_next_push() {
    let mut farrier = TestDaemon::start().await;
    let (authorization, id) = {
        let lfs = Lfs::new(&farrier, "demo").await;
        (lfs.authorization.clone(), lfs.upload(b"content").await)
    };
    farrier.stop().await;
    let mut files = Vec::new();
    let mut pending = vec![farrier.data_dir().join("artifacts")];
    while let Some(path) = pending.pop() {
        for entry in std::fs::read_dir(&path).expect("a directory").flatten() {
            let path = entry.path();
            if path.is_dir() {
                pending.push(path);
            } else if std::fs::read(&path).is_ok_and(|bytes| bytes == b"content") {
                files.push(path);
            }
        }
    }
    assert_eq!(files.len(), 1);
    std::fs::rename(&files[0], farrier.scratch().join("lost")).expect("moved");
    let checked = farrier.check_data(&[]).await;
    let report = String::from_utf8_lossy(&checked.stdout).into_owned();
    assert!(!checked.status.success() && report.contains(&id) && report.contains("missing"), "{report}");
    farrier.restart().await;
    let lfs = Lfs { farrier: &farrier, repository: "admin/demo".into(), authorization };
    assert_eq!(lfs.problem("download", &id, 7).await, 410);
    lfs.upload(b"content").await;
    assert_eq!(lfs.download(&id, 7).await.text(), "content");
}

#[tokio::test(flavor = "multi_thread")]
async fn changed_bytes_are_not_downloaded_completely() {
    let mut farrier = TestDaemon::start().await;
    let (authorization, id) = {
        let lfs = Lfs::new(&farrier, "demo").await;
        (lfs.authorization.clone(), lfs.upload(b"content").await)
    };
    farrier.stop().await;
    let mut pending = vec![farrier.data_dir().join("artifacts")];
    while let Some(path) = pending.pop() {
        for entry in std::fs::read_dir(&path).expect("a directory").flatten() {
            let path = entry.path();
            if path.is_dir() {
                pending.push(path);
            } else if std::fs::read(&path).is_ok_and(|bytes| bytes == b"content") {
                std::fs::write(&path, b"CONTENT").expect("written");
            }
        }
    }
    let checked = farrier.check_data(&["--content"]).await;
    assert!(String::from_utf8_lossy(&checked.stdout).contains("SHA-256"), "{checked:?}");
    farrier.restart().await;
    let lfs = Lfs { farrier: &farrier, repository: "admin/demo".into(), authorization };
    let address = lfs.address("download", &id, 7).await;
    let answer = crate::support::try_send(&farrier.tcp(), Method::GET, &address, &[], "").await;
    assert!(answer.is_err(), "{answer:?}");
}
