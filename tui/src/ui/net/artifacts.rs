//! Requests about runs and artifacts: list, download, show content, set expiry, delete.

use std::{sync::Arc, time::Duration};

use farrier_common::{
    api::{Artifact, EditArtifact, FoundArtifact, FoundRun},
    client::{ArtifactFilter, Client, ClientError, DELETE_MAX, Pages, RepositoryPath},
};
use indicatif::ProgressBar;

use super::{Answer, Existing, Request, archive, fetch::ROWS_MAX, zip_listing};
use crate::{
    blocking,
    exit::Failure,
    transfer::{
        fetch::{self, DownloadRequest},
        names,
    },
    ui::{
        runs::{RunCompactor, RunSummary, RunsBatch},
        words,
    },
};

/// Interval of progress reports of a download.
const PROGRESS_EVERY: Duration = Duration::from_millis(200);

/// Handles a request about artifacts. `part` receives pages and progress before the final response.
pub(super) async fn answer(client: &Client, request: Request, part: &impl Fn(Answer)) -> Result<Answer, Failure> {
    let doing = request.doing();
    let failed = || Failure::call(doing.clone());
    Ok(match request {
        Request::Runs(of) => list(client, of, part).await.map_err(failed())?,
        Request::EditArtifacts(edits) => edit(client, edits).await.map_err(failed())?,
        Request::DeleteArtifacts(ids) => delete(client, &ids).await.map_err(failed())?,
        Request::SignedAddress(repo, id) => {
            Answer::Signed(client.artifact_location(&repo, id).await.map_err(failed())?.target().to_owned())
        }
        Request::ZipContent { repo, id, .. } => {
            let artifact = client.artifact(&repo, id).await.map_err(failed())?;
            let size = u64::try_from(artifact.size_in_bytes).unwrap_or_default();
            let url = client.artifact_location(&repo, id).await.map_err(failed())?;
            Answer::Content(zip_listing::list(client, &url, size).await?)
        }
        Request::Download { repo, id, existing, .. } => {
            let artifact = client.artifact(&repo, id).await.map_err(failed())?;
            download(client, &repo, &artifact, existing, part).await?
        }
        _ => Answer::Done,
    })
}

/// Lists all runs and artifacts that the caller may read, or those of one repository. Alternates between the
/// pages of each list, so that the newest rows arrive first.
async fn list(client: &Client, of: Option<RepositoryPath>, part: &impl Fn(Answer)) -> Result<Answer, ClientError> {
    let mut compactor = RunCompactor::default();
    let mut rows = 0;
    let all = ArtifactFilter { repository: of.clone(), ..ArtifactFilter::default() };
    let uploading = ArtifactFilter { state: "uploading".to_owned(), ..all.clone() };
    let mut runs = client.all_runs(of.as_ref());
    let mut lists = [client.all_artifacts(&all), client.all_artifacts(&uploading)];
    loop {
        let mut some = RunsBatch { runs: next_runs(&mut runs, &mut compactor).await?, ..RunsBatch::default() };
        let mut left = runs.more();
        for list in &mut lists {
            if let Some(items) = list.next(|items: Vec<FoundArtifact>| (0, items), |one| one.id).await? {
                some.artifacts.extend(items.iter().map(|artifact| compactor.artifact(artifact)));
            }
            left |= list.more();
        }
        rows += some.runs.len() + some.artifacts.len();
        let cut = left && rows >= ROWS_MAX;
        if !left || cut {
            return Ok(Answer::Runs(Box::new(RunsBatch { last: true, cut, ..some })));
        }
        part(Answer::Runs(Box::new(some)));
    }
}

async fn next_runs(runs: &mut Pages<'_>, compactor: &mut RunCompactor) -> Result<Vec<Arc<RunSummary>>, ClientError> {
    let items = runs.next(|items: Vec<FoundRun>| (0, items), |run| run.id).await?;
    Ok(items.into_iter().flatten().map(|run| compactor.run(run)).collect())
}

/// Changes the artifacts one after the other; a refusal does not stop the rest.
async fn edit(client: &Client, edits: Vec<(i64, EditArtifact)>) -> Result<Answer, ClientError> {
    let mut each = Vec::with_capacity(edits.len());
    for (id, request) in edits {
        each.push(match client.edit_artifact(id, &request).await {
            Ok(set) => (id, Ok(words::seconds(&set.expires_at))),
            Err(error) if error.status().is_none() => return Err(error),
            Err(error) => (id, Err(error.to_string())),
        });
    }
    Ok(Answer::Expiring(each))
}

async fn delete(client: &Client, ids: &[i64]) -> Result<Answer, ClientError> {
    let mut each = Vec::with_capacity(ids.len());
    for some in ids.chunks(DELETE_MAX) {
        let done = client.delete_artifacts(some).await?;
        let why = |error: Option<String>| error.unwrap_or_else(|| "not deleted".to_owned());
        each.extend(done.results.into_iter().map(|one| (one.id, (!one.deleted).then(|| why(one.error)))));
    }
    Ok(Answer::Each(each))
}

async fn download(
    client: &Client,
    repo: &RepositoryPath,
    artifact: &Artifact,
    existing: Existing,
    part: &impl Fn(Answer),
) -> Result<Answer, Failure> {
    let directory = super::download_directory();
    let download = DownloadRequest {
        size: u64::try_from(artifact.size_in_bytes).unwrap_or_default(),
        digest: artifact.digest.clone(),
        part: directory.join(names::part_name(&artifact.name, artifact.id, &artifact.digest)),
    };
    let bar = ProgressBar::hidden();
    let fetching = fetch::fetch(client, &download, async || client.artifact_location(repo, artifact.id).await, &bar);
    tokio::pin!(fetching);
    let mut ticks = tokio::time::interval(PROGRESS_EVERY);
    let fetched = loop {
        tokio::select! {
            fetched = &mut fetching => break fetched?,
            _ = ticks.tick() => part(Answer::Progress { have: bar.position(), size: Some(download.size) }),
        }
    };
    let path = directory.join(names::saved_name(&artifact.name, fetched.is_zip));
    blocking::run(move || archive::finish(fetched.part, &path, existing)).await.map(Answer::Saved)
}
