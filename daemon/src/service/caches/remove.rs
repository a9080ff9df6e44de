//! Deletes cache entries: on request, and with their repository.

use std::collections::BTreeSet;

use farrier_proto::store::CacheEntry;

use crate::{
    service::{
        Context, Error,
        audit::{self, AuditRecorder, Entry, Object},
    },
    store::{Read, Tx, caches},
};

/// Entries to delete per transaction.
const BATCH: usize = 100;
/// Entries to read per step while looking for a key.
const STEP: usize = 1_000;

/// Deletes the entry `id` of a repository. Jobs do not find it any more; its key can be saved again.
pub async fn delete(context: &Context, repository: u64, id: u64) -> Result<(), Error> {
    let is_target = |row: &CacheEntry| row.repository_id == repository && row.content.is_some();
    let deleted = delete_audited(context, &[id], is_target).await?;
    if deleted.is_empty() { Err(Error::NotFound { what: "the cache entry" }) } else { Ok(()) }
}

/// Deletes the entries of a repository with exactly this key, of one ref or of all refs, and returns them.
pub async fn delete_by_key(
    context: &Context,
    repository: u64,
    key: &str,
    git_ref: Option<String>,
) -> Result<Vec<CacheEntry>, Error> {
    let git_ref = git_ref.as_deref();
    let (mut deleted, mut after) = (Vec::new(), 0);
    loop {
        let rows = caches::created_after(&context.store.read().await?, repository, after, STEP).await?;
        let Some(last) = rows.last() else { break };
        after = last.id;
        let is_target = |row: &&CacheEntry| row.key == key && git_ref.is_none_or(|git_ref| git_ref == row.git_ref);
        let ids: Vec<u64> = rows.iter().filter(is_target).map(|row| row.id).collect();
        for ids in ids.chunks(BATCH) {
            deleted.extend(delete_audited(context, ids, |row| row.content.is_some()).await?);
        }
    }
    if deleted.is_empty() { Err(Error::NotFound { what: "a cache entry with this key" }) } else { Ok(deleted) }
}

/// Deletes all entries of a repository that is being removed permanently, so that nothing can use them. The audit log
/// has the deletion of the repository.
pub async fn delete_of_repository(context: &Context, repository: u64) -> Result<(), Error> {
    loop {
        let ids = caches::of_repository(&context.store.read().await?, repository, BATCH).await?;
        if ids.is_empty() {
            return Ok(());
        }
        delete_rows(context, &ids, None, |_| true).await?;
    }
}

/// Deletes those of the entries `ids` that still are a target, records that, and returns their rows. They have the same
/// key.
async fn delete_audited(
    context: &Context,
    ids: &[u64],
    is_target: impl Fn(&CacheEntry) -> bool + Sync,
) -> Result<Vec<CacheEntry>, Error> {
    let recorder = AuditRecorder::new(context);
    delete_rows(context, ids, Some(&recorder), is_target).await
}

/// Deletes those of the entries `ids` that still are a target, and returns their rows.
async fn delete_rows(
    context: &Context,
    ids: &[u64],
    recorder: Option<&AuditRecorder<'_>>,
    is_target: impl Fn(&CacheEntry) -> bool + Sync,
) -> Result<Vec<CacheEntry>, Error> {
    let now = context.now_ms();
    let is_target = &is_target;
    let deleted = context
        .store
        .write(async |tx: Tx| {
            let mut deleted = Vec::new();
            for id in ids {
                if let Some(row) = caches::get(&tx, *id).await?.filter(|row| is_target(row)) {
                    caches::delete(&tx, &row, now);
                    deleted.push(row);
                }
            }
            if let (Some(recorder), Some(first)) = (recorder, deleted.first()) {
                recorder.record(&tx, entry_of(&tx, first, &deleted).await?).await?;
            }
            Ok::<_, Error>(deleted)
        })
        .await?;
    context.sweep.due_at(now);
    Ok(deleted)
}

/// Returns the audit entry of the deletion of `rows`, which have the same key.
async fn entry_of(read: &impl Read, first: &CacheEntry, rows: &[CacheEntry]) -> Result<Entry, Error> {
    let path = audit::path_of(read, first.repository_id).await?;
    let id = if rows.len() == 1 { first.id } else { 0 };
    let object = Object::new("cache entry", id, &first.key).in_repository(first.repository_id, &path);
    let refs: BTreeSet<&str> = rows.iter().map(|row| row.git_ref.as_str()).collect();
    let entry = Entry::new(audit::Action::CacheDelete, object).had("refs", refs.into_iter().collect::<Vec<_>>());
    Ok(if rows.len() == 1 { entry } else { entry.count(rows.len() as u64) })
}
