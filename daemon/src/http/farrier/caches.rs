//! Cache entries of all repositories.

use axum::{
    extract::{RawQuery, State},
    response::{IntoResponse as _, Response},
};
use farrier_common::api;

use crate::{
    http::{
        AppState,
        auth::{Caller, RepositoryScope, SignedIn},
        error::ApiError,
        extract::ok,
        openapi::parameters::{CachesOfAllParams, PageParams},
        page::{self, PageQuery},
        query, show,
    },
    service::{
        Error,
        access::Action,
        caches::{
            self,
            across::{self, CachesQuery},
        },
    },
    store::caches::CachePosition,
};

/// Lists the cache entries that the caller may read, most recently used first. `Link` has the address of the next page.
#[utoipa::path(
    get, path = "",
    operation_id = "farrierListCaches", tag = "farrier",
    params(CachesOfAllParams),
    security(("account" = [])),
    responses((status = 200, body = Vec<api::FoundCacheEntry>), (status = 422, description = "A filter is not valid.")),
)]
pub(in crate::http) async fn list(
    State(state): State<AppState>,
    caller: Caller<SignedIn<RepositoryScope>>,
    uri: http::Uri,
    RawQuery(query): RawQuery,
) -> Result<Response, ApiError> {
    let query = query.as_deref();
    let snapshot = state.store.read().await.map_err(Error::from)?;
    let selection = CachesQuery {
        repository: super::repository(&snapshot, &caller.identity, query, Action::ReadActions).await?,
        key: query::value(query, "key").unwrap_or_default(),
        git_ref: query::value(query, "ref"),
        after: query::value(query, "cursor").map(|text| cursor(&text)).transpose()?,
        limit: PageQuery::of_actions(query).limit,
    };
    let found = across::page(&snapshot, &caller.identity, &selection).await?;
    let next = found.next.map(|next| format!("{}-{}", next.ms, next.id));
    let headers = page::by_cursor(&state, uri.path(), query, next.as_deref(), selection.limit);
    let shown: Vec<_> = found.entries.iter().map(|(row, path)| show::found_cache_entry(row, path)).collect();
    Ok((headers, ok(shown)).into_response())
}

fn cursor(text: &str) -> Result<CachePosition, ApiError> {
    let parts =
        text.rsplit_once('-').and_then(|(ms, id)| Some(CachePosition { ms: ms.parse().ok()?, id: id.parse().ok()? }));
    parts.ok_or_else(|| ApiError::unprocessable("cursor", "[cursor]: is not valid; take it from `Link`"))
}

/// Lists the number and the size of the cache entries of each repository that has some and that the caller may read,
/// the largest first.
#[utoipa::path(
    get, path = "",
    operation_id = "farrierListCacheUsage", tag = "farrier",
    params(PageParams),
    security(("account" = [])),
    responses((status = 200, body = Vec<api::CacheUsage>)),
)]
pub(in crate::http) async fn usage(
    State(state): State<AppState>,
    caller: Caller<SignedIn<RepositoryScope>>,
    uri: http::Uri,
    RawQuery(query): RawQuery,
) -> Result<Response, ApiError> {
    let page = PageQuery::of(query.as_deref());
    let snapshot = state.store.read().await.map_err(Error::from)?;
    let (usage, count) = caches::usage_of_all(&snapshot, &caller.identity, page.window()).await?;
    let shown: Vec<_> = usage.into_iter().map(|(path, total)| show::cache_usage(path, total)).collect();
    Ok(page.response(&state, uri.path(), query.as_deref(), count, shown))
}
