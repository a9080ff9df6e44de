//! Runs of all repositories, or of one, with their jobs and artifacts: a tree that folds.

use std::time::Duration;

use farrier_common::client::RepositoryPath;
use ratatui::{buffer::Buffer, layout::Rect};

use super::{
    Screen, ScreenId,
    artifact_facts::Facts,
    artifact_pane,
    artifact_tree::{Node, NodeId, Order, Shape},
    panes,
};
use crate::ui::{
    keymap::{Action, Scope},
    layer::{Layer, Reader},
    list::{self, Feed, Filter, List, Place, Row as _},
    net::{Answer, Ask, Page, Problem},
    runs::{Part, Tree},
    view::rule,
    world::{Env, World},
};

const PACE: Duration = Duration::from_secs(5);
/// A long list is many requests: so many rows more make the pace slower once more.
const ROWS_A_PACE: usize = 500;
/// While rows come for the first time they are arranged so often.
const ARRANGE_EVERY: Duration = Duration::from_millis(250);
/// Runs that are unfolded at first: there may be thousands.
const OPEN_AT_FIRST: usize = 3;

#[derive(Debug)]
pub(crate) struct Artifacts {
    /// Only of this repository.
    of: Option<RepositoryPath>,
    pub(super) rows: Feed<Node>,
    pub(super) tree: Tree,
    /// What comes while the tree is there.
    coming: Tree,
    pub(super) shape: Shape,
    facts: Facts,
    /// Where the cursor is to go once that is there.
    pub(super) wanted: Option<NodeId>,
    arranged: Duration,
}

impl Default for Artifacts {
    fn default() -> Self {
        Self {
            of: None,
            rows: Feed::new(List::default()),
            tree: Tree::default(),
            coming: Tree::default(),
            shape: Shape { named: true, ..Shape::default() },
            facts: Facts::default(),
            wanted: None,
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
            (self.tree, self.facts) = (Tree::default(), Facts::default());
            self.shape.named = of.is_none();
            self.shape.open.clear();
            self.of = of;
        }
        self.refresh(env);
    }

    /// Whether rows are left out, so that nothing may be folded away.
    fn is_narrowed(&self) -> bool {
        !self.rows.list.filter().text().is_empty() || self.rows.list.only_problems
    }

    pub(super) fn arrange(&mut self) {
        self.shape.flat = self.is_narrowed();
        self.rows.list.replace(self.shape.flatten(&self.tree));
    }

    fn back(&mut self, env: &mut Env) -> bool {
        if self.rows.list.clear_one() {
            self.arrange();
            return true;
        }
        let narrowed = self.of.is_some();
        if narrowed {
            self.choose(None, env);
        }
        narrowed
    }

    /// Shows the tree as it is now.
    pub(super) fn settle(&mut self) {
        self.facts = Facts::of(&self.tree, self.facts.cut);
        self.arrange();
    }

    fn take(&mut self, part: Part, env: &mut Env) {
        let (last, cut) = (part.last, part.cut);
        self.shape.now = env.world.clock.now.as_second();
        if self.rows.has_all() {
            self.coming.add(part, &self.tree);
            if !last {
                return;
            }
            self.tree = std::mem::take(&mut self.coming);
        } else {
            self.tree.add(part, &Tree::default());
            if self.shape.open.is_empty() {
                self.shape.open = self.tree.entries().take(OPEN_AT_FIRST).map(|entry| entry.run.id).collect();
            }
            if !last && env.world.now.saturating_sub(self.arranged) < ARRANGE_EVERY {
                return;
            }
        }
        self.arranged = env.world.now;
        self.facts = Facts::of(&self.tree, cut);
        if last {
            self.complete(env);
        } else {
            self.arrange();
            self.seek();
        }
    }

    fn complete(&mut self, env: &mut Env) {
        self.shape.flat = self.is_narrowed();
        let page = Page { total: None, items: self.shape.flatten(&self.tree), last: true };
        if let Some(Node::Artifact { artifact: gone, .. }) = self.rows.take(page, env.world) {
            env.tell(format!("{} was removed", gone.name()));
        }
        if !self.seek() {
            match self.wanted.take() {
                Some(NodeId::Artifact(id)) => env.tell(format!("there is no artifact {id} here")),
                Some(NodeId::Run(id) | NodeId::Job(id)) => env.tell(format!("there is no run {id} here")),
                None => {}
            }
        }
    }
}

impl Screen for Artifacts {
    fn id(&self) -> ScreenId {
        ScreenId::Artifacts
    }

    fn scopes(&self, _: &World) -> Vec<Scope> {
        vec![Scope::Artifacts, Scope::List, Scope::Moves, Scope::Everywhere]
    }

    fn entered(&mut self, env: &mut Env) {
        self.refresh(env);
    }

    fn refresh(&mut self, env: &mut Env) {
        if !self.rows.is_waiting() {
            self.coming = Tree::default();
            if !self.rows.has_all() {
                self.tree = Tree::default();
            }
        }
        self.rows.ask(Ask::Runs(self.of.clone()), env);
    }

    fn pace(&self) -> Option<Duration> {
        let slower = u32::try_from((self.facts.runs + self.facts.artifacts) / ROWS_A_PACE).unwrap_or(u32::MAX - 1);
        Some(PACE.saturating_mul(slower + 1))
    }

    fn is_loading(&self) -> bool {
        self.rows.is_loading()
    }

    fn act(&mut self, action: Action, env: &mut Env) -> bool {
        match action {
            Action::Open => self.open(env),
            Action::Unfold => self.unfold(),
            Action::Fold => return self.fold() || self.back(env),
            Action::Download => self.download(env),
            Action::Delete => self.delete(env),
            Action::Edit => self.keep(env),
            Action::Copy => self.copy(env),
            Action::Inside => self.look_inside(env),
            Action::Reverse => {
                self.shape.reversed = !self.shape.reversed;
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

    fn off(&self, action: Action) -> Option<String> {
        let on_artifacts = matches!(action, Action::Download | Action::Delete | Action::Copy | Action::Edit);
        let needs_bytes = matches!(action, Action::Download | Action::Edit);
        if on_artifacts && self.targets().is_empty() {
            return Some("no artifact here".to_owned());
        }
        if needs_bytes && self.targets().iter().any(|(artifact, _)| !artifact.is_ready()) {
            return Some("an artifact that is being uploaded or has expired has no bytes".to_owned());
        }
        if action == Action::Delete && self.targets().iter().any(|(artifact, _)| artifact.is_uploading()) {
            return Some("an artifact that is being uploaded is not there yet".to_owned());
        }
        let here = self.rows.list.current().and_then(Node::artifact);
        (action == Action::Inside && !here.is_some_and(|artifact| artifact.is_ready()))
            .then(|| "no artifact with bytes here".to_owned())
    }

    fn answered(&mut self, ask: &Ask, result: &Result<Answer, Problem>, env: &mut Env) {
        match (ask, result) {
            (Ask::SignedAddress(..), Ok(Answer::Signed(target))) => Self::signed(target, env),
            (Ask::ZipContent { name, .. }, Ok(Answer::Content(lines))) => {
                let text = if lines.is_empty() { "there is nothing in it".to_owned() } else { lines.join("\n") };
                env.open(Layer::Reader(Reader::new(format!("Inside of {name}"), text)));
            }
            (Ask::DeleteArtifacts(_), Ok(Answer::Each(each))) => self.deleted(each, env),
            (Ask::EditArtifacts(_), Ok(Answer::Expiring(each))) => self.kept(each, env),
            (Ask::Runs(_), Ok(Answer::Runs(part))) if self.rows.awaits(ask) => self.take((**part).clone(), env),
            (ask, Err(problem)) if self.rows.awaits(ask) => self.rows.fail(problem.clone()),
            _ => {}
        }
    }

    fn filter(&mut self, text: &str, _: &mut Env) -> Result<(), String> {
        self.rows.list.set_filter(Filter::parse(text, Node::filters())?);
        if self.is_narrowed() != self.shape.flat {
            self.arrange();
        }
        Ok(())
    }

    fn filter_text(&self) -> String {
        self.rows.list.filter().text().to_owned()
    }

    fn sortable(&self) -> Vec<(usize, &'static str)> {
        Order::ALL.to_vec()
    }

    fn sort(&mut self, column: usize) {
        (self.shape.order, self.shape.reversed) = (Order::of(column), false);
        self.arrange();
    }

    fn click(&mut self, x: u16, y: u16, _: &mut Env) {
        self.rows.list.click(x, y);
    }

    fn subject(&self) -> Option<String> {
        self.rows.list.subject(Node::name, "marked")
    }

    fn problem(&self) -> Option<&Problem> {
        self.rows.problem()
    }

    fn lost(&self, ask: &Ask) -> Option<String> {
        let Ask::DeleteArtifacts(ids) = ask else { return None };
        let gone = ids.iter().find(|id| self.rows.has_all() && self.tree.find(**id).is_none());
        gone.map(|id| format!("artifact {id}"))
    }

    fn aside(&self, world: &World) -> Option<String> {
        self.rows.list.news(world).or_else(|| self.facts.soon(world))
    }

    fn standing(&self, world: &World) -> String {
        let of = self.of.as_ref().map_or_else(String::new, |of| format!("{of}  "));
        let sort = match self.shape.order {
            Order::Made => String::new(),
            order => format!("  sort {}", order.name()),
        };
        format!("{of}{}{sort}  {}", self.rows.list.standing(None), self.facts.told(self.of.is_some(), world))
    }

    fn draw(&self, world: &World, area: Rect, buf: &mut Buffer) {
        let name = format!(
            "farrier ci exec --repo {} -- COMMAND",
            self.of.as_ref().map_or_else(|| "OWNER/NAME".to_owned(), ToString::to_string)
        );
        let empty: &[&str] = &["No runs yet. Agents begin them:", "", &name];
        let place = Place { what: "runs", empty, focused: true };
        let here = self.rows.list.current();
        if world.split() {
            let (left, right) = panes::beside(area, 63, buf);
            list::draw(&self.rows, place, world, left, buf);
            artifact_pane::draw(here, &self.facts.next, world, right, buf);
        } else if area.height >= 18 {
            let below = if world.transfers.is_empty() { 5 } else { 8 };
            let top = Rect { height: area.height - below - 1, ..area };
            list::draw(&self.rows, place, world, top, buf);
            rule(buf, Rect { y: top.bottom(), height: 1, ..area }, "");
            let rest = Rect { y: top.bottom() + 1, height: below, ..area };
            artifact_pane::draw(here, &self.facts.next, world, rest, buf);
        } else {
            list::draw(&self.rows, place, world, area, buf);
        }
    }
}
