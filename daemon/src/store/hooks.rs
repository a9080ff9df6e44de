//! Webhook rows, the index of hooks by scope, and the delivery state of hooks.
//!
//! A hook's scope changes only between system and default. The delivery state is a separate row, so that
//! deliveries do not conflict with transactions that record events.

use farrier_proto::store::{Hook, HookScope, HookState, Reference};

use super::{
    Read, StoreError, Tx,
    engine::{Key, Range, Scan},
    first_time, keys,
};

/// Most hooks with the same scope and target. This bounds the hooks of one event: those of its repository, of
/// the owner and of the system.
pub const PER_SCOPE_MAX: usize = 256;

/// Returns the hook with id `id`.
pub async fn get(read: &impl Read, id: u64) -> Result<Option<Hook>, StoreError> {
    read.get(&keys::hook(id)).await
}

/// Returns the hooks with these ids, in the same order. Ids that do not exist are left out.
pub async fn many(read: &impl Read, ids: &[u64]) -> Result<Vec<Hook>, StoreError> {
    let keys: Vec<Key> = ids.iter().map(|id| keys::hook(*id)).collect();
    Ok(read.get_many(&keys).await?.into_iter().flatten().collect())
}

/// Returns the delivery state of a hook.
pub async fn state(read: &impl Read, id: u64) -> Result<HookState, StoreError> {
    Ok(read.get(&keys::hook_state(id)).await?.unwrap_or_default())
}

/// Returns the delivery states of the hooks with these ids, in the same order.
pub async fn states_of(read: &impl Read, ids: &[u64]) -> Result<Vec<HookState>, StoreError> {
    let keys: Vec<Key> = ids.iter().map(|id| keys::hook_state(*id)).collect();
    Ok(read.get_many(&keys).await?.into_iter().map(Option::unwrap_or_default).collect())
}

/// Returns the delivery states of at most `limit` hooks with their ids. Hooks without deliveries have no state.
pub async fn states(read: &impl Read, limit: usize) -> Result<Vec<(u64, HookState)>, StoreError> {
    let rows = read.scan(&Scan::of(Range::prefix(keys::hook_states()), limit)).await?;
    Ok(rows.into_iter().filter_map(|(key, state)| Some((keys::trailing_id(&key)?, state))).collect())
}

/// Writes the delivery state of a hook.
pub fn put_state(tx: &Tx, id: u64, state: &HookState) {
    tx.put(keys::hook_state(id), state);
}

/// Returns the ids of the hooks of a scope and target, in ascending order.
pub async fn ids_of(read: &impl Read, scope: HookScope, target: u64) -> Result<Vec<u64>, StoreError> {
    let scan = Scan::of(Range::prefix(keys::hooks_of(scope, target)), PER_SCOPE_MAX);
    let pairs = read.scan_bytes(&scan).await?;
    Ok(pairs.iter().filter_map(|(key, _)| keys::trailing_id(key)).collect())
}

/// Returns the hooks of a scope and target, sorted by id.
pub async fn of(read: &impl Read, scope: HookScope, target: u64) -> Result<Vec<Hook>, StoreError> {
    many(read, &ids_of(read, scope, target).await?).await
}

/// Inserts a hook.
pub fn insert(tx: &Tx, row: &Hook) {
    tx.put(keys::scope_hook(row.scope(), row.target_id, row.id), &Reference { id: row.id });
    tx.put(keys::hook(row.id), row);
}

/// Updates a hook. The scope may change between system and default.
pub fn update(tx: &Tx, before: &Hook, row: &Hook) {
    if before.scope != row.scope {
        tx.delete(keys::scope_hook(before.scope(), before.target_id, before.id));
        tx.put(keys::scope_hook(row.scope(), row.target_id, row.id), &Reference { id: row.id });
    }
    tx.put(keys::hook(row.id), row);
}

/// Deletes a hook and its delivery state. Its deliveries are separate rows and are kept.
pub fn delete(tx: &Tx, row: &Hook) {
    tx.delete(keys::scope_hook(row.scope(), row.target_id, row.id));
    if row.retired_ms != 0 {
        tx.delete(keys::retired_hook(row.retired_ms, row.id));
    }
    tx.delete(keys::hook_state(row.id));
    tx.delete(keys::hook(row.id));
}

/// Retires the hooks of a repository that is being deleted. The rows are kept for pending deliveries.
pub async fn retire(tx: &Tx, repository: u64, now: i64) -> Result<(), StoreError> {
    for row in of(tx, HookScope::Repository, repository).await? {
        tx.delete(keys::scope_hook(HookScope::Repository, repository, row.id));
        tx.put(keys::retired_hook(now, row.id), &Reference { id: row.id });
        tx.put(keys::hook(row.id), &Hook { retired_ms: now, ..row });
    }
    Ok(())
}

/// Returns the earliest time at which a hook was retired.
pub async fn first_retired_ms(read: &impl Read) -> Result<Option<i64>, StoreError> {
    first_time(read, keys::retired_hooks(i64::MAX)).await
}

/// Returns hooks that were retired at or before `until_ms`, at most `limit`.
pub async fn retired(read: &impl Read, until_ms: i64, limit: usize) -> Result<Vec<Hook>, StoreError> {
    let pairs = read.scan_bytes(&Scan::of(keys::retired_hooks(until_ms), limit)).await?;
    let ids: Vec<u64> = pairs.iter().filter_map(|(key, _)| keys::trailing_id(key)).collect();
    many(read, &ids).await
}
