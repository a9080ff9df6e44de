//! A list without the type of its rows, for everything that does not depend on it.
//!
//! Screens, keys, the status line and drawing use a list only through [`ListView`]. The screens that own a list know
//! the type of its rows; they read rows and take pages through [`Feed`].

use std::{fmt::Debug, ops::Range, time::Duration};

use ratatui::layout::Rect;

use super::{BadFilter, CellText, Column, Feed, Filter, Row, feed::Load, pending_rows::PendingRows};
use crate::ui::{
    keymap::Action,
    net::{Problem, Request},
    place::ListPlace,
    times::Clock,
    world::{Cmd, Env, World},
};

/// The properties of a column that do not depend on the type of rows.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ColumnHead {
    pub(crate) title: &'static str,
    /// Minimum width in cells.
    pub(crate) width: u16,
    pub(crate) right: bool,
    pub(crate) rank: u8,
    /// Whether it shows ages.
    pub(crate) is_age: bool,
    /// Whether it takes the remaining width.
    pub(crate) is_flexible: bool,
}

/// A row in the window of a list, formatted for drawing.
#[derive(Debug)]
pub(crate) struct WindowRow {
    /// The texts of the requested columns.
    pub(crate) cells: Vec<CellText>,
    /// The parts of each text that the filter matches; empty without a filter.
    pub(crate) matches: Vec<Vec<Range<usize>>>,
    /// Indentation of the first column in cells.
    pub(crate) indent: u16,
    pub(crate) is_current: bool,
    pub(crate) is_marked: bool,
    pub(crate) is_problem: bool,
}

/// A list of rows of any type: loading, cursor, marks, filter, sort order and window.
pub(crate) trait ListView: Debug {
    /// Returns the number of loaded rows.
    fn loaded_count(&self) -> usize;
    /// Returns the number of rows that the filter shows.
    fn shown_count(&self) -> usize;
    fn has_current(&self) -> bool;

    fn load(&self) -> &Load;
    /// Returns the number of rows on the daemon, if it reports it.
    fn total(&self) -> Option<i64>;
    /// Returns when rows last arrived.
    fn filled_at(&self) -> Option<Duration>;
    /// Returns whether all rows were loaded once.
    fn has_all(&self) -> bool;
    /// Returns whether a response to `request` belongs to this list.
    fn awaits(&self, request: &Request) -> bool;
    /// Sends a request for rows, unless it is pending.
    fn request(&mut self, request: Request, env: &mut Env);
    /// Cancels the pending request. Returns whether there was one.
    fn stop(&mut self, env: &mut Env) -> bool;
    /// Records that the pending request failed.
    fn fail(&mut self, problem: Problem);
    /// Drops all rows.
    fn empty(&mut self);

    /// Runs an action of lists. Returns whether it was one.
    fn act(&mut self, action: Action) -> bool;
    /// Moves the cursor to the row that is drawn at a cell. Returns whether there is a row.
    fn click(&mut self, x: u16, y: u16) -> bool;
    /// Returns the area in which rows were last drawn.
    fn area(&self) -> Rect;
    /// Clears the marks, else the filter, else the restriction to problems. Returns whether there was one.
    fn clear_one(&mut self, env: &mut Env) -> bool;

    fn filter(&self) -> &Filter;
    fn shows_only_problems(&self) -> bool;
    /// Filters the rows. An invalid filter changes nothing.
    fn set_filter(&mut self, text: &str) -> Result<(), BadFilter>;
    /// Collects the texts of a long list, so that the first key of a filter is fast.
    fn prepare_filter(&mut self);
    /// Drops what was prepared for a filter.
    fn end_filter(&mut self);
    /// Returns the columns that rows can be sorted by, with their indexes.
    fn sortable(&self) -> Vec<(usize, &'static str)>;
    /// Returns the index of the sort column and whether it is reversed; `None` for the order of the daemon.
    fn sort_order(&self) -> Option<(usize, bool)>;
    fn sort(&mut self, column: usize);
    /// Sorts by the column with this title.
    fn sort_by(&mut self, title: &str, reversed: bool);

    /// Returns the place in the list.
    fn place(&self) -> ListPlace;
    /// Returns to a place, now or as soon as its row is loaded.
    fn restore(&mut self, place: &ListPlace);
    /// Returns whether the row of a place is loaded, shown or not.
    fn has_row(&self, key: &str) -> bool;

    /// Returns the left half of the status line.
    fn status_text(&self) -> String;
    /// Formats the number of new rows above the window.
    fn new_above(&self, world: &World) -> Option<String>;

    /// Returns the name of the list in the configuration file; empty if its columns cannot be chosen.
    fn name(&self) -> &'static str;
    fn columns(&self) -> Vec<ColumnHead>;
    /// Moves the window so that it holds the cursor, and formats its rows. `area` is where they are drawn.
    fn window(&self, area: Rect, columns: &[usize], clock: &Clock) -> Vec<WindowRow>;

    /// Returns whether rows were requested before.
    fn was_requested(&self) -> bool {
        *self.load() != Load::Never
    }

    /// Returns whether rows are loaded for the first time.
    fn is_loading(&self) -> bool {
        matches!(self.load(), Load::Loading(_)) && !self.has_all()
    }

    /// Returns the error of the last load.
    fn problem(&self) -> Option<&Problem> {
        if let Load::Failed(problem) = self.load() { Some(problem) } else { None }
    }

    /// Returns whether only an error is shown.
    fn is_failed(&self) -> bool {
        self.problem().is_some() && self.loaded_count() == 0
    }

    /// Returns whether the rows are complete and no request for them is pending.
    fn is_settled(&self) -> bool {
        matches!(self.load(), Load::Done(_))
    }

    /// Returns the title of the sort column and whether it is reversed.
    fn sorted_by(&self) -> Option<(&'static str, bool)> {
        self.sort_order().map(|(column, reversed)| (self.columns()[column].title, reversed))
    }
}

impl<T: Row> ListView for Feed<T> {
    fn loaded_count(&self) -> usize {
        self.list.rows().len()
    }

    fn shown_count(&self) -> usize {
        self.list.shown_count()
    }

    fn has_current(&self) -> bool {
        self.list.current().is_some()
    }

    fn load(&self) -> &Load {
        &self.load
    }

    fn total(&self) -> Option<i64> {
        self.total
    }

    fn filled_at(&self) -> Option<Duration> {
        self.filled
    }

    fn has_all(&self) -> bool {
        self.complete_once
    }

    fn awaits(&self, request: &Request) -> bool {
        self.pending.as_ref() == Some(request)
    }

    fn request(&mut self, request: Request, env: &mut Env) {
        if self.pending.as_ref() == Some(&request) {
            return;
        }
        self.pending_rows = PendingRows::default();
        self.has_first_page = false;
        self.load = Load::Loading(env.world.now);
        self.pending = Some(request.clone());
        env.send(request);
    }

    fn stop(&mut self, env: &mut Env) -> bool {
        let Some(request) = self.pending.take() else { return false };
        env.push(Cmd::Cancel(request));
        self.pending_rows = PendingRows::default();
        self.load = if self.complete_once { Load::Done(env.world.now) } else { Load::Stopped };
        true
    }

    fn fail(&mut self, problem: Problem) {
        self.pending = None;
        self.pending_rows = PendingRows::default();
        self.load = Load::Failed(problem);
    }

    fn empty(&mut self) {
        self.list.replace(Vec::new());
        (self.pending, self.complete_once, self.load, self.total) = (None, false, Load::Never, None);
        self.pending_rows = PendingRows::default();
        (self.search, self.found, self.filled) = (None, 0, None);
    }

    fn act(&mut self, action: Action) -> bool {
        self.list.act(action)
    }

    fn click(&mut self, x: u16, y: u16) -> bool {
        self.list.click(x, y)
    }

    fn area(&self) -> Rect {
        self.list.area.get()
    }

    fn clear_one(&mut self, env: &mut Env) -> bool {
        let cleared = self.list.clear_one();
        if self.list.filter().text().is_empty() {
            self.find(None, env);
        }
        cleared
    }

    fn filter(&self) -> &Filter {
        self.list.filter()
    }

    fn shows_only_problems(&self) -> bool {
        self.list.only_problems
    }

    fn set_filter(&mut self, text: &str) -> Result<(), BadFilter> {
        self.list.set_filter(Filter::parse(text, T::FILTERS)?);
        Ok(())
    }

    fn prepare_filter(&mut self) {
        self.list.prepare_filter();
    }

    fn end_filter(&mut self) {
        self.list.end_filter();
    }

    fn sortable(&self) -> Vec<(usize, &'static str)> {
        let columns = T::COLUMNS.iter().enumerate();
        columns.filter(|(_, column)| column.order.is_some()).map(|(at, column)| (at, column.title)).collect()
    }

    fn sort_order(&self) -> Option<(usize, bool)> {
        self.list.sort
    }

    fn sort(&mut self, column: usize) {
        self.list.set_sort(column);
    }

    fn sort_by(&mut self, title: &str, reversed: bool) {
        self.list.sort_by(title, reversed);
    }

    fn place(&self) -> ListPlace {
        self.list.place()
    }

    fn restore(&mut self, place: &ListPlace) {
        self.list.restore(place);
    }

    fn has_row(&self, key: &str) -> bool {
        self.list.has_row(key)
    }

    fn status_text(&self) -> String {
        let text = self.list.status_text(self.total);
        match (self.is_cut(), &self.search) {
            (true, None) if T::IS_SEARCHED => {
                format!("{text}  / searches on the daemon{}", self.list.loaded_rows_note())
            }
            (true, Some(_)) if self.is_waiting() => format!("{text}  searching on the daemon"),
            (true, Some(_)) => format!("{text}  {} more from the daemon", self.found),
            (true, None) => text + self.list.loaded_rows_note(),
            (false, _) => text,
        }
    }

    fn new_above(&self, world: &World) -> Option<String> {
        self.list.new_above(world)
    }

    fn name(&self) -> &'static str {
        T::LIST
    }

    fn columns(&self) -> Vec<ColumnHead> {
        let head = |(at, column): (usize, &Column<T>)| ColumnHead {
            title: column.title,
            width: column.width,
            right: column.right,
            rank: column.rank,
            is_age: T::ages().contains(&column.title),
            is_flexible: at == T::flexible(),
        };
        T::COLUMNS.iter().enumerate().map(head).collect()
    }

    fn window(&self, area: Rect, columns: &[usize], clock: &Clock) -> Vec<WindowRow> {
        let top = self.list.windowed(usize::from(area.height));
        self.list.area.set(area);
        let current = self.list.current().map(Row::id);
        let rows = self.list.shown().skip(top).take(usize::from(area.height));
        let formatted = rows.map(|row| {
            let cells: Vec<CellText> = columns.iter().map(|at| (T::COLUMNS[*at].cell)(row, clock)).collect();
            WindowRow {
                matches: self.list.matches(row, columns, &cells),
                cells,
                indent: row.indent(),
                is_current: current.as_ref() == Some(&row.id()),
                is_marked: self.list.marks.contains(&row.id()),
                is_problem: row.is_problem(),
            }
        });
        formatted.collect()
    }
}
