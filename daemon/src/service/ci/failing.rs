//! Finds the workflows whose last runs failed, among the newest runs of all repositories.

use std::collections::HashMap;

use farrier_proto::store::{Conclusion, Run, RunStatus};

use crate::{
    clock::Millis,
    model::identity::Identity,
    service::{Error, access::Action, repositories::AccessCache},
    store::{Read, runs},
};

/// Rows to read per scan.
const STEP: usize = 256;
/// Maximum number of runs that are read.
const EXAMINED_MAX: u64 = 4_096;
/// Older runs are not read.
const WINDOW_MS: Millis = 7 * 86_400_000;
/// Maximum number of workflows that are returned.
const WORKFLOWS_MAX: usize = 100;
const HOUR_MS: Millis = 3_600_000;

/// A workflow of a branch whose last completed runs failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FailingWorkflow {
    /// The repository, `owner/name`.
    pub path: String,
    /// The number of the repository.
    pub repository: u64,
    /// The branch; empty if the agent did not set one.
    pub branch: String,
    /// The workflow; empty if the agent did not set one.
    pub workflow: String,
    /// The number of the last run.
    pub last_run: u64,
    /// Number of successive runs that failed, up to the last one.
    pub failures: u64,
    /// When the first of these runs completed.
    pub since_ms: Millis,
    /// Failures in the last hour and in the hour before; `None` if not all runs of these hours were read.
    pub recent: Option<(u64, u64)>,
}

/// The workflows whose last runs failed, the last failure first.
#[derive(Clone, Debug, Default)]
pub struct FailingWorkflows {
    /// The workflows, at most 100.
    pub workflows: Vec<FailingWorkflow>,
    /// Number of runs that were read.
    pub examined: u64,
    /// Whether there are more workflows, or more runs in the window.
    pub is_truncated: bool,
}

/// The runs of one workflow, read from the newest one on.
#[derive(Debug, Default)]
struct Streaks {
    /// By repository, branch and workflow: the index in `failing`, or `None` after a success.
    known: HashMap<(u64, String, String), Option<usize>>,
    failing: Vec<FailingWorkflow>,
    /// Indexes of the workflows of which an older success was found: their counts are final.
    ended: Vec<bool>,
}

impl Streaks {
    /// Adds the next older run. Runs that were cancelled or skipped neither fail nor repair a workflow.
    fn add(&mut self, run: &Run, path: &str, now_ms: Millis) {
        let is_failure = match run.conclusion() {
            Conclusion::Failure => true,
            Conclusion::Success => false,
            _ => return,
        };
        let key = (run.repository_id, run.head_branch.clone(), run.workflow.clone());
        match (self.known.get(&key).copied(), is_failure) {
            (None, false) => {
                self.known.insert(key, None);
            }
            (None, true) => {
                self.known.insert(key, Some(self.failing.len()));
                self.failing.push(FailingWorkflow {
                    path: path.to_owned(),
                    repository: run.repository_id,
                    branch: run.head_branch.clone(),
                    workflow: run.workflow.clone(),
                    last_run: run.id,
                    failures: 0,
                    since_ms: run.completed_ms,
                    recent: Some((0, 0)),
                });
                self.ended.push(false);
                self.count(self.failing.len() - 1, run, now_ms);
            }
            (Some(Some(at)), true) if !self.ended[at] => self.count(at, run, now_ms),
            (Some(Some(at)), false) => self.ended[at] = true,
            _ => {}
        }
    }

    fn count(&mut self, at: usize, run: &Run, now_ms: Millis) {
        let workflow = &mut self.failing[at];
        workflow.failures += 1;
        workflow.since_ms = run.completed_ms;
        if let Some((last_hour, hour_before)) = &mut workflow.recent {
            match (now_ms - run.completed_ms).div_euclid(HOUR_MS) {
                0 => *last_hour += 1,
                1 => *hour_before += 1,
                _ => {}
            }
        }
    }
}

/// Returns the workflows whose last runs failed, of the repositories whose runs the caller may read.
pub async fn find(read: &impl Read, identity: &Identity, now_ms: Millis) -> Result<FailingWorkflows, Error> {
    let mut access_cache = AccessCache::new(identity, Action::ReadActions);
    let (mut streaks, mut examined, mut before) = (Streaks::default(), 0, None);
    // When the oldest run that was read began, if older ones were left out.
    let mut cut_at_ms = None;
    'runs: loop {
        let rows = runs::older(read, None, before, STEP).await?;
        let is_full_batch = rows.len() == STEP;
        for run in rows {
            if run.created_ms < now_ms - WINDOW_MS {
                break 'runs;
            }
            if examined == EXAMINED_MAX {
                cut_at_ms = Some(run.created_ms);
                break 'runs;
            }
            examined += 1;
            before = Some(run.id);
            if run.status() != RunStatus::Completed {
                continue;
            }
            if let Some(path) = access_cache.path(read, run.repository_id).await? {
                streaks.add(&run, &path, now_ms);
            }
        }
        if !is_full_batch {
            break;
        }
    }
    let mut workflows = streaks.failing;
    if cut_at_ms.is_some_and(|at| at > now_ms - 2 * HOUR_MS) {
        for workflow in &mut workflows {
            workflow.recent = None;
        }
    }
    let is_truncated = cut_at_ms.is_some() || workflows.len() > WORKFLOWS_MAX;
    workflows.truncate(WORKFLOWS_MAX);
    Ok(FailingWorkflows { workflows, examined, is_truncated })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(id: u64, branch: &str, conclusion: Conclusion, completed_ms: Millis) -> Run {
        let (status, conclusion) = (RunStatus::Completed.into(), conclusion.into());
        Run { id, repository_id: 7, head_branch: branch.into(), status, conclusion, completed_ms, ..Run::default() }
    }

    #[test]
    fn failures_in_succession_are_one_workflow_and_a_later_success_ends_them() {
        const NOW_MS: Millis = 10 * HOUR_MS;
        let mut streaks = Streaks::default();
        for one in [
            run(16, "main", Conclusion::Failure, NOW_MS - 1),
            run(15, "dev", Conclusion::Success, NOW_MS - 2),
            run(14, "main", Conclusion::Failure, NOW_MS - HOUR_MS - 1),
            run(13, "dev", Conclusion::Failure, NOW_MS - HOUR_MS - 2),
            run(12, "main", Conclusion::Cancelled, NOW_MS - HOUR_MS - 3),
            run(11, "main", Conclusion::Success, NOW_MS - HOUR_MS - 4),
            run(10, "main", Conclusion::Failure, NOW_MS - HOUR_MS - 5),
        ] {
            streaks.add(&one, "tools/cli", NOW_MS);
        }
        let expected = FailingWorkflow {
            path: "tools/cli".into(),
            repository: 7,
            branch: "main".into(),
            workflow: String::new(),
            last_run: 16,
            failures: 2,
            since_ms: NOW_MS - HOUR_MS - 1,
            recent: Some((1, 1)),
        };
        assert_eq!(streaks.failing, [expected]);
    }
}
