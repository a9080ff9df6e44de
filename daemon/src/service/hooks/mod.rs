//! Manages webhooks: permissions, settings, and copies of default hooks in new repositories.
//!
//! Sends nothing itself. A changed hook is announced to the dispatcher, which reads it again.

mod across;
mod apply;
mod audited;
mod check;
mod copies;
mod create;
mod edit;
mod manageable;
mod owner;
mod sweep;
mod try_filter;

use farrier_proto::store::{Hook, HookScope, HookState};

pub use self::{
    across::{HookCursor, HookFilter, HookPage, HookQuery, HookSort, ListedHook, page},
    apply::{ApplyResult, apply},
    copies::DefaultHookCopies,
    create::create,
    edit::edit,
    manageable::{ManageableHooks, OwnerNames, owner_names},
    owner::{HookOwner, enabled},
    sweep::{next_due_ms, sweep},
    try_filter::try_filter,
};
use super::{Context, Error, audit::AuditRecorder};
use crate::{
    model::revision::{Expected, Revision},
    store::{Read, StoreError, Tx, hooks},
};

const MISSING: Error = Error::NotFound { what: "the hook" };

/// A hook with the state of its deliveries.
#[derive(Clone, Debug)]
pub struct FoundHook {
    /// The hook.
    pub hook: Hook,
    /// State of its deliveries.
    pub state: HookState,
}

/// A hook that was created or changed.
#[derive(Clone, Debug)]
pub struct SavedHook {
    /// The hook after the change.
    pub found: FoundHook,
    /// Event names that are not valid.
    pub ignored: Vec<String>,
    /// Whether the change removed secrets because the hook has another receiver.
    pub secrets_removed: bool,
}

/// Returns hook `id` of `hook_owner`.
pub async fn get(read: &impl Read, hook_owner: HookOwner, id: u64) -> Result<FoundHook, Error> {
    let hook = in_owner(read, hook_owner, id).await?;
    let state = hooks::state(read, id).await?;
    Ok(FoundHook { hook, state })
}

/// Returns all hooks of these scopes that belong to `target`, by id.
pub async fn list(read: &impl Read, scopes: &[HookScope], target: u64) -> Result<Vec<FoundHook>, StoreError> {
    let mut found = Vec::new();
    for scope in scopes {
        for hook in hooks::of(read, *scope, target).await? {
            let state = hooks::state(read, hook.id).await?;
            found.push(FoundHook { hook, state });
        }
    }
    found.sort_by_key(|found| found.hook.id);
    Ok(found)
}

/// Deletes a hook if its revision is the expected one. Its pending deliveries are not sent.
pub async fn delete(context: &Context, hook_owner: HookOwner, id: u64, expected: &Expected) -> Result<(), Error> {
    let recorder = &AuditRecorder::new(context);
    context
        .store
        .write(async |tx: Tx| {
            let row = in_owner(&tx, hook_owner, id).await?;
            require(expected, &row)?;
            recorder.record(&tx, audited::deletion(&tx, &row).await?).await?;
            hooks::delete(&tx, &row);
            Ok::<_, Error>(())
        })
        .await?;
    context.outbox.announce(&[id]);
    Ok(())
}

/// Deletes all hooks of a user or an organization that is being deleted.
pub async fn delete_of_owner(tx: &Tx, owner: u64) -> Result<(), StoreError> {
    for row in hooks::of(tx, HookScope::User, owner).await? {
        hooks::delete(tx, &row);
    }
    Ok(())
}

/// Returns an error if the client read another revision of the hook.
fn require(expected: &Expected, row: &Hook) -> Result<(), Error> {
    if expected.allows(Revision::of_hook(row)) { Ok(()) } else { Err(Error::Changed { what: "the hook" }) }
}

async fn in_owner(read: &impl Read, hook_owner: HookOwner, id: u64) -> Result<Hook, Error> {
    let row = hooks::get(read, id).await?.filter(|row| row.retired_ms == 0 && hook_owner.holds(row));
    row.ok_or(MISSING)
}
