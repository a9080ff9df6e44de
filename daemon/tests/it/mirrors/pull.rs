//! A pull mirror follows its source.

use http::Method;
use serde_json::{Value, json};

use super::{COPY, daemon, filled, mirror, post, ref_events, refs, synced};
use crate::support::eventually;

const ZERO: &str = "0000000";

#[tokio::test(flavor = "multi_thread")]
async fn a_mirror_follows_pushes_forced_pushes_and_deletions_with_events() {
    let (source, farrier) = (daemon().await, daemon().await);
    let work = filled(&source, "origin").await;
    work.done(&["push", "-q", "origin", "main:old", "main:refs/notes/x"]);
    work.done(&["tag", "v1"]);
    work.done(&["push", "-q", "origin", "v1"]);
    let address = format!("{}/admin/origin", source.url);
    let copy = mirror(&farrier, &address, json!({})).await;
    let id = &copy["id"];
    assert_eq!((&copy["mirror"], &copy["mirror_interval"]), (&json!(true), &json!("10m0s")));
    assert_eq!((&copy["original_url"], &copy["farrier_mirror"]["state"]), (&json!(address), &json!("ok")));
    assert!(copy["farrier_mirror"]["next_at"].is_string(), "{copy}");
    for (mode, expected) in [("mirror", json!(["copy"])), ("source", json!([]))] {
        let found = farrier.show(&format!("/api/v1/repos/search?mode={mode}")).await.json();
        let names: Vec<_> = found["data"].as_array().expect("a list").iter().map(|row| row["name"].clone()).collect();
        assert_eq!(json!(names), expected, "{mode}");
    }
    farrier.git(id, &["update-ref", "refs/farrier/hidden", "refs/heads/main"]);
    farrier.git(id, &["update-ref", "refs/notes/local", "refs/heads/main"]);

    let one = work.done(&["rev-parse", "HEAD"])[..7].to_owned();
    work.done(&["checkout", "-q", "--orphan", "other"]);
    let two = work.commit("b", "two")[..7].to_owned();
    work.done(&["tag", "-f", "v1"]);
    work.done(&["push", "-q", "-f", "origin", "other:main", "v1", "other:feature/x", ":old", "other:old/below"]);
    work.done(&["tag", "v2"]);
    work.done(&["push", "-q", "origin", "v2"]);
    assert_eq!(synced(&farrier).await["last_error"], "");
    let full = work.done(&["rev-parse", "HEAD"]);
    let first = farrier.git(id, &["rev-parse", "refs/notes/local"]);
    assert_eq!(
        refs(&farrier, id),
        format!(
            "refs/farrier/hidden {}\nrefs/heads/feature/x {full}\nrefs/heads/main {full}\nrefs/heads/old/below {full}\n\
             refs/notes/local {}\nrefs/tags/v1 {full}\nrefs/tags/v2 {full}\n",
            first.trim(),
            first.trim()
        )
    );
    let mut events = ref_events(&farrier, id).await;
    events.sort();
    let mut expected = vec![
        format!("create refs/heads/feature/x {ZERO} {two} admin"),
        format!("push refs/heads/feature/x {ZERO} {two} admin"),
        format!("create refs/heads/old/below {ZERO} {two} admin"),
        format!("push refs/heads/old/below {ZERO} {two} admin"),
        format!("push refs/heads/main {one} {two} admin"),
        format!("delete refs/heads/old {one} {ZERO} admin"),
        format!("push refs/tags/v1 {one} {two} admin"),
        format!("create refs/tags/v1 {one} {two} admin"),
        format!("push refs/tags/v2 {ZERO} {two} admin"),
        format!("create refs/tags/v2 {ZERO} {two} admin"),
    ];
    expected.sort();
    assert_eq!(events, expected);
    farrier.git(id, &["fsck", "--strict"]);

    // Nothing changes, so nothing is recorded.
    assert_eq!(synced(&farrier).await["state"], "ok");
    assert_eq!(ref_events(&farrier, id).await.len(), expected.len());
    let shown = farrier.show(COPY).await.json();
    assert_eq!(shown["branch_count"], 3);
    assert!(shown["mirror_updated"].as_str() > Some("2") && shown["mirror_last_sync_at"] == shown["mirror_updated"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_default_branch_follows_the_source_when_it_is_gone() {
    let (source, farrier) = (daemon().await, daemon().await);
    let work = filled(&source, "origin").await;
    let copy = mirror(&farrier, &format!("{}/admin/origin", source.url), json!({})).await;
    work.done(&["push", "-q", "origin", "main:trunk"]);
    let path = "/api/v1/repos/admin/origin";
    assert_eq!(source.admin(Method::PATCH, path, json!({ "default_branch": "trunk" })).await.status, 200);
    synced(&farrier).await;
    assert_eq!(farrier.show(COPY).await.json()["default_branch"], "main", "the default branch still exists");
    work.done(&["push", "-q", "origin", ":main"]);
    synced(&farrier).await;
    assert_eq!(farrier.show(COPY).await.json()["default_branch"], "trunk");
    assert_eq!(farrier.git(&copy["id"], &["symbolic-ref", "HEAD"]), "refs/heads/trunk\n");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_empty_source_is_followed_when_it_gets_its_first_branch() {
    let (source, farrier) = (daemon().await, daemon().await);
    source.repository("origin").await;
    let address = format!("{}/admin/origin", source.url);
    let copy = mirror(&farrier, &address, json!({})).await;
    assert_eq!(copy["empty"], true);
    assert_eq!(synced(&farrier).await["state"], "ok");
    let token = source.token("admin", &["all"]).await;
    let work = crate::support::git::Client::init(source.scratch().join("first"));
    work.commit("a", "one");
    work.done(&["push", "-q", &source.remote("admin/origin", &token), "main:trunk"]);
    assert_eq!(synced(&farrier).await["state"], "ok");
    let shown = farrier.show(COPY).await.json();
    assert_eq!((&shown["empty"], &shown["default_branch"]), (&json!(false), &json!("trunk")));
}

#[tokio::test(flavor = "multi_thread")]
async fn every_write_to_a_mirror_is_refused() {
    let (source, farrier) = (daemon().await, daemon().await);
    let work = filled(&source, "origin").await;
    let copy = mirror(&farrier, &format!("{}/admin/origin", source.url), json!({})).await;
    let before = refs(&farrier, &copy["id"]);
    let token = farrier.token("admin", &["all"]).await;
    let err = work.refused(&["push", &farrier.remote("admin/copy", &token), "main:mine"]);
    assert!(err.contains("mirror repository is read-only") && err.contains("403"), "{err}");
    for (method, rest, body, status) in [
        (Method::POST, "/contents/x", json!({ "content": "eA==" }), 423),
        (Method::POST, "/branches", json!({ "new_branch_name": "x" }), 403),
        (Method::PATCH, "/branches/main", json!({ "name": "x" }), 403),
        (Method::DELETE, "/branches/main", Value::Null, 403),
        (Method::POST, "/tags", json!({ "tag_name": "x" }), 403),
        (Method::POST, "/releases", json!({ "tag_name": "x" }), 403),
        (Method::POST, "/releases", json!({ "tag_name": "x", "draft": true }), 403),
        (Method::PATCH, "", json!({ "archived": true }), 422),
    ] {
        let refused = farrier.admin(method.clone(), &format!("{COPY}{rest}"), body).await;
        assert_eq!(refused.status, status, "{method} {rest}: {refused:?}");
    }
    assert_eq!(refs(&farrier, &copy["id"]), before);
    assert_eq!(farrier.show(COPY).await.json()["archived"], false);
    // Settings that are not about refs can be changed.
    assert_eq!(farrier.admin(Method::PATCH, COPY, json!({ "description": "d" })).await.status, 200);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_credentials_of_a_private_source_are_used_and_never_shown() {
    let (source, mut farrier) = (daemon().await, daemon().await);
    let work = filled(&source, "origin").await;
    let private = json!({ "private": true });
    assert_eq!(source.admin(Method::PATCH, "/api/v1/repos/admin/origin", private).await.status, 200);
    let token = source.token("admin", &["read:repository"]).await;
    let address = format!("{}/admin/origin", source.url);
    let copy = mirror(&farrier, &address, json!({ "auth_username": "any", "auth_password": token })).await;
    let two = work.commit("b", "two");
    work.done(&["push", "-q", "origin", "main"]);
    assert_eq!(synced(&farrier).await["last_error"], "");
    assert!(refs(&farrier, &copy["id"]).contains(&two));

    // The credentials are still used after a restart, and are refused by the source later.
    farrier.restart().await;
    let three = work.commit("c", "three");
    work.done(&["push", "-q", "origin", "main"]);
    assert_eq!(synced(&farrier).await["last_error"], "");
    assert!(refs(&farrier, &copy["id"]).contains(&three));
    let name = "token-read:repository";
    assert_eq!(
        source.admin(Method::DELETE, &format!("/api/v1/users/admin/tokens/{name}"), Value::Null).await.status,
        204
    );
    let failed = synced(&farrier).await;
    assert_eq!(failed["last_error"], "authentication failed at the other server");
    let shown = farrier.show(COPY).await.text();
    assert!(!shown.contains(&token), "{shown}");
    let audit = farrier.admin(Method::GET, "/api/farrier/v1/audit", Value::Null).await.text();
    assert!(!audit.contains(&token), "{audit}");
    farrier.stop().await;
    for file in ["farrier.redb".to_owned(), format!("repositories/{}.git/config", copy["id"])] {
        let bytes = std::fs::read(farrier.data_dir().join(&file)).expect("a file");
        assert!(!bytes.windows(token.len()).any(|window| window == token.as_bytes()), "{file}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_due_mirror_is_synced_without_a_request() {
    let source = daemon().await;
    let farrier = crate::support::TestDaemon::with(|config| {
        config.migration.allowed_hosts = "loopback".into();
        config.mirror.min_interval = std::time::Duration::from_secs(1);
    })
    .await;
    let work = filled(&source, "origin").await;
    let address = format!("{}/admin/origin", source.url);
    let copy = mirror(&farrier, &address, json!({ "mirror_interval": "1s" })).await;
    let two = work.commit("b", "two");
    work.done(&["push", "-q", "origin", "main"]);
    eventually("the mirror follows", || async { refs(&farrier, &copy["id"]).contains(&two) }).await;
    // An interval of 0 means only by request.
    let edited = farrier.admin(Method::PATCH, COPY, json!({ "mirror_interval": "0s" })).await;
    assert_eq!((edited.status, &edited.json()["mirror_interval"]), (200, &json!("0s")), "{edited:?}");
    assert!(edited.json()["farrier_mirror"]["next_at"].is_null());
    let three = work.commit("c", "three");
    work.done(&["push", "-q", "origin", "main"]);
    assert_eq!(post(&farrier, &format!("{COPY}/mirror-sync"), Value::Null).await.status, 200);
    eventually("the mirror follows on request", || async { refs(&farrier, &copy["id"]).contains(&three) }).await;
    let is_unplanned = || async { farrier.show(COPY).await.json()["farrier_mirror"]["next_at"].is_null() };
    eventually("no further sync is planned", is_unplanned).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_deleted_mirror_is_not_synced_and_a_restored_one_is() {
    let (source, farrier) = (daemon().await, daemon().await);
    let work = filled(&source, "origin").await;
    let copy = mirror(&farrier, &format!("{}/admin/origin", source.url), json!({})).await;
    assert_eq!(farrier.admin(Method::DELETE, COPY, Value::Null).await.status, 204);
    let restore = format!("/api/farrier/v1/deleted/repositories/{}/restore", copy["id"]);
    let restored = post(&farrier, &restore, json!({})).await;
    assert!(restored.status < 300, "{restored:?}");
    let two = work.commit("b", "two");
    work.done(&["push", "-q", "origin", "main"]);
    assert_eq!(synced(&farrier).await["state"], "ok");
    assert!(refs(&farrier, &copy["id"]).contains(&two));
}
