//! Removes commits that no ref has reached for `git.prune_after_days`.
//!
//! The row of a repository contains the time of its next pruning. Pushes set that time, so a repository that
//! receives no more pushes is pruned as well. The first run finds the unreachable objects and records the time;
//! a later run removes them.
//!
//! Acknowledged data that it could remove: commits that a client pushed. It removes only objects that git finds
//! unreachable from all refs while it holds the repository's lock, so that no ref is updated, and that an earlier run
//! found unreachable at least `git.prune_after_days` ago. Deleted repositories are skipped, because they can be
//! restored. Git reads the files of refs to find what is reachable, so all of them are compared with the rows first
//! ([`ref_moves::require_files`]), even if `farrier-copy` has the current version. A push that found objects before
//! they were removed looks them up again: the transaction that drops the old packs raises `prune_epoch` and forbids
//! moves of refs; when git finds these packs no more, another one raises it again and permits them. Killed in between,
//! the next use of the repository does that (`tidying::complete`). Nothing is removed while a pack of the manifest is
//! missing (`tidying::basis`).

use std::error::Error as StdError;

use farrier_proto::store::Repository;

use crate::{
    clock::Millis,
    git::RepositoryLock,
    service::{
        Context, Error, migrations, ref_moves,
        tidying::{self, Objects},
    },
    store::{Tx, repositories},
};

const DAY_MS: Millis = 86_400_000;
/// Maximum number of attempts, if another node changes the repository meanwhile.
const ATTEMPTS: usize = 3;
/// Repositories to check per step.
const BATCH: usize = 256;
/// The time of the next run if no object can be unreachable before the next push.
const NEVER: Millis = Millis::MAX;

/// Returns the time of the next run after a push. `loses_objects`: the push deleted a branch or a tag, or moved
/// a tag.
pub(in crate::service) fn due_after_push(context: &Context, before: &Repository, loses_objects: bool) -> Millis {
    // Most pushes make nothing unreachable, and a run packs the whole repository.
    let pause_ms = if loses_objects { DAY_MS } else { keep_ms(context).max(DAY_MS) };
    due_ms(context, before).min(context.now_ms().saturating_add(pause_ms))
}

/// Sets an earlier time for the next run after a forced push. A failure is only logged: the push has already
/// set a later time.
pub(in crate::service) async fn plan_after_loss(context: &Context, id: u64) {
    let planned = context.store.write(async |tx: Tx| {
        if let Some(before) = repositories::get(&tx, id).await? {
            let row = Repository { prune_due_ms: due_after_push(context, &before, true), ..before.clone() };
            repositories::put(&tx, Some(&before), &row);
        }
        Ok::<_, Error>(())
    });
    if let Err(error) = planned.await {
        tracing::warn!(
            repository = id,
            error = &error as &dyn StdError,
            "a repository will be pruned later than usual"
        );
    }
}

/// Prunes all due repositories, one after the other. Returns when to check again; `None`: pruning is switched
/// off.
pub async fn prune_due(context: &Context) -> Result<Option<Millis>, Error> {
    let (started, mut after) = (context.now_ms(), 0);
    loop {
        if context.config.git.prune_after_days == 0 {
            return Ok(None);
        }
        let rows = repositories::after_id(&context.store.read().await?, after, BATCH).await?;
        let Some(last) = rows.last() else { break };
        after = last.id;
        for row in rows {
            if due_ms(context, &row) <= context.now_ms() && migrations::pending(&row).is_none() {
                prune(context, row.id).await?;
            }
        }
    }
    // Every push sets a time at least a day in the future, so a daily check misses none.
    Ok(Some(started.saturating_add(DAY_MS)))
}

/// Prunes one repository and records the time of its next run. If git fails, the failure is logged and the next
/// run is a day later.
async fn prune(context: &Context, id: u64) -> Result<(), Error> {
    let _tidying = context.tidying.lock(id).await;
    let lock = context.git.lock(id).await;
    // Read under the lock: a backup that lists the files later waits for the lock first. The end of the backup wakes
    // the task.
    if context.git.removals().is_held() {
        return Ok(());
    }
    let row = repositories::get(&context.store.read().await?, id).await?;
    let row = row.filter(|row| !row.deleted && due_ms(context, row) <= context.now_ms());
    let Some(row) = row else { return Ok(()) };
    // Read only once: a reload could change it to 0 in between, which would remove all unreachable objects.
    let keep_ms = keep_ms(context);
    if keep_ms == 0 {
        return Ok(());
    }
    let now = context.now_ms();
    let next = match run_git(context, &row, now, keep_ms, lock).await {
        Ok(None) => NEVER,
        Ok(Some(oldest)) => {
            let oldest_ms = Millis::try_from(oldest).unwrap_or(NEVER).saturating_mul(1_000);
            // An object that a newer object needs is kept beyond its time.
            oldest_ms.saturating_add(keep_ms).max(now.saturating_add(DAY_MS))
        }
        Err(error) => {
            let error = &error as &dyn StdError;
            tracing::warn!(repository = id, error, "a repository was not pruned; the next try is tomorrow");
            now.saturating_add(DAY_MS)
        }
    };
    let bytes = context.git.size_bytes(id).await.unwrap_or(row.size_bytes);
    let known = row.prune_due_ms;
    context
        .store
        .write(async |tx: Tx| {
            let Some(before) = repositories::get(&tx, id).await? else { return Ok(()) };
            // A forced push was found during this run. Its earlier time is kept.
            let planned = if before.prune_due_ms == known { NEVER } else { before.prune_due_ms };
            let row = Repository { size_bytes: bytes, prune_due_ms: next.min(planned), ..before.clone() };
            repositories::put(&tx, Some(&before), &row);
            Ok(())
        })
        .await
}

/// Prunes the directory. Returns the time of the oldest unreachable object that is kept, in seconds.
async fn run_git(
    context: &Context,
    row: &Repository,
    now: Millis,
    keep_ms: Millis,
    lock: RepositoryLock,
) -> Result<Option<u64>, Error> {
    let id = row.id;
    let lock = ref_moves::require_files(context, id, lock).await?;
    // A fork shares its files with other repositories until it is packed again.
    if row.parent != 0 && !context.git.has_unreachable(id, &lock).await.map_err(Error::git("counting objects"))? {
        return Ok(None);
    }
    let secs = |ms: Millis| u64::try_from(ms.div_euclid(1_000)).unwrap_or(0);
    let times = (secs(now), secs(now.saturating_sub(keep_ms)));
    let task_context = context.clone();
    // The caller is dropped when the daemon stops, and pushes may still end then.
    context.tasks.carry(async move { remove_objects(&task_context, id, times, lock).await }).await
}

/// Replaces the packs by new ones, which lack objects that have expired. Ends git when the daemon stops.
async fn remove_objects(
    context: &Context,
    id: u64,
    times: (u64, u64),
    lock: RepositoryLock,
) -> Result<Option<u64>, Error> {
    for _ in 0..ATTEMPTS {
        // A repository whose loose objects wait for the end of a backup has no manifest.
        let basis = tidying::basis(context, id, &lock).await?.ok_or(Error::Busy)?;
        // The pruned objects may be in packs that tidying has dropped.
        tidying::hide(context, id, &lock).await?;
        let packs: Vec<String> = basis.packs.keys().cloned().collect();
        let run = Box::pin(context.git.prune(id, times, &packs, &lock));
        let pruned = tokio::select! {
            () = context.tasks.stop().cancelled() => return Err(Error::Busy),
            pruned = run => pruned.map_err(Error::git("pruning a repository"))?,
        };
        if !tidying::exchange(context, id, (&basis, &packs), &pruned.new, Objects::Leave, &lock).await? {
            continue;
        }
        tidying::end_pruning(context, id, &packs, &lock).await?;
        drop(lock);
        if let Err(error) = tidying::write_derived(context, id).await {
            let error = &error as &dyn StdError;
            tracing::warn!(repository = id, error, "no bitmap was written after pruning; the next tidying writes one");
        }
        return Ok(pruned.oldest);
    }
    Err(Error::Busy)
}

/// Returns when a repository is pruned next.
pub(in crate::service) fn due_ms(context: &Context, row: &Repository) -> Millis {
    match row.prune_due_ms {
        0 => row.created_ms.saturating_add(keep_ms(context)),
        due => due,
    }
}

fn keep_ms(context: &Context) -> Millis {
    Millis::from(context.config.git.prune_after_days).saturating_mul(DAY_MS)
}
