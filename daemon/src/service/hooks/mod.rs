//! Webhooks: who manages them, what they may be told, their copies in new repositories.
//!
//! Nothing is sent here. A hook that changes is announced to the sender, which looks at it again.

mod across;
mod apply;
mod check;
mod copies;
mod create;
mod edit;
mod health;
mod owner;
mod reach;
mod sweep;
mod try_filter;

use farrier_proto::store::{Hook, HookScope, HookState};

pub use self::{
    across::{Cursor, Filter, HookPage, ListQuery, Managed, Sort, page},
    apply::{Applied, apply},
    copies::Copies,
    create::create,
    edit::edit,
    health::Health,
    owner::HookOwner,
    reach::{Home, Reach, home},
    sweep::{next_due_ms, sweep},
    try_filter::try_filter,
};
use super::Error;
use crate::{
    app::App,
    model::revision::{Expected, Revision},
    store::{Read, StoreError, Tx, hooks},
};

const MISSING: Error = Error::NotFound { what: "the hook" };

/// A hook, and how its deliveries go.
#[derive(Clone, Debug)]
pub struct Found {
    /// The hook.
    pub hook: Hook,
    /// How its deliveries go.
    pub state: HookState,
}

/// A hook that was made or changed.
#[derive(Clone, Debug)]
pub struct Saved {
    /// The hook as it is now.
    pub found: Found,
    /// Names of events that mean nothing here.
    pub ignored: Vec<String>,
}

/// Returns hook `id` of `hook_owner`.
pub async fn get(read: &impl Read, hook_owner: HookOwner, id: u64) -> Result<Found, Error> {
    let hook = in_owner(read, hook_owner, id).await?;
    let state = hooks::state(read, id).await?;
    Ok(Found { hook, state })
}

/// Returns all hooks of these scopes that belong to `target`, by id.
pub async fn list(read: &impl Read, scopes: &[HookScope], target: u64) -> Result<Vec<Found>, StoreError> {
    let mut found = Vec::new();
    for scope in scopes {
        for hook in hooks::of(read, *scope, target).await? {
            let state = hooks::state(read, hook.id).await?;
            found.push(Found { hook, state });
        }
    }
    found.sort_by_key(|found| found.hook.id);
    Ok(found)
}

/// Removes a hook, if it is in an expected state. What waits for it is not sent any more.
pub async fn delete(app: &App, hook_owner: HookOwner, id: u64, expected: &Expected) -> Result<(), Error> {
    app.store
        .write(async |tx: Tx| {
            let row = in_owner(&tx, hook_owner, id).await?;
            require(expected, &row)?;
            hooks::delete(&tx, &row);
            Ok::<_, Error>(())
        })
        .await?;
    app.outbox.announce(&[id]);
    Ok(())
}

/// Removes all hooks of a user or an organisation that goes.
pub async fn delete_of_owner(tx: &Tx, owner: u64) -> Result<(), StoreError> {
    for row in hooks::of(tx, HookScope::User, owner).await? {
        hooks::delete(tx, &row);
    }
    Ok(())
}

/// Refuses a change by a client that has read another state of the hook.
fn require(expected: &Expected, row: &Hook) -> Result<(), Error> {
    if expected.allows(Revision::of_hook(row)) { Ok(()) } else { Err(Error::Changed { what: "the hook" }) }
}

async fn in_owner(read: &impl Read, hook_owner: HookOwner, id: u64) -> Result<Hook, Error> {
    let row = hooks::get(read, id).await?.filter(|row| row.retired_ms == 0 && hook_owner.holds(row));
    row.ok_or(MISSING)
}
