//! The routes with which runners of the Gitea family register the jobs that use a shared cache server.
//!
//! farrier stores nothing for them: its runtime tokens name the job, and are valid until it ends.

use axum::{
    extract::{Request, State},
    response::{IntoResponse, Response},
};
use http::{HeaderMap, header};
use serde::Deserialize;
use serde_json::json;

use super::{
    AppState,
    auth::{SignInSource, bearer},
    error::ApiError,
    extract::{self, ok},
};
use crate::{service::ci, shares::Holder};

/// Largest body, in bytes. A runtime token has at most 4 KiB.
const BODY_MAX_BYTES: usize = 64 << 10;

/// The fields of a registration that are read. Runners also send the repository and the address of the forge.
#[derive(Deserialize)]
struct Registration {
    token: String,
}

/// `POST /_internal/register`
pub(super) async fn register(
    State(state): State<AppState>,
    SignInSource(source): SignInSource,
    request: Request,
) -> Result<Response, ApiError> {
    let registration = read(&state, source, request).await?;
    ci::register_job(&state, &registration.token).await?;
    // The runner then sends all requests of its jobs for artifacts and caches to this daemon.
    let mut response = ok(json!({ "results_url": *state.root_url })).into_response();
    response.headers_mut().remove(header::ETAG);
    Ok(response)
}

/// `POST /_internal/revoke`: the end of a job. Its token ends with the job, so there is nothing to do.
pub(super) async fn revoke(
    State(state): State<AppState>,
    SignInSource(source): SignInSource,
    request: Request,
) -> Result<Response, ApiError> {
    read(&state, source, request).await?;
    Ok(ok(json!({})).into_response())
}

/// Checks the secret of a runner and reads its message. Without a configured secret, the routes do not exist.
async fn read(state: &AppState, source: Holder, request: Request) -> Result<Registration, ApiError> {
    let (parts, body) = request.into_parts();
    let Some(secret) = &state.config.ci.cache_secret else { return Err(ApiError::no_route()) };
    ci::require_runner(state, secret, secret_of(&parts.headers), source).await?;
    let body = extract::collect(&parts.extensions, body, BODY_MAX_BYTES).await?;
    serde_json::from_slice(&body).map_err(|error| ApiError::new(http::StatusCode::BAD_REQUEST, error.to_string()))
}

fn secret_of(headers: &HeaderMap) -> &str {
    bearer(headers).unwrap_or_default()
}
