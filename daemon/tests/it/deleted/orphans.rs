//! Data without a row in the store.

use std::{fs, path::Path};

use farrierd::check::{self, Options};
use http::Method;
use serde_json::{Value, json};

use super::{DAY_MS, ten_days};
use crate::support::{TestDaemon, eventually};

/// Creates a repository and an artifact with ids that were never assigned. A restart skips the rest of an id block.
fn create_orphans(data: &Path) {
    for file in ["repositories/30.git/HEAD", "artifacts/30/1/30"] {
        let path = data.join(file);
        fs::create_dir_all(path.parent().expect("a parent")).expect("a directory");
        fs::write(path, "orphan").expect("a write");
    }
}

/// Path and kind of each item that is set aside.
async fn set_aside(farrier: &TestDaemon) -> Vec<(String, String)> {
    let answer = farrier.look("/api/farrier/v1/set-aside").await;
    assert_eq!(answer.status, 200, "{answer:?}");
    let text = |value: &Value| value.as_str().expect("text").to_owned();
    let items = answer.json()["items"].as_array().expect("a list").clone();
    items.iter().map(|item| (text(&item["path"]), text(&item["kind"]))).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn data_without_a_row_is_set_aside_with_a_warning_and_kept_over_restarts() {
    let mut farrier = TestDaemon::program("").await;
    farrier.repository("demo").await;
    let job = farrier.begin("demo", None).await;
    farrier.upload(&job, "log", b"some bytes").await;
    farrier.restart().await;
    create_orphans(&farrier.data_dir());
    farrier.kill_and_start().await;
    eventually("both are set aside", async || farrier.figure("farrier_set_aside_items").await == 2).await;
    assert_eq!(farrier.figure("farrier_set_aside_bytes").await, 12);
    let log = farrier.log();
    for message in ["set aside the directory of a repository", "set aside files of an artifact"] {
        let line = log.lines().find(|line| line.contains(message)).unwrap_or_else(|| panic!("no {message} in {log}"));
        assert!(line.contains("WARN") && line.contains("set-aside/"), "{line}");
    }
    for _ in 0..2 {
        let items = set_aside(&farrier).await;
        let kinds: Vec<&str> = items.iter().map(|(_, kind)| kind.as_str()).collect();
        assert_eq!(kinds, ["artifact", "repository"], "{items:?}");
        for (path, _) in &items {
            assert!(farrier.data_dir().join("set-aside").join(path).exists(), "{path}");
        }
        let status = farrier.look("/api/farrier/v1/status").await.json();
        assert_eq!(status["kept"]["set_aside"], json!({ "count": 2, "size_bytes": 12 }));
        farrier.restart().await;
        eventually("the sweep has run", async || farrier.figure("farrier_set_aside_items").await == 2).await;
    }
    assert_eq!(farrier.look("/api/v1/repos/admin/demo").await.status, 200);
    let artifacts = farrier.look("/api/v1/repos/admin/demo/actions/artifacts").await.json();
    assert_eq!(artifacts["total_count"], 1, "data with a row is kept");
}

#[tokio::test]
async fn set_aside_data_is_removed_after_the_retention() {
    let mut farrier = ten_days().await;
    farrier.restart().await;
    farrier.halted(async |config| create_orphans(&config.data_dir)).await;
    eventually("both are set aside", async || farrier.figure("farrier_set_aside_items").await == 2).await;
    fs::write(farrier.data_dir().join("set-aside/notes.txt"), "mine").expect("a write");
    // NOW is 16:00 UTC. The day on which the data was set aside does not count.
    farrier.clock.advance_ms(10 * DAY_MS);
    let report = farrier.halted(async |config| check::run(config, Options::default()).await.expect("a report")).await;
    assert_eq!(report.set_aside.len(), 3, "{report}");
    assert!(report.to_string().contains("since 2025-11-24, removed on 2025-12-05"), "{report}");
    assert_eq!(set_aside(&farrier).await.len(), 3);
    farrier.clock.advance_ms(DAY_MS);
    let left = [("notes.txt".to_owned(), "unknown".to_owned())];
    eventually("both items are removed", async || set_aside(&farrier).await == left).await;
}

#[tokio::test]
async fn only_the_repository_without_a_row_is_set_aside() {
    use farrierd::store::{StoreError, Tx, keys, repositories};
    let mut farrier = ten_days().await;
    farrier.repository("lost").await;
    farrier
        .with_store(async |store| {
            let write = store.write(async |tx: Tx| {
                let row = repositories::by_path(&tx, "admin", "lost").await?.expect("a row");
                repositories::put(&tx, Some(&row), &farrier_proto::store::Repository { deleted: true, ..row.clone() });
                tx.delete(keys::repository_garbage(row.id));
                tx.delete(keys::repository(row.id));
                Ok::<_, StoreError>(())
            });
            write.await.expect("a write");
        })
        .await;
    for name in ["lost", "new"] {
        farrier.repository(name).await;
    }
    eventually("the repository is set aside", async || farrier.figure("farrier_set_aside_items").await == 1).await;
    let items = set_aside(&farrier).await;
    assert_eq!(items, [("2025-11-24/repositories/1.git".to_owned(), "repository".to_owned())]);
    for name in ["lost", "new"] {
        let id = farrier.look(&format!("/api/v1/repos/admin/{name}")).await.json()["id"].clone();
        assert!(farrier.has_directory(&id), "{name}");
    }
    let open = farrier.admin(Method::GET, "/api/farrier/v1/set-aside", Value::Null).await.json();
    assert_eq!((&open["days"], &open["items"][0]["removed_at"]), (&json!(10), &json!("2025-12-05T00:00:00Z")));
}

#[tokio::test]
async fn with_zero_days_data_without_a_row_is_removed_at_the_next_sweep() {
    let mut farrier = TestDaemon::with(|config| config.storage.set_aside_days = 0).await;
    farrier.restart().await;
    farrier.halted(async |config| create_orphans(&config.data_dir)).await;
    let is_removed = |path: &str| !farrier.data_dir().join(path).exists();
    eventually("both are removed", async || is_removed("repositories/30.git") && is_removed("artifacts/30")).await;
    eventually("no item is set aside", async || set_aside(&farrier).await.is_empty()).await;
}
