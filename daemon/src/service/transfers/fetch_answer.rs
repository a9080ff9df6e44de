//! Answers fetches without a git process of their own: lists of refs from memory, and requests that share an answer.

use bytes::Bytes;

use super::{
    Allowed, TransferError,
    refs::{self, LsRefs},
    shared_fetch::{self, SharedAnswer},
};
use crate::{
    git::{GitCommand, fetch_cache::request::FetchRequest},
    service::{Context, bundles},
};

/// The value of `GIT_PROTOCOL` with which clients request protocol version 2.
pub const VERSION_2: &str = "version=2";
/// Memory of the parsed and of the canonical request, as a multiple of the size of the request.
pub const PARSED_FACTOR: usize = 3;

/// The answer to a request.
pub enum FetchAnswer {
    /// A list of refs.
    Refs(Bytes),
    /// The output of git, which equal requests share.
    Shared(SharedAnswer),
}

/// Answers a complete request. `protocol`: the protocol version that the client requested. `None`: the caller sends the
/// request to git.
pub async fn answer(
    context: &Context,
    allowed: &Allowed,
    protocol: &str,
    request: &[u8],
) -> Result<Option<FetchAnswer>, TransferError> {
    let (id, sha256) = (allowed.repository.id, allowed.repository.sha256);
    if protocol == VERSION_2
        && request.len() <= refs::REQUEST_MAX_BYTES
        && let Some(ls_refs) = LsRefs::parse(request, sha256)
        && let Some(list) = context.git.ref_list(id).await?
        && let Some(refs) = ls_refs.list(&list)
    {
        return Ok(Some(FetchAnswer::Refs(refs.freeze())));
    }
    let (stores_answers, has_bundles) = (context.git.fetch_cache().is_on(), context.git.bundles().are_on());
    if !stores_answers && !has_bundles {
        return Ok(None);
    }
    let Some(request) = FetchRequest::parse(protocol, request, sha256) else { return Ok(None) };
    if request.is_full_clone() {
        bundles::count_clone(context, &allowed.repository);
    }
    if !stores_answers {
        return Ok(None);
    }
    Ok(shared_fetch::answer(context, allowed, &request).await?.map(FetchAnswer::Shared))
}

/// Returns the call of git that answers one request of a protocol without state.
pub fn upload_pack(context: &Context, repository: u64, protocol: &str) -> GitCommand {
    let call = context.git.call(repository, ["upload-pack", "--stateless-rpc"]);
    call.args([context.git.directory(repository)]).env("GIT_PROTOCOL", protocol)
}
