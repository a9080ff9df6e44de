//! Actions on the row under the cursor of the dashboard.

use farrier_common::client::HookOwner;

use super::{
    Dashboard,
    activity::Activity,
    mirrors::FailingMirror,
    problems::{self, HealthProblem, ProblemTarget},
};
use crate::ui::{
    bulk::BulkAction,
    hook::HookSummary,
    keymap::Action,
    layer::{
        Layer, Menu, TextView,
        menu::{Item, Pick},
    },
    net::{Batch, Request, SeriesSpan},
    screens::{
        GroupFilter, ScreenId,
        deliveries::actions::host_of,
        hooks::actions::{recover_question, switch_question, switched},
    },
    world::{Cmd, Env},
};

/// The row under the cursor.
pub(super) enum CursorRow {
    Problem(HealthProblem),
    Activity(Activity),
    Nothing,
}

/// Returns the owner of a hook of any owner, for requests about the hook.
fn owner(hook: &HookSummary) -> HookOwner {
    match hook.scope() {
        "system" | "default" => HookOwner::Admin,
        _ => HookOwner::Any,
    }
}

/// Shows the mirrors of a repository, or a menu if there are several repositories.
fn open_mirrors(mirrors: &[FailingMirror], env: &mut Env) {
    let line = |mirror: &FailingMirror| Cmd::Line(format!("mirror list {}", mirror.repository));
    match mirrors {
        [] => {}
        [one] => env.push(line(one)),
        many => {
            let item = |mirror: &FailingMirror| Item {
                key: None,
                title: mirror.line(),
                off: None,
                pick: Pick::Do(line(mirror)),
            };
            env.open(Layer::Menu(Menu::new("Mirrors", many.iter().map(item).collect())));
        }
    }
}

/// Runs mirrors now, after a question if there are several.
fn sync_mirrors(mirrors: &[FailingMirror], env: &mut Env) {
    let mut items: Vec<(String, Request)> = Vec::new();
    for mirror in mirrors {
        let Ok(path) = mirror.repository.parse() else { continue };
        let request = Request::Manage(path, mirror.sync());
        // All push mirrors of a repository run together.
        if items.iter().all(|(_, known)| *known != request) {
            items.push((mirror.repository.clone(), request));
        }
    }
    match items.as_slice() {
        [] => {}
        [(repository, request)] => {
            env.notify(format!("Syncing {repository} …"));
            env.push(Cmd::SendFor(ScreenId::Repositories, request.clone()));
        }
        many => {
            let bulk = BulkAction {
                verb: "Sync",
                noun: "repository",
                names: many.iter().map(|(repository, _)| repository.clone()).collect(),
                effect: "Pull mirrors are synced in the background. Push mirrors run one repository after the other.",
                ..BulkAction::default()
            };
            let batch = Batch { noun: "repository", doing: "syncing", done: "synced", items };
            let question = bulk.question(Request::Batch(Box::new(batch)), env.world);
            env.push(Cmd::OpenFor(ScreenId::Repositories, Box::new(Layer::Confirm(question))));
        }
    }
}

impl Dashboard {
    pub(super) fn cursor_row(&self) -> CursorRow {
        let mut problems = self.problems();
        if self.at < problems.len() {
            return CursorRow::Problem(problems.swap_remove(self.at));
        }
        let mut activities = self.activities();
        match self.at - problems.len() {
            at if at < activities.len() => CursorRow::Activity(activities.swap_remove(at)),
            _ => CursorRow::Nothing,
        }
    }

    /// Opens the objects of the row under the cursor.
    pub(super) fn open(&self, env: &mut Env) {
        match self.cursor_row() {
            CursorRow::Problem(problem) => match &problem.target {
                ProblemTarget::Daemon => env.open(Layer::TextView(TextView::new("Problem", problem.text))),
                ProblemTarget::FailingHooks(ids) | ProblemTarget::DisabledHooks(ids) => match ids.as_slice() {
                    [one] => {
                        let hook = u64::try_from(*one).ok();
                        env.push(Cmd::DeliveriesOfProblem(GroupFilter { hook, ..GroupFilter::default() }));
                    }
                    many if problem.target.has_action(Action::Recover) => {
                        env.push(Cmd::DeliveriesOfProblem(self.delivery_filter(many)));
                    }
                    many => env.push(Cmd::Filtered(ScreenId::Hooks, self.hook_filter(many))),
                },
                ProblemTarget::Run(id) => env.push(Cmd::Run(*id)),
                ProblemTarget::FailedImport { id, .. } | ProblemTarget::Quota { repository: id, .. } => {
                    env.push(Cmd::Repository(*id));
                }
                ProblemTarget::FailingMirrors(mirrors) => open_mirrors(mirrors, env),
                ProblemTarget::ExpiringArtifacts => {
                    env.push(Cmd::Filtered(ScreenId::Artifacts, "expires:<1d".to_owned()));
                }
            },
            CursorRow::Activity(Activity { run: Some(run), .. }) => env.push(Cmd::Run(run)),
            CursorRow::Activity(activity) => env.push(Cmd::Repository(activity.repository_id)),
            CursorRow::Nothing => {}
        }
    }

    /// Returns the filter of the screen Hooks that shows hooks that were turned off: their common host.
    fn hook_filter(&self, ids: &[i64]) -> String {
        let hook = self.problem_hooks.iter().find(|hook| ids.contains(&hook.id));
        hook.map(|hook| format!("url:{} state:disabled", problems::host(hook.url()))).unwrap_or_default()
    }

    /// Returns the filter of the deliveries of several hooks that fail: their common host, and the status of the
    /// responses if there were any.
    fn delivery_filter(&self, ids: &[i64]) -> GroupFilter {
        let Some(hook) = self.problem_hooks.iter().find(|hook| ids.contains(&hook.id)) else {
            return GroupFilter::default();
        };
        let reason = match hook.last_status() {
            status @ 400.. => format!("http {status}"),
            _ => String::new(),
        };
        GroupFilter { hook: None, reason, host: host_of(hook.url()).unwrap_or_default() }
    }

    /// Returns the hooks of the problem under the cursor; empty if the row is not about hooks.
    fn hooks_here(&self) -> Vec<&HookSummary> {
        let CursorRow::Problem(problem) = self.cursor_row() else { return Vec::new() };
        let Some(ids) = problem.target.hooks() else { return Vec::new() };
        self.problem_hooks.iter().filter(|hook| ids.contains(&hook.id)).collect()
    }

    /// `R`: redelivers the failed deliveries of all hooks of the problem, runs its mirrors, or opens the form that
    /// repeats its import.
    pub(super) fn recover(&self, env: &mut Env) {
        let CursorRow::Problem(problem) = self.cursor_row() else { return };
        match &problem.target {
            ProblemTarget::FailingHooks(ids) | ProblemTarget::DisabledHooks(ids) => {
                let question = recover_question(self.problem_hooks.iter(), ids, env.world);
                env.push(Cmd::OpenFor(ScreenId::Hooks, Box::new(question)));
            }
            ProblemTarget::FailingMirrors(mirrors) => sync_mirrors(mirrors, env),
            ProblemTarget::FailedImport { path, .. } => {
                if let Ok(path) = path.parse() {
                    env.send(Request::FailedImport(path));
                }
            }
            _ => {}
        }
    }

    /// `t`: turns all hooks of the problem off, or on if the daemon turned them off.
    pub(super) fn switch_hooks(&self, env: &mut Env) {
        let hooks = self.hooks_here();
        let on = hooks.iter().all(|hook| !hook.is_active());
        match hooks.as_slice() {
            [] => {}
            [one] => env.push(Cmd::SendFor(ScreenId::Hooks, switched(owner(one), one.id, on))),
            many => {
                let question = switch_question(many, on, owner, env.world);
                env.push(Cmd::OpenFor(ScreenId::Hooks, Box::new(question)));
            }
        }
    }

    /// Shows the charts of another period.
    pub(in crate::ui::screens) fn show_span(&mut self, span: SeriesSpan, env: &mut Env) {
        env.push(Cmd::Cancel(Request::Series(self.span)));
        self.span = span;
        env.send(Request::Series(span));
    }

    /// Returns why an action is not available now.
    pub(super) fn unavailable_reason(&self, action: Action) -> Option<String> {
        match action {
            Action::Open if matches!(self.cursor_row(), CursorRow::Nothing) => Some("no row selected".to_owned()),
            Action::Recover => match self.cursor_row() {
                CursorRow::Problem(problem) if problem.target.hooks().is_some() => {
                    let are_off = self.hooks_here().iter().all(|hook| !hook.is_active());
                    are_off.then(|| "the hooks are off; turn them on first (t)".to_owned())
                }
                CursorRow::Problem(problem) if problem.target.has_action(Action::Recover) => None,
                _ => Some("this row is not about hooks, mirrors or imports".to_owned()),
            },
            Action::Toggle if self.hooks_here().is_empty() => Some("this row is not about hooks".to_owned()),
            Action::NextPart | Action::PreviousPart if self.series.is_none() => {
                Some("the daemon sends no metrics".to_owned())
            }
            _ => None,
        }
    }
}
