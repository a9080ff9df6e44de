//! Backups to a bucket, and their restore.

use farrierd::clock::Clock;

use super::*;
use crate::support::{
    bucket::{BucketFault, TestBucket},
    git::noise,
};

const URL: &str = "s3://builds/backups";

/// A daemon with files, a push and an artifact of several parts, which can reach the bucket.
async fn daemon(bucket: &TestBucket) -> (TestDaemon, String, String) {
    let farrier = TestDaemon::with(|config| {
        bucket.configure(&mut config.blobs);
        config.blobs.url = None;
    })
    .await;
    let token = farrier.token("admin", &["all"]).await;
    let (_, tip) = pushed(&farrier, "demo", &token).await;
    let job = farrier.begin("demo", None).await;
    farrier.upload(&job, "log", &noise(18 << 20)).await;
    (farrier, token, tip)
}

/// Backs up to the bucket and returns the state at the end.
async fn backup(farrier: &TestDaemon, more: Value) -> Value {
    let mut body = json!({ "destination": URL });
    body.as_object_mut().expect("an object").extend(more.as_object().expect("an object").clone());
    let started = farrier.admin(Method::POST, BACKUP, body).await;
    assert_eq!(started.status, 202, "{started:?}");
    ended(farrier).await
}

/// Writes a configuration file for commands, and returns its path.
fn configuration(farrier: &TestDaemon, bucket: &TestBucket) -> PathBuf {
    let file = farrier.scratch().join("bucket.toml");
    std::fs::write(&file, bucket.toml().replace("url = \"s3://builds/ci\"\n", "")).expect("a file");
    file
}

async fn command(data: &Path, file: &Path, args: &[&str]) -> (Option<i32>, String, String) {
    let args = [&["--config", text(file)][..], args].concat();
    farrierd(data, Path::new("/nonexistent/farrier.sock"), &args).await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_backup_in_a_bucket_restores_everything_and_later_ones_copy_what_is_new() {
    let Some(bucket) = TestBucket::start().await else { return };
    let (mut farrier, token, tip) = daemon(&bucket).await;
    let first = backup(&farrier, json!({})).await;
    assert_eq!((&first["state"], &first["warnings"]), (&json!("done"), &json!([])), "{first}");
    assert!(first["added_bytes"].as_u64() > Some(18 << 20), "{first}");
    let second = backup(&farrier, json!({ "keep": 1 })).await;
    assert!(second["added_bytes"].as_u64() < Some(18 << 20), "{second}");
    assert_eq!(second["removed"], json!([first["name"]]), "{second}");
    let names = bucket.names(false).await;
    let manifests: Vec<_> = names.iter().filter(|name| name.ends_with("/manifest.json")).collect();
    assert_eq!(manifests, [&format!("backups/backups/{}/manifest.json", second["name"].as_str().expect("text"))]);
    assert!(bucket.names(true).await.is_empty(), "no unfinished uploads");
    farrier.stop().await;
    let (data, file) = (farrier.data_dir(), configuration(&farrier, &bucket));
    // Without a daemon, the command makes the backup.
    let (code, out, err) = command(&data, &file, &["backup", URL]).await;
    assert_eq!(code, Some(0), "{out}{err}");
    assert!(!data.join("backup-scratch").exists());
    std::fs::remove_dir_all(&data).expect("the directory is lost");

    for args in [&["backup", URL, "--verify"][..], &["restore", URL, "--dry-run"]] {
        let (code, out, err) = command(&data, &file, args).await;
        assert_eq!(code, Some(0), "{args:?}: {out}{err}");
        assert!(!data.exists(), "{args:?} writes nothing");
    }
    let (code, out, err) = command(&data, &file, &["restore", URL]).await;
    assert_eq!(code, Some(0), "{out}{err}");
    succeeds(&data, &["check-data", "--git", "--content"]).await;
    farrier.start_in_process(Clock::system()).await;
    let client = Client::at(farrier.scratch());
    let listed = client.done(&["ls-remote", &farrier.remote("admin/demo", &token), "refs/heads/main"]);
    assert!(listed.starts_with(&tip), "{listed}");
    // The restored store is another one. The operator decides that the lost one does not come back.
    let refused = backup(&farrier, json!({})).await;
    assert!(refused["error"].as_str().is_some_and(|error| error.contains("another store")), "{refused}");
    assert_eq!(bucket.names(false).await.iter().filter(|name| name.starts_with("backups/owner/")).count(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_backup_that_lost_the_bucket_is_not_complete_and_the_next_one_continues() {
    let Some(bucket) = TestBucket::start().await else { return };
    let (mut farrier, ..) = daemon(&bucket).await;
    let fifo = pipe(&farrier.scratch().join("pipe"));
    farrier.configure(|config| config.file = Some(fifo.clone()));
    farrier.restart().await;
    let started = farrier.admin(Method::POST, BACKUP, json!({ "destination": URL })).await;
    assert_eq!(started.status, 202, "{started:?}");
    let reading = held(&fifo).await;
    bucket.set(BucketFault::Error);
    drop(reading);
    let failed = ended(&farrier).await;
    assert_eq!(failed["state"], "failed", "{failed}");
    assert!(!failed["error"].to_string().contains("pl4nted"), "{failed}");
    assert!(!farrier.data_dir().join("backup-scratch").exists());
    bucket.set(BucketFault::None);
    let file = configuration(&farrier, &bucket);
    let (code, _, err) = command(&farrier.data_dir(), &file, &["backup", URL, "--verify"]).await;
    assert_eq!(code, Some(1), "{err}");
    assert!(err.contains("no complete backup"), "{err}");
    std::fs::remove_file(&fifo).expect("a pipe");
    std::fs::write(&fifo, "").expect("a file");
    let next = backup(&farrier, json!({})).await;
    assert_eq!(next["state"], "done", "{next}");
    let (code, out, err) = command(&farrier.data_dir(), &file, &["backup", URL, "--verify"]).await;
    assert_eq!(code, Some(0), "{out}{err}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_daemon_that_is_killed_in_a_backup_to_a_bucket_leaves_no_complete_backup() {
    let Some(bucket) = TestBucket::start().await else { return };
    let toml = bucket.toml().replace("url = \"s3://builds/ci\"\n", "");
    let mut farrier = TestDaemon::program(&toml).await;
    let token = farrier.token("admin", &["all"]).await;
    pushed(&farrier, "demo", &token).await;
    // The program has read its configuration file. The backup reads it again.
    let config = process::config_file(farrier.scratch().parent().expect("a directory"));
    std::fs::remove_file(&config).expect("a file");
    pipe(&config);
    let started = farrier.admin(Method::POST, BACKUP, json!({ "destination": URL })).await;
    assert_eq!(started.status, 202, "{started:?}");
    let reading = held(&config).await;
    farrier.kill().await;
    drop(reading);
    std::fs::remove_file(&config).expect("a pipe");
    let (data, file) = (farrier.data_dir(), configuration(&farrier, &bucket));
    let (code, _, err) = command(&data, &file, &["backup", URL, "--verify"]).await;
    assert_eq!(code, Some(1), "{err}");
    assert!(err.contains("no complete backup"), "{err}");

    farrier.start_as_program(&toml).await;
    assert!(!data.join("backup-scratch").exists(), "the start removes the copies");
    // The same store goes on with the prefix that it has claimed.
    let next = backup(&farrier, json!({ "keep": 1 })).await;
    assert_eq!((&next["state"], &next["warnings"]), (&json!("done"), &json!([])), "{next}");
    let (code, out, err) = command(&data, &file, &["backup", URL, "--verify"]).await;
    assert_eq!(code, Some(0), "{out}{err}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_damaged_or_missing_content_in_a_bucket_is_found_and_nothing_is_restored() {
    let Some(bucket) = TestBucket::start().await else { return };
    let (farrier, ..) = daemon(&bucket).await;
    assert_eq!(backup(&farrier, json!({})).await["state"], "done");
    let names = bucket.names(false).await;
    let content = names.iter().find(|name| name.starts_with("backups/files/")).expect("a content");
    bucket.put(content, "damaged").await;
    let (file, new) = (configuration(&farrier, &bucket), farrier.scratch().join("new"));
    let (code, out, err) = command(&new, &file, &["backup", URL, "--verify"]).await;
    assert_eq!(code, Some(3), "{out}{err}");
    assert!(out.contains(content.strip_prefix("backups/").expect("the prefix")), "{out}");
    let (code, _, err) = command(&new, &file, &["restore", URL]).await;
    assert_eq!(code, Some(3), "{err}");
    assert!(err.contains("nothing was restored") && !new.exists(), "{err}");
    // Its size is wrong, so the next backup replaces it, or deletes it if only the first backup needed it.
    assert_eq!(backup(&farrier, json!({ "keep": 1 })).await["state"], "done");
    let (code, out, err) = command(&new, &file, &["backup", URL, "--verify"]).await;
    assert_eq!(code, Some(0), "{out}{err}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_prefix_with_other_objects_or_of_another_store_is_refused() {
    let Some(bucket) = TestBucket::start().await else { return };
    let (farrier, ..) = daemon(&bucket).await;
    bucket.put("other/file", "kept").await;
    for (url, status) in
        [("s3://b", 422), ("s3://Builds/x", 422), ("s3://builds/../x", 422), ("s3://builds/other", 202)]
    {
        let answer = farrier.admin(Method::POST, BACKUP, json!({ "destination": url })).await;
        assert_eq!(answer.status, status, "{url}: {answer:?}");
    }
    let refused = ended(&farrier).await;
    assert!(refused["error"].as_str().is_some_and(|error| error.contains("is not empty")), "{refused}");
    assert_eq!(bucket.names(false).await, ["other/file"], "nothing was written");
    assert_eq!(backup(&farrier, json!({})).await["state"], "done");
    let before = bucket.names(false).await;
    let (second, ..) = daemon(&bucket).await;
    let refused = backup(&second, json!({})).await;
    assert!(refused["error"].as_str().is_some_and(|error| error.contains("another store")), "{refused}");
    assert_eq!(bucket.names(false).await, before, "nothing was changed");
}
