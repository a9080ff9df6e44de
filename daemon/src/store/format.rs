//! The format level of the rows: a release refuses rows of a higher level than it knows, and writes only what the level
//! allows.
//!
//! A daemon that uses the store alone raises the level when it starts ([`raise_at_start`]). Daemons that share a store
//! continue with its level until [`upgrade`] raises it, so that two releases can serve the store at the same time.

use std::sync::atomic::Ordering;

use farrier_proto::store::{AuditEntry, Format, Node};

use super::{
    Read, Store, StoreError, Tx, audit, keys, nodes, order,
    value::{CONVERTED_LEVEL, FORMAT_LEVEL},
};
use crate::clock::Millis;

/// Returns the format level, or an error if this release cannot read what a newer one has written. 0: the data is new.
pub(super) async fn check_format(read: &impl Read) -> Result<u32, StoreError> {
    let found = read.get::<Format>(&keys::format()).await?.map_or(0, |format| format.level);
    if found > FORMAT_LEVEL { Err(StoreError::Newer { found, known: FORMAT_LEVEL }) } else { Ok(found) }
}

impl Store {
    /// Writes the format level if the data is new.
    pub async fn write_format(&self) -> Result<(), StoreError> {
        let write = async |tx: Tx| match check_format(&tx).await? {
            0 => {
                tx.put(keys::format(), &Format { level: FORMAT_LEVEL });
                Ok::<_, StoreError>(FORMAT_LEVEL)
            }
            level => Ok(level),
        };
        self.note_format_level(self.write(write).await?);
        Ok(())
    }

    /// Returns the format level of the store: rows that need a higher one must not be written, because daemons that
    /// share the store could not read them. It only rises, and can be a few seconds behind that of the store.
    pub fn format_level(&self) -> u32 {
        self.format_level.load(Ordering::SeqCst)
    }

    /// Notes the format level that was read in a transaction.
    pub fn note_format_level(&self, level: u32) {
        self.format_level.fetch_max(level, Ordering::SeqCst);
    }
}

/// Makes releases refuse the data that cannot read the rows that every start of this release converts.
pub(super) async fn raise_format(tx: &Tx) -> Result<(), StoreError> {
    if check_format(tx).await? < CONVERTED_LEVEL {
        tx.put(keys::format(), &Format { level: CONVERTED_LEVEL });
    }
    Ok(())
}

/// Raises the level to that of this release if this process uses the store alone and no other node than `own` is alive
/// that could not read it. Called at the start, after rows of earlier releases were converted. Returns the level.
pub async fn raise_at_start(store: &Store, own: u64, clock_ms: Millis) -> Result<u32, StoreError> {
    if store.format_level() == FORMAT_LEVEL {
        return Ok(FORMAT_LEVEL);
    }
    let raise = async |tx: Tx| {
        let level = check_format(&tx).await?;
        let others = if store.is_shared() { nodes::others_alive(&tx, own, clock_ms).await? } else { Vec::new() };
        if level == FORMAT_LEVEL || !store.is_alone() || others.iter().any(is_older) {
            return Ok(level);
        }
        tx.put(keys::format(), &Format { level: FORMAT_LEVEL });
        Ok::<_, StoreError>(FORMAT_LEVEL)
    };
    let level = store.write(raise).await?;
    store.note_format_level(level);
    Ok(level)
}

/// Why the level was not raised.
#[derive(Debug, thiserror::Error)]
pub enum UpgradeError {
    /// Nodes that are alive, or have not renewed their row for a short time, cannot read the new level.
    #[error(
        "daemons that use the store cannot read format level {}: {}; nothing was changed. Install this version there, or \
         stop them, then run the command again",
        FORMAT_LEVEL, nodes::names(.nodes)
    )]
    OlderNodes {
        /// Their rows.
        nodes: Vec<Node>,
    },
    /// The rows are of a release whose rows are converted by a daemon that starts.
    #[error(
        "the store has format level {level}, whose rows only a daemon that uses the store alone can convert; nothing \
         was changed. Start a daemon of this version"
    )]
    NotConverted {
        /// The level of the store.
        level: u32,
    },
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Raises the level to that of this release if every node can read it. Daemons can run meanwhile: they read the level
/// with each renewal of their rows. Records `entry`, which has no ID, in the audit log if the level was raised. Returns
/// the level before, which can be that of this release.
///
/// A node that starts at the same time reads the level in the transaction that writes its row, so one of the two
/// transactions conflicts. A node that has not renewed its row for more than a minute stops if it continues later.
pub async fn upgrade(store: &Store, entry: &AuditEntry, clock_ms: Millis) -> Result<u32, UpgradeError> {
    if (CONVERTED_LEVEL..FORMAT_LEVEL).contains(&store.format_level()) {
        // The ID of the entry must be larger than those of a file that was opened again.
        order::raise(store).await?;
    }
    let raise = async |tx: Tx| {
        let level = check_format(&tx).await?;
        if level == FORMAT_LEVEL {
            return Ok(level);
        }
        if level < CONVERTED_LEVEL {
            return Err(UpgradeError::NotConverted { level });
        }
        let mut nodes = nodes::not_ended(&tx, clock_ms).await?;
        nodes.retain(is_older);
        if !nodes.is_empty() {
            return Err(UpgradeError::OlderNodes { nodes });
        }
        tx.put(keys::format(), &Format { level: FORMAT_LEVEL });
        audit::record(&tx, entry, tx.now_ms(clock_ms).await?).await?;
        Ok(level)
    };
    let before = store.write(raise).await?;
    store.note_format_level(FORMAT_LEVEL);
    Ok(before)
}

/// Returns whether the daemon of a node cannot read the level of this release. 0: a row without a level.
fn is_older(node: &Node) -> bool {
    (1..FORMAT_LEVEL).contains(&node.format_level)
}

#[cfg(test)]
mod tests;
