//! The licenses of a repository.

use axum::{
    extract::{Path, State},
    response::{IntoResponse as _, Response},
};

use super::browse_context;
use crate::{
    http::{
        AppState,
        auth::{Caller, RepositoryScope},
        error::ApiError,
        extract::ok,
    },
    service::browse::licenses,
};

/// Returns the keys of the licenses in the root directory of the default branch.
#[utoipa::path(
    get, path = "",
    operation_id = "repoGetLicenses", tag = "repository",
    responses((status = 200, body = Vec<String>)),
)]
pub(in crate::http) async fn list(
    State(state): State<AppState>,
    caller: Caller<RepositoryScope>,
    Path((owner, name)): Path<(String, String)>,
) -> Result<Response, ApiError> {
    let context = browse_context(state, caller, &owner, &name).await?;
    Ok(ok(licenses::licenses(&context.browse).await?).into_response())
}
