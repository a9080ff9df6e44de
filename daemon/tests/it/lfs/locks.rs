//! Locks.

use std::collections::BTreeSet;

use http::Method;
use serde_json::{Value, json};

use super::{JSON, Lfs};
use crate::support::TestDaemon;

/// A second account with the right to push.
async fn writer(lfs: &Lfs<'_>, name: &str) -> String {
    lfs.farrier.user(name).await;
    let path = format!("/api/v1/repos/{}/collaborators/{name}", lfs.repository);
    let added = lfs.farrier.admin(Method::PUT, &path, json!({ "permission": "write" })).await;
    assert_eq!(added.status, 204, "{added:?}");
    format!("token {}", lfs.farrier.token(name, &["all"]).await)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_path_is_locked_once_and_unlocked_by_its_owner_or_with_force() {
    let farrier = TestDaemon::start().await;
    let lfs = Lfs::new(&farrier, "demo").await;
    let other = lfs.with(&writer(&lfs, "wren").await);
    let created = lfs.post("locks", json!({ "path": "a/b.bin", "ref": { "name": "refs/heads/main" } })).await;
    assert_eq!((created.status, created.header("content-type")), (201, JSON), "{created:?}");
    let lock = created.json()["lock"].clone();
    let id = lock["id"].as_str().expect("text").to_owned();
    assert!(id.parse::<u64>().is_ok() && lock["locked_at"].is_string(), "{lock}");
    assert_eq!((&lock["path"], &lock["owner"]), (&json!("a/b.bin"), &json!({ "name": "admin" })));
    for caller in [&lfs, &other] {
        let again = caller.post("locks", json!({ "path": "a/b.bin" })).await;
        assert_eq!(again.status, 409);
        let again = again.json();
        assert_eq!(again["lock"], lock);
        assert!(again["message"].is_string() && again["request_id"].is_string(), "{again}");
    }
    let verified = other.post("locks/verify", json!({ "ref": { "name": "refs/heads/main" } })).await;
    assert_eq!((verified.status, verified.json()), (200, json!({ "ours": [], "theirs": [lock] })));
    assert_eq!(lfs.post("locks/verify", json!({})).await.json(), json!({ "ours": [lock], "theirs": [] }));

    let unlock = |id: &str| format!("locks/{id}/unlock");
    assert_eq!(other.post(&unlock(&id), json!({ "force": false })).await.status, 403);
    for missing in ["999", "abc", "-1", "%2e%2e"] {
        assert_eq!(lfs.post(&unlock(missing), json!({ "force": true })).await.status, 404, "{missing}");
    }
    let second = Lfs::new(&farrier, "second").await;
    assert_eq!(second.post(&unlock(&id), json!({ "force": true })).await.status, 404, "another repository");
    let forced = other.post(&unlock(&id), json!({ "force": true })).await;
    assert_eq!((forced.status, &forced.json()["lock"]), (200, &lock));
    let audit = farrier.admin(Method::GET, "/api/farrier/v1/audit?action=lfs_lock.force", Value::Null).await.json();
    assert_eq!((&audit[0]["object"]["name"], &audit[0]["actor"]["name"]), (&json!("a/b.bin"), &json!("wren")));
    let own = other.post("locks", json!({ "path": "a/b.bin" })).await.json()["lock"]["id"].clone();
    assert_ne!(own, json!(id), "ids are not used again");
    assert_eq!(other.post(&unlock(own.as_str().expect("text")), json!({})).await.status, 200);
    assert_eq!(lfs.get("locks").await.json(), json!({ "locks": [] }));
}

#[tokio::test(flavor = "multi_thread")]
async fn locks_need_an_account_and_valid_paths() {
    let farrier = TestDaemon::start().await;
    let lfs = Lfs::new(&farrier, "demo").await;
    farrier.user("eve").await;
    let eve = lfs.with(&format!("token {}", farrier.token("eve", &["all"]).await));
    let anonymous = lfs.with("");
    let requests = ["locks", "locks/verify", "locks/1/unlock"];
    for path in requests {
        let answer = anonymous.post(path, json!({ "path": "a" })).await;
        assert_eq!((answer.status, answer.header("lfs-authenticate")), (401, "Basic realm=\"farrier\""), "{path}");
        assert_eq!(eve.post(path, json!({ "path": "a" })).await.status, 403, "{path}");
    }
    assert_eq!((anonymous.get("locks").await.status, eve.get("locks").await.status), (401, 200));
    for path in [
        json!(""),
        json!("/a"),
        json!("a/"),
        json!("a//b"),
        json!("a/./b"),
        json!("../../etc"),
        json!("a\u{0}b"),
        json!("x".repeat(1_025)),
        json!(7),
        Value::Null,
    ] {
        assert_eq!(lfs.post("locks", json!({ "path": path })).await.status, 422, "{path}");
    }
    assert_eq!(lfs.post("locks", json!({ "path": "x".repeat(1_024) })).await.status, 201);
}

#[tokio::test(flavor = "multi_thread")]
async fn each_lock_is_on_exactly_one_page() {
    let farrier = TestDaemon::start().await;
    let lfs = Lfs::new(&farrier, "demo").await;
    for number in 0..7 {
        assert_eq!(lfs.post("locks", json!({ "path": format!("f{number}") })).await.status, 201);
    }
    let (mut pages, mut seen, mut cursor) = (0, BTreeSet::new(), String::new());
    loop {
        let page = lfs.get(&format!("locks?limit=3&refspec=refs%2Fheads%2Fmain&cursor={cursor}")).await.json();
        for lock in page["locks"].as_array().expect("a list") {
            assert!(seen.insert(lock["path"].as_str().expect("text").to_owned()), "{lock} twice");
        }
        pages += 1;
        match page["next_cursor"].as_str() {
            Some(next) => cursor = next.to_owned(),
            None => break,
        }
    }
    assert_eq!((pages, seen.len()), (3, 7));
    let first = lfs.post("locks/verify", json!({ "limit": 5 })).await.json();
    let rest = lfs.post("locks/verify", json!({ "limit": 5, "cursor": first["next_cursor"] })).await.json();
    assert_eq!((first["ours"].as_array().map(Vec::len), rest["ours"].as_array().map(Vec::len)), (Some(5), Some(2)));
    assert!(rest["next_cursor"].is_null());
    let one = lfs.get("locks?path=f3").await.json()["locks"][0].clone();
    let id = one["id"].as_str().expect("text");
    assert_eq!(lfs.get(&format!("locks?id={id}")).await.json(), json!({ "locks": [one] }));
    for none in ["id=999", "id=abc", "path=nothing", &format!("id={id}&path=f4")] {
        assert_eq!(lfs.get(&format!("locks?{none}")).await.json(), json!({ "locks": [] }), "{none}");
    }
    for bad in ["limit=x", "cursor=1", "cursor=!"] {
        assert_eq!(lfs.get(&format!("locks?{bad}")).await.status, 422, "{bad}");
    }
}
