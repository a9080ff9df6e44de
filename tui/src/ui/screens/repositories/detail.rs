//! The parts of one repository: what is known of it, its branches, its hooks, its artifacts.
//!
//! Owns what was asked about the repository that is looked at, and forgets it when that is another one.
//! Hooks and artifacts are only listed here: what can be done with them is their own screens' business.

use std::time::Duration;

use farrier_common::{
    api::Hook,
    client::{HookPlace, RepositoryPath},
};
use ratatui::{buffer::Buffer, layout::Rect};

use super::branch_rows::Tip;
use crate::ui::screens::{sortable, stored_rows::Stored};
use crate::ui::{
    keymap::Action,
    list::{self, BadFilter, Feed, Filter, List, Place, Row as _, feed::Load},
    net::{Answer, Ask, Facts, Page, Problem},
    repo::Repo,
    world::{Cmd, Env, World},
};

/// Counts that are so old are counted again.
const COUNTS_KEEP: Duration = Duration::from_secs(30);

/// What a repository shows of itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Part {
    Overview,
    Branches,
    Hooks,
    Artifacts,
}

impl Part {
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
        let at = Self::ALL.iter().position(|part| *part == self).unwrap_or(0);
        Self::ALL[(at + by) % Self::ALL.len()]
    }
}

/// What was counted, when, and how the repository was then.
#[derive(Debug)]
struct Counted {
    of: RepositoryPath,
    updated: i64,
    at: Duration,
    facts: Facts,
}

#[derive(Debug)]
pub(crate) struct Detail {
    pub(super) part: Part,
    /// The repository that the lists are of, and its default branch.
    of: Option<RepositoryPath>,
    default_branch: String,
    pub(super) branches: Feed<Tip>,
    hooks: Feed<Hook>,
    artifacts: Feed<Stored>,
    counted: Option<Counted>,
    /// What is being counted, and how the repository was before.
    counting: Option<(RepositoryPath, i64)>,
}

impl Default for Detail {
    fn default() -> Self {
        Self {
            part: Part::Overview,
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

/// Does something with the list of the part that is shown, or something else on the overview.
macro_rules! shown {
    ([$($how:tt)+] $detail:ident, $feed:ident => $do:expr, else $other:expr) => {
        match $detail.part {
            Part::Overview => $other,
            Part::Branches => { let $feed = $($how)+ $detail.branches; $do }
            Part::Hooks => { let $feed = $($how)+ $detail.hooks; $do }
            Part::Artifacts => { let $feed = $($how)+ $detail.artifacts; $do }
        }
    };
}

impl Detail {
    /// Asks for what the part that is shown needs of a repository; `again` also for what is there.
    pub(super) fn look(&mut self, repo: &Repo, path: RepositoryPath, again: bool, env: &mut Env) {
        if self.of.as_ref() != Some(&path) {
            self.forget(env);
            self.of = Some(path.clone());
        }
        repo.default_branch().clone_into(&mut self.default_branch);
        match self.part {
            Part::Overview => self.count(repo, path, again, env),
            Part::Branches if repo.is_empty() => {
                self.branches.empty();
                self.branches.load = Load::Done(env.world.now);
            }
            Part::Branches => ask(&mut self.branches, Ask::Branches(path), again, env),
            Part::Hooks => ask(&mut self.hooks, Ask::Hooks(HookPlace::Repository(path)), again, env),
            Part::Artifacts => ask(&mut self.artifacts, Ask::ArtifactsOf(path), again, env),
        }
    }

    /// Forgets the lists.
    pub(super) fn forget(&mut self, env: &mut Env) {
        self.of = None;
        self.branches.stop(env);
        self.branches.empty();
        self.hooks.stop(env);
        self.hooks.empty();
        self.artifacts.stop(env);
        self.artifacts.empty();
    }

    /// One question at a time: who moves through a list of repositories does not ask about each.
    fn count(&mut self, repo: &Repo, path: RepositoryPath, again: bool, env: &mut Env) {
        let good = self.counted.as_ref().is_some_and(|counted| {
            let old = again && env.world.now >= counted.at + COUNTS_KEEP;
            counted.of == path && counted.updated == repo.updated && !old
        });
        if !good && self.counting.is_none() {
            self.counting = Some((path.clone(), repo.updated));
            env.ask(Ask::Facts(path));
        }
    }

    /// What was counted of a repository.
    pub(super) fn facts(&self, repo: &Repo) -> Option<&Facts> {
        let name = repo.full_name();
        self.counted.as_ref().filter(|counted| counted.of.to_string() == name).map(|counted| &counted.facts)
    }

    pub(super) fn turn(&mut self, action: Action) {
        self.part = self.part.step(if action == Action::NextPart { 1 } else { Part::ALL.len() - 1 });
    }

    /// Goes to what is under the cursor, on the screen that it belongs to.
    pub(super) fn open(&self, env: &mut Env) {
        let Some(path) = self.of.clone() else { return };
        match self.part {
            Part::Overview | Part::Branches => {}
            Part::Hooks => env.wants.extend(self.hooks.list.current().map(|hook| Cmd::Hooks(path, Some(hook.id)))),
            Part::Artifacts => {
                env.wants.extend(self.artifacts.list.current().map(|one| Cmd::Artifacts(path, Some(one.id))));
            }
        }
    }

    /// Whether there is something under the cursor.
    pub(super) fn has_current(&self) -> bool {
        shown!([&] self, feed => feed.list.current().is_some(), else false)
    }

    pub(super) fn act_on_list(&mut self, action: Action) -> bool {
        // What an overview shows fits or does not: there is nothing to move.
        shown!([&mut] self, feed => feed.list.act(action), else matches!(action, Action::Up | Action::Down))
    }

    pub(super) fn clear_one(&mut self) -> bool {
        shown!([&mut] self, feed => feed.list.clear_one(), else false)
    }

    /// Takes an answer that may be for one of the parts. Says whether more may be asked now.
    pub(super) fn answered(&mut self, ask: &Ask, result: &Result<Answer, Problem>, world: &World) -> bool {
        match (ask, result) {
            (Ask::Facts(path), result) => {
                let before = self.counting.take_if(|(counting, _)| counting == path);
                if let (Some((of, updated)), Ok(Answer::Facts(facts))) = (before, result) {
                    self.counted = Some(Counted { of, updated, at: world.now, facts: (**facts).clone() });
                    return true;
                }
            }
            (Ask::Branches(_), Ok(Answer::Branches(page))) if self.branches.awaits(ask) => {
                let tip = |branch: &farrier_common::api::Branch| Tip {
                    is_default: branch.name == self.default_branch,
                    branch: branch.clone(),
                };
                let items = page.items.iter().map(tip).collect();
                self.branches.take(Page { items, total: page.total, last: page.last }, world);
            }
            (Ask::Hooks(_), Ok(Answer::Hooks(all))) if self.hooks.awaits(ask) => {
                self.hooks.take(Page { items: all.clone(), total: None, last: true }, world);
            }
            (Ask::ArtifactsOf(_), Ok(Answer::ArtifactsOf(page))) if self.artifacts.awaits(ask) => {
                let items = page.items.iter().map(Stored::from).collect();
                self.artifacts.take(Page { items, total: page.total, last: page.last }, world);
            }
            (ask, Err(problem)) if self.branches.awaits(ask) => self.branches.fail(problem.clone()),
            (ask, Err(problem)) if self.hooks.awaits(ask) => self.hooks.fail(problem.clone()),
            (ask, Err(problem)) if self.artifacts.awaits(ask) => self.artifacts.fail(problem.clone()),
            _ => {}
        }
        false
    }

    pub(super) fn is_loading(&self) -> bool {
        shown!([&] self, feed => feed.is_loading(), else false)
    }

    pub(super) fn filter(&mut self, text: &str) -> Result<(), BadFilter> {
        match self.part {
            Part::Overview => {}
            Part::Branches => self.branches.list.set_filter(Filter::parse(text, Tip::filters())?),
            Part::Hooks => self.hooks.list.set_filter(Filter::parse(text, Hook::filters())?),
            Part::Artifacts => self.artifacts.list.set_filter(Filter::parse(text, Stored::filters())?),
        }
        Ok(())
    }

    pub(super) fn filter_text(&self) -> String {
        shown!([&] self, feed => feed.list.filter().text().to_owned(), else String::new())
    }

    pub(super) fn sortable(&self) -> Vec<(usize, &'static str)> {
        match self.part {
            Part::Overview => Vec::new(),
            Part::Branches => sortable::<Tip>(),
            Part::Hooks => sortable::<Hook>(),
            Part::Artifacts => sortable::<Stored>(),
        }
    }

    pub(super) fn sort(&mut self, column: usize) {
        shown!([&mut] self, feed => feed.list.set_sort(column), else ());
    }

    pub(super) fn click(&mut self, x: u16, y: u16) -> bool {
        shown!([&mut] self, feed => feed.list.click(x, y), else false)
    }

    /// What is said of rows that are out of sight.
    pub(super) fn news(&self, world: &World) -> Option<String> {
        shown!([&] self, feed => feed.list.news(world), else None)
    }

    /// What went wrong with the list that is shown.
    pub(super) fn problem(&self) -> Option<&Problem> {
        shown!([&] self, feed => feed.problem(), else None)
    }

    /// Whether there is nothing to be seen but that.
    pub(super) fn is_failed(&self) -> bool {
        shown!([&] self, feed => feed.is_failed(), else false)
    }

    /// The left half of the status line.
    pub(super) fn standing(&self) -> String {
        shown!([&] self, feed => feed.standing(), else self.of.as_ref().map(ToString::to_string).unwrap_or_default())
    }

    /// How many there are of what is listed: `14 branches`.
    pub(super) fn many(&self) -> String {
        let (one, many) = match self.part {
            Part::Overview => return String::new(),
            Part::Branches => ("branch", "branches"),
            Part::Hooks => ("hook", "hooks"),
            Part::Artifacts => ("artifact", "artifacts"),
        };
        let count = shown!([&] self, feed => feed.has_all().then(|| feed.list.rows().len()), else None);
        let word = |count| format!("{count} {}", if count == 1 { one } else { many });
        count.map_or_else(String::new, word)
    }

    /// Whether a branch that a question is about is not there any more.
    pub(super) fn lost_branch(&self, path: &RepositoryPath, name: &str) -> bool {
        let known = self.of.as_ref() == Some(path) && self.branches.has_all();
        known && !self.branches.list.rows().iter().any(|tip| tip.branch.name == name)
    }

    /// Draws the list of the part that is shown; the overview is drawn elsewhere.
    pub(super) fn draw_list(&self, repo: &Repo, focused: bool, world: &World, area: Rect, buf: &mut Buffer) {
        if self.of.as_ref().is_none_or(|of| of.to_string() != repo.full_name()) {
            // What is there is another repository's.
            return;
        }
        let (what, empty): (_, &[&str]) = match self.part {
            Part::Overview => return,
            Part::Branches => {
                ("branches", &["No branches: nothing was pushed yet.", "", "y h   copies the address to push to"])
            }
            Part::Hooks => ("hooks", &["No hooks of its own.", "", "w   its hooks, where n makes one"]),
            Part::Artifacts => ("artifacts", &["No artifacts of its runs.", "", "o   its runs"]),
        };
        shown!([&] self, feed => list::draw(feed, Place { what, empty, focused }, world, area, buf), else ());
    }
}

fn ask<T: list::Row>(feed: &mut Feed<T>, ask: Ask, again: bool, env: &mut Env) {
    if again || feed.load == Load::Never {
        feed.ask(ask, env);
    }
}
