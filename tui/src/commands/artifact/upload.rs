//! `farrier artifact upload`: uploads files as an artifact.
//!
//! Inside of a job, the artifact belongs to that job. Otherwise a job is started for the upload, and ended even
//! if the upload fails.

use std::{fs::File, path::Path};

use farrier_common::{
    api::{BeginRun, BegunJob, Conclusion},
    client::{Client, RunScope, Token},
};
use farrier_proto::wkt;
use jiff::{SignedDuration, Timestamp};
use serde::Serialize;

use super::source::{own_job, own_repository, same};
use crate::{
    args::{Global, Upload},
    blocking,
    child::Signals,
    clock,
    commands::ci,
    endpoint::{self, variable},
    exit::{self, Failure},
    output::{Output, fields, human_bytes},
    transfer::{
        archive, blocks,
        plan::{self, Plan},
        retry, session,
    },
};

#[derive(Serialize)]
struct Uploaded {
    id: i64,
    name: String,
    size_in_bytes: i64,
    digest: String,
    run_id: String,
}

pub(super) async fn run(args: Upload, global: &Global, output: &Output) -> Result<u8, Failure> {
    // Problems with the files are reported before a job is started.
    let plan = plan::plan(&args.paths, args.name.as_deref(), args.raw, Path::is_dir)?;
    let current = current_job(&args)?;
    endpoint::check_writable(global, "uploading")?;
    let file = source(&args, &plan, output).await?;
    let uploaded = match current {
        Some((scope, token)) => {
            let client = endpoint::connect_job(global, token).await?;
            upload(&client, &scope, &plan, file, &args, output).await?
        }
        None => in_own_job(&args, global, &plan, file, output).await?,
    };
    output.object(&uploaded, &uploaded.id.to_string(), || page(&uploaded))?;
    Ok(exit::OK)
}

fn page(uploaded: &Uploaded) -> String {
    fields(&[
        ("name", uploaded.name.clone()),
        ("id", uploaded.id.to_string()),
        ("size", format!("{} ({})", uploaded.size_in_bytes, human_bytes(uploaded.size_in_bytes))),
        ("digest", uploaded.digest.clone()),
    ])
}

/// Returns the job to which the upload belongs; `None` if a new job is needed, which is also the case if
/// another repository or run was requested.
fn current_job(args: &Upload) -> Result<Option<(RunScope, Token)>, Failure> {
    let is_other_repository = match (&args.repo, own_repository(variable)) {
        (Some(requested), Some(own)) => !same(requested, &own),
        _ => false,
    };
    if is_other_repository {
        return Ok(None);
    }
    let job = own_job(variable)?;
    Ok(job.filter(|(scope, _)| args.run.is_none_or(|run| run.to_string() == scope.run)))
}

async fn source(args: &Upload, plan: &Plan, output: &Output) -> Result<File, Failure> {
    if let Some(path) = &plan.raw {
        return File::open(path).map_err(|source| Failure::io(format!("reading {}", path.display()), source));
    }
    let (paths, level) = (args.paths.clone(), args.compression_level);
    let contents = blocking::run(move || archive::collect(&paths)).await?;
    for path in &contents.skipped {
        let _ = output.note(&format!("farrier: skipped: {}", path.display()));
    }
    let bar = output.progress("packing", Some(contents.bytes));
    let packing = bar.clone();
    let file = blocking::run(move || contents.write(level, &packing)).await;
    bar.finish_and_clear();
    file
}

async fn in_own_job(
    args: &Upload,
    global: &Global,
    plan: &Plan,
    file: File,
    output: &Output,
) -> Result<Uploaded, Failure> {
    let repo = args.repo.clone().or_else(|| own_repository(variable));
    let repo = repo.ok_or_else(|| Failure::Usage("no repository; use --repo OWNER/NAME".into()))?;
    let client = endpoint::connect(global).await?;
    let mut signals = Signals::caught().map_err(|source| Failure::io("catching signals", source))?;
    let request = BeginRun {
        repo: repo.to_string(),
        run_id: args.run,
        job: "artifact upload".into(),
        lease_secs: Some(ci::lease::LEASE_SECS),
        ..BeginRun::default()
    };
    let job = ci::begin(&client, &request).await?;
    let result = tokio::select! {
        result = as_job(&client, &job, plan, file, args, output) => result,
        () = ci::lease::keep(&client, job.job_id) => {
            Err(Failure::Other(format!("the daemon ended job {}; the upload was stopped", job.job_id)))
        }
        _ = signals.next() => Err(Failure::Interrupted),
    };
    let conclusion = match &result {
        Ok(_) => Conclusion::Success,
        Err(Failure::Interrupted) => Conclusion::Cancelled,
        Err(_) => Conclusion::Failure,
    };
    match (ci::end(&client, job.job_id, conclusion).await, result) {
        (Ok(()), result) => result,
        // The artifact is complete, and the daemon ends the job when its lease ends.
        (Err(failure), result) => {
            let _ = output.error(&failure);
            result
        }
    }
}

async fn as_job(
    client: &Client,
    job: &BegunJob,
    plan: &Plan,
    file: File,
    args: &Upload,
    output: &Output,
) -> Result<Uploaded, Failure> {
    let invalid_token = || Failure::Other("the daemon began a job, but its token is not valid".into());
    let scope = session::scope(&job.token).ok_or_else(invalid_token)?;
    let client = client.with_token(Some(Token::new(&job.token).map_err(|_| invalid_token())?));
    upload(&client, &scope, plan, file, args, output).await
}

async fn upload(
    client: &Client,
    scope: &RunScope,
    plan: &Plan,
    file: File,
    args: &Upload,
    output: &Output,
) -> Result<Uploaded, Failure> {
    let limit = variable("GITHUB_RETENTION_DAYS").and_then(|days| days.to_str()?.parse().ok());
    let expires_at = expiry(args.retention_days, limit, clock::now());
    let create = async || client.create_run_artifact(scope, &plan.name, &plan.mime_type, expires_at).await;
    let url = retry::retrying(retry::is_temporary_after_connect, create).await;
    let url = url.map_err(Failure::call(format!("creating {}", plan.name)))?;
    let bar = output.progress(&plan.name, file.metadata().map(|metadata| metadata.len()).ok());
    let sent = blocks::upload(client, &url, file, &plan.mime_type, usize::from(args.concurrency), &bar).await;
    bar.finish_and_clear();
    let sent = sent?;
    let finalize = async || client.finalize_run_artifact(scope, &plan.name, sent.size, &sent.digest).await;
    let id = retry::retrying(retry::is_temporary, finalize).await;
    let id = id.map_err(Failure::call(format!("finalizing {}", plan.name)))?;
    Ok(Uploaded {
        id,
        name: plan.name.clone(),
        size_in_bytes: sent.size,
        digest: sent.digest,
        run_id: scope.run.clone(),
    })
}

/// Returns the expiry time. As in the official client, the job's limit takes precedence over `days`.
fn expiry(days: Option<u32>, limit: Option<u32>, now: Timestamp) -> Option<wkt::Timestamp> {
    let days = days?.min(limit.filter(|limit| *limit > 0).unwrap_or(u32::MAX));
    let at = now.checked_add(SignedDuration::from_hours(24 * i64::from(days))).ok()?;
    Some(wkt::Timestamp::from_millis(at.as_millisecond()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_expiry_is_limited_by_the_job() {
        let now = Timestamp::from_second(1_000).unwrap();
        let days = |n: i64| Some(wkt::Timestamp { seconds: 1_000 + n * 86_400, nanos: 0 });
        assert_eq!(expiry(None, Some(5), now), None);
        assert_eq!(expiry(Some(3), None, now), days(3));
        assert_eq!(expiry(Some(3), Some(5), now), days(3));
        assert_eq!(expiry(Some(9), Some(5), now), days(5));
        assert_eq!(expiry(Some(9), Some(0), now), days(9));
    }
}
