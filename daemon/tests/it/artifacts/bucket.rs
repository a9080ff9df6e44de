//! Artifacts whose bytes are in a bucket of an S3 server.

use farrierd::clock::Clock;
use http::Method;
use serde_json::{Value, json};

use super::{block, commit, finalize, list, noise, program::interrupt_and_resume, put, read};
use crate::{
    caches::{content, save},
    support::{
        Job, TestDaemon,
        bucket::{BucketFault, TestBucket},
        eventually, send,
    },
};

const NOW: i64 = 1_764_000_000_000;
/// Larger than one part of a multipart upload.
const LARGE: usize = 9 << 20;

async fn with_job(farrier: &TestDaemon) -> Job {
    farrier.repository("r").await;
    farrier.begin("r", None).await
}

#[tokio::test(flavor = "multi_thread")]
async fn artifacts_in_a_bucket_survive_a_kill_and_an_upload_continues() {
    let Some(bucket) = TestBucket::start().await else { return };
    let mut farrier = TestDaemon::program(&bucket.toml()).await;
    let job = with_job(&farrier).await;
    farrier.upload(&job, "small", b"few bytes").await;
    farrier.upload(&job, "large", &noise(LARGE, 1)).await;
    assert_eq!(bucket.blocks().await.len(), 2);
    farrier.kill_and_start().await;
    assert_eq!(read(&farrier, &job, "small").await, "few bytes");
    assert!(read(&farrier, &job, "large").await == noise(LARGE, 1));
    assert!(read(&farrier, &job, "large").await == noise(LARGE, 1), "from the local copy");
    let files = super::tree(&farrier.data_dir().join("artifacts"));
    assert!(files.iter().all(|(name, _)| name == "farrier-data.json"), "no block is in the data directory");

    let job = farrier.begin("r", None).await;
    interrupt_and_resume(&mut farrier, &job, true).await;
    let log = farrier.log();
    assert!(!log.contains("PLANTED") && !log.contains("pl4nted"), "{log}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_bucket_that_fails_refuses_blocks_and_loses_none() {
    let Some(bucket) = TestBucket::start().await else { return };
    let farrier = TestDaemon::with(|config| bucket.configure(&mut config.blobs)).await;
    let job = with_job(&farrier).await;
    farrier.upload(&job, "before", b"acknowledged").await;
    let address = farrier.create(&job, "x").await;
    block(&farrier, &address, "a", "acknowledged ").await;
    for fault in [BucketFault::Error, BucketFault::Cut, BucketFault::LostAnswer] {
        bucket.set(fault);
        let answer = put(&farrier, &address, "&comp=block&blockid=b", "and more").await;
        assert_eq!(answer.status, 503, "{fault:?}: {answer:?}");
    }
    bucket.set(BucketFault::LostAnswer);
    let answer = put(&farrier, &address, "&comp=block&blockid=b", noise(LARGE, 2)).await;
    assert_eq!(answer.status, 503, "{answer:?}");
    // The daemon is ready nevertheless: fetches and most of the API need no bucket.
    let health = async || send(&farrier.tcp(), Method::GET, "/api/healthz", &[], "").await;
    let warned = health().await;
    assert_eq!((warned.status, &warned.json()["checks"]["bucket"][0]["status"]), (200, &json!("warn")), "{warned:?}");
    bucket.set(BucketFault::None);
    eventually("the bucket responds again", async || health().await.json()["status"] == "pass").await;
    let unknown = commit(&farrier, &address, &["a", "b"]).await;
    assert_eq!(unknown.header("x-ms-error-code"), "InvalidBlockList", "a refused block does not exist");
    block(&farrier, &address, "b", "and more").await;
    assert_eq!(commit(&farrier, &address, &["a", "b"]).await.status, 201);
    assert_eq!(finalize(&farrier, &job, "x", 21).await.status, 200);
    assert_eq!(read(&farrier, &job, "x").await, "acknowledged and more");
    assert_eq!(read(&farrier, &job, "before").await, "acknowledged");
    // The objects of refused blocks are not in a block list.
    eventually("only the blocks of both artifacts are left", async || bucket.blocks().await.len() == 3).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_blocks_of_a_deleted_artifact_are_removed_from_the_bucket() {
    let Some(bucket) = TestBucket::start().await else { return };
    let farrier = TestDaemon::with_clock(Clock::manual(NOW), |config| {
        config.storage.set_aside_days = 0;
        bucket.configure(&mut config.blobs);
    })
    .await;
    let job = with_job(&farrier).await;
    let id = farrier.upload(&job, "gone", &noise(LARGE, 3)).await;
    farrier.upload(&job, "stays", b"content").await;
    let path = format!("/api/v1/repos/admin/r/actions/artifacts/{id}");
    assert_eq!(farrier.admin(Method::DELETE, &path, Value::Null).await.status, 204);
    eventually("its block is removed", async || bucket.blocks().await.len() == 1).await;
    assert_eq!(list(&farrier, &job).await.len(), 1);
    assert_eq!(read(&farrier, &job, "stays").await, "content");
    assert_eq!(bucket.names(true).await, Vec::<String>::new(), "no multipart upload is left");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_daemon_refuses_the_bucket_of_another_store() {
    let Some(bucket) = TestBucket::start().await else { return };
    let mut first = TestDaemon::program(&bucket.toml()).await;
    let job = with_job(&first).await;
    first.upload(&job, "x", b"content").await;
    let mut second = TestDaemon::program("").await;
    second.kill().await;
    let refused = second.refused_start(&bucket.toml()).await;
    let text = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(!refused.status.success() && text.contains("s3://builds/ci") && text.contains("another store"), "{text}");
    first.kill().await;
    let check = first.command_with(&bucket.toml(), &["check-data", "--content"]).await;
    assert!(check.status.success(), "{check:?}");
    let adopted = second.command_with(&bucket.toml(), &["check-data", "--adopt"]).await;
    assert!(adopted.status.success(), "{adopted:?}");
    let refused = first.refused_start(&bucket.toml()).await;
    assert!(!refused.status.success(), "the bucket belongs to the second store now");
    let names = bucket.names(false).await;
    assert!(names.iter().any(|name| name.starts_with("ci/set-aside/")), "the block was kept: {names:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_daemon_without_its_bucket_refuses_to_start() {
    let Some(bucket) = TestBucket::start().await else { return };
    let mut farrier = TestDaemon::program(&bucket.toml()).await;
    let job = with_job(&farrier).await;
    farrier.upload(&job, "x", b"content").await;
    farrier.kill().await;
    let refused = farrier.refused_start("").await;
    let text = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(refused.status.code() == Some(4) && text.contains("blobs.url is not set"), "{text}");
    let adopted = farrier.command_with("", &["check-data", "--adopt"]).await;
    assert!(adopted.status.success(), "{adopted:?}");
    // The blocks that the daemon writes to its directory from now on would be missing in the bucket.
    let refused = farrier.refused_start(&bucket.toml()).await;
    let text = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(refused.status.code() == Some(4) && text.contains("another store"), "{text}");
    assert_eq!(bucket.blocks().await.len(), 1, "nothing was removed");
}

#[tokio::test(flavor = "multi_thread")]
async fn cache_entries_in_a_bucket_survive_a_restart() {
    let Some(bucket) = TestBucket::start().await else { return };
    let mut farrier = TestDaemon::with(|config| bucket.configure(&mut config.blobs)).await;
    let job = with_job(&farrier).await;
    save(&farrier, &job, "deps", "cached content").await;
    assert_eq!(bucket.blocks().await.len(), 1);
    farrier.restart().await;
    assert_eq!(content(&farrier, &job, "deps").await.as_deref(), Some("cached content"));
    let copies = std::fs::read_dir(farrier.data_dir().join("blob-cache")).expect("a directory").count();
    assert_eq!(copies, 1, "it was read completely");
    farrier.restart().await;
    let copies = std::fs::read_dir(farrier.data_dir().join("blob-cache")).expect("a directory").count();
    assert_eq!(copies, 0, "copies of an earlier daemon are not used");
    assert_eq!(content(&farrier, &job, "deps").await.as_deref(), Some("cached content"));
}

#[tokio::test(flavor = "multi_thread")]
async fn old_unfinished_uploads_below_the_prefix_are_removed() {
    let Some(bucket) = TestBucket::start().await else { return };
    let farrier = TestDaemon::with_clock(Clock::manual(NOW), |config| bucket.configure(&mut config.blobs)).await;
    // The server reports a time in 2010 for all of them.
    let names = ["ci/a/7/2/9", "ci/a/7/2/other", "elsewhere/a/7/2/9"];
    for name in names {
        bucket.begin_upload(name).await;
    }
    let is_removed = async || {
        farrier.clock.advance_ms(600_000);
        bucket.names(true).await.len() == 2
    };
    eventually("the upload is removed", is_removed).await;
    let mut left = bucket.names(true).await;
    left.sort_unstable();
    assert_eq!(left, names[1..], "the others are not the daemon's");
}

#[tokio::test(flavor = "multi_thread")]
async fn blocks_are_copied_to_a_bucket_while_the_daemon_runs_and_back() {
    let Some(bucket) = TestBucket::start().await else { return };
    let mut farrier = TestDaemon::program("").await;
    let job = with_job(&farrier).await;
    farrier.upload(&job, "first", b"before the copy").await;
    let copy = async |farrier: &TestDaemon, to: &str| {
        let copied = farrier.command_with(&bucket.toml(), &["blobs", "copy", "--to", to]).await;
        let text = String::from_utf8_lossy(&copied.stdout).into_owned();
        assert!(copied.status.success(), "{text}{}", String::from_utf8_lossy(&copied.stderr));
        text
    };
    let text = copy(&farrier, "bucket").await;
    assert!(text.starts_with("1 blocks copied, 15 bytes; 0 were there") && text.contains("stop it"), "{text}");
    farrier.upload(&job, "second", &noise(LARGE, 1)).await;
    farrier.stop().await;
    let text = copy(&farrier, "bucket").await;
    assert!(text.starts_with("1 blocks copied") && text.contains("; 1 were there") && text.contains("Start"), "{text}");
    farrier.start_as_program(&bucket.toml()).await;
    let job = farrier.begin("r", Some(job.run_id)).await;
    assert_eq!(read(&farrier, &job, "first").await, "before the copy");
    farrier.upload(&job, "third", b"in the bucket").await;
    farrier.stop().await;
    let checked = farrier.command_with(&bucket.toml(), &["check-data", "--content"]).await;
    assert!(checked.status.success(), "{checked:?}");

    let refused = farrier.command_with(&bucket.toml(), &["blobs", "copy", "--to", "bucket"]).await;
    let error = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(!refused.status.success() && error.contains("has used a bucket"), "{error}");
    assert!(copy(&farrier, "directory").await.contains("Remove blobs.url"));
    let adopted = farrier.command_with("", &["check-data", "--adopt"]).await;
    assert!(adopted.status.success(), "{adopted:?}");
    farrier.start_as_program("").await;
    let job = farrier.begin("r", Some(job.run_id)).await;
    assert_eq!(read(&farrier, &job, "third").await, "in the bucket");
    assert!(read(&farrier, &job, "second").await == noise(LARGE, 1));
}

#[tokio::test(flavor = "multi_thread")]
async fn blocks_are_not_copied_to_the_bucket_of_another_store() {
    let Some(bucket) = TestBucket::start().await else { return };
    let other = TestDaemon::with(|config| bucket.configure(&mut config.blobs)).await;
    let job = with_job(&other).await;
    other.upload(&job, "x", b"of another store").await;
    let before = bucket.names(false).await;
    let mut farrier = TestDaemon::program("").await;
    let job = with_job(&farrier).await;
    farrier.upload(&job, "x", b"ours").await;
    farrier.stop().await;
    for to in ["bucket", "directory"] {
        let refused = farrier.command_with(&bucket.toml(), &["blobs", "copy", "--to", to]).await;
        let error = String::from_utf8_lossy(&refused.stderr).into_owned();
        assert!(!refused.status.success() && error.contains("belongs to another store"), "{error}");
    }
    assert_eq!(bucket.names(false).await, before);
}
