//! Sends requests with the typed client.

use std::hash::Hash;

use farrier_common::{
    api::{Artifact, Artifacts, Branch, RepositorySearch},
    client::{Client, ClientError, EventFilter, Followed, Pages, RepositoryPath},
};
use serde::de::DeserializeOwned;

use super::{
    Answer, Batch, Page, Problem, Request, account_keys, archive, artifacts, audit, caches, checks, content, counts,
    deleted, deliveries, hooks, logs, management, objects, organizations, replays, runs, shell, users,
};
use crate::{
    exit::Failure,
    ui::{
        repo::{RepositoryCompactor, RepositorySummary},
        words,
    },
};

/// Lists load up to this many rows; beyond that the daemon filters.
pub(super) const ROWS_MAX: usize = 100_000;
/// Largest number of search results; the user refines the search to see others.
const FOUND_MAX: usize = 1_000;

/// Handles a request. `part` receives pages and progress before the final response.
#[expect(clippy::too_many_lines, reason = "one arm for each request")]
pub(super) async fn answer(client: &Client, request: Request, part: &impl Fn(Answer)) -> Result<Answer, Failure> {
    let doing = request.doing();
    let failed = || Failure::call(doing.clone());
    Ok(match request {
        Request::Status => {
            let status = client.status().await.map_err(failed())?;
            Answer::Status(Box::new((status, client.health().await.map_err(failed())?)))
        }
        Request::Series(span) => Answer::Series(Box::new(client.metrics_series(span.name()).await.map_err(failed())?)),
        // Handled before a connection is needed.
        Request::StartDaemon(_) => Answer::Done,
        Request::Repositories => repositories(client, part).await.map_err(failed())?,
        Request::FindRepositories(text) => {
            first_repositories(client.find_repositories(&text), FOUND_MAX).await.map_err(failed())?
        }
        Request::ChangedRepositories => first_repositories(client.changed_repositories(), 1).await.map_err(failed())?,
        request @ (Request::Repository(_)
        | Request::FailedImport(_)
        | Request::CreateRepository { .. }
        | Request::EditRepository(..)
        | Request::MigrateRepository(_)
        | Request::SaveRepository(_)
        | Request::LoadRepository(_)) => repository(client, request).await.map_err(failed())?,
        Request::DeleteRepository(path) => done(client.delete_repository(&path).await.map_err(failed())?),
        Request::Branches(path) => branches(client, &path, part).await.map_err(failed())?,
        Request::RepositoryCounts(path) => {
            Answer::RepositoryCounts(Box::new(counts::count(client, &path).await.map_err(failed())?))
        }
        Request::ArtifactsOf(path) => {
            let open = |found: Artifacts| found.artifacts;
            pages(client.artifacts(&path, None, None), open, |one: &Artifact| one.id, part, Answer::ArtifactsOf)
                .await
                .map_err(failed())?
        }
        Request::Tasks => Answer::Tasks(client.tasks().await.map_err(failed())?),
        Request::CancelTask(id) => client.cancel_task(id).await.map(|_| Answer::Done).map_err(failed())?,
        request @ (Request::RunList { .. }
        | Request::RunArtifacts(_)
        | Request::ExpiringArtifacts
        | Request::FailingWorkflows
        | Request::FailingMirrors
        | Request::CancelRun(_)) => runs::answer(client, request).await.map_err(failed())?,
        Request::CreateBranch(path, request) => done(client.create_branch(&path, &request).await.map_err(failed())?),
        Request::DeleteBranch(path, name) => done(client.delete_branch(&path, &name).await.map_err(failed())?),
        Request::CreateTag(path, request) => done(client.create_tag(&path, &request).await.map_err(failed())?),
        Request::DeleteTag(path, name) => done(client.delete_tag(&path, &name).await.map_err(failed())?),
        request @ (Request::Directory { .. }
        | Request::FileContent { .. }
        | Request::Commits { .. }
        | Request::Commit(..)
        | Request::PushedCommits { .. }
        | Request::Tags(_)) => content::answer(client, request, part).await.map_err(failed())?,
        request @ Request::AccountKeys(..) => account_keys::answer(client, request).await.map_err(failed())?,
        request @ Request::Organization(_) => organizations::answer(client, request, part).await?,
        request @ Request::Manage(..) => management::answer(client, request, part).await.map_err(failed())?,
        request @ (Request::Hooks(_)
        | Request::FailingHooks
        | Request::HookJson(_)
        | Request::HookEvents
        | Request::CreateHook(..)
        | Request::EditHook(..)
        | Request::SaveHook(_)
        | Request::LoadHook(..)
        | Request::DeleteHook(..)
        | Request::TestHook(..)
        | Request::ApplyHook(_)) => hooks::answer(client, request, part).await.map_err(failed())?,
        Request::Batch(batch) => run_batch(client, *batch, part).await,
        request @ (Request::Recover(_)
        | Request::Recoverable(_)
        | Request::Deliveries { .. }
        | Request::LastDeliveries(_)
        | Request::DeliveryGroups(_)
        | Request::DeliveryResults(..)
        | Request::Delivery(_)
        | Request::PreviousDelivery { .. }
        | Request::Redeliver(_)) => deliveries::answer(client, request, part).await.map_err(failed())?,
        Request::Replay(replay) => replays::answer(client, *replay).await?,
        request @ (Request::CheckName(_)
        | Request::CheckBranchFilter(_)
        | Request::CheckMigration(_)
        | Request::OwnOrganizations) => checks::answer(client, request).await.map_err(failed())?,
        Request::Events { after } => follow(client, after, part).await.map_err(failed())?,
        request @ (Request::Runs(_)
        | Request::EditArtifacts(_)
        | Request::DeleteArtifacts(_)
        | Request::SignedAddress(..)
        | Request::ZipContent { .. }
        | Request::Download { .. }) => artifacts::answer(client, request, part).await?,
        request @ (Request::DeletedRepositories
        | Request::DeletedArtifacts
        | Request::RestoreRepository { .. }
        | Request::RestoreArtifact { .. }
        | Request::PurgeRepository { .. }
        | Request::PurgeArtifact { .. }) => deleted::answer(client, request, part).await.map_err(failed())?,
        request @ (Request::Caches | Request::CacheUsage | Request::DeleteCache { .. }) => {
            caches::answer(client, request, part).await.map_err(failed())?
        }
        request @ (Request::Users
        | Request::Tokens(_)
        | Request::CreateUser(_)
        | Request::EditUser(..)
        | Request::DeleteUser(_)
        | Request::CreateToken(..)
        | Request::DeleteToken { .. }) => users::answer(client, request, part).await.map_err(failed())?,
        Request::Logs(level, after, own) => logs::list(client, level, after, own).await.map_err(failed())?,
        Request::Audit { filter, entry, rows } => {
            audit::list(client, &filter, entry, rows, part).await.map_err(failed())?
        }
        Request::FindObjects(search) => objects::find(client, &search).await.map_err(failed())?,
        Request::Shell(command) => shell::answer(client, &command).await?,
        Request::Archive { repo, content, existing } => archive::fetch(client, &repo, &content, existing, part).await?,
    })
}

/// Lists all repositories, page by page.
async fn repositories(client: &Client, part: &impl Fn(Answer)) -> Result<Answer, ClientError> {
    let mut compactor = RepositoryCompactor::default();
    let open = |found: RepositorySearch| found.data.into_iter().map(|repo| compactor.compact(repo)).collect();
    pages(client.repositories(None), open, |repo: &RepositorySummary| repo.id, part, Answer::Repositories).await
}

/// Lists the branches of a repository, page by page.
async fn branches(client: &Client, path: &RepositoryPath, part: &impl Fn(Answer)) -> Result<Answer, ClientError> {
    let open = |mut found: Vec<Branch>| {
        // Lists show titles only. Thousands of complete messages could need gigabytes.
        for branch in &mut found {
            branch.commit.message = words::title(&branch.commit.message);
        }
        found
    };
    pages(client.branches(path), open, |branch: &Branch| branch.name.clone(), part, Answer::Branches).await
}

/// Loads, creates, imports or changes one repository and returns it.
async fn repository(client: &Client, request: Request) -> Result<Answer, ClientError> {
    Ok(match request {
        Request::Repository(path) | Request::FailedImport(path) => {
            Answer::Repository(Box::new(client.repository(&path).await?))
        }
        Request::CreateRepository { owner, request } => {
            Answer::Repository(Box::new(client.create_repository(&owner, &request).await?))
        }
        Request::EditRepository(path, request) => {
            Answer::Repository(Box::new(client.edit_repository(&path, &request).await?))
        }
        Request::MigrateRepository(request) => Answer::Repository(Box::new(client.migrate_repository(&request).await?)),
        Request::SaveRepository(save) => {
            let saved = client.edit_repository_if_match(&save.path, &save.request, save.tag.as_ref()).await?;
            Answer::Repository(Box::new(saved.value))
        }
        Request::LoadRepository(path) => Answer::LoadedRepository(Box::new(client.repository_tagged(&path).await?)),
        _ => Answer::Done,
    })
}

/// Sends the requests of a batch one after the other. When the connection is lost, the rest is reported as not tried.
async fn run_batch(client: &Client, batch: Batch, part: &impl Fn(Answer)) -> Answer {
    let mut each = Vec::with_capacity(batch.items.len());
    let mut lost: Option<String> = None;
    for (_, request) in batch.items {
        if let Some(why) = &lost {
            each.push(Some(format!("not tried: {why}")));
            continue;
        }
        let failure = Box::pin(answer(client, request, part)).await.err();
        let problem = failure.map(Problem::from);
        lost = problem.as_ref().filter(|problem| problem.is_unreachable()).map(|problem| problem.line().to_owned());
        each.push(problem.map(|problem| problem.text));
    }
    Answer::Batch(each)
}

fn done((): ()) -> Answer {
    Answer::Done
}

/// Passes each page to `part` as it arrives and returns the last one.
pub(super) async fn pages<B: DeserializeOwned, T, K: Hash>(
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

/// Loads whole pages of repositories until at least `least` are loaded.
async fn first_repositories(mut pages: Pages<'_>, least: usize) -> Result<Answer, ClientError> {
    let mut compactor = RepositoryCompactor::default();
    let mut items: Vec<RepositorySummary> = Vec::new();
    while let Some(found) = pages.next(|found: RepositorySearch| (0, found.data), |repo| repo.id).await? {
        items.extend(found.into_iter().map(|repo| compactor.compact(repo)));
        if items.len() >= least {
            break;
        }
    }
    Ok(Answer::Repositories(Page { items, total: pages.total(), last: true }))
}

/// Number of past events at the start of a stream.
const PAST_EVENTS: u32 = 50;

/// Passes events to `part` until the daemon ends the stream, which it does after some time.
async fn follow(client: &Client, after: Option<i64>, part: &impl Fn(Answer)) -> Result<Answer, ClientError> {
    let filter = EventFilter { after, last: Some(PAST_EVENTS), ..EventFilter::default() };
    let mut stream = client.follow(&filter).await?;
    while let Some(followed) = stream.next().await? {
        // A gap is ignored: the missing events have expired and are not shown.
        if let Followed::Event(event) = followed {
            part(Answer::Event(event));
        }
    }
    Ok(Answer::Done)
}
