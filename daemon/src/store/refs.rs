//! The recorded values of branches and tags, and marks for pushes and `HEAD` updates that are not recorded yet.

use std::collections::BTreeMap;

use farrier_proto::store::{PushMark, RefTip, Reference};

use super::{
    Read, StoreError, Tx,
    engine::{Key, Range, Scan},
    keys,
};

/// Number of rows read at a time.
const PAGE: usize = 1_000;

/// Returns the recorded object id of each of `names`; `None` if the ref was not recorded.
pub async fn tips(read: &impl Read, repository: u64, names: &[String]) -> Result<Vec<Option<String>>, StoreError> {
    let keys: Vec<Key> = names.iter().map(|name| keys::ref_tip(repository, name)).collect();
    let rows = read.get_many::<RefTip>(&keys).await?;
    Ok(rows.into_iter().map(|row| row.map(|tip| tip.object_id)).collect())
}

/// Returns all recorded refs of a repository.
pub async fn all(read: &impl Read, repository: u64) -> Result<BTreeMap<String, String>, StoreError> {
    let mut all = BTreeMap::new();
    let mut range = Range::prefix(keys::ref_tips(repository));
    loop {
        let page = read.scan::<RefTip>(&Scan::of(range.clone(), PAGE)).await?;
        let Some((last, _)) = page.last() else { return Ok(all) };
        range = range.after(last);
        let named = page.into_iter().filter_map(|(key, tip)| Some((keys::ref_tip_name(&key)?.to_owned(), tip)));
        all.extend(named.map(|(name, tip)| (name, tip.object_id)));
    }
}

/// Returns the number of recorded branches of a repository. Reads all of them: the row of the repository has the number
/// as well.
pub async fn count_branches(read: &impl Read, repository: u64) -> Result<u64, StoreError> {
    read.count(&Range::prefix(keys::branch_tips(repository)), u64::MAX).await
}

/// Records the value of a ref; `None` deletes it.
pub fn set(tx: &Tx, repository: u64, name: &str, object_id: Option<&str>) {
    let key = keys::ref_tip(repository, name);
    match object_id {
        Some(id) => tx.put(key, &RefTip { object_id: id.to_owned() }),
        None => tx.delete(key),
    }
}

/// Marks a push as in progress.
pub fn mark(tx: &Tx, repository: u64, push: u64, row: &PushMark) {
    tx.put(keys::push_mark(repository, push), row);
}

/// Removes the mark of a push whose result is recorded.
pub fn unmark(tx: &Tx, repository: u64, push: u64) {
    tx.delete(keys::push_mark(repository, push));
}

/// Returns the pushes in progress with their repository, number and mark.
pub async fn marks(read: &impl Read) -> Result<Vec<(u64, u64, PushMark)>, StoreError> {
    let scan = Scan::of(Range::prefix(keys::push_marks()), usize::MAX);
    let rows = read.scan::<PushMark>(&scan).await?;
    let parts = rows.into_iter().filter_map(|(key, mark)| Some((keys::trailing_ids(&key)?, mark)));
    Ok(parts.map(|((repository, push), mark)| (repository, push, mark)).collect())
}

/// Marks that the `HEAD` of a repository must be set to its default branch.
pub fn mark_head(tx: &Tx, repository: u64) {
    tx.put(keys::head_mark(repository), &Reference { id: repository });
}

/// Removes the mark after `HEAD` was set.
pub fn unmark_head(tx: &Tx, repository: u64) {
    tx.delete(keys::head_mark(repository));
}

/// Returns repositories whose `HEAD` must be set, at most `limit`.
pub async fn marked_heads(read: &impl Read, limit: usize) -> Result<Vec<u64>, StoreError> {
    let pairs = read.scan_bytes(&Scan::of(Range::prefix(keys::head_marks()), limit)).await?;
    Ok(pairs.iter().filter_map(|(key, _)| keys::trailing_id(key)).collect())
}
