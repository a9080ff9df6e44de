//! Converts the refs of stores up to format level 3 at the start.
//!
//! There the files of refs decided, and the rows had the last recorded values. The converted repositories keep that
//! meaning until the files were compared with the rows.

use farrier_proto::store::{MigrationState, RefTip, Reference, RepositoryVersion};

use super::{Ref, set};
use crate::store::{
    Read, Store, StoreError, Tx,
    engine::{Key, Range, Scan},
    keys, raise_format, repositories, value,
};

/// Number of rows that one transaction reads. Each transaction is synced, so smaller batches would make the start
/// slower.
const BATCH: usize = 500;

/// Gives each repository a version and moves the rows of its refs to the keys that this release reads, unless that was
/// done before. Returns the number of refs.
///
/// Can be interrupted at any time: the next call continues. Nothing may read or write refs before it has ended.
pub async fn convert(store: &Store) -> Result<u64, StoreError> {
    if is_converted(&store.read().await?).await? {
        return Ok(0);
    }
    // Earlier releases would not find the refs.
    store.write(async |tx: Tx| raise_format(&tx).await).await?;
    let mut after = None::<Key>;
    loop {
        let from = after.as_deref();
        after = store.write(async |tx: Tx| add_versions(&tx, from).await).await?;
        if after.is_none() {
            break;
        }
    }
    let mut moved = 0;
    loop {
        let number = store.write(async |tx: Tx| move_some(&tx).await).await?;
        if number == 0 {
            break;
        }
        if moved == 0 {
            tracing::info!("converting the refs of an earlier release, before the start");
        }
        moved += number;
    }
    let end = async |tx: Tx| {
        tx.put(keys::ref_rows(), &Reference { id: 1 });
        Ok::<_, StoreError>(())
    };
    store.write(end).await?;
    if moved > 0 {
        tracing::info!(refs = moved, "the refs of an earlier release were converted");
    }
    Ok(moved)
}

/// Returns whether the refs of this store were converted, or were never written by an earlier release.
pub async fn is_converted(read: &impl Read) -> Result<bool, StoreError> {
    Ok(read.get::<Reference>(&keys::ref_rows()).await?.is_some())
}

/// Gives the next repositories a version. Returns the key after which to continue.
async fn add_versions(tx: &Tx, after: Option<&[u8]>) -> Result<Option<Key>, StoreError> {
    let (rows, next) = repositories::batch(tx, after, BATCH).await?;
    for row in rows {
        let key = keys::repository_version(row.id);
        // A repository gets its version when its import ends.
        let is_running = row.migration.as_ref().is_some_and(|import| import.state() == MigrationState::Running);
        if is_running || tx.get_bytes(&key).await?.is_some() {
            continue;
        }
        let version = RepositoryVersion { version: 1, sha256: row.sha256, from_disk: true, ..Default::default() };
        tx.put(key, &version);
    }
    Ok(next)
}

/// Moves the next refs. Returns their number.
///
/// Deletes rows of the earlier form only in the transaction that writes them in the new one. A value that is not an
/// object id is left out: the file of the ref decides, as for all refs of these repositories.
async fn move_some(tx: &Tx) -> Result<u64, StoreError> {
    let rows = tx.scan_bytes(&Scan::of(Range::prefix(keys::ref_tips()), BATCH)).await?;
    let number = rows.len() as u64;
    for (key, bytes) in rows {
        // A damaged row must not prevent a start, and check-data converts as well.
        let tip = value::decode::<RefTip>(&key, &bytes).map(|row| row.object_id).unwrap_or_default();
        let is_id = matches!(tip.len(), 40 | 64) && hex::decode(&tip).is_ok();
        match keys::first_id(&key).zip(keys::ref_tip_name(&key)) {
            Some((repository, name)) if is_id => set(tx, repository, name, Some(&Ref { tip, peeled: None })),
            _ => tracing::warn!(key = %key.escape_ascii(), "the recorded value of a ref is not an object id"),
        }
        tx.delete(key);
    }
    Ok(number)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use bytes::Bytes;
    use farrier_proto::store::{Format, Migration, Repository};

    use super::*;
    use crate::store::{engine::MemoryEngine, refs};

    #[tokio::test]
    async fn refs_of_an_earlier_release_are_converted_once_also_after_an_interruption() {
        let store = Store::open(Arc::new(MemoryEngine::new())).await.expect("a store");
        let count = BATCH as u64 + 3;
        let id = "ab".repeat(20);
        let fill = async |tx: Tx| {
            tx.put(keys::format(), &Format { level: 3 });
            for number in 1..=count {
                let mut row =
                    Repository { id: number, owner_id: 1, name: format!("r{number}"), ..Repository::default() };
                if number == 2 {
                    row.migration = Some(Migration { state: MigrationState::Running.into(), ..Migration::default() });
                }
                assert!(repositories::insert(&tx, &row).await?);
                for name in ["refs/heads/main", "refs/tags/v1"] {
                    tx.put(keys::ref_tip(number, name), &RefTip { object_id: id.clone() });
                }
            }
            tx.put(keys::ref_tip(1, "refs/heads/odd"), &RefTip { object_id: "no id".to_owned() });
            tx.put_bytes(keys::ref_tip(1, "refs/heads/damaged"), Bytes::from_static(b"\x01\x08"));
            Ok::<_, StoreError>(())
        };
        store.write(fill).await.expect("rows");
        // The first steps of a start that was killed.
        assert!(store.write(async |tx: Tx| add_versions(&tx, None).await).await.expect("versions").is_some());
        let first = store.write(async |tx: Tx| move_some(&tx).await).await.expect("refs");
        assert_eq!(first, BATCH as u64);
        assert_eq!(convert(&store).await.expect("converted"), count * 2 + 2 - first);
        assert_eq!(convert(&store).await.expect("nothing is left"), 0);
        let read = store.read().await.expect("a snapshot");
        let format = read.get::<Format>(&keys::format()).await.expect("a row");
        assert_eq!(format, Some(Format { level: value::CONVERTED_LEVEL }), "earlier releases refuse the store");
        assert_eq!(read.count(&Range::prefix(keys::ref_tips()), u64::MAX).await.expect("a count"), 0);
        for number in 1..=count {
            let version = refs::version(&read, number).await.expect("a row");
            assert_eq!(version.is_some_and(|version| version.from_disk && version.version == 1), number != 2);
            let all = refs::all(&read, number).await.expect("rows");
            assert_eq!(
                all.into_iter().collect::<Vec<_>>(),
                ["refs/heads/main", "refs/tags/v1"].map(|name| (name.to_owned(), id.clone()))
            );
        }
    }
}
