//! Receives the bytes of uploads of artifacts and cache entries: blocks in any order, or the content in one request.

use std::pin::pin;

use bytes::Bytes;
use farrier_proto::store::{Block, Upload};
use futures_util::{Stream, StreamExt as _};

use super::{
    MISSING, NO_TARGET, commit::commit, files, missing, receiving::Receiving, require_repository, rows, validators,
};
use crate::{
    blob::{BlockRef, RequestedChecksums, UploadKey, WrittenBlock},
    model::conditions::{Conditions, Validators},
    service::{
        Context, Error, caches,
        claimed_writer::ClaimedWriter,
        disk_space::{DiskSpace, SpaceClaim},
        removals,
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
pub(super) const SINGLE_BLOCK: &str = "";

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
    let _share = context.work.uploads.take(input.holder)?;
    receive(context, key, block_id, input, None).await
}

/// Receives a chunk of a file of version 3, whose path has `path_bytes` bytes, as the block `block_id`. Otherwise like
/// [`put_block`].
pub(super) async fn put_chunk<S, E>(
    context: &Context,
    key: UploadKey,
    block_id: &str,
    path_bytes: u64,
    input: BlockInput<S>,
) -> Result<(), Error>
where
    S: Stream<Item = Result<Bytes, E>> + Send,
    E: std::fmt::Display,
{
    let _share = context.work.uploads.take(input.holder)?;
    receive(context, key, block_id, input, Some(path_bytes)).await
}

/// Stores the content that the daemon writes for an upload, and commits it. The caller holds a share of uploads.
pub(super) async fn put_content<S, E>(context: &Context, key: UploadKey, input: BlockInput<S>) -> Result<(), Error>
where
    S: Stream<Item = Result<Bytes, E>> + Send,
    E: std::fmt::Display,
{
    receive(context, key, SINGLE_BLOCK, input, None).await?;
    commit(context, key, &[SINGLE_BLOCK.to_owned()], &Conditions::default()).await.map(drop)
}

/// Receives the whole content in one request and commits it, if the upload meets the conditions before and after it
/// was received. Returns the validators of the committed content.
///
/// As on Azure, a request that a client repeats because its response was lost must meet the conditions again.
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
    let target = uploads::get(&context.store.read().await?, key.artifact).await?.ok_or(NO_TARGET)?;
    target.upload().map_or(Ok(()), require_blocks)?;
    let _share = context.work.uploads.take(input.holder)?;
    validators::require(conditions, target.upload(), target.content(), key)?;
    receive(context, key, SINGLE_BLOCK, input, None).await?;
    commit(context, key, &[SINGLE_BLOCK.to_owned()], conditions).await
}

async fn receive<S, E>(
    context: &Context,
    key: UploadKey,
    block_id: &str,
    input: BlockInput<S>,
    path_bytes: Option<u64>,
) -> Result<(), Error>
where
    S: Stream<Item = Result<Bytes, E>> + Send,
    E: std::fmt::Display,
{
    let _receiver = Receiving::begin(context, key);
    let snapshot = context.store.read().await?;
    let target = uploads::get(&snapshot, key.artifact).await?.ok_or(NO_TARGET)?;
    require_repository(&snapshot, &target).await?;
    drop(snapshot);
    let upload = open_upload(&target, key)?;
    if path_bytes.is_none() && block_id != SINGLE_BLOCK {
        require_blocks(upload)?;
    }
    let space = claim_space(context, input.length, max_bytes(context, &target)).await?;
    let _counted = match &target {
        UploadTarget::CacheEntry(row) => Some(caches::count_upload(context, row.repository_id, input.length).await?),
        UploadTarget::Artifact(_) => None,
    };

    let file = context.store.next_id(IdKind::BlockFile).await?;
    let written = write(context, key, file, block_id, input, space).await?;
    let block = Block { file, size: written.size };
    let replaced = record(context, key, block_id, block, path_bytes).await;
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
            // then. These errors mean that nothing was written.
            if matches!(error, Error::NotFound { .. } | Error::Invalid { .. }) {
                discard_file(context, key, file).await;
            }
            Err(error)
        }
    }
}

/// Returns the upload, or an error unless it is the target's current one.
pub(super) fn open_upload(target: &UploadTarget, key: UploadKey) -> Result<&Upload, Error> {
    target.upload().filter(|upload| upload.generation == key.generation).ok_or_else(|| missing(target))
}

/// Checks that the client uploads blocks. Those of version 3 are chunks, which the daemon checks and counts, and their
/// content is written by the daemon.
pub(super) fn require_blocks(upload: &Upload) -> Result<(), Error> {
    if upload.version == files::VERSION { Err(MISSING) } else { Ok(()) }
}

/// Returns the largest size of the content.
pub(super) fn max_bytes(context: &Context, target: &UploadTarget) -> u64 {
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
    space: SpaceClaim,
) -> Result<WrittenBlock, Error>
where
    S: Stream<Item = Result<Bytes, E>> + Send,
    E: std::fmt::Display,
{
    let BlockInput { length, checks, body, .. } = input;
    let requested = RequestedChecksums { md5: checks.md5.is_some(), crc64: checks.crc64.is_some(), sha256: false };
    let writer = context.blobs.create(key, file, requested, context.digests.claim(key, block_id));
    let mut writer = ClaimedWriter::new(writer, space, "writing a block");
    let mut body = pin!(body);
    let mut received = 0_u64;
    while let Some(bytes) = body.next().await {
        let bytes = bytes.map_err(|error| Error::Body { reason: format!("the body ended early: {error}") })?;
        received += bytes.len() as u64;
        if received > length {
            return Err(Error::Body { reason: "the body is longer than announced in its header".into() });
        }
        writer.write(context, bytes).await?;
    }
    if received != length {
        return Err(Error::Body { reason: "the body is shorter than announced in its header".into() });
    }
    let written = writer.finish().await?;
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

/// Writes the row of a block and returns the block that it replaces. `path_bytes`: of the file, if it is a chunk.
async fn record(
    context: &Context,
    key: UploadKey,
    block_id: &str,
    block: Block,
    path_bytes: Option<u64>,
) -> Result<Option<Block>, Error> {
    let now = context.now_ms();
    context
        .store
        .write(async |tx: Tx| {
            let target = uploads::get(&tx, key.artifact).await?.ok_or(NO_TARGET)?;
            require_repository(&tx, &target).await?;
            let upload = open_upload(&target, key)?;
            let replaced = rows::block(&tx, key.artifact, key.generation, block_id).await?;
            // A committed list may refer to the replaced file, which therefore stays until the upload ends.
            let committed = upload.committed.is_some();
            rows::put_block(&tx, key.artifact, key.generation, block_id, &block);
            if let (Some(path_bytes), None) = (path_bytes, &replaced) {
                target.put_upload(&tx, files::count_chunk(upload, path_bytes)?);
            }
            target.put_progress(&tx, now);
            Ok(replaced.filter(|_| !committed))
        })
        .await
}

/// Removes a file without a row. After an error, or if a backup may still need it, the sweep removes it.
async fn discard_file(context: &Context, key: UploadKey, file: u64) {
    match removals::are_held(context).await {
        Ok(false) => {}
        Ok(true) => return,
        Err(error) => {
            tracing::warn!(error = &error as &dyn std::error::Error, "a dropped block stays until the sweep");
            return;
        }
    }
    if let Err(error) = context.blobs.remove(key, file).await {
        tracing::warn!(error = &error as &dyn std::error::Error, "a dropped block was not removed");
    }
}

/// Returns the ID of the repository to which the artifact or cache entry of an upload belongs.
pub async fn upload_repository(context: &Context, key: UploadKey) -> Result<u64, Error> {
    let target = uploads::get(&context.store.read().await?, key.artifact).await?.ok_or(NO_TARGET)?;
    Ok(target.repository_id())
}

/// Returns whether the upload belongs to a cache entry.
pub async fn is_cache_upload(context: &Context, key: UploadKey) -> Result<bool, Error> {
    let target = uploads::get(&context.store.read().await?, key.artifact).await?;
    Ok(matches!(target, Some(UploadTarget::CacheEntry(_))))
}
