//! A list that is filled by the daemon.
//!
//! Owns what is known about how it was filled: never, on its way, complete, or broken off. Old rows
//! stay until new ones are complete; only the first time rows appear as they come.

use std::time::Duration;

use super::{List, Row, coming::Coming};
use crate::ui::{
    net::{Ask, Page, Problem},
    world::{Env, World},
};

/// How far the rows are.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) enum Load {
    #[default]
    Never,
    /// Asked for at a time.
    Asked(Duration),
    /// Complete at a time.
    Done(Duration),
    /// Broken off.
    Failed(Problem),
    /// Stopped by the user.
    Stopped,
}

/// A list and where its rows come from.
#[derive(Debug)]
pub(crate) struct Feed<T: Row> {
    pub(crate) list: List<T>,
    /// What is on its way.
    pending: Option<Ask>,
    /// New rows that are not complete yet.
    coming: Coming<T>,
    complete_once: bool,
    /// Whether rows of what is on its way are in the list already.
    begun: bool,
    pub(crate) load: Load,
    pub(crate) total: Option<i64>,
    /// When rows last came.
    pub(super) filled: Option<Duration>,
    /// What the daemon is asked in place of all rows, since it has more than are kept.
    finding: Option<Ask>,
    /// How many of the rows, at the end, are its answer.
    found: usize,
}

impl<T: Row> Feed<T> {
    pub(crate) fn new(list: List<T>) -> Self {
        Self {
            list,
            pending: None,
            coming: Coming::default(),
            complete_once: false,
            begun: false,
            load: Load::Never,
            total: None,
            filled: None,
            finding: None,
            found: 0,
        }
    }

    /// Whether there is nothing to be seen but what went wrong.
    pub(crate) fn is_failed(&self) -> bool {
        matches!(self.load, Load::Failed(_)) && self.list.rows().is_empty()
    }

    /// Forgets all rows.
    pub(crate) fn empty(&mut self) {
        self.list.replace(Vec::new());
        (self.pending, self.complete_once, self.load, self.total) = (None, false, Load::Never, None);
        self.coming = Coming::default();
        (self.finding, self.found, self.filled) = (None, 0, None);
    }

    /// Asks for all rows, or again for those that were found.
    pub(crate) fn ask_all(&mut self, all: Ask, env: &mut Env) {
        let ask = self.finding.clone().unwrap_or(all);
        self.ask(ask, env);
    }

    /// Whether the daemon has more rows than are kept.
    pub(crate) fn is_cut(&self) -> bool {
        let kept = self.list.rows().len() - self.found;
        self.complete_once && self.total.is_some_and(|total| total > i64::try_from(kept).unwrap_or(i64::MAX))
    }

    /// Asks the daemon what else fits a filter, or forgets what it found. Where all rows are kept there
    /// is nothing to ask.
    pub(crate) fn find(&mut self, ask: Option<Ask>, env: &mut Env) {
        if ask == self.finding || !self.is_cut() {
            return;
        }
        self.stop(env);
        self.finding.clone_from(&ask);
        match ask {
            Some(ask) => self.ask(ask, env),
            None => self.put_found(Vec::new()),
        }
    }

    /// Takes what the daemon found.
    fn put_found(&mut self, rows: Vec<T>) {
        let kept = self.list.rows().len() - self.found;
        self.list.extend_from(kept, rows);
        self.found = self.list.rows().len() - kept;
    }

    /// Takes away one thing that hides or marks rows.
    pub(crate) fn clear_one(&mut self, env: &mut Env) -> bool {
        let cleared = self.list.clear_one();
        if self.list.filter().text().is_empty() {
            self.find(None, env);
        }
        cleared
    }

    /// The left half of the status line.
    pub(crate) fn standing(&self) -> String {
        let text = self.list.standing(self.total);
        match (self.is_cut(), &self.finding) {
            (false, _) => text,
            (true, None) => format!("{text}  / asks the daemon"),
            (true, Some(_)) if self.pending.is_some() => format!("{text}  asking the daemon"),
            (true, Some(_)) => format!("{text}  {} more from the daemon", self.found),
        }
    }

    /// Asks, unless the same is on its way.
    pub(crate) fn ask(&mut self, ask: Ask, env: &mut Env) {
        if self.pending.as_ref() == Some(&ask) {
            return;
        }
        self.coming = Coming::default();
        self.begun = false;
        self.load = Load::Asked(env.world.now);
        self.pending = Some(ask.clone());
        env.ask(ask);
    }

    /// Whether something is on its way.
    pub(crate) fn is_waiting(&self) -> bool {
        self.pending.is_some()
    }

    /// Whether rows were complete at some time.
    pub(crate) fn has_all(&self) -> bool {
        self.complete_once
    }

    /// Whether rows come for the first time.
    pub(crate) fn is_loading(&self) -> bool {
        self.is_waiting() && !self.has_all()
    }

    /// What went wrong last.
    pub(crate) fn problem(&self) -> Option<&Problem> {
        if let Load::Failed(problem) = &self.load { Some(problem) } else { None }
    }

    /// Whether an answer to `ask` is for this list.
    pub(crate) fn awaits(&self, ask: &Ask) -> bool {
        self.pending.as_ref() == Some(ask)
    }

    /// Takes rows. Answers what was under the cursor and is gone.
    pub(crate) fn take(&mut self, page: Page<T>, world: &World) -> Option<T> {
        if self.finding.is_some() && self.pending == self.finding {
            (self.pending, self.load) = (None, Load::Done(world.now));
            self.put_found(page.items);
            return None;
        }
        self.filled = Some(world.now);
        self.total = page.total.or(self.total);
        if self.complete_once {
            for row in page.items {
                self.coming.add(row, self.list.rows());
            }
        } else if std::mem::replace(&mut self.begun, true) {
            self.list.append(page.items);
        } else {
            // What an earlier try left is asked for again from its beginning.
            self.list.replace(page.items);
        }
        if !page.last {
            return None;
        }
        self.pending = None;
        self.load = Load::Done(world.now);
        self.found = 0;
        if !std::mem::replace(&mut self.complete_once, true) {
            return None;
        }
        match std::mem::take(&mut self.coming).rows(self.list.rows()) {
            Some(rows) => self.list.update(rows, world.still),
            None if world.still => None,
            None => {
                self.list.settle();
                None
            }
        }
    }

    /// Takes those rows that have changed last, between two looks at all of them.
    pub(crate) fn renew(&mut self, page: Page<T>, world: &World) {
        // What was found stands behind all others, and what is on its way is newer.
        if self.complete_once && self.pending.is_none() && self.found == 0 {
            self.total = page.total.or(self.total);
            self.list.renew(page.items, world.still);
        }
    }

    pub(crate) fn fail(&mut self, problem: Problem) {
        self.pending = None;
        self.coming = Coming::default();
        self.load = Load::Failed(problem);
    }

    /// Stops what is on its way.
    pub(crate) fn stop(&mut self, env: &mut Env) -> bool {
        let Some(ask) = self.pending.take() else { return false };
        env.want(crate::ui::world::Cmd::Cancel(ask));
        self.coming = Coming::default();
        self.load = if self.complete_once { Load::Done(env.world.now) } else { Load::Stopped };
        true
    }
}
