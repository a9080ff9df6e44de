//! OpenID Connect for workflow jobs: the description of the issuer, its public keys, and the tokens of jobs.

use axum::{
    extract::{Path, RawQuery, State},
    response::{IntoResponse, Response},
};
use http::{HeaderValue, header};
use serde_json::json;

use super::{
    AppState,
    auth::{OpenToAnonymous, RunningJob},
    error::ApiError,
    extract::{JsonResponse, ok},
};
use crate::{
    model::id_token::{Algorithm, IdTokenClaims},
    service::id_tokens,
};

/// How long services may keep the public keys. Shorter than the time for which a new key is published before it signs.
const KEYS_CACHE_CONTROL: HeaderValue = HeaderValue::from_static("public, max-age=3600");

/// `GET /.well-known/openid-configuration`
pub(super) async fn configuration(
    State(state): State<AppState>,
    _: OpenToAnonymous,
) -> JsonResponse<serde_json::Value> {
    let issuer: &str = &state.root_url;
    ok(json!({
        "issuer": issuer,
        "jwks_uri": format!("{issuer}/.well-known/jwks"),
        "subject_types_supported": ["public", "pairwise"],
        "response_types_supported": ["id_token"],
        "claims_supported": IdTokenClaims::names(),
        "id_token_signing_alg_values_supported": Algorithm::ALL.map(Algorithm::name),
        "scopes_supported": ["openid"],
    }))
}

/// `GET /.well-known/jwks`
pub(super) async fn keys(State(state): State<AppState>, _: OpenToAnonymous) -> Result<Response, ApiError> {
    let keys = id_tokens::public_keys(&state).await?;
    let mut response = ok(json!({ "keys": keys })).into_response();
    response.headers_mut().insert(header::CACHE_CONTROL, KEYS_CACHE_CONTROL);
    Ok(response)
}

/// `GET /api/actions_pipeline/_apis/pipelines/workflows/{run}/idtoken`
pub(super) async fn token(
    State(state): State<AppState>,
    job: RunningJob,
    Path(run): Path<String>,
    RawQuery(query): RawQuery,
) -> Result<Response, ApiError> {
    job.require_run(&run)?;
    let query = query.unwrap_or_default();
    let audience = url::form_urlencoded::parse(query.as_bytes()).find(|(name, _)| name == "audience");
    let token = id_tokens::issue(&state, &job.0, audience.map(|(_, value)| value.into_owned())).await?;
    // The client of GitHub Actions reads `value`.
    let mut response = ok(json!({ "count": token.len(), "value": token })).into_response();
    response.headers_mut().remove(header::ETAG);
    response.headers_mut().insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    Ok(response)
}
