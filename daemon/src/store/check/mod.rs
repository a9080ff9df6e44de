//! Compares rows with the index entries that they need, both ways.
//!
//! Walks the store in pages, so that neither memory nor a view grows with it. Says what disagrees
//! and what would mend it; whether it is mended is the caller's choice. Only for a store that
//! nobody else writes to.

mod hooks;
mod sequences;
mod show;
mod tables;

use std::collections::{BTreeMap, BTreeSet};

use bytes::Bytes;

use self::tables::{Entry, Index, Parts, Rows, index_of, rows_of};
pub use self::{
    hooks::{history, recount},
    sequences::{Behind, behind, raise},
    show::show,
    tables::{TABLES, Table},
};
use super::{
    Read, Store, StoreError, Tx,
    engine::{Key, Range, Scan},
    keys,
};

/// Keys that one page visits.
const PAGE: usize = 1_000;

/// What is wrong with one key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Problem {
    /// A row needs this index entry, and it is not there.
    Missing,
    /// A row needs this index entry with another value.
    Wrong,
    /// Two rows need this index entry, each with a value of its own.
    Claimed,
    /// No row needs this index entry.
    Stray,
    /// The row belongs to another one that is not there.
    Orphan,
    /// A redirect that leads nowhere: harmless.
    LeadsNowhere,
    /// What the row was part of is not there: it takes room and says nothing.
    LeftOver,
    /// The value cannot be read.
    Unreadable,
}

impl Problem {
    /// Whether it does no harm.
    pub fn is_waste(self) -> bool {
        matches!(self, Self::LeadsNowhere | Self::LeftOver)
    }

    /// The sentence about a key that has it.
    pub fn sentence(self) -> &'static str {
        match self {
            Self::Missing => "this index entry is missing",
            Self::Wrong => "this index entry has another value than its row needs",
            Self::Claimed => "two rows claim this index entry",
            Self::Stray => "no row needs this index entry",
            Self::Orphan => "this row belongs to one that is not there",
            Self::LeadsNowhere => "this redirect leads nowhere",
            Self::LeftOver => "what this belonged to is gone",
            Self::Unreadable => "this value cannot be read",
        }
    }
}

/// A key at which rows and index entries disagree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Disagreement {
    /// The key.
    pub key: Key,
    /// What is wrong with it.
    pub problem: Problem,
    /// What mends it without losing anything, if there is such a thing.
    pub fix: Option<Fix>,
}

/// A write that mends a key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fix {
    key: Key,
    value: Option<Bytes>,
}

/// What one step of the walk found.
#[derive(Clone, Debug, Default)]
pub struct Page {
    /// Keys that were visited.
    pub keys: usize,
    /// What disagrees.
    pub found: Vec<Disagreement>,
    /// Where the next page begins after; `None`: this was the last.
    pub next: Option<Key>,
}

/// Looks at a piece of one table. To mend a store, the fixes of each page are applied before the
/// next page is looked at: an entry with a wrong value is also one that its value's row does not need.
pub async fn page(read: &impl Read, table: &Table, after: Option<&[u8]>) -> Result<Page, StoreError> {
    let all = Range::prefix(keys::tag(table.tag()));
    let range = after.map_or(all.clone(), |key| all.after(key));
    let pairs = read.scan_bytes(&Scan::of(range, PAGE)).await?;
    let next = if pairs.len() < PAGE { None } else { pairs.last().map(|(key, _)| key.clone()) };
    let found = match table {
        Table::Rows(rows) => rows_page(read, rows, &pairs).await?,
        Table::Index(index) => index_page(read, index, &pairs).await?,
        Table::Parts(parts) => parts_page(read, parts, &pairs).await?,
    };
    Ok(Page { keys: pairs.len(), found, next })
}

/// Mends what can be mended.
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

/// From rows to what they need.
async fn rows_page(read: &impl Read, table: &Rows, pairs: &[Entry]) -> Result<Vec<Disagreement>, StoreError> {
    let (mut found, mut entries, mut needs) = (Vec::new(), Vec::new(), Vec::new());
    for (key, value) in pairs {
        match ((table.entries)(key, value), (table.needs)(key, value)) {
            (Ok(derived), Ok(needed)) => {
                entries.extend(derived);
                needs.extend(needed.into_iter().map(|needed| (key, needed)));
            }
            _ => found.push(Disagreement { key: key.clone(), problem: Problem::Unreadable, fix: None }),
        }
    }
    let wanted: Vec<Key> = entries.iter().map(|(key, _)| key.clone()).collect();
    for ((key, value), is) in entries.into_iter().zip(read.get_many_bytes(&wanted).await?) {
        let problem = match is {
            Some(is) if is == value => continue,
            Some(is) if claims(read, &key, &is).await? => Problem::Claimed,
            Some(_) => Problem::Wrong,
            None => Problem::Missing,
        };
        let fix = (problem != Problem::Claimed).then(|| Fix { key: key.clone(), value: Some(value) });
        found.push(Disagreement { key, problem, fix });
    }
    found.extend(unplaced(read, table, pairs).await?);
    let wanted: Vec<Key> = needs.iter().map(|(_, needed)| needed.clone()).collect();
    let there = read.get_many_bytes(&wanted).await?;
    let orphans: BTreeSet<&Key> =
        needs.iter().zip(there).filter(|(_, is)| is.is_none()).map(|((key, _), _)| *key).collect();
    for key in orphans {
        let (problem, fix) = if table.redirects {
            (Problem::LeadsNowhere, Some(Fix { key: key.clone(), value: None }))
        } else {
            (Problem::Orphan, None)
        };
        found.push(Disagreement { key: key.clone(), problem, fix });
    }
    Ok(found)
}

/// Rows that need one of several index entries and have none.
async fn unplaced(read: &impl Read, table: &Rows, pairs: &[Entry]) -> Result<Vec<Disagreement>, StoreError> {
    let rows = pairs.iter().filter_map(|(key, value)| (table.one_of)(key, value).ok());
    let rows: Vec<Vec<Entry>> = rows.filter(|entries| !entries.is_empty()).collect();
    let wanted: Vec<Key> = rows.iter().flatten().map(|(key, _)| key.clone()).collect();
    let mut there = read.get_many_bytes(&wanted).await?.into_iter();
    let mut found = Vec::new();
    for entries in rows {
        let has_one = there.by_ref().take(entries.len()).flatten().count() > 0;
        if let Some((key, value)) = entries.into_iter().next().filter(|_| !has_one) {
            let fix = Some(Fix { key: key.clone(), value: Some(value) });
            found.push(Disagreement { key, problem: Problem::Missing, fix });
        }
    }
    Ok(found)
}

/// Parts of what is not there.
async fn parts_page(read: &impl Read, parts: &Parts, pairs: &[Entry]) -> Result<Vec<Disagreement>, StoreError> {
    let mut found = Vec::new();
    for (key, _) in pairs {
        let is_part = match (parts.whole)(key) {
            Some(whole) => read.count(&whole, 1).await? > 0,
            None => false,
        };
        if !is_part {
            let fix = Some(Fix { key: key.clone(), value: None });
            found.push(Disagreement { key: key.clone(), problem: Problem::LeftOver, fix });
        }
    }
    Ok(found)
}

/// Whether the row that an index entry leads to needs it just so.
async fn claims(read: &impl Read, key: &[u8], value: &Bytes) -> Result<bool, StoreError> {
    let Some(row) = index_of(key).and_then(|index| (index.row)(key, value)) else { return Ok(false) };
    let Some(bytes) = read.get_bytes(&row).await? else { return Ok(false) };
    let entries = rows_of(&row).and_then(|table| (table.entries)(&row, &bytes).ok()).unwrap_or_default();
    Ok(entries.iter().any(|entry| entry.0 == key && entry.1 == value))
}

/// From index entries back to rows.
async fn index_page(read: &impl Read, index: &Index, pairs: &[Entry]) -> Result<Vec<Disagreement>, StoreError> {
    let rows: Vec<Option<Key>> = pairs.iter().map(|(key, value)| (index.row)(key, value)).collect();
    let wanted: Vec<Key> = rows.iter().flatten().cloned().collect::<BTreeSet<_>>().into_iter().collect();
    let values = read.get_many_bytes(&wanted).await?;
    // What each row needs; a row that cannot be read is reported where rows are walked.
    let mut needed: BTreeMap<&Key, Option<BTreeSet<Key>>> = BTreeMap::new();
    for (row, value) in wanted.iter().zip(values) {
        let Some(value) = value else { continue };
        let both = |table: &Rows| Some(((table.entries)(row, &value).ok()?, (table.one_of)(row, &value).ok()?));
        let entries = rows_of(row).and_then(both);
        let keys = entries.map(|(all, one_of)| all.into_iter().chain(one_of).map(|(key, _)| key).collect());
        needed.insert(row, keys);
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
            found.push(Disagreement { key: key.clone(), problem: Problem::Stray, fix });
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests;
