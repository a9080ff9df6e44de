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

/// Number of rows to read at a time. Each names up to 1,000 refs.
const ROWS_AT_ONCE: usize = 16;

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
    /// Write all refs: the changes in between are not kept, do not list their refs or name too many, or the copy is of
    /// a version that the rows do not have, for example after a restore.
    Everything {
        /// The current version; 0 without rows.
        version: u64,
    },
}

/// Returns what must be written to bring a copy from `version` to the current version. `names_max`: maximum number of
/// refs that are named one by one.
pub async fn since(read: &impl Read, repository: u64, version: u64, names_max: usize) -> Result<CatchUp, StoreError> {
    let Some(current) = refs::version(read, repository).await? else { return Ok(CatchUp::Everything { version: 0 }) };
    let current = current.version;
    let everything = CatchUp::Everything { version: current };
    let Some(missing) = current.checked_sub(version).filter(|missing| *missing <= CHANGES_KEPT) else {
        return Ok(everything);
    };
    let (mut names, mut found) = (BTreeSet::new(), 0);
    let mut range = keys::ref_changes_after(repository, version);
    loop {
        let rows = read.scan::<ChangeRecord>(&Scan::of(range.clone(), ROWS_AT_ONCE)).await?;
        let Some((last, _)) = rows.last() else { break };
        range = range.after(last);
        let is_last = rows.len() < ROWS_AT_ONCE;
        found += rows.len() as u64;
        for (_, row) in rows {
            names.extend(row.refs.into_iter().map(|step| step.name));
            if row.many || names.len() > names_max {
                return Ok(everything);
            }
        }
        if is_last {
            break;
        }
    }
    // Every version from the next one to the current one has a row, and no later version has one.
    if found != missing {
        return Ok(everything);
    }
    Ok(CatchUp::Steps { version: current, names: names.into_iter().collect() })
}

/// Returns the version to which the change with the number `change` led, if it is after the version `since` and kept.
pub async fn find(read: &impl Read, repository: u64, change: u64, since: u64) -> Result<Option<u64>, StoreError> {
    let mut range = keys::ref_changes_after(repository, since);
    loop {
        let rows = read.scan::<ChangeRecord>(&Scan::of(range.clone(), ROWS_AT_ONCE)).await?;
        let Some((last, _)) = rows.last() else { return Ok(None) };
        range = range.after(last);
        if let Some((key, _)) = rows.iter().find(|(_, row)| row.change == change) {
            return Ok(keys::trailing_id(key));
        }
        if rows.len() < ROWS_AT_ONCE {
            return Ok(None);
        }
    }
}
