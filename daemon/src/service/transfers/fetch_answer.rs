//! Answers fetches without a git process of their own: lists of refs from memory, and requests that share an answer.

use std::sync::Arc;

use bytes::{Bytes, BytesMut};

use super::{
    Allowed, TransferError,
    refs::{self, LsRefs},
    shared_fetch::{self, SharedAnswer},
};
use crate::{
    file_parts::SendsFiles,
    git::{GitCommand, fetch_cache::request::FetchRequest, ref_list::RefList},
    service::{Context, bundles},
    shares::RequestMemory,
};

/// The value of `GIT_PROTOCOL` with which clients request protocol version 2.
pub const VERSION_2: &str = "version=2";
/// Memory of the parsed and of the canonical request, as a multiple of the size of the request.
pub const PARSED_FACTOR: usize = 3;

/// The answer to a request.
pub enum FetchAnswer {
    /// A list of refs. It counts to the memory of the request.
    Refs(Bytes),
    /// The output of git, which equal requests share.
    Shared(SharedAnswer),
}

/// Answers a complete request. `protocol`: the protocol version that the client requested. `memory`: the counted memory
/// of the request, which must live until the client has received the answer. `sends_files`: the answer may contain
/// placeholders for parts of files. `None`: the caller sends the request to
/// git, which also writes lists for which there is no memory.
pub async fn answer(
    context: &Context,
    allowed: &Allowed,
    protocol: &str,
    request: &[u8],
    memory: Option<&RequestMemory>,
    sends_files: Option<SendsFiles>,
) -> Result<Option<FetchAnswer>, TransferError> {
    let sha256 = allowed.repository.sha256;
    if protocol == VERSION_2
        && request.len() <= refs::REQUEST_MAX_BYTES
        && let Some(ls_refs) = LsRefs::parse(request, sha256)
        && let Some(refs) = ref_answer(context, allowed, memory, |list| ls_refs.list(list)).await?
    {
        return Ok(Some(FetchAnswer::Refs(refs)));
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
    Ok(shared_fetch::answer(context, allowed, &request, sends_files).await?.map(FetchAnswer::Shared))
}

/// Reads the refs of the repository and returns what `write` makes of them. The result counts towards `memory`, and the
/// list only while it exists. `None`: git must write the answer, because only git can read the refs, `write` returned
/// `None`, or the list or the answer does not fit into the memory of requests.
pub async fn ref_answer(
    context: &Context,
    allowed: &Allowed,
    memory: Option<&RequestMemory>,
    write: impl FnOnce(&RefList) -> Option<BytesMut>,
) -> Result<Option<Bytes>, TransferError> {
    let list_memory = Arc::new(context.serving.memory.request(allowed.holder));
    let Some(list) = context.git.ref_list(allowed.repository.id, &list_memory).await? else { return Ok(None) };
    let Some(answer) = write(&list) else { return Ok(None) };
    let is_counted = memory.is_none_or(|memory| memory.grow(answer.capacity()).is_ok());
    Ok(is_counted.then(|| answer.freeze()))
}

/// Returns the call of git that answers one request of a protocol without state.
pub fn upload_pack(context: &Context, repository: u64, protocol: &str) -> GitCommand {
    let call = context.git.call(repository, ["upload-pack", "--stateless-rpc"]);
    call.args([context.git.directory(repository)]).env("GIT_PROTOCOL", protocol)
}
