//! Version 1 of the cache protocol: REST routes below `/_apis/artifactcache`, which use the same entries as version 2.
//!
//! A client reserves a number, sends the content in ranges in any order, and commits the size. It shows `message` of an
//! error, and finds out by `typeKey` that a key is in use.

use axum::{
    body::Body,
    extract::{Path, RawQuery, Request, State},
    response::{IntoResponse, Response},
};
use http::{HeaderMap, StatusCode, header};
use serde::Deserialize;
use serde_json::{Value, json};

use super::error::CacheApiError;
use crate::{
    http::{
        AppState,
        auth::{RunningJob, SignInSource},
        extract::{self, BodyError, JsonResponse},
        origin,
    },
    model::cache_key::KeyUse,
    serve::Peer,
    service::{
        Error,
        artifacts::{BlockInput, ExpectedChecksums},
        caches::{self, Finalized, Lookup, NewEntry, Part, Reservation},
    },
    show,
};

/// Largest JSON body, in bytes.
const JSON_MAX_BYTES: usize = 64 << 10;

/// The header with which the cache proxy of Forgejo's runner restricts a job.
const WRITE_ISOLATION: &str = "forgejo-cache-writeisolationkey";
/// Longest value of this header.
const ISOLATION_MAX_BYTES: usize = 512;

/// `GET /_apis/artifactcache/cache?keys=…&version=…`
pub(in crate::http) async fn find(
    State(state): State<AppState>,
    RunningJob(job): RunningJob,
    RawQuery(query): RawQuery,
    peer: Option<axum::Extension<Peer>>,
    headers: HeaderMap,
) -> Result<Response, CacheApiError> {
    let query = query.unwrap_or_default();
    let parameter = |name: &str| {
        let mut pairs = url::form_urlencoded::parse(query.as_bytes());
        pairs.find(|(key, _)| key == name).map(|(_, value)| value.into_owned()).unwrap_or_default()
    };
    let keys = parameter("keys");
    let mut keys = keys.split(',').map(str::to_owned);
    let lookup = Lookup {
        key: keys.next().unwrap_or_default(),
        restore_keys: keys.collect(),
        version: parameter("version"),
        key_use: KeyUse::Prefix,
        isolation: isolation(&headers)?,
    };
    // Clients show a warning for every other status.
    let Some(row) = caches::find(&state, &job, &lookup).await? else {
        return Ok(StatusCode::NO_CONTENT.into_response());
    };
    let base = origin::base(&state, &headers, peer.as_deref());
    let address = caches::read_address(&state, &row);
    Ok(extract::ok(json!({
        "archiveLocation": format!("{base}{address}"),
        "cacheKey": row.key,
        "scope": row.git_ref,
        "creationTime": show::time(row.created_ms),
    }))
    .into_response())
}

/// The body of a reservation.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct NewCache {
    key: String,
    version: String,
    /// The size, if the client has the content already.
    cache_size: Option<u64>,
}

/// `POST /_apis/artifactcache/caches`
pub(in crate::http) async fn reserve(
    State(state): State<AppState>,
    RunningJob(job): RunningJob,
    request: Request,
) -> Result<Response, CacheApiError> {
    let isolation = isolation(request.headers())?;
    let NewCache { key, version, cache_size } = read_json(request).await?;
    let entry = NewEntry { key, version, size: cache_size, isolation };
    match caches::reserve(&state, &job, &entry).await? {
        Reservation::Reserved(id) => Ok(extract::created(json!({ "cacheId": id })).into_response()),
        Reservation::InUse { git_ref } => Err(CacheApiError::in_use(&git_ref, &entry.key, &entry.version)),
    }
}

/// `PATCH /_apis/artifactcache/caches/{id}`
pub(in crate::http) async fn put_range(
    State(state): State<AppState>,
    RunningJob(job): RunningJob,
    Path(id): Path<String>,
    SignInSource(holder): SignInSource,
    headers: HeaderMap,
    body: Body,
) -> Result<StatusCode, CacheApiError> {
    let part = content_range(&headers)
        .ok_or_else(|| CacheApiError::invalid("Content-Range must be \"bytes FIRST-LAST/*\""))?;
    // The body often has no Content-Length.
    let length = part.end - part.start;
    let input = BlockInput { length, checks: ExpectedChecksums::default(), holder, body: body.into_data_stream() };
    caches::put_part(&state, &job, entry_id(&id)?, part, input).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// The body of a commit.
#[derive(Deserialize)]
struct Commit {
    size: i64,
}

/// `POST /_apis/artifactcache/caches/{id}`
pub(in crate::http) async fn commit(
    State(state): State<AppState>,
    RunningJob(job): RunningJob,
    Path(id): Path<String>,
    request: Request,
) -> Result<StatusCode, CacheApiError> {
    let Commit { size } = read_json(request).await?;
    match caches::commit_parts(&state, &job, entry_id(&id)?, size).await? {
        Finalized::Ready(_) => Ok(StatusCode::NO_CONTENT),
        Finalized::InUse | Finalized::Replaced => Err(CacheApiError::missing()),
        Finalized::WrongSize { expected, uploaded } => {
            Err(CacheApiError::invalid(format!("expected {expected} bytes, have {uploaded}")))
        }
    }
}

/// `POST /_apis/artifactcache/clean`. Old clients send it; the daemon cleans up by itself.
pub(in crate::http) async fn clean(_: RunningJob) -> JsonResponse<Value> {
    extract::ok(json!({}))
}

/// Returns the scope to which the cache proxy of Forgejo's runner restricts the job. The other headers of the proxy are
/// not needed: the token of the job passes through it.
fn isolation(headers: &HeaderMap) -> Result<Option<String>, CacheApiError> {
    let Some(value) = headers.get(WRITE_ISOLATION) else { return Ok(None) };
    let key = value.to_str().ok().filter(|key| key.len() <= ISOLATION_MAX_BYTES);
    let key = key.ok_or_else(|| CacheApiError::invalid(format!("{WRITE_ISOLATION} is not valid")))?;
    Ok(Some(key.to_owned()).filter(|key| !key.is_empty()))
}

async fn read_json<T: for<'de> Deserialize<'de>>(request: Request) -> Result<T, CacheApiError> {
    let (parts, body) = request.into_parts();
    let bytes = extract::collect(&parts.extensions, body, JSON_MAX_BYTES).await.map_err(|error| match error {
        BodyError::TooLarge(_) => CacheApiError::new(StatusCode::PAYLOAD_TOO_LARGE, error.to_string()),
        BodyError::Incomplete => CacheApiError::invalid(error.to_string()),
        BodyError::Refused(refused) => Error::from(refused).into(),
    })?;
    serde_json::from_slice(&bytes).map_err(|error| CacheApiError::invalid(error.to_string()))
}

fn entry_id(text: &str) -> Result<u64, CacheApiError> {
    text.parse().map_err(|_| CacheApiError::missing())
}

/// Returns the range in `Content-Range`. `bytes 0--1/*` is an empty range.
fn content_range(headers: &HeaderMap) -> Option<Part> {
    let text = headers.get(header::CONTENT_RANGE)?.to_str().ok()?;
    let (range, _total) = text.strip_prefix("bytes ")?.split_once('/')?;
    let (first, last) = range.split_once('-')?;
    let start: u64 = first.parse().ok()?;
    let last: i64 = last.parse().ok()?;
    let end = u64::try_from(last.checked_add(1)?).ok()?;
    (start <= end).then_some(Part { start, end })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn content_ranges_of_clients_are_parsed() {
        for (text, expected) in [
            ("bytes 0-200532/*", Some((0, 200_533))),
            ("bytes 33554432-67108863/100000000", Some((33_554_432, 67_108_864))),
            ("bytes 5-5/*", Some((5, 6))),
            ("bytes 0--1/*", Some((0, 0))),
            ("bytes 5-4/*", Some((5, 5))),
            ("bytes 5-3/*", None),
            ("bytes */5", None),
            ("bytes 0-9", None),
            ("items 0-9/*", None),
            ("bytes 0-9223372036854775807/*", None),
            ("", None),
        ] {
            let mut headers = HeaderMap::new();
            headers.insert(header::CONTENT_RANGE, text.parse().expect("a value"));
            assert_eq!(content_range(&headers).map(|part| (part.start, part.end)), expected, "{text}");
        }
    }
}
