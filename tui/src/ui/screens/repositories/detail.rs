//! The tabs of one repository: overview, branches, hooks, artifacts.
//!
//! Owns the data that was requested for the shown repository, and clears it when another one is shown. Hooks and
//! artifacts are only listed here; actions on them belong to their own screens.

use std::time::Duration;

use farrier_common::{
    api::Hook,
    client::{HookOwner, RepositoryPath},
};
use ratatui::{buffer::Buffer, layout::Rect};

use super::{artifact_rows::ArtifactRow, branch_rows::BranchRow};
use crate::ui::{
    keymap::Action,
    list::{self, Feed, List, ListView, TableOptions, feed::Load},
    net::{Answer, Page, Problem, RepositoryCounts, Request},
    repo::RepositorySummary,
    world::{Cmd, Env, World},
};

/// Counts older than this are requested again.
const COUNTS_KEEP: Duration = Duration::from_secs(30);

/// The tabs of a repository.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RepositoryTab {
    Overview,
    Branches,
    Hooks,
    Artifacts,
}

impl RepositoryTab {
    pub(super) const ALL: [Self; 4] = [Self::Overview, Self::Branches, Self::Hooks, Self::Artifacts];

    pub(super) fn word(self) -> &'static str {
        match self {
            Self::Overview => "Overview",
            Self::Branches => "Branches",
            Self::Hooks => "Hooks",
            Self::Artifacts => "Artifacts",
        }
    }

    fn step(self, by: usize) -> Self {
        let at = Self::ALL.iter().position(|tab| *tab == self).unwrap_or(0);
        Self::ALL[(at + by) % Self::ALL.len()]
    }
}

/// Counts, the time they were requested, and the repository's update time then.
#[derive(Debug)]
struct Counted {
    of: RepositoryPath,
    updated: i64,
    at: Duration,
    facts: RepositoryCounts,
}

#[derive(Debug)]
pub(crate) struct Detail {
    pub(super) tab: RepositoryTab,
    /// The repository of the lists, and its default branch.
    of: Option<RepositoryPath>,
    default_branch: String,
    pub(in crate::ui::screens) branches: Feed<BranchRow>,
    hooks: Feed<Hook>,
    artifacts: Feed<ArtifactRow>,
    counted: Option<Counted>,
    /// The count that is being requested, and the repository's update time before.
    counting: Option<(RepositoryPath, i64)>,
}

impl Default for Detail {
    fn default() -> Self {
        Self {
            tab: RepositoryTab::Overview,
            of: None,
            default_branch: String::new(),
            branches: Feed::new(List::sorted(0)),
            hooks: Feed::new(List::sorted(0)),
            artifacts: Feed::new(List::sorted(3)),
            counted: None,
            counting: None,
        }
    }
}

impl Detail {
    /// Returns the list of the shown tab; the overview has none.
    pub(super) fn list(&self) -> Option<&dyn ListView> {
        match self.tab {
            RepositoryTab::Overview => None,
            RepositoryTab::Branches => Some(&self.branches),
            RepositoryTab::Hooks => Some(&self.hooks),
            RepositoryTab::Artifacts => Some(&self.artifacts),
        }
    }

    pub(super) fn list_mut(&mut self) -> Option<&mut dyn ListView> {
        match self.tab {
            RepositoryTab::Overview => None,
            RepositoryTab::Branches => Some(&mut self.branches),
            RepositoryTab::Hooks => Some(&mut self.hooks),
            RepositoryTab::Artifacts => Some(&mut self.artifacts),
        }
    }

    fn lists_mut(&mut self) -> [&mut dyn ListView; 3] {
        [&mut self.branches, &mut self.hooks, &mut self.artifacts]
    }

    /// Requests the data of the shown tab; `again` also reloads data that is loaded.
    pub(super) fn look(&mut self, repo: &RepositorySummary, path: RepositoryPath, again: bool, env: &mut Env) {
        if self.of.as_ref() != Some(&path) {
            self.forget(env);
            self.of = Some(path.clone());
        }
        repo.default_branch().clone_into(&mut self.default_branch);
        let request = match self.tab {
            RepositoryTab::Overview => return self.count(repo, path, again, env),
            RepositoryTab::Branches if repo.is_empty() => {
                self.branches.empty();
                self.branches.load = Load::Done(env.world.now);
                return;
            }
            RepositoryTab::Branches => Request::Branches(path),
            RepositoryTab::Hooks => Request::Hooks(HookOwner::Repository(path)),
            RepositoryTab::Artifacts => Request::ArtifactsOf(path),
        };
        if let Some(list) = self.list_mut().filter(|list| again || !list.was_requested()) {
            list.request(request, env);
        }
    }

    /// Clears the lists.
    pub(super) fn forget(&mut self, env: &mut Env) {
        self.of = None;
        for list in self.lists_mut() {
            list.stop(env);
            list.empty();
        }
    }

    /// Sends one request at a time, so that moving through the repository list does not send one per row.
    fn count(&mut self, repo: &RepositorySummary, path: RepositoryPath, again: bool, env: &mut Env) {
        let good = self.counted.as_ref().is_some_and(|counted| {
            let old = again && env.world.now >= counted.at + COUNTS_KEEP;
            counted.of == path && counted.updated == repo.updated && !old
        });
        if !good && self.counting.is_none() {
            self.counting = Some((path.clone(), repo.updated));
            env.send(Request::RepositoryCounts(path));
        }
    }

    /// Returns the counts of a repository.
    pub(super) fn facts(&self, repo: &RepositorySummary) -> Option<&RepositoryCounts> {
        let name = repo.full_name();
        self.counted.as_ref().filter(|counted| counted.of.to_string() == name).map(|counted| &counted.facts)
    }

    pub(super) fn turn(&mut self, action: Action) {
        self.tab = self.tab.step(if action == Action::NextPart { 1 } else { RepositoryTab::ALL.len() - 1 });
    }

    /// Opens the row under the cursor on its own screen.
    pub(super) fn open(&self, env: &mut Env) {
        let Some(path) = self.of.clone() else { return };
        match self.tab {
            RepositoryTab::Overview | RepositoryTab::Branches => {}
            RepositoryTab::Hooks => {
                env.commands.extend(self.hooks.list.current().map(|hook| Cmd::Hooks(path, Some(hook.id))));
            }
            RepositoryTab::Artifacts => {
                env.commands.extend(self.artifacts.list.current().map(|one| Cmd::Artifacts(path, Some(one.id))));
            }
        }
    }

    /// Returns whether there is a row under the cursor.
    pub(super) fn has_current(&self) -> bool {
        self.list().is_some_and(ListView::has_current)
    }

    pub(super) fn act_on_list(&mut self, action: Action) -> bool {
        // The overview does not scroll.
        match self.list_mut() {
            Some(list) => list.act(action),
            None => matches!(action, Action::Up | Action::Down),
        }
    }

    /// Handles a response for one of the tabs. Returns whether the next request may be sent.
    pub(super) fn answered(&mut self, request: &Request, result: &Result<Answer, Problem>, world: &World) -> bool {
        match (request, result) {
            (Request::RepositoryCounts(path), result) => {
                let before = self.counting.take_if(|(counting, _)| counting == path);
                if let (Some((of, updated)), Ok(Answer::RepositoryCounts(facts))) = (before, result) {
                    self.counted = Some(Counted { of, updated, at: world.now, facts: (**facts).clone() });
                    return true;
                }
            }
            (Request::Branches(_), Ok(Answer::Branches(page))) if self.branches.awaits(request) => {
                let tip = |branch: &farrier_common::api::Branch| BranchRow {
                    is_default: branch.name == self.default_branch,
                    branch: branch.clone(),
                };
                let items = page.items.iter().map(tip).collect();
                self.branches.take(Page { items, total: page.total, last: page.last }, world);
            }
            (Request::Hooks(_), Ok(Answer::Hooks(all))) if self.hooks.awaits(request) => {
                self.hooks.take(Page { items: all.clone(), total: None, last: true }, world);
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
        match self.list() {
            Some(list) => list.status_text(),
            None => self.of.as_ref().map(ToString::to_string).unwrap_or_default(),
        }
    }

    /// Returns the number of rows: `14 branches`.
    pub(super) fn many(&self) -> String {
        let (one, many) = match self.tab {
            RepositoryTab::Overview => return String::new(),
            RepositoryTab::Branches => ("branch", "branches"),
            RepositoryTab::Hooks => ("hook", "hooks"),
            RepositoryTab::Artifacts => ("artifact", "artifacts"),
        };
        let count = self.list().filter(|list| list.has_all()).map(ListView::loaded_count);
        let word = |count| format!("{count} {}", if count == 1 { one } else { many });
        count.map_or_else(String::new, word)
    }

    /// Returns whether the branch of an open confirmation no longer exists.
    pub(super) fn lost_branch(&self, path: &RepositoryPath, name: &str) -> bool {
        let known = self.of.as_ref() == Some(path) && self.branches.has_all();
        known && !self.branches.list.rows().iter().any(|tip| tip.branch.name == name)
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
        if self.of.as_ref().is_none_or(|of| of.to_string() != repo.full_name()) {
            // The loaded rows belong to another repository.
            return;
        }
        let (what, empty): (_, &[&str]) = match self.tab {
            RepositoryTab::Overview => return,
            RepositoryTab::Branches => {
                ("branches", &["No branches: nothing was pushed yet.", "", "y h   copies the address to push to"])
            }
            RepositoryTab::Hooks => ("hooks", &["No hooks of its own.", "", "w   its hooks, where n makes one"]),
            RepositoryTab::Artifacts => ("artifacts", &["No artifacts of its runs.", "", "o   its runs"]),
        };
        if let Some(list) = self.list() {
            list::draw(list, TableOptions { what, empty, focused }, world, area, buf);
        }
    }
}
