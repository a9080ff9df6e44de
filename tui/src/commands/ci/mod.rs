//! `farrier ci …`

mod exec;

use std::collections::BTreeMap;

use farrier_common::{
    api::{BeginRun, BegunJob, Conclusion},
    client::{Client, RepositoryPath},
};
use serde::Serialize;

use crate::{
    args::{Ci, Job},
    exit::{self, Failure},
    output::Output,
    quote,
    transfer::retry,
};

/// Names the job to `farrier ci end`.
const JOB_VARIABLE: &str = "FARRIER_JOB_ID";

#[derive(Serialize)]
struct Ended {
    job_id: i64,
    conclusion: Conclusion,
}

pub(super) async fn run(command: Ci, client: &Client, output: &Output) -> Result<u8, Failure> {
    match command {
        Ci::Begin(args) => {
            let job = begin(client, &wanted(&args.repo, &args.job)).await?;
            let format = output.format();
            if format.json || format.jsonl {
                // Agents parse exactly this.
                output.exact(&job)?;
            } else if format.quiet {
                output.text(&job.job_id.to_string())?;
            } else {
                output.text(&exports(&job))?;
            }
        }
        Ci::End(args) => {
            end(client, args.job, args.conclusion).await?;
            let ended = Ended { job_id: args.job, conclusion: args.conclusion };
            let id = args.job.to_string();
            output.object(&ended, &id, || format!("ended job {id}: {}", args.conclusion.as_str()))?;
        }
        Ci::Exec(args) => return exec::run(args, client, output).await,
    }
    Ok(exit::OK)
}

/// What `ci begin` and its kin ask for.
pub(super) fn wanted(repo: &RepositoryPath, job: &Job) -> BeginRun {
    BeginRun {
        repo: repo.to_string(),
        run_id: job.run,
        job: job.name.clone(),
        sha: job.sha.clone(),
        branch: job.branch.clone(),
        workflow: job.workflow.clone(),
        ..BeginRun::default()
    }
}

pub(super) async fn begin(client: &Client, wanted: &BeginRun) -> Result<BegunJob, Failure> {
    client.begin_job(wanted).await.map_err(Failure::call(format!("beginning a job of {}", wanted.repo)))
}

/// Ends a job, with patience: a daemon that just restarts must not leave it open.
pub(super) async fn end(client: &Client, job: i64, conclusion: Conclusion) -> Result<(), Failure> {
    let ended = retry::retrying(retry::passing, async || client.end_job(job, conclusion).await).await;
    ended.map_err(Failure::call(format!("ending job {job}")))
}

/// The job's environment and its own number.
fn environment(job: &BegunJob) -> BTreeMap<String, String> {
    let mut all = job.env.clone();
    all.insert(JOB_VARIABLE.to_owned(), job.job_id.to_string());
    all
}

fn exports(job: &BegunJob) -> String {
    let lines = environment(job);
    lines
        .iter()
        .filter_map(|(name, value)| quote::export(name, value))
        .fold(String::new(), |text, line| text + &line + "\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn job() -> BegunJob {
        let env = [("GITHUB_RUN_ID", "3"), ("ODD", "it's"), ("bad name", "x")];
        let env = env.into_iter().map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
        BegunJob { run_id: 3, job_id: 9, token: "t".into(), env }
    }

    #[test]
    fn a_shell_can_evaluate_the_environment() {
        assert_eq!(exports(&job()), "export FARRIER_JOB_ID='9'\nexport GITHUB_RUN_ID='3'\nexport ODD='it'\\''s'\n");
    }

    #[test]
    fn agents_get_exactly_what_they_parse() {
        let text = serde_json::to_string(&job()).unwrap();
        assert!(text.starts_with(r#"{"run_id":3,"job_id":9,"token":"t","env":{"#), "{text}");
    }
}
