//! Statuses of commits.

use axum::{
    extract::{Path, RawQuery, State},
    response::{IntoResponse as _, Response},
};
use farrier_common::api;
use farrier_proto::store::CommitStatus;

use super::{BrowseContext, browse_context, browse_context_for, show::escaped};
use crate::{
    http::{
        AppState,
        auth::{Caller, RepositoryScope},
        error::ApiError,
        extract::{JsonBody, JsonResponse, created, ok},
        openapi::parameters::{PageParams, StatusListParams},
        page::PageQuery,
        query,
        show::{self, number},
    },
    model::words,
    service::{
        Error,
        access::Action,
        statuses::{self, StatusQuery},
    },
};

type RefPath = Path<(String, String, String)>;

/// Words of the parameter `sort`, and whether the oldest status comes first.
const SORTS: [(&str, bool); 5] =
    [("oldest", true), ("recentupdate", false), ("leastupdate", true), ("leastindex", true), ("highestindex", false)];

/// Adds a status to a commit.
#[utoipa::path(
    post, path = "",
    operation_id = "repoCreateStatus", tag = "repository",
    request_body = api::CreateStatus,
    responses(
        (status = 201, body = api::CommitStatus),
        (status = 423, description = "The repository is archived."),
    ),
)]
pub(in crate::http) async fn create(
    State(state): State<AppState>,
    caller: Caller<RepositoryScope>,
    Path((owner, name, revision)): RefPath,
    JsonBody(input): JsonBody<api::CreateStatus>,
) -> Result<JsonResponse<api::CommitStatus>, ApiError> {
    let context = browse_context_for(state, caller, &owner, &name, Action::Write).await?;
    let (commit, row) = statuses::create(&context.state, &context.identity, &context.browse, &revision, input).await?;
    let mut all = shown(&context, &commit, &[row]).await?;
    Ok(created(all.pop().unwrap_or_default()))
}

/// Lists the statuses of a commit, newest first. The list of an unknown commit is empty.
#[utoipa::path(
    get, path = "",
    operation_id = "repoListStatuses", tag = "repository",
    params(StatusListParams, PageParams),
    responses((status = 200, body = Vec<api::CommitStatus>), (status = 422, description = "`sort` or `state` is unknown.")),
)]
pub(in crate::http) async fn list(
    State(state): State<AppState>,
    caller: Caller<RepositoryScope>,
    Path((owner, name, revision)): RefPath,
    RawQuery(query): RawQuery,
) -> Result<Response, ApiError> {
    let context = browse_context(state, caller, &owner, &name).await?;
    let address = format!("{}/statuses/{}", context.api, escaped(&revision));
    let commit = context.browse.git.resolve(&revision).await.map_err(Error::git("resolving a revision"))?;
    if let Some(commit) = commit {
        return page(&context, &commit, &address, query.as_deref()).await;
    }
    status_query(query.as_deref())?;
    Ok((PageQuery::all(0), ok(Vec::<api::CommitStatus>::new())).into_response())
}

/// Lists the statuses of a branch, tag or commit, newest first.
#[utoipa::path(
    get, path = "",
    operation_id = "repoListStatusesByRef", tag = "repository",
    params(StatusListParams, PageParams),
    responses((status = 200, body = Vec<api::CommitStatus>), (status = 422, description = "`sort` or `state` is unknown.")),
)]
pub(in crate::http) async fn list_of_ref(
    State(state): State<AppState>,
    caller: Caller<RepositoryScope>,
    Path((owner, name, revision)): RefPath,
    RawQuery(query): RawQuery,
) -> Result<Response, ApiError> {
    let context = browse_context(state, caller, &owner, &name).await?;
    let commit = context.browse.resolve(&revision).await?;
    let address = format!("{}/commits/{}/statuses", context.api, escaped(&revision));
    page(&context, &commit, &address, query.as_deref()).await
}

/// Returns the last status of each context of a branch, tag or commit, and the state that follows from them.
#[utoipa::path(
    get, path = "",
    operation_id = "repoGetCombinedStatusByRef", tag = "repository",
    params(PageParams),
    responses((status = 200, body = api::CombinedStatus)),
)]
pub(in crate::http) async fn combined(
    State(state): State<AppState>,
    caller: Caller<RepositoryScope>,
    Path((owner, name, revision)): RefPath,
    RawQuery(query): RawQuery,
) -> Result<Response, ApiError> {
    let context = browse_context(state, caller, &owner, &name).await?;
    let commit = context.browse.resolve(&revision).await?;
    let snapshot = context.state.store.read().await.map_err(Error::from)?;
    let (combined, last) = statuses::combined(&snapshot, context.browse.found.repository.id, &commit).await?;
    drop(snapshot);
    let page = PageQuery::of(query.as_deref());
    let (rows, total) = page.cut(last);
    let url = format!("{}/commits/{commit}/status", context.api);
    let body = api::CombinedStatus {
        state: words::status_word(combined).into(),
        statuses: shown(&context, &commit, &rows).await?,
        sha: commit.clone(),
        total_count: number(total),
        repository: show::whole_repository(&context.state, &context.identity, &context.browse.found).await?,
        commit_url: format!("{}/commits/{commit}", context.api),
        url: url.clone(),
    };
    Ok((page.headers(&url, query.as_deref(), total), ok(body)).into_response())
}

fn status_query(query: Option<&str>) -> Result<StatusQuery, ApiError> {
    Ok(StatusQuery {
        state: query::one_of(query, "state", &words::STATUS_STATES)?,
        oldest_first: query::one_of(query, "sort", &SORTS)?.unwrap_or(false),
    })
}

async fn page(context: &BrowseContext, commit: &str, address: &str, query: Option<&str>) -> Result<Response, ApiError> {
    let page = PageQuery::of(query);
    let snapshot = context.state.store.read().await.map_err(Error::from)?;
    let repository = context.browse.found.repository.id;
    let (rows, total) = statuses::list(&snapshot, repository, commit, status_query(query)?, page.window()).await?;
    drop(snapshot);
    let body = shown(context, commit, &rows).await?;
    Ok((page.headers(address, query, total), ok(body)).into_response())
}

async fn shown(
    context: &BrowseContext,
    commit: &str,
    rows: &[CommitStatus],
) -> Result<Vec<api::CommitStatus>, ApiError> {
    let snapshot = context.state.store.read().await.map_err(Error::from)?;
    let creators = statuses::creators(&snapshot, rows).await.map_err(Error::from)?;
    let one = |row: &CommitStatus| {
        let creator = creators.get(&row.creator_id);
        let creator = creator.map(|user| show::user(&context.state.root_url, &context.identity, user));
        api::CommitStatus {
            id: number(row.id),
            status: words::status_word(row.state()).into(),
            target_url: row.target_url.clone(),
            description: row.description.clone(),
            url: format!("{}/statuses/{commit}", context.api),
            context: row.context.clone(),
            creator,
            created_at: show::time(row.created_ms),
            updated_at: show::time(row.created_ms),
        }
    };
    Ok(rows.iter().map(one).collect())
}
