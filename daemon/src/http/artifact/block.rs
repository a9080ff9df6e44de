//! `PUT` on a signed address: the part of Azure's block-blob protocol that artifact clients use.
//!
//! Clients accept only 201 with an empty body as success. The header `x-ms-version` is ignored. Conditional headers
//! apply to requests that set the content: Put Block List and Put Blob.

use axum::{
    body::Body,
    extract::{Path, RawQuery, Request, State},
    response::{IntoResponse, Response},
};
use base64::{Engine as _, engine::general_purpose::STANDARD as BASE64};
use http::{Extensions, HeaderMap, StatusCode, header};

use super::{block_list, conditions, xml::BlobApiError};
use crate::{
    blob::UploadKey,
    http::{
        AppState,
        auth::{self, SignInSource},
        extract::{self, BodyError},
    },
    model::signed_url::{Grant, Operation},
    service::{
        Error,
        artifacts::{self, BlockInput, ExpectedChecksums},
    },
    shares::Holder,
};

/// Largest `Content-Length` of a block, in bytes: the limit of Azure.
const BLOCK_MAX_BYTES: u64 = 4_000 << 20;

/// `PUT /_blob/{artifact}/{generation}/{file}`
pub(in crate::http) async fn put(
    State(state): State<AppState>,
    Path((artifact, generation, _)): Path<(String, String, String)>,
    RawQuery(query): RawQuery,
    SignInSource(holder): SignInSource,
    request: Request,
) -> Result<Response, BlobApiError> {
    let query = query.unwrap_or_default();
    let key = &state.keys.signed_url;
    let grant = Grant::verify(key, Operation::Write, &artifact, &generation, &query, state.now_ms())?;
    let key = UploadKey { artifact: grant.artifact, generation: grant.generation };
    let throttled = match receive(&state, key, &query, holder, request).await {
        Err(error) if error.is_throttled() => error,
        response => return response,
    };
    Err(if artifacts::is_cache_upload(&state, key).await? { throttled.for_caches() } else { throttled })
}

/// Handles the request of a verified address.
async fn receive(
    state: &AppState,
    key: UploadKey,
    query: &str,
    holder: Holder,
    request: Request,
) -> Result<Response, BlobApiError> {
    let (parts, body) = request.into_parts();
    let headers = &parts.headers;
    let conditions = conditions::read(headers);
    let mut response = (StatusCode::CREATED, [(header::CONTENT_LENGTH, "0")]).into_response();
    match (parameter(query, "comp").as_deref(), parameter(query, "blockid")) {
        (Some("block"), Some(id)) => {
            let input = input(headers, body, BLOCK_MAX_BYTES, holder)?;
            artifacts::put_block(state, key, &id, input).await?;
        }
        (Some("block"), None) => {
            return Err(BlobApiError::new(
                StatusCode::BAD_REQUEST,
                "MissingRequiredQueryParameter",
                "comp=block needs a blockid",
            ));
        }
        (Some("blocklist"), _) => {
            let repository = artifacts::upload_repository(state, key).await?;
            auth::count_memory_to(&parts.extensions, Holder::Jobs(repository));
            let ids = read_block_list(&parts.extensions, body).await?;
            let validators = artifacts::commit(state, key, &ids, &conditions).await?;
            conditions::set_validators(response.headers_mut(), &validators);
        }
        (None, _) => {
            require_block_blob(headers)?;
            let input = input(headers, body, u64::MAX, holder)?;
            let validators = artifacts::put_blob(state, key, input, &conditions).await?;
            conditions::set_validators(response.headers_mut(), &validators);
        }
        (Some(_), _) => {
            let message = "only comp=block, comp=blocklist and Put Blob are offered";
            return Err(BlobApiError::new(StatusCode::BAD_REQUEST, "InvalidQueryParameterValue", message));
        }
    }
    Ok(response)
}

/// Checks the type of blob that the client wants to write.
fn require_block_blob(headers: &HeaderMap) -> Result<(), BlobApiError> {
    let kind = headers.get("x-ms-blob-type").and_then(|value| value.to_str().ok()).unwrap_or_default();
    if !kind.eq_ignore_ascii_case("BlockBlob") {
        let message = "x-ms-blob-type must be BlockBlob";
        return Err(BlobApiError::new(StatusCode::BAD_REQUEST, "InvalidHeaderValue", message));
    }
    Ok(())
}

/// Returns a request body with the length and checksums from its headers.
fn input(
    headers: &HeaderMap,
    body: Body,
    max: u64,
    holder: Holder,
) -> Result<BlockInput<axum::body::BodyDataStream>, BlobApiError> {
    let text = |name: &str| headers.get(name).map(|value| value.to_str().unwrap_or_default());
    let length = text(header::CONTENT_LENGTH.as_str()).and_then(|value| value.parse().ok());
    let Some(length) = length else {
        let message = "Content-Length is required";
        return Err(BlobApiError::new(StatusCode::LENGTH_REQUIRED, "MissingContentLengthHeader", message));
    };
    if length > max {
        let message = format!("a block may have at most {max} bytes");
        return Err(BlobApiError::new(StatusCode::PAYLOAD_TOO_LARGE, "RequestBodyTooLarge", message));
    }
    let checks = ExpectedChecksums {
        md5: text("content-md5").map(|value| digest(value, "InvalidMd5", "Content-MD5")).transpose()?,
        crc64: text("x-ms-content-crc64")
            .map(|value| digest(value, "InvalidHeaderValue", "x-ms-content-crc64").map(u64::from_le_bytes))
            .transpose()?,
    };
    Ok(BlockInput { length, checks, holder, body: body.into_data_stream() })
}

fn digest<const N: usize>(text: &str, code: &'static str, header: &str) -> Result<[u8; N], BlobApiError> {
    let bytes = BASE64.decode(text).ok().and_then(|bytes| bytes.try_into().ok());
    let message = || format!("{header} must be {N} bytes in base64");
    bytes.ok_or_else(|| BlobApiError::new(StatusCode::BAD_REQUEST, code, message()))
}

async fn read_block_list(extensions: &Extensions, body: Body) -> Result<Vec<String>, BlobApiError> {
    let body = extract::collect(extensions, body, block_list::BODY_MAX_BYTES).await.map_err(|error| {
        let (status, code) = match error {
            BodyError::TooLarge(_) => (StatusCode::PAYLOAD_TOO_LARGE, "RequestBodyTooLarge"),
            BodyError::Incomplete => (StatusCode::BAD_REQUEST, "IncompleteBody"),
            BodyError::Refused(refused) => return Error::from(refused).into(),
        };
        BlobApiError::new(status, code, error.to_string())
    })?;
    block_list::block_ids(&body)
        .map_err(|error| BlobApiError::new(StatusCode::BAD_REQUEST, "InvalidXmlDocument", error.to_string()))
}

/// Returns the first value of the query parameter `name`.
fn parameter(query: &str, name: &str) -> Option<String> {
    // Clients do not escape the `+` of base64, which would otherwise decode to a space.
    let literal_plus = query.replace('+', "%2B");
    let mut pairs = url::form_urlencoded::parse(literal_plus.as_bytes());
    pairs.find(|(key, value)| key == name && !value.is_empty()).map(|(_, value)| value.into_owned())
}

#[cfg(test)]
mod tests {
    use super::parameter;

    #[test]
    fn block_ids_in_the_query_equal_those_in_the_block_list() {
        assert_eq!(parameter("op=w&comp=block&blockid=a+b/c=", "blockid").as_deref(), Some("a+b/c="));
        assert_eq!(parameter("blockid=a%2Bb%2Fc%3D", "blockid").as_deref(), Some("a+b/c="));
        assert_eq!(parameter("comp=", "comp"), None);
    }
}
