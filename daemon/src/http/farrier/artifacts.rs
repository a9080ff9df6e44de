//! Artifacts of all repositories: list, change the expiry, delete.

use axum::{
    extract::{Path, RawQuery, State},
    response::{IntoResponse as _, Response},
};
use farrier_common::api;

use crate::{
    http::{
        AppState,
        auth::{Caller, RepositoryScope, SignedIn},
        error::ApiError,
        extract::{JsonBody, JsonResponse, ok},
        openapi::parameters::ArtifactListParams,
        page::{self, PageQuery},
        query, show,
    },
    model::identity::Identity,
    service::{
        Error,
        access::Action,
        artifacts::{
            self, NewExpiry,
            across::{self, ArtifactQuery, Availability},
        },
    },
    store::{Snapshot, artifacts::ArtifactPosition},
};

/// Maximum number of artifacts that one request may delete.
const DELETE_MAX: usize = 1_000;

/// Lists the artifacts that the caller may read, newest first or by expiry. `Link` has the address of the next page.
#[utoipa::path(
    get, path = "",
    operation_id = "farrierListArtifacts", tag = "farrier",
    params(ArtifactListParams),
    security(("account" = [])),
    responses((status = 200, body = Vec<api::FoundArtifact>), (status = 422, description = "A filter is not valid.")),
)]
pub(in crate::http) async fn list(
    State(state): State<AppState>,
    caller: Caller<SignedIn<RepositoryScope>>,
    uri: http::Uri,
    RawQuery(query): RawQuery,
) -> Result<Response, ApiError> {
    let query = query.as_deref();
    let snapshot = state.store.read().await.map_err(Error::from)?;
    let selection = parse_query(&snapshot, &caller.identity, query).await?;
    let found = across::page(&state, &snapshot, &caller.identity, &selection).await?;
    let next = found.next.map(|next| format!("{}-{}", next.ms, next.id));
    let headers = page::by_cursor(&state, uri.path(), query, next.as_deref(), selection.limit);
    let shown: Vec<_> = found.entries.iter().map(|entry| show::found_artifact(&state, entry)).collect();
    Ok((headers, ok(shown)).into_response())
}

async fn parse_query(snapshot: &Snapshot, identity: &Identity, query: Option<&str>) -> Result<ArtifactQuery, ApiError> {
    let states = [Availability::Uploading, Availability::Ready, Availability::Expired];
    let states = states.map(|state| (state.word(), state));
    let before = query::value(query, "expires_before");
    Ok(ArtifactQuery {
        repository: super::repository(snapshot, identity, query, Action::ReadActions).await?,
        run: query::number(query, "run")?,
        name: query::value(query, "name").unwrap_or_default(),
        state: query::one_of(query, "state", &states)?,
        by_expiry: query::one_of(query, "sort", &[("newest", false), ("expiry", true)])?.unwrap_or_default(),
        expires_before_ms: before.map(|text| query::time("expires_before", &text)).transpose()?,
        after: query::value(query, "cursor").map(|text| cursor(&text)).transpose()?,
        limit: PageQuery::of_actions(query).limit,
    })
}

pub(in crate::http) fn cursor(text: &str) -> Result<ArtifactPosition, ApiError> {
    let parts = text
        .rsplit_once('-')
        .and_then(|(ms, id)| Some(ArtifactPosition { ms: ms.parse().ok()?, id: id.parse().ok()? }));
    parts.ok_or_else(|| ApiError::unprocessable("cursor", "[cursor]: is not valid; take it from `Link`"))
}

/// Returns an artifact of any repository.
#[utoipa::path(
    get, path = "",
    operation_id = "farrierGetArtifact", tag = "farrier",
    responses((status = 200, body = api::FoundArtifact)),
)]
pub(in crate::http) async fn get(
    State(state): State<AppState>,
    caller: Caller<RepositoryScope>,
    Path(id): Path<String>,
) -> Result<JsonResponse<api::FoundArtifact>, ApiError> {
    let snapshot = state.store.read().await.map_err(Error::from)?;
    let (entry, _) = across::get(&snapshot, &caller.identity, number(&id), Action::ReadActions).await?;
    Ok(ok(show::found_artifact(&state, &entry)))
}

/// Sets the time when an artifact expires.
#[utoipa::path(
    patch, path = "",
    operation_id = "farrierEditArtifact", tag = "farrier",
    request_body = api::EditArtifact,
    responses(
        (status = 200, body = api::FoundArtifact),
        (status = 409, description = "The artifact has already expired."),
    ),
)]
pub(in crate::http) async fn edit(
    State(state): State<AppState>,
    caller: Caller<RepositoryScope>,
    Path(id): Path<String>,
    JsonBody(input): JsonBody<api::EditArtifact>,
) -> Result<JsonResponse<api::FoundArtifact>, ApiError> {
    let until = match (input.expires_at.as_deref().filter(|text| !text.is_empty()), input.days) {
        (Some(text), None) => NewExpiry::At(query::time("expires_at", text)?),
        (None, Some(days)) => NewExpiry::Days(days),
        (None, None) => return Err(ApiError::unprocessable("expires_at", "[expires_at]: this or days must be given")),
        (Some(_), Some(_)) => return Err(ApiError::unprocessable("days", "[days]: only without expires_at")),
    };
    let entry = artifacts::keep(&state, &caller.identity, number(&id), until).await?;
    Ok(ok(show::found_artifact(&state, &entry)))
}

/// Deletes several artifacts and returns the result for each one.
#[utoipa::path(
    post, path = "",
    operation_id = "farrierDeleteArtifacts", tag = "farrier",
    request_body = api::DeleteArtifacts,
    responses((status = 200, body = api::DeletedArtifacts)),
)]
pub(in crate::http) async fn delete(
    State(state): State<AppState>,
    caller: Caller<RepositoryScope>,
    JsonBody(input): JsonBody<api::DeleteArtifacts>,
) -> Result<JsonResponse<api::DeletedArtifacts>, ApiError> {
    if input.ids.is_empty() || input.ids.len() > DELETE_MAX {
        return Err(ApiError::unprocessable("ids", format!("[ids]: must be 1 to {DELETE_MAX} numbers")));
    }
    let ids: Vec<u64> = input.ids.iter().map(|id| u64::try_from(*id).unwrap_or(0)).collect();
    let outcomes = artifacts::delete_many(&state, &caller.identity, &ids).await?;
    let results = input.ids.iter().zip(outcomes).map(|(id, outcome)| api::DeletedArtifact {
        id: *id,
        deleted: outcome.is_ok(),
        error: outcome.err().map(|error| error.to_string()),
    });
    Ok(ok(api::DeletedArtifacts { results: results.collect() }))
}

/// Parses an artifact number in a path. Returns 0, which no artifact has, for other text.
fn number(text: &str) -> u64 {
    text.parse().unwrap_or(0)
}
