//! Removes objects of packs that no row names.
//!
//! Acknowledged data that this could remove: a pack that a row names, or is about to name. An object with a row is
//! never removed: the row is read again right before. An object is stored minutes before its row is written at the
//! latest, and only objects that the server received a day ago are removed. The clock of the server counts. A daemon of
//! another node that was suspended meanwhile writes no row for objects that it stored more than half a day ago
//! (`require_recent`). Objects of rows that were deleted stay for `blobs.keep_deleted_secs`, so that a store that is
//! restored to a point in this time has its packs. What a running backup may read stays as well: its hold is looked for
//! after the rows were read (`removals`).

use futures_util::TryStreamExt as _;

use crate::{
    blob::{BlobError, PackObject, PackObjects},
    clock::Millis,
    service::{Context, Error, removals},
    store::{
        Tx,
        packs::bucket::{self, UnusedObject},
    },
};

/// Rows to read at a time.
const PAGE: usize = 200;
/// Age from which an object without a row belongs to a change that failed.
const ORPHAN_MS: Millis = 86_400_000;

/// The result of a sweep.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Swept {
    /// How many packs were removed.
    pub packs: usize,
    /// Whether the rest waits for the end of a backup.
    pub is_held: bool,
}

/// Removes what is due.
pub async fn sweep(context: &Context) -> Result<Swept, Error> {
    let mut swept = Swept::default();
    if let Some(objects) = &context.packs {
        remove_unused(context, objects, &mut swept).await?;
        remove_orphans(context, objects, &mut swept).await?;
    }
    Ok(swept)
}

fn failed(source: BlobError) -> Error {
    Error::Blob { doing: "removing packs from the bucket", source }
}

/// Removes the objects whose rows were deleted long enough ago. The time counts from the first sweep that finds them.
async fn remove_unused(context: &Context, objects: &PackObjects, swept: &mut Swept) -> Result<(), Error> {
    let keep_ms = Millis::try_from(context.config.blobs.keep_deleted.as_millis()).unwrap_or(Millis::MAX);
    let mut last = None::<UnusedObject>;
    loop {
        let page = bucket::unused(&context.store.read().await?, last.as_ref(), PAGE).await?;
        let is_last = page.len() < PAGE;
        for unused in page {
            let now = context.now_ms();
            let found_ms = if unused.row.found_ms == 0 { now } else { unused.row.found_ms };
            if found_ms.saturating_add(keep_ms) <= now {
                if removals::are_held(context).await? {
                    swept.is_held = true;
                    return Ok(());
                }
                let UnusedObject { repository, object, row, .. } = &unused;
                let pack = PackObject { repository: *repository, name: row.name.clone(), object: object.clone() };
                objects.remove(&pack).await.map_err(failed)?;
                swept.packs += 1;
                update(context, |tx| bucket::forget(tx, &unused)).await?;
            } else if unused.row.found_ms == 0 {
                update(context, |tx| bucket::note_found(tx, &unused, now)).await?;
            }
            last = Some(unused);
        }
        if is_last {
            return Ok(());
        }
    }
}

async fn update(context: &Context, change: impl Fn(&Tx) + Send + Sync) -> Result<(), Error> {
    let written = context.store.write(async |tx: Tx| {
        change(&tx);
        Ok::<_, Error>(())
    });
    written.await
}

/// Removes the objects of changes that failed after they were stored.
async fn remove_orphans(context: &Context, objects: &PackObjects, swept: &mut Swept) -> Result<(), Error> {
    let before_ms = objects.server_time().await.map_err(failed)?.saturating_sub(ORPHAN_MS);
    let mut all = objects.all();
    let mut last: Option<(PackObject, Millis)> = None;
    loop {
        let next = all.try_next().await.map_err(failed)?;
        match (&mut last, next) {
            // The other file of the same pack. The later one counts.
            (Some((pack, received_ms)), Some((same, later_ms))) if *pack == same => {
                *received_ms = later_ms.max(*received_ms);
            }
            (_, next) => {
                let is_end = next.is_none();
                let complete = std::mem::replace(&mut last, next);
                if let Some((pack, _)) = complete.filter(|(_, received_ms)| *received_ms < before_ms) {
                    remove_orphan(context, objects, &pack, swept).await?;
                }
                if is_end || swept.is_held {
                    return Ok(());
                }
            }
        }
    }
}

/// Removes the objects of a pack if no row names them.
async fn remove_orphan(
    context: &Context,
    objects: &PackObjects,
    pack: &PackObject,
    swept: &mut Swept,
) -> Result<(), Error> {
    let read = context.store.read().await?;
    if bucket::is_named(&read, pack.repository, &pack.name, &pack.object).await? {
        return Ok(());
    }
    drop(read);
    if removals::are_held(context).await? {
        swept.is_held = true;
        return Ok(());
    }
    objects.remove(pack).await.map_err(failed)?;
    tracing::info!(repository = pack.repository, name = pack.name, "removed a pack without a row from the bucket");
    swept.packs += 1;
    Ok(())
}
