//! Version 3 of the artifact protocol: an artifact is a list of files, which are sent in chunks. All requests need the
//! runtime token of a job of the run.

mod content;

use std::{collections::BTreeMap, sync::Arc};

use axum::{
    Extension,
    body::Body,
    extract::{Path, RawQuery, Request, State},
    response::{IntoResponse, Response},
};
use base64::{Engine as _, engine::general_purpose::STANDARD as BASE64};
use http::{HeaderMap, StatusCode, header};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::{
    blob::UploadKey,
    clock::Millis,
    http::{
        AppState,
        auth::{RunningJob, SignInSource},
        error::ApiError,
        extract::{JsonBody, JsonResponse, ok},
        origin, query,
    },
    serve::Peer,
    service::{
        Error,
        artifacts::{
            self, Create, RunArtifactFilter,
            files::{self, Chunk, FileLocation},
        },
    },
    shares::{Holder, RequestMemory},
};

const DAY_MS: Millis = 86_400_000;
/// Memory for one file in a list besides its path and its address, in bytes.
const ITEM_BYTES: usize = 160;

/// The memory of a request.
type Memory = Option<Extension<Arc<RequestMemory>>>;

/// Counts the memory of a request to the jobs of the repository.
fn memory_of<'a>(job: &RunningJob, memory: &'a Memory) -> Option<&'a RequestMemory> {
    let Extension(memory) = memory.as_ref()?;
    memory.set_holder(Holder::Jobs(job.0.repository_id));
    Some(memory)
}

/// An error response. Clients show a message for 400, 403 and 404, and repeat requests after 413 and 5xx.
pub(in crate::http) struct FilesApiError(ApiError);

impl From<Error> for FilesApiError {
    fn from(error: Error) -> Self {
        Self(match &error {
            Error::Invalid { .. } | Error::Body { .. } | Error::Precondition { .. } => {
                ApiError::new(StatusCode::BAD_REQUEST, error.to_string())
            }
            Error::Quota { .. } => ApiError::new(StatusCode::FORBIDDEN, error.to_string()),
            _ => error.into(),
        })
    }
}

impl From<ApiError> for FilesApiError {
    fn from(error: ApiError) -> Self {
        Self(error)
    }
}

impl IntoResponse for FilesApiError {
    fn into_response(self) -> Response {
        self.0.into_response()
    }
}

/// The address of the artifacts of the run, from which the addresses in responses are built.
fn artifacts_url(state: &AppState, headers: &HeaderMap, peer: Option<&Peer>, run: &str) -> String {
    let base = origin::base(state, headers, peer);
    format!("{base}/api/actions_pipeline/_apis/pipelines/workflows/{run}/artifacts")
}

/// The body of a new artifact.
#[derive(Default, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub(in crate::http) struct NewArtifact {
    name: String,
    retention_days: Option<i64>,
}

/// `POST …/workflows/{run}/artifacts`
pub(in crate::http) async fn create(
    State(state): State<AppState>,
    job: RunningJob,
    Path(run): Path<String>,
    peer: Option<Extension<Peer>>,
    headers: HeaderMap,
    JsonBody(body): JsonBody<NewArtifact>,
) -> Result<JsonResponse<Value>, FilesApiError> {
    job.require_run(&run)?;
    let days = body.retention_days.filter(|days| *days > 0);
    let expires_ms = days.map(|days| state.now_ms().saturating_add(days.saturating_mul(DAY_MS)));
    let input = Create { name: body.name, expires_ms, mime_type: None, version: files::VERSION };
    let (key, _) = artifacts::create(&state, &job.0, input).await?;
    let url = artifacts_url(&state, &headers, peer.as_deref(), &run);
    let url = format!("{url}/{}/uploads/{}", key.artifact, key.generation);
    Ok(ok(json!({ "fileContainerResourceUrl": url })))
}

/// `PUT …/artifacts/{artifact}/uploads/{generation}?itemPath=…`: a chunk of a file.
pub(in crate::http) async fn put_chunk(
    State(state): State<AppState>,
    job: RunningJob,
    Path((run, artifact, generation)): Path<(String, String, String)>,
    RawQuery(query): RawQuery,
    SignInSource(holder): SignInSource,
    request: Request,
) -> Result<JsonResponse<Value>, FilesApiError> {
    job.require_run(&run)?;
    let key = UploadKey { artifact: number(&artifact)?, generation: number(&generation)? };
    let (parts, body) = request.into_parts();
    let item = query::value(query.as_deref(), "itemPath").unwrap_or_default();
    let chunk = chunk(&parts.headers, item)?;
    files::receive(&state, &job.0, key, chunk, holder, body.into_data_stream()).await?;
    Ok(ok(json!({ "message": "success" })))
}

/// Parses a number of an address. An address with other text belongs to nothing.
fn number(text: &str) -> Result<u64, Error> {
    text.parse().map_err(|_| Error::NotFound { what: "the artifact" })
}

/// Reads the headers of a chunk.
fn chunk(headers: &HeaderMap, item: String) -> Result<Chunk, Error> {
    let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
    let range = text(header::CONTENT_RANGE.as_str()).and_then(content_range);
    let (start, length, total) =
        range.ok_or_else(|| Error::invalid("Content-Range", "must be \"bytes FIRST-LAST/TOTAL\""))?;
    let is_gzip = match text(header::CONTENT_ENCODING.as_str()) {
        None | Some("" | "identity") => false,
        Some("gzip") => true,
        Some(_) => return Err(Error::invalid("Content-Encoding", "must be gzip")),
    };
    let size = text("x-tfs-filelength").and_then(|value| value.parse().ok()).filter(|_| is_gzip).unwrap_or(total);
    let md5 = text("x-actions-results-md5").map(|value| {
        let bytes = BASE64.decode(value).ok().and_then(|bytes| bytes.try_into().ok());
        bytes.ok_or_else(|| Error::invalid("x-actions-results-md5", "must be 16 bytes in base64"))
    });
    Ok(Chunk { item, start, length, total, is_gzip, size, md5: md5.transpose()? })
}

/// Returns start, length and total of a range. `bytes 0--1/0` is an empty file.
fn content_range(text: &str) -> Option<(u64, u64, u64)> {
    let (range, total) = text.strip_prefix("bytes ")?.split_once('/')?;
    let (first, last) = range.split_once('-')?;
    let start: u64 = first.parse().ok()?;
    let end = u64::try_from(last.parse::<i64>().ok()?.checked_add(1)?).ok()?;
    let total: u64 = total.parse().ok()?;
    (end <= total).then_some((start, end.checked_sub(start)?, total))
}

/// `PATCH …/workflows/{run}/artifacts?artifactName=…`: all files were sent.
///
/// The size in the body is ignored: it includes files that the client could not send. These are not in the artifact.
pub(in crate::http) async fn finalize(
    State(state): State<AppState>,
    job: RunningJob,
    Path(run): Path<String>,
    RawQuery(query): RawQuery,
    SignInSource(holder): SignInSource,
    memory: Memory,
) -> Result<JsonResponse<Value>, FilesApiError> {
    job.require_run(&run)?;
    let name = query::value(query.as_deref(), "artifactName").unwrap_or_default();
    files::finalize(&state, &job.0, &name, holder, memory_of(&job, &memory)).await?;
    Ok(ok(json!({ "message": "success" })))
}

/// `GET …/workflows/{run}/artifacts`: one entry for each name, with the address of the newest artifact of the name.
pub(in crate::http) async fn list(
    State(state): State<AppState>,
    job: RunningJob,
    Path(run): Path<String>,
    peer: Option<Extension<Peer>>,
    headers: HeaderMap,
) -> Result<JsonResponse<Value>, FilesApiError> {
    job.require_run(&run)?;
    let filter = RunArtifactFilter { has_files: true, ..RunArtifactFilter::default() };
    let found = artifacts::list_run(&state, &job.0, &filter).await?;
    let url = artifacts_url(&state, &headers, peer.as_deref(), &run);
    // The newest is the last.
    let newest: BTreeMap<&str, u64> = found.iter().map(|row| (row.name.as_str(), row.id)).collect();
    let value: Vec<Value> = newest
        .iter()
        .map(|(name, id)| json!({ "name": name, "fileContainerResourceUrl": format!("{url}/{id}/files") }))
        .collect();
    Ok(ok(json!({ "count": value.len(), "value": value })))
}

/// A list in the format of the protocol.
#[derive(Serialize)]
pub(in crate::http) struct ItemList<T> {
    count: usize,
    value: Vec<T>,
}

/// A file in a list.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(in crate::http) struct FileItem {
    path: String,
    item_type: &'static str,
    content_location: String,
}

/// `GET …/artifacts/{artifact}/files?itemPath=…`: the files of all artifacts of the name.
pub(in crate::http) async fn list_files(
    State(state): State<AppState>,
    job: RunningJob,
    Path((run, artifact)): Path<(String, String)>,
    peer: Option<Extension<Peer>>,
    headers: HeaderMap,
    memory: Memory,
) -> Result<JsonResponse<ItemList<FileItem>>, FilesApiError> {
    job.require_run(&run)?;
    let memory = memory_of(&job, &memory);
    let found = files::list_files(&state, &job.0, number(&artifact)?, memory).await?;
    let url = artifacts_url(&state, &headers, peer.as_deref(), &run);
    let name = &found.name;
    if let Some(memory) = memory {
        // Each string is in the list and in the body.
        let bytes = |path: &String| 2 * (name.len() + path.len() + url.len() + ITEM_BYTES);
        memory.grow(found.files.keys().map(bytes).sum()).map_err(Error::from)?;
    }
    let item = |(path, location): (&String, &FileLocation)| FileItem {
        path: format!("{name}/{path}"),
        item_type: "file",
        content_location: format!("{url}/{}/files/{}", location.artifact, location.position),
    };
    let value: Vec<FileItem> = found.files.iter().map(item).collect();
    Ok(ok(ItemList { count: value.len(), value }))
}

/// `GET …/artifacts/{artifact}/files/{position}`: the content of a file.
pub(in crate::http) async fn file(
    State(state): State<AppState>,
    job: RunningJob,
    Path((run, artifact, position)): Path<(String, String, String)>,
    headers: HeaderMap,
) -> Result<Response, FilesApiError> {
    job.require_run(&run)?;
    let found = files::file(&state, &job.0, number(&artifact)?, number(&position)?).await?;
    let (headers, stream) = content::response(&state, found, &headers);
    Ok((headers, Body::from_stream(stream)).into_response())
}

#[cfg(test)]
mod tests {
    use super::content_range;

    #[test]
    fn ranges_of_chunks_have_a_total() {
        for (text, expected) in [
            ("bytes 0-6/7", Some((0, 7, 7))),
            ("bytes 8388608-10000000/10000001", Some((8_388_608, 1_611_393, 10_000_001))),
            ("bytes 0--1/0", Some((0, 0, 0))),
            ("bytes 0-7/7", None),
            ("bytes 5-3/7", None),
            ("bytes 0-6/*", None),
            ("bytes 0-6", None),
            ("0-6/7", None),
        ] {
            assert_eq!(content_range(text), expected, "{text}");
        }
    }
}
