//! Background tasks of the daemon, such as imports: those that run, with their progress, and those that ended lately.

mod actions;
mod rows;

use std::time::Duration;

use farrier_common::api::BackgroundTask;
use ratatui::{buffer::Buffer, layout::Rect};

pub(super) use self::actions::cancel_import_question;
use super::{Related, Screen, ScreenId, Selection, panes, repositories::answers::import_again};
use crate::ui::{
    keymap::{Action, Object, Scope},
    list::{self, Feed, List, ListView, TableOptions},
    net::{Answer, Page, Problem, Request},
    view::{LinePart, below, parts, rule},
    world::{Env, World},
};

/// Refresh interval while a task runs.
const RUNNING_INTERVAL: Duration = Duration::from_secs(2);
/// Refresh interval while none runs.
const REFRESH_INTERVAL: Duration = Duration::from_secs(10);
/// Part of the width for the tasks, in percent.
const TASKS_SHARE: u16 = 58;
/// Rows of the pane below the list, with its rule.
const PANE: u16 = 10;
/// With fewer rows there is no pane below the list.
const ROOMY: u16 = 16;

#[derive(Debug)]
pub(crate) struct Tasks {
    pub(super) rows: Feed<BackgroundTask>,
    /// Number of running tasks among the rows.
    running: usize,
    /// The task that a command asked for, until the next response.
    wanted: Option<i64>,
}

impl Default for Tasks {
    fn default() -> Self {
        Self { rows: Feed::new(List::default()), running: 0, wanted: None }
    }
}

impl Tasks {
    /// Puts the cursor on a task, now or as soon as it is loaded.
    pub(crate) fn show(&mut self, id: i64) {
        self.rows.list.show(id);
        self.wanted = Some(id);
    }

    /// Loads the tasks again, also when an earlier request for them has no response yet.
    fn reload(&mut self, env: &mut Env) {
        self.rows.stop(env);
        self.refresh(env);
    }
}

impl Screen for Tasks {
    fn id(&self) -> ScreenId {
        ScreenId::Tasks
    }

    fn scopes(&self, _: &World) -> Vec<Scope> {
        vec![Scope::Tasks, Scope::List, Scope::Moves, Scope::Everywhere]
    }

    fn list(&self) -> Option<&dyn ListView> {
        Some(&self.rows)
    }

    fn list_mut(&mut self) -> Option<&mut dyn ListView> {
        Some(&mut self.rows)
    }

    fn refresh(&mut self, env: &mut Env) {
        self.rows.request(Request::Tasks, env);
    }

    fn refresh_interval(&self) -> Option<Duration> {
        Some(if self.running > 0 { RUNNING_INTERVAL } else { REFRESH_INTERVAL })
    }

    fn act(&mut self, action: Action, env: &mut Env) -> bool {
        match action {
            Action::Open => self.open(env),
            Action::CancelTask => self.cancel(env),
            Action::Recover => self.retry(env),
            Action::Copy => self.copy(env),
            Action::Back => return (!self.rows.has_all() && self.rows.stop(env)) || self.rows.clear_one(env),
            action => return self.rows.act(action),
        }
        true
    }

    fn unavailable(&self, action: Action) -> Option<String> {
        self.unavailable_reason(action)
    }

    fn answered(&mut self, request: &Request, result: &Result<Answer, Problem>, env: &mut Env) {
        match (request, result) {
            (Request::Tasks, Ok(Answer::Tasks(tasks))) if self.rows.awaits(request) => {
                let page = Page { items: tasks.clone(), total: i64::try_from(tasks.len()).ok(), last: true };
                self.rows.take(page, env.world);
                self.running = tasks.iter().filter(|task| task.is_running()).count();
                if let Some(id) = self.wanted.take()
                    && self.rows.list.current().is_none_or(|task| task.id != id)
                {
                    env.notify(format!("Task {id} is not among the listed tasks"));
                }
            }
            (Request::Tasks, Err(problem)) if self.rows.awaits(request) => self.rows.fail(problem.clone()),
            (Request::CancelTask(id), Ok(_)) => {
                env.notify(format!("Cancelling {}", self.name_of(*id)));
                self.reload(env);
            }
            (Request::FailedImport(path), result) => import_again(path, result, env),
            // The task may have ended meanwhile.
            (Request::CancelTask(_), Err(problem)) if !problem.is_unreachable() => self.reload(env),
            _ => {}
        }
    }

    fn subject(&self) -> Option<String> {
        self.rows.list.subject(|task| format!("task {}", task.id), "tasks")
    }

    fn related(&self) -> Vec<Related> {
        let Some(task) = self.rows.list.current() else { return Vec::new() };
        if task.repository.is_empty() {
            return vec![Related::audit_of("task", &task.id.to_string())];
        }
        let path = &task.repository;
        vec![
            Related::repository(path),
            Related::pushes_to(path),
            Related::hooks_of(path),
            Related::runs_in(path),
            Related::audit_of("repository", &task.repository_id.to_string()),
        ]
    }

    fn selection(&self) -> Option<Selection> {
        self.rows.list.selection(Object::Task, self.subject()?)
    }

    fn status(&self, _: &World) -> String {
        format!("{}  {} running", self.rows.list.status_text(None), self.running)
    }

    fn draw(&self, world: &World, area: Rect, buf: &mut Buffer) {
        let empty: &[&str] = &[
            "No tasks.",
            "",
            "The daemon lists imports, and for administrators searches for unused",
            "LFS objects, while they run and for an hour after they end.",
        ];
        let options = TableOptions { what: "tasks", empty, focused: true };
        let detail = |area: Rect, buf: &mut Buffer| {
            let lines = self.rows.list.current().map(|task| rows::lines(task, &world.clock, area.width));
            for (line, y) in lines.unwrap_or_default().iter().zip(area.y..area.bottom()) {
                parts(buf, Rect { y, height: 1, ..area }, line);
            }
        };
        if world.split() {
            let (left, right) = panes::side_by_side(area, TASKS_SHARE, world, buf);
            list::draw(&self.rows, options, world, left, buf);
            detail(right, buf);
        } else if area.height >= ROOMY && self.rows.list.current().is_some() {
            let top = Rect { height: area.height - PANE, ..area };
            list::draw(&self.rows, options, world, top, buf);
            rule(buf, Rect { y: top.bottom(), height: 1, ..area }, "");
            detail(below(area, top.height + 1), buf);
        } else {
            list::draw(&self.rows, options, world, area, buf);
        }
    }
}

/// Returns the text of a line.
fn plain(line: &[LinePart]) -> String {
    let texts =
        line.iter().filter_map(|part| if let LinePart::Text(_, text) = part { Some(text.as_str()) } else { None });
    texts.collect()
}
