//! Handles responses about deleted objects.

use super::{Deleted, Restorable};
use crate::ui::{
    bulk,
    keymap::Object,
    list::ListView as _,
    net::{Answer, Ask, Batch, Problem},
    screens::Screen as _,
    world::{Cmd, Env},
};

/// Returns the name in a request that restores (`true`) or purges (`false`) a deleted object.
pub(super) fn named(ask: &Ask) -> Option<(bool, i64, &str)> {
    match ask {
        Ask::RestoreRepository { id, name, .. } | Ask::RestoreArtifact { id, name } => Some((true, *id, name)),
        Ask::PurgeRepository { id, name } | Ask::PurgeArtifact { id, name } => Some((false, *id, name)),
        _ => None,
    }
}

/// Returns whether a request restores or purges an object of the kind `T`.
pub(super) fn is_about<T: Restorable>(ask: &Ask) -> bool {
    match ask {
        Ask::RestoreRepository { .. } | Ask::PurgeRepository { .. } => T::OBJECT == Object::DeletedRepository,
        Ask::RestoreArtifact { .. } | Ask::PurgeArtifact { .. } => T::OBJECT == Object::DeletedArtifact,
        Ask::Batch(batch) => !batch.items.is_empty() && batch.items.iter().all(|(_, ask)| is_about::<T>(ask)),
        _ => false,
    }
}

impl<T: Restorable> Deleted<T> {
    fn took(&mut self, ask: &Ask, answer: &Answer, env: &mut Env) {
        match (ask, answer) {
            (Ask::Batch(batch), Answer::Batch(each)) => self.report_batch(batch, each, env),
            (_, Answer::Repository(repo)) => {
                env.notify(format!("Restored {}", repo.full_name));
                env.push(Cmd::ReloadRepositories(Some(repo.id)));
            }
            _ => match named(ask) {
                Some((true, _, name)) => env.notify(format!("Restored {name}")),
                Some((false, _, name)) => env.notify(format!("Deleted {name} permanently")),
                None => {}
            },
        }
        self.refresh_anew(env);
    }

    fn report_batch(&mut self, batch: &Batch, each: &[Option<String>], env: &mut Env) {
        let failed = || batch.items.iter().zip(each).filter_map(|((name, ask), why)| Some((name, ask, why.as_ref()?)));
        self.rows.list.mark_only(failed().filter_map(|(_, ask, _)| named(ask)).map(|(_, id, _)| id));
        let failed: Vec<(String, String)> = failed().map(|(name, _, why)| (name.clone(), why.clone())).collect();
        bulk::report(batch.items.len(), batch.noun, batch.done, &failed, env);
        if batch.items.iter().any(|(_, ask)| matches!(ask, Ask::RestoreRepository { .. })) {
            env.push(Cmd::ReloadRepositories(None));
        }
    }

    /// Loads the list again, also when an earlier request for it still runs.
    fn refresh_anew(&mut self, env: &mut Env) {
        if self.rows.was_requested() {
            self.rows.stop(env);
            self.refresh(env);
        }
    }

    /// Handles a response.
    pub(super) fn take(&mut self, ask: &Ask, result: &Result<Answer, Problem>, env: &mut Env) {
        match result {
            Err(problem) if self.rows.awaits(ask) => self.rows.fail(problem.clone()),
            // Another client may have restored or purged it.
            Err(problem) if is_about::<T>(ask) && !problem.is_unreachable() => self.refresh_anew(env),
            Ok(answer) if is_about::<T>(ask) => self.took(ask, answer, env),
            Ok(answer) if self.rows.awaits(ask) => {
                if let Some(page) = T::page(answer) {
                    // The response to the restore or purge reports the result.
                    self.rows.take(page.clone(), env.world);
                }
            }
            _ => {}
        }
    }
}
