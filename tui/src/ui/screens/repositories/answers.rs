//! Handles responses about repositories.

use farrier_common::client::RepositoryPath;

use super::{Repositories, form as repo_form};
use crate::ui::{
    bulk,
    layer::Layer,
    list::ListView as _,
    net::{Answer, Batch, ManagementRequest, Page, Problem, ProblemKind, Request},
    repo::{RepositoryCompactor, RepositorySummary},
    screens::ScreenId,
    world::{Cmd, Env},
};

/// Returns whether a batch deletes repositories or runs their mirrors.
fn is_about_repositories(batch: &Batch) -> bool {
    use ManagementRequest::{SyncPullMirror, SyncPushMirrors};
    batch.items.iter().all(|(_, request)| {
        matches!(request, Request::DeleteRepository(_) | Request::Manage(_, SyncPullMirror | SyncPushMirrors))
    })
}

/// Opens the form that imports the repository `path` again. `result`: the repository, if the failed import left one.
pub(in crate::ui::screens) fn import_again(path: &RepositoryPath, result: &Result<Answer, Problem>, env: &mut Env) {
    let known = match result {
        Ok(Answer::Repository(repository)) => Some(&**repository),
        Err(problem) if problem.kind == ProblemKind::NotFound => {
            env.notify(format!("The source of {path} is not known: the import left no repository"));
            None
        }
        Err(problem) => return env.warn(problem.line()),
        Ok(_) => return,
    };
    let form = Layer::Form(Box::new(repo_form::migrate_again(path, known)));
    env.push(Cmd::OpenFor(ScreenId::Repositories, Box::new(form)));
}

impl Repositories {
    /// Handles a response.
    pub(super) fn take(&mut self, request: &Request, result: &Result<Answer, Problem>, env: &mut Env) {
        if self.detail.answered(request, result, env) {
            self.look(false, env);
        }
        match (request, result) {
            (Request::Manage(path, change), result) if change.changes() => self.managed(path, change, result, env),
            (Request::Repositories | Request::FindRepositories(_), Ok(Answer::Repositories(page)))
                if self.repos.awaits(request) =>
            {
                self.add_page(page, env);
            }
            (Request::ChangedRepositories, Ok(Answer::Repositories(page))) => {
                let opened = self.opened();
                self.repos.renew(page.clone(), env.world);
                self.leave_unlisted(opened, env);
                self.look(false, env);
            }
            (_, Err(problem)) if self.repos.awaits(request) => self.repos.fail(problem.clone()),
            (Request::Tasks, Ok(Answer::Tasks(tasks))) => self.tasks.clone_from(tasks),
            (Request::Repository(_), Ok(Answer::Repository(repo))) => {
                let text = serde_json::to_string(repo).unwrap_or_default();
                env.push(Cmd::Copy(text, "JSON".to_owned()));
            }
            (Request::FailedImport(path), result) => import_again(path, result, env),
            (request, Ok(answer)) => self.changed(request, answer, env),
            _ => {}
        }
    }

    /// Requests the list again and puts the cursor on `id` when it is loaded.
    pub(crate) fn reload(&mut self, id: Option<i64>, env: &mut Env) {
        self.repos.stop(env);
        if let Some(id) = id {
            self.repos.list.select(id);
        }
        self.repos.request_all(Request::Repositories, env);
    }

    fn add_page(&mut self, page: &Page<RepositorySummary>, env: &mut Env) {
        let opened = self.opened();
        if let Some(gone) = self.repos.take(page.clone(), env.world) {
            env.notify(format!("{} was removed", gone.full_name()));
            self.in_detail = false;
        }
        self.leave_unlisted(opened, env);
        self.look(false, env);
        if page.last && self.is_migrating() {
            env.send(Request::Tasks);
        }
    }

    /// Returns ID and name of the repository whose tabs have the focus.
    fn opened(&self) -> Option<(i64, String)> {
        let repo = self.repos.list.current().filter(|_| self.in_detail)?;
        Some((repo.id, repo.full_name().to_owned()))
    }

    /// Leaves the tabs of a repository that the filter hides by now: the cursor is on another one.
    fn leave_unlisted(&mut self, opened: Option<(i64, String)>, env: &mut Env) {
        let Some((id, name)) = opened.filter(|_| self.in_detail) else { return };
        if !self.repos.list.shown().any(|repo| repo.id == id) {
            env.notify(format!("{name} is no longer in the list"));
            self.in_detail = false;
        }
    }

    /// Reports the result of deleting or syncing several repositories. Those for which it failed stay marked.
    fn did_many(&mut self, batch: &Batch, answer: &Answer, env: &mut Env) {
        let Answer::Batch(each) = answer else { return };
        let outcomes = batch.items.iter().zip(each);
        let failed: Vec<(String, String)> =
            outcomes.filter_map(|((name, _), why)| Some((name.clone(), why.clone()?))).collect();
        let rows = self.repos.list.rows().iter();
        let left: Vec<i64> =
            rows.filter(|repo| failed.iter().any(|(name, _)| name == repo.full_name())).map(|repo| repo.id).collect();
        self.repos.list.mark_only(left);
        bulk::report(batch.items.len(), batch.noun, batch.done, &failed, env);
    }

    fn changed(&mut self, request: &Request, answer: &Answer, env: &mut Env) {
        let created = match answer {
            Answer::Repository(repo) => Some(repo.id),
            _ => None,
        };
        match request {
            Request::CreateRepository { owner, request } => env.notify(format!("{owner}/{} created", request.name)),
            Request::MigrateRepository(request) => {
                env.notify(format!("Importing {}/{} in the background", request.repo_owner, request.repo_name));
            }
            Request::EditRepository(path, _) => env.notify(format!("{path} saved")),
            Request::SaveRepository(save) => env.notify(format!("{} saved", save.path)),
            Request::DeleteRepository(path) => env.notify(format!("{path} deleted")),
            Request::Batch(batch) if is_about_repositories(batch) => self.did_many(batch, answer, env),
            Request::CancelTask(_) => env.notify("Import cancelled"),
            Request::CreateBranch(path, request) => {
                env.notify(format!("Branch {} of {path} created", request.new_branch_name));
                self.detail.forget_refs(path, env);
            }
            Request::DeleteBranch(path, name) => {
                env.notify(format!("Branch {name} of {path} deleted"));
                self.detail.forget_refs(path, env);
            }
            Request::CreateTag(path, request) => {
                env.notify(format!("Tag {} of {path} created", request.tag_name));
                self.detail.forget_refs(path, env);
            }
            Request::DeleteTag(path, name) => {
                env.notify(format!("Tag {name} of {path} deleted"));
                self.detail.forget_refs(path, env);
            }
            _ => return,
        }
        let filter = self.repos.list.filter();
        if let (Answer::Repository(repo), Request::CreateRepository { .. } | Request::MigrateRepository(_)) =
            (answer, request)
            && !filter.takes(&RepositoryCompactor::default().compact((**repo).clone()))
        {
            env.notify(format!("{} does not match the filter {}; Esc shows it", repo.full_name, filter.text()));
        }
        self.reload(created, env);
        self.look(false, env);
    }
}
