//! What happens to the data while a backup runs.

use super::*;
use crate::support::git::noise;

/// The number of files with bytes of artifacts.
fn stored(farrier: &TestDaemon) -> usize {
    let root = farrier.data_dir().join("artifacts");
    files(&root).iter().filter(|path| path.parent() != Some(&root)).count()
}

#[tokio::test(flavor = "multi_thread")]
async fn data_that_is_deleted_while_a_backup_runs_is_in_the_backup_and_removed_afterwards() {
    let mut farrier = TestDaemon::with(|config| config.storage.set_aside_days = 0).await;
    let fifo = pipe(&farrier.scratch().join("pipe"));
    farrier.configure(|config| config.file = Some(fifo.clone()));
    farrier.restart().await;
    let token = farrier.token("admin", &["all"]).await;
    pushed(&farrier, "kept", &token).await;
    pushed(&farrier, "gone", &token).await;
    let job = farrier.begin("kept", None).await;
    let artifact = farrier.upload(&job, "log", &noise(10_000)).await;
    farrier.end(&job).await;
    assert_eq!(stored(&farrier), 1);
    let repository = |name: &str| format!("/api/v1/repos/admin/{name}");
    let gone = farrier.admin(Method::GET, &repository("gone"), Value::Null).await.json()["id"].clone();
    let directory = farrier.data_dir().join(format!("repositories/{gone}.git"));

    let destination = farrier.scratch().join("backups");
    start(&farrier, &destination).await;
    let reading = held(&fifo).await;
    let second = farrier.admin(Method::POST, BACKUP, json!({ "destination": destination })).await;
    assert_eq!(second.status, 409, "{second:?}");
    let path = format!("{}/actions/artifacts/{artifact}", repository("kept"));
    assert_eq!(farrier.admin(Method::DELETE, &path, Value::Null).await.status, 204);
    assert_eq!(farrier.admin(Method::DELETE, &repository("gone"), Value::Null).await.status, 204);
    // The sweep works through all that is due before it waits again.
    farrier.admin(Method::POST, "/api/v1/admin/cron/sweep", Value::Null).await;
    drop(reading);
    let backup = ended(&farrier).await;
    assert_eq!((&backup["state"], &backup["warnings"]), (&json!("done"), &json!([])), "{backup}");
    let metrics = farrier.admin(Method::GET, "/metrics", Value::Null).await.text();
    let last = metrics.lines().find_map(|line| line.strip_prefix("farrier_backup_last_success_seconds "));
    assert!(last.is_some_and(|seconds| seconds.parse::<u64>().is_ok_and(|seconds| seconds > 0)), "{last:?}");
    eventually("the bytes are removed", async || stored(&farrier) == 0 && !directory.exists()).await;

    let restored = farrier.scratch().join("restored");
    succeeds(&restored, &["restore", text(&destination)]).await;
    assert!(restored.join(format!("repositories/{gone}.git/HEAD")).is_file());
    let root = restored.join("artifacts");
    assert_eq!(files(&root).iter().filter(|path| path.parent() != Some(&root)).count(), 1);
    succeeds(&restored, &["check-data", "--git", "--content"]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_daemon_that_is_killed_in_a_backup_loses_nothing_and_the_next_backup_continues() {
    let mut farrier = TestDaemon::program("").await;
    let token = farrier.token("admin", &["all"]).await;
    let (_, tip) = pushed(&farrier, "demo", &token).await;
    let job = farrier.begin("demo", None).await;
    farrier.upload(&job, "log", &noise(10_000)).await;
    // The program has read its configuration file. The backup reads it again.
    let file = process::config_file(farrier.scratch().parent().expect("a directory"));
    std::fs::remove_file(&file).expect("a file");
    pipe(&file);
    let destination = farrier.scratch().join("backups");
    start(&farrier, &destination).await;
    let reading = held(&file).await;
    farrier.kill().await;
    drop(reading);
    std::fs::remove_file(&file).expect("a pipe");
    let (code, _, err) = farrierd(&farrier.data_dir(), &farrier.socket(), &["restore", text(&destination)]).await;
    assert_eq!(code, Some(1), "{err}");
    assert!(err.contains("has no complete backup"), "{err}");

    farrier.start_as_program("").await;
    assert_eq!(state(&farrier).await["state"], "none");
    start(&farrier, &destination).await;
    let backup = ended(&farrier).await;
    assert_eq!(backup["state"], "done", "{backup}");
    assert_ne!(backup["last_success_at"], "");
    let names: Vec<_> = std::fs::read_dir(destination.join("backups")).expect("a directory").collect();
    assert_eq!(names.len(), 1, "what the killed backup left is removed: {names:?}");
    // No hold is left: the sweep removes bytes again.
    let client = Client::at(farrier.scratch());
    let listed = client.done(&["ls-remote", &farrier.remote("admin/demo", &token), "refs/heads/main"]);
    assert!(listed.starts_with(&tip), "{listed}");
    farrier.stop().await;
    let checked = farrier.check_data(&["--git", "--content"]).await;
    assert!(checked.status.success(), "{checked:?}");
    succeeds(&farrier.data_dir(), &["backup", text(&destination), "--verify"]).await;
}
