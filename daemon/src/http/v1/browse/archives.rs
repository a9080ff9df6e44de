//! Downloads of a commit as an archive.

use axum::{
    body::Body,
    extract::{Path, State},
    response::{IntoResponse as _, Response},
};
use http::{HeaderMap, Method, header};

use super::{BrowseContext, browse_context, pipe::Pipe, set};
use crate::{
    git::read::archive::{ArchiveFormat, bundle_header},
    http::{
        AppState,
        artifact::disposition,
        auth::{Caller, RepositoryScope},
        error::ApiError,
        etag::{is_known, not_modified},
        openapi::shapes::Bytes,
        show::http_date,
    },
    service::browse::archives::{self, Archive},
};

/// Part of the entity tag. Increase it when a change of the code changes the bytes of archives.
const FORMAT_VERSION: u32 = 2;

/// Returns a commit as a .zip, .tar.gz or .bundle archive.
#[utoipa::path(
    get, path = "",
    operation_id = "repoGetArchive", tag = "repository",
    responses(
        (status = 200, content(
            (Bytes = "application/zip"),
            (Bytes = "application/gzip"),
            (Bytes = "application/x-git-bundle"),
        )),
        (status = 304),
        (status = 400, description = "The name does not end in .zip, .tar.gz or .bundle."),
    ),
)]
pub(in crate::http) async fn get(
    State(state): State<AppState>,
    caller: Caller<RepositoryScope>,
    Path((owner, name, archive)): Path<(String, String, String)>,
    method: Method,
    params: HeaderMap,
) -> Result<Response, ApiError> {
    let context = browse_context(state, caller, &owner, &name).await?;
    let archive = archives::for_file_name(&context.browse, &archive).await?;
    respond(&context, &archive, &method, &params).await
}

/// Returns a commit as a .zip archive.
#[utoipa::path(
    get, path = "",
    operation_id = "repoGetZipball", tag = "repository",
    responses((status = 200, body = Bytes, content_type = "application/zip"), (status = 304)),
)]
pub(in crate::http) async fn zipball(
    State(state): State<AppState>,
    caller: Caller<RepositoryScope>,
    path: Path<(String, String, String)>,
    method: Method,
    params: HeaderMap,
) -> Result<Response, ApiError> {
    of_format(state, caller, path, ArchiveFormat::Zip, &method, &params).await
}

/// Returns a commit as a .tar.gz archive.
#[utoipa::path(
    get, path = "",
    operation_id = "repoGetTarball", tag = "repository",
    responses((status = 200, body = Bytes, content_type = "application/gzip"), (status = 304)),
)]
pub(in crate::http) async fn tarball(
    State(state): State<AppState>,
    caller: Caller<RepositoryScope>,
    path: Path<(String, String, String)>,
    method: Method,
    params: HeaderMap,
) -> Result<Response, ApiError> {
    of_format(state, caller, path, ArchiveFormat::TarGz, &method, &params).await
}

/// Returns a commit with its history as a git bundle.
#[utoipa::path(
    get, path = "",
    operation_id = "repoGetBundle", tag = "repository",
    responses((status = 200, body = Bytes, content_type = "application/x-git-bundle"), (status = 304)),
)]
pub(in crate::http) async fn bundle(
    State(state): State<AppState>,
    caller: Caller<RepositoryScope>,
    path: Path<(String, String, String)>,
    method: Method,
    params: HeaderMap,
) -> Result<Response, ApiError> {
    of_format(state, caller, path, ArchiveFormat::Bundle, &method, &params).await
}

async fn of_format(
    state: AppState,
    caller: Caller<RepositoryScope>,
    Path((owner, name, revision)): Path<(String, String, String)>,
    format: ArchiveFormat,
    method: &Method,
    params: &HeaderMap,
) -> Result<Response, ApiError> {
    let context = browse_context(state, caller, &owner, &name).await?;
    let archive = archives::of(&context.browse, &revision, format).await?;
    respond(&context, &archive, method, params).await
}

async fn respond(
    context: &BrowseContext,
    archive: &Archive,
    method: &Method,
    params: &HeaderMap,
) -> Result<Response, ApiError> {
    let etag = etag(archive);
    let headers = headers(context, archive, &etag);
    if is_known(params, &etag) {
        return Ok(not_modified(headers));
    }
    if method == Method::HEAD {
        return Ok((headers, Body::empty()).into_response());
    }
    let (process, share) = archive.start(&context.state, &context.browse).await?;
    let pipe = Pipe::new(process, context.state.git.timeout()).holding(share);
    let body = match archive.format {
        ArchiveFormat::Zip => pipe.body(),
        ArchiveFormat::TarGz => pipe.gzip(),
        ArchiveFormat::Bundle => pipe.after(bundle_header(&archive.commit.id)).body(),
    };
    Ok((headers, body).into_response())
}

/// Returns the entity tag of an archive.
///
/// Zip and tar archives of a commit always have the same bytes. The bytes of a bundle depend on how git stores the
/// objects, so its tag is weak.
fn etag(archive: &Archive) -> String {
    let weak = if archive.format == ArchiveFormat::Bundle { "W/" } else { "" };
    format!("{weak}\"{}.{}.{FORMAT_VERSION}\"", archive.commit.id, archive.format.extension())
}

fn headers(context: &BrowseContext, archive: &Archive, etag: &str) -> HeaderMap {
    let (id, ending) = (&archive.commit.id, archive.format.extension());
    let link = format!("<{}/archive/{id}.{ending}?rev={id}>; rel=\"immutable\"", context.api);
    let mut headers = HeaderMap::new();
    for (header, value) in [
        (header::CONTENT_TYPE, archive.format.media_type()),
        (header::ETAG, etag),
        (header::LAST_MODIFIED, &http_date(archive.commit.committer.seconds)),
        (header::CACHE_CONTROL, "private, max-age=300"),
        (header::CONTENT_DISPOSITION, &disposition::attachment(&archive.file_name)),
        (header::LINK, &link),
        (header::ACCESS_CONTROL_EXPOSE_HEADERS, "Content-Disposition, Link"),
    ] {
        set(&mut headers, header, value);
    }
    headers
}
