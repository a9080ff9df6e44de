//! The newest log records of the daemon, newest first. Only for administrators.
//!
//! The daemon filters by level; the filter line searches the loaded records, and the status line says so.

mod place;
mod rows;

use std::time::Duration;

use farrier_common::api::{LogRecord, LogRecords};
use ratatui::{buffer::Buffer, layout::Rect};

use super::{Related, Screen, ScreenId, Selection, ThirdPane, panes};
use crate::{
    log_text,
    ui::{
        keymap::{Action, Object, Scope},
        layer::{Layer, TextView},
        list::{self, Feed, List, ListView, TableOptions},
        net::{Answer, OwnRequests, Page, Problem, Request},
        view::{self, Role, below, fit_left, rule, width, wrapped},
        words,
        world::{Cmd, Env, World},
    },
};

/// Refresh interval while the screen is visible.
const REFRESH_INTERVAL: Duration = Duration::from_secs(2);
/// Maximum number of records on the screen; older ones are dropped.
const ROWS_MAX: usize = 5_000;
/// Part of the width for the records, in percent.
const RECORDS_SHARE: u16 = 66;
/// Rows of the pane below the list, with its rule.
const PANE: u16 = 8;
/// With fewer rows there is no pane below the list.
const ROOMY: u16 = 16;

/// The least severe level of the listed records.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum LogLevel {
    #[default]
    All,
    Debug,
    Info,
    Warn,
    Error,
}

impl LogLevel {
    const ALL: [Self; 5] = [Self::All, Self::Debug, Self::Info, Self::Warn, Self::Error];

    fn word(self) -> &'static str {
        match self {
            Self::All => "all",
            Self::Debug => "debug",
            Self::Info => "info",
            Self::Warn => "warn",
            Self::Error => "error",
        }
    }

    /// Returns the level that the daemon filters by; empty for any.
    fn filter(self) -> &'static str {
        if self == Self::All { "" } else { self.word() }
    }

    /// Returns the level of a word. All records have the level `trace` or a more severe one.
    pub(crate) fn of(word: &str) -> Self {
        Self::ALL.into_iter().find(|level| level.word() == word).unwrap_or_default()
    }

    /// Returns the level after this one, or before it.
    fn beside(self, next: bool) -> Self {
        let step = if next { 1 } else { Self::ALL.len() - 1 };
        Self::ALL[(self as usize + step) % Self::ALL.len()]
    }
}

#[derive(Debug)]
pub(crate) struct DaemonLog {
    level: LogLevel,
    rows: Feed<LogRecord>,
    /// The number after which newer records are requested. `None`: nothing is loaded yet.
    next: Option<i64>,
    /// Whether the cursor stays on the newest record.
    follows: bool,
    own: OwnRequests,
}

impl Default for DaemonLog {
    fn default() -> Self {
        Self {
            level: LogLevel::All,
            rows: Feed::new(List::default()),
            next: None,
            follows: true,
            own: OwnRequests::Hidden,
        }
    }
}

impl DaemonLog {
    /// Lists the records of this level and more severe ones.
    pub(crate) fn choose(&mut self, level: LogLevel, env: &mut Env) {
        if self.level != level {
            self.level = level;
            self.forget(env);
        }
        self.refresh(env);
    }

    /// Drops all records, because the daemon filters the next ones in another way.
    fn forget(&mut self, env: &mut Env) {
        self.rows.stop(env);
        self.rows.empty();
        self.next = None;
    }

    fn toggle_own(&mut self, env: &mut Env) {
        self.own = match self.own {
            OwnRequests::Hidden => OwnRequests::Shown,
            OwnRequests::Shown => OwnRequests::Hidden,
        };
        self.forget(env);
        self.refresh(env);
    }

    /// Adds newer records above the others.
    fn take(&mut self, page: &LogRecords, env: &mut Env) {
        let is_first = self.next.is_none();
        self.next = Some(page.next);
        let newer = page.records.iter().rev();
        let items = newer.chain(self.rows.list.rows()).take(ROWS_MAX).cloned().collect();
        self.rows.take(Page { items, total: None, last: true }, env.world);
        if let Some(gap) = log_text::gap(page.dropped, page.restarted).filter(|_| !is_first) {
            env.notify(gap);
        }
        if self.follows && !env.world.rows_frozen {
            self.rows.act(Action::First);
        }
        if page.more && !is_first {
            self.refresh(env);
        }
    }

    fn open(&self, env: &mut Env) {
        let Some(record) = self.rows.list.current() else { return };
        let text: Vec<String> = rows::lines(record, &env.world.clock).into_iter().map(|(_, line)| line).collect();
        env.open(Layer::TextView(TextView::new(format!("Log record of {}", record.target), text.join("\n"))));
    }

    fn copy(&self, env: &mut Env) {
        let targets = self.rows.list.targets();
        let json: Vec<String> =
            targets.iter().map(|record| serde_json::to_string_pretty(record).unwrap_or_default()).collect();
        env.push(Cmd::Copy(json.join("\n"), words::count(i64::try_from(targets.len()).unwrap_or(0)) + " as JSON"));
    }

    fn count(&self, level: &str) -> usize {
        self.rows.list.rows().iter().filter(|record| record.level == level).count()
    }
}

impl Screen for DaemonLog {
    fn id(&self) -> ScreenId {
        ScreenId::Logs
    }

    fn scopes(&self, _: &World) -> Vec<Scope> {
        vec![Scope::Logs, Scope::List, Scope::Moves, Scope::Everywhere]
    }

    fn list(&self) -> Option<&dyn ListView> {
        Some(&self.rows)
    }

    fn list_mut(&mut self) -> Option<&mut dyn ListView> {
        Some(&mut self.rows)
    }

    fn refresh(&mut self, env: &mut Env) {
        self.rows.request(Request::Logs(self.level.filter(), self.next, self.own), env);
    }

    fn refresh_interval(&self) -> Option<Duration> {
        Some(REFRESH_INTERVAL)
    }

    fn act(&mut self, action: Action, env: &mut Env) -> bool {
        match action {
            Action::Open => self.open(env),
            Action::Copy => self.copy(env),
            Action::NextPart | Action::PreviousPart => {
                self.choose(self.level.beside(action == Action::NextPart), env);
            }
            Action::Part(at) => self.choose(LogLevel::ALL.get(at).copied().unwrap_or(self.level), env),
            Action::OwnRequests => self.toggle_own(env),
            Action::Follow => {
                self.follows = !self.follows;
                if self.follows {
                    self.rows.act(Action::First);
                }
            }
            Action::Back => return self.rows.clear_one(env),
            action => {
                // A user who reads or marks older records stays there. Marking moves the cursor to the next row.
                if action.moves() || matches!(action, Action::Mark | Action::MarkRange) {
                    self.follows = action == Action::First;
                }
                return self.rows.act(action);
            }
        }
        true
    }

    fn click(&mut self, x: u16, y: u16, _: &mut Env) {
        self.follows &= !self.rows.click(x, y);
    }

    fn unavailable(&self, action: Action) -> Option<String> {
        match action {
            Action::Open | Action::Copy if self.rows.list.targets().is_empty() => {
                Some(self.rows.list.hidden_note().unwrap_or_else(|| "no record selected".to_owned()))
            }
            Action::Sort | Action::Reverse => Some("the log is always sorted by time".to_owned()),
            _ => None,
        }
    }

    fn answered(&mut self, request: &Request, result: &Result<Answer, Problem>, env: &mut Env) {
        match result {
            Ok(Answer::Logs(page)) if self.rows.awaits(request) => self.take(page, env),
            Err(problem) if self.rows.awaits(request) => self.rows.fail(problem.clone()),
            _ => {}
        }
    }

    fn subject(&self) -> Option<String> {
        self.rows.list.subject(|record| format!("log record {}", record.sequence), "log records")
    }

    fn related(&self) -> Vec<Related> {
        self.rows.list.current().map(Related::of_record).unwrap_or_default()
    }

    fn third_pane(&self, world: &World, room: u16) -> Option<ThirdPane> {
        let record = self.rows.list.current()?;
        let title = "Loaded records of the same request";
        if record.request_id.is_empty() {
            return Some(ThirdPane::note(title, "The record belongs to no request."));
        }
        let same = self.rows.list.rows().iter().filter(|one| one.request_id == record.request_id);
        // The oldest first: this is the order in which they happened.
        let lines = same.rev().flat_map(|one| rows::brief(one, &world.clock));
        Some(ThirdPane::text(title, lines.collect(), room))
    }

    fn selection(&self) -> Option<Selection> {
        self.rows.list.selection(Object::LogRecord, self.subject()?)
    }

    fn status(&self, _: &World) -> String {
        // The daemon may have older records, and does not say so.
        let status = self.rows.list.status_text(None) + self.rows.list.loaded_rows_note();
        if self.rows.filled_at().is_none() {
            return status;
        }
        format!("{status}  {} error  {} warn", self.count("error"), self.count("warn"))
    }

    fn draw(&self, world: &World, area: Rect, buf: &mut Buffer) {
        let row = Rect { height: area.height.min(1), ..area };
        let rest = panes::tabs(LogLevel::ALL.map(LogLevel::word), self.level as usize, true, &world.tabs, row, buf);
        let mode = match (world.paused, self.follows) {
            (true, _) => "paused",
            (false, true) => "follow",
            (false, false) => "F follow",
        };
        let own = match self.own {
            OwnRequests::Hidden => "o show requests of full screens",
            OwnRequests::Shown => "o hide requests of full screens",
        };
        let notes = format!("{own}   {mode}");
        fit_left(buf, rest, if width(&notes) < rest.width { &notes } else { mode }, Role::Muted);
        let area = below(area, 1);
        let empty: &[&str] = &[
            if self.level == LogLevel::ALL[0] { "No records." } else { "No records of this level." },
            "",
            "The daemon keeps the newest records in memory; log.recent_records and",
            "log.recent_bytes limit them. log.filter decides what is logged.",
        ];
        let options = TableOptions { what: "log records", empty, focused: true };
        let detail = |room: u16| {
            let lines = self.rows.list.current().map(|record| rows::lines(record, &world.clock)).unwrap_or_default();
            let wrap = move |(role, line): (Role, String)| {
                wrapped(&line, room).into_iter().map(move |line| (role, line)).collect::<Vec<_>>()
            };
            lines.into_iter().flat_map(wrap).collect::<Vec<_>>()
        };
        if world.split() {
            let (left, right) = panes::side_by_side(area, RECORDS_SHARE, world, buf);
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
