//! A list that is loaded from the daemon: its request, its pages and its errors.
//!
//! Owns the state of loading. During a refresh the old rows stay until the new ones are complete; only during the
//! first load rows appear page by page.

use std::time::Duration;

use super::{List, ListView as _, Row, pending_rows::PendingRows};
use crate::ui::{
    net::{Page, Problem, Request},
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
    pub(super) pending: Option<Request>,
    /// New rows while they are incomplete.
    pub(super) pending_rows: PendingRows<T>,
    pub(super) complete_once: bool,
    /// Whether rows of the pending request are already in the list.
    pub(super) has_first_page: bool,
    pub(crate) load: Load,
    pub(crate) total: Option<i64>,
    /// When rows last arrived.
    pub(super) filled: Option<Duration>,
    /// The search request while a filter is active and the daemon has more rows than are loaded.
    pub(super) search: Option<Request>,
    /// Number of rows at the end that are search results.
    pub(super) found: usize,
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

    /// Requests all rows, or repeats the active search.
    pub(crate) fn request_all(&mut self, all: Request, env: &mut Env) {
        let request = self.search.clone().unwrap_or(all);
        self.request(request, env);
    }

    /// Returns whether the daemon has more rows than are loaded.
    pub(crate) fn is_cut(&self) -> bool {
        let loaded = self.list.rows().len() - self.found;
        self.complete_once && self.total.is_some_and(|total| total > i64::try_from(loaded).unwrap_or(i64::MAX))
    }

    /// Searches on the daemon for rows that match a filter, or drops the results. Does nothing if all rows are
    /// loaded.
    pub(crate) fn find(&mut self, request: Option<Request>, env: &mut Env) {
        if request == self.search || !self.is_cut() {
            return;
        }
        self.stop(env);
        self.search.clone_from(&request);
        match request {
            Some(request) => self.request(request, env),
            None => self.set_found(Vec::new()),
        }
    }

    /// Replaces the search results.
    fn set_found(&mut self, rows: Vec<T>) {
        let loaded = self.list.rows().len() - self.found;
        self.list.extend_from(loaded, rows);
        self.found = self.list.rows().len() - loaded;
    }

    /// Returns whether a request is pending.
    pub(crate) fn is_waiting(&self) -> bool {
        self.pending.is_some()
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
            Some(rows) => self.list.update(rows, world.rows_frozen),
            None if world.rows_frozen => None,
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
            self.list.renew(page.items, world.rows_frozen);
        }
    }
}
