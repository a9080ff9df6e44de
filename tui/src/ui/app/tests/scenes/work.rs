//! Scenes of workflow runs and background tasks.

use super::{super::prelude::*, Scene, on};

pub(super) const RUNS: &[Scene] = &[
    on("runs", |screen| open_runs(screen, run_list())),
    on("runs-failed", |screen| {
        open_runs(screen, run_list());
        screen.keys("]]]");
        let failed = run_page(vec![found_run(8, "web/site", "failure"), found_run(5, "web/site", "failure")], false);
        screen.answer(|request| matches!(request, Request::RunList { .. }), Ok(failed));
    }),
    on("run-parts", |screen| {
        open_runs(screen, run_list());
        screen.keys("\n");
        answer_artifacts(screen);
        screen.keys("j");
    }),
    on("run-job", |screen| {
        open_runs(screen, run_list());
        screen.keys("\n");
        answer_artifacts(screen);
        screen.keys("\n");
    }),
    on("cancel-run", |screen| {
        open_runs(screen, run_list());
        screen.keys("X");
    }),
    on("no-runs", |screen| open_runs(screen, run_page(Vec::new(), false))),
];

fn open_runs(screen: &mut TestScreen, list: Answer) {
    screen.keys("8");
    screen.answer(|request| matches!(request, Request::RunList { .. }), Ok(list));
    answer_artifacts(screen);
}

/// Answers the request for the artifacts of a run, if the screen shows them.
fn answer_artifacts(screen: &mut TestScreen) {
    let is_artifacts = |request: &Request| matches!(request, Request::RunArtifacts(_));
    if screen.app.pending.values().any(|one| is_artifacts(&one.request)) {
        screen.answer_last_of(is_artifacts, Ok(run_artifacts()));
    }
}

pub(super) const TASKS: &[Scene] = &[
    on("tasks", |screen| open_tasks(screen, tasks())),
    on("task", |screen| {
        open_tasks(screen, tasks());
        screen.keys("\n");
    }),
    on("cancel-task", |screen| {
        open_tasks(screen, tasks());
        screen.keys("X");
    }),
    on("no-tasks", |screen| open_tasks(screen, Answer::Tasks(Vec::new()))),
];

fn open_tasks(screen: &mut TestScreen, list: Answer) {
    screen.keys("9");
    screen.answer_last_of(|request| *request == Request::Tasks, Ok(list));
}
