//! The identity row of the store, which pairs it with the files of a data directory, and the signing key.
//!
//! The row `m/identity` has the directory's random id and two marks. Identity files beside the repositories and
//! artifacts have the id, one mark and the next ids of all sequences. A mark advances in two steps: a
//! transaction makes the pending mark the confirmed one and the next number the pending one; then the files are
//! written with the pending mark. A crash in between leaves files with the confirmed mark, so files match the
//! store if they have either mark.

use std::io;

use async_trait::async_trait;
use farrier_proto::store::{Identity, Sequence, SigningKey};

use super::{Read, StoreError, Tx, ids::IdKind, keys};

/// Number of the key from which all other keys are derived. More keys may be added.
const FIRST_KEY: u64 = 1;

/// The contents of the identity files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mark {
    /// The id of the data directory, 16 bytes.
    pub id: Vec<u8>,
    /// Number of times the files were written.
    pub mark: u64,
    /// For each kind, the first id that was not reserved when the files were written.
    pub next_ids: Vec<(IdKind, u64)>,
}

/// The identity files of a data directory.
#[async_trait]
pub trait MarkFiles: Send + Sync {
    /// Writes `mark` to all files. Returns when it would survive a power failure.
    async fn write(&self, mark: &Mark) -> io::Result<()>;
}

/// Returns the identity row; `None` if the store was never paired with a data directory.
pub async fn get(read: &impl Read) -> Result<Option<Identity>, StoreError> {
    read.get(&keys::identity()).await
}

/// Sets the identity of the store. No file is confirmed to have it yet.
pub fn begin(tx: &Tx, id: &[u8]) {
    tx.put(keys::identity(), &Identity { id: id.to_vec(), confirmed: 0, pending: 1 });
}

/// Advances the marks. The files must have the mark that was pending before.
pub async fn advance(tx: &Tx) -> Result<(), StoreError> {
    if let Some(Identity { id, pending, .. }) = get(tx).await? {
        tx.put(keys::identity(), &Identity { id, confirmed: pending, pending: pending + 1 });
    }
    Ok(())
}

/// Records that all files have `mark`. From then on, files with an older mark are rejected.
pub async fn confirm(tx: &Tx, mark: u64) -> Result<(), StoreError> {
    if let Some(row) = get(tx).await?.filter(|row| row.pending == mark) {
        tx.put(keys::identity(), &Identity { confirmed: mark, ..row });
    }
    Ok(())
}

/// Returns the mark that the files must have; `None` without an identity.
pub async fn pending(read: &impl Read) -> Result<Option<Mark>, StoreError> {
    let Some(Identity { id, pending, .. }) = get(read).await? else { return Ok(None) };
    Ok(Some(Mark { id, mark: pending, next_ids: next_ids(read).await? }))
}

/// Returns the first id of each kind that is not reserved.
pub async fn next_ids(read: &impl Read) -> Result<Vec<(IdKind, u64)>, StoreError> {
    let rows = read.get_many::<Sequence>(&IdKind::ALL.map(keys::sequence)).await?;
    let next = |row: Option<Sequence>| row.map_or(1, |sequence| sequence.next);
    Ok(IdKind::ALL.into_iter().zip(rows.into_iter().map(next)).collect())
}

/// Returns the stored signing key. If there is none, stores and returns `fresh`.
pub async fn signing_key(tx: &Tx, fresh: SigningKey) -> Result<SigningKey, StoreError> {
    if let Some(key) = tx.get(&keys::signing_key(FIRST_KEY)).await? {
        return Ok(key);
    }
    tx.put(keys::signing_key(FIRST_KEY), &fresh);
    Ok(fresh)
}
