//! Blocks on a real directory.

use std::{fs, time::Duration};

use base64::{Engine, prelude::BASE64_STANDARD};
use bytes::Bytes;
use futures_util::TryStreamExt;
use proptest::prelude::*;
use tempfile::TempDir;

use super::{read::Limits, *};
use crate::blob::Written;

const KEY: UploadKey = UploadKey { artifact: 7, generation: 2 };
const PLAIN: RequestedChecksums = RequestedChecksums { md5: false, crc64: false };

async fn blobs() -> (TempDir, LocalBlobs) {
    let directory = tempfile::tempdir().expect("a directory");
    let blobs = LocalBlobs::open(directory.path().join("artifacts")).await.expect("opens");
    (directory, blobs)
}

async fn put(blobs: &LocalBlobs, file: u64, frames: &[&[u8]], checksums: RequestedChecksums) -> Written {
    let mut writer = blobs.create(KEY, file, checksums, None);
    for frame in frames {
        writer.write(Bytes::copy_from_slice(frame)).await.expect("writes");
    }
    writer.finish().await.expect("finishes")
}

/// Puts blocks there without making them durable: thousands are made in no time.
fn lay(blobs: &LocalBlobs, contents: &[Vec<u8>]) -> Arc<[BlockRef]> {
    fs::create_dir_all(blobs.disk.key(KEY)).expect("a directory");
    let lay = |(file, content): (u64, &Vec<u8>)| {
        fs::write(blobs.disk.file(KEY, file), content).expect("writes");
        BlockRef { file, size: content.len() as u64 }
    };
    (0..).zip(contents).map(lay).collect()
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

/// Waits until the place is empty; removal is handed to another thread.
async fn emptied(blobs: &LocalBlobs) {
    let empty = async {
        while !listed(blobs).await.is_empty() {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(10), empty).await.expect("unfinished blocks are removed");
}

#[tokio::test]
async fn what_is_written_is_read() {
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
async fn checksums_are_those_of_the_wire() {
    let (_directory, blobs) = blobs().await;
    let written = put(&blobs, 1, &[b"hello ", b"world\n"], RequestedChecksums { md5: true, crc64: true }).await;
    assert_eq!(hex::encode(written.md5.expect("wanted")), "6f5902ac237024bdd0c176cb93063dc4");
    let crc64 = written.crc64.expect("wanted");
    assert_eq!(BASE64_STANDARD.encode(crc64.to_le_bytes()), "H6LSgYQOeA8=");
}

#[tokio::test]
async fn a_dropped_writer_leaves_nothing() {
    let (_directory, blobs) = blobs().await;
    drop(blobs.create(KEY, 1, PLAIN, None));
    assert!(!blobs.disk.key(KEY).exists(), "nothing is made before there are bytes");
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
async fn a_number_that_was_used_is_refused_and_its_block_stays() {
    let (_directory, blobs) = blobs().await;
    put(&blobs, 1, &[b"first"], PLAIN).await;
    let mut second = blobs.create(KEY, 1, PLAIN, None);
    second.write(Bytes::from_static(b"second")).await.expect("is collected");
    let error = second.finish().await.expect_err("the number is taken");
    assert!(matches!(error, BlobError::Io { doing: "making a block of", .. }), "{error:?}");
    let reader = blobs.read(KEY, [BlockRef { file: 1, size: 5 }].into(), 0..5);
    assert_eq!(read(reader).await.expect("reads"), b"first");
}

#[tokio::test]
async fn a_directory_that_cannot_be_made_is_an_error_and_stays_one() {
    let (_directory, blobs) = blobs().await;
    fs::write(blobs.disk.artifact(KEY.artifact), "in the way").expect("writes");
    let mut writer = blobs.create(KEY, 1, PLAIN, None);
    let frame = Bytes::from(vec![0; 600 * 1024]);
    writer.write(frame.clone()).await.expect("is collected");
    let error = writer.write(frame.clone()).await.expect_err("the first batch failed");
    assert!(matches!(error, BlobError::Io { .. }), "{error:?}");
    let error = writer.write(frame).await.expect_err("still");
    assert!(matches!(error, BlobError::GivenUp { .. }), "{error:?}");
    let error = writer.finish().await.expect_err("still");
    assert!(matches!(error, BlobError::GivenUp { .. }), "{error:?}");
}

#[tokio::test]
async fn ten_thousand_tiny_blocks_are_one_content() {
    let (_directory, blobs) = blobs().await;
    let contents: Vec<_> = (0..10_000).map(|number| format!("{number},").into_bytes()).collect();
    let blocks = lay(&blobs, &contents);
    let size = contents.concat().len() as u64;
    assert_eq!(read(blobs.read(KEY, blocks, 0..size)).await.expect("reads"), contents.concat());
}

#[tokio::test]
async fn missing_and_short_blocks_end_the_reading_with_an_error() {
    let (_directory, blobs) = blobs().await;
    let blocks = lay(&blobs, &[b"one".to_vec(), b"two".to_vec(), b"three".to_vec()]);
    fs::write(blobs.disk.file(KEY, 1), "t").expect("writes");
    let error = read(blobs.read(KEY, blocks.clone(), 0..11)).await.expect_err("short");
    assert!(matches!(error, BlobError::Short { file: 1, size: 3, have: 1, .. }), "{error:?}");
    blobs.remove(KEY, 1).await.expect("removes");
    blobs.remove(KEY, 1).await.expect("gone already is fine");
    let mut reader = blobs.read(KEY, blocks.clone(), 2..11);
    let error = reader.try_next().await.expect_err("missing");
    assert_eq!(error.to_string(), "block 1 of artifact 7 generation 2 is missing");
    assert!(reader.try_next().await.expect("no second error").is_none());
    let error = read(blobs.read(KEY, blocks.clone(), 4..12)).await.expect_err("too long");
    assert!(matches!(error, BlobError::Range { start: 4, end: 12, size: 11, .. }), "{error:?}");
    assert_eq!(read(blobs.read(KEY, blocks, 6..11)).await.expect("the rest is whole"), b"three");
}

#[tokio::test]
async fn a_place_is_listed_and_removed_with_all_that_is_ours() {
    let (_directory, blobs) = blobs().await;
    let contents: Vec<_> = (0..3000_usize).map(|number| vec![0; number % 5]).collect();
    lay(&blobs, &contents);
    for foreign in ["lost+found", "007", "+7", "-1", "99999999999999999999"] {
        fs::create_dir(blobs.disk.root.join(foreign)).expect("makes");
    }
    let other = UploadKey { generation: 3, ..KEY };
    blobs.create(other, 1, PLAIN, None).finish().await.expect("finishes");
    let mut places: Vec<_> = blobs.uploads().try_collect().await.expect("lists");
    places.sort_unstable();
    assert_eq!(places, [KEY, other]);
    assert_eq!(listed(&blobs).await.len(), 3000);

    assert_eq!(blobs.remove_upload(KEY).await.expect("removes"), 6000);
    assert_eq!(blobs.remove_upload(KEY).await.expect("gone already is fine"), 0);
    assert_eq!(blobs.uploads().try_collect::<Vec<_>>().await.expect("lists"), [other]);
    blobs.remove_upload(other).await.expect("removes");
    assert!(!blobs.disk.artifact(7).exists());
    assert_eq!(listed(&blobs).await, []);

    put(&blobs, 5000, &[b"again"], PLAIN).await;
    assert_eq!(listed(&blobs).await, [(5000, 5)]);
}

#[tokio::test]
async fn there_is_room() {
    let (_directory, blobs) = blobs().await;
    let space = blobs.space().await.expect("answers");
    assert!(space.free_bytes <= space.total_bytes && space.total_bytes > 0, "{space:?}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn a_range_is_what_it_is_in_the_concatenation(
        contents in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..40), 0..30),
        (start, end) in (0.0..=1.0, 0.0..=1.0),
        (buffer_bytes, files_max) in (1_usize..100, 1_usize..5),
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
        let whole = contents.concat();
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, clippy::cast_precision_loss)]
        let at = |part: f64| (part * whole.len() as f64) as usize;
        let (start, end) = (at(start).min(at(end)), at(start).max(at(end)));
        let got = runtime.block_on(async {
            let (_directory, blobs) = blobs().await;
            let blocks = lay(&blobs, &contents);
            let limits = Limits { buffer_bytes, files_max };
            read(read::reader(blobs.disk, KEY, blocks, start as u64..end as u64, limits)).await
        });
        prop_assert_eq!(got.expect("reads"), &whole[start..end]);
    }
}
