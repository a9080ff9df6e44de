//! Actions on a repository or a branch, with their confirmations and menus.

use farrier_common::{api::Branch, client::RepositoryPath};

use super::{Repositories, form as repo_form, path, rows as repo_rows, tab::RepositoryTab};
use crate::{
    transfer::copy::Content,
    ui::{
        bulk::BulkAction,
        key::Key,
        keymap::Action,
        layer::{
            Confirm, Layer, Menu,
            menu::{Item, Pick},
        },
        net::{Batch, Existing, Request},
        repo::RepositorySummary,
        screens::tasks::cancel_import_question,
        world::{Cmd, Env, World},
    },
};

/// Returns the login of the caller, which is offered as the owner of new objects.
fn login(world: &World) -> String {
    world.status.as_ref().map(|status| status.identity.clone()).unwrap_or_default()
}

impl Repositories {
    /// Returns the branch under the cursor if branches are listed.
    fn branch(&self) -> Option<&Branch> {
        let current = self.detail.branches.list.current();
        current.filter(|_| self.on_branches() && self.shows_current()).map(|tip| &tip.branch)
    }

    /// Returns the tag under the cursor if tags are listed: its name and its commit.
    fn tag(&self) -> Option<(&str, &str)> {
        self.detail.current_tag().filter(|_| self.in_detail && self.shows_current())
    }

    /// Returns whether the listed branches and tags belong to the repository under the cursor, and not to another one
    /// that the cursor has left.
    pub(super) fn shows_current(&self) -> bool {
        self.repos.list.current().is_some_and(|repo| self.detail.is_of(repo))
    }

    pub(super) fn new_repository(env: &mut Env) {
        env.open(Layer::Form(Box::new(repo_form::create(&login(env.world)))));
    }

    /// `M`: opens the form for an import, with the values of the import of the selected repository if that failed.
    pub(super) fn migrate(&self, env: &mut Env) {
        if let Some((_, path)) = self.here().filter(|(repo, _)| repo_rows::state(repo) == "FAILED") {
            return env.send(Request::FailedImport(path));
        }
        env.open(Layer::Form(Box::new(repo_form::migrate(&login(env.world)))));
    }

    pub(super) fn edit(&self, env: &mut Env) {
        let Some((repo, path)) = self.target() else { return };
        env.open(Layer::Form(Box::new(repo_form::edit(repo, path))));
    }

    /// Opens the form for a branch that starts at the branch under the cursor, or at the default branch.
    pub(super) fn new_branch(&self, env: &mut Env) {
        let Some((repo, path)) = self.here() else { return };
        let from = self.branch().map_or(repo.default_branch(), |branch| branch.name.as_str());
        env.open(Layer::Form(Box::new(repo_form::create_branch(path, from))));
    }

    /// Opens the form for a tag of the branch or commit whose content is shown, or of the default branch.
    pub(super) fn new_tag(&self, env: &mut Env) {
        let Some((repo, path)) = self.here() else { return };
        let default = repo.default_branch();
        let target = if self.shows_current() { self.detail.content.revision(default) } else { default };
        env.open(Layer::Form(Box::new(repo_form::create_tag(path, target))));
    }

    /// Returns the repositories that actions apply to: the visible marked ones, or the current one.
    fn targets(&self) -> Vec<(&RepositorySummary, RepositoryPath)> {
        if self.in_detail {
            return self.here().into_iter().collect();
        }
        self.repos.list.targets().into_iter().filter_map(|repo| Some((repo, path(repo)?))).collect()
    }

    pub(super) fn copy(&self, env: &mut Env) {
        let targets = self.targets();
        let each = |text: &dyn Fn(&RepositorySummary) -> String| {
            targets.iter().map(|(repo, _)| text(repo)).collect::<Vec<_>>().join("\n")
        };
        let mut texts = vec![
            ('h', "https", each(&RepositorySummary::clone_url)),
            ('s', "ssh", each(&RepositorySummary::ssh_url)),
            ('n', "name", each(&|repo| repo.full_name().to_owned())),
        ];
        if self.in_detail && self.shows_current() {
            texts.extend(self.detail.copies());
        }
        let mut menu = Menu::copies("Copy", texts);
        if let [(_, path)] = targets.as_slice() {
            menu.add(Item {
                key: Some(Key::Char('j')),
                title: "JSON       everything the API returns".to_owned(),
                off: None,
                pick: Pick::Do(Cmd::Send(Request::Repository(path.clone()))),
            });
        }
        env.open(Layer::Menu(menu));
    }

    pub(super) fn delete(&self, env: &mut Env) {
        let paths: Vec<RepositoryPath> = self.targets().into_iter().map(|(_, path)| path).collect();
        if !paths.is_empty() {
            let question = self.delete_question(&paths, env.world);
            env.open(question);
        }
    }

    fn listed(&self, path: &RepositoryPath) -> Option<&RepositorySummary> {
        let name = path.to_string();
        self.repos.list.rows().iter().find(|repo| repo.full_name() == name)
    }

    /// Returns the default branch of a listed repository.
    pub(crate) fn default_branch(&self, path: &RepositoryPath) -> Option<String> {
        self.listed(path).map(|repo| repo.default_branch().to_owned())
    }

    /// Returns the confirmation before repositories are deleted, whether they are listed or not.
    pub(crate) fn delete_question(&self, paths: &[RepositoryPath], world: &World) -> Layer {
        if let [path] = paths {
            return Layer::Confirm(self.delete_one_question(path, world));
        }
        let size = |path: &RepositoryPath| self.listed(path).map_or(0, repo_rows::bytes);
        let name = |path: &RepositoryPath| match size(path) {
            0 => path.to_string(),
            bytes => format!("{path}   {}", crate::output::human_bytes(bytes)),
        };
        let items = paths.iter().map(|path| (path.to_string(), Request::DeleteRepository(path.clone()))).collect();
        let batch = Batch { noun: "repository", doing: "deleting", done: "deleted", items };
        let bulk = BulkAction {
            verb: "Delete",
            noun: "repository",
            names: paths.iter().map(name).collect(),
            bytes: paths.iter().map(size).sum(),
            effect: "Everything in them is deleted: branches, tags, hooks and artifacts.",
            destroys: true,
            restorable: world.after_deletion(),
            skipped: self.repos.list.hidden_note().into_iter().collect(),
            ..BulkAction::default()
        };
        Layer::Confirm(bulk.question(Request::Batch(Box::new(batch)), world))
    }

    fn delete_one_question(&self, path: &RepositoryPath, world: &World) -> Confirm {
        let mut lines = Vec::new();
        let repo = self.listed(path);
        if let Some(repo) = repo {
            let bytes = repo_rows::bytes(repo);
            let size = if bytes > 0 { format!("{}, ", crate::output::human_bytes(bytes)) } else { String::new() };
            lines.push(format!(
                "{size}{}, default branch {}",
                if repo.is_private() { "private" } else { "public" },
                if repo.default_branch().is_empty() { "none" } else { repo.default_branch() },
            ));
        }
        lines.push("Everything in it is deleted: branches, tags, hooks and artifacts.".to_owned());
        lines.push(world.after_deletion());
        let request = Request::DeleteRepository(path.clone());
        let title = format!("Delete repository {path}");
        let counts = Request::RepositoryCounts(path.clone());
        let question = Confirm::typed(title, lines, "Delete", path.to_string(), request, world).counting(counts);
        let has_content =
            repo.is_some_and(|repo| !repo.is_empty() && repo.migration().is_none_or(|import| import.state == "done"));
        if !has_content {
            return question;
        }
        question.with_copy(Request::Archive { repo: path.clone(), content: Content::All, existing: Existing::Keep })
    }

    /// Opens the menu of archive formats for the branch, tag or commit under the cursor, or for the default branch.
    pub(super) fn archive(&self, env: &mut Env) {
        let Some((repo, path)) = self.target() else { return };
        let chosen = self.detail.current_reference().filter(|_| self.in_detail && self.shows_current());
        let reference = chosen.unwrap_or(repo.default_branch());
        let item = |key: char, title: String, content: Content| Item {
            key: Some(Key::Char(key)),
            title,
            off: None,
            pick: Pick::Do(Cmd::Send(Request::Archive { repo: path.clone(), content, existing: Existing::Keep })),
        };
        let of = |(key, format): (char, &'static str)| {
            let content = Content::Reference { reference: reference.to_owned(), format };
            item(key, content.name(&path), content)
        };
        let mut items = [('z', "zip"), ('g', "tar.gz"), ('b', "bundle")].map(of).to_vec();
        items.push(item('a', format!("{}   all branches and tags", Content::All.name(&path)), Content::All));
        env.open(Layer::Menu(Menu::new(format!("Archive of {reference}"), items)));
    }

    pub(super) fn cancel_migration(&self, env: &mut Env) {
        // The task of an import has the ID of its repository.
        let Some((repo, _)) = self.target() else { return };
        let question = cancel_import_question(repo.id, repo.full_name(), env.world);
        env.open(question);
    }

    pub(super) fn delete_branch(&self, env: &mut Env) {
        let (Some((_, path)), Some(branch)) = (self.here(), self.branch()) else { return };
        let lines = vec![
            format!("{} of {path} at {}", branch.name, branch.commit.id),
            format!("Last commit by {}", branch.commit.author.name),
            "Commits that are on no other branch or tag are removed later.".to_owned(),
        ];
        let title = format!("Delete branch {} of {path}", branch.name);
        let request = Request::DeleteBranch(path, branch.name.clone());
        env.open(Layer::Confirm(Confirm::simple(title, lines, "Delete", request, env.world)));
    }

    pub(super) fn delete_tag(&self, env: &mut Env) {
        let (Some((_, path)), Some((name, commit))) = (self.here(), self.tag()) else { return };
        let lines = vec![
            format!("{name} of {path} at {commit}"),
            "Commits that are on no other branch or tag are removed later.".to_owned(),
            "The daemon refuses to delete the tag of a release.".to_owned(),
        ];
        let title = format!("Delete tag {name} of {path}");
        let request = Request::DeleteTag(path, name.to_owned());
        let question = Confirm::simple(title, lines, "Delete", request, env.world);
        env.open(Layer::Confirm(question));
    }

    /// Returns the permission that an action requires and the caller does not have.
    fn not_permitted(&self, action: Action) -> Option<String> {
        let needs = match action {
            // The push mirrors are shown only to administrators.
            Action::NewBranch | Action::NewTag | Action::DeleteBranch | Action::DeleteTag | Action::SyncMirrors => {
                "write"
            }
            Action::Edit
            | Action::Delete
            | Action::CancelMigration
            | Action::Hooks
            | Action::Toggle
            | Action::Test
            | Action::Recover => "admin",
            Action::AddEntry | Action::ChangeEntry | Action::DeleteEntry => self.detail.tab.required_access(),
            _ => return None,
        };
        let targets = if action == Action::Delete { self.targets() } else { self.target().into_iter().collect() };
        targets.into_iter().find_map(|(repo, path)| {
            let may = repo.permissions();
            // Every visible repository is readable. While permissions are unknown, no action is disabled.
            let known = may.pull || may.push || may.admin;
            let enough = if needs == "write" { may.push } else { may.admin };
            let have = if may.push { "write" } else { "read" };
            (known && !enough).then(|| format!("needs {needs} access to {path}; you have {have} access"))
        })
    }

    /// Returns why an action is not available now.
    pub(super) fn unavailable_reason(&self, action: Action) -> Option<String> {
        let here = self.repos.list.current();
        if let Some(why) = self.not_permitted(action) {
            return Some(why);
        }
        match action {
            Action::DeleteBranch => match (self.branch(), here) {
                (None, _) => Some("no branch selected".to_owned()),
                (Some(branch), Some(repo)) if branch.name == repo.default_branch() => {
                    Some("the default branch cannot be deleted".to_owned())
                }
                _ => None,
            },
            Action::Toggle | Action::Test | Action::Recover | Action::Download | Action::DeleteEntry
                if matches!(self.detail.tab, RepositoryTab::Hooks | RepositoryTab::Artifacts) =>
            {
                self.unavailable_on_part(action)
            }
            Action::AddEntry | Action::ChangeEntry | Action::DeleteEntry | Action::SyncMirrors => {
                self.detail.management.unavailable(self.detail.tab, action)
            }
            Action::DeleteTag if self.tag().is_none() => Some("no tag selected".to_owned()),
            Action::History if !self.detail.has_current() => Some("nothing selected".to_owned()),
            Action::NewBranch | Action::NewTag if here.is_some_and(RepositorySummary::is_empty) => {
                Some("the repository is empty; push first".to_owned())
            }
            Action::CancelMigration if here.is_none_or(|repo| repo_rows::state(repo) != "importing") => {
                Some("no import is running here".to_owned())
            }
            Action::Archive if here.is_some_and(RepositorySummary::is_empty) => {
                Some("the repository is empty".to_owned())
            }
            Action::Open if self.in_detail && !self.detail.has_current() => Some("nothing selected".to_owned()),
            Action::Open
            | Action::Edit
            | Action::Delete
            | Action::Copy
            | Action::Archive
            | Action::Artifacts
            | Action::Hooks
                if here.is_none() =>
            {
                Some("no repository selected".to_owned())
            }
            Action::Edit | Action::Archive | Action::CancelMigration | Action::Artifacts | Action::Hooks
                if !self.in_detail =>
            {
                self.repos.list.target().err()
            }
            Action::Delete | Action::Copy if self.targets().is_empty() => self.repos.list.hidden_note(),
            _ => None,
        }
    }
}
