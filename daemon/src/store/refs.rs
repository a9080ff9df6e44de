//! The values of refs, the version of each repository, and marks for `HEAD` updates and for pushes of earlier releases.
//!
//! The rows decide which value a ref has; the files in the git directory are written from them. A transaction that
//! changes refs ends with [`advance`].

pub mod changes;
mod convert;

use std::collections::{BTreeMap, BTreeSet};

use farrier_proto::store::{ChangeRecord, PushMark, RefStep, Reference, RepositoryVersion, StoredRef};

use super::{
    Read, StoreError, Tx, dropped_packs,
    engine::{EngineError, Key, Range, Scan},
    keys, packs, value,
};

pub use self::convert::{convert, is_converted};

/// Number of rows read at a time.
const PAGE: usize = 1_000;
/// Number of changes of a repository that are kept.
const CHANGES_KEPT: u64 = 256;
/// Maximum number of refs that a change lists.
const STEPS_MAX: usize = 1_000;

/// Of the rows that are deleted in one step, each of this many may have the files of a pack, which are large.
const INLINE_PER_LIMIT: usize = 32;

/// The value of a ref. Object ids are in hexadecimal.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Ref {
    /// The object id.
    pub tip: String,
    /// If `tip` is a tag object: the object to which it leads.
    pub peeled: Option<String>,
}

impl From<StoredRef> for Ref {
    fn from(row: StoredRef) -> Self {
        Self { tip: hex::encode(&row.tip), peeled: (!row.peeled.is_empty()).then(|| hex::encode(&row.peeled)) }
    }
}

/// Returns the version of a repository; `None` if it has no refs yet because its import has not ended, or if it does
/// not exist.
pub async fn version(read: &impl Read, repository: u64) -> Result<Option<RepositoryVersion>, StoreError> {
    read.get(&keys::repository_version(repository)).await
}

/// Returns the object id of each of `names`; `None` for refs that do not exist.
pub async fn tips(read: &impl Read, repository: u64, names: &[String]) -> Result<Vec<Option<String>>, StoreError> {
    let keys: Vec<Key> = names.iter().map(|name| keys::stored_ref(repository, name)).collect();
    let rows = read.get_many::<StoredRef>(&keys).await?;
    Ok(rows.into_iter().map(|row| row.map(|row| hex::encode(&row.tip))).collect())
}

/// Returns all branches and tags of a repository.
pub async fn all(read: &impl Read, repository: u64) -> Result<BTreeMap<String, String>, StoreError> {
    let mut all = BTreeMap::new();
    for prefix in ["refs/heads/", "refs/tags/"] {
        let mut range = Range::prefix(keys::stored_refs(repository, prefix));
        loop {
            let page = read.scan::<StoredRef>(&Scan::of(range.clone(), PAGE)).await?;
            let Some((last, _)) = page.last() else { break };
            range = range.after(last);
            all.extend(
                page.into_iter()
                    .filter_map(|(key, row)| Some((keys::stored_ref_name(&key)?.to_owned(), hex::encode(&row.tip)))),
            );
        }
    }
    Ok(all)
}

/// Returns the refs with names after `after`, sorted by name, at most `limit`.
pub async fn page(
    read: &impl Read,
    repository: u64,
    after: Option<&str>,
    limit: usize,
) -> Result<Vec<(String, Ref)>, StoreError> {
    let mut range = Range::prefix(keys::stored_refs(repository, ""));
    if let Some(after) = after {
        range = range.after(&keys::stored_ref(repository, after));
    }
    let rows = read.scan::<StoredRef>(&Scan::of(range, limit)).await?;
    let named = rows.into_iter().filter_map(|(key, row)| Some((keys::stored_ref_name(&key)?.to_owned(), row.into())));
    Ok(named.collect())
}

/// Returns the values of refs by name. Names of refs that do not exist have the value `None`.
pub async fn many(
    read: &impl Read,
    repository: u64,
    names: &[String],
) -> Result<Vec<(String, Option<Ref>)>, StoreError> {
    let keys: Vec<Key> = names.iter().map(|name| keys::stored_ref(repository, name)).collect();
    let rows = read.get_many::<StoredRef>(&keys).await?;
    Ok(names.iter().cloned().zip(rows.into_iter().map(|row| row.map(Ref::from))).collect())
}

/// Returns the object ids that the refs of a repository have, each one once.
pub async fn all_tips(read: &impl Read, repository: u64) -> Result<Vec<String>, StoreError> {
    let (mut tips, mut range) = (BTreeSet::new(), Range::prefix(keys::stored_refs(repository, "")));
    loop {
        let rows = read.scan::<StoredRef>(&Scan::of(range.clone(), PAGE)).await?;
        let Some((last, _)) = rows.last() else { return Ok(tips.into_iter().collect()) };
        range = range.after(last);
        tips.extend(rows.into_iter().map(|(_, row)| hex::encode(&row.tip)));
    }
}

/// Returns the number of branches of a repository. Reads all of them: the row of the repository has the number as well.
pub async fn count_branches(read: &impl Read, repository: u64) -> Result<u64, StoreError> {
    read.count(&Range::prefix(keys::stored_refs(repository, "refs/heads/")), u64::MAX).await
}

/// Returns a ref that cannot exist together with `name`: one whose name is a directory of `name`, or one below `name`.
pub async fn in_the_way(read: &impl Read, repository: u64, name: &str) -> Result<Option<String>, StoreError> {
    // No ref is named `refs`. An adopted repository can have one whose name has a single component below it.
    let directories: Vec<String> = name.match_indices('/').skip(1).map(|(at, _)| name[..at].to_owned()).collect();
    let found = tips(read, repository, &directories).await?;
    if let Some((directory, _)) = directories.into_iter().zip(found).find(|(_, tip)| tip.is_some()) {
        return Ok(Some(directory));
    }
    let below = Range::prefix(keys::stored_refs(repository, &format!("{name}/")));
    let pairs = read.scan_bytes(&Scan::of(below, 1)).await?;
    Ok(pairs.first().and_then(|(key, _)| keys::stored_ref_name(key)).map(str::to_owned))
}

/// Writes the value of a ref; `None` deletes it. The caller ends the transaction with [`advance`].
pub fn set(tx: &Tx, repository: u64, name: &str, value: Option<&Ref>) {
    let key = keys::stored_ref(repository, name);
    match value {
        Some(value) => {
            let peeled = value.peeled.as_deref().map(id_bytes).unwrap_or_default();
            tx.put(key, &StoredRef { tip: id_bytes(&value.tip), peeled });
        }
        None => tx.delete(key),
    }
}

/// Writes the refs of a new repository, and its first version.
pub fn create(tx: &Tx, repository: u64, sha256: bool, closed: bool, tips: &[(String, Ref)]) {
    for (name, value) in tips {
        set(tx, repository, name, Some(value));
    }
    let version = RepositoryVersion { version: 1, sha256, closed, ..RepositoryVersion::default() };
    tx.put(keys::repository_version(repository), &version);
}

/// Writes the next version of a repository and the change that led to it, and returns its number.
///
/// `before` is the version that this transaction has read, with new values of its other fields if they change. If
/// another transaction moves refs of the repository at the same time, this one conflicts. `change` is a random number
/// by which [`changes::find`] finds this change.
pub async fn advance(
    tx: &Tx,
    repository: u64,
    before: &RepositoryVersion,
    change: u64,
    steps: Vec<RefStep>,
) -> Result<u64, StoreError> {
    // Because of this read, the transaction conflicts with others that move refs of the repository.
    if version(tx, repository).await?.is_some_and(|stored| stored.version > before.version) {
        return Err(EngineError::Conflict.into());
    }
    let version = before.version + 1;
    tx.put(keys::repository_version(repository), &RepositoryVersion { version, ..*before });
    let many = steps.len() > STEPS_MAX;
    let refs = if many { Vec::new() } else { steps };
    tx.put(keys::ref_change(repository, version), &ChangeRecord { change, refs, many });
    if let Some(oldest) = version.checked_sub(CHANGES_KEPT) {
        tx.delete(keys::ref_change(repository, oldest));
    }
    Ok(version)
}

/// Records that objects leave a repository: packs with them are dropped, and git may still find them until
/// [`end_hiding`]. Raises the prune epoch.
pub async fn begin_hiding(tx: &Tx, repository: u64) -> Result<(), StoreError> {
    set_hiding(tx, repository, true).await
}

/// Records that git finds no dropped object any more. Raises the prune epoch, so that a push that looked up its objects
/// before looks them up again.
pub async fn end_hiding(tx: &Tx, repository: u64) -> Result<(), StoreError> {
    set_hiding(tx, repository, false).await
}

async fn set_hiding(tx: &Tx, repository: u64, hiding: bool) -> Result<(), StoreError> {
    if let Some(before) = version(tx, repository).await? {
        let prune_epoch = before.prune_epoch + 1;
        tx.put(keys::repository_version(repository), &RepositoryVersion { prune_epoch, hiding, ..before });
    }
    Ok(())
}

/// Deletes at most `limit` rows about the refs of a repository. Returns whether none is left.
///
/// Called only for repositories that were deleted permanently, after their files were removed.
pub async fn forget_some(tx: &Tx, repository: u64, limit: usize) -> Result<bool, StoreError> {
    if !packs::inline::delete_some(tx, repository, limit.div_ceil(INLINE_PER_LIMIT)).await? {
        return Ok(false);
    }
    let pairs = tx.scan_bytes(&Scan::of(Range::prefix(keys::repository_refs(repository)), limit)).await?;
    let is_last = pairs.len() < limit;
    for (key, bytes) in pairs {
        packs::note_removed(tx, repository, &key, &bytes)?;
        if let Some(name) = keys::dropped_pack_name(&key) {
            dropped_packs::forget_row(tx, repository, name, &value::decode(&key, &bytes)?);
        }
        tx.delete(key);
    }
    Ok(is_last)
}

/// Returns the bytes of an object id. Ids come from git, or the parser of commands has checked them.
fn id_bytes(id: &str) -> Vec<u8> {
    hex::decode(id).expect("object ids are hexadecimal")
}

/// Writes a push mark, as releases with format level 3 did. Only backups write marks now.
pub fn mark(tx: &Tx, repository: u64, push: u64, row: &PushMark) {
    tx.put(keys::push_mark(repository, push), row);
}

/// Removes the mark of a push whose result is recorded.
pub fn unmark(tx: &Tx, repository: u64, push: u64) {
    tx.delete(keys::push_mark(repository, push));
}

/// Returns the pushes whose result an earlier release did not record, with their repository, number and mark.
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

#[cfg(test)]
mod tests;
