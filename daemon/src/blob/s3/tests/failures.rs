//! Tests of requests that fail while a block is written or read.

use std::time::Duration;

use super::*;

/// Waits until the bucket got a request of this kind, because an upload is aborted by a task.
async fn requested(bucket: &FaultyBucket, name: &str) {
    let found = async {
        while !bucket.take_calls().contains(&name) {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(10), found).await.expect("the request is sent");
}

#[tokio::test]
async fn a_failed_request_fails_the_block_and_no_other() {
    let Stored { blobs, bucket, directory: _directory } = stored(0);
    put(&blobs, 1, &content(10)).await.expect("written");
    for (file, (request, length)) in
        (2..).zip([("put", 10), ("create", PART + 1), ("part", PART + 1), ("complete", PART + 1)])
    {
        bucket.fail(request);
        let error = put(&blobs, file, &content(length)).await.expect_err("it fails");
        assert!(matches!(error, BlobError::Unavailable { key: KEY, .. }), "{request}: {error:?}");
        bucket.work();
        if matches!(request, "part" | "complete") {
            requested(&bucket, "abort").await;
        }
        assert_eq!(listed(&blobs).await, [(1, 10)], "{request}");
    }
    assert_eq!(get(&blobs, &[(1, 10)], 0..10).await.expect("read"), content(10));
}

#[tokio::test]
async fn a_dropped_writer_aborts_its_upload_and_leaves_no_object() {
    let Stored { blobs, bucket, directory } = stored(0);
    for frames in [1, 30] {
        let mut writer = blobs.create(KEY, frames, PLAIN, None);
        for _ in 0..frames {
            writer.write(bytes::Bytes::from(vec![0; 600_000])).await.expect("written");
        }
        drop(writer);
    }
    requested(&bucket, "abort").await;
    assert_eq!(bucket.names().await, Vec::<String>::new());
    assert_eq!(std::fs::read_dir(directory.path()).expect("a directory").count(), 0);
}

#[tokio::test]
async fn a_writer_keeps_failing_after_a_failure() {
    let Stored { blobs, bucket, directory: _directory } = stored(0);
    let mut writer = blobs.create(KEY, 1, PLAIN, None);
    bucket.fail("create");
    let frame = bytes::Bytes::from(vec![0; 600_000]);
    let failed = loop {
        if let Err(error) = writer.write(frame.clone()).await {
            break error;
        }
    };
    assert!(matches!(failed, BlobError::Unavailable { .. }), "{failed:?}");
    bucket.work();
    let error = writer.finish().await.expect_err("bytes are missing");
    assert!(matches!(error, BlobError::WriterFailed { key: KEY }), "{error:?}");
    assert_eq!(listed(&blobs).await, []);
}

#[tokio::test]
async fn missing_and_short_blocks_are_distinguished_from_a_bucket_that_fails() {
    let Stored { blobs, bucket, directory: _directory } = stored(0);
    bucket.plant_bytes("ci/builds/a/7/2/1", b"short").await;
    let error = get(&blobs, &[(1, 9)], 0..9).await.expect_err("short");
    assert!(matches!(error, BlobError::Short { file: 1, size: 9, have: 5, .. }), "{error:?}");
    let error = get(&blobs, &[(2, 9)], 0..9).await.expect_err("missing");
    assert!(matches!(error, BlobError::Missing { file: 2, .. }), "{error:?}");
    bucket.fail("get");
    let error = get(&blobs, &[(2, 9)], 0..9).await.expect_err("the bucket fails");
    assert!(matches!(error, BlobError::Unavailable { .. }), "{error:?}");
    bucket.fail("list");
    blobs.remove_upload(KEY).await.expect_err("the bucket fails");
    blobs.uploads().try_collect::<Vec<_>>().await.expect_err("the bucket fails");
    blobs.files(KEY).try_collect::<Vec<_>>().await.expect_err("the bucket fails");
    bucket.fail("delete");
    blobs.remove_upload(KEY).await.expect_err("the bucket fails");
    blobs.remove(KEY, 1).await.expect_err("the bucket fails");
    bucket.work();
    assert_eq!(listed(&blobs).await, [(1, 5)], "nothing was removed");
}
