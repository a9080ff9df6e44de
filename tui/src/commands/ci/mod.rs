//! `farrier ci`: begins and ends CI jobs, and runs commands as jobs.

mod exec;
pub(super) mod lease;

use std::{collections::BTreeMap, ffi::OsString};

use farrier_common::{
    api::{BeginRun, BegunJob, Conclusion},
    client::{Client, RepositoryPath},
};
use serde::Serialize;

use crate::{
    args::{Ci, Global, Job},
    endpoint::variable,
    exit::{self, Failure},
    output::Output,
    quote,
    transfer::retry,
};

/// Variable that names the job for `farrier ci end`.
const JOB_VARIABLE: &str = "FARRIER_JOB_ID";
/// Variable that names the run for `farrier run` and `farrier ci begin`.
const RUN_VARIABLE: &str = "FARRIER_RUN_ID";

#[derive(Serialize)]
struct Ended {
    job_id: i64,
    conclusion: Conclusion,
}

pub(super) async fn run(command: Ci, client: &Client, global: &Global, output: &Output) -> Result<u8, Failure> {
    match command {
        Ci::Begin(args) => {
            let job = begin(client, &job_request(&args.repo, &args.job)?).await?;
            let format = output.format();
            if format.json || format.jsonl {
                // CI agents parse exactly this document.
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
            output.object(&ended, &id, || format!("Job {id} ended: {}", args.conclusion.as_str()))?;
        }
        Ci::Exec(args) => return exec::run(args, client, global, output).await,
    }
    Ok(exit::OK)
}

/// Returns the request of `ci begin` and `ci exec`.
pub(super) fn job_request(repo: &RepositoryPath, job: &Job) -> Result<BeginRun, Failure> {
    Ok(BeginRun {
        repo: repo.to_string(),
        run_id: job.run.or(inherited_run(repo, variable)?),
        job: job.name.clone(),
        sha: job.sha.clone(),
        branch: job.branch.clone(),
        workflow: job.workflow.clone(),
        lease_secs: None,
    })
}

/// Returns the run in `FARRIER_RUN_ID`. It is ignored inside of a job of another repository.
fn inherited_run(repo: &RepositoryPath, variable: impl Fn(&str) -> Option<OsString>) -> Result<Option<i64>, Failure> {
    let is_elsewhere = variable("GITHUB_REPOSITORY")
        .and_then(|path| path.to_str().map(|path| !path.eq_ignore_ascii_case(&repo.to_string())));
    let Some(text) = variable(RUN_VARIABLE).filter(|_| is_elsewhere != Some(true)) else { return Ok(None) };
    match text.to_str().and_then(|text| text.parse().ok()) {
        Some(run) => Ok(Some(run)),
        None => Err(Failure::Usage(format!("{RUN_VARIABLE}: {} is not the ID of a run", text.display()))),
    }
}

pub(super) async fn begin(client: &Client, request: &BeginRun) -> Result<BegunJob, Failure> {
    client.begin_job(request).await.map_err(Failure::call(format!("beginning a job of {}", request.repo)))
}

/// Ends a job. Retries while the daemon restarts, so that the job does not stay open.
pub(super) async fn end(client: &Client, job: i64, conclusion: Conclusion) -> Result<(), Failure> {
    let ended = retry::retrying(retry::is_temporary, async || client.end_job(job, conclusion).await).await;
    ended.map_err(Failure::call(format!("ending job {job}")))
}

/// Returns the job's environment with the ids of the job and its run.
fn environment(job: &BegunJob) -> BTreeMap<String, String> {
    let mut all = job.env.clone();
    all.insert(JOB_VARIABLE.to_owned(), job.job_id.to_string());
    all.insert(RUN_VARIABLE.to_owned(), job.run_id.to_string());
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
    fn the_job_environment_is_printed_as_shell_exports() {
        assert_eq!(
            exports(&job()),
            "export FARRIER_JOB_ID='9'\nexport FARRIER_RUN_ID='3'\nexport GITHUB_RUN_ID='3'\nexport ODD='it'\\''s'\n"
        );
    }

    #[test]
    fn the_run_id_is_inherited_only_within_its_repository() {
        let repo: RepositoryPath = "o/r".parse().unwrap();
        let inherited = |set: &[(&str, &str)]| {
            let found = |name: &str| set.iter().find(|(n, _)| *n == name).map(|(_, value)| OsString::from(value));
            inherited_run(&repo, found)
        };
        assert_eq!(inherited(&[]).unwrap(), None);
        assert_eq!(inherited(&[("FARRIER_RUN_ID", "7")]).unwrap(), Some(7));
        assert_eq!(inherited(&[("FARRIER_RUN_ID", "7"), ("GITHUB_REPOSITORY", "O/R")]).unwrap(), Some(7));
        assert_eq!(inherited(&[("FARRIER_RUN_ID", "7"), ("GITHUB_REPOSITORY", "x/y")]).unwrap(), None);
        assert_eq!(inherited(&[("FARRIER_RUN_ID", "x")]).unwrap_err().code(), exit::USAGE);
    }

    #[test]
    fn a_job_is_serialized_with_the_fields_that_agents_expect() {
        let text = serde_json::to_string(&job()).unwrap();
        assert!(text.starts_with(r#"{"run_id":3,"job_id":9,"token":"t","env":{"#), "{text}");
    }
}
