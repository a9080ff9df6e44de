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
        mirrors::across::{self, MirrorHealth, MirrorPosition, MirrorQuery},
    },
    store::mirrors::DueMirror,
};

/// Lists the mirrors of all repositories that the caller administers. `Link` has the address of the next page.
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
    let next = found.next.map(|next| match next {
        MirrorPosition::Remote(repository, name) => format!("r-{repository}-{name}"),
        MirrorPosition::Due(due) => format!("d-{}-{}-{}", due.due_ms, due.repository, due.name),
    });
    let headers = page::by_cursor(&state, uri.path(), query, next.as_deref(), selection.limit);
    let shown: Vec<_> = found.entries.iter().map(show::found_mirror).collect();
    Ok((headers, ok(shown)).into_response())
}

/// Reads the position of a page: `r-REPOSITORY-NAME` or `d-TIME-REPOSITORY-NAME`.
fn position(text: &str) -> Option<MirrorPosition> {
    let text = Some(text).filter(|text| !text.contains('\0'))?;
    if let Some((repository, name)) = text.strip_prefix("r-").and_then(|rest| rest.split_once('-')) {
        return Some(MirrorPosition::Remote(repository.parse().ok()?, name.to_owned()));
    }
    let (due_ms, rest) = text.strip_prefix("d-")?.split_once('-')?;
    let (repository, name) = rest.split_once('-')?;
    let (due_ms, repository) = (due_ms.parse().ok()?, repository.parse().ok()?);
    Some(MirrorPosition::Due(DueMirror { due_ms, repository, name: name.to_owned() }))
}

fn cursor(text: &str) -> Result<MirrorPosition, ApiError> {
    let invalid = || ApiError::unprocessable("cursor", "[cursor]: is not valid; take it from `Link`");
    position(text).ok_or_else(invalid)
}
