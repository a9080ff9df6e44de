//! Lists artifacts: of a run for its jobs, of a repository or run for the REST API.

use farrier_proto::store::{Artifact, Content, Run};

use super::{files, rows, visible};
use crate::{
    service::{Context, Error, authentication::JobIdentity},
    store::{Read, Snapshot, artifacts::ArtifactList, runs},
};

/// Maximum number of artifacts of one run to read.
const RUN_MAX: usize = 100_000;
/// Rows to read per scan while filtering.
const FILTER_PAGE: usize = 1_000;

/// Which artifacts of its run a job requests.
#[derive(Clone, Debug, Default)]
pub struct RunArtifactFilter {
    /// Only this name.
    pub name: Option<String>,
    /// Only this id.
    pub id: Option<i64>,
    /// Artifacts of version 3 of the protocol, which consist of files. Clients of other versions do not see them, and
    /// the reverse.
    pub has_files: bool,
}

/// Returns the visible artifacts of the job's run, including those of other jobs, oldest first.
pub async fn list_run(
    context: &Context,
    job: &JobIdentity,
    filter: &RunArtifactFilter,
) -> Result<Vec<Artifact>, Error> {
    let now = context.now_ms();
    let mut found = rows::named_of_run(&context.store.read().await?, job.run_id, RUN_MAX).await?;
    found.retain(|row| {
        let name_matches = filter.name.as_ref().is_none_or(|name| *name == row.name);
        let id_matches = filter.id.is_none_or(|id| u64::try_from(id).ok() == Some(row.id));
        let kind_matches = |content: &Content| (content.version == files::VERSION) == filter.has_files;
        name_matches && id_matches && visible(row, now).is_some_and(kind_matches)
    });
    found.sort_by_key(|row| row.id);
    Ok(found)
}

/// Returns a page of finalized and expired artifacts with their runs, newest first, and the total number of these
/// artifacts.
pub async fn list(
    snapshot: &Snapshot,
    list: ArtifactList,
    name: Option<&str>,
    skip: u64,
    limit: usize,
) -> Result<(Vec<(Artifact, Run)>, u64), Error> {
    let (found, total) = match name {
        None => rows::page(snapshot, list, skip, limit).await?,
        Some(name) => page_by_name(snapshot, list, name, skip, limit).await?,
    };
    let mut with_runs: Vec<(Artifact, Run)> = Vec::with_capacity(found.len());
    for row in found {
        // Neighboring artifacts usually share their run.
        let known = with_runs.last().filter(|(_, run)| run.id == row.run_id).map(|(_, run)| run.clone());
        let run = match known {
            Some(run) => run,
            None => runs::run(snapshot, row.run_id).await?.unwrap_or_default(),
        };
        with_runs.push((row, run));
    }
    Ok((with_runs, total))
}

/// Filters by name. Reads the whole list, because the total is the number of matches.
async fn page_by_name(
    read: &impl Read,
    list: ArtifactList,
    name: &str,
    skip: u64,
    limit: usize,
) -> Result<(Vec<Artifact>, u64), Error> {
    let mut page = Vec::new();
    let mut total = 0;
    let mut after = None;
    loop {
        let rows = rows::next(read, list, after, FILTER_PAGE).await?;
        let last = rows.last().map(|row| row.id);
        let is_full_batch = rows.len() == FILTER_PAGE;
        for row in rows.into_iter().filter(|row| row.name == name) {
            if total >= skip && page.len() < limit {
                page.push(row);
            }
            total += 1;
        }
        if !is_full_batch {
            return Ok((page, total));
        }
        after = last;
    }
}
