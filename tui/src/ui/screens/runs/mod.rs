//! Workflow runs of all repositories or of one, and the jobs and artifacts of the run under the cursor.
//!
//! The daemon filters by repository, status and conclusion and, while not all runs are loaded, by the words in
//! the filter. The filter also applies to the loaded rows at once.

mod actions;
mod answers;
mod part_rows;
mod place;
mod rows;
mod search;
mod tab;

use std::time::Duration;

use farrier_common::client::RepositoryPath;
use ratatui::{buffer::Buffer, layout::Rect};

pub(crate) use self::tab::RunTab;

use self::part_rows::RunPart;
use super::{Related, Screen, ScreenId, Selection, ThirdPane, panes};
use crate::ui::{
    keymap::{Action, Object, Scope},
    list::{self, BadFilter, Feed, List, ListView, TableOptions},
    net::{Answer, Problem, Request, SearchProgress},
    runs::ListedRun,
    view::{self, Role, below, fit_left, rule, wrapped},
    words,
    world::{Env, World},
};

/// Refresh interval while the screen is visible; longer for more rows.
const REFRESH_INTERVAL: Duration = Duration::from_secs(5);
/// Number of runs to load at first.
const ROWS_STEP: usize = 500;
/// Older runs are loaded when fewer rows than this are left below the cursor.
const NEAR: usize = 50;
/// Above this number of loaded rows, older runs are not loaded.
const ROWS_MAX: usize = 16_000;
/// Part of the width for the runs, in percent.
const RUNS_SHARE: u16 = 58;
/// Rows of the pane below the list, with its rule.
const PANE: u16 = 7;
/// With fewer rows there is no pane below the list, and jobs and artifacts are shown without the facts of their run.
const ROOMY: u16 = 16;

#[derive(Debug)]
pub(crate) struct Runs {
    /// The repository that the list is limited to.
    of: Option<RepositoryPath>,
    tab: RunTab,
    pub(super) rows: Feed<ListedRun>,
    /// Maximum number of runs to load.
    row_limit: usize,
    /// How far the daemon has searched, and whether older runs exist that are not loaded.
    searched: SearchProgress,
    /// Whether all runs of the tab are loaded, so that the daemon need not filter them.
    is_complete: bool,
    /// The words in the filter of the last request.
    requested_text: String,
    /// The jobs and artifacts of `parts_of`.
    parts: Feed<RunPart>,
    /// ID of the run whose artifacts are loaded or requested.
    parts_of: Option<i64>,
    /// Whether the run has more artifacts than are loaded.
    parts_cut: bool,
    /// Whether the jobs and artifacts have the focus.
    in_parts: bool,
    /// The run that a command asked for, until the next response.
    wanted: Option<i64>,
}

impl Default for Runs {
    fn default() -> Self {
        Self {
            of: None,
            tab: RunTab::All,
            rows: Feed::new(List::default()),
            row_limit: ROWS_STEP,
            searched: SearchProgress::default(),
            is_complete: false,
            requested_text: String::new(),
            parts: Feed::new(List::default()),
            parts_of: None,
            parts_cut: false,
            in_parts: false,
            wanted: None,
        }
    }
}

impl Runs {
    /// Shows the runs of a repository or of all, of one tab.
    pub(crate) fn choose(&mut self, of: Option<RepositoryPath>, tab: RunTab, env: &mut Env) {
        if (&self.of, self.tab) != (&of, tab) {
            (self.of, self.tab) = (of, tab);
            self.rows.stop(env);
            self.rows.empty();
            self.forget_parts(env);
            (self.row_limit, self.in_parts, self.is_complete) = (ROWS_STEP, false, false);
            self.searched = SearchProgress::default();
        }
        self.refresh(env);
    }

    /// Puts the cursor on a run of any repository, now or as soon as it is loaded.
    pub(crate) fn show(&mut self, id: i64, env: &mut Env) {
        self.choose(None, RunTab::All, env);
        self.focus_parts(false, env);
        self.rows.list.show(id);
        self.wanted = Some(id);
    }

    /// Returns the job or artifact under the cursor. `None` while those of another run are loaded.
    fn current_part(&self) -> Option<&RunPart> {
        let run = self.rows.list.current()?;
        self.parts.list.current().filter(|_| self.parts_of == Some(run.id))
    }

    fn forget_parts(&mut self, env: &mut Env) {
        self.parts.stop(env);
        self.parts.empty();
        (self.parts_of, self.parts_cut) = (None, false);
    }

    fn request_rows(&mut self, env: &mut Env) {
        let (status, conclusion) = self.tab.filter();
        let (of, text, rows) = (self.of.clone(), self.text_for_daemon(), self.row_limit);
        self.requested_text.clone_from(&text);
        self.rows.request(Request::RunList { of, status, conclusion, text, rows }, env);
    }

    /// Loads older runs when the cursor comes near the last row or a filter leaves few rows.
    fn fetch_on(&mut self, env: &mut Env) {
        let is_search = self.searched.examined.is_some();
        let is_full = self.searched.more && (is_search || self.rows.list.rows().len() >= self.row_limit);
        if is_full && !self.rows.is_waiting() && self.rows.list.below() < NEAR && self.row_limit < ROWS_MAX {
            self.row_limit = (self.row_limit * 2).min(ROWS_MAX);
            self.request_rows(env);
        }
    }

    /// Requests the artifacts of the run under the cursor if they are visible. Its jobs are shown at once.
    fn request_parts(&mut self, again: bool, env: &mut Env) {
        let is_visible = self.in_parts || env.world.split();
        let Some(run) = self.rows.list.current().filter(|_| is_visible) else { return };
        let id = run.id;
        let is_loaded = self.parts_of == Some(id);
        if (is_loaded && !again) || env.is_cursor_moving() {
            return;
        }
        if !is_loaded {
            let jobs = part_rows::of(run.jobs(), Vec::new());
            self.forget_parts(env);
            self.parts.list.replace(jobs);
            self.parts_of = Some(id);
        }
        self.parts.request(Request::RunArtifacts(id), env);
    }

    fn focus_parts(&mut self, on: bool, env: &mut Env) {
        self.in_parts = on && self.rows.list.current().is_some();
        self.request_parts(false, env);
    }

    /// Draws the run under the cursor: its facts, then its jobs and artifacts.
    fn draw_run(&self, world: &World, area: Rect, buf: &mut Buffer) {
        let Some(run) = self.rows.list.current() else { return };
        let mut facts = rows::facts(run, &world.clock);
        facts.truncate(if area.height < ROOMY { 1 } else { facts.len() });
        if self.parts_cut && self.parts_of == Some(run.id) {
            facts.push((Role::Warn, "only the newest artifacts are loaded".to_owned()));
        }
        let wrap = |(role, line): (Role, String)| {
            wrapped(&line, area.width).into_iter().map(move |line| (role, line)).collect::<Vec<_>>()
        };
        let lines: Vec<(Role, String)> = facts.into_iter().flat_map(wrap).collect();
        let used = u16::try_from(lines.len()).unwrap_or(u16::MAX).saturating_add(u16::from(area.height >= ROOMY));
        view::lines(buf, area, lines);
        if self.parts_of == Some(run.id) {
            let empty: &[&str] = &["No jobs and no artifacts."];
            let options = TableOptions { what: "jobs and artifacts", empty, focused: self.in_parts };
            list::draw(&self.parts, options, world, below(area, used), buf);
        }
    }
}

impl Screen for Runs {
    fn id(&self) -> ScreenId {
        ScreenId::Runs
    }

    fn scopes(&self, _: &World) -> Vec<Scope> {
        let own = if self.in_parts { Scope::RunParts } else { Scope::Runs };
        vec![own, Scope::List, Scope::Moves, Scope::Everywhere]
    }

    fn right_has_focus(&self) -> Option<bool> {
        Some(self.in_parts)
    }

    fn list(&self) -> Option<&dyn ListView> {
        if self.in_parts { Some(&self.parts) } else { Some(&self.rows) }
    }

    fn list_mut(&mut self) -> Option<&mut dyn ListView> {
        if self.in_parts { Some(&mut self.parts) } else { Some(&mut self.rows) }
    }

    fn refresh(&mut self, env: &mut Env) {
        self.request_rows(env);
        self.request_parts(true, env);
    }

    fn cursor_moved(&mut self, env: &mut Env) {
        if !self.in_parts {
            self.fetch_on(env);
        }
        self.request_parts(false, env);
    }

    fn refresh_interval(&self) -> Option<Duration> {
        let slower = u32::try_from(self.row_limit / ROWS_STEP).unwrap_or(1).saturating_add(self.search_steps());
        Some(REFRESH_INTERVAL.saturating_mul(slower))
    }

    fn act(&mut self, action: Action, env: &mut Env) -> bool {
        match action {
            Action::Open if self.in_parts => self.open_part(env),
            Action::Open => self.focus_parts(true, env),
            Action::OtherPane => self.focus_parts(!self.in_parts, env),
            Action::NextPart | Action::PreviousPart if !self.in_parts => {
                let tab = self.tab.beside(action == Action::NextPart);
                self.choose(self.of.clone(), tab, env);
            }
            Action::Part(at) => {
                let tab = RunTab::ALL.get(at).copied().unwrap_or(self.tab);
                self.choose(self.of.clone(), tab, env);
            }
            Action::CancelRun => self.cancel(env),
            Action::Artifacts => self.show_artifacts(env),
            Action::Copy if !self.in_parts => self.copy(env),
            Action::Back if self.in_parts => {
                if !self.parts.clear_one(env) {
                    self.focus_parts(false, env);
                }
            }
            Action::Back => return self.back(env),
            action if self.in_parts => return self.parts.act(action),
            action => {
                let acted = self.rows.act(action);
                self.cursor_moved(env);
                return acted;
            }
        }
        true
    }

    fn unavailable(&self, action: Action) -> Option<String> {
        self.unavailable_reason(action)
    }

    fn answered(&mut self, request: &Request, result: &Result<Answer, Problem>, env: &mut Env) {
        self.take(request, result, env);
    }

    fn filter(&mut self, text: &str, env: &mut Env) -> Result<(), BadFilter> {
        if self.in_parts {
            self.parts.set_filter(text)?;
        } else {
            self.rows.set_filter(text)?;
            self.request_filtered(env);
        }
        self.cursor_moved(env);
        Ok(())
    }

    fn subject(&self) -> Option<String> {
        if self.in_parts {
            self.parts.list.subject(RunPart::name, "jobs and artifacts")
        } else {
            self.rows.list.subject(|run| format!("run {}", run.id), "runs")
        }
    }

    fn related(&self) -> Vec<Related> {
        let Some(run) = self.rows.list.current() else { return Vec::new() };
        let mut all = Related::of_commit(run.repository(), run.sha());
        if let Some(RunPart::Artifact(artifact)) = self.current_part().filter(|_| self.in_parts) {
            all.extend([Related::artifact(artifact.id), Related::audit_of("artifact", &artifact.id.to_string())]);
        }
        all.extend([Related::artifacts_of_run(run.id), Related::audit_of("run", &run.id.to_string())]);
        Related::unique(all)
    }

    fn selection(&self) -> Option<Selection> {
        let name = self.rows.list.subject(|run| format!("run {}", run.id), "runs")?;
        self.rows.list.selection(Object::Run, name)
    }

    fn third_pane(&self, world: &World, room: u16) -> Option<ThirdPane> {
        let run = self.rows.list.current()?;
        let title = "Job or artifact";
        Some(match self.current_part() {
            Some(part) => part.third_pane(room, &world.clock),
            None if self.parts_of != Some(run.id) || self.parts.is_waiting() => ThirdPane::loading(title),
            None => ThirdPane::note(title, "No jobs and no artifacts."),
        })
    }

    fn status(&self, _: &World) -> String {
        if self.in_parts {
            let note = if self.parts_cut { self.parts.list.loaded_rows_note() } else { "" };
            return self.parts.list.status_text(None) + note;
        }
        let status = self.rows.list.status_text(None);
        if let Some(search) = self.search_text() {
            return format!("{status}  {search}");
        }
        if !self.searched.more {
            return status;
        }
        let loaded = words::count(i64::try_from(self.rows.list.rows().len()).unwrap_or(i64::MAX));
        format!("{status}  only the newest {loaded} loaded{}", self.rows.list.loaded_rows_note())
    }

    fn draw(&self, world: &World, area: Rect, buf: &mut Buffer) {
        let row = Rect { height: area.height.min(1), ..area };
        let rest = panes::tabs(RunTab::ALL.map(RunTab::word), self.tab as usize, !self.in_parts, &world.tabs, row, buf);
        let of = self.of.as_ref().map_or_else(|| "all repositories".to_owned(), ToString::to_string);
        fit_left(buf, rest, &of, Role::Muted);
        let area = below(area, 1);
        let example = format!(
            "farrier ci exec --repo {} -- COMMAND",
            self.of.as_ref().map_or_else(|| "OWNER/NAME".to_owned(), ToString::to_string)
        );
        let none_yet = ["No runs yet. A CI agent creates one with:", "", &*example];
        let empty: &[&str] = match self.tab {
            RunTab::All => &none_yet,
            RunTab::Running => &["No run is in progress."],
            RunTab::Completed => &["No completed runs."],
            RunTab::Failed => &["No failed runs."],
        };
        let options = TableOptions { what: "workflow runs", empty, focused: !self.in_parts };
        if world.split() {
            let (left, right) = panes::side_by_side_focused(area, RUNS_SHARE, self.in_parts, world, buf);
            list::draw(&self.rows, options, world, left, buf);
            self.draw_run(world, right, buf);
        } else if self.in_parts {
            self.draw_run(world, area, buf);
        } else if let Some(run) = self.rows.list.current().filter(|_| area.height >= ROOMY) {
            let top = Rect { height: area.height - PANE, ..area };
            list::draw(&self.rows, options, world, top, buf);
            rule(buf, Rect { y: top.bottom(), height: 1, ..area }, "");
            view::lines(buf, below(area, top.height + 1), rows::facts(run, &world.clock));
        } else {
            list::draw(&self.rows, options, world, area, buf);
        }
    }
}
