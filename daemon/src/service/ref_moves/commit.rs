//! Runs the transaction that moves refs.

use std::sync::{Mutex, PoisonError};

use super::{
    MoveError, Moves,
    admit::{Decided, Stop, admit, apply},
    changes::{Change, Size},
    outcome,
    write::{Facts, Numbers},
};
use crate::{
    git::commands::Update,
    service::{
        Context,
        audit::{Entry, RequestScope},
        bucket_packs,
        pushes::forced,
    },
    store::{
        Tx,
        packs::{self, NewPacks},
    },
};

/// Decides about some updates and applies them in one transaction, which also adds `packs` to the manifest. `since`:
/// the version before. Returns the decisions; if refs have changed, also the version afterwards and whether the default
/// branch changed or may have changed.
pub(super) async fn commit(
    facts: &Facts<'_>,
    moves: &Moves<'_>,
    (updates, packs): (&[Update], &NewPacks),
    (size, entry): (Size, Option<&Entry>),
    since: u64,
) -> Result<(Decided, Option<(u64, bool)>), Stop> {
    let context = facts.context;
    let numbers = &Numbers::new(context);
    // The decisions of the last run of the transaction. Also needed if its outcome is unknown.
    let decided = &Mutex::new(Decided::default());
    let written = context
        .store
        .write(async |tx: Tx| {
            let (before, version) = admit(&tx, moves, updates).await?;
            let now = apply(&tx, moves, &before, updates).await?;
            let written = if now.changes.is_empty() {
                None
            } else {
                bucket_packs::require_recent(context, &tx, packs).await?;
                packs::add(&tx, moves.repository, packs);
                Some(facts.write(&tx, (&before, &version), &now.changes, (size, entry), numbers).await?)
            };
            *decided.lock().unwrap_or_else(PoisonError::into_inner) = now;
            Ok::<_, Stop>(written)
        })
        .await;
    if matches!(written, Ok(Some(_))) {
        context.git.forget_installed(moves.repository, packs.rows.keys());
    }
    let written = match written {
        Err(Stop::Failed(MoveError::Service(error))) if outcome::is_unknown(&error) => {
            let stop = context.tasks.stop();
            let found = outcome::find(&context.store, stop, moves.repository, numbers.change, since).await;
            let Some(version) = found else {
                let Decided { changes, .. } = take(decided);
                record_forced_later(context, moves.repository, changes, (numbers.change, since));
                return Err(Stop::Failed(MoveError::Unknown(error)));
            };
            Some((version, true))
        }
        written => written?,
    };
    Ok((take(decided), written))
}

fn take(decided: &Mutex<Decided>) -> Decided {
    std::mem::take(&mut *decided.lock().unwrap_or_else(PoisonError::into_inner))
}

/// Records which of the changes were forced, if the store shows later that their transaction was committed. `change`:
/// the change number of the transaction. `since`: the version before it.
fn record_forced_later(context: &Context, repository: u64, changes: Vec<Change>, (change, since): (u64, u64)) {
    let task_context = context.clone();
    context.tasks.short(RequestScope::inherit(async move {
        let (store, stop) = (&task_context.store, task_context.tasks.stop());
        if outcome::find_later(store, stop, repository, change, since).await.is_some() {
            forced::record(&task_context, repository, changes);
        }
    }));
}
