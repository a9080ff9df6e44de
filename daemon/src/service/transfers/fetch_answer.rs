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
    tasks,
};

/// The value of `GIT_PROTOCOL` with which clients request protocol version 2.
pub const VERSION_2: &str = "version=2";
/// Memory of the parsed and of the canonical request, as a multiple of the size of the request.
pub const PARSED_FACTOR: usize = 3;
/// Longest list that is written on the thread of the request, in refs. Longer ones take more than about a millisecond,
/// in which the thread would answer no other request.
const SHORT_LIST_REFS: usize = 2_000;

/// The answer to a request.
pub enum FetchAnswer {
    /// A list of refs. It counts to the memory of the request.
    Refs(Bytes),
    /// The output of git, which equal requests share.
    Shared(SharedAnswer),
}

/// Answers a complete request. `protocol`: the protocol version that the client requested. `memory`: the counted memory
/// of the request, which must live until the client has received the answer. `sends_files`: the answer may contain
/// placeholders for parts of files. `None`: the caller sends the request to git, which also writes lists for which
/// there is no memory.
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
        && let Some(refs) = ref_answer(context, allowed, memory, move |list| ls_refs.list(list)).await?
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

/// Returns what `write` makes of the refs of the repository. The result counts towards `memory`, and a list that is
/// read from the files only while it exists. `None`: git must write the answer, because only git can read the refs,
/// `write` returned `None`, or the list or the answer does not fit into the memory of requests.
pub async fn ref_answer(
    context: &Context,
    allowed: &Allowed,
    memory: Option<&RequestMemory>,
    write: impl FnOnce(&RefList) -> Option<BytesMut> + Send + 'static,
) -> Result<Option<Bytes>, TransferError> {
    let list_memory = Arc::new(context.serving.memory.request(allowed.holder));
    let Some(list) = context.git.ref_list(allowed.repository.id, &list_memory).await? else { return Ok(None) };
    let Some(answer) = written(list, list_memory, write).await else { return Ok(None) };
    let is_counted = memory.is_none_or(|memory| memory.grow(answer.capacity()).is_ok());
    Ok(is_counted.then(|| answer.freeze()))
}

/// Returns what `write` makes of the list. A long list is written and dropped on a thread for blocking work, and
/// `memory` counts it until then, also if the client disconnects.
async fn written<T: Send + 'static>(
    list: Arc<RefList>,
    memory: Arc<RequestMemory>,
    write: impl FnOnce(&RefList) -> T + Send + 'static,
) -> T {
    if list.tips.len() <= SHORT_LIST_REFS {
        return write(&list);
    }
    tasks::blocking(move || {
        let answer = write(&list);
        drop(list);
        drop(memory);
        answer
    })
    .await
}

/// Returns the call of git that answers one request of a protocol without state.
pub fn upload_pack(context: &Context, repository: u64, protocol: &str) -> GitCommand {
    let call = context.git.call(repository, ["upload-pack", "--stateless-rpc"]);
    call.args([context.git.directory(repository)]).env("GIT_PROTOCOL", protocol)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        git::ref_list::{Head, Peeled, Tip},
        shares::{Holder, MemoryBudget},
    };

    fn list(refs: usize) -> RefList {
        let tip = |number: usize| Tip { id: format!("{number:040x}"), peeled: Peeled::Same };
        let tips = (0..refs).map(|number| (format!("refs/heads/{number}"), tip(number))).collect();
        RefList { head: Head::Ref("refs/heads/0".into()), tips }
    }

    #[tokio::test]
    async fn long_lists_are_written_on_another_thread_and_have_the_same_bytes() {
        let budget = MemoryBudget::new(64);
        let own_thread = std::thread::current().id();
        for (refs, is_here) in [(0, true), (SHORT_LIST_REFS, true), (SHORT_LIST_REFS + 1, false), (20_000, false)] {
            let memory = Arc::new(budget.request(Holder::Address(None)));
            memory.grow(4 << 20).expect("free");
            let write = |list: &RefList| {
                let mut advertisement = BytesMut::new();
                refs::put_advertisement(&mut advertisement, list, b"capabilities", false);
                (LsRefs::default().list(list), advertisement)
            };
            let found = written(Arc::new(list(refs)), memory, move |list| {
                (std::thread::current().id() == own_thread, write(list))
            })
            .await;
            assert!(found == (is_here, write(&list(refs))), "{refs} refs");
            assert_eq!(budget.usage().used, 0, "the list is freed when it is written");
        }
    }
}
