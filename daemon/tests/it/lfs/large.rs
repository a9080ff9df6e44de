//! Large objects, and disks without room for them.

use http::Method;

use super::{Lfs, oid, stored};
use crate::{
    artifacts::limits::SmallDisk,
    support::{PartialRequest, TestDaemon, eventually, git::noise, send},
};

#[tokio::test(flavor = "multi_thread")]
async fn an_object_of_a_hundred_megabytes_is_uploaded_resumed_and_downloaded() {
    const BYTES: usize = 100 << 20;
    let farrier = TestDaemon::start().await;
    let lfs = Lfs::new(&farrier, "demo").await;
    let bytes = noise(BYTES);
    let id = lfs.upload(&bytes).await;
    assert!(lfs.download(&id, BYTES).await.body == bytes, "the same bytes");
    let address = lfs.address("download", &id, BYTES).await;
    let range = format!("bytes={}-", BYTES - 1_000_000);
    let rest = send(&farrier.tcp(), Method::GET, &address, &[("range", &range)], "").await;
    assert!(rest.status == 206 && rest.body == bytes[BYTES - 1_000_000..], "{}", rest.status);
    assert_eq!(stored(&farrier), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn without_free_space_an_upload_is_refused_and_nothing_is_kept() {
    let farrier = TestDaemon::with(|config| config.artifacts.reserve_bytes = u64::MAX).await;
    let lfs = Lfs::new(&farrier, "demo").await;
    let address = lfs.address("upload", &oid(b"content"), 7).await;
    let refused = lfs.put(&address, b"content").await;
    assert_eq!(refused.status, 507, "{refused:?}");
    assert_eq!(lfs.problem("download", &oid(b"content"), 7).await, 404);
    assert_eq!(stored(&farrier), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_disk_that_fills_up_during_an_upload_loses_no_acknowledged_object() {
    let mut disk = None;
    let farrier = TestDaemon::with(|config| disk = SmallDisk::mount(&config.data_dir.join("artifacts"))).await;
    let Some(disk) = disk else {
        println!("skipped: a small file system cannot be mounted here");
        return;
    };
    let lfs = Lfs::new(&farrier, "demo").await;
    let before = lfs.upload(b"acknowledged").await;
    let bytes = noise(3 << 20);
    let address = lfs.address("upload", &oid(&bytes), bytes.len()).await;
    let mut upload = PartialRequest::put(&farrier.tcp(), &address, bytes.len(), &bytes[..1 << 20]).await;
    eventually("the object is being written", async || stored(&farrier) == 2).await;
    // Another program uses the rest of the disk.
    let filler = disk.path().join("filler");
    let _ = std::fs::write(&filler, vec![b'x'; 4 << 20]);
    upload.write(&bytes[1 << 20..]).await;
    let (status, text) = upload.answer().await;
    assert_eq!(status, 507, "{text}");
    assert_eq!(lfs.problem("download", &oid(&bytes), bytes.len()).await, 404);
    assert_eq!(lfs.download(&before, 12).await.text(), "acknowledged");
    std::fs::remove_file(&filler).expect("the filler");
    let id = lfs.upload(&bytes).await;
    assert!(lfs.download(&id, bytes.len()).await.body == bytes);
    drop(farrier);
}
