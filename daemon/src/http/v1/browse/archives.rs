//! Archives of a commit.

use axum::{
    body::Body,
    extract::{Path, State},
    response::{IntoResponse as _, Response},
};
use http::{HeaderMap, Method, header};

use super::{Scene, pipe::Pipe, scene, set};
use crate::{
    app::App,
    git::read::archive::{Format, bundle_header},
    http::{
        artifact::disposition,
        auth::{Caller, OfRepository},
        error::ApiError,
        etag::{is_known, not_modified},
        openapi::shapes::Bytes,
        show::http_date,
    },
    service::browse::archives::{self, Archive},
};

/// Counts up when the bytes of archives change although the commit does not.
const FORMAT_VERSION: u32 = 1;

/// A commit as .zip, .tar.gz or .bundle.
#[utoipa::path(
    get, path = "/repos/{owner}/{repo}/archive/{name}",
    operation_id = "repoGetArchive", tag = "repository",
    responses(
        (status = 200, content(
            (Bytes = "application/zip"),
            (Bytes = "application/gzip"),
            (Bytes = "application/x-git-bundle"),
        )),
        (status = 304),
        (status = 400, description = "Archives end in .zip, .tar.gz or .bundle."),
    ),
)]
pub(in crate::http) async fn get(
    State(app): State<App>,
    caller: Caller<OfRepository>,
    Path((owner, name, archive)): Path<(String, String, String)>,
    method: Method,
    params: HeaderMap,
) -> Result<Response, ApiError> {
    let scene = scene(app, caller, &owner, &name).await?;
    let archive = archives::named(&scene.browse, &archive).await?;
    answer(&scene, &archive, &method, &params).await
}

/// A commit as .zip.
#[utoipa::path(
    get, path = "/repos/{owner}/{repo}/zipball/{ref}",
    operation_id = "repoGetZipball", tag = "repository",
    responses((status = 200, body = Bytes, content_type = "application/zip"), (status = 304)),
)]
pub(in crate::http) async fn zipball(
    State(app): State<App>,
    caller: Caller<OfRepository>,
    path: Path<(String, String, String)>,
    method: Method,
    params: HeaderMap,
) -> Result<Response, ApiError> {
    of_format(app, caller, path, Format::Zip, &method, &params).await
}

/// A commit as .tar.gz.
#[utoipa::path(
    get, path = "/repos/{owner}/{repo}/tarball/{ref}",
    operation_id = "repoGetTarball", tag = "repository",
    responses((status = 200, body = Bytes, content_type = "application/gzip"), (status = 304)),
)]
pub(in crate::http) async fn tarball(
    State(app): State<App>,
    caller: Caller<OfRepository>,
    path: Path<(String, String, String)>,
    method: Method,
    params: HeaderMap,
) -> Result<Response, ApiError> {
    of_format(app, caller, path, Format::TarGz, &method, &params).await
}

/// A commit with its history as a bundle of git.
#[utoipa::path(
    get, path = "/repos/{owner}/{repo}/bundle/{ref}",
    operation_id = "repoGetBundle", tag = "repository",
    responses((status = 200, body = Bytes, content_type = "application/x-git-bundle"), (status = 304)),
)]
pub(in crate::http) async fn bundle(
    State(app): State<App>,
    caller: Caller<OfRepository>,
    path: Path<(String, String, String)>,
    method: Method,
    params: HeaderMap,
) -> Result<Response, ApiError> {
    of_format(app, caller, path, Format::Bundle, &method, &params).await
}

async fn of_format(
    app: App,
    caller: Caller<OfRepository>,
    Path((owner, name, revision)): Path<(String, String, String)>,
    format: Format,
    method: &Method,
    params: &HeaderMap,
) -> Result<Response, ApiError> {
    let scene = scene(app, caller, &owner, &name).await?;
    let archive = archives::of(&scene.browse, &revision, format).await?;
    answer(&scene, &archive, method, params).await
}

async fn answer(scene: &Scene, archive: &Archive, method: &Method, params: &HeaderMap) -> Result<Response, ApiError> {
    let etag = etag(archive);
    let headers = headers(scene, archive, &etag);
    if is_known(params, &etag) {
        return Ok(not_modified(headers));
    }
    if method == Method::HEAD {
        return Ok((headers, Body::empty()).into_response());
    }
    let (process, permit) = archive.start(&scene.app, &scene.browse).await?;
    let pipe = Pipe::new(process, scene.app.git.timeout()).holding(permit);
    let body = match archive.format {
        Format::Zip => pipe.body(),
        Format::TarGz => pipe.gzip(),
        Format::Bundle => pipe.after(bundle_header(&archive.commit.id)).body(),
    };
    Ok((headers, body).into_response())
}

/// Zip and tar files of a commit are the same bytes for ever. A pack depends on how git keeps the
/// objects, so a bundle's tag is a weak one.
fn etag(archive: &Archive) -> String {
    let weak = if archive.format == Format::Bundle { "W/" } else { "" };
    format!("{weak}\"{}.{}.{FORMAT_VERSION}\"", archive.commit.id, archive.format.ending())
}

fn headers(scene: &Scene, archive: &Archive, etag: &str) -> HeaderMap {
    let (id, ending) = (&archive.commit.id, archive.format.ending());
    let link = format!("<{}/archive/{id}.{ending}?rev={id}>; rel=\"immutable\"", scene.api);
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
