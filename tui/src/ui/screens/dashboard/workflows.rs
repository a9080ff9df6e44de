//! The problems that the last runs of workflows failed.

use farrier_common::api::FailingWorkflow;

use super::{
    problems::{HealthProblem, ProblemTarget},
    trend::ProblemTrend,
};
use crate::ui::words;

/// Returns the problem for a workflow of a branch whose last runs failed.
pub(super) fn of_workflow(one: &FailingWorkflow) -> HealthProblem {
    let FailingWorkflow { repository, head_branch: branch, workflow, run_id: id, .. } = one;
    let on = if branch.is_empty() { String::new() } else { format!(" on {branch}") };
    let failures = words::count(one.failures);
    let text = match (one.failures, workflow.as_str()) {
        (..=1, "") => format!("run {id} of {repository}{on} failed"),
        (..=1, workflow) => format!("run {id} ({workflow}) of {repository}{on} failed"),
        (_, "") => format!("the last {failures} runs of {repository}{on} failed"),
        (_, workflow) => format!("workflow {workflow} of {repository}{on} failed {failures} times"),
    };
    let trend = one.recent_failures.and_then(|recent| ProblemTrend::of(recent.last_hour, recent.hour_before));
    HealthProblem { text, since: words::seconds(&one.failing_since), trend, target: ProblemTarget::Run(*id) }
}

#[cfg(test)]
mod tests {
    use farrier_common::api::RecentFailures;

    use super::*;

    #[test]
    fn runs_that_failed_in_a_row_are_one_problem_with_their_trend() {
        let one = FailingWorkflow {
            repository: "tools/cli".into(),
            head_branch: "main".into(),
            run_id: 15,
            failures: 2,
            failing_since: "2026-11-21T11:13:00Z".into(),
            recent_failures: Some(RecentFailures { last_hour: 1, hour_before: 1 }),
            ..FailingWorkflow::default()
        };
        let problem = of_workflow(&one);
        assert_eq!(problem.text, "the last 2 runs of tools/cli on main failed");
        assert_eq!(problem.target, ProblemTarget::Run(15));
        assert_eq!(problem.since, words::seconds("2026-11-21T11:13:00Z"));
        assert_eq!(problem.trend, Some(ProblemTrend::Steady), "one in each hour");
        let named = FailingWorkflow { workflow: "nightly".into(), recent_failures: None, ..one };
        assert_eq!(of_workflow(&named).text, "workflow nightly of tools/cli on main failed 2 times");
        let single = FailingWorkflow { failures: 1, ..named };
        assert_eq!(of_workflow(&single).text, "run 15 (nightly) of tools/cli on main failed");
        assert_eq!(of_workflow(&single).trend, None);
    }
}
