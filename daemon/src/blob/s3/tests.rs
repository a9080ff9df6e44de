//! Tests with a bucket in memory whose requests can fail.

mod bucket;
mod cached;
mod failures;
mod server;

use futures_util::TryStreamExt as _;
use tempfile::TempDir;

use self::bucket::FaultyBucket;
use super::{write::PART_BYTES, *};
use crate::{blob::WrittenBlock, clock::Clock};

const NODE: u64 = 17;
const KEY: UploadKey = UploadKey { artifact: 7, generation: 2 };
const PLAIN: RequestedChecksums = RequestedChecksums { md5: false, crc64: false, sha256: false };
const PART: usize = 8 * 1024 * 1024;

/// A store of blobs in a bucket in memory, with its directory on disk.
struct Stored {
    blobs: S3Blobs,
    bucket: Arc<FaultyBucket>,
    directory: TempDir,
}

fn stored(cache_bytes: u64) -> Stored {
    let (directory, bucket) = (tempfile::tempdir().expect("a directory"), Arc::new(FaultyBucket::default()));
    let blobs = blobs_in(&bucket, "ci/builds", directory.path(), cache_bytes);
    Stored { blobs, bucket, directory }
}

fn blobs_in(bucket: &Arc<FaultyBucket>, prefix: &str, directory: &FilePath, cache_bytes: u64) -> S3Blobs {
    let objects = bucket::Shared(bucket.clone());
    let bucket = Bucket::new(Arc::new(objects), None, format!("s3://test/{prefix}"), Path::from(prefix));
    S3Blobs { bucket: Arc::new(bucket.with_directory(directory, cache_bytes)) }
}

/// Bytes that differ at each offset.
fn content(length: usize) -> Vec<u8> {
    (0..length).map(|at| u8::try_from((at * 7 + at / 251) % 256).expect("a byte")).collect()
}

async fn put(blobs: &S3Blobs, file: u64, content: &[u8]) -> Result<WrittenBlock, BlobError> {
    let mut writer = blobs.create(KEY, file, PLAIN, None);
    for frame in content.chunks(300_000) {
        writer.write(bytes::Bytes::copy_from_slice(frame)).await?;
    }
    writer.finish().await
}

async fn get(blobs: &S3Blobs, blocks: &[(u64, usize)], range: Range<u64>) -> Result<Vec<u8>, BlobError> {
    let blocks: Arc<[BlockRef]> =
        blocks.iter().map(|(file, size)| BlockRef { file: *file, size: *size as u64 }).collect();
    let chunks: Vec<bytes::Bytes> = blobs.read(KEY, blocks, range).try_collect().await?;
    assert!(chunks.iter().all(|chunk| !chunk.is_empty()));
    Ok(chunks.concat())
}

async fn listed(blobs: &S3Blobs) -> Vec<(u64, u64)> {
    let files: Vec<_> = blobs.files(KEY).try_collect().await.expect("lists");
    let mut files: Vec<_> = files.iter().map(|block| (block.file, block.size)).collect();
    files.sort_unstable();
    files
}

#[tokio::test]
async fn written_blocks_are_read_back() {
    let Stored { blobs, bucket, directory: _directory } = stored(0);
    for (file, (length, requests)) in
        (0..).zip([(0, 1), (1, 1), (PART, 1), (PART + 1, 4), (2 * PART, 4), (2 * PART + 700_001, 5)])
    {
        let content = content(length);
        bucket.take_calls();
        let written = put(&blobs, file, &content).await.expect("written");
        assert_eq!(written.size, length as u64);
        assert_eq!(bucket.take_calls().len(), requests, "{length} bytes");
        let size = length as u64;
        assert!(get(&blobs, &[(file, length)], 0..size).await.expect("read") == content, "{length} bytes");
    }
    assert!(matches!(blobs.read(KEY, [].into(), 0..1).try_next().await, Err(BlobError::Range { size: 0, .. })));
}

#[tokio::test]
async fn a_range_equals_that_part_of_the_concatenation() {
    let Stored { blobs, directory: _directory, .. } = stored(0);
    let all = content(1_000);
    let blocks = [(3, 400), (1, 1), (2, 0), (9, 599)];
    let mut before = 0;
    for (file, length) in blocks {
        put(&blobs, file, &all[before..before + length]).await.expect("written");
        before += length;
    }
    for (start, end) in [(0, 1_000), (0, 0), (399, 401), (400, 401), (401, 1_000), (5, 6), (1_000, 1_000)] {
        let read = get(&blobs, &blocks, start as u64..end as u64).await.expect("read");
        assert!(read == all[start..end], "{start}..{end}");
    }
}

#[tokio::test]
async fn a_writer_reports_the_bytes_of_acknowledged_parts() {
    let Stored { blobs, directory: _directory, .. } = stored(0);
    let mut writer = blobs.create(KEY, 1, PLAIN, None);
    let frame = bytes::Bytes::from(vec![1; 600_000]);
    let mut stored = 0;
    for sent in (0..30).map(|frames| frames * 600_000_u64) {
        let now = writer.write(frame.clone()).await.expect("written");
        assert!(now >= stored && now <= sent + 600_000 && now % PART_BYTES == 0, "{now} of {sent}");
        stored = now;
    }
    assert_eq!(stored, 2 * PART_BYTES);
}

#[tokio::test]
async fn uploads_and_blocks_are_listed_and_other_objects_are_left_alone() {
    let Stored { blobs, bucket, directory: _directory } = stored(0);
    for file in [1, 2, 11] {
        put(&blobs, file, &content(10)).await.expect("written");
    }
    let other = UploadKey { artifact: 70, generation: 2 };
    blobs.create(other, 1, PLAIN, None).finish().await.expect("written");
    let foreign = ["ci/builds/a/7/2/x", "ci/builds/a/7/2/007", "ci/builds/a/7/2/1/2", "ci/builds/b/7/2/1", "a/8/1/1"];
    for name in foreign {
        bucket.plant(name).await;
    }
    let mut uploads: Vec<_> = blobs.uploads().try_collect().await.expect("listed");
    uploads.sort_unstable();
    assert_eq!(uploads, [KEY, other]);
    assert_eq!(listed(&blobs).await, [(1, 10), (2, 10), (11, 10)]);

    blobs.remove(KEY, 2).await.expect("removed");
    blobs.remove(KEY, 2).await.expect("succeeds if it does not exist");
    assert_eq!(blobs.remove_upload(KEY).await.expect("removed"), 20);
    assert_eq!(blobs.remove_upload(KEY).await.expect("succeeds if it does not exist"), 0);
    assert_eq!(blobs.uploads().try_collect::<Vec<_>>().await.expect("listed"), [other]);
    assert_eq!(bucket.names().await.len(), foreign.len() + 1);
}

#[tokio::test]
async fn an_upload_that_is_set_aside_is_copied_before_it_is_deleted() {
    let Stored { blobs, bucket, directory } = stored(0);
    put(&blobs, 1, b"one").await.expect("written");
    put(&blobs, 2, b"two").await.expect("written");
    let aside = SetAside::new(directory.path(), Clock::manual(0));
    bucket.fail("copy");
    blobs.set_aside(KEY, &aside).await.expect_err("the copy failed");
    assert_eq!(listed(&blobs).await.len(), 2, "nothing was deleted");
    bucket.work();
    let path = blobs.set_aside(KEY, &aside).await.expect("copied").expect("a path");
    assert!(path.display().to_string().starts_with("ci/builds/set-aside/1970-01-01/artifacts/7/2-"), "{path:?}");
    assert_eq!(listed(&blobs).await, []);
    let names = bucket.names().await;
    assert!(names.iter().all(|name| name.contains("/set-aside/")) && names.len() == 2, "{names:?}");
    assert_eq!(blobs.set_aside(KEY, &aside).await.expect("nothing to do"), None);
}

#[tokio::test]
async fn an_object_that_is_too_large_to_be_copied_at_once_is_copied_in_parts() {
    let Stored { blobs, bucket, directory: _directory } = stored(0);
    let content = content(2 * PART + 700_001);
    put(&blobs, 1, &content).await.expect("written");
    let (_, object) = list::objects(&blobs.bucket, KEY).await.expect("listed").remove(0);
    for request in ["create", "get", "part", "complete"] {
        bucket.fail(request);
        let target = Path::from("ci/builds/a/7/2/2");
        copy::copy_in_parts(&blobs.bucket, &object, &target).await.expect_err("it fails");
        bucket.work();
        assert_eq!(listed(&blobs).await.len(), 1, "{request}");
    }
    copy::copy_in_parts(&blobs.bucket, &object, &Path::from("ci/builds/a/7/2/2")).await.expect("copied");
    assert!(get(&blobs, &[(2, content.len())], 0..content.len() as u64).await.expect("read") == content);
}

#[tokio::test]
async fn a_prefix_belongs_to_one_store() {
    let Stored { blobs, bucket, directory } = stored(0);
    let reason = async |blobs: &S3Blobs, id: &str, next_file: u64| {
        blobs.pair(id, next_file, false, NODE).await.expect_err("refused").to_string()
    };
    assert!(reason(&blobs, "aa", 65).await.contains("it is empty"), "rows need its blocks");
    assert_eq!(blobs.check("aa", 1, false).await.expect("unused"), None);
    assert_eq!(bucket.names().await, Vec::<String>::new(), "a check writes nothing");
    assert_eq!(blobs.pair("aa", 1, false, NODE).await.expect("unused"), 1);
    assert_eq!(blobs.pair("aa", 65, false, NODE).await.expect("the same store"), 1);
    assert!(reason(&blobs, "bb", 1).await.contains("another store"));
    assert_eq!(blobs.adopt("bb", 129).await.expect("adopted"), 129);
    assert_eq!(blobs.check("bb", 193, false).await.expect("the same store"), Some(129));

    let second = blobs_in(&bucket, "ci", directory.path(), 0);
    second.pair("cc", 1, false, NODE).await.expect("another prefix of the same bucket");
    bucket.plant("ci/a/1/1/1").await;
    bucket.remove("ci/store-id").await;
    assert!(reason(&second, "cc", 1).await.contains("no object store-id"));
    bucket.fail("get");
    let error = second.pair("cc", 1, false, NODE).await.expect_err("the server fails");
    assert!(matches!(error, BlobError::BucketUnavailable { .. }), "{error:?}");
}

#[tokio::test]
async fn a_store_that_was_restored_never_assigns_the_number_of_a_newer_block() {
    let Stored { blobs, bucket, directory } = stored(0);
    blobs.pair("aa", 1, false, NODE).await.expect("unused");
    bucket.take_calls();
    for file in 1..=3 {
        put(&blobs, file, b"block").await.expect("written");
    }
    assert_eq!(bucket.take_calls(), ["put"; 4], "the first block records numbers for the following ones");
    put(&blobs, 5_000, b"block").await.expect("written");

    let blobs = blobs_in(&bucket, "ci/builds", directory.path(), 0);
    let error = blobs.pair("aa", 65, false, NODE).await.expect_err("the store is older").to_string();
    assert!(error.contains("newer blocks than the store"), "{error}");
    assert!(blobs.pair("aa", 5_057, false, NODE).await.expect("the same state") > 5_000);
    assert!(blobs.adopt("bb", 65).await.expect("adopted") > 5_000, "the store does not assign these numbers again");

    bucket.fail("put");
    let error = put(&blobs, 90_000, b"block").await.expect_err("the number cannot be recorded");
    assert!(matches!(error, BlobError::Unavailable { key: KEY, .. }), "{error:?}");
}

#[tokio::test]
async fn the_highest_number_that_a_node_has_recorded_counts() {
    let Stored { blobs: first, bucket, directory } = stored(0);
    first.pair("aa", 1, false, NODE).await.expect("unused");
    let second = blobs_in(&bucket, "ci/builds", directory.path(), 0);
    second.pair("aa", 1, false, NODE + 1).await.expect("the same store");
    put(&first, 5_000, b"block").await.expect("written");
    put(&second, 70, b"block").await.expect("written");
    let third = blobs_in(&bucket, "ci/builds", directory.path(), 0);
    assert!(third.pair("aa", 5_001, false, NODE + 2).await.expect("the same store") > 5_000);
}

#[tokio::test]
async fn a_server_may_refuse_conditional_requests() {
    let Stored { blobs, bucket, directory: _directory } = stored(0);
    bucket.refuse_conditions();
    blobs.pair("aa", 1, false, NODE).await.expect("unused");
    assert_eq!(blobs.check("aa", 1, false).await.expect("the same store"), Some(1));
}
