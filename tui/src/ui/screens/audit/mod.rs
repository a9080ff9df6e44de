//! The audit log: who did what. Administrators see all entries, others their own.
//!
//! While not all entries are loaded, the daemon filters them. The filter also applies to the loaded entries at once.

mod rows;
mod selection;

use std::time::Duration;

use farrier_common::{api::AuditEntry, client::AuditFilter};
use ratatui::{buffer::Buffer, layout::Rect};

use self::selection::AuditSelection;
use super::{Related, Screen, ScreenId, Selection, ThirdPane, panes};
use crate::{
    audit_text,
    ui::{
        audit::AuditSummary,
        keymap::{Action, Object, Scope},
        layer::{Layer, TextView},
        list::{self, BadFilter, Feed, Filter, List, ListView, Row as _, TableOptions},
        net::{Answer, Page, Problem, Request, SearchProgress},
        times::Clock,
        view::{self, LinePart, Role, below, rule, wrapped},
        words,
        world::{Cmd, Env, World},
    },
};

/// Refresh interval while the screen is visible.
const REFRESH_INTERVAL: Duration = Duration::from_secs(10);
/// Number of entries to load at first.
const ROWS_STEP: usize = 500;
/// Older entries are loaded when fewer rows than this are left below the cursor.
const NEAR: usize = 50;
/// Above this number of loaded rows, older entries are not loaded; a filter finds them.
const ROWS_MAX: usize = 16_000;
/// A search is repeated less often for each time that the daemon examines this number of entries.
const EXAMINED_STEP: i64 = 20_000;
/// Rows of the pane below the list, with its rule.
const PANE: u16 = 8;
/// With fewer rows there is no pane below the list.
const ROOMY: u16 = 16;
/// Maximum number of entries in the third pane.
const SAME_MAX: usize = 500;

#[derive(Debug)]
pub(crate) struct AuditLog {
    pub(super) rows: Feed<AuditSummary>,
    /// Maximum number of rows to load.
    row_limit: usize,
    /// The selection in the last request.
    requested: Option<AuditSelection>,
    /// Whether all entries are loaded, so that the daemon need not filter them.
    is_complete: bool,
    searched: SearchProgress,
    /// Number of all entries, if the daemon reported it.
    all: Option<i64>,
    /// Start of the time range in the filter, RFC 3339; empty for none.
    since: String,
}

impl Default for AuditLog {
    fn default() -> Self {
        Self {
            rows: Feed::new(List::default()),
            row_limit: ROWS_STEP,
            requested: None,
            is_complete: false,
            searched: SearchProgress::default(),
            all: None,
            since: String::new(),
        }
    }
}

impl AuditLog {
    /// Whether older entries exist that are not loaded.
    pub(super) fn is_cut(&self) -> bool {
        self.rows.has_all() && self.searched.more
    }

    /// Returns what the daemon selects now.
    fn selection_of_filter(&self) -> AuditSelection {
        if self.is_complete {
            return AuditSelection::default();
        }
        AuditSelection::of(self.rows.list.filter(), &self.since)
    }

    /// Requests the entries that the daemon selects for the filter, unless they are loaded or requested. The shown rows
    /// stay until the response arrives.
    fn request_selection(&mut self, env: &mut Env) {
        if self.requested.as_ref().is_some_and(|requested| *requested != self.selection_of_filter()) {
            self.row_limit = ROWS_STEP;
            // That was another search.
            self.searched.examined = None;
            self.rows.stop(env);
            self.refresh(env);
        }
    }

    /// Handles a page of entries.
    fn take(&mut self, request: &Request, page: &Page<AuditSummary>, searched: SearchProgress, env: &mut Env) {
        self.searched = searched;
        self.rows.take(page.clone(), env.world);
        if !page.last {
            return;
        }
        // The total of an earlier filter says nothing about these rows.
        self.rows.total = page.total;
        let is_whole =
            matches!(request, Request::Audit { filter, entry: None, .. } if **filter == AuditFilter::default());
        if is_whole {
            self.all = page.total;
        }
        self.is_complete = is_whole && !searched.more;
        self.request_selection(env);
        self.fetch_on(env);
    }

    /// Formats how far the daemon has searched. `None` if it has not.
    fn search_text(&self) -> Option<String> {
        let is_search = self.requested.as_ref().is_some_and(|requested| !requested.filter.text.is_empty());
        if is_search && self.rows.is_waiting() && self.searched.examined.is_none() {
            return Some("searching on the daemon".to_owned());
        }
        let examined = self.searched.examined?;
        let entries = match self.all {
            Some(all) => format!("{} of {}", words::count(examined), words::counted(all, "entry")),
            None => words::counted(examined, "entry"),
        };
        Some(match (self.rows.is_waiting(), self.searched.more) {
            (true, _) => format!("searching: {entries}"),
            (false, true) => format!("searched {entries}"),
            (false, false) => "searched all entries".to_owned(),
        })
    }

    /// Loads older entries when the cursor comes near the last row or a filter leaves few rows.
    fn fetch_on(&mut self, env: &mut Env) {
        if self.is_cut() && !self.rows.is_waiting() && self.rows.list.below() < NEAR && self.row_limit < ROWS_MAX {
            self.row_limit = (self.row_limit * 2).min(ROWS_MAX);
            self.refresh(env);
        }
    }

    fn open(&self, env: &mut Env) {
        let Some(entry) = self.rows.list.current() else { return };
        let text: Vec<String> = lines(&entry.entry(), &env.world.clock).into_iter().map(|(_, line)| line).collect();
        env.open(Layer::TextView(TextView::new(format!("Audit entry {}", entry.id), text.join("\n"))));
    }

    fn copy(&self, env: &mut Env) {
        let targets = self.rows.list.targets();
        let json: Vec<String> =
            targets.iter().map(|entry| serde_json::to_string_pretty(&entry.entry()).unwrap_or_default()).collect();
        env.push(Cmd::Copy(json.join("\n"), words::count(i64::try_from(targets.len()).unwrap_or(0)) + " as JSON"));
    }
}

/// Returns all fields and changes of an entry.
fn lines(entry: &AuditEntry, clock: &Clock) -> Vec<(Role, String)> {
    let title = format!("{}  {}", entry.action, audit_text::object(entry));
    let role = |name| if name == "reason" { Role::Warn } else { Role::Text };
    let facts = audit_text::facts(entry, clock.stamp(&entry.at));
    let facts = facts.into_iter().filter(|(name, value)| !matches!(*name, "action" | "object") && !value.is_empty());
    let mut lines = vec![(Role::Title, title)];
    lines.extend(audit_text::changes(entry).into_iter().map(|line| (Role::Text, line)));
    lines.extend(facts.map(|(name, value)| (role(name), format!("{name:<8} {value}"))));
    lines
}

impl Screen for AuditLog {
    fn id(&self) -> ScreenId {
        ScreenId::Audit
    }

    fn scopes(&self, _: &World) -> Vec<Scope> {
        vec![Scope::Audit, Scope::List, Scope::Moves, Scope::Everywhere]
    }

    fn list(&self) -> Option<&dyn ListView> {
        Some(&self.rows)
    }

    fn list_mut(&mut self) -> Option<&mut dyn ListView> {
        Some(&mut self.rows)
    }

    fn refresh(&mut self, env: &mut Env) {
        let selection = self.selection_of_filter();
        let AuditSelection { filter, entry } = selection.clone();
        self.requested = Some(selection);
        self.rows.request(Request::Audit { filter: Box::new(filter), entry, rows: self.row_limit }, env);
    }

    fn refresh_interval(&self) -> Option<Duration> {
        let searches = self.searched.examined.unwrap_or_default() / EXAMINED_STEP;
        let slower = u32::try_from(self.row_limit / ROWS_STEP).unwrap_or(1);
        let slower = slower.saturating_add(u32::try_from(searches).unwrap_or(u32::MAX));
        Some(REFRESH_INTERVAL.saturating_mul(slower))
    }

    fn act(&mut self, action: Action, env: &mut Env) -> bool {
        match action {
            Action::Open => self.open(env),
            Action::Copy => self.copy(env),
            Action::Back => {
                let cleared = self.rows.clear_one(env);
                if self.rows.list.filter().text().is_empty() {
                    self.since.clear();
                }
                self.request_selection(env);
                return cleared;
            }
            action => {
                let acted = self.rows.act(action);
                self.fetch_on(env);
                return acted;
            }
        }
        true
    }

    fn unavailable(&self, action: Action) -> Option<String> {
        match action {
            Action::Open | Action::Copy if self.rows.list.targets().is_empty() => {
                Some(self.rows.list.hidden_note().unwrap_or_else(|| "no entry selected".to_owned()))
            }
            Action::Sort | Action::Reverse => Some("the audit log is always sorted by time".to_owned()),
            _ => None,
        }
    }

    fn answered(&mut self, request: &Request, result: &Result<Answer, Problem>, env: &mut Env) {
        match result {
            Ok(Answer::Audit(page, searched)) if self.rows.awaits(request) => self.take(request, page, *searched, env),
            Err(problem) if self.rows.awaits(request) => self.rows.fail(problem.clone()),
            _ => {}
        }
    }

    fn filter(&mut self, text: &str, env: &mut Env) -> Result<(), BadFilter> {
        let filter = Filter::parse(text, AuditSummary::FILTERS)?;
        if filter != *self.rows.list.filter() {
            let since = filter.must_be("age").1.map(|age| env.world.clock.now.as_second().saturating_sub(age));
            let since = since.and_then(|at| jiff::Timestamp::from_second(at).ok());
            self.since = since.map(|at| at.to_string()).unwrap_or_default();
        }
        self.rows.list.set_filter(filter);
        self.request_selection(env);
        self.fetch_on(env);
        Ok(())
    }

    fn subject(&self) -> Option<String> {
        self.rows.list.subject(|entry| format!("audit entry {}", entry.id), "audit entries")
    }

    fn related(&self) -> Vec<Related> {
        self.rows.list.current().map(|entry| Related::of_entry(&entry.entry())).unwrap_or_default()
    }

    fn third_pane(&self, world: &World, _: u16) -> Option<ThirdPane> {
        let entry = self.rows.list.current()?;
        let (kind, id, path) = (entry.object_kind(), entry.object_id(), entry.object_path());
        let is_same = |one: &&AuditSummary| {
            one.object_kind() == kind && one.object_id() == id && (id != 0 || one.object_path() == path)
        };
        let line = |one: &AuditSummary| {
            let at = world.clock.age_from(one.at());
            let line = format!("{at:>5}  {}  {}  {}", one.action(), one.actor().name, one.counted_result());
            vec![LinePart::Text(Role::Text, line)]
        };
        let lines = self.rows.list.rows().iter().filter(is_same).take(SAME_MAX).map(line);
        Some(ThirdPane::of("Loaded entries about the same object", lines.collect()))
    }

    fn selection(&self) -> Option<Selection> {
        self.rows.list.selection(Object::AuditEntry, self.subject()?)
    }

    fn status(&self, _: &World) -> String {
        let status = self.rows.list.status_text(None);
        if let Some(search) = self.search_text() {
            return format!("{status}  {search}");
        }
        if !self.is_cut() {
            return status;
        }
        let loaded = words::count(i64::try_from(self.rows.list.rows().len()).unwrap_or(i64::MAX));
        // The daemon knows the tests that it got.
        let is_local = self.requested == Some(AuditSelection::default());
        let note = if is_local { self.rows.list.loaded_rows_note() } else { "" };
        match self.rows.total {
            Some(total) => format!("{status}  {loaded} of {} loaded{note}", words::count(total)),
            None => format!("{status}  the newest {loaded} loaded{note}"),
        }
    }

    fn draw(&self, world: &World, area: Rect, buf: &mut Buffer) {
        let empty: &[&str] = &["No entries.", "", "The log records changes by users and administrators, and sign-ins."];
        let options = TableOptions { what: "audit entries", empty, focused: true };
        let detail = |width: u16| {
            let lines = self.rows.list.current().map(|entry| lines(&entry.entry(), &world.clock)).unwrap_or_default();
            let wrap = move |(role, line): (Role, String)| {
                wrapped(&line, width).into_iter().map(move |line| (role, line)).collect::<Vec<_>>()
            };
            lines.into_iter().flat_map(wrap).collect::<Vec<_>>()
        };
        if world.split() {
            let (left, right) = panes::side_by_side(area, 62, world, buf);
            list::draw(&self.rows, options, world, left, buf);
            view::lines(buf, right, detail(right.width));
        } else if area.height >= ROOMY && self.rows.list.current().is_some() {
            let top = Rect { height: area.height - PANE, ..area };
            list::draw(&self.rows, options, world, top, buf);
            rule(buf, Rect { y: top.bottom(), height: 1, ..area }, "");
            view::lines(buf, below(area, top.height + 1), detail(area.width));
        } else {
            list::draw(&self.rows, options, world, area, buf);
        }
    }
}
