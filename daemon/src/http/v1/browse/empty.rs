//! Empty responses for features that farrier does not have but clients ask for.

use axum::{
    extract::{Path, State},
    response::{IntoResponse as _, Response},
};
use serde_json::json;

use super::browse_context;
use crate::http::{
    AppState,
    auth::{Caller, RepositoryScope},
    error::ApiError,
    extract::ok,
};

/// Returns the languages of a repository. Languages are not counted: always empty.
#[utoipa::path(
    get, path = "",
    operation_id = "repoGetLanguages", tag = "repository",
    responses((status = 200, body = BTreeMap<String, i64>)),
)]
pub(in crate::http) async fn languages(
    State(state): State<AppState>,
    caller: Caller<RepositoryScope>,
    Path((owner, name)): Path<(String, String)>,
) -> Result<Response, ApiError> {
    browse_context(state, caller, &owner, &name).await?;
    Ok(ok(json!({})).into_response())
}
