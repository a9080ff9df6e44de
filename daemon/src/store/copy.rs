//! Copies all rows from one engine to another.
//!
//! The first commit to the target writes the row `m/copying`, and the last one deletes it. A store with this row is not
//! opened. The last commit also writes the identity, without which a store belongs to no data directory. So a copy that
//! was interrupted is never used. Copying again compares the rows of both stores and writes only the differences.

use std::collections::BTreeMap;

use bytes::Bytes;
use farrier_proto::store::Format;
use sha2::{Digest as _, Sha256};

use super::{
    engine::{CommitError, Engine, EngineError, Key, Range, Scan, View, WriteSet},
    keys, value,
};

/// Number of rows that are read at a time.
const BATCH_ROWS: usize = 128;
/// Size of a commit, bytes. One row may exceed it.
const COMMIT_BYTES: usize = 4 << 20;
/// Maximum number of rows in a commit, including deleted ones.
const COMMIT_KEYS: usize = 5_000;

/// Why rows could not be copied.
#[derive(Debug, thiserror::Error)]
pub enum StoreCopyError {
    /// The target has rows that do not come from a copy that was interrupted.
    #[error("the target is not empty; nothing was changed")]
    NotEmpty,
    /// The source is itself an incomplete copy.
    #[error("the source is an incomplete copy; nothing was changed")]
    IncompleteSource,
    /// Reading failed.
    #[error("a store could not be read")]
    Read(#[from] EngineError),
    /// Writing to the target failed.
    #[error("writing to the target failed; run the command again to continue")]
    Write(#[from] CommitError),
    /// The rows of the target differ from those of the source after copying.
    #[error("the target does not have the same rows as the source; run the command again")]
    Different,
}

/// What was copied.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Copied {
    /// Number of rows.
    pub rows: u64,
    /// Size of all keys and values, bytes.
    pub bytes: u64,
    /// Number of rows that were written or deleted in the target. Less than `rows` if an earlier copy was interrupted.
    pub changed: u64,
    /// SHA-256 of all keys and values with their lengths, in hexadecimal.
    pub sha256: String,
}

/// Copies all rows of `from` to `to`, and compares them afterwards. No other process may write to either of them.
pub async fn copy(from: &dyn Engine, to: &dyn Engine) -> Result<Copied, StoreCopyError> {
    let source = from.snapshot().await?;
    if source.get(&keys::copying()).await?.is_some() {
        return Err(StoreCopyError::IncompleteSource);
    }
    let target = to.snapshot().await?;
    let is_interrupted = target.get(&keys::copying()).await?.is_some();
    if !is_interrupted && target.count(&everything(), 1).await? > 0 {
        return Err(StoreCopyError::NotEmpty);
    }
    let mark = value::encode(&Format { level: value::FORMAT_LEVEL });
    commit(to, WriteSet::from([(keys::copying(), Some(mark))])).await?;
    let changed = write_differences(source.as_ref(), target.as_ref(), to).await?;
    drop(target);
    let compared = compare(source.as_ref(), to.snapshot().await?.as_ref()).await?;
    let mut last = WriteSet::from([(keys::copying(), None)]);
    for key in last_keys() {
        last.insert(key.clone(), source.get(&key).await?);
    }
    commit(to, last.clone()).await?;
    let target = to.snapshot().await?;
    for (key, value) in last {
        if target.get(&key).await? != value {
            return Err(StoreCopyError::Different);
        }
    }
    Ok(Copied { changed, ..compared })
}

fn everything() -> Range {
    Range::prefix(Key::new())
}

/// The rows that the last commit writes.
fn last_keys() -> [Key; 2] {
    [keys::format(), keys::identity()]
}

fn is_excluded(key: &[u8]) -> bool {
    key == keys::copying() || last_keys().iter().any(|last| last == key)
}

/// Returns the rows of `range` that are copied in batches.
async fn rows(view: &dyn View, range: &Range, limit: usize) -> Result<Vec<(Key, Bytes)>, EngineError> {
    view.scan(&Scan::of(range.clone(), limit)).await
}

/// The next rows of both stores.
struct Batches {
    source: Vec<(Key, Bytes)>,
    target: Vec<(Key, Bytes)>,
    /// The last key up to which both batches are complete. `None`: there are no further rows.
    end: Option<Key>,
}

/// Reads the next rows of both stores, without those of the last commit.
async fn batches(source: &dyn View, target: &dyn View, rest: &Range) -> Result<Batches, EngineError> {
    let (mut ours, mut theirs) = (rows(source, rest, BATCH_ROWS).await?, rows(target, rest, BATCH_ROWS).await?);
    let ends = [&ours, &theirs].map(|batch| if batch.len() < BATCH_ROWS { None } else { batch.last() });
    let end = ends.into_iter().flatten().map(|(key, _)| key.clone()).min();
    for batch in [&mut ours, &mut theirs] {
        batch.retain(|(key, _)| !is_excluded(key) && end.as_ref().is_none_or(|end| key <= end));
    }
    Ok(Batches { source: ours, target: theirs, end })
}

/// Writes the rows of `source` to `to`, and deletes its other rows: they come from a copy that was interrupted, before
/// the source was changed. `target` is the state of `to` before. Returns the number of changed rows.
async fn write_differences(source: &dyn View, target: &dyn View, to: &dyn Engine) -> Result<u64, StoreCopyError> {
    let (mut changed, mut pending, mut pending_bytes) = (0, WriteSet::new(), 0);
    let mut rest = everything();
    loop {
        let Batches { source: ours, target: theirs, end } = batches(source, target, &rest).await?;
        let mut theirs: BTreeMap<Key, Bytes> = theirs.into_iter().collect();
        let mut writes: Vec<(Key, Option<Bytes>)> = Vec::new();
        for (key, value) in ours {
            if theirs.remove(&key).as_ref() != Some(&value) {
                writes.push((key, Some(value)));
            }
        }
        // Rows that the source does not have. The target holds only what an interrupted copy wrote, because `copy`
        // refuses other targets.
        writes.extend(theirs.into_keys().map(|key| (key, None)));
        for (key, value) in writes {
            pending_bytes += key.len() + value.as_ref().map_or(0, Bytes::len);
            pending.insert(key, value);
            if pending_bytes >= COMMIT_BYTES || pending.len() >= COMMIT_KEYS {
                changed += pending.len() as u64;
                commit(to, std::mem::take(&mut pending)).await?;
                pending_bytes = 0;
            }
        }
        match end {
            Some(end) => rest = rest.after(&end),
            None => break,
        }
    }
    changed += pending.len() as u64;
    commit(to, pending).await?;
    Ok(changed)
}

/// Compares all rows, except those of the last commit.
async fn compare(source: &dyn View, target: &dyn View) -> Result<Copied, StoreCopyError> {
    let mut digest = Sha256::new();
    let mut copied = Copied { rows: 0, bytes: 0, changed: 0, sha256: String::new() };
    let mut rest = everything();
    loop {
        let Batches { source: ours, target: theirs, end } = batches(source, target, &rest).await?;
        if ours != theirs {
            return Err(StoreCopyError::Different);
        }
        for (key, value) in ours {
            for part in [key.as_slice(), value.as_ref()] {
                digest.update((part.len() as u64).to_be_bytes());
                digest.update(part);
                copied.bytes += part.len() as u64;
            }
            copied.rows += 1;
        }
        match end {
            Some(end) => rest = rest.after(&end),
            None => break,
        }
    }
    copied.sha256 = hex::encode(digest.finalize());
    Ok(copied)
}

async fn commit(to: &dyn Engine, writes: WriteSet) -> Result<(), StoreCopyError> {
    Ok(to.begin().await?.commit(writes).await?)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::store::{
        Store, StoreError,
        engine::{Faults, LostCommit, MemoryEngine},
    };

    fn row(name: impl Into<Key>, value: &str) -> (Key, Option<Bytes>) {
        (name.into(), Some(Bytes::copy_from_slice(value.as_bytes())))
    }

    async fn source() -> MemoryEngine {
        let engine = MemoryEngine::new();
        let mut writes: WriteSet =
            (0..1_000_u16).map(|n| row(n.to_be_bytes(), &"x".repeat(usize::from(n) * 20))).collect();
        writes.extend([row(keys::identity(), "i"), (keys::format(), Some(value::encode(&Format { level: 2 })))]);
        commit(&engine, writes).await.expect("no conflict");
        engine
    }

    async fn all(engine: &MemoryEngine) -> Vec<(Key, Bytes)> {
        rows(engine.snapshot().await.expect("a view").as_ref(), &everything(), usize::MAX).await.expect("a scan")
    }

    #[tokio::test]
    async fn every_row_is_copied() {
        let (from, to) = (source().await, MemoryEngine::new());
        let copied = copy(&from, &to).await.expect("copied");
        assert_eq!((copied.rows, copied.changed), (1_000, 1_000));
        assert_eq!(all(&from).await, all(&to).await);
        let again = copy(&from, &to).await;
        assert!(matches!(again, Err(StoreCopyError::NotEmpty)), "{again:?}");
    }

    #[tokio::test]
    async fn an_interrupted_copy_is_not_opened_and_continues_with_the_current_rows() {
        for interrupted_after in 0..4 {
            let from = source().await;
            let to = Arc::new(MemoryEngine::new());
            let failing = Interrupted { inner: to.clone(), commits: interrupted_after.into() };
            let result = copy(&from, &failing).await;
            assert!(matches!(result, Err(StoreCopyError::Write(_))), "{result:?}");
            if interrupted_after > 0 {
                let opened = Store::open(to.clone()).await.map(drop);
                assert!(matches!(opened, Err(StoreError::Incomplete)), "{opened:?}");
                let result = copy(to.as_ref(), &MemoryEngine::new()).await;
                assert!(matches!(result, Err(StoreCopyError::IncompleteSource)), "{result:?}");
            }
            // The daemon runs on the source again.
            commit(&from, WriteSet::from([(vec![0, 1], None), row([0_u8, 2], "new"), row([9_u8, 9, 9], "new")]))
                .await
                .expect("ok");
            copy(&from, to.as_ref()).await.expect("copied");
            assert_eq!(all(&from).await, all(&to).await);
        }
    }

    #[tokio::test]
    async fn a_continued_copy_deletes_rows_in_several_commits() {
        let (from, to) = (source().await, Arc::new(MemoryEngine::new()));
        let surplus = |n: u32| (n.to_be_bytes().to_vec(), Some(Bytes::from_static(b"x")));
        let old: WriteSet = (0..12_000).map(surplus).chain([row(keys::copying(), "")]).collect();
        commit(to.as_ref(), old).await.expect("no conflict");
        let failing = Interrupted { inner: to.clone(), commits: 3.into() };
        let result = copy(&from, &failing).await;
        assert!(matches!(result, Err(StoreCopyError::Write(_))), "{result:?}");
        let left = to.snapshot().await.expect("a view").count(&everything(), u64::MAX).await.expect("a count");
        assert!(left < 12_000, "the first commits have deleted rows: {left}");
        copy(&from, to.as_ref()).await.expect("copied");
        assert_eq!(all(&from).await, all(&to).await);
    }

    /// An engine that fails after a number of commits.
    struct Interrupted {
        inner: Arc<MemoryEngine>,
        commits: std::sync::atomic::AtomicU32,
    }

    #[async_trait::async_trait]
    impl Engine for Interrupted {
        async fn snapshot(&self) -> Result<Box<dyn View>, EngineError> {
            self.inner.snapshot().await
        }

        async fn begin(&self) -> Result<Box<dyn crate::store::engine::Transaction>, EngineError> {
            let faults: Faults = self.inner.faults();
            let one_less = |left: u32| left.checked_sub(1);
            let order = std::sync::atomic::Ordering::SeqCst;
            let fails = self.commits.fetch_update(order, order, one_less).is_err();
            faults.lose_answers(LostCommit::Dropped, fails.into());
            self.inner.begin().await
        }

        async fn health(&self) -> Result<crate::store::engine::EngineInfo, EngineError> {
            self.inner.health().await
        }
    }
}
