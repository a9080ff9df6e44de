//! Fetch over HTTP. The list of refs, with which each fetch begins, is answered without a process, and equal requests
//! share one answer.

use axum::response::Response;
use bytes::Bytes;
use http::{HeaderValue, header};

use super::{EMPTY, error::GitFailure, output_body::into_body, request_body::RequestBody, result};
use crate::{
    git::{
        bundles::protocol as bundle_protocol,
        fetch_cache::request::{self, FetchRequest},
    },
    http::AppState,
    service::{
        bundles,
        transfers::{
            Allowed, GitService, TransferInput as _, fetch,
            fetch_answer::{self, FetchAnswer, PARSED_FACTOR, VERSION_2},
            refs::REQUEST_MAX_BYTES,
            shared_fetch::SharedAnswer,
        },
    },
};

/// Handles a fetch.
pub(super) async fn serve(
    state: AppState,
    allowed: Allowed,
    mut input: RequestBody,
    protocol: Option<&str>,
) -> Result<Response, GitFailure> {
    let protocol = protocol.unwrap_or_default();
    if let Some(request) = peek(&mut input).await? {
        input.count(request.len() * PARSED_FACTOR)?;
        // Not over SSH, where addresses below that of the repository lead nowhere.
        if protocol == VERSION_2 && bundle_protocol::is_request(&request, allowed.repository.sha256) {
            let set = bundles::listed(&state, &allowed.repository, allowed.holder).await;
            return Ok(result(GitService::Upload, bundle_protocol::list(set.as_deref())));
        }
        let memory = input.memory();
        match fetch_answer::answer(&state, &allowed, protocol, &request, memory.as_deref(), input.sends_files()).await?
        {
            Some(FetchAnswer::Refs(refs)) => return Ok(result(GitService::Upload, refs)),
            Some(FetchAnswer::Shared(SharedAnswer { output, length })) => {
                let mut response = result(GitService::Upload, into_body(output, EMPTY).await?);
                if let Some(length) = length {
                    response.headers_mut().insert(header::CONTENT_LENGTH, HeaderValue::from(length));
                }
                return Ok(response);
            }
            None => {}
        }
    }
    let call = fetch_answer::upload_pack(&state, allowed.repository.id, protocol);
    let git_output = fetch::stream(&state, &allowed, call, input).await?;
    Ok(result(GitService::Upload, into_body(git_output, EMPTY).await?))
}

/// Returns the request if it is complete and small enough to be parsed, without consuming it.
async fn peek(input: &mut RequestBody) -> Result<Option<Bytes>, GitFailure> {
    let mut body = input.peek(REQUEST_MAX_BYTES).await?;
    if body.is_none() && FetchRequest::may_begin_with(input.peeked()) {
        body = input.peek(request::REQUEST_MAX_BYTES).await?;
    }
    Ok(body)
}
