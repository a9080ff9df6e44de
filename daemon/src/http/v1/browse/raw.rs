//! Download of a file.

use axum::{
    body::Body,
    extract::{Path, RawQuery, State},
    response::{IntoResponse as _, Response},
};
use http::{HeaderMap, HeaderName, Method, StatusCode, header};

use super::{BrowseContext, QueryParams, browse_context, pipe::Pipe, set};
use crate::{
    git::read::{READ_TIMEOUT, tree::EntryKind},
    http::{
        AppState,
        artifact::{
            BlockBody, disposition,
            range::{self, RequestedRange},
        },
        auth::{Caller, RepositoryScope},
        error::ApiError,
        etag::{is_known, not_modified},
        openapi::{parameters::RevisionParams, shapes::Bytes},
        show::http_date,
    },
    service::{
        Error,
        access::Action,
        access_watch::AccessWatch,
        browse::contents::{self, RawBytes, RawFile},
        lfs::{self, LfsContent},
    },
};

/// Media types of files that browsers display and that are never plain text, by file name extension.
const TYPES: &[(&str, &str)] = &[
    ("avif", "image/avif"),
    ("bmp", "image/bmp"),
    ("gif", "image/gif"),
    ("ico", "image/x-icon"),
    ("jpeg", "image/jpeg"),
    ("jpg", "image/jpeg"),
    ("mp4", "video/mp4"),
    ("pdf", "application/pdf"),
    ("png", "image/png"),
    ("svg", "image/svg+xml"),
    ("webm", "video/webm"),
    ("webp", "image/webp"),
];

/// Returns the bytes of a file.
#[utoipa::path(
    get, path = "",
    operation_id = "repoGetRawFile", tag = "repository",
    params(RevisionParams),
    responses(
        (status = 200, body = Bytes, content_type = "*/*"),
        (status = 206, body = Bytes, content_type = "*/*"),
        (status = 304),
        (status = 416, description = "The range is outside the file."),
        (status = 422, description = "The path is not valid."),
    ),
)]
pub(in crate::http) async fn get(
    State(state): State<AppState>,
    caller: Caller<RepositoryScope>,
    Path((owner, name, path)): Path<(String, String, String)>,
    RawQuery(query): RawQuery,
    method: Method,
    params: HeaderMap,
) -> Result<Response, ApiError> {
    let context = browse_context(state, caller, &owner, &name).await?;
    let file = file(&context, &path, query.as_deref()).await?;
    send(&context, &file, &method, &params).await
}

/// Returns the bytes of a file, or of the LFS object that it names.
#[utoipa::path(
    get, path = "",
    operation_id = "repoGetRawFileOrLFS", tag = "repository",
    params(RevisionParams),
    responses(
        (status = 200, body = Bytes, content_type = "*/*"),
        (status = 206, body = Bytes, content_type = "*/*"),
        (status = 304),
        (status = 416, description = "The range is outside the file."),
        (status = 422, description = "The path is not valid."),
    ),
)]
pub(in crate::http) async fn media(
    State(state): State<AppState>,
    caller: Caller<RepositoryScope>,
    Path((owner, name, path)): Path<(String, String, String)>,
    RawQuery(query): RawQuery,
    method: Method,
    params: HeaderMap,
) -> Result<Response, ApiError> {
    let context = browse_context(state, caller, &owner, &name).await?;
    let file = file(&context, &path, query.as_deref()).await?;
    match lfs_content(&context, &file).await? {
        Some(content) => Ok(send_lfs(&context, &file, &content, &method, &params)),
        None => send(&context, &file, &method, &params).await,
    }
}

/// Returns the file at `path` of the revision that `query` names.
async fn file(context: &BrowseContext, path: &str, query: Option<&str>) -> Result<RawFile, ApiError> {
    let found = contents::raw(&context.browse, path, &QueryParams::new(query).text("ref")).await;
    found.map_err(|error| match error {
        Error::NotFound { .. } => ApiError::no_file(),
        other => other.into(),
    })
}

/// Returns the LFS object that a file names, if the repository has it.
async fn lfs_content(context: &BrowseContext, file: &RawFile) -> Result<Option<LfsContent>, Error> {
    let Some(pointer) = file.pointer(&context.browse).await? else { return Ok(None) };
    let Some(oid) = lfs::parse_oid(&pointer.oid) else { return Ok(None) };
    let snapshot = context.state.store.read().await?;
    match lfs::of_repository(&context.state, &snapshot, &context.browse.found.repository, &oid).await {
        Err(Error::NotFound { .. }) => Ok(None),
        found => Ok(found?.filter(|content| content.size() == pointer.size)),
    }
}

fn send_lfs(
    context: &BrowseContext,
    file: &RawFile,
    content: &LfsContent,
    method: &Method,
    params: &HeaderMap,
) -> Response {
    let (etag, size) = (format!("\"{}\"", content.oid()), content.size());
    let mut headers = headers(file, &etag);
    if is_known(params, &etag) {
        return not_modified(headers);
    }
    let (status, range) = match requested_range(params, &etag, size) {
        RequestedRange::Whole => (StatusCode::OK, 0..size),
        RequestedRange::Part(range) => {
            set(&mut headers, header::CONTENT_RANGE, &format!("bytes {}-{}/{size}", range.start, range.end - 1));
            (StatusCode::PARTIAL_CONTENT, range)
        }
        RequestedRange::Unsatisfiable => return unsatisfiable(size),
    };
    // A zero byte: the type is not guessed from the content.
    set(&mut headers, header::CONTENT_TYPE, media_type(&file.entry.path, b"\0"));
    headers.insert(header::CONTENT_LENGTH, (range.end - range.start).into());
    if *method == Method::HEAD {
        return (status, headers).into_response();
    }
    let repository = Some((context.browse.found.repository.id, Action::Read));
    let access = AccessWatch::new(&context.state, context.identity.clone(), repository);
    let body = Body::new(BlockBody::new(content.bytes(&context.state, range), Some(access)));
    (status, headers, body).into_response()
}

async fn send(
    context: &BrowseContext,
    file: &RawFile,
    method: &Method,
    params: &HeaderMap,
) -> Result<Response, ApiError> {
    let etag = format!("\"{}\"", file.entry.id);
    let mut headers = headers(file, &etag);
    if is_known(params, &etag) {
        return Ok(not_modified(headers));
    }
    let size = file.entry.size;
    let (status, range) = match requested_range(params, &etag, size) {
        RequestedRange::Whole => (StatusCode::OK, 0..size),
        RequestedRange::Part(range) => {
            set(&mut headers, header::CONTENT_RANGE, &format!("bytes {}-{}/{size}", range.start, range.end - 1));
            (StatusCode::PARTIAL_CONTENT, range)
        }
        RequestedRange::Unsatisfiable => return Ok(unsatisfiable(size)),
    };
    let mut pipe = open(context, file).await?;
    let start = pipe.peek().await.map_err(|error| {
        tracing::error!(%error, "a file of a repository cannot be read");
        ApiError::internal()
    })?;
    set(&mut headers, header::CONTENT_TYPE, media_type(&file.entry.path, start));
    headers.insert(header::CONTENT_LENGTH, (range.end - range.start).into());
    let body = if *method == Method::HEAD { Body::empty() } else { pipe.part(&range).body() };
    Ok((status, headers, body).into_response())
}

async fn open(context: &BrowseContext, file: &RawFile) -> Result<Pipe, Error> {
    Ok(match file.bytes(&context.browse).await? {
        RawBytes::Whole(content) => Pipe::of_bytes(content),
        RawBytes::Process(process) => Pipe::new(*process, READ_TIMEOUT),
    })
}

fn headers(file: &RawFile, etag: &str) -> HeaderMap {
    let mut headers = HeaderMap::new();
    let name = file.entry.path.rsplit('/').next().unwrap_or_default();
    let shape = if file.entry.entry_kind() == EntryKind::Symlink { "symlink" } else { "file" };
    for (header, value) in [
        (header::ETAG, etag),
        (header::LAST_MODIFIED, &http_date(file.last_commit.committer.seconds)),
        (header::ACCEPT_RANGES, "bytes"),
        (header::CACHE_CONTROL, "private, max-age=300"),
        (header::CONTENT_DISPOSITION, &disposition::inline(name)),
        // Pushed content must not run scripts with the origin of this host.
        (header::CONTENT_SECURITY_POLICY, "default-src 'none'; style-src 'unsafe-inline'; sandbox"),
        (HeaderName::from_static("x-gitea-object-type"), shape),
        (HeaderName::from_static("x-forgejo-object-type"), shape),
        (header::ACCESS_CONTROL_EXPOSE_HEADERS, "Content-Disposition, X-Gitea-Object-Type, X-Forgejo-Object-Type"),
    ] {
        set(&mut headers, header, value);
    }
    headers
}

/// Returns the requested range. If `If-Range` names other content, that is the complete file.
pub(in crate::http) fn requested_range(headers: &HeaderMap, etag: &str, size: u64) -> RequestedRange {
    let text = |name: HeaderName| headers.get(name).and_then(|value| value.to_str().ok());
    match (text(header::RANGE), text(header::IF_RANGE)) {
        (None, _) => RequestedRange::Whole,
        (Some(_), Some(known)) if known != etag => RequestedRange::Whole,
        (Some(range), _) => range::parse(range, size),
    }
}

pub(super) fn unsatisfiable(size: u64) -> Response {
    let error = ApiError::new(StatusCode::RANGE_NOT_SATISFIABLE, format!("the file has {size} bytes"));
    let mut response = error.into_response();
    set(response.headers_mut(), header::CONTENT_RANGE, &format!("bytes */{size}"));
    response
}

/// Returns the media type of a file: by its extension if known, else text unless `start` contains a zero byte.
fn media_type(path: &str, start: &[u8]) -> &'static str {
    let ending = path.rsplit_once('.').map(|(_, ending)| ending.to_ascii_lowercase()).unwrap_or_default();
    if let Some((_, known)) = TYPES.iter().find(|(known, _)| *known == ending) {
        return known;
    }
    if start.contains(&0) { "application/octet-stream" } else { "text/plain; charset=utf-8" }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn media_types_are_chosen_by_extension_then_by_content() {
        for (path, start, expected) in [
            ("a/x.PNG", &b"\x89PNG\0"[..], "image/png"),
            ("index.html", b"<html>", "text/plain; charset=utf-8"),
            ("tool", b"\x7fELF\0", "application/octet-stream"),
            ("README", b"", "text/plain; charset=utf-8"),
            ("x.svg", b"<svg", "image/svg+xml"),
        ] {
            assert_eq!(media_type(path, start), expected, "{path}");
        }
    }
}
