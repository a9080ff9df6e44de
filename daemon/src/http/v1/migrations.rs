//! Repositories that are fetched from elsewhere.

use axum::{
    extract::State,
    response::{IntoResponse as _, Response},
};
use farrier_common::api;
use http::{HeaderMap, HeaderValue, StatusCode, header};

use crate::{
    app::App,
    http::{
        auth::{Caller, OfRepository},
        error::ApiError,
        extract::{Input, Output, created},
        openapi::parameters::Prefer,
        show,
    },
    service::{
        Error,
        migrations::{self, WhenFailed},
    },
};

/// Fetches a repository from elsewhere: the answer comes when all is there, or at once to those who prefer that.
#[utoipa::path(
    post, path = "/repos/migrate",
    operation_id = "repoMigrate", tag = "repository",
    params(Prefer),
    request_body = api::MigrateRepository,
    responses(
        (status = 201, body = api::Repository),
        (status = 202, body = api::Repository),
        (status = 409, description = "There is something of that name."),
    ),
)]
pub(in crate::http) async fn migrate(
    State(app): State<App>,
    caller: Caller<OfRepository>,
    headers: HeaderMap,
    Input(input): Input<api::MigrateRepository>,
) -> Result<Response, ApiError> {
    let at_once = prefers_async(&headers);
    let when_failed = if at_once { WhenFailed::Keep } else { WhenFailed::Remove };
    let begun = migrations::begin(&app, &caller.identity, &input, when_failed).await?;
    if !at_once {
        let found = begun.end().await?;
        return Ok(created(show::repository(&app, &caller.identity, &found)).into_response());
    }
    let location = format!("{}/api/v1/repos/{}", app.root_url, begun.found.path());
    let location = HeaderValue::try_from(location).map_err(|_| Error::Busy)?;
    let body = Output(StatusCode::ACCEPTED, show::repository(&app, &caller.identity, &begun.found));
    let applied = (header::HeaderName::from_static("preference-applied"), HeaderValue::from_static("respond-async"));
    Ok(([(header::LOCATION, location), applied], body).into_response())
}

fn prefers_async(headers: &HeaderMap) -> bool {
    let values = headers.get_all("prefer").iter().filter_map(|value| value.to_str().ok());
    values.flat_map(|value| value.split([',', ';'])).any(|word| word.trim().eq_ignore_ascii_case("respond-async"))
}
