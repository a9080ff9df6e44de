//! Version 2 of the cache protocol: the methods of the Twirp service `CacheService`.

use axum::response::Response;
use farrier_proto::cache::{
    CreateCacheEntryRequest, CreateCacheEntryResponse, FinalizeCacheEntryUploadRequest,
    FinalizeCacheEntryUploadResponse, GetCacheEntryDownloadUrlRequest, GetCacheEntryDownloadUrlResponse,
};
use http::StatusCode;

use crate::{
    http::{
        artifact::twirp::{TwirpError, TwirpRequest},
        show::number,
    },
    model::cache_key::KeyUse,
    service::caches::{self, FinalizeEntry, Finalized, Lookup, NewEntry, Reservation},
};

/// `CreateCacheEntry`
pub(in crate::http) async fn create(call: &TwirpRequest) -> Result<Response, TwirpError> {
    let request: CreateCacheEntryRequest = call.message()?;
    let entry = NewEntry { key: request.key, version: request.version, size: None, isolation: None };
    match caches::reserve(&call.state, &call.job, &entry).await? {
        Reservation::Reserved(id) => {
            let address = caches::upload_address(&call.state, id);
            let signed_upload_url = Some(format!("{}{address}", call.base));
            Ok(call.response(&CreateCacheEntryResponse { ok: true, signed_upload_url, message: None }))
        }
        Reservation::InUse { .. } => Err(in_use()),
    }
}

/// `FinalizeCacheEntryUpload`
pub(in crate::http) async fn finalize(call: &TwirpRequest) -> Result<Response, TwirpError> {
    let request: FinalizeCacheEntryUploadRequest = call.message()?;
    let input = FinalizeEntry { key: request.key, version: request.version, size: request.size_bytes };
    let response = match caches::finalize(&call.state, &call.job, &input).await? {
        Finalized::Ready(id) => {
            FinalizeCacheEntryUploadResponse { ok: true, entry_id: Some(number(id)), message: None }
        }
        // Clients show the message of a response, and only a general text for an error.
        Finalized::WrongSize { expected, uploaded } => FinalizeCacheEntryUploadResponse {
            ok: false,
            entry_id: None,
            message: Some(format!("cache entry finalize failed: expected {expected} bytes, have {uploaded}")),
        },
        // A client that finds the key in use continues without an error, as it does without the entry.
        Finalized::InUse | Finalized::Replaced => return Err(in_use()),
    };
    Ok(call.response(&response))
}

/// `GetCacheEntryDownloadURL`
pub(in crate::http) async fn download_url(call: &TwirpRequest) -> Result<Response, TwirpError> {
    let request: GetCacheEntryDownloadUrlRequest = call.message()?;
    let lookup = Lookup {
        key: request.key,
        restore_keys: request.restore_keys,
        version: request.version,
        key_use: KeyUse::PrefixWithRestoreKeys,
        isolation: None,
    };
    let found = caches::find(&call.state, &call.job, &lookup).await?;
    // Clients take an error for a miss only after several attempts, so a miss is a response.
    let response = match found {
        None => GetCacheEntryDownloadUrlResponse::default(),
        Some(row) => {
            let address = caches::read_address(&call.state, &row);
            GetCacheEntryDownloadUrlResponse {
                ok: true,
                signed_download_url: Some(format!("{}{address}", call.base)),
                matched_key: Some(row.key),
            }
        }
    };
    Ok(call.response(&response))
}

/// Returns the error for a key that is in use, with GitHub's text.
fn in_use() -> TwirpError {
    let message = "cache entry with the same key, version, and scope already exists";
    TwirpError::new(StatusCode::CONFLICT, "already_exists", message)
}
