//! Import of repositories from other servers.

use axum::{
    extract::State,
    response::{IntoResponse as _, Response},
};
use farrier_common::api;
use http::{HeaderMap, HeaderValue, StatusCode, header};

use crate::{
    http::{
        AppState,
        auth::{Caller, RepositoryScope},
        error::ApiError,
        extract::{JsonBody, JsonResponse, created},
        openapi::parameters::PreferHeader,
        show,
    },
    service::{
        Error,
        migrations::{self, WhenFailed},
    },
};

/// Imports a repository from another server. Responds after the import, or at once with `Prefer: respond-async`.
#[utoipa::path(
    post, path = "",
    operation_id = "repoMigrate", tag = "repository",
    params(PreferHeader),
    request_body = api::MigrateRepository,
    responses(
        (status = 201, body = api::Repository),
        (status = 202, body = api::Repository),
        (status = 409, description = "A repository with this name exists."),
    ),
)]
pub(in crate::http) async fn migrate(
    State(state): State<AppState>,
    caller: Caller<RepositoryScope>,
    headers: HeaderMap,
    JsonBody(input): JsonBody<api::MigrateRepository>,
) -> Result<Response, ApiError> {
    let respond_async = prefers_async(&headers);
    let when_failed = if respond_async { WhenFailed::Keep } else { WhenFailed::Remove };
    let import = migrations::begin(&state, &caller.identity, &input, when_failed).await?;
    if !respond_async {
        let found = import.end().await?;
        return Ok(created(show::repository(&state, &caller.identity, &found)).into_response());
    }
    let location = format!("{}/api/v1/repos/{}", state.root_url, import.found.path());
    let location = HeaderValue::try_from(location).map_err(|_| Error::Busy)?;
    let body = JsonResponse(StatusCode::ACCEPTED, show::repository(&state, &caller.identity, &import.found));
    let applied = (header::HeaderName::from_static("preference-applied"), HeaderValue::from_static("respond-async"));
    Ok(([(header::LOCATION, location), applied], body).into_response())
}

fn prefers_async(headers: &HeaderMap) -> bool {
    let values = headers.get_all("prefer").iter().filter_map(|value| value.to_str().ok());
    values.flat_map(|value| value.split([',', ';'])).any(|word| word.trim().eq_ignore_ascii_case("respond-async"))
}
