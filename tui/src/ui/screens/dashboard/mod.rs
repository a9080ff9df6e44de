//! The dashboard: state of the daemon, problems and recent events.

mod parts;

use std::{
    collections::{BTreeMap, VecDeque},
    time::Duration,
};

use farrier_common::api::{BackgroundTask, Event, Health, Hook, MetricsSeries, Status};
use ratatui::{
    buffer::Buffer,
    layout::{Margin, Rect},
};

use super::{Screen, ScreenId, hooks::rows as hook_rows, repositories::task_lines};
use crate::{
    output::human_bytes,
    ui::{
        keymap::{Action, Scope},
        list::feed::Load,
        net::{Answer, Problem, Request},
        transfers::ProgressLine,
        view::{Role, below, lines, wrapped},
        words,
        world::{Cmd, Env, World},
    },
};

const PACE: Duration = Duration::from_secs(2);
/// Hooks are refreshed less often than the other data, because the list can be long.
const HOOKS_EVERY: Duration = Duration::from_secs(10);
/// Number of events kept for display.
const EVENTS_MAX: usize = 200;

#[derive(Debug, Default)]
pub(crate) struct Dashboard {
    pub(super) now: Option<(Status, Health)>,
    /// `None` if the caller has no permission to read it.
    pub(super) series: Option<MetricsSeries>,
    failing: Vec<Hook>,
    hooks_at: Option<Duration>,
    load: Load,
    /// Background tasks of the daemon.
    tasks: Vec<BackgroundTask>,
    /// Events since the program started, the newest first.
    pub(super) events: VecDeque<Event>,
    following: bool,
    /// The row under the cursor: problems first, then events.
    at: usize,
    /// Requests that failed, and why.
    unknown: BTreeMap<&'static str, String>,
}

/// What Enter opens for a problem.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Opens {
    /// Nothing: the problem concerns the whole daemon.
    Nothing,
    /// The deliveries of a hook.
    Deliveries(u64),
    Hooks,
}

/// A problem that the dashboard reports.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct HealthProblem {
    pub(super) text: String,
    opens: Opens,
}

/// Number of hook IDs named in a problem that concerns several hooks.
const NAMED_MAX: usize = 5;

/// Returns why a hook is a problem.
fn reason(hook: &Hook, is_one: bool) -> String {
    match (hook.disabled_reason.as_str(), is_one) {
        ("", true) => {
            let times = if hook.failures == 1 { "time" } else { "times in a row" };
            format!("failed {} {times}", words::count(hook.failures))
        }
        ("", false) => "fail".to_owned(),
        (reason, true) => format!("is off: {reason}"),
        (reason, false) => format!("are off: {reason}"),
    }
}

/// Returns one problem for all hooks with the same URL and the same reason.
fn hook_problem(hooks: &[&Hook]) -> Option<HealthProblem> {
    let first = *hooks.first()?;
    if let [one] = hooks {
        let of = match hook_rows::owner(one) {
            "-" => String::new(),
            owner => format!(" of {owner}"),
        };
        let text = format!("hook {}{of} {}   {}", one.id, reason(one, true), one.url);
        let opens = u64::try_from(one.id).map_or(Opens::Hooks, Opens::Deliveries);
        return Some(HealthProblem { text, opens });
    }
    let mut ids: Vec<String> = hooks.iter().take(NAMED_MAX).map(|hook| hook.id.to_string()).collect();
    if hooks.len() > NAMED_MAX {
        ids.push(format!("{} more", hooks.len() - NAMED_MAX));
    }
    let (count, ids) = (hooks.len(), ids.join(", "));
    let text = format!("{count} hooks ({ids}) {}   {}", reason(first, false), first.url);
    Some(HealthProblem { text, opens: Opens::Hooks })
}

impl Dashboard {
    pub(super) fn health_problems(&self) -> Vec<HealthProblem> {
        let Some((status, health)) = &self.now else { return Vec::new() };
        let plain = |text: String| HealthProblem { text, opens: Opens::Nothing };
        // Both answers come from the same checks, but not at the same time.
        let mut problems: Vec<&String> = status.problems.iter().collect();
        problems.extend(health.problems.iter().filter(|problem| !status.problems.contains(problem)));
        let mut troubles: Vec<HealthProblem> = problems.into_iter().cloned().map(plain).collect();
        let used = words::percent(status.disk.total_bytes - status.disk.free_bytes, status.disk.total_bytes);
        let is_said = troubles.iter().any(|trouble| trouble.text.contains("disk"));
        if used >= parts::DISK_FULL_PERCENT && !is_said {
            troubles
                .push(plain(format!("the disk is {used} % full, {} are free", human_bytes(status.disk.free_bytes))));
        }
        let mut groups: Vec<Vec<&Hook>> = Vec::new();
        for hook in &self.failing {
            let same = |group: &&mut Vec<&Hook>| {
                group.first().is_some_and(|one| one.url == hook.url && one.disabled_reason == hook.disabled_reason)
            };
            match groups.iter_mut().find(same) {
                Some(group) => group.push(hook),
                None => groups.push(vec![hook]),
            }
        }
        troubles.extend(groups.iter().filter_map(|group| hook_problem(group)));
        troubles
    }

    /// Returns the running tasks of the daemon, then the downloads of this program.
    pub(super) fn running(&self, world: &World) -> Vec<ProgressLine> {
        let mine = world.transfers.progress_lines(world.now);
        self.tasks.iter().map(task_lines::progress_line).chain(mine).collect()
    }

    /// Returns the failed checks, one line per reason: `figures, hooks not checked: forbidden (403)`.
    pub(super) fn unchecked(&self) -> Vec<String> {
        let mut by_reason: Vec<(&str, Vec<&str>)> = Vec::new();
        for (what, why) in &self.unknown {
            match by_reason.iter_mut().find(|(known, _)| known == why) {
                Some((_, all)) => all.push(what),
                None => by_reason.push((why, vec![what])),
            }
        }
        by_reason.into_iter().map(|(why, all)| format!("{} not checked: {why}", all.join(", "))).collect()
    }

    fn note_unknown(&mut self, request: &Request, result: &Result<Answer, Problem>) {
        let what = match request {
            Request::Series => "figures",
            Request::Tasks => "tasks",
            Request::FailingHooks => "hooks",
            _ => return,
        };
        match result {
            // The banner shows that the daemon does not respond.
            Err(problem) if !problem.is_unreachable() => {
                // Only the reason, because the heading already names the request.
                let doing = format!("{}: ", request.doing());
                let why = problem.line().strip_prefix(&doing).unwrap_or(problem.line()).to_owned();
                self.unknown.insert(what, why);
            }
            Err(_) => {}
            Ok(_) => drop(self.unknown.remove(what)),
        }
    }

    fn rows(&self) -> usize {
        self.health_problems().len() + self.events.len()
    }

    fn go(&mut self, to: usize) {
        self.at = to.min(self.rows().saturating_sub(1));
    }

    /// Opens the target of the row under the cursor.
    fn open(&self, env: &mut Env) {
        let troubles = self.health_problems();
        match troubles.get(self.at) {
            Some(HealthProblem { opens: Opens::Deliveries(hook), .. }) => env.push(Cmd::Deliveries(Some(*hook))),
            Some(HealthProblem { opens: Opens::Hooks, .. }) => env.push(Cmd::Screen(ScreenId::Hooks)),
            Some(HealthProblem { opens: Opens::Nothing, .. }) => env.notify("this problem concerns the whole daemon"),
            None => {
                if let Some(event) = self.events.get(self.at - troubles.len()) {
                    env.push(Cmd::Repository(event.repository_id));
                }
            }
        }
    }
}

impl Screen for Dashboard {
    fn id(&self) -> ScreenId {
        ScreenId::Dashboard
    }

    fn scopes(&self, _: &World) -> Vec<Scope> {
        vec![Scope::Dashboard, Scope::Moves, Scope::Everywhere]
    }

    fn entered(&mut self, env: &mut Env) {
        self.refresh(env);
    }

    fn refresh(&mut self, env: &mut Env) {
        if self.now.is_none() {
            self.load = Load::Loading(env.world.now);
        }
        env.send(Request::Status);
        env.send(Request::Series);
        env.send(Request::Tasks);
        if self.hooks_at.is_none_or(|at| env.world.now >= at + HOOKS_EVERY) {
            self.hooks_at = Some(env.world.now);
            env.send(Request::FailingHooks);
        }
        if !std::mem::replace(&mut self.following, true) {
            env.send(Request::Events { after: self.events.front().map(|event| event.id) });
        }
    }

    fn refresh_interval(&self) -> Option<Duration> {
        Some(PACE)
    }

    fn act(&mut self, action: Action, env: &mut Env) -> bool {
        match action {
            Action::Open => self.open(env),
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
        (action == Action::Open && self.rows() == 0).then(|| "nothing here".to_owned())
    }

    fn answered(&mut self, request: &Request, result: &Result<Answer, Problem>, env: &mut Env) {
        self.note_unknown(request, result);
        match (request, result) {
            (Request::Status, Ok(Answer::Status(now))) => {
                self.now = Some((**now).clone());
                self.load = Load::Done(env.world.now);
            }
            (Request::Series, Ok(Answer::Series(series))) => self.series = Some((**series).clone()),
            (Request::Series, Err(_)) => self.series = None,
            (Request::Tasks, Ok(Answer::Tasks(tasks))) => {
                self.tasks = tasks.iter().filter(|task| task.is_running()).cloned().collect();
            }
            (Request::Tasks, Err(_)) => self.tasks.clear(),
            (Request::FailingHooks, Ok(Answer::Hooks(hooks))) => {
                self.failing = hooks.iter().filter(|hook| hook_rows::is_failing(hook)).cloned().collect();
            }
            (Request::Events { .. }, Ok(Answer::Event(event))) => {
                // The cursor stays on its row while others come above it.
                if self.at > self.health_problems().len() {
                    self.at += 1;
                }
                self.events.push_front((**event).clone());
                self.events.truncate(EVENTS_MAX);
            }
            (Request::Events { .. }, _) => self.following = false,
            (Request::Status, Err(problem)) => self.load = Load::Failed(problem.clone()),
            _ => {}
        }
        self.go(self.at);
    }

    fn problem(&self) -> Option<&Problem> {
        match &self.load {
            Load::Failed(problem) => Some(problem),
            _ => None,
        }
    }

    fn is_failed(&self) -> bool {
        self.now.is_none() && self.problem().is_some()
    }

    fn status(&self, world: &World) -> String {
        let state = if world.paused { "paused" } else { "live" };
        match (self.health_problems().len(), self.unknown.len()) {
            (0, 0) => format!("{state}  no problems"),
            (0, _) => format!("{state}  not everything was checked"),
            (1, _) => format!("{state}  1 problem"),
            (n, _) => format!("{state}  {n} problems"),
        }
    }

    fn draw(&self, world: &World, area: Rect, buf: &mut Buffer) {
        if self.now.is_some() {
            return parts::draw(self, self.at, world, area, buf);
        }
        let Load::Failed(problem) = &self.load else { return };
        let page = below(area, 1).inner(Margin::new(2, 0));
        let shown = wrapped(&format!("{}\n\n{}", problem.text, problem.helps()), page.width);
        let role = |at: usize| if at == 0 { Role::Error } else { Role::Text };
        lines(buf, page, shown.into_iter().enumerate().map(|(at, line)| (role(at), line)));
    }
}
