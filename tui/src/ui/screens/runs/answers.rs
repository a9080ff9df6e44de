//! Handles responses about runs and their artifacts.

use super::{Runs, part_rows};
use crate::ui::{
    bulk,
    list::ListView as _,
    net::{Answer, Batch, Page, Problem, Request},
    runs::ListedRun,
    screens::Screen as _,
    world::Env,
};

/// Returns whether a request cancels runs.
fn is_cancel(request: &Request) -> bool {
    match request {
        Request::CancelRun(_) => true,
        Request::Batch(batch) => !batch.items.is_empty() && batch.items.iter().all(|(_, request)| is_cancel(request)),
        _ => false,
    }
}

impl Runs {
    /// Handles a response.
    pub(super) fn take(&mut self, request: &Request, result: &Result<Answer, Problem>, env: &mut Env) {
        match (request, result) {
            (Request::RunList { .. }, Ok(Answer::RunList(page, searched))) if self.rows.awaits(request) => {
                self.searched = *searched;
                self.is_complete =
                    matches!(request, Request::RunList { text, .. } if text.is_empty()) && !searched.more;
                let opened = self.rows.list.current().map(|run| run.id).filter(|_| self.in_parts);
                self.rows.take(page.clone(), env.world);
                // A filter can hide it, too. The cursor is on another run then.
                if let Some(id) = opened.filter(|id| !self.rows.list.shown().any(|run| run.id == *id)) {
                    env.notify(format!("Run {id} is no longer in the list"));
                    self.in_parts = false;
                }
                if let Some(id) = self.wanted.take()
                    && self.rows.list.current().is_none_or(|run| run.id != id)
                {
                    env.notify(format!("Run {id} is not among the listed runs; see farrier run show {id}"));
                }
                self.request_filtered(env);
                self.fetch_on(env);
                self.request_parts(false, env);
            }
            (Request::RunArtifacts(id), Ok(Answer::RunArtifacts(found, more))) if self.parts.awaits(request) => {
                let run = self.rows.list.rows().iter().find(|run| run.id == *id);
                let items = part_rows::of(run.map(ListedRun::jobs).unwrap_or_default(), found.clone());
                self.parts_cut = *more;
                self.parts.take(Page { items, total: None, last: true }, env.world);
            }
            (Request::RunList { .. }, Err(problem)) if self.rows.awaits(request) => self.rows.fail(problem.clone()),
            (Request::RunArtifacts(_), Err(problem)) if self.parts.awaits(request) => self.parts.fail(problem.clone()),
            (Request::CancelRun(id), Ok(_)) => {
                env.notify(format!("Run {id} cancelled"));
                self.reload(env);
            }
            (Request::Batch(batch), Ok(Answer::Batch(each))) if is_cancel(request) => {
                self.report(batch, each, env);
                self.reload(env);
            }
            // The run may have completed meanwhile.
            (request, Err(problem)) if is_cancel(request) && !problem.is_unreachable() => self.reload(env),
            _ => {}
        }
    }

    /// Loads the runs again, also when an earlier request for them has no response yet.
    fn reload(&mut self, env: &mut Env) {
        if self.rows.was_requested() {
            self.rows.stop(env);
            self.parts.stop(env);
            self.refresh(env);
        }
    }

    /// Reports the result of cancelling several runs. Those for which it failed stay marked.
    fn report(&mut self, batch: &Batch, each: &[Option<String>], env: &mut Env) {
        let failed =
            || batch.items.iter().zip(each).filter_map(|((name, request), why)| Some((name, request, why.as_ref()?)));
        self.rows.list.mark_only(failed().filter_map(|(_, request, _)| match request {
            Request::CancelRun(id) => Some(*id),
            _ => None,
        }));
        let failed: Vec<(String, String)> = failed().map(|(name, _, why)| (name.clone(), why.clone())).collect();
        bulk::report(batch.items.len(), batch.noun, batch.done, &failed, env);
    }
}
