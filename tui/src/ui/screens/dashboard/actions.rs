//! Actions on the row under the cursor of the dashboard.

use farrier_common::client::HookOwner;

use super::{
    Dashboard,
    activity::Activity,
    problems::{self, HealthProblem, ProblemTarget},
};
use crate::ui::{
    hook::HookSummary,
    keymap::Action,
    layer::{Layer, TextView},
    net::{Request, SeriesSpan},
    screens::{
        ScreenId,
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
                    [one] => env.push(Cmd::Deliveries(u64::try_from(*one).ok())),
                    _ => env.push(Cmd::Filtered(ScreenId::Hooks, self.hook_filter(ids))),
                },
                ProblemTarget::Run(id) => env.push(Cmd::Run(*id)),
                ProblemTarget::Repository(id) | ProblemTarget::Quota { repository: id, .. } => {
                    env.push(Cmd::Repository(*id));
                }
                ProblemTarget::ExpiringArtifacts => {
                    env.push(Cmd::Filtered(ScreenId::Artifacts, "expires:<1d".to_owned()));
                }
            },
            CursorRow::Activity(Activity { run: Some(run), .. }) => env.push(Cmd::Run(run)),
            CursorRow::Activity(activity) => env.push(Cmd::Repository(activity.repository_id)),
            CursorRow::Nothing => {}
        }
    }

    /// Returns the filter of the screen Hooks that shows hooks of one problem: their common host.
    fn hook_filter(&self, ids: &[i64]) -> String {
        let hook = self.problem_hooks.iter().find(|hook| ids.contains(&hook.id));
        hook.map(|hook| format!("url:{}", problems::host(hook.url()))).unwrap_or_default()
    }

    /// Returns the hooks of the problem under the cursor; empty if the row is not about hooks.
    fn hooks_here(&self) -> Vec<&HookSummary> {
        let CursorRow::Problem(problem) = self.cursor_row() else { return Vec::new() };
        let Some(ids) = problem.target.hooks() else { return Vec::new() };
        self.problem_hooks.iter().filter(|hook| ids.contains(&hook.id)).collect()
    }

    /// `R`: redelivers the failed deliveries of all hooks of the problem.
    pub(super) fn redeliver(&self, env: &mut Env) {
        let ids: Vec<i64> = self.hooks_here().iter().map(|hook| hook.id).collect();
        let question = recover_question(self.problem_hooks.iter(), &ids, env.world);
        env.push(Cmd::OpenFor(ScreenId::Hooks, Box::new(question)));
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
            Action::Recover | Action::Toggle => {
                let hooks = self.hooks_here();
                if hooks.is_empty() {
                    Some("this row is not about hooks".to_owned())
                } else if action == Action::Recover && hooks.iter().all(|hook| !hook.is_active()) {
                    Some("the hooks are off; turn them on first (t)".to_owned())
                } else {
                    None
                }
            }
            Action::NextPart | Action::PreviousPart if self.series.is_none() => {
                Some("the daemon sends no metrics".to_owned())
            }
            _ => None,
        }
    }
}
