//! The kept changes of a repository. They show which refs of a copy are behind, and whether a commit with an unknown
//! outcome took place.

use std::collections::BTreeSet;

use farrier_proto::store::ChangeRecord;

use crate::store::{
    Read, StoreError,
    engine::Scan,
    keys,
    refs::{self, CHANGES_KEPT},
};

/// What must be written to bring a copy of a repository to the current version.
#[derive(Debug, PartialEq, Eq)]
pub enum CatchUp {
    /// Write the current rows of these refs.
    Steps {
        /// The current version.
        version: u64,
        /// Names, sorted, each one once.
        names: Vec<String>,
    },
    /// Write all refs: the changes in between are not kept or do not list their refs, or the copy is of a version that
    /// the rows do not have, for example after a restore.
    Everything {
        /// The current version; 0 without rows.
        version: u64,
    },
}

/// Returns what must be written to bring a copy from `version` to the current version.
pub async fn since(read: &impl Read, repository: u64, version: u64) -> Result<CatchUp, StoreError> {
    let Some(current) = refs::version(read, repository).await? else { return Ok(CatchUp::Everything { version: 0 }) };
    let current = current.version;
    let everything = CatchUp::Everything { version: current };
    let Some(missing) = current.checked_sub(version).filter(|missing| *missing <= CHANGES_KEPT) else {
        return Ok(everything);
    };
    let scan = Scan::of(keys::ref_changes_after(repository, version), usize::MAX);
    let rows = read.scan::<ChangeRecord>(&scan).await?;
    // Every version from the next one to the current one has a row, and no later version has one.
    if rows.len() as u64 != missing || rows.iter().any(|(_, row)| row.many) {
        return Ok(everything);
    }
    let names: BTreeSet<String> = rows.into_iter().flat_map(|(_, row)| row.refs).map(|step| step.name).collect();
    Ok(CatchUp::Steps { version: current, names: names.into_iter().collect() })
}

/// Returns the version to which the change with the number `change` led, if it is after the version `since` and kept.
pub async fn find(read: &impl Read, repository: u64, change: u64, since: u64) -> Result<Option<u64>, StoreError> {
    let scan = Scan::of(keys::ref_changes_after(repository, since), usize::MAX);
    let rows = read.scan::<ChangeRecord>(&scan).await?;
    let found = rows.into_iter().find(|(_, row)| row.change == change);
    Ok(found.and_then(|(key, _)| keys::trailing_id(&key)))
}
