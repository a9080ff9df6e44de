//! A whole repository as one file.
//!
//! The archives of the API family hold one commit with its history: this one holds every branch and
//! every tag, so that a clone of it is a copy of the repository.

use axum::{
    body::Body,
    extract::{Path, State},
    response::{IntoResponse as _, Response},
};
use http::{HeaderMap, Method, header};

use super::{pipe::Pipe, scene, set};
use crate::{
    app::App,
    git::read::archive::Format,
    http::{
        artifact::disposition,
        auth::{Caller, OfRepository},
        error::ApiError,
        openapi::shapes::Bytes,
    },
    service::browse::archives,
};

/// All branches and tags with their history as a bundle of git.
#[utoipa::path(
    get, path = "/repos/{owner}/{repo}/bundle",
    operation_id = "farrierGetBundle", tag = "farrier",
    responses((status = 200, body = Bytes, content_type = "application/x-git-bundle")),
)]
pub(in crate::http) async fn get(
    State(app): State<App>,
    caller: Caller<OfRepository>,
    Path((owner, name)): Path<(String, String)>,
    method: Method,
) -> Result<Response, ApiError> {
    let scene = scene(app, caller, &owner, &name).await?;
    archives::require_refs(&scene.browse).await?;
    let (format, name) = (Format::Bundle, &scene.browse.found.repository.name);
    let mut headers = HeaderMap::new();
    set(&mut headers, header::CONTENT_TYPE, format.media_type());
    set(&mut headers, header::CACHE_CONTROL, "private, no-cache");
    set(&mut headers, header::CONTENT_DISPOSITION, &disposition::attachment(&format!("{name}.{}", format.ending())));
    if method == Method::HEAD {
        return Ok((headers, Body::empty()).into_response());
    }
    let (process, permit) = archives::start_bundle(&scene.app, &scene.browse).await?;
    let body = Pipe::new(process, scene.app.git.timeout()).holding(permit).body();
    Ok((headers, body).into_response())
}
