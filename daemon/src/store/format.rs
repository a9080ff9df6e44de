//! The format level of the rows: a release refuses rows of a higher level than it knows.

use farrier_proto::store::Format;

use super::{Read, StoreError, Tx, keys, value};

/// Returns an error if this release cannot read what a newer one has written.
pub(super) async fn check_format(read: &impl Read) -> Result<(), StoreError> {
    let found = read.get::<Format>(&keys::format()).await?.map_or(0, |format| format.level);
    if found > value::FORMAT_LEVEL { Err(StoreError::Newer { found, known: value::FORMAT_LEVEL }) } else { Ok(()) }
}

/// Makes earlier releases refuse the data, because they cannot read what this release writes.
pub(super) async fn raise_format(tx: &Tx) -> Result<(), StoreError> {
    let level = tx.get::<Format>(&keys::format()).await?.unwrap_or_default().level;
    if level < value::FORMAT_LEVEL {
        tx.put(keys::format(), &Format { level: value::FORMAT_LEVEL });
    }
    Ok(())
}
