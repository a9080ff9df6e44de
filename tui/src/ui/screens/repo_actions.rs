//! What can be done with a repository or a branch, each with its question or its menu.

use farrier_common::api::Branch;

use super::{branch_form, repo_form, repo_rows, repositories::Repositories};
use crate::{
    transfer::copy::Content,
    ui::{
        key::Key,
        keymap::Action,
        layer::{
            Confirm, Layer, Menu,
            menu::{Item, Pick},
        },
        net::{Ask, Existing},
        repo::Repo,
        world::{Cmd, Env, World},
    },
};

/// Who makes something: it is offered as the owner.
fn login(world: &World) -> String {
    world.status.as_ref().map(|status| status.identity.clone()).unwrap_or_default()
}

impl Repositories {
    /// The branch under the cursor, where branches are listed.
    fn branch(&self) -> Option<&Branch> {
        self.detail.branches.list.current().filter(|_| self.on_branches()).map(|tip| &tip.branch)
    }

    pub(super) fn new_repository(env: &mut Env) {
        env.open(Layer::Form(Box::new(repo_form::create(&login(env.world)))));
    }

    pub(super) fn migrate(env: &mut Env) {
        env.open(Layer::Form(Box::new(repo_form::migrate(&login(env.world)))));
    }

    pub(super) fn edit(&self, env: &mut Env) {
        let Some((repo, path)) = self.target() else { return };
        env.open(Layer::Form(Box::new(repo_form::edit(repo, path))));
    }

    /// Offers a branch that begins where the one under the cursor is, or the default one.
    pub(super) fn new_branch(&self, env: &mut Env) {
        let Some((repo, path)) = self.here() else { return };
        let from = self.branch().map_or(repo.default_branch(), |branch| branch.name.as_str());
        env.open(Layer::Form(Box::new(branch_form::create(path, from))));
    }

    pub(super) fn copy(&self, env: &mut Env) {
        let Some((repo, path)) = self.target() else { return };
        let mut texts =
            vec![('h', "https", repo.clone_url()), ('s', "ssh", repo.ssh_url()), ('n', "name", path.to_string())];
        if let Some(branch) = self.branch() {
            texts.extend([('b', "branch", branch.name.clone()), ('c', "commit", branch.commit.id.clone())]);
        }
        let mut menu = Menu::copies("Copy", texts);
        menu.add(Item {
            key: Some(Key::Char('j')),
            title: "JSON       all that the daemon says of it".to_owned(),
            off: None,
            pick: Pick::Do(Cmd::Ask(Ask::Repository(path))),
        });
        env.open(Layer::Menu(menu));
    }

    pub(super) fn delete(&self, env: &mut Env) {
        let Some((repo, path)) = self.target() else { return };
        let bytes = repo_rows::bytes(repo);
        let size = if bytes > 0 { format!("{}, ", crate::output::human_bytes(bytes)) } else { String::new() };
        let lines = vec![
            format!(
                "{size}{}, default branch {}",
                if repo.is_private() { "private" } else { "public" },
                if repo.default_branch().is_empty() { "none" } else { repo.default_branch() },
            ),
            "All of it goes, and cannot be brought back.".to_owned(),
        ];
        let ask = Ask::DeleteRepository(path.clone());
        let title = format!("Delete repository {path}");
        let counts = Ask::Facts(path.clone());
        let mut question = Confirm::typed(title, lines, "Delete", path.to_string(), ask, env.world);
        question = question.counting(counts.clone());
        env.ask(counts);
        if !repo.is_empty() && repo.migration().is_none_or(|going| going.state == "done") {
            question = question.with_copy(Ask::Archive {
                repo: path.clone(),
                content: Content::All,
                existing: Existing::Keep,
            });
        }
        env.open(Layer::Confirm(question));
    }

    /// Offers the forms of an archive: of the branch under the cursor, or of the default one.
    pub(super) fn archive(&self, env: &mut Env) {
        let Some((repo, path)) = self.target() else { return };
        let reference = self.branch().map_or(repo.default_branch(), |branch| branch.name.as_str());
        let item = |key: char, title: String, content: Content| Item {
            key: Some(Key::Char(key)),
            title,
            off: None,
            pick: Pick::Do(Cmd::Ask(Ask::Archive { repo: path.clone(), content, existing: Existing::Keep })),
        };
        let of = |(key, format): (char, &'static str)| {
            let content = Content::Of { reference: reference.to_owned(), format };
            item(key, content.name(&path), content)
        };
        let mut items = [('z', "zip"), ('g', "tar.gz"), ('b', "bundle")].map(of).to_vec();
        items.push(item('a', format!("{}   all branches and tags", Content::All.name(&path)), Content::All));
        env.open(Layer::Menu(Menu::new(format!("Archive of {reference}"), items)));
    }

    pub(super) fn cancel_migration(&self, env: &mut Env) {
        let Some((repo, path)) = self.target() else { return };
        let lines = vec![
            "What was fetched so far is removed, and the name is free again.".to_owned(),
            "The source does not notice.".to_owned(),
        ];
        // The task of a migration has its repository's number.
        let ask = Ask::CancelTask(repo.id);
        let question = Confirm::simple(format!("Cancel the migration of {path}"), lines, "Stop it", ask, env.world);
        env.open(Layer::Confirm(question));
    }

    pub(super) fn delete_branch(&self, env: &mut Env) {
        let (Some((_, path)), Some(branch)) = (self.here(), self.branch()) else { return };
        let lines = vec![
            format!("{} at {}", branch.name, branch.commit.id),
            format!("last commit by {}", branch.commit.author.name),
            "Commits that no other branch or tag has are lost after a while.".to_owned(),
        ];
        let ask = Ask::DeleteBranch(path, branch.name.clone());
        env.open(Layer::Confirm(Confirm::simple(
            format!("Delete branch {}", branch.name),
            lines,
            "Delete",
            ask,
            env.world,
        )));
    }

    /// Why an action makes no sense now.
    pub(super) fn why_off(&self, action: Action) -> Option<String> {
        let here = self.repos.list.current();
        match action {
            Action::Delete if self.on_branches() => match (self.branch(), here) {
                (None, _) => Some("no branch here".to_owned()),
                (Some(branch), Some(repo)) if branch.name == repo.default_branch() => {
                    Some("the default branch stays".to_owned())
                }
                _ => None,
            },
            Action::New if self.on_branches() && here.is_some_and(Repo::is_empty) => {
                Some("an empty repository has nothing to begin at".to_owned())
            }
            Action::CancelMigration if here.is_none_or(|repo| repo_rows::state(repo) != "migrating") => {
                Some("nothing is being fetched here".to_owned())
            }
            Action::Archive if here.is_some_and(Repo::is_empty) => {
                Some("an empty repository has no archive".to_owned())
            }
            Action::Open if self.in_detail && !self.detail.has_current() => Some("nothing here".to_owned()),
            Action::Open
            | Action::Edit
            | Action::Delete
            | Action::Copy
            | Action::Archive
            | Action::Artifacts
            | Action::Hooks
                if here.is_none() =>
            {
                Some("no repository here".to_owned())
            }
            Action::Edit | Action::Delete | Action::Copy | Action::Archive if !self.in_detail => {
                self.repos.list.target().err()
            }
            _ => None,
        }
    }
}
