//! The repositories screen: the list, and the tabs of one repository.
//!
//! Wide terminals show both side by side; on others the focused pane takes the whole screen. Only the drawing
//! differs.

mod actions;
pub(super) mod answers;
mod artifact_rows;
pub(super) mod branch_rows;
pub(super) mod content;
mod counts;
mod detail;
pub(super) mod form;
mod jumps;
pub(super) mod management;
mod pane;
mod part_actions;
mod place;
mod questions;
pub(super) mod rows;
mod tab;
pub(super) mod task_lines;

use std::time::Duration;

use farrier_common::{api::BackgroundTask, client::RepositoryPath};
use ratatui::{buffer::Buffer, layout::Rect};

pub(crate) use self::tab::RepositoryTab;
use self::{detail::Detail, pane as repo_pane, rows as repo_rows};
use super::{Related, Screen, ScreenId, Selection, ThirdPane, panes};
use crate::ui::{
    keymap::{Action, Object, Scope},
    list::{self, BadFilter, Feed, Filter, List, ListView, Row as _, TableOptions, feed::Load},
    net::{Answer, Problem, Request},
    repo::RepositorySummary,
    world::{Cmd, Env, World},
};

/// Refresh interval of the list; shorter while an import runs.
const REFRESH_INTERVAL: Duration = Duration::from_secs(5);
/// Each time the list grows by this many rows, it is refreshed less often.
const ROWS_PER_STEP: usize = 1_000;
const REFRESH_INTERVAL_MIGRATING: Duration = Duration::from_secs(1);

/// Hint for an empty list.
const FIRST_STEPS: &[&str] = &[
    "No repositories yet.",
    "",
    "n   creates one; its page shows how to push to it",
    "M   imports one from another server",
    "",
    "On a repository: w shows its hooks, o its runs and artifacts.",
];

#[derive(Debug)]
pub(crate) struct Repositories {
    pub(super) repos: Feed<RepositorySummary>,
    /// The repository in the detail pane.
    pub(super) detail: Detail,
    pub(super) in_detail: bool,
    /// Background tasks of the daemon.
    pub(super) tasks: Vec<BackgroundTask>,
}

impl Default for Repositories {
    fn default() -> Self {
        Self { repos: Feed::new(List::sorted(0)), detail: Detail::default(), in_detail: false, tasks: Vec::new() }
    }
}

/// Returns the path of a repository, for further requests.
pub(super) fn path(repo: &RepositorySummary) -> Option<RepositoryPath> {
    repo.full_name().parse().ok()
}

impl Repositories {
    /// Puts the cursor on the repository of this name. Returns whether it is in the list.
    pub(crate) fn show_named(&mut self, name: &str) -> bool {
        let found = self.repos.list.rows().iter().find(|repo| repo.full_name().eq_ignore_ascii_case(name));
        let Some(id) = found.map(|repo| repo.id) else { return false };
        self.show(id);
        true
    }

    /// Puts the cursor on a repository, now or as soon as it is loaded.
    pub(crate) fn show(&mut self, id: i64) {
        self.in_detail = false;
        self.repos.list.show(id);
    }

    pub(super) fn here(&self) -> Option<(&RepositorySummary, RepositoryPath)> {
        let repo = self.repos.list.current()?;
        Some((repo, path(repo)?))
    }

    /// Returns the repositories that an action applies to: in the list, marked ones before the one under the
    /// cursor.
    pub(super) fn target(&self) -> Option<(&RepositorySummary, RepositoryPath)> {
        if self.in_detail {
            return self.here();
        }
        let repo = self.repos.list.target().ok()??;
        Some((repo, path(repo)?))
    }

    pub(super) fn on_branches(&self) -> bool {
        self.in_detail && self.detail.tab == RepositoryTab::Branches
    }

    /// Returns whether a list in the detail pane has the focus.
    fn on_part(&self) -> bool {
        self.in_detail && self.detail.tab != RepositoryTab::Overview
    }

    /// Returns whether to request all rows and not only those that changed last. A long list takes many requests:
    /// requesting it at every refresh would be the daemon's main load.
    fn is_due(&self, now: Duration) -> bool {
        let thousands = u32::try_from(self.repos.list.rows().len() / ROWS_PER_STEP).unwrap_or(u32::MAX - 1);
        !matches!(self.repos.load, Load::Done(at) if now < at + REFRESH_INTERVAL.saturating_mul(thousands))
    }

    fn load(&mut self, env: &mut Env) {
        self.repos.request_all(Request::Repositories, env);
        self.look(self.in_detail, env);
    }

    /// Requests the data of the shown tab when it becomes visible.
    pub(super) fn look(&mut self, again: bool, env: &mut Env) {
        if !(self.in_detail || env.world.split()) || env.is_cursor_moving() {
            return;
        }
        let Some(repo) = self.repos.list.current().cloned() else { return };
        if let Some(path) = path(&repo) {
            self.detail.look(&repo, path, again, env);
        }
    }

    /// Returns whether a file or a commit is open and has the focus.
    fn is_reading(&self) -> bool {
        self.in_detail && self.detail.viewer().is_some()
    }

    fn back(&mut self, env: &mut Env) -> bool {
        if self.on_part() && self.detail.back(env) {
            self.look(false, env);
            return true;
        }
        if std::mem::take(&mut self.in_detail) {
            return true;
        }
        self.repos.clear_one(env)
    }

    fn act_on_list(&mut self, action: Action, env: &mut Env) -> bool {
        let acted = if self.on_part() || (self.in_detail && !env.world.split()) {
            self.detail.act_on_list(action)
        } else {
            self.repos.act(action)
        };
        self.look(false, env);
        acted
    }

    pub(super) fn is_migrating(&self) -> bool {
        self.repos.list.rows().iter().any(|repo| repo_rows::state(repo) == "importing")
    }

    /// Returns the progress of a running import.
    pub(super) fn task(&self, repo: &RepositorySummary) -> Option<&BackgroundTask> {
        self.tasks.iter().find(|task| task.repository_id == repo.id && task.is_running())
    }
}

impl Screen for Repositories {
    fn id(&self) -> ScreenId {
        ScreenId::Repositories
    }

    fn scopes(&self, _: &World) -> Vec<Scope> {
        let own = match (self.in_detail, self.detail.tab) {
            (false, _) => return vec![Scope::Repositories, Scope::List, Scope::Moves, Scope::Everywhere],
            (true, RepositoryTab::Overview) => return vec![Scope::Repository, Scope::Everywhere],
            (true, _) if self.is_reading() => {
                return vec![Scope::RepositoryText, Scope::Repository, Scope::Moves, Scope::Everywhere];
            }
            (true, tab) => tab.scope(),
        };
        vec![own, Scope::Repository, Scope::List, Scope::Moves, Scope::Everywhere]
    }

    fn right_has_focus(&self) -> Option<bool> {
        Some(self.in_detail)
    }

    fn list(&self) -> Option<&dyn ListView> {
        if self.on_part() { self.detail.list() } else { Some(&self.repos) }
    }

    fn list_mut(&mut self) -> Option<&mut dyn ListView> {
        if self.on_part() { self.detail.list_mut() } else { Some(&mut self.repos) }
    }

    fn entered(&mut self, env: &mut Env) {
        if !matches!(self.repos.load, Load::Done(_)) {
            self.refresh(env);
        }
    }

    fn refresh(&mut self, env: &mut Env) {
        self.detail.refresh();
        self.load(env);
    }

    fn cursor_moved(&mut self, env: &mut Env) {
        self.look(false, env);
    }

    fn poll(&mut self, env: &mut Env) {
        if self.repos.is_waiting() || self.is_due(env.world.now) {
            return self.load(env);
        }
        env.send(Request::ChangedRepositories);
        self.look(self.in_detail, env);
    }

    fn refresh_interval(&self) -> Option<Duration> {
        Some(if self.is_migrating() { REFRESH_INTERVAL_MIGRATING } else { REFRESH_INTERVAL })
    }

    fn is_loading(&self) -> bool {
        self.repos.is_loading() || self.detail.list().is_some_and(ListView::is_loading)
    }

    fn act(&mut self, action: Action, env: &mut Env) -> bool {
        match action {
            Action::Open if self.in_detail => self.detail.open(env),
            Action::Open if self.here().is_some() => self.in_detail = true,
            Action::OtherPane if env.world.split() || self.in_detail => self.in_detail = !self.in_detail,
            Action::NextPart | Action::PreviousPart | Action::Part(_) if self.in_detail || env.world.split() => {
                self.detail.turn(action, env);
            }
            Action::NextPart | Action::PreviousPart => env.notify("Enter opens the repository; its parts are there"),
            Action::Back => {
                if self.repos.stop(env) && !self.repos.has_all() {
                    return true;
                }
                return self.back(env);
            }
            Action::NewBranch => self.new_branch(env),
            Action::NewTag => self.new_tag(env),
            Action::New => Self::new_repository(env),
            Action::Migrate => self.migrate(env),
            Action::Edit => self.edit(env),
            Action::DeleteBranch => self.delete_branch(env),
            Action::DeleteTag => self.delete_tag(env),
            Action::History => self.detail.show_history(env),
            Action::Pager => env.commands.extend(self.detail.viewer().map(|viewer| Cmd::Page(viewer.paged()))),
            Action::Delete => self.delete(env),
            Action::Copy => self.copy(env),
            Action::Archive => self.archive(env),
            Action::CancelMigration => self.cancel_migration(env),
            Action::Artifacts => {
                if let Some((_, path)) = self.here() {
                    env.push(Cmd::Artifacts(path, None));
                }
            }
            Action::Hooks => {
                if let Some((_, path)) = self.here() {
                    env.push(Cmd::Hooks(path, None));
                }
            }
            action if self.act_on_part(action, env) || self.manage(action, env) => {}
            action => return self.act_on_list(action, env),
        }
        self.look(false, env);
        true
    }

    fn unavailable(&self, action: Action) -> Option<String> {
        self.unavailable_reason(action)
    }

    fn answered(&mut self, request: &Request, result: &Result<Answer, Problem>, env: &mut Env) {
        self.take(request, result, env);
    }

    fn filter(&mut self, text: &str, env: &mut Env) -> Result<(), BadFilter> {
        if self.is_reading() {
            if let Some(viewer) = self.detail.viewer_mut() {
                viewer.search(text);
            }
            return Ok(());
        }
        let is_on_part = self.on_part();
        if let Some(list) = self.detail.list_mut().filter(|_| is_on_part) {
            list.set_filter(text)?;
        } else {
            let filter = Filter::parse(text, RepositorySummary::FILTERS)?;
            // The daemon compares names only, without their owners.
            let word = filter.word().map(|word| word.rsplit('/').next().unwrap_or_default().to_owned());
            self.repos.find(word.filter(|word| !word.is_empty()).map(Request::FindRepositories), env);
            self.repos.list.set_filter(filter);
            // The cursor may be on another row by now.
            self.look(false, env);
        }
        Ok(())
    }

    fn filter_text(&self) -> String {
        match self.detail.viewer().filter(|_| self.in_detail) {
            Some(viewer) => viewer.searched().to_owned(),
            None => self.list().map(|list| list.filter().text().to_owned()).unwrap_or_default(),
        }
    }

    fn click(&mut self, x: u16, y: u16, env: &mut Env) {
        // A list that is not drawn still has the area of its last drawing.
        let split = env.world.split();
        if (split || !self.in_detail) && self.repos.click(x, y) {
            self.in_detail = false;
        } else if (split || self.in_detail) && self.detail.viewer().is_none() {
            self.in_detail |= self.detail.list_mut().is_some_and(|list| list.click(x, y));
        }
        self.look(false, env);
    }

    fn subject(&self) -> Option<String> {
        if self.in_detail {
            return self.repos.list.current().map(|repo| repo.full_name().to_owned());
        }
        self.repos.list.subject(|repo| repo.full_name().to_owned(), "repositories")
    }

    fn related(&self) -> Vec<Related> {
        let Some((_, path)) = self.here() else { return Vec::new() };
        let commit = self.detail.current_commit().filter(|_| self.in_detail && self.shows_current());
        place::related_objects(&path, self.repos.list.current().map_or(0, |repo| repo.id), commit)
    }

    fn selection(&self) -> Option<Selection> {
        let name = self.subject()?;
        if self.in_detail {
            let (reference, row) = (self.detail.current_reference(), self.detail.managed_row());
            let rows = format!("{} {reference:?} {row:?}", self.repos.list.current()?.id);
            return Some(Selection { object: Object::Repository, name, rows });
        }
        self.repos.list.selection(Object::Repository, name)
    }

    fn third_pane(&self, world: &World, _: u16) -> Option<ThirdPane> {
        repo_pane::third_pane(self, &world.clock)
    }

    fn problem(&self) -> Option<&Problem> {
        self.detail.list().and_then(ListView::problem).or_else(|| self.repos.problem())
    }

    fn is_failed(&self) -> bool {
        let list = if self.in_detail { self.detail.list() } else { Some(&self.repos as &dyn ListView) };
        !self.is_reading() && list.is_some_and(ListView::is_failed)
    }

    fn missing_target(&self, request: &Request) -> Option<String> {
        self.lost_target(request)
    }

    fn status(&self, world: &World) -> String {
        if self.on_part() || (self.in_detail && !world.split()) {
            return self.detail.status();
        }
        self.repos.status_text()
    }

    fn draw(&self, world: &World, area: Rect, buf: &mut Buffer) {
        let options = TableOptions { what: "repositories", empty: FIRST_STEPS, focused: !self.in_detail };
        if !world.split() {
            if self.in_detail {
                repo_pane::draw(self, true, world, area, buf);
            } else {
                list::draw(&self.repos, options, world, area, buf);
            }
            return;
        }
        let (left, right) = panes::side_by_side_focused(area, 57, self.in_detail, world, buf);
        list::draw(&self.repos, options, world, left, buf);
        repo_pane::draw(self, self.in_detail, world, right, buf);
    }
}
