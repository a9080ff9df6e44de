//! Handles responses about deleted objects.

use super::{Deleted, Restorable};
use crate::ui::{
    bulk,
    keymap::Object,
    list::ListView as _,
    net::{Answer, Batch, Problem, Request},
    screens::Screen as _,
    world::{Cmd, Env},
};

/// Returns the name in a request that restores (`true`) or purges (`false`) a deleted object.
pub(super) fn named(request: &Request) -> Option<(bool, i64, &str)> {
    match request {
        Request::RestoreRepository { id, name, .. } | Request::RestoreArtifact { id, name } => Some((true, *id, name)),
        Request::PurgeRepository { id, name } | Request::PurgeArtifact { id, name } => Some((false, *id, name)),
        _ => None,
    }
}

/// Returns whether a request restores or purges an object of the kind `T`.
pub(super) fn is_about<T: Restorable>(request: &Request) -> bool {
    match request {
        Request::RestoreRepository { .. } | Request::PurgeRepository { .. } => T::OBJECT == Object::DeletedRepository,
        Request::RestoreArtifact { .. } | Request::PurgeArtifact { .. } => T::OBJECT == Object::DeletedArtifact,
        Request::Batch(batch) => {
            !batch.items.is_empty() && batch.items.iter().all(|(_, request)| is_about::<T>(request))
        }
        _ => false,
    }
}

impl<T: Restorable> Deleted<T> {
    fn took(&mut self, request: &Request, answer: &Answer, env: &mut Env) {
        match (request, answer) {
            (Request::Batch(batch), Answer::Batch(each)) => self.report_batch(batch, each, env),
            (_, Answer::Repository(repo)) => {
                env.notify(format!("{} restored", repo.full_name));
                env.push(Cmd::ReloadRepositories(Some(repo.id)));
            }
            _ => match named(request) {
                Some((true, _, name)) => env.notify(format!("{name} restored")),
                Some((false, _, name)) => env.notify(format!("{name} deleted permanently")),
                None => {}
            },
        }
        self.refresh_anew(env);
    }

    fn report_batch(&mut self, batch: &Batch, each: &[Option<String>], env: &mut Env) {
        let failed =
            || batch.items.iter().zip(each).filter_map(|((name, request), why)| Some((name, request, why.as_ref()?)));
        self.rows.list.mark_only(failed().filter_map(|(_, request, _)| named(request)).map(|(_, id, _)| id));
        let failed: Vec<(String, String)> = failed().map(|(name, _, why)| (name.clone(), why.clone())).collect();
        bulk::report(batch.items.len(), batch.noun, batch.done, &failed, env);
        if batch.items.iter().any(|(_, request)| matches!(request, Request::RestoreRepository { .. })) {
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
    pub(super) fn take(&mut self, request: &Request, result: &Result<Answer, Problem>, env: &mut Env) {
        match result {
            Err(problem) if self.rows.awaits(request) => self.rows.fail(problem.clone()),
            // Another client may have restored or purged it.
            Err(problem) if is_about::<T>(request) && !problem.is_unreachable() => self.refresh_anew(env),
            Ok(answer) if is_about::<T>(request) => self.took(request, answer, env),
            Ok(answer) if self.rows.awaits(request) => {
                if let Some(page) = T::page(answer) {
                    // The response to the restore or purge reports the result.
                    self.rows.take(page.clone(), env.world);
                }
            }
            _ => {}
        }
    }
}
