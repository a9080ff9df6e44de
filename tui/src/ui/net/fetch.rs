//! Carrying out what is asked, with the typed client.

use std::{hash::Hash, time::Duration};

use farrier_common::{
    api::{Artifact, Artifacts, Branch, Job, Jobs, RepositorySearch, Runs},
    client::{Client, ClientError, EventFilter, Followed, Pages, RepositoryPath},
};
use indicatif::ProgressBar;
use serde::de::DeserializeOwned;

use super::{Answer, Ask, Existing, Page, answer::Tree, archive, checks, deliveries, facts, hooks, inside, tasks};
use crate::{
    blocking,
    exit::Failure,
    transfer::{
        fetch::{self, Wanted},
        names,
    },
    ui::repo::{Repo, Slimmer},
};

/// Longer lists are filtered by the daemon, not by a screen.
const ROWS_MAX: usize = 100_000;
/// Who finds more than these types another letter.
const FOUND_MAX: usize = 1_000;
/// How often a download says how far it is.
const TELL_EVERY: Duration = Duration::from_millis(200);

/// Answers `ask`; `part` hears what comes before the end.
pub(super) async fn answer(client: &Client, ask: Ask, part: &impl Fn(Answer)) -> Result<Answer, Failure> {
    let doing = ask.doing();
    let failed = || Failure::call(doing.clone());
    Ok(match ask {
        Ask::Status => {
            let status = client.status().await.map_err(failed())?;
            Answer::Status(Box::new((status, client.health().await.map_err(failed())?)))
        }
        Ask::Series => Answer::Series(Box::new(client.metrics_series().await.map_err(failed())?)),
        // What starts a daemon does not need one.
        Ask::StartDaemon(_) => Answer::Done,
        Ask::Repositories => {
            let mut slimmer = Slimmer::default();
            let open = |found: RepositorySearch| found.data.into_iter().map(|repo| slimmer.slim(repo)).collect();
            pages(client.repositories(None), open, |repo: &Repo| repo.id, part, Answer::Repositories)
                .await
                .map_err(failed())?
        }
        Ask::FindRepositories(text) => find(client, &text).await.map_err(failed())?,
        Ask::Repository(path) => Answer::Repository(Box::new(client.repository(&path).await.map_err(failed())?)),
        Ask::CreateRepository { owner, wanted } => {
            Answer::Repository(Box::new(client.create_repository(&owner, &wanted).await.map_err(failed())?))
        }
        Ask::EditRepository(path, wanted) => {
            Answer::Repository(Box::new(client.edit_repository(&path, &wanted).await.map_err(failed())?))
        }
        Ask::MigrateRepository(wanted) => {
            Answer::Repository(Box::new(client.migrate_repository(&wanted).await.map_err(failed())?))
        }
        Ask::DeleteRepository(path) => done(client.delete_repository(&path).await.map_err(failed())?),
        Ask::Branches(path) => {
            let open = |found: Vec<Branch>| found;
            pages(client.branches(&path), open, |branch: &Branch| branch.name.clone(), part, Answer::Branches)
                .await
                .map_err(failed())?
        }
        Ask::Facts(path) => Answer::Facts(Box::new(facts::count(client, &path).await.map_err(failed())?)),
        Ask::ArtifactsOf(path) => {
            let open = |found: Artifacts| found.artifacts;
            pages(client.artifacts(&path, None, None), open, |one: &Artifact| one.id, part, Answer::ArtifactsOf)
                .await
                .map_err(failed())?
        }
        ask @ (Ask::Tasks | Ask::CancelTask(_)) => tasks::answer(client, ask).await.map_err(failed())?,
        Ask::CreateBranch(path, wanted) => done(client.create_branch(&path, &wanted).await.map_err(failed())?),
        Ask::DeleteBranch(path, name) => done(client.delete_branch(&path, &name).await.map_err(failed())?),
        ask @ (Ask::Hooks(_)
        | Ask::HookEvents
        | Ask::CreateHook(..)
        | Ask::EditHook(..)
        | Ask::DeleteHook(..)
        | Ask::TestHook(..)
        | Ask::ApplyHook(_)) => hooks::answer(client, ask).await.map_err(failed())?,
        ask @ (Ask::Recover(_)
        | Ask::Deliveries { .. }
        | Ask::LastDeliveries(_)
        | Ask::Delivery(_)
        | Ask::Redeliver(_)) => deliveries::answer(client, ask).await.map_err(failed())?,
        ask @ (Ask::CheckName(_) | Ask::CheckBranchFilter(_) | Ask::CheckMigration(_)) => {
            checks::answer(client, ask).await.map_err(failed())?
        }
        Ask::Events { after } => follow(client, after, part).await.map_err(failed())?,
        Ask::Runs(path) => Answer::Runs(Box::new(tree(client, &path).await.map_err(failed())?)),
        Ask::DeleteArtifacts(path, ids) => delete_artifacts(client, &path, ids).await.map_err(failed())?,
        Ask::SignedAddress(repo, id) => {
            Answer::Signed(client.artifact_location(&repo, id).await.map_err(failed())?.target().to_owned())
        }
        Ask::ZipContent { repo, id, .. } => {
            let artifact = client.artifact(&repo, id).await.map_err(failed())?;
            let size = u64::try_from(artifact.size_in_bytes).unwrap_or_default();
            let url = client.artifact_location(&repo, id).await.map_err(failed())?;
            Answer::Content(inside::list(client, &url, size).await?)
        }
        Ask::Download { repo, id, existing, .. } => {
            let artifact = client.artifact(&repo, id).await.map_err(failed())?;
            download(client, &repo, &artifact, existing, part).await?
        }
        Ask::Archive { repo, content, existing } => archive::fetch(client, &repo, &content, existing, part).await?,
    })
}

fn done((): ()) -> Answer {
    Answer::Done
}

/// Every page as soon as it is there; the answer is the last one.
async fn pages<B: DeserializeOwned, T, K: Hash>(
    mut pages: Pages<'_>,
    mut open: impl FnMut(B) -> Vec<T>,
    id: impl Fn(&T) -> K,
    part: &impl Fn(Answer),
    wrap: impl Fn(Page<T>) -> Answer,
) -> Result<Answer, ClientError> {
    let mut rows = 0;
    while let Some(items) = pages.next(|body: B| (0, open(body)), &id).await? {
        rows += items.len();
        let total = pages.total();
        if rows >= ROWS_MAX || !pages.more() {
            return Ok(wrap(Page { items, total, last: true }));
        }
        part(wrap(Page { items, total, last: false }));
    }
    Ok(wrap(Page { items: Vec::new(), total: pages.total(), last: true }))
}

/// The first of those whose names hold `text`.
async fn find(client: &Client, text: &str) -> Result<Answer, ClientError> {
    let mut slimmer = Slimmer::default();
    let mut pages = client.find_repositories(text);
    let mut items: Vec<Repo> = Vec::new();
    while let Some(found) = pages.next(|found: RepositorySearch| (0, found.data), |repo| repo.id).await? {
        items.extend(found.into_iter().map(|repo| slimmer.slim(repo)));
        if items.len() >= FOUND_MAX {
            break;
        }
    }
    Ok(Answer::Repositories(Page { items, total: pages.total(), last: true }))
}

/// Tells what happens until the daemon ends the stream, which it does after a while.
/// Events that a stream begins with: what happened before somebody looked.
const EVENTS_SEEN: u32 = 50;

async fn follow(client: &Client, after: Option<i64>, part: &impl Fn(Answer)) -> Result<Answer, ClientError> {
    let filter = EventFilter { after, last: Some(EVENTS_SEEN), ..EventFilter::default() };
    let mut stream = client.follow(&filter).await?;
    while let Some(followed) = stream.next().await? {
        // What was forgotten meanwhile is not on the screen either.
        if let Followed::Event(event) = followed {
            part(Answer::Event(event));
        }
    }
    Ok(Answer::Done)
}

/// Runs beyond these are old enough to be looked for by number.
const RUNS_MAX: usize = 200;

async fn tree(client: &Client, path: &RepositoryPath) -> Result<Tree, ClientError> {
    let mut tree = Tree::default();
    let mut runs = client.runs(path);
    while let Some(mut items) = runs.next(|page: Runs| (page.total_count, page.workflow_runs), |run| run.id).await? {
        tree.runs.append(&mut items);
        if tree.runs.len() >= RUNS_MAX {
            break;
        }
    }
    let mut artifacts = client.artifacts(path, None, None);
    let oldest = tree.runs.last().map_or(0, |run| run.id);
    while let Some(mut items) = artifacts.next_artifacts().await? {
        let beyond = items.iter().all(|artifact| artifact.workflow_run.id < oldest);
        tree.artifacts.append(&mut items);
        if beyond || tree.artifacts.len() >= ROWS_MAX {
            break;
        }
    }
    for run in &tree.runs {
        let mut jobs = client.run_jobs(path, run.id);
        while let Some(mut items) = jobs.next(|page: Jobs| (page.total_count, page.jobs), |job: &Job| job.id).await? {
            tree.jobs.append(&mut items);
        }
    }
    Ok(tree)
}

/// One after the other; one that fails does not stop the rest.
async fn delete_artifacts(client: &Client, path: &RepositoryPath, ids: Vec<i64>) -> Result<Answer, ClientError> {
    let mut each = Vec::with_capacity(ids.len());
    for id in ids {
        each.push(match client.delete_artifact(path, id).await {
            Ok(()) => (id, None),
            Err(error) if error.status().is_none() => return Err(error),
            Err(error) => (id, Some(error.to_string())),
        });
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
    let wanted = Wanted {
        size: u64::try_from(artifact.size_in_bytes).unwrap_or_default(),
        digest: artifact.digest.clone(),
        part: directory.join(names::part_name(&artifact.name, artifact.id, &artifact.digest)),
    };
    let bar = ProgressBar::hidden();
    let fetching = fetch::fetch(client, &wanted, async || client.artifact_location(repo, artifact.id).await, &bar);
    tokio::pin!(fetching);
    let mut ticks = tokio::time::interval(TELL_EVERY);
    let fetched = loop {
        tokio::select! {
            fetched = &mut fetching => break fetched?,
            _ = ticks.tick() => part(Answer::Progress { have: bar.position(), size: Some(wanted.size) }),
        }
    };
    let path = directory.join(names::saved_name(&artifact.name, fetched.is_zip));
    blocking::run(move || archive::finish(fetched.part, &path, existing)).await.map(Answer::Saved)
}
