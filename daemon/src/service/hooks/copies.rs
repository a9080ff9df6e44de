//! Copies default hooks into a new repository, in the transaction that creates it.

use farrier_proto::store::{Hook, HookScope};

use crate::{
    clock::Millis,
    service::{Context, Error},
    store::{Tx, hooks, ids::IdKind},
};

/// Reserved ids for the hooks of a new repository.
pub struct DefaultHookCopies {
    ids: Vec<u64>,
    now: Millis,
}

impl DefaultHookCopies {
    /// Reserves one id per default hook.
    pub async fn prepare(context: &Context) -> Result<Self, Error> {
        let defaults = hooks::ids_of(&context.store.read().await?, HookScope::Default, 0).await?;
        let mut ids = Vec::with_capacity(defaults.len());
        for _ in defaults {
            ids.push(context.store.next_id(IdKind::Hook).await?);
        }
        Ok(Self { ids, now: context.now_ms() })
    }

    /// Copies all default hooks into `repository`, active or not, with their secrets. Later changes to the
    /// default hooks do not affect the copies.
    pub async fn insert(&self, tx: &Tx, repository: u64) -> Result<(), Error> {
        let defaults = hooks::of(tx, HookScope::Default, 0).await?;
        if defaults.len() > self.ids.len() {
            // Another default hook was created since `prepare`.
            return Err(Error::Busy);
        }
        for (default, id) in defaults.iter().zip(&self.ids) {
            hooks::insert(tx, &copy(default, *id, repository, self.now));
        }
        Ok(())
    }
}

/// Returns the copy of a default hook for a repository.
pub(super) fn copy(default: &Hook, id: u64, repository: u64, now: Millis) -> Hook {
    Hook {
        id,
        scope: HookScope::Repository.into(),
        target_id: repository,
        copied_from: default.id,
        created_ms: now,
        updated_ms: now,
        ..default.clone()
    }
}
