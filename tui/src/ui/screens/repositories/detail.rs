//! The tabs of one repository.
//!
//! Owns the data that was requested for the shown repository, and clears it when another one is shown; `content` has
//! the files, commits and tags, and `management` the lists that administrators manage. `part_actions` has the
//! actions on hooks and artifacts.

use std::time::Duration;

use farrier_common::client::{HookOwner, RepositoryPath};
use ratatui::{buffer::Buffer, layout::Rect};

use super::{
    artifact_rows::ArtifactRow,
    branch_rows::BranchRow,
    content::{RepositoryContent, Viewer},
    counts::Counts,
    management::RepositoryManagement,
    tab::RepositoryTab,
};
use crate::ui::{
    hook::HookSummary,
    keymap::Action,
    list::{self, Feed, List, ListView, Row, TableOptions, feed::Load},
    net::{Answer, Page, Problem, Request},
    place::ScreenPlace,
    repo::RepositorySummary,
    times::Clock,
    world::{Cmd, Env, World},
};

#[derive(Debug)]
pub(crate) struct Detail {
    pub(super) tab: RepositoryTab,
    /// The repository of the lists, its ID and its default branch.
    pub(super) of: Option<RepositoryPath>,
    id: i64,
    default_branch: String,
    pub(super) content: RepositoryContent,
    pub(in crate::ui::screens) branches: Feed<BranchRow>,
    pub(super) hooks: Feed<HookSummary>,
    pub(super) artifacts: Feed<ArtifactRow>,
    pub(super) management: RepositoryManagement,
    pub(super) counts: Counts,
    /// The place to which the detail pane returns when its repository is shown.
    pub(super) returning_to: Option<ScreenPlace>,
}

impl Default for Detail {
    fn default() -> Self {
        Self {
            tab: RepositoryTab::Overview,
            of: None,
            id: 0,
            default_branch: String::new(),
            content: RepositoryContent::default(),
            branches: Feed::new(List::sorted(0)),
            hooks: Feed::new(List::sorted(0)),
            artifacts: Feed::new(List::sorted(3)),
            management: RepositoryManagement::default(),
            counts: Counts::default(),
            returning_to: None,
        }
    }
}

impl Detail {
    /// Returns the list of the shown tab; the overview has none.
    pub(super) fn list(&self) -> Option<&dyn ListView> {
        match self.tab {
            RepositoryTab::Overview => None,
            RepositoryTab::Files => Some(&self.content.files),
            RepositoryTab::Commits => Some(&self.content.commits),
            RepositoryTab::Branches => Some(&self.branches),
            RepositoryTab::Tags => Some(&self.content.tags),
            RepositoryTab::Hooks => Some(&self.hooks),
            RepositoryTab::Artifacts => Some(&self.artifacts),
            tab => self.management.list(tab),
        }
    }

    pub(super) fn list_mut(&mut self) -> Option<&mut dyn ListView> {
        match self.tab {
            RepositoryTab::Overview => None,
            RepositoryTab::Files => Some(&mut self.content.files),
            RepositoryTab::Commits => Some(&mut self.content.commits),
            RepositoryTab::Branches => Some(&mut self.branches),
            RepositoryTab::Tags => Some(&mut self.content.tags),
            RepositoryTab::Hooks => Some(&mut self.hooks),
            RepositoryTab::Artifacts => Some(&mut self.artifacts),
            tab => self.management.list_mut(tab),
        }
    }

    fn lists_mut(&mut self) -> [&mut dyn ListView; 6] {
        [
            &mut self.content.files,
            &mut self.content.commits,
            &mut self.branches,
            &mut self.content.tags,
            &mut self.hooks,
            &mut self.artifacts,
        ]
    }

    /// Requests the data of the shown tab; `again` also reloads data that is loaded.
    pub(super) fn look(&mut self, repo: &RepositorySummary, path: RepositoryPath, again: bool, env: &mut Env) {
        // A new repository can have the name of a deleted or renamed one.
        if self.of.as_ref() != Some(&path) || self.id != repo.id {
            self.forget(env);
            (self.of, self.id) = (Some(path.clone()), repo.id);
        }
        self.return_to_place(&path, env);
        repo.default_branch().clone_into(&mut self.default_branch);
        self.content.note_update(repo.updated);
        let tab = self.tab;
        if tab != RepositoryTab::Overview && env.world.three_panes() {
            // The third pane shows the last commits beside every tab.
            self.counts.request(repo, path.clone(), again, env);
        }
        let mut due = again;
        let request = match tab {
            RepositoryTab::Overview => return self.counts.request(repo, path, again, env),
            RepositoryTab::Files | RepositoryTab::Commits | RepositoryTab::Branches if repo.is_empty() => {
                return self.nothing_pushed(env.world.now);
            }
            RepositoryTab::Files | RepositoryTab::Commits | RepositoryTab::Tags => {
                // These lists are requested again after a push only: histories and directories can be long.
                due = self.content.must_load(tab);
                let Some(request) = self.content.request(tab, path, &self.default_branch) else { return };
                request
            }
            RepositoryTab::Branches => Request::Branches(path),
            RepositoryTab::Hooks => Request::Hooks(HookOwner::Repository(path)),
            RepositoryTab::Artifacts => Request::ArtifactsOf(path),
            tab => {
                due = self.management.must_load(tab, again);
                let Some(request) = RepositoryManagement::request(tab, path) else { return };
                request
            }
        };
        if let Some(list) = self.list_mut().filter(|list| due || !list.was_requested()) {
            list.request(request, env);
        }
    }

    /// Shows the list of a repository without commits.
    fn nothing_pushed(&mut self, now: Duration) {
        fn end<T: Row>(feed: &mut Feed<T>, now: Duration) {
            feed.empty();
            feed.load = Load::Done(now);
        }
        match self.tab {
            RepositoryTab::Files => end(&mut self.content.files, now),
            RepositoryTab::Commits => end(&mut self.content.commits, now),
            _ => end(&mut self.branches, now),
        }
    }

    /// Requests the lists that are not polled again when they are shown next.
    pub(super) fn refresh(&mut self) {
        self.content.refresh();
        self.management.refresh();
    }

    /// Requests the lists of `management` again after a change, if they are those of this repository.
    pub(super) fn expire_management(&mut self, repo: &RepositoryPath, env: &mut Env) {
        if self.of.as_ref() == Some(repo) {
            self.management.expire(env);
        }
    }

    /// Returns the texts to copy for the row under the cursor: key, label and text.
    pub(super) fn copies(&self) -> Vec<(char, &'static str, String)> {
        match self.tab {
            RepositoryTab::Branches => self.branches.list.current().map_or_else(Vec::new, |row| {
                vec![('b', "branch", row.branch.name.clone()), ('c', "commit", row.branch.commit.id.clone())]
            }),
            tab if self.management.list(tab).is_some() => self.management.copies(tab),
            tab => self.content.copies(tab),
        }
    }

    /// Returns the tag under the cursor if tags are listed: its name and its commit.
    pub(super) fn current_tag(&self) -> Option<(&str, &str)> {
        self.content.current_tag().filter(|_| self.tab == RepositoryTab::Tags)
    }

    /// Clears the lists.
    pub(super) fn forget(&mut self, env: &mut Env) {
        self.of = None;
        for list in self.lists_mut() {
            list.stop(env);
            list.empty();
        }
        self.content.forget(env);
        self.management.forget(env);
    }

    /// Clears the lists after a change of branches or tags, if they are those of this repository.
    pub(super) fn forget_refs(&mut self, repo: &RepositoryPath, env: &mut Env) {
        if self.of.as_ref() == Some(repo) {
            self.forget(env);
        }
    }

    /// Shows the next tab, the previous one, or the one with an index.
    pub(super) fn turn(&mut self, action: Action, env: &mut Env) {
        let tab = match action {
            Action::Part(at) => RepositoryTab::ALL.get(at).copied().unwrap_or(self.tab),
            Action::NextPart => self.tab.step(1),
            _ => self.tab.step(RepositoryTab::ALL.len() - 1),
        };
        self.show_tab(tab, env);
    }

    pub(super) fn show_tab(&mut self, tab: RepositoryTab, env: &mut Env) {
        self.management.stop_opening(env);
        (self.tab, self.returning_to) = (tab, None);
    }

    /// Opens the row under the cursor: here, or on its own screen. A branch or tag shows its files.
    pub(super) fn open(&mut self, env: &mut Env) {
        let Some(path) = self.of.clone() else { return };
        match self.tab {
            RepositoryTab::Overview => {}
            RepositoryTab::Files | RepositoryTab::Commits => self.content.open(self.tab, &path, env),
            RepositoryTab::Branches => {
                let name = self.branches.list.current().map(|row| row.branch.name.clone());
                if let Some(name) = name {
                    self.content.choose(name.clone(), name, env);
                    self.tab = RepositoryTab::Files;
                }
            }
            RepositoryTab::Tags => {
                let tag = self.content.current_tag().map(|(name, commit)| (name.to_owned(), commit.to_owned()));
                if let Some((name, commit)) = tag {
                    self.content.choose(name, commit, env);
                    self.tab = RepositoryTab::Files;
                }
            }
            RepositoryTab::Hooks => {
                env.commands.extend(self.hooks.list.current().map(|hook| Cmd::Hooks(path, Some(hook.id))));
            }
            RepositoryTab::Artifacts => {
                env.commands.extend(self.artifacts.list.current().map(|one| Cmd::Artifacts(path, Some(one.id))));
            }
            tab => self.management.open(tab, &path, env),
        }
    }

    /// Shows the commits that changed the file or directory under the cursor.
    pub(super) fn show_history(&mut self, env: &mut Env) {
        if self.tab == RepositoryTab::Files && self.content.list_history(env) {
            self.tab = RepositoryTab::Commits;
        }
    }

    /// Closes what was opened in the shown tab, clears its list or goes to the parent directory. Returns whether there
    /// was something.
    pub(super) fn back(&mut self, env: &mut Env) -> bool {
        self.content.close(self.tab, env)
            || self.management.stop_opening(env)
            || self.list_mut().is_some_and(|list| list.clear_one(env))
            || self.content.up(self.tab, env)
    }

    /// Returns whether there is a row under the cursor.
    pub(super) fn has_current(&self) -> bool {
        self.list().is_some_and(ListView::has_current)
    }

    /// Returns the opened file or commit.
    pub(super) fn viewer(&self) -> Option<&Viewer> {
        self.content.viewer(self.tab)
    }

    pub(super) fn viewer_mut(&mut self) -> Option<&mut Viewer> {
        self.content.viewer_mut(self.tab)
    }

    pub(super) fn act_on_list(&mut self, action: Action) -> bool {
        if let Some(viewer) = self.viewer_mut() {
            return viewer.act(action);
        }
        // The overview does not scroll.
        match self.list_mut() {
            Some(list) => list.act(action),
            None => matches!(action, Action::Up | Action::Down),
        }
    }

    /// Handles a response for one of the tabs. Returns whether the next request may be sent.
    pub(super) fn answered(&mut self, request: &Request, result: &Result<Answer, Problem>, env: &mut Env) -> bool {
        self.content.answered(request, result, env);
        self.management.answered(request, result, env);
        let world = env.world;
        match (request, result) {
            (Request::RepositoryCounts(path), result) => return self.counts.answered(path, result, world.now),
            (Request::Branches(_), Ok(Answer::Branches(page))) if self.branches.awaits(request) => {
                let tip = |branch: &farrier_common::api::Branch| BranchRow {
                    is_default: branch.name == self.default_branch,
                    branch: branch.clone(),
                };
                let items = page.items.iter().map(tip).collect();
                self.branches.take(Page { items, total: page.total, last: page.last }, world);
            }
            (Request::Hooks(_), Ok(Answer::Hooks(page))) if self.hooks.awaits(request) => {
                self.hooks.take(page.clone(), world);
            }
            (Request::ArtifactsOf(_), Ok(Answer::ArtifactsOf(page))) if self.artifacts.awaits(request) => {
                let items = page.items.iter().map(ArtifactRow::from).collect();
                self.artifacts.take(Page { items, total: page.total, last: page.last }, world);
            }
            (request, Err(problem)) => {
                if let Some(list) = self.lists_mut().into_iter().find(|list| list.awaits(request)) {
                    list.fail(problem.clone());
                }
            }
            _ => {}
        }
        false
    }

    /// Returns the left half of the status line.
    pub(super) fn status(&self) -> String {
        if let Some(status) = self.content.status(self.tab) {
            return status;
        }
        match self.list() {
            Some(list) => list.status_text(),
            None => self.of.as_ref().map(ToString::to_string).unwrap_or_default(),
        }
    }

    /// Returns the number of rows: `14 branches`.
    pub(super) fn many(&self) -> String {
        let loaded = self.list().filter(|list| list.has_all());
        let Some(count) = loaded.map(|list| i64::try_from(list.loaded_count()).unwrap_or(i64::MAX)) else {
            return String::new();
        };
        // Only the newest commits and the first collaborators are loaded.
        let is_limited = matches!(self.tab, RepositoryTab::Commits | RepositoryTab::Collaborators);
        let total = self.list().and_then(ListView::total).filter(|_| is_limited);
        let count = total.unwrap_or(count);
        self.tab.counted(count)
    }

    /// Returns the branch, tag or commit under the cursor, or whose files are shown.
    pub(super) fn current_reference(&self) -> Option<&str> {
        match self.tab {
            RepositoryTab::Files => Some(self.content.reference(&self.default_branch)),
            RepositoryTab::Commits => self.content.current_commit(self.tab),
            RepositoryTab::Branches => self.branches.list.current().map(|row| row.branch.name.as_str()),
            RepositoryTab::Tags => self.content.current_tag().map(|(name, _)| name),
            _ => None,
        }
    }

    /// Identifies the rows of actions in a list of `management`.
    pub(super) fn managed_row(&self) -> Option<String> {
        self.management.current_id(self.tab)
    }

    /// Returns the commit under the cursor, or whose files are shown.
    pub(super) fn current_commit(&self) -> Option<&str> {
        match self.tab {
            RepositoryTab::Branches => self.branches.list.current().map(|row| row.branch.commit.id.as_str()),
            tab => self.content.current_commit(tab),
        }
    }

    /// Returns whether the loaded rows belong to this repository.
    pub(super) fn is_of(&self, repo: &RepositorySummary) -> bool {
        self.id == repo.id && self.of.as_ref().is_some_and(|of| of.to_string() == repo.full_name())
    }

    /// Returns what the list of files or commits shows, and the commit of the files.
    pub(super) fn heading(&self, clock: &Clock) -> (String, String) {
        self.content.heading(self.tab, &self.default_branch, clock)
    }

    /// Draws the list of the shown tab. The overview is drawn in `pane`.
    pub(super) fn draw_list(
        &self,
        repo: &RepositorySummary,
        focused: bool,
        world: &World,
        area: Rect,
        buf: &mut Buffer,
    ) {
        if !self.is_of(repo) {
            return;
        }
        if let Some(list) = self.list() {
            let options = TableOptions { what: self.tab.noun(), empty: self.tab.empty(), focused };
            list::draw(list, options, world, area, buf);
        }
    }
}
