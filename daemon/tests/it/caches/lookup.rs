//! Which entries a lookup finds.

use serde_json::json;

use super::{call, content, restore, save};
use crate::support::TestDaemon;

#[tokio::test]
async fn exact_keys_win_then_the_newest_prefix_and_restore_keys_are_tried_in_order() {
    let farrier = TestDaemon::start().await;
    farrier.repository("r").await;
    let job = farrier.begin_on("r", "main").await;
    for (key, content) in [("npm-1", "1"), ("npm-1-old", "old"), ("npm-1-new", "new"), ("go-1", "go"), ("Npm-1", "N")] {
        save(&farrier, &job, key, content).await;
    }
    for (key, restore_keys, found) in [
        ("npm-1", &[][..], Some("npm-1")),
        ("npm-1", &["go-"], Some("npm-1")),
        ("npm-1-", &[], None),
        ("npm-1-", &["npm-1-"], Some("npm-1-new")),
        ("npm-2", &["npm-2", "npm-1-o", "npm-"], Some("npm-1-old")),
        ("npm-2", &["npm-3-", "go-", "npm-"], Some("go-1")),
        ("npm-2", &["npm-1", "go-"], Some("npm-1")),
        ("Npm-1", &[], Some("Npm-1")),
        ("NPM-1", &["NPM-"], None),
    ] {
        let matched = restore(&farrier, &job, key, restore_keys).await.map(|(key, _)| key);
        assert_eq!(matched.as_deref(), found, "{key} {restore_keys:?}");
    }
    let message = json!({ "key": "npm-1", "restore_keys": ["npm-"], "version": "other" });
    assert_eq!(call(&farrier, &job, "GetCacheEntryDownloadURL", message).await.json(), json!({ "ok": false }));
}

#[tokio::test]
async fn a_branch_reads_the_default_branch_and_no_sibling_and_writes_only_to_itself() {
    let farrier = TestDaemon::start().await;
    farrier.repository("r").await;
    let main = farrier.begin_on("r", "main").await;
    let detached = farrier.begin("r", None).await;
    let feature = farrier.begin_on("r", "feature").await;
    let other = farrier.begin_on("r", "other").await;
    let tag = farrier.begin_on("r", "refs/tags/feature").await;
    save(&farrier, &main, "shared", "of main").await;
    save(&farrier, &feature, "shared", "of feature").await;
    save(&farrier, &feature, "own", "of feature").await;
    save(&farrier, &main, "only-main", "of main").await;
    for (job, key, found) in [
        (&main, "shared", Some("of main")),
        (&feature, "shared", Some("of feature")),
        (&other, "shared", Some("of main")),
        (&tag, "shared", Some("of main")),
        (&detached, "shared", Some("of main")),
        (&feature, "only-main", Some("of main")),
        (&main, "own", None),
        (&other, "own", None),
        (&tag, "own", None),
    ] {
        assert_eq!(content(&farrier, job, key).await.as_deref(), found, "{key}");
    }
    // A prefix in the own ref wins over the exact key in the default branch.
    let found = restore(&farrier, &feature, "only-main", &["o"]).await;
    assert_eq!(found, Some(("own".into(), "of feature".into())));
}
