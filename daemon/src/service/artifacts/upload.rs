//! Receives uploads of artifacts and cache entries: blocks in any order, then the list that orders them.

use std::{collections::HashSet, pin::pin, sync::Arc};

use bytes::Bytes;
use farrier_proto::store::{Block, Committed, Content, Upload};
use futures_util::{Stream, StreamExt as _};

use super::{MISSING, block_ref, receiving::Receiving, require_repository, rows, validators};
use crate::{
    blob::{BlobError, BlockRef, RequestedChecksums, UploadKey, WrittenBlock},
    clock::Millis,
    model::{
        conditions::{Conditions, Validators},
        secret,
    },
    service::{
        Context, Error,
        disk_space::{DiskSpace, SpaceClaim},
    },
    shares::Holder,
    store::{
        Tx,
        ids::IdKind,
        uploads::{self, UploadTarget},
    },
};

/// Longest block id, in bytes. Azure's ids have at most 88; the limit here only keeps store keys short.
const BLOCK_ID_MAX_BYTES: usize = 256;
/// Block id of content that is uploaded in one request. Clients cannot use it, because ids are not empty.
const SINGLE_BLOCK: &str = "";

/// Maximum number of bytes that a list may repeat. A list may name a block more than once, as in Azure. Without a
/// limit, a client with one small block could create an artifact of gigabytes, which finalizing and each download would
/// read completely. No artifact client repeats blocks.
const REPEATED_MAX_BYTES: u64 = 64 << 20;

/// Checksums that the client sent with a block.
#[derive(Clone, Copy, Debug, Default)]
pub struct ExpectedChecksums {
    /// `Content-MD5`
    pub md5: Option<[u8; 16]>,
    /// `x-ms-content-crc64`
    pub crc64: Option<u64>,
}

/// A block being received.
pub struct BlockInput<S> {
    /// Number of bytes that the client announced.
    pub length: u64,
    /// Expected checksums.
    pub checks: ExpectedChecksums,
    /// The client, for the shares of uploads.
    pub holder: Holder,
    /// The bytes. An error means that the client disconnected or stalled.
    pub body: S,
}

/// Receives one block. It is durable when this returns. A later block with the same id replaces it.
pub async fn put_block<S, E>(
    context: &Context,
    key: UploadKey,
    block_id: &str,
    input: BlockInput<S>,
) -> Result<(), Error>
where
    S: Stream<Item = Result<Bytes, E>> + Send,
    E: std::fmt::Display,
{
    let plain = block_id.chars().all(|c| !c.is_control());
    if block_id.is_empty() || block_id.len() > BLOCK_ID_MAX_BYTES || !plain {
        let reason = format!("must have 1 to {BLOCK_ID_MAX_BYTES} bytes and no control characters");
        return Err(Error::invalid("blockid", reason));
    }
    receive(context, key, block_id, input).await
}

/// Receives the whole content in one request and commits it, if the upload meets the conditions before and after it
/// was received. Returns the validators of the committed content.
pub async fn put_blob<S, E>(
    context: &Context,
    key: UploadKey,
    input: BlockInput<S>,
    conditions: &Conditions,
) -> Result<Validators, Error>
where
    S: Stream<Item = Result<Bytes, E>> + Send,
    E: std::fmt::Display,
{
    let target = uploads::get(&context.store.read().await?, key.artifact).await?.ok_or(MISSING)?;
    validators::require(conditions, target.upload(), target.content(), key)?;
    receive(context, key, SINGLE_BLOCK, input).await?;
    commit(context, key, &[SINGLE_BLOCK.to_owned()], conditions).await
}

async fn receive<S, E>(context: &Context, key: UploadKey, block_id: &str, input: BlockInput<S>) -> Result<(), Error>
where
    S: Stream<Item = Result<Bytes, E>> + Send,
    E: std::fmt::Display,
{
    let _share = context.work.uploads.take(input.holder)?;
    let _receiver = Receiving::begin(context, key);
    let snapshot = context.store.read().await?;
    let target = uploads::get(&snapshot, key.artifact).await?.ok_or(MISSING)?;
    require_repository(&snapshot, target.repository_id()).await?;
    drop(snapshot);
    open_upload(&target, key)?;
    let space = claim_space(context, input.length, max_bytes(context, &target)).await?;

    let file = context.store.next_id(IdKind::BlockFile).await?;
    let written = write(context, key, file, block_id, input, space).await?;
    let block = Block { file, size: written.size };
    let replaced = record(context, key, block_id, block).await;
    match replaced {
        Ok(replaced) => {
            let block = BlockRef { file, size: written.size };
            context.digests.stored(key, block_id, block, written.claim);
            if let Some(old) = replaced {
                discard_file(context, key, old.file).await;
            }
            // Slows down clients that are faster than hashing, so that finalize need not hash everything.
            context.digests.pace(key).await;
            Ok(())
        }
        Err(error) => {
            // If the outcome of the commit is unknown, a row may refer to the file. Only the sweep may decide
            // then.
            if matches!(error, Error::NotFound { .. }) {
                discard_file(context, key, file).await;
            }
            Err(error)
        }
    }
}

/// Returns the upload, or an error unless it is the target's current one.
fn open_upload(target: &UploadTarget, key: UploadKey) -> Result<&Upload, Error> {
    target.upload().filter(|upload| upload.generation == key.generation).ok_or(MISSING)
}

/// Returns the largest size of the content.
fn max_bytes(context: &Context, target: &UploadTarget) -> u64 {
    match target {
        UploadTarget::Artifact(_) => context.config.artifacts.max_bytes,
        UploadTarget::CacheEntry(_) => context.config.caches.largest_entry(),
    }
}

async fn claim_space(context: &Context, length: u64, limit: u64) -> Result<SpaceClaim, Error> {
    if length > limit {
        return Err(Error::TooLarge { limit });
    }
    DiskSpace::claim_for_upload(context, length).await
}

async fn write<S, E>(
    context: &Context,
    key: UploadKey,
    file: u64,
    block_id: &str,
    input: BlockInput<S>,
    mut space: SpaceClaim,
) -> Result<WrittenBlock, Error>
where
    S: Stream<Item = Result<Bytes, E>> + Send,
    E: std::fmt::Display,
{
    let BlockInput { length, checks, body, .. } = input;
    let requested = RequestedChecksums { md5: checks.md5.is_some(), crc64: checks.crc64.is_some() };
    let mut writer = context.blobs.create(key, file, requested, context.digests.claim(key, block_id));
    let mut body = pin!(body);
    let mut received = 0_u64;
    while let Some(bytes) = body.next().await {
        let bytes = bytes.map_err(|error| Error::Body { reason: format!("the body ended early: {error}") })?;
        let chunk = bytes.len() as u64;
        received += chunk;
        if received > length {
            return Err(Error::Body { reason: "the body is longer than announced in its header".into() });
        }
        writer.write(bytes).await.map_err(failed_write)?;
        space.written(chunk);
    }
    if received != length {
        return Err(Error::Body { reason: "the body is shorter than announced in its header".into() });
    }
    let written = writer.finish().await.map_err(failed_write)?;
    let wrong = [
        ("Content-MD5", checks.md5.is_some() && checks.md5 != written.md5),
        ("x-ms-content-crc64", checks.crc64.is_some() && checks.crc64 != written.crc64),
    ];
    if let Some((field, _)) = wrong.into_iter().find(|(_, wrong)| *wrong) {
        discard_file(context, key, file).await;
        return Err(Error::invalid(field, "does not match the received bytes"));
    }
    Ok(written)
}

fn failed_write(source: BlobError) -> Error {
    match source {
        BlobError::Full { .. } => Error::NoSpace,
        source => Error::Blob { doing: "writing a block", source },
    }
}

/// Writes the row of a block and returns the block that it replaces.
async fn record(context: &Context, key: UploadKey, block_id: &str, block: Block) -> Result<Option<Block>, Error> {
    let now = context.now_ms();
    context
        .store
        .write(async |tx: Tx| {
            let target = uploads::get(&tx, key.artifact).await?.ok_or(MISSING)?;
            require_repository(&tx, target.repository_id()).await?;
            let upload = open_upload(&target, key)?;
            let replaced = rows::block(&tx, key.artifact, key.generation, block_id).await?;
            // A committed list may refer to the replaced file, which therefore stays until the upload ends.
            let committed = upload.committed.is_some();
            rows::put_block(&tx, key.artifact, key.generation, block_id, &block);
            target.put_progress(&tx, now);
            Ok(replaced.filter(|_| !committed))
        })
        .await
}

/// Removes a file without a row. After an error the sweep removes it.
async fn discard_file(context: &Context, key: UploadKey, file: u64) {
    if let Err(error) = context.blobs.remove(key, file).await {
        tracing::warn!(error = &error as &dyn std::error::Error, "a dropped block was not removed");
    }
}

/// Returns the ID of the repository to which the artifact or cache entry of an upload belongs.
pub async fn upload_repository(context: &Context, key: UploadKey) -> Result<u64, Error> {
    let target = uploads::get(&context.store.read().await?, key.artifact).await?.ok_or(MISSING)?;
    Ok(target.repository_id())
}

/// Commits the block list, which orders the uploaded blocks, if the upload meets the conditions. Unlisted blocks are
/// dropped. Returns the validators of the committed content.
///
/// Committing the same list again changes nothing, also after the upload was finalized. It needs to meet no
/// conditions, because the client may repeat a request whose response was lost.
pub async fn commit(
    context: &Context,
    key: UploadKey,
    block_ids: &[String],
    conditions: &Conditions,
) -> Result<Validators, Error> {
    if block_ids.len() > rows::BLOCKS_MAX {
        return Err(Error::invalid("blocklist", format!("names more than {} blocks", rows::BLOCKS_MAX)));
    }
    let list_sha256 = list_hash(block_ids);
    let list_ref = &list_sha256;
    let now = context.now_ms();
    let (validators, blocks) = context
        .store
        .write(async |tx: Tx| {
            let target = uploads::get(&tx, key.artifact).await?.ok_or(MISSING)?;
            require_repository(&tx, target.repository_id()).await?;
            if let Some(validators) = finalized_as(target.content(), key, list_ref) {
                return Ok((validators, None));
            }
            let mut upload = open_upload(&target, key)?.clone();
            let found = rows::blocks(&tx, key.artifact, key.generation, block_ids).await?;
            let blocks: Option<Vec<Block>> = found.into_iter().collect();
            let blocks = blocks.ok_or_else(|| Error::invalid("blocklist", "names a block that was not uploaded"))?;
            let committed = committed(&blocks, list_ref, max_bytes(context, &target), now)?;
            let earlier = upload.committed.as_ref();
            if let Some(earlier) =
                earlier.filter(|&earlier| Committed { committed_ms: now, ..earlier.clone() } == committed)
            {
                return Ok((validators::of_commit(earlier), None));
            }
            validators::require(conditions, target.upload(), target.content(), key)?;
            let stale = upload.committed.as_ref().map_or(0, |c| rows::pages(u64::from(c.blocks)));
            rows::put_list(&tx, key.artifact, key.generation, &blocks, stale);
            let validators = validators::of_commit(&committed);
            upload.committed = Some(committed);
            target.put_upload(&tx, upload);
            Ok::<_, Error>((validators, Some(blocks)))
        })
        .await?;
    if let Some(blocks) = blocks {
        let refs: Arc<[BlockRef]> = blocks.iter().map(block_ref).collect();
        context.digests.committed(key, &refs);
    }
    Ok(validators)
}

/// Returns the commit at `now` for a list of these blocks.
fn committed(blocks: &[Block], list_sha256: &[u8], max_bytes: u64, now: Millis) -> Result<Committed, Error> {
    let size = blocks.iter().map(|block| block.size).sum();
    if size > max_bytes {
        return Err(Error::TooLarge { limit: max_bytes });
    }
    if repeated_bytes(blocks) > REPEATED_MAX_BYTES {
        return Err(Error::invalid("blocklist", format!("repeats more than {REPEATED_MAX_BYTES} bytes of its blocks")));
    }
    let files: Vec<u8> = blocks.iter().flat_map(|block| block.file.to_be_bytes()).collect();
    Ok(Committed {
        size,
        blocks: u32::try_from(blocks.len()).unwrap_or(u32::MAX),
        list_sha256: list_sha256.to_vec(),
        files_sha256: secret::sha256(&files).to_vec(),
        committed_ms: now,
    })
}

/// Returns the number of bytes that a list of these blocks has more than the blocks themselves.
fn repeated_bytes(blocks: &[Block]) -> u64 {
    let mut seen = HashSet::with_capacity(blocks.len());
    blocks.iter().filter(|block| !seen.insert(block.file)).map(|block| block.size).sum()
}

/// Returns the validators of the finalized content if its list was this one. The ids of its blocks are no longer
/// stored then.
fn finalized_as(content: Option<&Content>, key: UploadKey, list_sha256: &[u8]) -> Option<Validators> {
    let content = content.filter(|content| content.generation == key.generation);
    let content = content.filter(|content| content.list_sha256 == list_sha256)?;
    Some(validators::of_content(content, content.committed_ms))
}

fn list_hash(block_ids: &[String]) -> [u8; 32] {
    // Ids contain no control characters, so a line break separates them unambiguously.
    let lines: Vec<u8> = block_ids.iter().flat_map(|id| id.bytes().chain([b'\n'])).collect();
    secret::sha256(&lines)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_empty_list_and_a_list_of_the_single_block_differ() {
        let list = |ids: &[&str]| list_hash(&ids.iter().map(|id| (*id).to_owned()).collect::<Vec<_>>());
        assert_ne!(list(&[]), list(&[SINGLE_BLOCK]));
        assert_ne!(list(&["a", "b"]), list(&["ab"]));
    }

    #[test]
    fn a_list_may_repeat_a_limited_number_of_bytes() {
        let block = |file| Block { file, size: 4 << 20 };
        let commit =
            |repeats: usize| committed(&[vec![block(1)], vec![block(2); repeats + 1]].concat(), b"", u64::MAX, 1);
        assert_eq!(commit(16).expect("64 MiB").size, 72 << 20);
        assert!(matches!(commit(17), Err(Error::Invalid { field: "blocklist", .. })));
    }

    #[test]
    fn the_same_ids_with_other_bytes_give_another_commit() {
        let commit = |file| committed(&[Block { file, size: 3 }], b"ids", 10, 1).expect("small");
        assert_ne!(commit(1), commit(2));
        assert!(matches!(committed(&[Block { file: 1, size: 11 }], b"ids", 10, 1), Err(Error::TooLarge { limit: 10 })));
    }
}
