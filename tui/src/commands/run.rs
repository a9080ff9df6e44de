//! `farrier run`: lists, shows and cancels workflow runs.

use farrier_common::{
    api::FoundRun,
    client::{Client, RunFilter},
};
use serde::Serialize;

use super::list::{self, Listed};
use crate::{
    args::{ListRuns, Run},
    exit::Failure,
    output::{Output, Table, counted, fields, moment, time},
};

/// The value of a time that is not set yet.
const ZERO_TIME: &str = "0001-01-01T00:00:00Z";

#[derive(Serialize)]
struct Runs {
    total_count: usize,
    runs: Vec<FoundRun>,
}

pub(super) async fn run(command: Run, client: &Client, output: &Output) -> Result<(), Failure> {
    match command {
        Run::List(args) => {
            let all = newest(args, client).await?;
            list::show(output, all, |run| run.id, table, |total_count, runs| Runs { total_count, runs })
        }
        Run::Show { run } => {
            let found = client.run(run).await.map_err(Failure::call(format!("showing run {run}")))?;
            output.page(&found, &found.id.to_string(), || page(&found))
        }
        Run::Cancel { run } => {
            let cancelled = client.cancel_run(run).await.map_err(Failure::call(format!("cancelling run {run}")))?;
            output.object(&cancelled, &run.to_string(), || {
                let jobs = cancelled.jobs.iter().filter(|job| job.conclusion == "cancelled").count();
                format!("Run {run} of {} cancelled ({})", cancelled.repository, counted(jobs, "job"))
            })
        }
    }
}

async fn newest(args: ListRuns, client: &Client) -> Result<Listed<FoundRun>, Failure> {
    let filter = RunFilter {
        repository: args.repo,
        status: args.status.unwrap_or_default(),
        conclusion: args.conclusion.unwrap_or_default(),
        text: args.text.unwrap_or_default(),
    };
    let pages = client.found_runs(&filter);
    let all = list::first(args.limit, pages, |page: Vec<FoundRun>| page, |run| run.id).await;
    all.map_err(Failure::call("listing runs"))
}

/// Returns the conclusion of a run, or its status while it runs.
fn state(status: &str, conclusion: &str) -> String {
    if conclusion.is_empty() { status.to_owned() } else { conclusion.to_owned() }
}

fn table(all: &[FoundRun]) -> String {
    let mut table =
        Table::new(["RUN", "STATE", "JOBS", "STARTED", "BRANCH", "WORKFLOW", "REPOSITORY"]).with_states("STATE");
    for run in all {
        table.row([
            run.id.to_string(),
            state(&run.status, &run.conclusion),
            run.jobs.len().to_string(),
            time(&run.started_at),
            run.head_branch.clone(),
            run.display_title.clone(),
            run.repository.clone(),
        ]);
    }
    table.render()
}

fn page(run: &FoundRun) -> String {
    let completed = if run.completed_at == ZERO_TIME { String::new() } else { moment(&run.completed_at) };
    let mut text = fields(&[
        ("run", format!("{} ({} of {})", run.id, run.run_number, run.repository)),
        ("state", state(&run.status, &run.conclusion)),
        ("workflow", run.display_title.clone()),
        ("branch", run.head_branch.clone()),
        ("commit", run.head_sha.clone()),
        ("started", moment(&run.started_at)),
        ("completed", completed),
    ]);
    let mut table = Table::new(["JOB", "STATE", "STARTED", "NAME"]).with_states("STATE");
    for job in &run.jobs {
        table.row([job.id.to_string(), state(&job.status, &job.conclusion), time(&job.started_at), job.name.clone()]);
    }
    text.push('\n');
    text.push_str(&table.render());
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_in_progress_shows_no_completion_time() {
        let run = FoundRun {
            id: 7,
            repository: "o/r".into(),
            run_number: 2,
            status: "in_progress".into(),
            completed_at: ZERO_TIME.into(),
            ..FoundRun::default()
        };
        let text = page(&run);
        assert!(text.contains("7 (2 of o/r)") && text.contains("in_progress\n"), "{text}");
        assert!(!text.contains("completed "), "{text}");
    }
}
