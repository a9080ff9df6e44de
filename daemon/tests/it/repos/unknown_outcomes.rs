//! Commits with an unknown outcome, and kills between the disk and the row: complete data is never deleted, and row and
//! disk agree in the end.

use std::sync::Arc;

use farrier_proto::store::{Migration, MigrationState, Repository};
use farrierd::store::{
    Store, StoreError, Tx,
    engine::{LostCommit, MemoryEngine},
    refs, repositories,
};
use http::Method;
use serde_json::{Value, json};

use super::migrating::{daemon, migrate, original};
use crate::support::{Source, TestDaemon, eventually, send};

const HEAD: [&str; 2] = ["symbolic-ref", "HEAD"];

#[tokio::test(flavor = "multi_thread")]
async fn a_migration_whose_commit_has_an_unknown_outcome_is_completed() {
    for lost in [LostCommit::Applied, LostCommit::Dropped] {
        let engine = MemoryEngine::new();
        let faults = engine.faults();
        let store = Store::open(Arc::new(engine)).await.expect("a store");
        let farrier =
            TestDaemon::over_store_with(store, |config| config.migration.allowed_hosts = "loopback".into()).await;
        let directory = original(&farrier).await;
        // The fault is armed when the last file before the commit is fetched.
        let armed = faults.clone();
        let source = Source::answering(move |path| {
            if path.contains("/objects/") {
                armed.lose_answers(lost, 2);
            }
            let (status, body) = match std::fs::read(directory.join(path.trim_start_matches('/'))) {
                Ok(body) => ("200 OK", body),
                Err(_) => ("404 Not Found", Vec::new()),
            };
            let head = format!("HTTP/1.1 {status}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n", body.len());
            Some([head.into_bytes(), body].concat())
        })
        .await;
        let created = migrate(&farrier, &[], json!({ "clone_addr": source.url(""), "repo_name": "copy" })).await;
        faults.lose_answers(lost, 0);
        assert_eq!(created.status, 201, "{lost:?} {created:?}");
        let fetched = farrier.show("/api/v1/repos/admin/copy").await.json();
        assert_eq!(
            (&fetched["farrier_migration"]["state"], &fetched["empty"]),
            (&json!("done"), &json!(false)),
            "{lost:?}"
        );
        let branches = farrier.git(&fetched["id"], &["for-each-ref", "--format=%(refname)"]);
        assert!(branches.contains("refs/heads/trunk"), "{lost:?} {branches}");
        let path = "/api/farrier/v1/events?repository=admin/copy&kind=repository";
        let events = send(&farrier.unix(), Method::GET, path, &[("accept", "application/json")], "").await.json();
        assert_eq!(events["events"].as_array().map(Vec::len), Some(1), "{lost:?} {events}");
    }
}

/// Restores the row of a repository to its state before the migration was recorded.
async fn reset_migration(store: &Store, id: u64) {
    let write = store.write(async |tx: Tx| {
        let before = repositories::get(&tx, id).await?.expect("a row");
        let migration = Migration { state: MigrationState::Running.into(), actor_id: 1, ..Migration::default() };
        let row = Repository {
            migration: Some(migration),
            empty: true,
            size_bytes: 0,
            default_branch: "main".into(),
            ..before.clone()
        };
        repositories::put(&tx, Some(&before), &row);
        refs::forget_some(&tx, id, 1_000).await?;
        Ok::<_, StoreError>(())
    });
    write.await.expect("a commit");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_migrated_repository_without_its_row_is_completed_at_the_next_start() {
    let mut farrier = daemon().await;
    let source = Source::of(original(&farrier).await, false).await;
    let created = migrate(&farrier, &[], json!({ "clone_addr": source.url(""), "repo_name": "copy" })).await.json();
    let before = farrier.directories();
    let id = created["id"].as_u64().expect("a number");
    farrier.with_store(async |store: &Store| reset_migration(store, id).await).await;
    assert_eq!(farrier.directories(), before);
    let fetched = farrier.show("/api/v1/repos/admin/copy").await.json();
    for field in ["default_branch", "empty", "size", "original_url", "object_format_name"] {
        assert_eq!(fetched[field], created[field], "{field}");
    }
    assert_eq!(fetched["farrier_migration"]["state"], "done");
    let branch = farrier.show("/api/v1/repos/admin/copy/branches/trunk").await;
    assert_eq!(branch.status, 200, "{branch:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn files_are_kept_while_it_is_unknown_whether_a_repository_was_created() {
    for lost in [LostCommit::Applied, LostCommit::Dropped] {
        let engine = MemoryEngine::new();
        let faults = engine.faults();
        let farrier = TestDaemon::with_engine(engine).await;
        // The first repository reserves a block of ids, so the next ones need no transaction for ids.
        farrier.create_repository(json!({ "name": "first" })).await;
        faults.lose_answers(lost, 1);
        farrier.create_repository(json!({ "name": "second" })).await;
        let before = farrier.directories().len();
        faults.lose_answers(lost, 1_000);
        let unknown = farrier.admin(Method::POST, "/api/v1/user/repos", json!({ "name": "third" })).await;
        faults.lose_answers(lost, 0);
        // If the commit was applied, the retry finds it. If it was dropped, every retry is dropped as well.
        assert_eq!(unknown.status, if lost == LostCommit::Applied { 201 } else { 503 }, "{lost:?} {unknown:?}");
        assert_eq!(farrier.directories().len(), before + 1, "{lost:?}: its files are kept");
        let fetched = farrier.show("/api/v1/repos/admin/third").await;
        assert_eq!(fetched.status, if lost == LostCommit::Applied { 200 } else { 404 }, "{lost:?}");
        let again = farrier.admin(Method::POST, "/api/v1/user/repos", json!({ "name": "third" })).await;
        assert_eq!(again.status, if lost == LostCommit::Applied { 409 } else { 201 }, "{lost:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_refused_change_of_the_default_branch_leaves_head_alone() {
    let farrier = TestDaemon::start().await;
    let created = farrier.create_repository(json!({ "name": "tool", "auto_init": true })).await;
    farrier.create_repository(json!({ "name": "taken" })).await;
    farrier.branch("admin/tool", "other").await;
    let both = json!({ "default_branch": "other", "name": "taken" });
    let refused = farrier.admin(Method::PATCH, "/api/v1/repos/admin/tool", both).await;
    assert_eq!(refused.status, 422, "{refused:?}");
    assert_eq!(farrier.git(&created["id"], &HEAD).trim(), "refs/heads/main");
    assert_eq!(farrier.show("/api/v1/repos/admin/tool").await.json()["default_branch"], "main");
}

#[tokio::test(flavor = "multi_thread")]
async fn head_follows_the_row_when_the_outcome_of_the_commit_is_unknown() {
    for (lost, expected) in [(LostCommit::Applied, "other"), (LostCommit::Dropped, "main")] {
        let engine = MemoryEngine::new();
        let faults = engine.faults();
        let farrier = TestDaemon::with_engine(engine).await;
        let created = farrier.create_repository(json!({ "name": "tool", "auto_init": true })).await;
        farrier.branch("admin/tool", "other").await;
        let path = "/api/v1/repos/admin/tool";
        faults.lose_answers(lost, 1);
        let unknown = farrier.admin(Method::PATCH, path, json!({ "default_branch": "other" })).await;
        faults.lose_answers(lost, 0);
        assert_eq!(unknown.status, 503, "{lost:?} {unknown:?}");
        assert_eq!(farrier.show(path).await.json()["default_branch"], expected, "{lost:?}");
        let head = || async { farrier.git(&created["id"], &HEAD).trim() == format!("refs/heads/{expected}") };
        eventually("HEAD names the default branch", head).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn head_follows_the_row_after_a_kill_between_commit_and_write() {
    let mut farrier = TestDaemon::start().await;
    let created = farrier.create_repository(json!({ "name": "tool", "auto_init": true })).await;
    farrier.branch("admin/tool", "other").await;
    let id = created["id"].as_u64().expect("a number");
    farrier
        .with_store(async |store: &Store| {
            let changed = store.write(async |tx: Tx| {
                let before = repositories::get(&tx, id).await?.expect("a row");
                repositories::put(&tx, Some(&before), &Repository { default_branch: "other".into(), ..before.clone() });
                refs::mark_head(&tx, id);
                Ok::<_, StoreError>(())
            });
            changed.await.expect("a commit");
        })
        .await;
    eventually("HEAD names the default branch", || async {
        farrier.git(&created["id"], &HEAD).trim() == "refs/heads/other"
    })
    .await;
    let mark = async |store: &Store| {
        let snapshot = store.read().await.expect("a snapshot");
        refs::marked_heads(&snapshot, 10).await.expect("marks")
    };
    let mut marks = vec![id];
    while !marks.is_empty() {
        marks = farrier.with_store(mark).await;
    }
    assert_eq!(farrier.show("/api/v1/repos/admin/tool").await.json()["default_branch"], Value::from("other"));
}
