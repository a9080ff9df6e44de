//! Files of releases.

use super::{
    BrowseContext, QueryParams, browse_context_for,
    raw::{requested_range, unsatisfiable},
    release_form, set,
};
use crate::{
    http::{
        AppState,
        artifact::{BlockBody, disposition, range::RequestedRange},
        auth::{Caller, RepositoryScope},
        error::ApiError,
        etag::{is_known, not_modified},
        extract::{JsonBody, JsonResponse, created, ok},
        openapi::{parameters::AssetNameParams, shapes::Bytes},
    },
    model::identity::Identity,
    service::{
        Error,
        access::Action,
        access_watch::AccessWatch,
        releases::{
            self, MISSING_FILE,
            assets::{self, AssetInput},
            downloads,
        },
    },
    show,
    store::releases::assets as rows,
};
use axum::{
    body::Body,
    extract::{Path, RawQuery, Request, State},
    response::{IntoResponse as _, Response},
};
use farrier_common::api;
use farrier_proto::store::{Release, ReleaseAsset};
use http::{HeaderMap, Method, StatusCode, header};

type ReleasePath = Path<(String, String, String)>;
type FilePath = Path<(String, String, String, String)>;

/// Lists the files of a release, by number.
#[utoipa::path(
    get, path = "",
    operation_id = "repoListReleaseAttachments", tag = "repository",
    responses((status = 200, body = Vec<api::Attachment>)),
)]
pub(in crate::http) async fn list(
    State(state): State<AppState>,
    caller: Caller<RepositoryScope>,
    Path((owner, name, id)): ReleasePath,
) -> Result<JsonResponse<Vec<api::Attachment>>, ApiError> {
    let context = browse_context_for(state, caller, &owner, &name, Action::ReadReleases).await?;
    let snapshot = context.state.store.read().await.map_err(Error::from)?;
    let release = releases::get(&snapshot, &context.browse.found, number(&id)).await?;
    let files = rows::of_release(&snapshot, release.repository_id, release.id).await.map_err(Error::from)?;
    Ok(ok(files.iter().map(|file| shown(&context, &release.tag, file)).collect()))
}

/// Returns a file of a release.
#[utoipa::path(
    get, path = "",
    operation_id = "repoGetReleaseAttachment", tag = "repository",
    responses((status = 200, body = api::Attachment)),
)]
pub(in crate::http) async fn get(
    State(state): State<AppState>,
    caller: Caller<RepositoryScope>,
    Path((owner, name, id, file)): FilePath,
) -> Result<JsonResponse<api::Attachment>, ApiError> {
    let context = browse_context_for(state, caller, &owner, &name, Action::ReadReleases).await?;
    let snapshot = context.state.store.read().await.map_err(Error::from)?;
    let release = releases::get(&snapshot, &context.browse.found, number(&id)).await?;
    let found = rows::get(&snapshot, release.repository_id, release.id, number(&file)).await.map_err(Error::from)?;
    Ok(ok(shown(&context, &release.tag, &found.ok_or(MISSING_FILE)?)))
}

/// Attaches a file to a release: the form field `attachment`, or the whole body if it is no form.
#[utoipa::path(
    post, path = "",
    operation_id = "repoCreateReleaseAttachment", tag = "repository",
    params(AssetNameParams),
    request_body(content = Bytes, content_type = "application/octet-stream"),
    responses(
        (status = 201, body = api::Attachment),
        (status = 400, description = "The body is no form and `name` is missing, or the body ended early."),
        (status = 409, description = "The release has a file with this name."),
        (status = 423, description = "The repository is archived."),
    ),
)]
pub(in crate::http) async fn create(
    State(state): State<AppState>,
    caller: Caller<RepositoryScope>,
    Path((owner, name, id)): ReleasePath,
    RawQuery(query): RawQuery,
    request: Request,
) -> Result<JsonResponse<api::Attachment>, ApiError> {
    let (parts, body) = request.into_parts();
    let holder = caller.holder;
    let context = browse_context_for(state, caller, &owner, &name, Action::WriteReleases).await?;
    let snapshot = context.state.store.read().await.map_err(Error::from)?;
    let release = releases::get(&snapshot, &context.browse.found, number(&id)).await?;
    drop(snapshot);
    let name = QueryParams::new(query.as_deref()).text("name");
    let content_type = parts.headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok());
    let announced = parts.headers.get(header::CONTENT_LENGTH).and_then(|value| value.to_str().ok()?.parse().ok());
    let announced = announced.unwrap_or(0);
    let body = body.into_data_stream();
    let row = match release_form::boundary(content_type.unwrap_or_default())? {
        Some(boundary) => {
            context.grow(release_form::BEFORE_FILE_MAX_BYTES)?;
            let field = release_form::file(body, boundary).await?;
            let name = if name.is_empty() { field.file_name().unwrap_or_default().to_owned() } else { name };
            let input = AssetInput { name, holder, announced, body: field };
            assets::upload(&context.state, &context.identity, &context.browse, release.id, input).await?
        }
        None if name.is_empty() => {
            return Err(ApiError::new(
                StatusCode::BAD_REQUEST,
                "the query parameter name is required for a body that is no form",
            ));
        }
        None => {
            let input = AssetInput { name, holder, announced, body };
            assets::upload(&context.state, &context.identity, &context.browse, release.id, input).await?
        }
    };
    Ok(created(shown(&context, &release.tag, &row)))
}

/// Renames a file of a release.
#[utoipa::path(
    patch, path = "",
    operation_id = "repoEditReleaseAttachment", tag = "repository",
    request_body = api::EditAttachment,
    responses(
        (status = 201, body = api::Attachment),
        (status = 409, description = "The release has another file with this name."),
        (status = 423, description = "The repository is archived."),
    ),
)]
pub(in crate::http) async fn edit(
    State(state): State<AppState>,
    caller: Caller<RepositoryScope>,
    Path((owner, name, id, file)): FilePath,
    JsonBody(input): JsonBody<api::EditAttachment>,
) -> Result<JsonResponse<api::Attachment>, ApiError> {
    let context = browse_context_for(state, caller, &owner, &name, Action::WriteReleases).await?;
    let snapshot = context.state.store.read().await.map_err(Error::from)?;
    let release = releases::get(&snapshot, &context.browse.found, number(&id)).await?;
    drop(snapshot);
    let place = (release.id, number(&file));
    let row = assets::rename(&context.state, &context.browse, place, &input.name).await?;
    Ok(created(shown(&context, &release.tag, &row)))
}

/// Deletes a file of a release.
#[utoipa::path(
    delete, path = "",
    operation_id = "repoDeleteReleaseAttachment", tag = "repository",
    responses((status = 204), (status = 423, description = "The repository is archived.")),
)]
pub(in crate::http) async fn delete(
    State(state): State<AppState>,
    caller: Caller<RepositoryScope>,
    Path((owner, name, id, file)): FilePath,
) -> Result<StatusCode, ApiError> {
    let context = browse_context_for(state, caller, &owner, &name, Action::WriteReleases).await?;
    assets::delete(&context.state, &context.browse, (number(&id), number(&file))).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Downloads a file of a release by its UUID.
#[utoipa::path(
    get, path = "",
    operation_id = "downloadAttachment", tag = "repository",
    responses(
        (status = 200, body = Bytes, content_type = "*/*"),
        (status = 206, body = Bytes, content_type = "*/*"),
        (status = 304),
        (status = 416, description = "The range is outside the file."),
    ),
)]
pub(in crate::http) async fn download_by_uuid(
    State(state): State<AppState>,
    caller: Caller<RepositoryScope>,
    Path(uuid): Path<String>,
    method: Method,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    let snapshot = state.store.read().await.map_err(Error::from)?;
    let (release, row) = downloads::by_uuid(&snapshot, &caller.identity, &uuid).await?;
    drop(snapshot);
    let access = access(&state, caller.identity, &release);
    Ok(download(&state, access, (&method, &headers), &row))
}

/// Downloads a file of a release.
#[utoipa::path(
    get, path = "",
    operation_id = "downloadReleaseAttachment", tag = "repository",
    responses(
        (status = 200, body = Bytes, content_type = "*/*"),
        (status = 206, body = Bytes, content_type = "*/*"),
        (status = 304),
        (status = 416, description = "The range is outside the file."),
    ),
)]
pub(in crate::http) async fn download_by_name(
    State(state): State<AppState>,
    caller: Caller<RepositoryScope>,
    Path((owner, name, file)): ReleasePath,
    method: Method,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    let context = browse_context_for(state, caller, &owner, &name, Action::ReadReleases).await?;
    let (tag, file) = file.rsplit_once('/').ok_or(MISSING_FILE)?;
    let snapshot = context.state.store.read().await.map_err(Error::from)?;
    let release = releases::by_tag(&snapshot, &context.browse.found, tag).await?;
    let row = downloads::by_name(&snapshot, &release, file).await?;
    drop(snapshot);
    let access = access(&context.state, context.identity, &release);
    Ok(download(&context.state, access, (&method, &headers), &row))
}

/// Returns the access of a caller who may download the files of `release`.
fn access(state: &AppState, identity: Identity, release: &Release) -> AccessWatch {
    let action = if release.draft { Action::WriteReleases } else { Action::ReadReleases };
    AccessWatch::new(state, identity, Some((release.repository_id, action)))
}

fn download(
    state: &AppState,
    access: AccessWatch,
    (method, request): (&Method, &HeaderMap),
    row: &ReleaseAsset,
) -> Response {
    let etag = format!("\"sha256-{}\"", hex::encode(&row.sha256));
    let mut headers = HeaderMap::new();
    for (header, value) in [
        (header::ETAG, etag.as_str()),
        (header::CONTENT_TYPE, "application/octet-stream"),
        (header::CONTENT_DISPOSITION, &disposition::attachment(&row.name)),
        (header::ACCEPT_RANGES, "bytes"),
        (header::CACHE_CONTROL, "private, max-age=0, no-transform"),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        // Uploaded content must not run scripts with the origin of this host.
        (header::CONTENT_SECURITY_POLICY, "sandbox; default-src 'none'"),
    ] {
        set(&mut headers, header, value);
    }
    if is_known(request, &etag) {
        return not_modified(headers);
    }
    let (status, range) = match requested_range(request, &etag, row.size) {
        RequestedRange::Whole => (StatusCode::OK, 0..row.size),
        RequestedRange::Part(range) => {
            let text = format!("bytes {}-{}/{}", range.start, range.end - 1, row.size);
            set(&mut headers, header::CONTENT_RANGE, &text);
            (StatusCode::PARTIAL_CONTENT, range)
        }
        RequestedRange::Unsatisfiable => return unsatisfiable(row.size),
    };
    headers.insert(header::CONTENT_LENGTH, (range.end - range.start).into());
    if method == Method::HEAD {
        return (status, headers).into_response();
    }
    if range.start == 0 {
        downloads::count_download(state, row);
    }
    let body = Body::new(BlockBody::new(downloads::read(state, row, range), Some(access)));
    (status, headers, body).into_response()
}

/// Returns the id in a path; 0, which no object has, if it is not a number.
fn number(text: &str) -> u64 {
    text.parse().unwrap_or(0)
}

fn shown(context: &BrowseContext, tag: &str, row: &ReleaseAsset) -> api::Attachment {
    show::attachment(&context.state.root_url, &context.browse.found.path(), tag, row)
}
