//! Tests with a blob store in memory.

use std::{collections::BTreeMap, ops::Range, path::PathBuf};

use async_trait::async_trait;
use base64::{Engine, prelude::BASE64_STANDARD};
use bytes::Bytes;
use futures_util::stream::{self, BoxStream};
use proptest::prelude::*;

use super::{memory::WEIGHT_MAX, *};
use crate::{
    blob::{BlockReader, BlockWriter, RequestedChecksums, Space},
    set_aside::SetAside,
};

const KEY: UploadKey = UploadKey { artifact: 7, generation: 2 };

/// A blob store that counts the bytes read from it.
#[derive(Default)]
struct MemoryBlobs {
    files: Mutex<BTreeMap<u64, Bytes>>,
    read: Mutex<u64>,
}

#[async_trait]
impl BlobStore for MemoryBlobs {
    fn create(&self, _: UploadKey, _: u64, _: RequestedChecksums, _: Option<Claim>) -> Box<dyn BlockWriter> {
        unreachable!("blocks are put there directly")
    }

    fn read(&self, key: UploadKey, blocks: Arc<[BlockRef]>, range: Range<u64>) -> BlockReader {
        let files = self.files.lock().expect("no panic");
        *self.read.lock().expect("no panic") += range.end;
        let chunk =
            |block: &BlockRef| files.get(&block.file).cloned().ok_or(BlobError::Missing { key, file: block.file });
        let chunks: Vec<_> = blocks.iter().map(chunk).collect();
        BlockReader::new(stream::iter(chunks).boxed(), range.end)
    }

    async fn remove(&self, _: UploadKey, file: u64) -> Result<(), BlobError> {
        self.files.lock().expect("no panic").remove(&file);
        Ok(())
    }

    async fn remove_upload(&self, _: UploadKey) -> Result<u64, BlobError> {
        unreachable!("digests remove nothing")
    }

    async fn set_aside(&self, _: UploadKey, _: &SetAside) -> Result<Option<PathBuf>, BlobError> {
        unreachable!("digests set nothing aside")
    }

    fn uploads(&self) -> BoxStream<'static, Result<UploadKey, BlobError>> {
        unreachable!("digests list nothing")
    }

    fn files(&self, _: UploadKey) -> BoxStream<'static, Result<BlockRef, BlobError>> {
        unreachable!("digests list nothing")
    }

    async fn space(&self) -> Result<Space, BlobError> {
        unreachable!("digests need no space")
    }
}

/// Uploads blocks with one key.
struct Uploads {
    blobs: Arc<MemoryBlobs>,
    digests: Digests,
    stop: tokio_util::sync::CancellationToken,
}

impl Uploads {
    fn new() -> Self {
        let blobs = Arc::new(MemoryBlobs::default());
        let stop = tokio_util::sync::CancellationToken::new();
        Self { blobs: blobs.clone(), digests: Digests::new(blobs, Tasks::new(stop.clone()), 1), stop }
    }

    /// Writes a block and hashes it if it is next.
    fn write(&self, id: &str, file: u64, content: &[u8]) -> (BlockRef, Option<Claim>) {
        let mut claim = self.digests.claim(KEY, id);
        if let Some(claim) = &mut claim {
            claim.update(content);
        }
        self.blobs.files.lock().expect("no panic").insert(file, Bytes::copy_from_slice(content));
        (BlockRef { file, size: content.len() as u64 }, claim)
    }

    /// Writes and stores a block.
    fn put(&self, id: &str, file: u64, content: &[u8]) -> BlockRef {
        let (block, claim) = self.write(id, file, content);
        self.digests.stored(KEY, id, block, claim);
        block
    }

    fn content(&self, list: &[BlockRef]) -> Vec<u8> {
        let files = self.blobs.files.lock().expect("no panic");
        list.iter().flat_map(|block| files[&block.file].clone()).collect()
    }

    /// Returns whether the digest is right, and how many bytes were read since the last call.
    async fn check(&self, list: &[BlockRef]) -> (bool, u64) {
        let digest = self.digests.finish(KEY, &list.into()).await.expect("a digest");
        let read = std::mem::take(&mut *self.blobs.read.lock().expect("no panic"));
        (digest == <[u8; 32]>::from(Sha256::digest(self.content(list))), read)
    }
}

fn indexed(index: usize) -> String {
    BASE64_STANDARD.encode(format!("426a3665-4c11-4f6a-9d00-1234567890ab{index:012}"))
}

#[tokio::test]
async fn blocks_that_arrive_in_order_are_not_read_again() {
    let names = |name: fn(usize) -> String| (0..300).map(name).collect::<Vec<_>>();
    for ids in [names(indexed), names(|number| format!("{}!", 300 - number)), vec![String::new()], vec![]] {
        let uploads = Uploads::new();
        let list: Vec<_> = (0..).zip(&ids).map(|(file, id)| uploads.put(id, file, id.as_bytes())).collect();
        assert_eq!(uploads.check(&list).await, (true, 0), "{} blocks", ids.len());
        assert_eq!(uploads.check(&list).await, (true, 0), "the second check");
    }
}

#[tokio::test]
async fn blocks_that_arrive_out_of_order_are_read_once() {
    let uploads = Uploads::new();
    let mut list: Vec<_> =
        (0..10).rev().map(|index| uploads.put(&indexed(index), index as u64, b"0123456789")).collect();
    list.reverse();
    // Block 0 was hashed when it arrived.
    assert_eq!(uploads.check(&list).await, (true, 90));
}

#[tokio::test]
async fn only_blocks_after_the_first_difference_from_the_list_are_read() {
    let uploads = Uploads::new();
    let mut list: Vec<_> = (0..10).map(|index| uploads.put(&indexed(index), index as u64, &[b'a'; 10])).collect();
    list.swap(7, 8);
    assert_eq!(uploads.check(&list).await, (true, 30));
    list.truncate(9);
    assert!(uploads.check(&list).await.0);
}

#[tokio::test]
async fn a_rewritten_block_and_those_after_it_are_hashed_again() {
    let uploads = Uploads::new();
    let mut list: Vec<_> = (0..10).map(|index| uploads.put(&indexed(index), index as u64, &[b'a'; 10])).collect();
    list[6] = uploads.put(&indexed(6), 20, &[b'b'; 10]);
    uploads.blobs.remove(KEY, 6).await.expect("removed");
    assert_eq!(uploads.check(&list).await, (true, 40));
}

#[tokio::test]
async fn a_hanging_writer_does_not_block_its_retry() {
    let uploads = Uploads::new();
    let (hanging, claim) = uploads.write(&indexed(0), 0, b"half of it");
    assert!(claim.is_some());
    let list = [uploads.put(&indexed(0), 1, b"all of it")];
    uploads.digests.committed(KEY, &list.into());
    assert!(uploads.check(&list).await.0);
    uploads.digests.stored(KEY, &indexed(0), hanging, claim);
    assert_eq!(uploads.check(&list).await, (true, 0));
}

#[tokio::test]
async fn a_dropped_claim_is_released() {
    let uploads = Uploads::new();
    let claim = uploads.digests.claim(KEY, &indexed(0)).expect("block 0 comes first");
    assert!(uploads.digests.claim(KEY, &indexed(0)).is_none(), "a second claim is refused");
    assert!(uploads.digests.claim(KEY, &indexed(1)).is_none(), "only the next block can be claimed");
    drop(claim);
    assert!(uploads.digests.claim(KEY, &indexed(0)).is_some());
}

#[tokio::test]
async fn a_forgotten_upload_is_hashed_from_the_start() {
    let uploads = Uploads::new();
    let list = [uploads.put("one", 1, b"0123456789"), uploads.put("two", 2, b"0123456789")];
    uploads.digests.forget(KEY);
    assert_eq!(uploads.check(&list).await, (true, 20));
}

#[tokio::test]
async fn a_missing_block_is_an_error_until_it_is_stored() {
    let uploads = Uploads::new();
    let list: Arc<[_]> = [uploads.put("one", 1, b"one"), BlockRef { file: 2, size: 3 }].into();
    uploads.digests.committed(KEY, &list);
    for _ in 0..2 {
        let error = uploads.digests.finish(KEY, &list).await.expect_err("block 2 is missing");
        assert!(matches!(error, BlobError::Missing { file: 2, .. }), "{error:?}");
    }
    uploads.blobs.files.lock().expect("no panic").insert(2, Bytes::from_static(b"two"));
    assert!(uploads.check(&list).await.0);
}

#[tokio::test]
async fn stopping_ends_hashing() {
    let uploads = Uploads::new();
    let list: Arc<[_]> = [uploads.put("one", 1, b"one")].into();
    uploads.digests.forget(KEY);
    uploads.stop.cancel();
    let error = uploads.digests.finish(KEY, &list).await.expect_err("stopped");
    assert!(matches!(error, BlobError::Stopped { .. }), "{error:?}");
}

#[tokio::test]
async fn the_next_request_continues_the_hashing_of_a_cancelled_one() {
    let uploads = Uploads::new();
    let list = [uploads.put("one", 1, b"one"), uploads.put("two", 2, b"two")];
    uploads.digests.forget(KEY);
    let permit = uploads.digests.shared.job_permits.acquire().await.expect("open");
    let shared: Arc<[_]> = list.into();
    {
        let mut finishing = std::pin::pin!(uploads.digests.finish(KEY, &shared));
        assert!(futures_util::poll!(finishing.as_mut()).is_pending(), "it waits for the permit");
    }
    drop(permit);
    assert_eq!(uploads.check(&list).await, (true, 6));
}

#[tokio::test]
async fn uploads_wait_while_hashing_lags_but_not_for_missing_blocks() {
    let uploads = Uploads::new();
    let content = vec![0; 9 * 1024 * 1024];
    let permit = uploads.digests.shared.job_permits.acquire().await.expect("open");
    // Without the permit nothing is hashed, and without block 0 nothing is ready.
    for index in 1..5 {
        uploads.put(&indexed(index), index as u64, &content);
        uploads.digests.pace(KEY).await;
    }
    let (block, _released) = uploads.write(&indexed(0), 0, b"first");
    uploads.digests.stored(KEY, &indexed(0), block, None);
    let mut pacing = std::pin::pin!(uploads.digests.pace(KEY));
    assert!(futures_util::poll!(pacing.as_mut()).is_pending(), "36 MiB wait for the permit");
    drop(permit);
    pacing.await;
    assert!(!uploads.digests.shared.lock().by_upload[&KEY].chain.lags());
}

#[tokio::test]
async fn the_memory_of_the_chains_is_bounded() {
    let uploads = Uploads::new();
    let long: Arc<[_]> = vec![BlockRef { file: 1, size: 0 }; 50_000].into();
    for artifact in 0..20 {
        uploads.digests.committed(UploadKey { artifact, generation: 1 }, &long);
        let chains = uploads.digests.shared.lock();
        assert!(chains.weight <= WEIGHT_MAX, "{}", chains.weight);
        assert!(chains.by_upload.contains_key(&UploadKey { artifact, generation: 1 }), "the last used entry is kept");
        assert_eq!(chains.weight, chains.by_upload.values().map(|entry| entry.weight).sum::<usize>());
    }
}

/// A step of an upload.
#[derive(Clone, Debug)]
enum Step {
    /// A block with this id starts to arrive.
    Begin(usize),
    /// One of the arriving blocks is stored.
    Store(prop::sample::Index),
    /// One of the arriving blocks is abandoned.
    Abandon(prop::sample::Index),
    /// A list of the stored blocks is committed. It is not the last list.
    Commit,
    /// The cached state is removed.
    Forget,
    /// Other tasks run.
    Yield,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        8 => (0_usize..12).prop_map(Step::Begin),
        8 => any::<prop::sample::Index>().prop_map(Step::Store),
        1 => any::<prop::sample::Index>().prop_map(Step::Abandon),
        1 => Just(Step::Commit),
        1 => Just(Step::Forget),
        4 => Just(Step::Yield),
    ]
}

async fn any_upload(steps: Vec<Step>, with_positions: bool, order: Vec<prop::sample::Index>) -> (bool, bool) {
    let uploads = Uploads::new();
    let mut arriving = Vec::new();
    let mut rows = BTreeMap::new();
    for (file, step) in (0_u64..).zip(steps) {
        match step {
            Step::Begin(id) => {
                let id = if with_positions { indexed(id) } else { format!("{id}!") };
                let (block, claim) = uploads.write(&id, file, format!("{id} {file}").as_bytes());
                arriving.push((id, block, claim));
            }
            Step::Store(which) if !arriving.is_empty() => {
                let (id, block, claim) = arriving.swap_remove(which.index(arriving.len()));
                let old: Option<BlockRef> = rows.insert(id.clone(), block);
                uploads.digests.stored(KEY, &id, block, claim);
                if let Some(old) = old {
                    uploads.blobs.remove(KEY, old.file).await.expect("removed");
                }
            }
            Step::Abandon(which) if !arriving.is_empty() => {
                arriving.swap_remove(which.index(arriving.len()));
            }
            Step::Commit => uploads.digests.committed(KEY, &rows.values().copied().collect()),
            Step::Forget => uploads.digests.forget(KEY),
            Step::Store(_) | Step::Abandon(_) | Step::Yield => tokio::task::yield_now().await,
        }
    }
    // A random order of some of the blocks; in half of the cases the predicted order.
    let mut remaining: Vec<_> = rows.into_values().collect();
    let mut list = Vec::new();
    if order.len().is_multiple_of(2) {
        list.append(&mut remaining);
    }
    for which in order.iter().take(remaining.len()) {
        list.push(remaining.swap_remove(which.index(remaining.len())));
    }
    let (first, second) = futures_util::join!(uploads.check(&list), uploads.check(&list));
    (first.0, second.0)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn the_digest_is_correct_for_any_order_of_arrival_and_any_list(
        steps in prop::collection::vec(step(), 0..60),
        with_positions in any::<bool>(),
        order in prop::collection::vec(any::<prop::sample::Index>(), 0..12),
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
        prop_assert_eq!(runtime.block_on(any_upload(steps, with_positions, order)), (true, true));
    }
}
