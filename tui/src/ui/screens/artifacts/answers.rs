//! Handles responses about runs and artifacts.

use std::time::Duration;

use super::{
    Artifacts,
    totals::ArtifactTotals,
    tree::{Node, NodeId},
};
use crate::ui::screens::Screen as _;
use crate::ui::{
    layer::{Layer, TextView},
    list::ListView as _,
    net::{Answer, Page, Problem, Request},
    runs::{RunsBatch, Tree},
    world::Env,
};

/// Minimum time between two rebuilds of the rows while the list loads for the first time.
const ARRANGE_EVERY: Duration = Duration::from_millis(250);
/// Number of runs that are unfolded after the first load.
const OPEN_AT_FIRST: usize = 3;

impl Artifacts {
    /// Handles a response.
    pub(super) fn take(&mut self, request: &Request, result: &Result<Answer, Problem>, env: &mut Env) {
        match (request, result) {
            (Request::SignedAddress(..), Ok(Answer::Signed(target))) => Self::signed(target, env),
            (Request::ZipContent { name, .. }, Ok(Answer::Content(lines))) => {
                let text = if lines.is_empty() { "the archive is empty".to_owned() } else { lines.join("\n") };
                env.open(Layer::TextView(TextView::new(format!("Files in {name}"), text)));
            }
            (Request::DeleteArtifacts(_), Ok(Answer::Each(each))) => self.deleted(each, env),
            (Request::EditArtifacts(_), Ok(Answer::Expiring(each))) => self.kept(each, env),
            (Request::CancelRun(id), Ok(_)) => {
                env.notify(format!("run {id} cancelled"));
                self.rows.stop(env);
                self.refresh(env);
            }
            (Request::Runs(_), Ok(Answer::Runs(part))) if self.rows.awaits(request) => {
                self.take_part((**part).clone(), env);
            }
            (request, Err(problem)) if self.rows.awaits(request) => self.rows.fail(problem.clone()),
            _ => {}
        }
    }

    /// Rebuilds the rows from the tree.
    pub(super) fn settle(&mut self) {
        self.totals = ArtifactTotals::of(&self.tree, self.totals.cut);
        self.arrange();
    }

    fn take_part(&mut self, part: RunsBatch, env: &mut Env) {
        let (last, cut) = (part.last, part.cut);
        self.options.now = env.world.clock.now.as_second();
        if self.rows.has_all() {
            self.pending_tree.add(part, &self.tree);
            if !last {
                return;
            }
            self.tree = std::mem::take(&mut self.pending_tree);
        } else {
            self.tree.add(part, &Tree::default());
            if self.options.open.is_empty() {
                self.options.open = self.tree.entries().take(OPEN_AT_FIRST).map(|entry| entry.run.id).collect();
            }
            if !last && env.world.now.saturating_sub(self.arranged) < ARRANGE_EVERY {
                return;
            }
        }
        self.arranged = env.world.now;
        self.totals = ArtifactTotals::of(&self.tree, cut);
        if last {
            self.complete(env);
        } else {
            self.arrange();
            self.seek();
        }
    }

    fn complete(&mut self, env: &mut Env) {
        self.end_filter();
        self.options.flat = self.is_narrowed();
        let page = Page { total: None, items: self.options.flatten(&self.tree), last: true };
        if let Some(Node::Artifact { artifact: gone, .. }) = self.rows.take(page, env.world) {
            env.notify(format!("{} was removed", gone.name()));
        }
        if !self.seek() {
            match self.pending_cursor.take() {
                Some(NodeId::Artifact(id)) => env.notify(format!("artifact {id} not found")),
                Some(NodeId::Run(id) | NodeId::Job(id)) => env.notify(format!("run {id} not found")),
                None => {}
            }
        }
    }
}
