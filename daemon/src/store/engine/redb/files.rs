//! Real files: permissions, locking, clean shutdown, and reading of old formats.

use std::{cell::Cell, os::unix::fs::PermissionsExt as _, rc::Rc};

use bytes::Bytes;
use farrier_proto::store::{Format, Sequence, User};

use super::*;
use crate::store::{
    Read as _, Store,
    engine::{CommitError, Range, Scan, WriteSet},
    ids, keys,
};

fn open(path: &Path) -> Result<RedbEngine, EngineError> {
    RedbEngine::open(path, RedbOptions::default())
}

fn write(value: &str) -> WriteSet {
    WriteSet::from([(b"k".to_vec(), Some(Bytes::copy_from_slice(value.as_bytes())))])
}

/// Opens `path` with redb. Returns whether a repair was necessary.
fn needed_repair(path: &Path) -> bool {
    let repaired = Rc::new(Cell::new(false));
    let flag = Rc::clone(&repaired);
    let mut builder = Database::builder();
    builder.set_repair_callback(move |_| flag.set(true));
    builder.open(path).expect("no other process has it open");
    repaired.get()
}

#[tokio::test]
async fn a_new_file_is_private_and_the_only_one_in_its_directory() {
    let dir = tempfile::tempdir().expect("a directory");
    let path = dir.path().join("store.redb");
    let engine = open(&path).expect("a new file");
    let metadata = path.metadata().expect("it is there");
    assert_eq!(metadata.permissions().mode() & 0o777, 0o600);
    assert_eq!(dir.path().read_dir().expect("readable").count(), 1);
    let info = engine.health().await.expect("healthy");
    assert_eq!((info.name, info.size_bytes), ("redb", metadata.len()));
}

#[test]
fn a_file_cannot_be_opened_twice() {
    let dir = tempfile::tempdir().expect("a directory");
    let path = dir.path().join("store.redb");
    let first = open(&path).expect("a new file");
    let error = open(&path).err().expect("it is open");
    assert!(matches!(error, EngineError::InUse));
    assert_eq!(error.to_string(), "the data is in use by another farrierd");
    drop(first);
    open(&path).expect("closed");
}

#[test]
fn a_file_in_another_format_is_rejected_and_unchanged() {
    let dir = tempfile::tempdir().expect("a directory");
    let path = dir.path().join("store.redb");
    std::fs::write(&path, "notes").expect("written");
    assert!(matches!(open(&path), Err(EngineError::Damaged { .. })));
    assert_eq!(std::fs::read(&path).expect("readable"), b"notes");
    assert!(matches!(open(&dir.path().join("missing/store.redb")), Err(EngineError::Storage(_))));
}

/// A start must not take longer because of what ran when the daemon stopped.
#[tokio::test]
async fn a_dropped_engine_leaves_nothing_to_repair() {
    let dir = tempfile::tempdir().expect("a directory");
    let path = dir.path().join("store.redb");
    let engine = open(&path).expect("a new file");
    engine.begin().await.expect("begun").commit(write("1")).await.expect("committed");
    let (view, transaction) = (engine.snapshot().await.expect("a view"), engine.begin().await.expect("begun"));
    let waiting = engine.begin().await.expect("begun").commit(write("2"));
    let waiting = tokio::task::JoinSet::from_iter([waiting]);
    tokio::task::yield_now().await;
    drop(engine);
    waiting.join_all().await.pop().expect("one").expect("requested before the end");
    let error = transaction.commit(write("3")).await.expect_err("after the end");
    assert!(matches!(error, CommitError::Engine(EngineError::Unavailable)), "{error:?}");
    assert!(!needed_repair(&path), "with a view still open");
    drop(view);
    let found = open(&path).expect("closed").snapshot().await.expect("a view").get(b"k").await.expect("a read");
    assert_eq!(found, Some(Bytes::from_static(b"2")));
}

/// A file that was closed properly is opened without reading all pages, so flipped bits must be found before.
#[tokio::test]
async fn a_flipped_bit_in_a_closed_file_is_found_or_changes_no_row() {
    const FLIPS: usize = 200;
    let dir = tempfile::tempdir().expect("a directory");
    let path = dir.path().join("store.redb");
    let engine = open(&path).expect("a new file");
    for part in 0..8_u32 {
        let rows =
            (0..200_u32).map(|row| ((part * 1_000 + row).to_be_bytes().to_vec(), Some(Bytes::from(vec![7; 90]))));
        engine.begin().await.expect("begun").commit(rows.collect()).await.expect("committed");
    }
    let all = Scan::of(Range::prefix(Vec::new()), usize::MAX);
    let rows = engine.snapshot().await.expect("a view").scan(&all).await.expect("rows");
    assert_eq!(rows.len(), 1_600);
    drop(engine);
    let intact = std::fs::read(&path).expect("the file");
    let used: Vec<usize> = (0..intact.len()).filter(|at| intact[*at] != 0).collect();
    let mut found = 0;
    for flip in 0..FLIPS {
        let mut bytes = intact.clone();
        bytes[used[flip * used.len() / FLIPS]] ^= 1 << (flip % 8);
        std::fs::write(&path, bytes).expect("a write");
        let Ok(engine) = RedbEngine::open_unchanged(&path, RedbOptions::default()) else {
            found += 1;
            continue;
        };
        let read = engine.snapshot().await.expect("a view").scan(&all).await.expect("rows");
        assert!(read == rows, "flip {flip} was not found and changed a row");
    }
    assert!(found > FLIPS / 2, "{found} of {FLIPS} were found");
}

/// `docs/storage.md` describes how the file was created. It must never be created again, because it represents
/// existing installations.
#[tokio::test]
async fn a_store_of_format_1_is_still_read() {
    let dir = tempfile::tempdir().expect("a directory");
    let path = dir.path().join("store.redb");
    let fixture = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/store-v1.redb");
    std::fs::copy(fixture, &path).expect("a copy");
    let store = Store::open(Arc::new(open(&path).expect("an old file"))).await.expect("a known format");
    let rows = store.read().await.expect("a view");
    assert_eq!(rows.get(&keys::format()).await.expect("a read"), Some(Format { level: 1 }));
    assert_eq!(rows.get(&keys::sequence(ids::IdKind::Owner)).await.expect("a read"), Some(Sequence { next: 65 }));
    let user: User = rows.get(&keys::user(1)).await.expect("a read").expect("the user");
    assert_eq!((user.id, user.name.as_str(), user.admin), (1, "octo", true));
    assert_eq!((user.email.as_str(), user.created_ms), ("octo@example.org", 1_700_000_000_000));
    drop(rows);
    assert_eq!(store.next_id(ids::IdKind::Owner).await.expect("an id"), 65);
}
