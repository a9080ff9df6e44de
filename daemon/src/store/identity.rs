//! The store's half of the identity of a data directory.
//!
//! The row `m/identity` has the directory's random id and two marks. The other half are files beside
//! the repositories and artifacts, which hold the id, one mark and the next ids of all sequences. A
//! mark advances in two steps: a transaction makes the pending mark the confirmed one and the next
//! number pending, then the files are written with the pending mark. A crash in between leaves files
//! with the confirmed mark, so files are in step with the store if they hold either.

use std::io;

use async_trait::async_trait;
use farrier_proto::store::{Identity, Sequence};

use super::{Read, StoreError, Tx, ids::Kind, keys};

/// What the identity files hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mark {
    /// The id of the data directory, 16 bytes.
    pub id: Vec<u8>,
    /// Counts how often the files were written.
    pub mark: u64,
    /// The first id of each kind that was not reserved when the files were written.
    pub next_ids: Vec<(Kind, u64)>,
}

/// The identity files of a data directory.
#[async_trait]
pub trait MarkFiles: Send + Sync {
    /// Writes `mark` to all files. Returns once it would survive a power cut.
    async fn write(&self, mark: &Mark) -> io::Result<()>;
}

/// The identity row; `None` in a store that was never paired with a data directory.
pub async fn get(read: &impl Read) -> Result<Option<Identity>, StoreError> {
    read.get(&keys::identity()).await
}

/// Gives the store the identity `id`. No file is confirmed to have it yet.
pub fn begin(tx: &Tx, id: &[u8]) {
    tx.put(keys::identity(), &Identity { id: id.to_vec(), confirmed: 0, pending: 1 });
}

/// Makes the next mark pending. The files must hold the mark that was pending before.
pub async fn advance(tx: &Tx) -> Result<(), StoreError> {
    if let Some(Identity { id, pending, .. }) = get(tx).await? {
        tx.put(keys::identity(), &Identity { id, confirmed: pending, pending: pending + 1 });
    }
    Ok(())
}

/// Records that all files hold `mark`: from here on files with an older one are refused.
pub async fn confirm(tx: &Tx, mark: u64) -> Result<(), StoreError> {
    if let Some(row) = get(tx).await?.filter(|row| row.pending == mark) {
        tx.put(keys::identity(), &Identity { confirmed: mark, ..row });
    }
    Ok(())
}

/// What the files have to hold; `None` without an identity.
pub async fn pending(read: &impl Read) -> Result<Option<Mark>, StoreError> {
    let Some(Identity { id, pending, .. }) = get(read).await? else { return Ok(None) };
    Ok(Some(Mark { id, mark: pending, next_ids: next_ids(read).await? }))
}

/// The first id of each kind that is not reserved.
pub async fn next_ids(read: &impl Read) -> Result<Vec<(Kind, u64)>, StoreError> {
    let rows = read.get_many::<Sequence>(&Kind::ALL.map(keys::sequence)).await?;
    let next = |row: Option<Sequence>| row.map_or(1, |sequence| sequence.next);
    Ok(Kind::ALL.into_iter().zip(rows.into_iter().map(next)).collect())
}
