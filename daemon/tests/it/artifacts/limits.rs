//! Limits of artifact uploads, and many uploads at the same time.

use futures_util::future::join_all;
use http::Method;
use serde_json::json;

use super::{assert_twirp_error, assert_xml_error, block, commit, finalize, list, noise, put, read};
use crate::support::{PartialRequest, TestDaemon, eventually, process, send};

#[tokio::test]
async fn content_over_the_size_limit_is_refused_with_413() {
    let farrier = TestDaemon::with(|config| config.artifacts.max_bytes = 10).await;
    farrier.repository("r").await;
    let job = farrier.begin("r", None).await;
    let address = farrier.create(&job, "x").await;
    let answer = put(&farrier, &address, "&comp=block&blockid=a", noise(11, 1)).await;
    assert_xml_error(&answer, 413, "RequestBodyTooLarge");
    assert!(answer.text().contains("the content is larger than the limit of 10 bytes"), "{}", answer.text());
    let refused = send(&farrier.tcp(), Method::PUT, &address, &[("x-ms-blob-type", "BlockBlob")], noise(11, 1)).await;
    assert_xml_error(&refused, 413, "RequestBodyTooLarge");
    block(&farrier, &address, "a", noise(6, 1)).await;
    block(&farrier, &address, "b", noise(6, 1)).await;
    assert_xml_error(&commit(&farrier, &address, &["a", "b"]).await, 413, "RequestBodyTooLarge");
    assert_eq!(commit(&farrier, &address, &["a"]).await.status, 201);
    assert_eq!(finalize(&farrier, &job, "x", 6).await.status, 200);
}

#[tokio::test]
async fn an_exceeded_quota_is_reported_with_the_message_that_clients_know() {
    let farrier = TestDaemon::with(|config| config.artifacts.quota_bytes = 10).await;
    farrier.repository("r").await;
    let job = farrier.begin("r", None).await;
    farrier.upload(&job, "half", b"12345").await;
    let address = farrier.create(&job, "more").await;
    block(&farrier, &address, "a", "123456").await;
    assert_eq!(commit(&farrier, &address, &["a"]).await.status, 201);
    let msg = assert_twirp_error(&finalize(&farrier, &job, "more", 6).await, 403, "permission_denied");
    assert!(msg.starts_with("insufficient usage"), "{msg}");
    farrier.upload(&job, "rest", b"12345").await;
    let full = farrier.call(&job, "CreateArtifact", json!({ "name": "one too many" })).await;
    let msg = assert_twirp_error(&full, 403, "permission_denied");
    assert!(msg.starts_with("insufficient usage"), "{msg}");
    assert_eq!(farrier.call(&job, "DeleteArtifact", json!({ "name": "half" })).await.status, 200);
    farrier.upload(&job, "again", b"12345").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn uploads_that_are_finalized_at_the_same_time_do_not_exceed_the_quota_together() {
    let farrier = TestDaemon::with(|config| config.artifacts.quota_bytes = 10).await;
    farrier.repository("r").await;
    let job = farrier.begin("r", None).await;
    let names = ["a", "b", "c", "d"];
    for name in names {
        let address = farrier.create(&job, name).await;
        block(&farrier, &address, "a", "123456").await;
        assert_eq!(commit(&farrier, &address, &["a"]).await.status, 201);
    }
    for round in 0..2 {
        let finalized = join_all(names.iter().map(|name| finalize(&farrier, &job, name, 6))).await;
        let stored = finalized.iter().filter(|answer| answer.status == 200).count();
        assert_eq!(stored, 1, "{round}: {finalized:?}");
    }
}

#[tokio::test]
async fn uploads_are_refused_when_only_reserved_disk_space_is_left() {
    let farrier = TestDaemon::with(|config| config.artifacts.reserve_bytes = u64::MAX).await;
    farrier.repository("r").await;
    let job = farrier.begin("r", None).await;
    let address = farrier.create(&job, "x").await;
    let answer = put(&farrier, &address, "&comp=block&blockid=a", "x").await;
    assert_xml_error(&answer, 507, "InsufficientStorage");
    assert_xml_error(&commit(&farrier, &address, &["a"]).await, 400, "InvalidBlockList");
    assert!(list(&farrier, &job).await.is_empty());
    // The health check reports the problem.
    let health = send(&farrier.tcp(), Method::GET, "/api/healthz", &[], "").await;
    assert_eq!(health.json()["problems"], json!(["the disk is almost full: uploads are refused"]));
}

/// A small file system. Dropping it unmounts it.
pub struct SmallDisk(std::path::PathBuf);

impl SmallDisk {
    pub fn mount(path: &std::path::Path) -> Option<Self> {
        Self::mount_with(path, 4)
    }

    /// Like [`SmallDisk::mount`], with room for `mebibytes`.
    pub fn mount_with(path: &std::path::Path, mebibytes: usize) -> Option<Self> {
        std::fs::create_dir_all(path).expect("a directory");
        let mut mount = process::command("mount");
        mount.args(["-t", "tmpfs", "-o", &format!("size={mebibytes}m"), "tmpfs"]).arg(path);
        let mounted = mount.as_std_mut().output().is_ok_and(|output| output.status.success());
        mounted.then(|| Self(path.to_owned()))
    }

    pub fn path(&self) -> &std::path::Path {
        &self.0
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let _ = process::command("umount").arg("--lazy").arg(&self.0).as_std_mut().status();
    }
}

#[tokio::test]
async fn a_disk_that_fills_up_during_an_upload_loses_no_acknowledged_data() {
    let mut disk = None;
    let farrier = TestDaemon::with(|config| disk = SmallDisk::mount(&config.data_dir.join("artifacts"))).await;
    let Some(disk) = disk else {
        println!("skipped: a small file system cannot be mounted here");
        return;
    };
    farrier.repository("r").await;
    let job = farrier.begin("r", None).await;
    farrier.upload(&job, "before", b"acknowledged").await;
    let address = farrier.create(&job, "x").await;
    let content = noise(3 << 20, 2);
    let path = format!("{address}&comp=block&blockid=a");
    let mut partial = PartialRequest::put(&farrier.tcp(), &path, content.len(), &content[..2 << 20]).await;
    eventually("the block is being written", async || super::bytes_on_disk(&farrier) > 1 << 20).await;
    // Another program uses the rest of the disk.
    let filler = disk.0.join("filler");
    let _ = std::fs::write(&filler, vec![b'x'; 4 << 20]);
    partial.write(&content[2 << 20..]).await;
    let (status, text) = partial.answer().await;
    assert!(status == 507 && text.contains("<Code>InsufficientStorage</Code>"), "{text}");
    std::fs::remove_file(&filler).expect("the filler");
    assert_eq!(send(&farrier.tcp(), Method::GET, "/api/healthz", &[], "").await.status, 200);
    assert_eq!(read(&farrier, &job, "before").await, "acknowledged");
    // Creating the upload again drops the old one and frees its space.
    let address = farrier.create(&job, "x").await;
    eventually("the new upload fits", async || {
        put(&farrier, &address, "&comp=block&blockid=a", content.clone()).await.status == 201
    })
    .await;
    drop(farrier);
}

#[tokio::test]
async fn concurrent_uploads_leave_the_reserve_free() {
    let mut disk = None;
    let farrier = TestDaemon::with(|config| {
        disk = SmallDisk::mount(&config.data_dir.join("artifacts"));
        config.artifacts.reserve_bytes = 1 << 20;
    })
    .await;
    if disk.is_none() {
        println!("skipped: a small file system cannot be mounted here");
        return;
    }
    farrier.repository("r").await;
    let job = farrier.begin("r", None).await;
    let address = farrier.create(&job, "x").await;
    // The disk has 4 MiB, of which 1 MiB must stay free: two blocks of 1.2 MiB fit.
    let content = noise(1_200 << 10, 2);
    let mut running = Vec::new();
    let mut refused = 0;
    for id in ["a", "b", "c", "d", "e", "f"] {
        let path = format!("{address}&comp=block&blockid={id}");
        let mut partial = PartialRequest::put(&farrier.tcp(), &path, content.len(), b"").await;
        let receiving = running.len();
        partial.write(&content[..1]).await;
        eventually("the block is received or refused", async || uploads(&farrier).await > receiving || receiving == 2)
            .await;
        if receiving < 2 {
            running.push(partial);
        } else {
            partial.write(&content[1..]).await;
            assert_eq!(partial.answer().await.0, 507);
            refused += 1;
        }
    }
    assert_eq!((running.len(), refused), (2, 4));
    for mut partial in running {
        partial.write(&content[1..]).await;
        assert_eq!(partial.answer().await.0, 201);
    }
    drop(farrier);
}

/// The number of blocks that the daemon is receiving.
async fn uploads(farrier: &TestDaemon) -> usize {
    let status = send(&farrier.unix(), Method::GET, "/api/farrier/v1/status", &[], "").await.json();
    let limits = status["limits"].as_array().expect("a list").clone();
    let upload = limits.iter().find(|limit| limit["kind"] == "upload").expect("a limit");
    usize::try_from(upload["running"].as_u64().expect("a number")).expect("a small number")
}

#[tokio::test]
async fn too_many_concurrent_uploads_are_refused_with_503() {
    let farrier = TestDaemon::with(|config| config.artifacts.max_uploads = 1).await;
    farrier.repository("r").await;
    let job = farrier.begin("r", None).await;
    let address = farrier.create(&job, "x").await;
    let mut slow = PartialRequest::put(&farrier.tcp(), &format!("{address}&comp=block&blockid=a"), 4, b"sl").await;
    let other = async || put(&farrier, &address, "&comp=block&blockid=b", "x").await;
    eventually("the slow upload uses the only slot", async || other().await.status == 503).await;
    assert_xml_error(&other().await, 503, "ServerBusy");
    assert_eq!(commit(&farrier, &address, &[]).await.status, 201, "a block list does not count as an upload");
    slow.write("ow").await;
    assert_eq!(slow.answer().await.0, 201);
    assert_eq!(other().await.status, 201);
}

#[tokio::test]
async fn fifty_concurrent_uploads_succeed_while_lists_are_served() {
    let farrier = TestDaemon::start().await;
    farrier.repository("r").await;
    let job = farrier.begin("r", None).await;
    let (farrier, job) = (&farrier, &job);
    let content = |number: usize| noise(200_000, number as u64 + 10);
    let started = join_all((0..50).map(async |number| {
        let address = farrier.create(job, &format!("x{number}")).await;
        let path = format!("{address}&comp=block&blockid=a");
        let partial = PartialRequest::put(&farrier.tcp(), &path, 200_000, &content(number)[..100_000]).await;
        (number, address, partial)
    }))
    .await;
    // All 50 uploads are now half done.
    assert!(list(farrier, job).await.is_empty());
    let numbers = join_all(started.into_iter().map(async |(number, address, mut partial)| {
        partial.write(&content(number)[100_000..]).await;
        assert_eq!(partial.answer().await.0, 201);
        assert_eq!(commit(farrier, &address, &["a"]).await.status, 201);
        assert_eq!(finalize(farrier, job, &format!("x{number}"), 200_000).await.status, 200);
        number
    }))
    .await;
    assert_eq!(list(farrier, job).await.len(), 50);
    for number in numbers {
        assert!(read(farrier, job, &format!("x{number}")).await == content(number), "{number}");
    }
}
