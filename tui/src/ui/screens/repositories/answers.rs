//! Handles responses about repositories.

use super::Repositories;
use crate::ui::{
    bulk,
    list::ListView as _,
    net::{Answer, Ask, Batch, Page, Problem},
    repo::{RepositoryCompactor, RepositorySummary},
    world::{Cmd, Env},
};

impl Repositories {
    /// Handles a response.
    pub(super) fn take(&mut self, ask: &Ask, result: &Result<Answer, Problem>, env: &mut Env) {
        if self.detail.answered(ask, result, env.world) {
            self.look(false, env);
        }
        match (ask, result) {
            (Ask::Repositories | Ask::FindRepositories(_), Ok(Answer::Repositories(page)))
                if self.repos.awaits(ask) =>
            {
                self.add_page(page, env);
            }
            (Ask::ChangedRepositories, Ok(Answer::Repositories(page))) => {
                self.repos.renew(page.clone(), env.world);
                self.look(false, env);
            }
            (_, Err(problem)) if self.repos.awaits(ask) => self.repos.fail(problem.clone()),
            (Ask::Tasks, Ok(Answer::Tasks(tasks))) => self.tasks.clone_from(tasks),
            (Ask::Repository(_), Ok(Answer::Repository(repo))) => {
                let text = serde_json::to_string(repo).unwrap_or_default();
                env.push(Cmd::Copy(text, "JSON".to_owned()));
            }
            (ask, Ok(answer)) => self.changed(ask, answer, env),
            _ => {}
        }
    }

    /// Requests the list again and puts the cursor on `id` when it is loaded.
    pub(crate) fn reload(&mut self, id: Option<i64>, env: &mut Env) {
        self.repos.stop(env);
        if let Some(id) = id {
            self.repos.list.select(id);
        }
        self.repos.ask_all(Ask::Repositories, env);
    }

    fn add_page(&mut self, page: &Page<RepositorySummary>, env: &mut Env) {
        if let Some(gone) = self.repos.take(page.clone(), env.world) {
            env.notify(format!("{} was removed", gone.full_name()));
            self.in_detail = false;
        }
        self.look(false, env);
        if page.last && self.is_migrating() {
            env.ask(Ask::Tasks);
        }
    }

    /// Reports the result of deleting several repositories. Repositories that still exist stay marked.
    fn deleted_many(&mut self, batch: &Batch, answer: &Answer, env: &mut Env) {
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

    fn changed(&mut self, ask: &Ask, answer: &Answer, env: &mut Env) {
        let created = match answer {
            Answer::Repository(repo) => Some(repo.id),
            _ => None,
        };
        match ask {
            Ask::CreateRepository { owner, request } => env.notify(format!("Created {owner}/{}", request.name)),
            Ask::MigrateRepository(request) => {
                env.notify(format!("Importing {}/{} in the background", request.repo_owner, request.repo_name));
            }
            Ask::EditRepository(path, _) => env.notify(format!("{path} saved")),
            Ask::SaveRepository(save) => env.notify(format!("{} saved", save.path)),
            Ask::DeleteRepository(path) => env.notify(format!("Deleted {path}")),
            Ask::Batch(batch) if batch.items.iter().all(|(_, ask)| matches!(ask, Ask::DeleteRepository(_))) => {
                self.deleted_many(batch, answer, env);
            }
            Ask::CancelTask(_) => env.notify("Import cancelled"),
            Ask::CreateBranch(_, request) => {
                env.notify(format!("Branch {} created", request.new_branch_name));
                self.detail.forget(env);
            }
            Ask::DeleteBranch(_, name) => {
                env.notify(format!("Branch {name} deleted"));
                self.detail.forget(env);
            }
            _ => return,
        }
        let filter = self.repos.list.filter();
        if let (Answer::Repository(repo), Ask::CreateRepository { .. } | Ask::MigrateRepository(_)) = (answer, ask)
            && !filter.takes(&RepositoryCompactor::default().compact((**repo).clone()))
        {
            env.notify(format!("{} does not match the filter {}; Esc shows it", repo.full_name, filter.text()));
        }
        self.reload(created, env);
        self.look(false, env);
    }
}
