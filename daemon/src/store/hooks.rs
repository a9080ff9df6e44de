//! Webhooks: rows, and which of them a place has.
//!
//! A hook never moves from one place to another but between system and default. What deliveries
//! change of it is a row of its own, so that they never meet an event that is being recorded.

use farrier_proto::store::{Hook, HookScope, HookState, Reference};

use super::{
    Read, StoreError, Tx,
    engine::{Key, Range, Scan},
    first_time, keys,
};

/// Most hooks of one place, so that the hooks of one event have a bound: those of its repository,
/// of the owner and of the system.
pub const PER_PLACE_MAX: usize = 256;

/// The hook with number `id`.
pub async fn get(read: &impl Read, id: u64) -> Result<Option<Hook>, StoreError> {
    read.get(&keys::hook(id)).await
}

/// The hooks with these numbers, in their order; those that do not exist are left out.
pub async fn many(read: &impl Read, ids: &[u64]) -> Result<Vec<Hook>, StoreError> {
    let keys: Vec<Key> = ids.iter().map(|id| keys::hook(*id)).collect();
    Ok(read.get_many(&keys).await?.into_iter().flatten().collect())
}

/// How the deliveries of a hook go.
pub async fn state(read: &impl Read, id: u64) -> Result<HookState, StoreError> {
    Ok(read.get(&keys::hook_state(id)).await?.unwrap_or_default())
}

/// How the deliveries of the hooks with these numbers go, in their order.
pub async fn states_of(read: &impl Read, ids: &[u64]) -> Result<Vec<HookState>, StoreError> {
    let keys: Vec<Key> = ids.iter().map(|id| keys::hook_state(*id)).collect();
    Ok(read.get_many(&keys).await?.into_iter().map(Option::unwrap_or_default).collect())
}

/// How the deliveries of hooks go, by the hook's number, for at most `most` of those that have been
/// sent something.
pub async fn states(read: &impl Read, most: usize) -> Result<Vec<(u64, HookState)>, StoreError> {
    let rows = read.scan(&Scan::of(Range::prefix(keys::hook_states()), most)).await?;
    Ok(rows.into_iter().filter_map(|(key, state)| Some((keys::trailing_id(&key)?, state))).collect())
}

/// Writes how the deliveries of a hook go.
pub fn put_state(tx: &Tx, id: u64, state: &HookState) {
    tx.put(keys::hook_state(id), state);
}

/// Numbers of the hooks of a place, in order.
pub async fn ids_of(read: &impl Read, scope: HookScope, target: u64) -> Result<Vec<u64>, StoreError> {
    let scan = Scan::of(Range::prefix(keys::hooks_of(scope, target)), PER_PLACE_MAX);
    let pairs = read.scan_bytes(&scan).await?;
    Ok(pairs.iter().filter_map(|(key, _)| keys::trailing_id(key)).collect())
}

/// The hooks of a place by number.
pub async fn of(read: &impl Read, scope: HookScope, target: u64) -> Result<Vec<Hook>, StoreError> {
    many(read, &ids_of(read, scope, target).await?).await
}

/// Inserts `row`.
pub fn insert(tx: &Tx, row: &Hook) {
    tx.put(keys::hook_place(row.scope(), row.target_id, row.id), &Reference { id: row.id });
    tx.put(keys::hook(row.id), row);
}

/// Writes `row` over `before`, which may have been of the other kind of administrators' hooks.
pub fn update(tx: &Tx, before: &Hook, row: &Hook) {
    if before.scope != row.scope {
        tx.delete(keys::hook_place(before.scope(), before.target_id, before.id));
        tx.put(keys::hook_place(row.scope(), row.target_id, row.id), &Reference { id: row.id });
    }
    tx.put(keys::hook(row.id), row);
}

/// Removes a hook. Its deliveries are rows of their own.
pub fn delete(tx: &Tx, row: &Hook) {
    tx.delete(keys::hook_place(row.scope(), row.target_id, row.id));
    if row.retired_ms != 0 {
        tx.delete(keys::retired_hook(row.retired_ms, row.id));
    }
    tx.delete(keys::hook_state(row.id));
    tx.delete(keys::hook(row.id));
}

/// Takes the hooks of a repository that goes out of its place. The rows stay for what they still
/// have to deliver.
pub async fn retire(tx: &Tx, repository: u64, now: i64) -> Result<(), StoreError> {
    for row in of(tx, HookScope::Repository, repository).await? {
        tx.delete(keys::hook_place(HookScope::Repository, repository, row.id));
        tx.put(keys::retired_hook(now, row.id), &Reference { id: row.id });
        tx.put(keys::hook(row.id), &Hook { retired_ms: now, ..row });
    }
    Ok(())
}

/// Since when the repository of a hook is gone, of the one whose went first.
pub async fn first_retired_ms(read: &impl Read) -> Result<Option<i64>, StoreError> {
    first_time(read, keys::retired_hooks(i64::MAX)).await
}

/// Hooks whose repository went no later than `until_ms`, at most `limit`.
pub async fn retired(read: &impl Read, until_ms: i64, limit: usize) -> Result<Vec<Hook>, StoreError> {
    let pairs = read.scan_bytes(&Scan::of(keys::retired_hooks(until_ms), limit)).await?;
    let ids: Vec<u64> = pairs.iter().filter_map(|(key, _)| keys::trailing_id(key)).collect();
    many(read, &ids).await
}
