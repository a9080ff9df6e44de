//! Tests of the local copies of blocks.

use super::*;

/// Returns the names of the files in the directory.
fn files(directory: &TempDir) -> Vec<String> {
    let entries = std::fs::read_dir(directory.path()).expect("a directory");
    let mut names: Vec<String> =
        entries.map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned()).collect();
    names.sort_unstable();
    names
}

#[tokio::test]
async fn a_block_that_is_read_again_is_not_requested_again() {
    let Stored { blobs, bucket, directory } = stored(8_000);
    let content = content(1_000);
    put(&blobs, 1, &content).await.expect("written");
    bucket.take_calls();
    assert!(get(&blobs, &[(1, 1_000)], 0..1_000).await.expect("read") == content);
    assert_eq!(bucket.take_calls(), ["get"]);
    assert_eq!(files(&directory), ["7-2-1"]);
    assert!(get(&blobs, &[(1, 1_000)], 0..1_000).await.expect("read") == content);
    assert!(get(&blobs, &[(1, 1_000)], 10..20).await.expect("read") == content[10..20]);
    assert_eq!(bucket.take_calls(), Vec::<&str>::new());

    blobs.remove(KEY, 1).await.expect("removed");
    assert_eq!(files(&directory), Vec::<String>::new());
    let error = get(&blobs, &[(1, 1_000)], 0..1_000).await.expect_err("removed");
    assert!(matches!(error, BlobError::Missing { file: 1, .. }), "{error:?}");
}

#[tokio::test]
async fn parts_of_blocks_and_large_blocks_are_not_copied() {
    let Stored { blobs, directory, .. } = stored(8_000);
    put(&blobs, 1, &content(1_000)).await.expect("written");
    put(&blobs, 2, &content(1_001)).await.expect("written");
    get(&blobs, &[(1, 1_000)], 0..999).await.expect("read");
    get(&blobs, &[(2, 1_001)], 0..1_001).await.expect("read");
    assert_eq!(files(&directory), Vec::<String>::new());
}

#[tokio::test]
async fn the_copies_used_least_recently_are_removed_but_never_one_that_is_read() {
    let Stored { blobs, bucket, directory } = stored(8_000);
    for file in 1..=10 {
        put(&blobs, file, &content(1_000)).await.expect("written");
    }
    let read = async |file: u64| get(&blobs, &[(file, 1_000)], 0..1_000).await.expect("read").len();
    for file in 1..=8 {
        read(file).await;
    }
    read(1).await;
    let reading = blobs.bucket.cache.get(KEY, 2).await.expect("a copy");
    for file in 3..=8 {
        read(file).await;
    }
    // Removes the first copy, then the third: the second is being read.
    read(9).await;
    read(10).await;
    assert!(files(&directory).contains(&"7-2-2".to_owned()));
    assert_eq!(blobs.bucket.cache.bytes(), 8_000);
    assert_eq!(files(&directory).len(), 8);
    bucket.fail("get");
    assert_eq!(reading.read(0, 1_000).await.expect("read"), content(1_000));
    drop(reading);
    assert_eq!(read(2).await, 1_000, "it is still a copy");
    let error = get(&blobs, &[(1, 1_000)], 0..1_000).await.expect_err("evicted, and the bucket fails");
    assert!(matches!(error, BlobError::Unavailable { .. }), "{error:?}");
}

#[tokio::test]
async fn a_read_that_ends_early_leaves_no_copy() {
    let Stored { blobs, directory, .. } = stored(1 << 30);
    put(&blobs, 1, &content(1_000)).await.expect("written");
    let mut reader = blobs.read(KEY, [BlockRef { file: 1, size: 1_001 }].into(), 0..1_001);
    assert!(matches!(reader.try_next().await, Err(BlobError::Short { size: 1_001, have: 1_000, .. })));
    drop(reader);
    drop(blobs.read(KEY, [BlockRef { file: 1, size: 1_000 }].into(), 0..1_000));
    assert_eq!(files(&directory), Vec::<String>::new());
}

#[tokio::test]
async fn copies_that_are_being_written_count() {
    let Stored { blobs, directory, .. } = stored(8_000);
    for file in 1..=9 {
        put(&blobs, file, &content(1_000)).await.expect("written");
    }
    for file in 1..=8 {
        get(&blobs, &[(file, 1_000)], 0..1_000).await.expect("read");
    }
    let cache = &blobs.bucket.cache;
    let mut writing = Vec::new();
    for file in 20..24 {
        writing.push(cache.begin(KEY, BlockRef { file, size: 1_000 }).await.expect("a copy"));
    }
    assert_eq!(cache.bytes(), 4_000, "other copies were removed for them");
    assert_eq!(files(&directory).len(), 8);
    assert!(cache.begin(KEY, BlockRef { file: 24, size: 1 }).await.is_none(), "half of the space is being written");
    assert_eq!(get(&blobs, &[(9, 1_000)], 0..1_000).await.expect("read").len(), 1_000);
    drop(writing);
    assert!(cache.begin(KEY, BlockRef { file: 24, size: 1_000 }).await.is_some(), "the space is free again");
}
