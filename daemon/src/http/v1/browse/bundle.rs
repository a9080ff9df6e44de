//! Download of a complete repository as a git bundle.
//!
//! The bundles of the Gitea API contain one commit with its history. This one contains all branches and tags, so that
//! a clone of it is a copy of the repository.

use axum::{
    body::Body,
    extract::{Path, State},
    response::{IntoResponse as _, Response},
};
use http::{HeaderMap, Method, header};

use super::{browse_context, pipe::Pipe, set};
use crate::{
    git::read::archive::ArchiveFormat,
    http::{
        AppState,
        artifact::disposition,
        auth::{Caller, RepositoryScope},
        error::ApiError,
        openapi::shapes::Bytes,
    },
    service::browse::archives,
};

/// Returns all branches and tags with their history as a git bundle.
#[utoipa::path(
    get, path = "",
    operation_id = "farrierGetBundle", tag = "farrier",
    responses((status = 200, body = Bytes, content_type = "application/x-git-bundle")),
)]
pub(in crate::http) async fn get(
    State(state): State<AppState>,
    caller: Caller<RepositoryScope>,
    Path((owner, name)): Path<(String, String)>,
    method: Method,
) -> Result<Response, ApiError> {
    let context = browse_context(state, caller, &owner, &name).await?;
    archives::require_refs(&context.browse).await?;
    let (format, name) = (ArchiveFormat::Bundle, &context.browse.found.repository.name);
    let mut headers = HeaderMap::new();
    set(&mut headers, header::CONTENT_TYPE, format.media_type());
    set(&mut headers, header::CACHE_CONTROL, "private, no-cache");
    set(&mut headers, header::CONTENT_DISPOSITION, &disposition::attachment(&format!("{name}.{}", format.extension())));
    if method == Method::HEAD {
        return Ok((headers, Body::empty()).into_response());
    }
    let (process, share) = archives::start_bundle(&context.state, &context.browse).await?;
    let body = Pipe::new(process, context.state.git.timeout()).holding(share).body();
    Ok((headers, body).into_response())
}
