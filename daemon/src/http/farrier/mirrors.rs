//! Mirrors of all repositories.

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
        openapi::parameters::MirrorListParams,
        page::{self, PageQuery},
        query, show,
    },
    service::{
        Error,
        mirrors::across::{self, MirrorHealth, MirrorQuery},
    },
};

/// Lists the mirrors of all repositories that the caller administers, by repository. `Link` has the address of the next
/// page.
#[utoipa::path(
    get, path = "",
    operation_id = "farrierListMirrors", tag = "farrier",
    params(MirrorListParams),
    security(("account" = [])),
    responses((status = 200, body = Vec<api::FoundMirror>), (status = 422, description = "A filter is not valid.")),
)]
pub(in crate::http) async fn list(
    State(state): State<AppState>,
    caller: Caller<SignedIn<RepositoryScope>>,
    uri: http::Uri,
    RawQuery(query): RawQuery,
) -> Result<Response, ApiError> {
    let query = query.as_deref();
    let states = MirrorHealth::ALL.map(|health| (health.word(), health));
    let selection = MirrorQuery {
        health: query::one_of(query, "state", &states)?,
        after: query::value(query, "cursor").map(|text| cursor(&text)).transpose()?,
        limit: PageQuery::of_actions(query).limit,
    };
    let snapshot = state.store.read().await.map_err(Error::from)?;
    let found = across::page(&snapshot, &caller.identity, &selection).await?;
    let next = found.next.map(|(repository, name)| format!("{repository}-{name}"));
    let headers = page::by_cursor(&state, uri.path(), query, next.as_deref(), selection.limit);
    let shown: Vec<_> = found.entries.iter().map(show::found_mirror).collect();
    Ok((headers, ok(shown)).into_response())
}

fn cursor(text: &str) -> Result<(u64, String), ApiError> {
    let parts = text.split_once('-').and_then(|(repository, name)| Some((repository.parse().ok()?, name.to_owned())));
    let valid = parts.filter(|(_, name): &(u64, String)| !name.contains('\0'));
    valid.ok_or_else(|| ApiError::unprocessable("cursor", "[cursor]: is not valid; take it from `Link`"))
}
