//! A list that is loaded from the daemon.
//!
//! Owns the state of loading. During a refresh the old rows stay until the new ones are complete; only during the
//! first load rows appear page by page.

use std::time::Duration;

use super::{List, Row, pending_rows::PendingRows};
use crate::ui::{
    net::{Ask, Page, Problem},
    world::{Env, World},
};

/// State of loading.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) enum Load {
    #[default]
    Never,
    /// Requested at this time.
    Loading(Duration),
    /// Completed at this time.
    Done(Duration),
    /// The last load failed.
    Failed(Problem),
    /// Stopped by the user.
    Stopped,
}

/// A list and the state of loading its rows.
#[derive(Debug)]
pub(crate) struct Feed<T: Row> {
    pub(crate) list: List<T>,
    /// The request without a complete response.
    pending: Option<Ask>,
    /// New rows while they are incomplete.
    pending_rows: PendingRows<T>,
    complete_once: bool,
    /// Whether rows of the pending request are already in the list.
    has_first_page: bool,
    pub(crate) load: Load,
    pub(crate) total: Option<i64>,
    /// When rows last arrived.
    pub(super) filled: Option<Duration>,
    /// The search request while a filter is active and the daemon has more rows than are loaded.
    search: Option<Ask>,
    /// Number of rows at the end that are search results.
    found: usize,
}

impl<T: Row> Feed<T> {
    pub(crate) fn new(list: List<T>) -> Self {
        Self {
            list,
            pending: None,
            pending_rows: PendingRows::default(),
            complete_once: false,
            has_first_page: false,
            load: Load::Never,
            total: None,
            filled: None,
            search: None,
            found: 0,
        }
    }

    /// Whether only an error is shown.
    pub(crate) fn is_failed(&self) -> bool {
        matches!(self.load, Load::Failed(_)) && self.list.rows().is_empty()
    }

    /// Drops all rows.
    pub(crate) fn empty(&mut self) {
        self.list.replace(Vec::new());
        (self.pending, self.complete_once, self.load, self.total) = (None, false, Load::Never, None);
        self.pending_rows = PendingRows::default();
        (self.search, self.found, self.filled) = (None, 0, None);
    }

    /// Requests all rows, or repeats the active search.
    pub(crate) fn ask_all(&mut self, all: Ask, env: &mut Env) {
        let ask = self.search.clone().unwrap_or(all);
        self.ask(ask, env);
    }

    /// Whether the daemon has more rows than are loaded.
    pub(crate) fn is_cut(&self) -> bool {
        let loaded = self.list.rows().len() - self.found;
        self.complete_once && self.total.is_some_and(|total| total > i64::try_from(loaded).unwrap_or(i64::MAX))
    }

    /// Searches on the daemon for rows that match a filter, or drops the results. Does nothing if all rows are
    /// loaded.
    pub(crate) fn find(&mut self, ask: Option<Ask>, env: &mut Env) {
        if ask == self.search || !self.is_cut() {
            return;
        }
        self.stop(env);
        self.search.clone_from(&ask);
        match ask {
            Some(ask) => self.ask(ask, env),
            None => self.set_found(Vec::new()),
        }
    }

    /// Replaces the search results.
    fn set_found(&mut self, rows: Vec<T>) {
        let loaded = self.list.rows().len() - self.found;
        self.list.extend_from(loaded, rows);
        self.found = self.list.rows().len() - loaded;
    }

    /// Clears the marks, else the filter, else the restriction to problems. Returns whether there was one.
    pub(crate) fn clear_one(&mut self, env: &mut Env) -> bool {
        let cleared = self.list.clear_one();
        if self.list.filter().text().is_empty() {
            self.find(None, env);
        }
        cleared
    }

    /// Returns the left half of the status line.
    pub(crate) fn status_text(&self) -> String {
        let text = self.list.status_text(self.total);
        match (self.is_cut(), &self.search) {
            (false, _) => text,
            (true, None) => format!("{text}  / searches on the daemon"),
            (true, Some(_)) if self.pending.is_some() => format!("{text}  searching on the daemon"),
            (true, Some(_)) => format!("{text}  {} more from the daemon", self.found),
        }
    }

    /// Sends a request, unless it is pending.
    pub(crate) fn ask(&mut self, ask: Ask, env: &mut Env) {
        if self.pending.as_ref() == Some(&ask) {
            return;
        }
        self.pending_rows = PendingRows::default();
        self.has_first_page = false;
        self.load = Load::Loading(env.world.now);
        self.pending = Some(ask.clone());
        env.ask(ask);
    }

    /// Whether a request is pending.
    pub(crate) fn is_waiting(&self) -> bool {
        self.pending.is_some()
    }

    /// Whether all rows were loaded once.
    pub(crate) fn has_all(&self) -> bool {
        self.complete_once
    }

    /// Whether rows are loaded for the first time.
    pub(crate) fn is_loading(&self) -> bool {
        self.is_waiting() && !self.has_all()
    }

    /// Returns the error of the last load.
    pub(crate) fn problem(&self) -> Option<&Problem> {
        if let Load::Failed(problem) = &self.load { Some(problem) } else { None }
    }

    /// Whether a response to `ask` belongs to this list.
    pub(crate) fn awaits(&self, ask: &Ask) -> bool {
        self.pending.as_ref() == Some(ask)
    }

    /// Adds a page of rows. Returns the row under the cursor if it is gone.
    pub(crate) fn take(&mut self, page: Page<T>, world: &World) -> Option<T> {
        if self.search.is_some() && self.pending == self.search {
            (self.pending, self.load) = (None, Load::Done(world.now));
            self.set_found(page.items);
            return None;
        }
        self.filled = Some(world.now);
        self.total = page.total.or(self.total);
        if self.complete_once {
            for row in page.items {
                self.pending_rows.add(row, self.list.rows());
            }
        } else if std::mem::replace(&mut self.has_first_page, true) {
            self.list.append(page.items);
        } else {
            // Replaces rows of an earlier load that failed.
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
        match std::mem::take(&mut self.pending_rows).rows(self.list.rows()) {
            Some(rows) => self.list.update(rows, world.still),
            None if world.still => None,
            None => {
                self.list.settle();
                None
            }
        }
    }

    /// Adds the rows that changed last, between two loads of all rows.
    pub(crate) fn renew(&mut self, page: Page<T>, world: &World) {
        // Search results must stay at the end, and a pending response is newer.
        if self.complete_once && self.pending.is_none() && self.found == 0 {
            self.total = page.total.or(self.total);
            self.list.renew(page.items, world.still);
        }
    }

    pub(crate) fn fail(&mut self, problem: Problem) {
        self.pending = None;
        self.pending_rows = PendingRows::default();
        self.load = Load::Failed(problem);
    }

    /// Cancels the pending request. Returns whether there was one.
    pub(crate) fn stop(&mut self, env: &mut Env) -> bool {
        let Some(ask) = self.pending.take() else { return false };
        env.want(crate::ui::world::Cmd::Cancel(ask));
        self.pending_rows = PendingRows::default();
        self.load = if self.complete_once { Load::Done(env.world.now) } else { Load::Stopped };
        true
    }
}
