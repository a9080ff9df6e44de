//! Handles responses about collaborators, rules, deploy keys, releases and mirrors.

use farrier_common::client::RepositoryPath;

use super::{MirrorRow, RepositoryManagement, RuleRow, release_rows};
use crate::ui::{
    layer::{Layer, TextView},
    list::ListView as _,
    net::{Answer, ManagementRequest, Page, Problem, Request},
    screens::repositories::Repositories,
    world::Env,
};

/// Returns a list that is not read page by page.
fn whole<T>(items: Vec<T>) -> Page<T> {
    Page { total: i64::try_from(items.len()).ok(), items, last: true }
}

impl RepositoryManagement {
    /// Handles a response for the lists, or for the release to open.
    pub(in crate::ui::screens::repositories) fn answered(
        &mut self,
        request: &Request,
        result: &Result<Answer, Problem>,
        env: &mut Env,
    ) {
        if self.opening.as_ref() == Some(request) {
            self.opening = None;
            match result {
                Ok(Answer::Release(release)) => {
                    let text = release_rows::details(release, &env.world.clock);
                    env.open(Layer::TextView(TextView::new(format!("Release {}", release.tag_name), text)));
                }
                Ok(_) => {}
                Err(problem) => env.warn(problem.line()),
            }
            return;
        }
        let world = env.world;
        match result {
            Ok(Answer::Collaborators(page)) if self.collaborators.awaits(request) => {
                self.collaborators.take(page.clone(), world);
            }
            Ok(Answer::Rules(branches, tags)) if self.rules.awaits(request) => {
                let branches = branches.iter().map(|rule| RuleRow::Branch(Box::new(rule.clone())));
                let tags = tags.iter().map(|rule| RuleRow::Tag(Box::new(rule.clone())));
                self.rules.take(whole(branches.chain(tags).collect()), world);
            }
            Ok(Answer::DeployKeys(page)) if self.deploy_keys.awaits(request) => {
                self.deploy_keys.take(page.clone(), world);
            }
            Ok(Answer::Releases(page)) if self.releases.awaits(request) => {
                self.releases.take(page.clone(), world);
            }
            Ok(Answer::Mirrors(repository, push)) if self.mirrors.awaits(request) => {
                let rows = MirrorRow::pull(repository).into_iter().chain(push.iter().map(MirrorRow::from));
                self.mirrors.take(whole(rows.collect()), world);
            }
            Ok(_) => {}
            Err(problem) => {
                if let Some(list) = self.lists_mut().into_iter().find(|list| list.awaits(request)) {
                    list.fail(problem.clone());
                }
            }
        }
    }
}

impl Repositories {
    /// Reports a change of one of the lists, and requests them again. A refused change is reported by the application.
    pub(in crate::ui::screens::repositories) fn managed(
        &mut self,
        repo: &RepositoryPath,
        request: &ManagementRequest,
        result: &Result<Answer, Problem>,
        env: &mut Env,
    ) {
        match result {
            Ok(_) => env.notify(request.done(repo)),
            Err(problem) if problem.is_unreachable() => return,
            // Another client may have deleted the row.
            Err(_) => {}
        }
        self.detail.expire_management(repo, env);
        self.look(false, env);
    }
}
