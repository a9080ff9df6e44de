//! The problems of the dashboard, grouped by cause and object, with their age and the key of the suggested action.

use farrier_common::api::{BackgroundTask, Health, Status};

use super::{mirrors::FailingMirror, trend::ProblemTrend};
use crate::{
    output::human_bytes,
    ui::{hook::HookSummary, keymap::Action, words},
};

/// Disk usage above this is reported as a problem.
const DISK_FULL_PERCENT: i64 = 90;
/// Number of objects named in a problem that concerns several ones.
pub(super) const NAMED_MAX: usize = 5;

/// The objects that a problem is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum ProblemTarget {
    /// The whole daemon: nothing to open.
    Daemon,
    /// IDs of hooks whose deliveries fail.
    FailingHooks(Vec<i64>),
    /// IDs of hooks that the daemon turned off.
    DisabledHooks(Vec<i64>),
    Run(i64),
    /// A repository whose import failed: its ID, and its path when the import started.
    FailedImport {
        id: i64,
        path: String,
    },
    /// Mirrors whose last run failed.
    FailingMirrors(Vec<FailingMirror>),
    /// Artifacts that expire within a day.
    ExpiringArtifacts,
    /// A quota that is full or nearly full.
    Quota {
        /// ID of the repository that was checked.
        repository: i64,
        /// What it limits, as the API names it.
        kind: String,
        /// The repository or owner that has it.
        holder: String,
    },
}

impl ProblemTarget {
    /// Returns the IDs of the hooks, if it is about hooks.
    pub(super) fn hooks(&self) -> Option<&[i64]> {
        match self {
            Self::FailingHooks(ids) | Self::DisabledHooks(ids) => Some(ids),
            _ => None,
        }
    }

    /// Returns whether `action` is the suggested one.
    pub(super) fn has_action(&self, action: Action) -> bool {
        self.suggested_action().is_some_and(|(suggested, _)| suggested == action)
    }

    /// Returns the action that the dashboard suggests, and its name.
    pub(super) fn suggested_action(&self) -> Option<(Action, &'static str)> {
        match self {
            Self::Daemon => None,
            Self::FailingHooks(_) => Some((Action::Recover, "redeliver")),
            Self::DisabledHooks(_) => Some((Action::Toggle, "turn on")),
            Self::FailingMirrors(_) => Some((Action::Recover, "sync")),
            Self::FailedImport { .. } => Some((Action::Recover, "retry")),
            Self::Run(_) | Self::ExpiringArtifacts | Self::Quota { .. } => Some((Action::Open, "open")),
        }
    }
}

/// A problem that the dashboard reports.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct HealthProblem {
    pub(super) text: String,
    /// Since when, in seconds since 1970; 0 if unknown. A time in the future: when it happens.
    pub(super) since: i64,
    /// How it changes; `None` if unknown.
    pub(super) trend: Option<ProblemTrend>,
    pub(super) target: ProblemTarget,
}

impl HealthProblem {
    /// Returns whether both are the same problem at different times. The hooks of a problem and the last failed run of
    /// a workflow may change meanwhile.
    pub(super) fn is_same(&self, other: &Self) -> bool {
        match (&self.target, &other.target) {
            (ProblemTarget::Daemon, ProblemTarget::Daemon) => self.text == other.text,
            (ProblemTarget::FailingHooks(ours), ProblemTarget::FailingHooks(theirs))
            | (ProblemTarget::DisabledHooks(ours), ProblemTarget::DisabledHooks(theirs)) => {
                ours.iter().any(|id| theirs.contains(id))
            }
            (ProblemTarget::FailingMirrors(ours), ProblemTarget::FailingMirrors(theirs)) => {
                ours.iter().any(|one| theirs.iter().any(|other| other.is_same(one)))
            }
            (ProblemTarget::Run(ours), ProblemTarget::Run(theirs)) => ours == theirs || self.since == other.since,
            // The use of an owner is checked in different repositories.
            (
                ProblemTarget::Quota { kind: our_kind, holder: our_holder, .. },
                ProblemTarget::Quota { kind: their_kind, holder: their_holder, .. },
            ) => our_kind == their_kind && our_holder == their_holder,
            (ours, theirs) => ours == theirs,
        }
    }
}

/// Returns the problems of the daemon itself: failed checks and a full disk.
pub(super) fn of_daemon(status: &Status, health: &Health) -> Vec<HealthProblem> {
    let checks = || health.checks.values().flatten();
    let of_text = |text: &String| {
        let check = checks().find(|check| check.output.as_ref() == Some(text));
        let since = check.and_then(|check| check.since.as_deref()).map_or(0, words::seconds);
        HealthProblem { text: text.clone(), since, trend: None, target: ProblemTarget::Daemon }
    };
    // Both responses come from the same checks, but not at the same time.
    let mut texts: Vec<&String> = status.problems.iter().collect();
    texts.extend(health.problems.iter().filter(|problem| !status.problems.contains(problem)));
    let mut problems: Vec<HealthProblem> = texts.into_iter().map(of_text).collect();
    let used = words::percent(status.disk.total_bytes - status.disk.free_bytes, status.disk.total_bytes);
    let is_reported = health.checks.get("disk").is_some_and(|checks| checks.iter().any(|check| check.status != "pass"));
    if used >= DISK_FULL_PERCENT && !is_reported {
        let text = format!("the disk is {used} % full, {} are free", human_bytes(status.disk.free_bytes));
        problems.push(HealthProblem { text, since: 0, trend: None, target: ProblemTarget::Daemon });
    }
    problems
}

/// Returns the host of a URL, or the whole text if it is no URL.
pub(super) fn host(url: &str) -> &str {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    rest.split(['/', '?']).next().unwrap_or(rest)
}

/// Returns why deliveries of a hook fail: the reason for which it was turned off, or the last error.
fn cause(hook: &HookSummary) -> String {
    if !hook.disabled_reason().is_empty() {
        return hook.disabled_reason().to_owned();
    }
    match hook.last_status() {
        status @ 1.. => format!("status {status}"),
        _ => hook.last_error().to_owned(),
    }
}

fn is_disabled(hook: &HookSummary) -> bool {
    !hook.disabled_reason().is_empty()
}

/// Returns one problem for all hooks with the same host and the same cause.
pub(super) fn of_hooks(failing: &[HookSummary]) -> Vec<HealthProblem> {
    let mut groups: Vec<Vec<&HookSummary>> = Vec::new();
    for hook in failing {
        let is_same = |group: &&mut Vec<&HookSummary>| {
            group.first().is_some_and(|one| {
                host(one.url()) == host(hook.url())
                    && cause(one) == cause(hook)
                    && is_disabled(one) == is_disabled(hook)
            })
        };
        match groups.iter_mut().find(is_same) {
            Some(group) => group.push(hook),
            None => groups.push(vec![hook]),
        }
    }
    groups.iter().filter_map(|group| of_group(group)).collect()
}

fn of_group(hooks: &[&HookSummary]) -> Option<HealthProblem> {
    let first = *hooks.first()?;
    let why = cause(first);
    let state = match (is_disabled(first), hooks.len()) {
        (true, 1) => format!("is off: {why}"),
        (true, _) => format!("are off: {why}"),
        (false, 1) => {
            let times = if first.failures() == 1 { "time" } else { "times in a row" };
            format!("failed {} {times}{}", words::count(first.failures()), with_colon(&why))
        }
        (false, _) => format!("fail{}", with_colon(&why)),
    };
    let text = if hooks.len() == 1 {
        let owner = match first.owner() {
            "-" => String::new(),
            owner => format!(" of {owner}"),
        };
        format!("hook {}{owner} {state}   {}", first.id, host(first.url()))
    } else {
        let mut ids: Vec<String> = hooks.iter().take(NAMED_MAX).map(|hook| hook.id.to_string()).collect();
        if hooks.len() > NAMED_MAX {
            ids.push(format!("{} more", hooks.len() - NAMED_MAX));
        }
        format!("{} hooks ({}) {state}   {}", hooks.len(), ids.join(", "), host(first.url()))
    };
    let since = hooks.iter().map(|hook| hook.failing_since()).filter(|since| *since > 0).min().unwrap_or(0);
    let ids = hooks.iter().map(|hook| hook.id).collect();
    let target = if is_disabled(first) { ProblemTarget::DisabledHooks(ids) } else { ProblemTarget::FailingHooks(ids) };
    let recent = hooks.iter().map(|hook| hook.recent_failures());
    let (last, before) = recent.fold((0, 0), |sum, one| (sum.0 + one.0, sum.1 + one.1));
    // A hook that is off has no attempts.
    let trend = if is_disabled(first) { None } else { ProblemTrend::of(last, before) };
    Some(HealthProblem { text, since, trend, target })
}

/// Returns `: WHY`, or nothing without a reason.
pub(super) fn with_colon(why: &str) -> String {
    if why.is_empty() { String::new() } else { format!(": {why}") }
}

/// Returns one problem for each repository whose last import failed.
pub(super) fn of_tasks(tasks: &[BackgroundTask]) -> Vec<HealthProblem> {
    let mut seen = Vec::new();
    let mut problems = Vec::new();
    for task in tasks.iter().filter(|task| task.kind == "migration") {
        // The tasks are sorted, the newest first.
        if seen.contains(&task.repository_id) {
            continue;
        }
        seen.push(task.repository_id);
        if task.state == "failed" {
            let text = format!("the import of {} failed{}", task.repository, with_colon(&task.error));
            let since = task.ended_at.as_deref().map_or(0, words::seconds);
            let target = ProblemTarget::FailedImport { id: task.repository_id, path: task.repository.clone() };
            problems.push(HealthProblem { text, since, trend: None, target });
        }
    }
    problems
}

#[cfg(test)]
mod tests {
    use farrier_common::api::{HealthCheck, Hook};

    use super::*;
    use crate::ui::hook::HookCompactor;

    #[test]
    fn a_failed_check_has_the_time_since_which_it_fails() {
        let text = "the disk is almost full: uploads are refused".to_owned();
        let since = Some("2026-11-21T10:00:00Z".to_owned());
        let check = HealthCheck { status: "fail".into(), output: Some(text.clone()), since };
        let health = Health { checks: [("disk".to_owned(), vec![check])].into(), ..Health::default() };
        let status = Status { problems: vec![text.clone(), "of an older check".into()], ..Status::default() };
        let problems = of_daemon(&status, &health);
        let since: Vec<i64> = problems.iter().map(|problem| problem.since).collect();
        assert_eq!(since, [words::seconds("2026-11-21T10:00:00Z"), 0]);
        assert_eq!(problems[0].text, text);
    }

    #[test]
    fn hooks_are_grouped_by_host_and_cause() {
        let hook = |id: i64, url: &str, last_status: i64, since: &str| Hook {
            id,
            url: url.into(),
            last_status,
            failures: 2,
            failing_since: Some(since.into()),
            ..Hook::default()
        };
        let failing = HookCompactor::default().compact_all(vec![
            hook(1, "https://ci.example.net/a", 500, "2026-11-21T11:00:00Z"),
            hook(2, "https://ci.example.net/b", 500, "2026-11-21T10:00:00Z"),
            hook(3, "https://ci.example.net/c", 404, "2026-11-21T11:00:00Z"),
            hook(4, "https://chat.example.net/a", 500, "2026-11-21T11:00:00Z"),
        ]);
        let problems = of_hooks(&failing);
        let texts: Vec<&str> = problems.iter().map(|problem| problem.text.as_str()).collect();
        assert_eq!(
            texts,
            [
                "2 hooks (1, 2) fail: status 500   ci.example.net",
                "hook 3 failed 2 times in a row: status 404   ci.example.net",
                "hook 4 failed 2 times in a row: status 500   chat.example.net",
            ]
        );
        assert_eq!(problems[0].since, words::seconds("2026-11-21T10:00:00Z"));
        assert_eq!(problems[0].target, ProblemTarget::FailingHooks(vec![1, 2]));
    }

    #[test]
    fn an_import_that_was_repeated_with_success_is_no_problem() {
        let task = |id: i64, state: &str| BackgroundTask {
            id,
            kind: "migration".into(),
            repository: format!("data/r{id}"),
            repository_id: id,
            state: state.into(),
            error: "the source refused the password".into(),
            ended_at: Some("2026-11-21T11:00:00Z".into()),
            ..BackgroundTask::default()
        };
        let problems = of_tasks(&[task(1, "done"), task(1, "failed"), task(2, "failed")]);
        assert_eq!(problems.len(), 1);
        assert_eq!(problems[0].text, "the import of data/r2 failed: the source refused the password");
    }
}
