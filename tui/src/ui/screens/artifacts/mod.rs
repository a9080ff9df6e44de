//! The artifacts screen: runs of all repositories or of one, with their jobs and artifacts, as a foldable tree.

mod actions;
mod answers;
mod folds;
pub(super) mod form;
mod pane;
mod place;
pub(super) mod rows;
mod totals;
pub(super) mod tree;

use std::time::Duration;

use farrier_common::client::RepositoryPath;
use ratatui::{buffer::Buffer, layout::Rect};

use self::{
    pane as artifact_pane,
    totals::ArtifactTotals,
    tree::{ArtifactOrder, Node, NodeId, TreeOptions},
};
use super::{Related, Screen, ScreenId, Selection, ThirdPane, panes};
use crate::ui::{
    keymap::{Action, Object, Scope},
    list::{self, BadFilter, Feed, List, ListView, TableOptions},
    net::{Answer, Problem, Request},
    runs::Tree,
    view::rule,
    world::{Env, World},
};

const REFRESH_INTERVAL: Duration = Duration::from_secs(5);
/// A long list takes many requests: each time it grows by this many rows, it is refreshed less often.
const ROWS_PER_STEP: usize = 500;

#[derive(Debug)]
pub(crate) struct Artifacts {
    /// The repository that the list is limited to.
    of: Option<RepositoryPath>,
    pub(super) rows: Feed<Node>,
    /// All rows unfolded, for the first key of a filter.
    unfolded: Option<List<Node>>,
    pub(super) tree: Tree,
    /// The tree that a refresh fills while the current one is shown.
    pub(super) pending_tree: Tree,
    pub(super) options: TreeOptions,
    pub(super) totals: ArtifactTotals,
    /// The row that the cursor moves to as soon as it is loaded.
    pub(super) pending_cursor: Option<NodeId>,
    pub(super) arranged: Duration,
}

impl Default for Artifacts {
    fn default() -> Self {
        Self {
            of: None,
            rows: Feed::new(List::default()),
            unfolded: None,
            tree: Tree::default(),
            pending_tree: Tree::default(),
            options: TreeOptions { named: true, ..TreeOptions::default() },
            totals: ArtifactTotals::default(),
            pending_cursor: None,
            arranged: Duration::ZERO,
        }
    }
}

impl Artifacts {
    /// Shows the runs of a repository, or of all.
    pub(crate) fn choose(&mut self, of: Option<RepositoryPath>, env: &mut Env) {
        if self.of != of {
            self.rows.stop(env);
            self.rows.empty();
            self.unfolded = None;
            (self.tree, self.totals) = (Tree::default(), ArtifactTotals::default());
            self.options.named = of.is_none();
            self.options.open.clear();
            self.of = of;
        }
        self.refresh(env);
    }

    /// Returns whether rows are left out, so that no row may be folded.
    pub(super) fn is_narrowed(&self) -> bool {
        !self.rows.list.filter().text().is_empty() || self.rows.list.only_problems
    }

    pub(super) fn arrange(&mut self) {
        self.unfolded = None;
        self.options.flat = self.is_narrowed();
        self.rows.list.replace(self.options.flatten(&self.tree));
    }

    /// Unfolds all rows of a copy of the list, because that takes longer than a frame if there are many.
    pub(crate) fn prepare_filter(&mut self) {
        if self.options.flat {
            return self.rows.prepare_filter();
        }
        let options = TreeOptions { flat: true, ..self.options.clone() };
        let mut list = List::default();
        list.replace(options.flatten(&self.tree));
        list.prepare_filter();
        self.unfolded = Some(list);
    }

    /// Drops what was prepared for a filter.
    pub(crate) fn end_filter(&mut self) {
        self.unfolded = None;
        self.rows.end_filter();
    }

    fn back(&mut self, env: &mut Env) -> bool {
        if self.rows.clear_one(env) {
            self.arrange();
            return true;
        }
        let narrowed = self.of.is_some();
        if narrowed {
            self.choose(None, env);
        }
        narrowed
    }
}

impl Screen for Artifacts {
    fn id(&self) -> ScreenId {
        ScreenId::Artifacts
    }

    fn scopes(&self, _: &World) -> Vec<Scope> {
        vec![Scope::Artifacts, Scope::List, Scope::Moves, Scope::Everywhere]
    }

    fn list(&self) -> Option<&dyn ListView> {
        Some(&self.rows)
    }

    fn list_mut(&mut self) -> Option<&mut dyn ListView> {
        Some(&mut self.rows)
    }

    fn refresh(&mut self, env: &mut Env) {
        if !self.rows.is_waiting() {
            self.pending_tree = Tree::default();
            if !self.rows.has_all() {
                self.tree = Tree::default();
            }
        }
        self.rows.request(Request::Runs(self.of.clone()), env);
    }

    fn refresh_interval(&self) -> Option<Duration> {
        let slower = u32::try_from((self.totals.runs + self.totals.artifacts) / ROWS_PER_STEP).unwrap_or(u32::MAX - 1);
        Some(REFRESH_INTERVAL.saturating_mul(slower + 1))
    }

    fn act(&mut self, action: Action, env: &mut Env) -> bool {
        match action {
            Action::Open => self.open(env),
            Action::Unfold => self.unfold(),
            Action::Fold => return self.fold() || self.back(env),
            Action::Download => self.download(env),
            Action::Delete => self.delete(env),
            Action::Edit => self.keep(env),
            Action::CancelRun => self.cancel_run(env),
            Action::Copy => self.copy(env),
            Action::Inside => self.look_inside(env),
            Action::Reverse => {
                self.options.reversed = !self.options.reversed;
                self.arrange();
            }
            Action::Problems => {
                self.rows.list.act(action);
                self.arrange();
            }
            Action::Back => return self.back(env),
            action => return self.rows.list.act(action),
        }
        true
    }

    fn unavailable(&self, action: Action) -> Option<String> {
        self.unavailable_reason(action)
    }

    fn answered(&mut self, request: &Request, result: &Result<Answer, Problem>, env: &mut Env) {
        self.take(request, result, env);
    }

    fn filter(&mut self, text: &str, _: &mut Env) -> Result<(), BadFilter> {
        if let Some(unfolded) = self.unfolded.take_if(|_| !text.trim().is_empty()) {
            self.rows.list.adopt(unfolded);
            self.options.flat = true;
        }
        let outcome = self.rows.set_filter(text);
        if self.is_narrowed() != self.options.flat {
            self.arrange();
        }
        outcome
    }

    fn sortable(&self) -> Vec<(usize, &'static str)> {
        ArtifactOrder::ALL.to_vec()
    }

    fn sort(&mut self, column: usize) {
        (self.options.order, self.options.reversed) = (ArtifactOrder::of(column), false);
        self.arrange();
    }

    fn third_pane(&self, world: &World, _: u16) -> Option<ThirdPane> {
        self.rows.list.current()?;
        Some(artifact_pane::third_pane(&self.totals.next, world))
    }

    fn subject(&self) -> Option<String> {
        self.rows.list.subject(Node::name, "marked")
    }

    fn related(&self) -> Vec<Related> {
        let Some(node) = self.rows.list.current() else { return Vec::new() };
        let run = node.run();
        let mut all = Related::of_commit(&run.repo, run.sha());
        all.push(Related::run(run.id));
        all.push(match node.artifact() {
            Some(artifact) => Related::audit_of("artifact", &artifact.id.to_string()),
            None => Related::audit_of("run", &run.id.to_string()),
        });
        all
    }

    fn selection(&self) -> Option<Selection> {
        self.rows.list.selection(Object::Artifact, self.subject()?)
    }

    fn missing_target(&self, request: &Request) -> Option<String> {
        let Request::DeleteArtifacts(ids) = request else { return None };
        let gone = ids.iter().find(|id| self.rows.has_all() && self.tree.find(**id).is_none());
        gone.map(|id| format!("artifact {id}"))
    }

    fn status_note(&self, world: &World) -> Option<String> {
        self.rows.list.new_above(world).or_else(|| self.totals.soon(world))
    }

    fn status(&self, world: &World) -> String {
        let of = self.of.as_ref().map_or_else(String::new, |of| format!("{of}  "));
        let sort = match self.options.order {
            ArtifactOrder::Created => String::new(),
            order => format!("  sort {}", order.name()),
        };
        let below = self.marked_below().map_or_else(String::new, |text| format!(" {text}"));
        format!(
            "{of}{}{below}{sort}  {}",
            self.rows.list.status_text(None),
            self.totals.summary(self.of.is_some(), world)
        )
    }

    fn draw(&self, world: &World, area: Rect, buf: &mut Buffer) {
        let name = format!(
            "farrier ci exec --repo {} -- COMMAND",
            self.of.as_ref().map_or_else(|| "OWNER/NAME".to_owned(), ToString::to_string)
        );
        let empty: &[&str] = &["No runs yet. A CI agent creates one with:", "", &name];
        let options = TableOptions { what: "runs", empty, focused: true };
        let here = self.rows.list.current();
        if world.split() {
            let (left, right) = panes::side_by_side(area, 63, world, buf);
            list::draw(&self.rows, options, world, left, buf);
            // The third pane shows them.
            let next = if world.three_panes() { 0 } else { self.totals.next.len() };
            artifact_pane::draw(here, &self.totals.next[..next], world, right, buf);
        } else if area.height >= 18 {
            let below = if world.transfers.is_empty() { 5 } else { 8 };
            let top = Rect { height: area.height - below - 1, ..area };
            list::draw(&self.rows, options, world, top, buf);
            rule(buf, Rect { y: top.bottom(), height: 1, ..area }, "");
            let rest = Rect { y: top.bottom() + 1, height: below, ..area };
            artifact_pane::draw(here, &self.totals.next, world, rest, buf);
        } else {
            list::draw(&self.rows, options, world, area, buf);
        }
    }
}
