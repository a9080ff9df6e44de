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

/// Why rows could not be copied.
#[derive(Debug, thiserror::Error)]
pub enum CopyError {
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
pub async fn copy(from: &dyn Engine, to: &dyn Engine) -> Result<Copied, CopyError> {
    let source = from.snapshot().await?;
    if source.get(&keys::copying()).await?.is_some() {
        return Err(CopyError::IncompleteSource);
    }
    let target = to.snapshot().await?;
    let is_interrupted = target.get(&keys::copying()).await?.is_some();
    if !is_interrupted && target.count(&everything(), 1).await? > 0 {
        return Err(CopyError::NotEmpty);
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
            return Err(CopyError::Different);
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

/// Writes the rows of `source` to `to`, and deletes its other rows: they come from a copy that was interrupted, before
/// the source was changed. `target` is the state of `to` before. Returns the number of changed rows.
async fn write_differences(source: &dyn View, target: &dyn View, to: &dyn Engine) -> Result<u64, CopyError> {
    let (mut changed, mut pending, mut pending_bytes) = (0, WriteSet::new(), 0);
    let mut rest = everything();
    loop {
        let batch = rows(source, &rest, BATCH_ROWS).await?;
        let next =
            if batch.len() == BATCH_ROWS { batch.last().map(|(last, _)| rest.clone().after(last)) } else { None };
        let part = Range { low: rest.low.clone(), high: next.as_ref().map(|next| next.low.clone()) };
        let mut existing: BTreeMap<Key, Bytes> = rows(target, &part, usize::MAX).await?.into_iter().collect();
        for (key, value) in batch.into_iter().filter(|(key, _)| !is_excluded(key)) {
            if existing.remove(&key).as_ref() != Some(&value) {
                pending_bytes += key.len() + value.len();
                pending.insert(key, Some(value));
            }
            if pending_bytes >= COMMIT_BYTES {
                changed += pending.len() as u64;
                commit(to, std::mem::take(&mut pending)).await?;
                pending_bytes = 0;
            }
        }
        pending.extend(existing.into_keys().filter(|key| !is_excluded(key)).map(|key| (key, None)));
        match next {
            Some(next) => rest = next,
            None => break,
        }
    }
    changed += pending.len() as u64;
    commit(to, pending).await?;
    Ok(changed)
}

/// Compares all rows, except those of the last commit.
async fn compare(source: &dyn View, target: &dyn View) -> Result<Copied, CopyError> {
    let mut digest = Sha256::new();
    let mut copied = Copied { rows: 0, bytes: 0, changed: 0, sha256: String::new() };
    let mut rest = everything();
    loop {
        let (mut ours, mut theirs) = (rows(source, &rest, BATCH_ROWS).await?, rows(target, &rest, BATCH_ROWS).await?);
        let (is_last, theirs_is_last) = (ours.len() < BATCH_ROWS, theirs.len() < BATCH_ROWS);
        // The last key up to which both batches are complete.
        let ends = [(is_last, ours.last()), (theirs_is_last, theirs.last())];
        let end = ends.iter().filter(|(is_last, _)| !is_last).filter_map(|(_, row)| row.map(|(key, _)| key.clone()));
        let end = end.min();
        for batch in [&mut ours, &mut theirs] {
            batch.retain(|(key, _)| !is_excluded(key) && end.as_ref().is_none_or(|end| key <= end));
        }
        if ours != theirs {
            return Err(CopyError::Different);
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

async fn commit(to: &dyn Engine, writes: WriteSet) -> Result<(), CopyError> {
    Ok(to.begin().await?.commit(writes).await?)
}

#[cfg(test)]
mod tests {
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
        assert!(matches!(again, Err(CopyError::NotEmpty)), "{again:?}");
    }

    #[tokio::test]
    async fn an_interrupted_copy_is_not_opened_and_continues_with_the_current_rows() {
        for interrupted_after in 0..4 {
            let from = source().await;
            let to = std::sync::Arc::new(MemoryEngine::new());
            let failing = Interrupted { inner: to.clone(), commits: interrupted_after.into() };
            let result = copy(&from, &failing).await;
            assert!(matches!(result, Err(CopyError::Write(_))), "{result:?}");
            if interrupted_after > 0 {
                let opened = Store::open(to.clone()).await.map(drop);
                assert!(matches!(opened, Err(StoreError::Incomplete)), "{opened:?}");
                let result = copy(to.as_ref(), &MemoryEngine::new()).await;
                assert!(matches!(result, Err(CopyError::IncompleteSource)), "{result:?}");
            }
            // The daemon runs on the source again.
            commit(&from, WriteSet::from([(vec![0, 1], None), row([0_u8, 2], "new"), row([9_u8, 9, 9], "new")]))
                .await
                .expect("ok");
            copy(&from, to.as_ref()).await.expect("copied");
            assert_eq!(all(&from).await, all(&to).await);
        }
    }

    /// An engine that fails after a number of commits.
    struct Interrupted {
        inner: std::sync::Arc<MemoryEngine>,
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
