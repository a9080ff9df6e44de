//! The languages of a repository.

use std::sync::Arc;

use axum::{
    extract::{Path, State},
    response::{IntoResponse as _, Response},
};
use serde::{Serialize, Serializer};

use super::browse_context;
use crate::{
    git::read::languages::LanguageSizes,
    http::{
        AppState,
        auth::{Caller, RepositoryScope},
        error::ApiError,
        extract::ok,
    },
};

/// A JSON object with the bytes of each language, in the order of the list.
struct InOrder(Arc<LanguageSizes>);

impl Serialize for InOrder {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().copied())
    }
}

/// Returns the languages of the default branch with the bytes of their files, largest first.
#[utoipa::path(
    get, path = "",
    operation_id = "repoGetLanguages", tag = "repository",
    responses((status = 200, body = BTreeMap<String, i64>)),
)]
pub(in crate::http) async fn list(
    State(state): State<AppState>,
    caller: Caller<RepositoryScope>,
    Path((owner, name)): Path<(String, String)>,
) -> Result<Response, ApiError> {
    let context = browse_context(state, caller, &owner, &name).await?;
    Ok(ok(InOrder(context.browse.languages().await?)).into_response())
}
