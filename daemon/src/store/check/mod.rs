//! Compares rows with the index entries that they need, and index entries with their rows.
//!
//! Reads the store in pages, so that memory use and the age of snapshots are bounded. Reports inconsistencies
//! with their fixes; the caller decides whether to apply them. The store must have no other writers.

mod gpg_keys;
mod hooks;
mod lfs;
mod mirrors;
mod runs;
mod sequences;
mod show;
mod ssh_keys;
mod tables;
mod teams;

use std::collections::{BTreeMap, BTreeSet};

use bytes::Bytes;

use self::tables::{DependentTable, IndexEntry, IndexTable, RowTable, index_of, rows_of};
pub use self::{
    hooks::{history, needs_index, recount},
    sequences::{StaleSequence, raise, stale_sequences},
    show::show,
    tables::{TABLES, Table},
};
use super::{
    Read, Store, StoreError, Tx,
    artifacts::is_entry_without_size,
    engine::{Key, Range, Scan},
    keys,
};

/// Number of keys in one page.
const PAGE: usize = 1_000;

/// The kind of an inconsistency.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyProblem {
    /// A row needs this index entry, which does not exist.
    Missing,
    /// A row needs this index entry with a different value.
    Wrong,
    /// Two rows need this index entry, with different values.
    Claimed,
    /// No row needs this index entry.
    Stray,
    /// The row refers to a row that does not exist.
    Orphan,
    /// A redirect whose target does not exist. Harmless.
    DanglingRedirect,
    /// The row belonged to a row that no longer exists. It uses space and has no effect.
    Leftover,
    /// The value cannot be decoded.
    Unreadable,
}

impl KeyProblem {
    /// Returns whether the inconsistency is harmless.
    pub fn is_harmless(self) -> bool {
        matches!(self, Self::DanglingRedirect | Self::Leftover)
    }

    /// Returns a sentence that describes the inconsistency.
    pub fn sentence(self) -> &'static str {
        match self {
            Self::Missing => "this index entry is missing",
            Self::Wrong => "this index entry has another value than its row needs",
            Self::Claimed => "two rows claim this index entry",
            Self::Stray => "no row needs this index entry",
            Self::Orphan => "this row refers to a row that does not exist",
            Self::DanglingRedirect => "the target of this redirect does not exist",
            Self::Leftover => "the row to which this belonged does not exist",
            Self::Unreadable => "this value cannot be read",
        }
    }
}

/// A key whose row or index entry is inconsistent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Inconsistency {
    /// The key.
    pub key: Key,
    /// The kind of inconsistency.
    pub problem: KeyProblem,
    /// The write that fixes it without losing data, if there is one.
    pub fix: Option<Fix>,
}

/// A write that fixes an inconsistency.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fix {
    key: Key,
    value: Option<Bytes>,
}

/// The result of checking one page.
#[derive(Clone, Debug, Default)]
pub struct CheckedPage {
    /// Number of keys checked.
    pub keys: usize,
    /// The inconsistencies found.
    pub found: Vec<Inconsistency>,
    /// The key after which the next page starts; `None` after the last page.
    pub next: Option<Key>,
}

/// Checks one page of a table. If fixes are applied, they must be applied before the next page is checked: an
/// index entry with a wrong value is also an entry that the row of that value does not need.
pub async fn page(read: &impl Read, table: &Table, after: Option<&[u8]>) -> Result<CheckedPage, StoreError> {
    let all = Range::prefix(keys::tag(table.tag()));
    let range = after.map_or(all.clone(), |key| all.after(key));
    let pairs = read.scan_bytes(&Scan::of(range, PAGE)).await?;
    let next = if pairs.len() < PAGE { None } else { pairs.last().map(|(key, _)| key.clone()) };
    let found = match table {
        Table::Rows(rows) => rows_page(read, rows, &pairs).await?,
        Table::Index(index) => index_page(read, index, &pairs).await?,
        Table::Dependents(dependents) => dependents_page(read, dependents, &pairs).await?,
    };
    Ok(CheckedPage { keys: pairs.len(), found, next })
}

/// Applies fixes.
pub async fn apply(store: &Store, fixes: &[Fix]) -> Result<(), StoreError> {
    for fixes in fixes.chunks(PAGE) {
        store
            .write(async |tx: Tx| {
                for fix in fixes {
                    match &fix.value {
                        Some(value) => tx.put_bytes(fix.key.clone(), value.clone()),
                        None => tx.delete(fix.key.clone()),
                    }
                }
                Ok::<_, StoreError>(())
            })
            .await?;
    }
    Ok(())
}

/// Checks rows: whether the index entries and rows that they need exist.
async fn rows_page(read: &impl Read, table: &RowTable, pairs: &[IndexEntry]) -> Result<Vec<Inconsistency>, StoreError> {
    let (mut found, mut entries, mut required) = (Vec::new(), Vec::new(), Vec::new());
    for (key, value) in pairs {
        match ((table.entries)(key, value), (table.required)(key, value)) {
            (Ok(derived), Ok(keys)) => {
                entries.extend(derived);
                required.extend(keys.into_iter().map(|needed| (key, needed)));
            }
            _ => found.push(Inconsistency { key: key.clone(), problem: KeyProblem::Unreadable, fix: None }),
        }
    }
    let keys: Vec<Key> = entries.iter().map(|(key, _)| key.clone()).collect();
    for ((key, value), stored) in entries.into_iter().zip(read.get_many_bytes(&keys).await?) {
        let problem = match stored {
            Some(stored) if stored == value => continue,
            Some(stored) if is_entry_without_size(&key, &value, &stored) => continue,
            Some(stored) if is_needed_by_its_row(read, &key, &stored).await? => KeyProblem::Claimed,
            Some(_) => KeyProblem::Wrong,
            None => KeyProblem::Missing,
        };
        let fix = (problem != KeyProblem::Claimed).then(|| Fix { key: key.clone(), value: Some(value) });
        found.push(Inconsistency { key, problem, fix });
    }
    found.extend(without_any(read, table, pairs).await?);
    let keys: Vec<Key> = required.iter().map(|(_, needed)| needed.clone()).collect();
    let values = read.get_many_bytes(&keys).await?;
    let orphans: BTreeSet<&Key> =
        required.iter().zip(values).filter(|(_, value)| value.is_none()).map(|((key, _), _)| *key).collect();
    for key in orphans {
        let (problem, fix) = if table.redirects {
            (KeyProblem::DanglingRedirect, Some(Fix { key: key.clone(), value: None }))
        } else {
            (KeyProblem::Orphan, None)
        };
        found.push(Inconsistency { key: key.clone(), problem, fix });
    }
    Ok(found)
}

/// Finds rows that need one of several index entries and have none.
async fn without_any(
    read: &impl Read,
    table: &RowTable,
    pairs: &[IndexEntry],
) -> Result<Vec<Inconsistency>, StoreError> {
    let rows = pairs.iter().filter_map(|(key, value)| (table.one_of)(key, value).ok());
    let rows: Vec<Vec<IndexEntry>> = rows.filter(|entries| !entries.is_empty()).collect();
    let keys: Vec<Key> = rows.iter().flatten().map(|(key, _)| key.clone()).collect();
    let mut values = read.get_many_bytes(&keys).await?.into_iter();
    let mut found = Vec::new();
    for entries in rows {
        let has_one = values.by_ref().take(entries.len()).flatten().count() > 0;
        if let Some((key, value)) = entries.into_iter().next().filter(|_| !has_one) {
            let fix = Some(Fix { key: key.clone(), value: Some(value) });
            found.push(Inconsistency { key, problem: KeyProblem::Missing, fix });
        }
    }
    Ok(found)
}

/// Finds rows whose owning row does not exist.
async fn dependents_page(
    read: &impl Read,
    dependents: &DependentTable,
    pairs: &[IndexEntry],
) -> Result<Vec<Inconsistency>, StoreError> {
    let mut found = Vec::new();
    for (key, _) in pairs {
        let has_owner = match (dependents.owner)(key) {
            Some(owner) => read.count(&owner, 1).await? > 0,
            None => false,
        };
        if !has_owner {
            let fix = Some(Fix { key: key.clone(), value: None });
            found.push(Inconsistency { key: key.clone(), problem: KeyProblem::Leftover, fix });
        }
    }
    Ok(found)
}

/// Returns whether the row to which an index entry refers needs the entry with exactly this value.
async fn is_needed_by_its_row(read: &impl Read, key: &[u8], value: &Bytes) -> Result<bool, StoreError> {
    let Some(row) = index_of(key).and_then(|index| (index.row)(key, value)) else { return Ok(false) };
    let Some(bytes) = read.get_bytes(&row).await? else { return Ok(false) };
    let entries = rows_of(&row).and_then(|table| (table.entries)(&row, &bytes).ok()).unwrap_or_default();
    Ok(entries.iter().any(|entry| entry.0 == key && entry.1 == value))
}

/// Checks index entries: whether their rows need them.
async fn index_page(
    read: &impl Read,
    index: &IndexTable,
    pairs: &[IndexEntry],
) -> Result<Vec<Inconsistency>, StoreError> {
    let rows: Vec<Option<Key>> = pairs.iter().map(|(key, value)| (index.row)(key, value)).collect();
    let keys: Vec<Key> = rows.iter().flatten().cloned().collect::<BTreeSet<_>>().into_iter().collect();
    let values = read.get_many_bytes(&keys).await?;
    // The entries that each row needs. Unreadable rows are reported by the check of their table.
    let mut needed: BTreeMap<&Key, Option<BTreeSet<Key>>> = BTreeMap::new();
    for (row, value) in keys.iter().zip(values) {
        let Some(value) = value else { continue };
        let both = |table: &RowTable| Some(((table.entries)(row, &value).ok()?, (table.one_of)(row, &value).ok()?));
        let entries = rows_of(row).and_then(both);
        let needed_keys = entries.map(|(all, one_of)| all.into_iter().chain(one_of).map(|(key, _)| key).collect());
        needed.insert(row, needed_keys);
    }
    let mut found = Vec::new();
    for ((key, _), row) in pairs.iter().zip(&rows) {
        let is_needed = match row.as_ref().and_then(|row| needed.get(row)) {
            Some(Some(entries)) => entries.contains(key),
            Some(None) => true,
            None => false,
        };
        if !is_needed {
            let fix = Some(Fix { key: key.clone(), value: None });
            found.push(Inconsistency { key: key.clone(), problem: KeyProblem::Stray, fix });
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests;
