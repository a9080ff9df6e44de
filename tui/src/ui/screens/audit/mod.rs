//! The audit log: who did what. Administrators see all entries, others their own.

mod rows;

use std::time::Duration;

use farrier_common::api::AuditEntry;
use ratatui::{buffer::Buffer, layout::Rect};

use super::{Related, Screen, ScreenId, Selection, panes};
use crate::{
    audit_text,
    ui::{
        audit::AuditSummary,
        keymap::{Action, Object, Scope},
        layer::{Layer, TextView},
        list::{self, BadFilter, Feed, Filter, List, ListView, Row as _, TableOptions},
        net::{Answer, Problem, Request},
        times::Clock,
        view::{self, Role, below, rule, wrapped},
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
/// Above this number of loaded rows, older entries are not loaded; the command line filters on the daemon.
const ROWS_MAX: usize = 16_000;
/// Rows of the pane below the list, with its rule.
const PANE: u16 = 8;
/// With fewer rows there is no pane below the list.
const ROOMY: u16 = 16;

#[derive(Debug)]
pub(crate) struct AuditLog {
    pub(super) rows: Feed<AuditSummary>,
    /// Maximum number of rows to load.
    row_limit: usize,
}

impl Default for AuditLog {
    fn default() -> Self {
        Self { rows: Feed::new(List::default()), row_limit: ROWS_STEP }
    }
}

impl AuditLog {
    /// Whether older entries exist that are not loaded.
    fn is_cut(&self) -> bool {
        self.rows.has_all() && self.rows.list.rows().len() >= self.row_limit
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
        self.rows.request(Request::Audit { rows: self.row_limit }, env);
    }

    fn refresh_interval(&self) -> Option<Duration> {
        let slower = u32::try_from(self.row_limit / ROWS_STEP).unwrap_or(1);
        Some(REFRESH_INTERVAL.saturating_mul(slower))
    }

    fn act(&mut self, action: Action, env: &mut Env) -> bool {
        match action {
            Action::Open => self.open(env),
            Action::Copy => self.copy(env),
            Action::Back => return self.rows.clear_one(env),
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
            Ok(Answer::Audit(page)) if self.rows.awaits(request) => {
                self.rows.take(page.clone(), env.world);
                self.fetch_on(env);
            }
            Err(problem) if self.rows.awaits(request) => self.rows.fail(problem.clone()),
            _ => {}
        }
    }

    fn filter(&mut self, text: &str, env: &mut Env) -> Result<(), BadFilter> {
        self.rows.list.set_filter(Filter::parse(text, AuditSummary::FILTERS)?);
        self.fetch_on(env);
        Ok(())
    }

    fn subject(&self) -> Option<String> {
        self.rows.list.subject(|entry| format!("audit entry {}", entry.id), "audit entries")
    }

    fn related(&self) -> Vec<Related> {
        self.rows.list.current().map(|entry| Related::of_entry(&entry.entry())).unwrap_or_default()
    }

    fn selection(&self) -> Option<Selection> {
        self.rows.list.selection(Object::AuditEntry, self.subject()?)
    }

    fn status(&self, _: &World) -> String {
        let status = self.rows.list.status_text(None);
        if !self.is_cut() {
            return status;
        }
        let loaded = words::count(i64::try_from(self.rows.list.rows().len()).unwrap_or(i64::MAX));
        match self.rows.total {
            Some(total) => format!("{status}  {loaded} of {} loaded", words::count(total)),
            None => format!("{status}  the newest {loaded} loaded"),
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
