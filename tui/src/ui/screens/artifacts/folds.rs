//! Moves in the tree: folds, unfolds, and goes to a run or an artifact by ID.

use super::{
    Artifacts,
    tree::{Node, NodeId},
};
use crate::ui::world::Env;

impl Artifacts {
    /// Puts the cursor on a run, now or as soon as it is loaded.
    pub(crate) fn show_run(&mut self, id: i64) {
        self.pending_cursor = Some(NodeId::Run(id));
        self.seek();
    }

    /// Puts the cursor on an artifact, now or as soon as it is loaded.
    pub(crate) fn show_artifact(&mut self, id: i64) {
        self.pending_cursor = Some(NodeId::Artifact(id));
        self.seek();
    }

    /// Moves the cursor to the pending target if it is loaded. Returns whether no target is pending any more.
    pub(super) fn seek(&mut self) -> bool {
        let run = match self.pending_cursor {
            None => return true,
            Some(NodeId::Artifact(id)) => self.tree.run_of(id),
            Some(NodeId::Run(id) | NodeId::Job(id)) => self.tree.get(id).map(|entry| entry.run.id),
        };
        let Some(run) = run else { return false };
        self.options.open.insert(run);
        self.arrange();
        if let Some(id) = self.pending_cursor.take() {
            self.rows.list.select(id);
        }
        true
    }

    /// Folds the row under the cursor, or its parent.
    pub(super) fn fold(&mut self) -> bool {
        let Some(node) = self.rows.list.current().filter(|_| !self.options.flat) else { return false };
        let (run, job) = (node.run().id, node.job().map(|job| job.id));
        let id = match (node, job) {
            (Node::Run { folded: true, .. }, _) => return false,
            (Node::Artifact { .. } | Node::Job { folded: false, .. }, Some(job)) => {
                self.options.folded_jobs.insert(job);
                NodeId::Job(job)
            }
            _ => {
                self.options.open.remove(&run);
                NodeId::Run(run)
            }
        };
        self.arrange();
        self.rows.list.select(id);
        true
    }

    pub(super) fn unfold(&mut self) {
        match self.rows.list.current() {
            Some(Node::Run { run, folded: true, .. }) => drop(self.options.open.insert(run.id)),
            Some(node @ Node::Job { folded: true, .. }) => {
                if let Some(job) = node.job() {
                    self.options.folded_jobs.remove(&job.id);
                }
            }
            _ => return,
        }
        self.arrange();
    }

    pub(super) fn open(&mut self, env: &mut Env) {
        match self.rows.list.current() {
            Some(Node::Run { folded, .. } | Node::Job { folded, .. }) if !self.options.flat => {
                if *folded {
                    self.unfold();
                } else {
                    self.fold();
                }
            }
            Some(_) => self.open_details(env),
            None => {}
        }
    }
}
