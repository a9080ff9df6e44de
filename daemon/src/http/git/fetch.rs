//! Fetch over HTTP. The list of refs, with which each fetch begins, is answered without a process.

use axum::response::Response;

use super::{EMPTY, error::GitFailure, output_body::into_body, request_body::RequestBody, result};
use crate::{
    http::AppState,
    service::transfers::{
        Allowed, GitService, fetch,
        refs::{LsRefs, REQUEST_MAX_BYTES},
    },
};

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
    let call = state.git.call(id, ["upload-pack", "--stateless-rpc"]).args([state.git.directory(id)]);
    let call = call.env("GIT_PROTOCOL", protocol.unwrap_or_default());
    let git_output = fetch::stream(&state, &allowed, call, input).await?;
    Ok(result(GitService::Upload, into_body(git_output, EMPTY).await?))
}
