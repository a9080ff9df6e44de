//! Tests with a real directory.

use std::{fs, time::Duration};

use base64::{Engine, prelude::BASE64_STANDARD};
use bytes::Bytes;
use futures_util::TryStreamExt;
use proptest::prelude::*;
use tempfile::TempDir;

use super::{read::ReadLimits, *};
use crate::blob::WrittenBlock;

const KEY: UploadKey = UploadKey { artifact: 7, generation: 2 };
const PLAIN: RequestedChecksums = RequestedChecksums { md5: false, crc64: false, sha256: false };

async fn blobs() -> (TempDir, LocalBlobs) {
    let directory = tempfile::tempdir().expect("a directory");
    let blobs = LocalBlobs::open(directory.path().join("artifacts")).await.expect("opens");
    (directory, blobs)
}

async fn put(blobs: &LocalBlobs, file: u64, frames: &[&[u8]], checksums: RequestedChecksums) -> WrittenBlock {
    let mut writer = blobs.create(KEY, file, checksums, None);
    for frame in frames {
        writer.write(Bytes::copy_from_slice(frame)).await.expect("writes");
    }
    writer.finish().await.expect("finishes")
}

/// Creates blocks without syncing them, so that thousands are created quickly.
fn create_files(blobs: &LocalBlobs, contents: &[Vec<u8>]) -> Arc<[BlockRef]> {
    fs::create_dir_all(blobs.disk.key(KEY)).expect("a directory");
    let create = |(file, content): (u64, &Vec<u8>)| {
        fs::write(blobs.disk.file(KEY, file), content).expect("writes");
        BlockRef { file, size: content.len() as u64 }
    };
    (0..).zip(contents).map(create).collect()
}

async fn read(reader: BlockReader) -> Result<Vec<u8>, BlobError> {
    let chunks: Vec<Bytes> = reader.try_collect().await?;
    assert!(chunks.iter().all(|chunk| !chunk.is_empty()));
    Ok(chunks.concat())
}

async fn listed(blobs: &LocalBlobs) -> Vec<(u64, u64)> {
    let files: Vec<_> = blobs.files(KEY).try_collect().await.expect("lists");
    let mut files: Vec<_> = files.iter().map(|block| (block.file, block.size)).collect();
    files.sort_unstable();
    files
}

/// Waits until the directory is empty, because removal runs on another thread.
async fn emptied(blobs: &LocalBlobs) {
    let empty = async {
        while !listed(blobs).await.is_empty() {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(10), empty).await.expect("unfinished blocks are removed");
}

#[tokio::test]
async fn written_blocks_are_read_back() {
    let (_directory, blobs) = blobs().await;
    let large = vec![b'x'; 300 * 1024];
    let cases: [Vec<&[u8]>; 5] =
        [vec![], vec![b""], vec![b"hello ", b"", b"world\n"], vec![&large; 9], vec![b"z"; 1200]];
    for (file, frames) in (0..).zip(cases) {
        let size = frames.concat().len() as u64;
        let written = put(&blobs, file, &frames, PLAIN).await;
        assert_eq!((written.size, written.md5, written.crc64), (size, None, None));
        let reader = blobs.read(KEY, [BlockRef { file, size }].into(), 0..size);
        assert_eq!(reader.remaining(), size);
        assert!(read(reader).await.expect("reads") == frames.concat(), "case {file}");
    }
}

#[tokio::test]
async fn checksums_match_those_of_the_protocol() {
    let (_directory, blobs) = blobs().await;
    let all = RequestedChecksums { md5: true, crc64: true, sha256: true };
    let written = put(&blobs, 1, &[b"hello ", b"world\n"], all).await;
    assert_eq!(hex::encode(written.md5.expect("requested")), "6f5902ac237024bdd0c176cb93063dc4");
    let crc64 = written.crc64.expect("requested");
    assert_eq!(BASE64_STANDARD.encode(crc64.to_le_bytes()), "H6LSgYQOeA8=");
    let sha256 = hex::encode(written.sha256.expect("requested"));
    assert_eq!(sha256, "a948904f2f0f479b8f8197694b30184b0d2ed1c1cd2a1ec0fb85d299a192a447");
}

#[tokio::test]
async fn a_dropped_writer_leaves_no_file() {
    let (_directory, blobs) = blobs().await;
    drop(blobs.create(KEY, 1, PLAIN, None));
    assert!(!blobs.disk.key(KEY).exists(), "no directory is created before the first bytes");
    for batches in 1..4 {
        let mut writer = blobs.create(KEY, batches, PLAIN, None);
        for _ in 0..batches {
            writer.write(Bytes::from(vec![0; 600 * 1024])).await.expect("writes");
        }
        drop(writer);
    }
    emptied(&blobs).await;
}

#[tokio::test]
async fn a_used_file_number_is_rejected_and_its_block_is_kept() {
    let (_directory, blobs) = blobs().await;
    put(&blobs, 1, &[b"first"], PLAIN).await;
    let mut second = blobs.create(KEY, 1, PLAIN, None);
    second.write(Bytes::from_static(b"second")).await.expect("is collected");
    let error = second.finish().await.expect_err("the number is in use");
    assert!(matches!(error, BlobError::Io { doing: "creating a block of", .. }), "{error:?}");
    let reader = blobs.read(KEY, [BlockRef { file: 1, size: 5 }].into(), 0..5);
    assert_eq!(read(reader).await.expect("reads"), b"first");
}

#[tokio::test]
async fn a_writer_keeps_failing_if_its_directory_cannot_be_created() {
    let (_directory, blobs) = blobs().await;
    fs::write(blobs.disk.artifact(KEY.artifact), "in the way").expect("writes");
    let mut writer = blobs.create(KEY, 1, PLAIN, None);
    let frame = Bytes::from(vec![0; 600 * 1024]);
    writer.write(frame.clone()).await.expect("is collected");
    let error = writer.write(frame.clone()).await.expect_err("the first batch failed");
    assert!(matches!(error, BlobError::Io { .. }), "{error:?}");
    let error = writer.write(frame).await.expect_err("still");
    assert!(matches!(error, BlobError::WriterFailed { .. }), "{error:?}");
    let error = writer.finish().await.expect_err("still");
    assert!(matches!(error, BlobError::WriterFailed { .. }), "{error:?}");
}

#[tokio::test]
async fn ten_thousand_small_blocks_are_read_back_as_one_content() {
    let (_directory, blobs) = blobs().await;
    let contents: Vec<_> = (0..10_000).map(|number| format!("{number},").into_bytes()).collect();
    let blocks = create_files(&blobs, &contents);
    let size = contents.concat().len() as u64;
    assert_eq!(read(blobs.read(KEY, blocks, 0..size)).await.expect("reads"), contents.concat());
}

#[tokio::test]
async fn missing_and_short_blocks_end_the_stream_with_an_error() {
    let (_directory, blobs) = blobs().await;
    let blocks = create_files(&blobs, &[b"one".to_vec(), b"two".to_vec(), b"three".to_vec()]);
    fs::write(blobs.disk.file(KEY, 1), "t").expect("writes");
    let error = read(blobs.read(KEY, blocks.clone(), 0..11)).await.expect_err("short");
    assert!(matches!(error, BlobError::Short { file: 1, size: 3, have: 1, .. }), "{error:?}");
    blobs.remove(KEY, 1).await.expect("removes");
    blobs.remove(KEY, 1).await.expect("succeeds if it does not exist");
    let mut reader = blobs.read(KEY, blocks.clone(), 2..11);
    let error = reader.try_next().await.expect_err("missing");
    assert_eq!(error.to_string(), "block 1 of artifact 7 generation 2 is missing");
    assert!(reader.try_next().await.expect("no second error").is_none());
    let error = read(blobs.read(KEY, blocks.clone(), 4..12)).await.expect_err("too long");
    assert!(matches!(error, BlobError::Range { start: 4, end: 12, size: 11, .. }), "{error:?}");
    assert_eq!(read(blobs.read(KEY, blocks, 6..11)).await.expect("the rest is complete"), b"three");
}

#[tokio::test]
async fn uploads_are_listed_and_removed_and_foreign_names_are_ignored() {
    let (_directory, blobs) = blobs().await;
    let contents: Vec<_> = (0..3000_usize).map(|number| vec![0; number % 5]).collect();
    create_files(&blobs, &contents);
    for foreign in ["lost+found", "007", "+7", "-1", "99999999999999999999"] {
        fs::create_dir(blobs.disk.root.join(foreign)).expect("makes");
    }
    let other = UploadKey { generation: 3, ..KEY };
    blobs.create(other, 1, PLAIN, None).finish().await.expect("finishes");
    let mut uploads: Vec<_> = blobs.uploads().try_collect().await.expect("lists");
    uploads.sort_unstable();
    assert_eq!(uploads, [KEY, other]);
    assert_eq!(listed(&blobs).await.len(), 3000);

    assert_eq!(blobs.remove_upload(KEY).await.expect("removes"), 6000);
    assert_eq!(blobs.remove_upload(KEY).await.expect("succeeds if it does not exist"), 0);
    assert_eq!(blobs.uploads().try_collect::<Vec<_>>().await.expect("lists"), [other]);
    blobs.remove_upload(other).await.expect("removes");
    assert!(!blobs.disk.artifact(7).exists());
    assert_eq!(listed(&blobs).await, []);

    put(&blobs, 5000, &[b"again"], PLAIN).await;
    assert_eq!(listed(&blobs).await, [(5000, 5)]);
}

#[tokio::test]
async fn the_space_of_the_device_is_reported() {
    let (_directory, blobs) = blobs().await;
    let space = blobs.space().await.expect("answers");
    assert!(space.free_bytes <= space.total_bytes && space.total_bytes > 0, "{space:?}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn a_range_equals_that_part_of_the_concatenation(
        contents in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..40), 0..30),
        (start, end) in (0.0..=1.0, 0.0..=1.0),
        (buffer_bytes, files_max) in (1_usize..100, 1_usize..5),
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
        let content = contents.concat();
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, clippy::cast_precision_loss)]
        let at = |fraction: f64| (fraction * content.len() as f64) as usize;
        let (start, end) = (at(start).min(at(end)), at(start).max(at(end)));
        let bytes = runtime.block_on(async {
            let (_directory, blobs) = blobs().await;
            let blocks = create_files(&blobs, &contents);
            let limits = ReadLimits { buffer_bytes, files_max };
            read(read::reader(blobs.disk, KEY, blocks, start as u64..end as u64, limits)).await
        });
        prop_assert_eq!(bytes.expect("reads"), &content[start..end]);
    }
}
