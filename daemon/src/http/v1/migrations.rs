//! Import of repositories from other servers.

use axum::{extract::State, response::Response};
use farrier_common::api;
use http::{HeaderMap, HeaderValue, StatusCode, header};

use crate::{
    http::{
        AppState,
        auth::{Caller, RepositoryScope},
        error::ApiError,
        extract::{JsonBodyWithFields, JsonResponse, created},
        openapi::parameters::PreferHeader,
        show,
        v1::ignored,
    },
    service::{
        Error,
        migrations::{self, WhenFailed},
    },
};

/// Fields of the request that the repository does not show.
const APPLIED: [&str; 11] = [
    "clone_addr",
    "repo_name",
    "repo_owner",
    "uid",
    "service",
    "auth_username",
    "auth_password",
    "auth_token",
    "mirror_interval",
    "lfs",
    "lfs_endpoint",
];

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
    JsonBodyWithFields(input, fields): JsonBodyWithFields<api::MigrateRepository>,
) -> Result<Response, ApiError> {
    let respond_async = prefers_async(&headers);
    let when_failed = if respond_async { WhenFailed::Keep } else { WhenFailed::Remove };
    let import = migrations::begin(&state, &caller.identity, &input, when_failed).await?;
    if !respond_async {
        let found = import.end().await?;
        let shown = show::repository(&state, &caller.identity, &found);
        return Ok(ignored::with_settings(created(&shown), &fields, &shown, &APPLIED));
    }
    let location = format!("{}/api/v1/repos/{}", state.root_url, import.found.path());
    let location = HeaderValue::try_from(location).map_err(|_| Error::Busy)?;
    let shown = show::repository(&state, &caller.identity, &import.found);
    let body = JsonResponse(StatusCode::ACCEPTED, &shown);
    let applied = (header::HeaderName::from_static("preference-applied"), HeaderValue::from_static("respond-async"));
    Ok(ignored::with_settings(([(header::LOCATION, location), applied], body), &fields, &shown, &APPLIED))
}

fn prefers_async(headers: &HeaderMap) -> bool {
    let values = headers.get_all("prefer").iter().filter_map(|value| value.to_str().ok());
    values.flat_map(|value| value.split([',', ';'])).any(|word| word.trim().eq_ignore_ascii_case("respond-async"))
}
