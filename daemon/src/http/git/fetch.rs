//! Fetch over HTTP. The list of refs, with which each fetch begins, is answered without a process, and equal requests
//! share one answer.

use axum::response::Response;
use http::{HeaderValue, header};

use super::{EMPTY, error::GitFailure, output_body::into_body, request_body::RequestBody, result};
use crate::{
    git::fetch_cache::request::{self, FetchRequest},
    http::AppState,
    service::transfers::{
        Allowed, GitService, TransferInput as _, fetch,
        refs::{LsRefs, REQUEST_MAX_BYTES},
        shared_fetch::{self, SharedAnswer},
    },
};

/// Memory of the parsed and of the canonical request, as a multiple of the size of the request.
const PARSED_FACTOR: usize = 3;

/// Handles a fetch.
pub(super) async fn serve(
    state: AppState,
    allowed: Allowed,
    mut input: RequestBody,
    protocol: Option<&str>,
) -> Result<Response, GitFailure> {
    let id = allowed.repository.id;
    if protocol == Some("version=2")
        && let Some(body) = input.peek(REQUEST_MAX_BYTES).await?
        && let Some(ls_refs) = LsRefs::parse(&body, allowed.repository.sha256)
        && let Some(list) = state.git.ref_list(id).await?
        && let Some(refs) = ls_refs.list(&list)
    {
        return Ok(result(GitService::Upload, refs.freeze()));
    }
    if state.git.fetch_cache().is_on()
        && let Some(request) = parse(&mut input, protocol.unwrap_or_default(), allowed.repository.sha256).await?
        && let Some(SharedAnswer { output, length }) = shared_fetch::answer(&state, &allowed, &request).await?
    {
        let mut response = result(GitService::Upload, into_body(output, EMPTY).await?);
        if let Some(length) = length {
            response.headers_mut().insert(header::CONTENT_LENGTH, HeaderValue::from(length));
        }
        return Ok(response);
    }
    let call = state.git.call(id, ["upload-pack", "--stateless-rpc"]).args([state.git.directory(id)]);
    let call = call.env("GIT_PROTOCOL", protocol.unwrap_or_default());
    let git_output = fetch::stream(&state, &allowed, call, input).await?;
    Ok(result(GitService::Upload, into_body(git_output, EMPTY).await?))
}

/// Returns the canonical form of the request. `None`: it is incomplete, or its answer must not be shared.
async fn parse(input: &mut RequestBody, protocol: &str, sha256: bool) -> Result<Option<FetchRequest>, GitFailure> {
    let mut body = input.peek(REQUEST_MAX_BYTES).await?;
    if body.is_none() && FetchRequest::may_begin_with(input.peeked()) {
        body = input.peek(request::REQUEST_MAX_BYTES).await?;
    }
    let Some(body) = body else { return Ok(None) };
    input.count(body.len() * PARSED_FACTOR)?;
    Ok(FetchRequest::parse(protocol, &body, sha256))
}
