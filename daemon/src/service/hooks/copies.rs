//! Copies of default hooks: in the transaction that makes a repository.

use farrier_proto::store::{Hook, HookScope};

use crate::{
    app::App,
    clock::Millis,
    service::Error,
    store::{Tx, hooks, ids::IdKind},
};

/// Numbers for the copies that a new repository gets.
pub struct Copies {
    numbers: Vec<u64>,
    now: Millis,
}

impl Copies {
    /// Takes as many numbers as there are default hooks.
    pub async fn prepare(app: &App) -> Result<Self, Error> {
        let defaults = hooks::ids_of(&app.store.read().await?, HookScope::Default, 0).await?;
        let mut numbers = Vec::with_capacity(defaults.len());
        for _ in defaults {
            numbers.push(app.store.next_id(IdKind::Hook).await?);
        }
        Ok(Self { numbers, now: app.now_ms() })
    }

    /// Copies all default hooks into `repository`, active or not, secrets included. From then on
    /// they are its own.
    pub async fn insert(&self, tx: &Tx, repository: u64) -> Result<(), Error> {
        let defaults = hooks::of(tx, HookScope::Default, 0).await?;
        if defaults.len() > self.numbers.len() {
            // Another one was made in this very moment.
            return Err(Error::Busy);
        }
        for (default, id) in defaults.iter().zip(&self.numbers) {
            hooks::insert(tx, &copy(default, *id, repository, self.now));
        }
        Ok(())
    }
}

/// The copy of a default hook for a repository.
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
