//! Requests about runs, about the artifacts of one run, and about objects of all repositories that need attention.

use std::hash::Hash;

use farrier_common::{
    api::{FoundArtifact, FoundMirror, FoundRun},
    client::{ArtifactFilter, Client, ClientError, Pages, RunFilter},
};
use jiff::{SignedDuration, Timestamp};
use serde::de::DeserializeOwned;

use super::{Answer, Page, Request, SearchProgress};
use crate::{
    clock,
    ui::runs::{ListedRun, ListedRunCompactor},
};

/// Most artifacts of a run that are loaded.
const ARTIFACTS_MAX: usize = 500;
/// Most artifacts that are loaded because they expire soon.
const EXPIRING_MAX: usize = 200;
/// Most mirrors that are loaded because they fail.
const FAILING_MIRRORS_MAX: usize = 200;
/// At most one request is sent for this many rows. Pages are short when a filter leaves most rows out.
const ROWS_PER_REQUEST: usize = 10;

/// Handles a request about runs.
pub(super) async fn answer(client: &Client, request: Request) -> Result<Answer, ClientError> {
    Ok(match request {
        Request::RunList { of, status, conclusion, text, rows } => {
            let (status, conclusion) = (status.to_owned(), conclusion.to_owned());
            let filter = RunFilter { repository: of, status, conclusion, text };
            let mut compactor = ListedRunCompactor::default();
            let open = |page: Vec<FoundRun>| page.into_iter().map(|run| compactor.compact(run)).collect();
            let (items, searched) = newest(client.found_runs(&filter), rows, open, |run: &ListedRun| run.id).await?;
            Answer::RunList(Page { items, total: None, last: true }, searched)
        }
        Request::RunArtifacts(run) => {
            let all = ArtifactFilter { run: Some(run), ..ArtifactFilter::default() };
            let uploading = ArtifactFilter { state: "uploading".to_owned(), ..all.clone() };
            let open = |page: Vec<FoundArtifact>| page;
            let id = |one: &FoundArtifact| one.id;
            let (mut items, newest_uploading) =
                newest(client.all_artifacts(&uploading), ARTIFACTS_MAX, open, id).await?;
            let (others, newest_others) = newest(client.all_artifacts(&all), ARTIFACTS_MAX, open, id).await?;
            items.extend(others);
            Answer::RunArtifacts(items, newest_uploading.more || newest_others.more)
        }
        Request::ExpiringArtifacts => {
            let until = clock::now().saturating_add(SignedDuration::from_hours(24)).unwrap_or(Timestamp::MAX);
            let filter = ArtifactFilter {
                state: "ready".to_owned(),
                expires_before: until.to_string(),
                ..ArtifactFilter::default()
            };
            let open = |page: Vec<FoundArtifact>| page;
            let (items, searched) =
                newest(client.all_artifacts(&filter), EXPIRING_MAX, open, |one: &FoundArtifact| one.id).await?;
            Answer::ExpiringArtifacts(items, searched.more)
        }
        Request::FailingWorkflows => Answer::FailingWorkflows(Box::new(client.failing_workflows().await?)),
        Request::FailingMirrors => {
            let open = |page: Vec<FoundMirror>| page;
            let id = |one: &FoundMirror| (one.repository_id, one.name.clone());
            let (items, searched) = newest(client.failing_mirrors(), FAILING_MIRRORS_MAX, open, id).await?;
            Answer::FailingMirrors(items, searched.more)
        }
        Request::CancelRun(id) => {
            client.cancel_run(id).await?;
            Answer::Done
        }
        _ => Answer::Done,
    })
}

/// Loads pages until at least `rows` rows are loaded. Returns them, and how far the daemon has searched.
async fn newest<B: DeserializeOwned, T, K: Hash>(
    mut pages: Pages<'_>,
    rows: usize,
    mut open: impl FnMut(B) -> Vec<T>,
    id: impl Fn(&T) -> K,
) -> Result<(Vec<T>, SearchProgress), ClientError> {
    let mut items = Vec::new();
    let mut requests = 0;
    while let Some(mut page) = pages.next(|page: B| (0, open(page)), &id).await? {
        items.append(&mut page);
        requests += 1;
        if items.len() >= rows || requests >= rows.div_ceil(ROWS_PER_REQUEST) {
            break;
        }
    }
    Ok((items, SearchProgress { examined: pages.examined(), more: pages.more() }))
}
