//! How the tree of runs comes, part by part, and what else is answered about artifacts.

use std::time::Duration;

use super::{
    Artifacts,
    facts::Facts,
    tree::{Node, NodeId},
};
use crate::ui::screens::Screen as _;
use crate::ui::{
    layer::{Layer, Reader},
    net::{Answer, Ask, Page, Problem},
    runs::{Part, Tree},
    world::Env,
};

/// While rows come for the first time they are arranged so often.
const ARRANGE_EVERY: Duration = Duration::from_millis(250);
/// Runs that are unfolded at first: there may be thousands.
const OPEN_AT_FIRST: usize = 3;

impl Artifacts {
    /// Takes an answer that may be for this screen.
    pub(super) fn take(&mut self, ask: &Ask, result: &Result<Answer, Problem>, env: &mut Env) {
        match (ask, result) {
            (Ask::SignedAddress(..), Ok(Answer::Signed(target))) => Self::signed(target, env),
            (Ask::ZipContent { name, .. }, Ok(Answer::Content(lines))) => {
                let text = if lines.is_empty() { "there is nothing in it".to_owned() } else { lines.join("\n") };
                env.open(Layer::Reader(Reader::new(format!("Inside of {name}"), text)));
            }
            (Ask::DeleteArtifacts(_), Ok(Answer::Each(each))) => self.deleted(each, env),
            (Ask::EditArtifacts(_), Ok(Answer::Expiring(each))) => self.kept(each, env),
            (Ask::CancelRun(id), Ok(_)) => {
                env.tell(format!("run {id} cancelled"));
                self.rows.stop(env);
                self.refresh(env);
            }
            (Ask::Runs(_), Ok(Answer::Runs(part))) if self.rows.awaits(ask) => self.take_part((**part).clone(), env),
            (ask, Err(problem)) if self.rows.awaits(ask) => self.rows.fail(problem.clone()),
            _ => {}
        }
    }

    /// Shows the tree as it is now.
    pub(super) fn settle(&mut self) {
        self.facts = Facts::of(&self.tree, self.facts.cut);
        self.arrange();
    }

    fn take_part(&mut self, part: Part, env: &mut Env) {
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
