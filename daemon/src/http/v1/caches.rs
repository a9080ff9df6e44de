//! Cache entries of a repository, in GitHub's format.

use axum::{
    extract::{Path, RawQuery, State},
    response::{IntoResponse as _, Response},
};
use farrier_common::api;
use http::StatusCode;

use crate::{
    http::{
        AppState,
        auth::{Caller, RepositoryScope},
        error::ApiError,
        extract::{JsonResponse, ok},
        openapi::parameters::{ActionsPageParams, CacheKeyParams, CacheListParams},
        page::PageQuery,
        query, show,
    },
    service::{
        Error,
        access::Action,
        caches::{self, CacheQuery},
        repositories,
    },
    store::caches::CacheOrder,
};

/// Lists the cache entries of a repository.
#[utoipa::path(
    get, path = "",
    operation_id = "getCaches", tag = "actions",
    params(CacheListParams, ActionsPageParams),
    responses((status = 200, body = api::Caches), (status = 422, description = "A parameter is not valid.")),
)]
pub(in crate::http) async fn list(
    State(state): State<AppState>,
    caller: Caller<RepositoryScope>,
    Path((owner, name)): Path<(String, String)>,
    RawQuery(query): RawQuery,
) -> Result<Response, ApiError> {
    let query = query.as_deref();
    let snapshot = state.store.read().await.map_err(Error::from)?;
    let found = repositories::find(&snapshot, &caller.identity, &owner, &name, Action::ReadActions).await?;
    let page = PageQuery::of_actions(query);
    let orders = [
        ("last_accessed_at", CacheOrder::LastAccess),
        ("created_at", CacheOrder::Created),
        ("size_in_bytes", CacheOrder::Size),
    ];
    let selection = CacheQuery {
        key: query::value(query, "key").unwrap_or_default(),
        git_ref: query::value(query, "ref"),
        order: query::one_of(query, "sort", &orders)?.unwrap_or(CacheOrder::LastAccess),
        descending: query::one_of(query, "direction", &[("asc", false), ("desc", true)])?.unwrap_or(true),
        skip: page.skip(),
        limit: page.limit,
    };
    let (rows, total) = caches::list(&snapshot, found.repository.id, &selection).await?;
    let address = format!("{}/caches", show::actions_url(&state.root_url, &found.path()));
    let body =
        api::Caches { total_count: show::number(total), actions_caches: rows.iter().map(show::cache_entry).collect() };
    Ok((page.headers(&address, query, total), ok(body)).into_response())
}

/// Deletes the cache entries with a key, and returns them.
#[utoipa::path(
    delete, path = "",
    operation_id = "deleteCachesByKey", tag = "actions",
    params(CacheKeyParams),
    responses(
        (status = 200, body = api::Caches),
        (status = 422, description = "`key` is missing, or a parameter is empty."),
    ),
)]
pub(in crate::http) async fn delete_by_key(
    State(state): State<AppState>,
    caller: Caller<RepositoryScope>,
    Path((owner, name)): Path<(String, String)>,
    RawQuery(query): RawQuery,
) -> Result<JsonResponse<api::Caches>, ApiError> {
    let query = query.as_deref();
    let repository = writable(&state, &caller, &owner, &name).await?;
    let (key, git_ref) = (query::filled(query, "key")?, query::filled(query, "ref")?);
    let key = key.ok_or_else(|| ApiError::unprocessable("key", "[key]: must be given"))?;
    let rows = caches::delete_by_key(&state, repository, &key, git_ref).await?;
    Ok(ok(api::Caches {
        total_count: show::number(rows.len() as u64),
        actions_caches: rows.iter().map(show::cache_entry).collect(),
    }))
}

/// Deletes a cache entry.
#[utoipa::path(
    delete, path = "",
    operation_id = "deleteCache", tag = "actions",
    responses((status = 204)),
)]
pub(in crate::http) async fn delete(
    State(state): State<AppState>,
    caller: Caller<RepositoryScope>,
    Path((owner, name, id)): Path<(String, String, String)>,
) -> Result<StatusCode, ApiError> {
    let repository = writable(&state, &caller, &owner, &name).await?;
    let id = id.parse().map_err(|_| Error::NotFound { what: "the cache entry" })?;
    caches::delete(&state, repository, id).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Returns the number and the size of the cache entries of a repository.
#[utoipa::path(
    get, path = "",
    operation_id = "getCacheUsage", tag = "actions",
    responses((status = 200, body = api::CacheUsage)),
)]
pub(in crate::http) async fn usage(
    State(state): State<AppState>,
    caller: Caller<RepositoryScope>,
    Path((owner, name)): Path<(String, String)>,
) -> Result<JsonResponse<api::CacheUsage>, ApiError> {
    let snapshot = state.store.read().await.map_err(Error::from)?;
    let found = repositories::find(&snapshot, &caller.identity, &owner, &name, Action::ReadActions).await?;
    let total = caches::usage(&snapshot, found.repository.id).await?;
    Ok(ok(show::cache_usage(found.path(), total)))
}

/// Returns the id of a repository in which the caller may delete cache entries.
async fn writable(
    state: &AppState,
    caller: &Caller<RepositoryScope>,
    owner: &str,
    name: &str,
) -> Result<u64, ApiError> {
    let snapshot = state.store.read().await.map_err(Error::from)?;
    let found = repositories::find(&snapshot, &caller.identity, owner, name, Action::WriteActions).await?;
    Ok(found.repository.id)
}
