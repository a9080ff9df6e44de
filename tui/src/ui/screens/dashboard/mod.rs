//! The dashboard: problems, load, storage, running tasks and recent activity.

mod actions;
mod activity;
mod expiring;
mod load;
mod mirrors;
mod nodes;
mod notified;
mod owners;
mod parts;
mod problems;
mod pushes;
mod quotas;
mod related;
mod rows;
mod trend;
mod workflows;

use std::{
    collections::{BTreeMap, HashMap, VecDeque},
    time::Duration,
};

use farrier_common::api::{
    BackgroundTask, Event, FailingWorkflow, FoundArtifact, FoundMirror, Health, MetricsSeries, Status,
};
use ratatui::{
    buffer::Buffer,
    layout::{Margin, Rect},
};

use self::{
    activity::{Activity, activities},
    notified::NotifiedHooks,
    problems::HealthProblem,
    pushes::PushSizes,
};
use super::{
    Related, Screen, ScreenId, Selection,
    hooks::rows as hook_rows,
    repositories::{answers::import_again, task_lines},
};
use crate::ui::{
    hook::HookSummary,
    keymap::{Action, Scope},
    list::feed::Load,
    net::{Answer, Problem, Request, SeriesSpan},
    transfers::ProgressLine,
    view::{Role, below, lines, wrapped},
    world::{Env, World},
};

const REFRESH_INTERVAL: Duration = Duration::from_secs(2);
/// Lists are refreshed less often than the other data, because they can be long.
const LISTS_EVERY: Duration = Duration::from_secs(10);
const EXPIRING_EVERY: Duration = Duration::from_secs(60);
/// Number of newest deliveries whose results are shown beside their events.
const DELIVERIES_MAX: usize = 100;
/// Number of events kept for display.
const EVENTS_MAX: usize = 200;

#[derive(Debug, Default)]
pub(crate) struct Dashboard {
    pub(super) status: Option<(Status, Health)>,
    /// `None` if the caller has no permission to read it.
    pub(super) series: Option<MetricsSeries>,
    /// The period of the charts.
    pub(super) span: SeriesSpan,
    /// Hooks whose deliveries fail, and hooks that the daemon turned off.
    problem_hooks: Vec<HookSummary>,
    lists_at: Option<Duration>,
    /// Artifacts that expire within a day, the first to expire first, and whether there are more.
    expiring: (Vec<FoundArtifact>, bool),
    expiring_at: Option<Duration>,
    load: Load,
    /// Background tasks of the daemon, the newest first.
    tasks: Vec<BackgroundTask>,
    /// Workflows whose last runs failed.
    workflows: Vec<FailingWorkflow>,
    /// Mirrors whose last run failed.
    mirrors: Vec<FoundMirror>,
    /// The hooks with the newest deliveries, by event.
    results: HashMap<i64, NotifiedHooks>,
    /// The commits of the newest pushes.
    push_sizes: PushSizes,
    /// Events since the program started, the newest first.
    pub(super) events: VecDeque<Event>,
    following: bool,
    /// The row under the cursor: problems first, then the activity.
    at: usize,
    /// What this row shows, to find it again after a response.
    row: Option<RowIdentity>,
    /// Requests that failed, and why.
    failed_requests: BTreeMap<&'static str, String>,
}

/// Identifies a row while other rows come and go.
#[derive(Clone, Debug)]
enum RowIdentity {
    Problem(HealthProblem),
    /// The newest activity: the cursor stays on it while newer events arrive.
    Newest,
    /// The ID of the oldest event of an activity.
    Activity(i64),
}

impl Dashboard {
    /// Returns the problems of the daemon, then those of quotas, hooks, mirrors, workflows, imports and artifacts.
    fn problems(&self) -> Vec<HealthProblem> {
        let Some((status, health)) = &self.status else { return Vec::new() };
        let mut all = problems::of_daemon(status, health);
        all.extend(quotas::of_quotas(status));
        all.extend(problems::of_hooks(&self.problem_hooks));
        all.extend(mirrors::of_mirrors(&self.mirrors));
        all.extend(self.workflows.iter().map(workflows::of_workflow));
        all.extend(problems::of_tasks(&self.tasks));
        all.extend(expiring::of_artifacts(&self.expiring.0, self.expiring.1));
        all
    }

    /// Returns the events as sentences, the newest first.
    fn activities(&self) -> Vec<Activity> {
        activities(&self.events, &self.results, &self.push_sizes)
    }

    /// Returns the running tasks of the daemon, then the downloads of this program.
    fn running(&self, world: &World) -> Vec<ProgressLine> {
        let mine = world.transfers.progress_lines(world.now);
        let running = self.tasks.iter().filter(|task| task.is_running());
        running.map(task_lines::progress_line).chain(mine).collect()
    }

    /// Returns the failed checks, one line per reason: `metrics, hooks not checked: forbidden (403)`.
    fn unchecked(&self) -> Vec<String> {
        let mut by_reason: Vec<(&str, Vec<&str>)> = Vec::new();
        for (what, why) in &self.failed_requests {
            match by_reason.iter_mut().find(|(known, _)| known == why) {
                Some((_, all)) => all.push(what),
                None => by_reason.push((why, vec![what])),
            }
        }
        by_reason.into_iter().map(|(why, all)| format!("{} not checked: {why}", all.join(", "))).collect()
    }

    fn note_failure(&mut self, request: &Request, result: &Result<Answer, Problem>) {
        let what = match request {
            Request::Series(_) => "metrics",
            Request::Tasks => "tasks",
            Request::FailingHooks => "hooks",
            Request::FailingWorkflows => "runs",
            Request::FailingMirrors => "mirrors",
            Request::ExpiringArtifacts => "artifacts",
            Request::Deliveries { .. } => "deliveries",
            _ => return,
        };
        match result {
            // The banner shows that the daemon does not respond.
            Err(problem) if !problem.is_unreachable() => {
                // Only the reason, because the heading already names the request.
                let doing = format!("{}: ", request.doing());
                let why = problem.line().strip_prefix(&doing).unwrap_or(problem.line()).to_owned();
                self.failed_requests.insert(what, why);
            }
            Err(_) => {}
            Ok(_) => drop(self.failed_requests.remove(what)),
        }
    }

    fn rows(&self) -> usize {
        self.problems().len() + self.activities().len()
    }

    fn go(&mut self, to: usize) {
        self.at = to.min(self.rows().saturating_sub(1));
        self.row = self.identity(self.at);
    }

    /// Returns what a row shows. The first row has no identity while there are no problems: the cursor stays on the
    /// first row then, so that a new problem is visible.
    fn identity(&self, at: usize) -> Option<RowIdentity> {
        let mut problems = self.problems();
        if at < problems.len() {
            return Some(RowIdentity::Problem(problems.swap_remove(at)));
        }
        match at - problems.len() {
            0 => (at > 0).then_some(RowIdentity::Newest),
            index => self.activities().get(index).map(|one| RowIdentity::Activity(one.oldest)),
        }
    }

    /// Puts the cursor on the row that it was on before a response. If that row is gone, it keeps its position.
    fn keep_row(&mut self) {
        let problems = self.problems();
        let found = match &self.row {
            Some(RowIdentity::Problem(before)) => problems.iter().position(|problem| problem.is_same(before)),
            Some(RowIdentity::Newest) => Some(problems.len()),
            Some(RowIdentity::Activity(oldest)) => {
                let at = self.activities().iter().position(|one| one.oldest == *oldest);
                at.map(|at| problems.len() + at)
            }
            None => None,
        };
        self.go(found.unwrap_or(self.at));
    }

    fn add_event(&mut self, event: &Event) {
        self.events.push_front(event.clone());
        self.events.truncate(EVENTS_MAX);
    }

    /// Requests the lists that are refreshed less often.
    fn refresh_lists(&mut self, env: &mut Env) {
        if self.lists_at.is_some_and(|at| env.world.now < at + LISTS_EVERY) {
            return;
        }
        self.lists_at = Some(env.world.now);
        env.send(Request::FailingHooks);
        env.send(Request::FailingWorkflows);
        env.send(Request::FailingMirrors);
        env.send(newest_deliveries());
        if self.expiring_at.is_none_or(|at| env.world.now >= at + EXPIRING_EVERY) {
            self.expiring_at = Some(env.world.now);
            env.send(Request::ExpiringArtifacts);
        }
    }
}

/// Requests the newest deliveries of all hooks.
fn newest_deliveries() -> Request {
    let [event, reason, host, since] = std::array::from_fn(|_| String::new());
    Request::Deliveries { status: "", hook: None, event, reason, host, since, rows: DELIVERIES_MAX }
}

impl Screen for Dashboard {
    fn id(&self) -> ScreenId {
        ScreenId::Dashboard
    }

    fn scopes(&self, _: &World) -> Vec<Scope> {
        vec![Scope::Dashboard, Scope::Moves, Scope::Everywhere]
    }

    fn entered(&mut self, env: &mut Env) {
        self.push_sizes.forget_requests();
        self.refresh(env);
    }

    fn refresh(&mut self, env: &mut Env) {
        if self.status.is_none() {
            self.load = Load::Loading(env.world.now);
        }
        env.send(Request::Status);
        env.send(Request::Series(self.span));
        env.send(Request::Tasks);
        self.refresh_lists(env);
        self.request_push_sizes(env);
        if !std::mem::replace(&mut self.following, true) {
            env.send(Request::Events { after: self.events.front().map(|event| event.id) });
        }
    }

    fn refresh_interval(&self) -> Option<Duration> {
        Some(REFRESH_INTERVAL)
    }

    fn changed_elsewhere(&mut self, env: &mut Env) {
        self.lists_at = None;
        self.refresh(env);
    }

    fn act(&mut self, action: Action, env: &mut Env) -> bool {
        match action {
            Action::Open => self.open(env),
            Action::Recover => self.recover(env),
            Action::Toggle => self.switch_hooks(env),
            Action::NextPart => self.show_span(self.span.next(), env),
            Action::PreviousPart => self.show_span(self.span.previous(), env),
            Action::Down => self.go(self.at + 1),
            Action::Up => self.go(self.at.saturating_sub(1)),
            Action::First => self.go(0),
            Action::Last => self.go(usize::MAX),
            Action::PageDown | Action::HalfDown => self.go(self.at + 10),
            Action::PageUp | Action::HalfUp => self.go(self.at.saturating_sub(10)),
            _ => return false,
        }
        true
    }

    fn unavailable(&self, action: Action) -> Option<String> {
        self.unavailable_reason(action)
    }

    fn answered(&mut self, request: &Request, result: &Result<Answer, Problem>, env: &mut Env) {
        self.note_failure(request, result);
        match (request, result) {
            (Request::Status, Ok(Answer::Status(status))) => {
                self.status = Some((**status).clone());
                self.load = Load::Done(env.world.now);
            }
            (Request::Series(span), Ok(Answer::Series(series))) if *span == self.span => {
                self.series = Some((**series).clone());
            }
            (Request::Series(_), Err(_)) => self.series = None,
            (Request::Tasks, Ok(Answer::Tasks(tasks))) => {
                self.tasks.clone_from(tasks);
            }
            (Request::Tasks, Err(_)) => self.tasks.clear(),
            (Request::FailingHooks, Ok(Answer::Hooks(page))) => {
                self.problem_hooks = page.items.iter().filter(|hook| hook_rows::is_failing(hook)).cloned().collect();
            }
            (Request::FailingWorkflows, Ok(Answer::FailingWorkflows(found))) => {
                self.workflows.clone_from(&found.workflows);
            }
            (Request::FailingMirrors, Ok(Answer::FailingMirrors(found, _))) => self.mirrors.clone_from(found),
            (Request::ExpiringArtifacts, Ok(Answer::ExpiringArtifacts(artifacts, more))) => {
                self.expiring = (artifacts.clone(), *more);
            }
            (Request::FailedImport(path), result) => import_again(path, result, env),
            (Request::Deliveries { .. }, Ok(Answer::Deliveries(page))) => {
                self.results = NotifiedHooks::by_event(&page.items);
            }
            (Request::PushedCommits { .. }, result) => self.take_push_size(request, result),
            (Request::Events { .. }, Ok(Answer::Event(event))) => self.add_event(event),
            (Request::Events { .. }, _) => self.following = false,
            (Request::Status, Err(problem)) => self.load = Load::Failed(problem.clone()),
            _ => {}
        }
        self.keep_row();
    }

    fn selection(&self) -> Option<Selection> {
        self.selected()
    }

    fn related(&self) -> Vec<Related> {
        self.related_objects()
    }

    fn problem(&self) -> Option<&Problem> {
        match &self.load {
            Load::Failed(problem) => Some(problem),
            _ => None,
        }
    }

    fn is_failed(&self) -> bool {
        self.status.is_none() && self.problem().is_some()
    }

    fn status(&self, world: &World) -> String {
        let state = if world.paused { "paused" } else { "live" };
        match (self.problems().len(), self.failed_requests.len()) {
            (0, 0) => format!("{state}  no problems"),
            (0, _) => format!("{state}  not everything was checked"),
            (1, _) => format!("{state}  1 problem"),
            (n, _) => format!("{state}  {n} problems"),
        }
    }

    fn draw(&self, world: &World, area: Rect, buf: &mut Buffer) {
        if self.status.is_some() {
            return parts::draw(self, self.at, world, area, buf);
        }
        let Load::Failed(problem) = &self.load else { return };
        let page = below(area, 1).inner(Margin::new(2, 0));
        let shown = wrapped(&format!("{}\n\n{}", problem.text, problem.helps()), page.width);
        let role = |at: usize| if at == 0 { Role::Error } else { Role::Text };
        lines(buf, page, shown.into_iter().enumerate().map(|(at, line)| (role(at), line)));
    }
}
