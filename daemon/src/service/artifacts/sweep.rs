//! Background maintenance of artifacts: expires them, drops abandoned uploads and removes unneeded bytes.
//!
//! Each step processes what the store reports as due. A restart, a lost wake-up and a repeated wake-up therefore need
//! no special handling.

use std::collections::HashSet;

use farrier_proto::store::ArtifactState;
use futures_util::TryStreamExt as _;

use super::{block_refs, remove, rows};
use crate::{
    blob::{BlobError, UploadKey},
    clock::Millis,
    service::{
        Context, Error,
        audit::{self, AuditRecorder, Entry, Object},
        deleted, removals,
    },
    store::{StoreError, Tx},
};

/// Items of one kind to handle per pass.
const BATCH: usize = 100;
/// Rows to delete per transaction.
const ROWS: usize = 2_000;

/// Handles a bounded number of due items. Returns whether more may be due.
pub async fn sweep(context: &Context) -> Result<bool, Error> {
    let now = context.now_ms();
    let mut more = expire_due(context, now).await?;
    more |= abandon_due(context, now).await?;
    more |= remove_deleted(context, now).await?;
    more |= collect(context).await?;
    more |= trim(context).await?;
    Ok(more)
}

/// Returns when the next artifact expires, the next upload counts as abandoned, or the retention of the next deleted
/// artifact ends.
pub async fn next_due_ms(context: &Context) -> Result<Option<Millis>, Error> {
    let snapshot = context.store.read().await?;
    let expiry = rows::first_expiry_ms(&snapshot).await?;
    let upload =
        rows::first_upload_ms(&snapshot).await?.map(|started| started.saturating_add(abandoned_after(context)));
    let deleted = rows::first_deleted_ms(&snapshot).await?.map(|since| deleted::kept_until_ms(context, since));
    Ok(expiry.into_iter().chain(upload).chain(deleted).min())
}

fn abandoned_after(context: &Context) -> Millis {
    i64::try_from(context.config.artifacts.abandoned.as_millis()).unwrap_or(i64::MAX)
}

async fn expire_due(context: &Context, now: Millis) -> Result<bool, Error> {
    let due = rows::expired(&context.store.read().await?, now, BATCH).await?;
    if due.is_empty() {
        return Ok(false);
    }
    let recorder = &AuditRecorder::new(context);
    let ids = &due;
    context
        .store
        .write(async |tx: Tx| {
            let mut count = 0;
            for id in ids {
                let row = rows::get(&tx, *id).await?;
                if let Some(row) = row.filter(|row| row.state() == ArtifactState::Final && row.expires_ms <= now) {
                    remove::expire(&tx, &row, now);
                    count += 1;
                }
            }
            record_summary(&tx, recorder, "expired artifacts", count).await?;
            Ok::<_, Error>(())
        })
        .await?;
    Ok(due.len() == BATCH)
}

async fn abandon_due(context: &Context, now: Millis) -> Result<bool, Error> {
    let before = now.saturating_sub(abandoned_after(context));
    let due = rows::uploads_started_until(&context.store.read().await?, before, BATCH).await?;
    for id in &due {
        context
            .store
            .write(async |tx: Tx| {
                let row = rows::get(&tx, *id).await?;
                let is_due = |started: Millis| started <= before;
                if let Some(row) = row.filter(|row| row.upload.as_ref().is_some_and(|u| is_due(u.started_ms))) {
                    remove::abandon(&tx, &row, now);
                }
                Ok::<_, Error>(())
            })
            .await?;
    }
    Ok(due.len() == BATCH)
}

/// Removes deleted artifacts whose retention is over. A restore that was committed first keeps the artifact, because
/// its row is checked in the same transaction.
async fn remove_deleted(context: &Context, now: Millis) -> Result<bool, Error> {
    let until = deleted::retention_over_until_ms(context);
    let due = rows::deleted_until(&context.store.read().await?, until, BATCH).await?;
    if due.is_empty() {
        return Ok(false);
    }
    let recorder = &AuditRecorder::new(context);
    let ids = &due;
    context
        .store
        .write(async |tx: Tx| {
            let mut count = 0;
            for id in ids {
                let row = rows::get(&tx, *id).await?;
                if let Some(row) = row.filter(|row| row.deleted_ms != 0 && row.deleted_ms <= until) {
                    rows::delete(&tx, &row, now);
                    count += 1;
                }
            }
            record_summary(&tx, recorder, "deleted artifacts", count).await?;
            Ok::<_, Error>(())
        })
        .await?;
    Ok(due.len() == BATCH)
}

/// Records the removal of `count` artifacts whose retention is over.
async fn record_summary(tx: &Tx, recorder: &AuditRecorder<'_>, name: &str, count: u64) -> Result<(), StoreError> {
    if count > 0 {
        let object = Object::new("artifacts", 0, name);
        recorder.record(tx, Entry::new(audit::Action::RetentionDelete, object).count(count)).await?;
    }
    Ok(())
}

/// Removes discarded bytes, then their rows, unless more blocks are still being received.
pub(in crate::service) async fn collect(context: &Context) -> Result<bool, Error> {
    let limit = BATCH + context.receiving.count();
    let due = rows::garbage(&context.store.read().await?, limit).await?;
    for (artifact, generation) in &due {
        let key = UploadKey { artifact: *artifact, generation: *generation };
        // After the row was read: a backup whose snapshot does not have the row holds its bytes. The end of the backup
        // wakes the sweep of its node; others look again every few seconds.
        if removals::are_held(context).await? {
            return Ok(false);
        }
        let is_receiving = context.receiving.sweep_after(key);
        context.digests.forget(key);
        context.blobs.remove_upload(key).await.map_err(removing)?;
        if is_receiving {
            continue;
        }
        while !context.store.write(async |tx: Tx| rows::forget(&tx, *artifact, *generation, ROWS).await).await? {}
        tracing::debug!(artifact, generation, "removed artifact bytes");
    }
    Ok(due.len() == limit)
}

/// Removes block files of finalized uploads that are not in their block lists.
async fn trim(context: &Context) -> Result<bool, Error> {
    let limit = BATCH + context.receiving.count();
    let due = rows::trims(&context.store.read().await?, limit).await?;
    for (artifact, generation) in &due {
        let key = UploadKey { artifact: *artifact, generation: *generation };
        // As in `collect`: an upload that was not finalized in the snapshot of a backup has rows for all its blocks.
        if removals::are_held(context).await? {
            return Ok(false);
        }
        let is_receiving = context.receiving.sweep_after(key);
        let refs = block_refs(&context.store.read().await?, key).await?;
        let named: HashSet<u64> = refs.iter().map(|block| block.file).collect();
        let mut files = context.blobs.files(key);
        while let Some(block) = files.try_next().await.map_err(removing)? {
            if !named.contains(&block.file) {
                context.blobs.remove(key, block.file).await.map_err(removing)?;
            }
        }
        if is_receiving {
            continue;
        }
        while !context
            .store
            .write(async |tx: Tx| rows::delete_block_rows(&tx, *artifact, *generation, ROWS).await)
            .await?
        {}
    }
    Ok(due.len() == limit)
}

fn removing(source: BlobError) -> Error {
    Error::Blob { doing: "reclaiming bytes", source }
}
