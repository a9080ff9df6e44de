//! Checks artifacts and cache entries: rows against block lists, and block lists against files.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use farrier_proto::store::{Artifact, ArtifactState, Block, CacheEntry, Content, Upload};
use futures_util::TryStreamExt as _;

use super::{Check, CheckError, Class};
use crate::{
    blob::{BlobError, BlockRef, UploadKey},
    store::{Store, StoreError, Tx, artifacts as rows, caches, lfs, releases::assets, uploads},
};

/// Rows to read per transaction.
const PAGE: usize = 200;

/// What is checked of an artifact or a cache entry.
struct Stored {
    id: u64,
    /// The row in findings.
    subject: String,
    content: Option<Content>,
    upload: Option<Upload>,
}

impl Stored {
    fn artifact(row: Artifact) -> Self {
        let content = if row.state() == ArtifactState::Final { row.content } else { None };
        Self { id: row.id, subject: format!("artifact {} ({})", row.id, row.name), content, upload: row.upload }
    }

    fn cache_entry(row: CacheEntry) -> Self {
        let subject = format!("cache entry {} ({})", row.id, row.key);
        Self { id: row.id, subject, content: row.content, upload: row.upload }
    }
}

/// Checks every artifact, every cache entry and every upload directory. Returns the highest id of a block file.
pub(super) async fn check(check: &mut Check) -> Result<u64, CheckError> {
    let mut after = None;
    loop {
        let (page, next) = rows::batch(&check.store.read().await?, after.as_deref(), PAGE).await?;
        for row in page {
            check.report.artifacts += 1;
            check_stored(check, &Stored::artifact(row)).await?;
        }
        after = next;
        if after.is_none() {
            break;
        }
    }
    loop {
        let (page, next) = caches::batch(&check.store.read().await?, after.as_deref(), PAGE).await?;
        for row in page {
            check_stored(check, &Stored::cache_entry(row)).await?;
        }
        after = next;
        if after.is_none() {
            break;
        }
    }
    release_assets(check).await?;
    // Bytes before rows: repairing the rows of an upload also removes its files.
    let highest = check_uploads(check).await?;
    check_lists(check).await?;
    Ok(highest)
}

/// Checks that the bytes of every file of a release exist.
async fn release_assets(check: &mut Check) -> Result<(), CheckError> {
    let mut after = None;
    loop {
        let (page, next) = assets::batch(&check.store.read().await?, after.as_deref(), PAGE).await?;
        for row in page {
            let key = UploadKey { artifact: row.id, generation: assets::GENERATION };
            let subject = format!("file {} of a release ({})", row.id, row.name);
            let found: BTreeMap<u64, u64> =
                check.blobs.files(key).map_ok(|block| (block.file, block.size)).try_collect().await?;
            let block = Block { file: row.file, size: row.size };
            match found.get(&row.file) {
                Some(size) if *size == row.size => {}
                Some(size) => {
                    let message = format!("it has {size} bytes and should have {}", row.size);
                    check.add_finding(Class::Damage, subject.clone(), message);
                }
                None => check.add_finding(Class::Damage, subject.clone(), "its bytes are missing".to_owned()),
            }
            if check.options.content {
                check_content(check, subject, key, &[block], &row.sha256).await;
            }
        }
        after = next;
        if after.is_none() {
            return Ok(());
        }
    }
}

async fn check_stored(check: &mut Check, row: &Stored) -> Result<(), CheckError> {
    if let Some(content) = &row.content {
        let key = UploadKey { artifact: row.id, generation: content.generation };
        let list = rows::list(&check.store.read().await?, key.artifact, key.generation).await?;
        let size: u64 = list.iter().map(|block| block.size).sum();
        let complete = list.len() as u64 == u64::from(content.blocks) && size == content.size;
        if !complete {
            let message = format!(
                "its list has {} blocks with {size} bytes, its row {} with {}",
                list.len(),
                content.blocks,
                content.size
            );
            check.add_finding(Class::Damage, row.subject.clone(), message);
        }
        check_files(check, row, key, &list, complete).await?;
        if check.options.content && complete {
            check_content(check, row.subject.clone(), key, &list, &content.sha256).await;
        }
    }
    if let Some(upload) = &row.upload {
        let key = UploadKey { artifact: row.id, generation: upload.generation };
        let snapshot = check.store.read().await?;
        let mut list = rows::list(&snapshot, key.artifact, key.generation).await?;
        let uploaded = rows::all_blocks(&snapshot, key.artifact, key.generation, usize::MAX).await?;
        drop(snapshot);
        list.extend(uploaded.into_iter().map(|(_, block)| block));
        check_files(check, row, key, &list, true).await?;
    }
    Ok(())
}

/// Compares the bytes of an artifact or a file of a release with their SHA-256. Missing and short blocks are reported
/// by the check of files.
pub(super) async fn check_content(check: &mut Check, subject: String, key: UploadKey, list: &[Block], sha256: &[u8]) {
    let blocks: Arc<[BlockRef]> = list.iter().map(|block| BlockRef { file: block.file, size: block.size }).collect();
    let size = blocks.iter().map(|block| block.size).sum();
    let mut reader = check.blobs.read(key, blocks, 0..size).verified(key, sha256.to_vec(), |_| {});
    loop {
        match reader.try_next().await {
            Ok(Some(_)) => {}
            Ok(None) | Err(BlobError::Missing { .. } | BlobError::Short { .. }) => return,
            Err(BlobError::Digest { .. }) => {
                let message = "its bytes do not have the recorded SHA-256: they were changed after the upload";
                return check.add_finding(Class::Damage, subject, message);
            }
            Err(error) => {
                return check.add_finding(Class::Damage, subject, format!("it cannot be read: {error}"));
            }
        }
    }
}

/// Checks that every listed block has a file of the right size and that there are no other files.
///
/// Removes unlisted files only if the list is `complete`. Otherwise the bytes of a client may be among them.
async fn check_files(
    check: &mut Check,
    row: &Stored,
    key: UploadKey,
    list: &[Block],
    complete: bool,
) -> Result<(), CheckError> {
    let mut found: BTreeMap<u64, u64> =
        check.blobs.files(key).map_ok(|block| (block.file, block.size)).try_collect().await?;
    let named: BTreeMap<u64, u64> = list.iter().map(|block| (block.file, block.size)).collect();
    for (file, size) in named {
        match found.remove(&file) {
            Some(is) if is == size => {}
            Some(is) => {
                check.add_finding(
                    Class::Damage,
                    row.subject.clone(),
                    format!("block {file} has {is} bytes and should have {size}"),
                );
            }
            None => check.add_finding(Class::Damage, row.subject.clone(), format!("block {file} is missing")),
        }
    }
    if found.is_empty() {
        return Ok(());
    }
    let message = format!("{} files are not in its block list", found.len());
    let uploading = row.upload.as_ref().is_some_and(|upload| upload.generation == key.generation);
    if uploading || rows::is_marked_for_trim(&check.store.read().await?, key.artifact, key.generation).await? {
        check.add_finding(Class::Unfinished, row.subject.clone(), message);
    } else if !complete {
        check.add_finding(Class::Waste, row.subject.clone(), message);
    } else {
        let store = check.store.clone();
        check.repair((Class::Waste, row.subject.clone(), message), trim(&store, key)).await;
    }
    Ok(())
}

/// Marks an upload so that the daemon removes its unlisted files.
async fn trim(store: &Store, key: UploadKey) -> Result<(), StoreError> {
    store
        .write(async |tx: Tx| {
            rows::mark_trim(&tx, key.artifact, key.generation, 0);
            Ok(())
        })
        .await
}

/// Marks the rows of an upload without files so that the daemon removes them.
async fn reclaim(store: &Store, key: UploadKey) -> Result<(), StoreError> {
    store
        .write(async |tx: Tx| {
            rows::discard(&tx, key.artifact, key.generation, 0);
            Ok(())
        })
        .await
}

/// Checks that every block list belongs to an artifact.
async fn check_lists(check: &mut Check) -> Result<(), CheckError> {
    for kind in [rows::BlockRows::Uploaded, rows::BlockRows::Committed] {
        let mut after = None;
        loop {
            let next = rows::next_generation(&check.store.read().await?, kind, after).await?;
            let Some((artifact, generation)) = next else { break };
            after = next;
            orphan_rows(check, UploadKey { artifact, generation }).await?;
        }
    }
    Ok(())
}

/// Checks that every upload directory belongs to an artifact. Returns the highest id of a block file.
async fn check_uploads(check: &mut Check) -> Result<u64, CheckError> {
    let keys: BTreeSet<UploadKey> = check.blobs.uploads().try_collect().await?;
    let mut highest = 0;
    for key in keys {
        let files: Vec<u64> = check.blobs.files(key).map_ok(|block| block.file).try_collect().await?;
        highest = files.into_iter().fold(highest, u64::max);
        orphan_bytes(check, key).await?;
    }
    Ok(highest)
}

/// Reports block rows without an artifact. `--repair` marks them so that the daemon removes them together with all
/// files of the upload, so this requires that no files are left.
async fn orphan_rows(check: &mut Check, key: UploadKey) -> Result<(), CheckError> {
    if is_known(&check.store, key).await? {
        return Ok(());
    }
    let bytes: Vec<BlockRef> = check.blobs.files(key).try_collect().await?;
    let (subject, message) = (key.to_string(), "block rows that belong to no artifact".to_owned());
    if check.options.repair && !bytes.is_empty() {
        check.add_finding(Class::Waste, subject, message);
        return Ok(());
    }
    let store = check.store.clone();
    check.repair((Class::Waste, subject, message), reclaim(&store, key)).await;
    Ok(())
}

/// Reports files of an upload that belong to no artifact. `--repair` sets them aside instead of deleting them: a
/// missing row does not prove that no client uploaded them.
async fn orphan_bytes(check: &mut Check, key: UploadKey) -> Result<(), CheckError> {
    if is_known(&check.store, key).await? {
        return Ok(());
    }
    let message = "bytes that belong to no artifact; --repair moves them to set-aside".to_owned();
    let (blobs, aside) = (check.blobs.clone(), check.aside.clone());
    check.repair((Class::Waste, key.to_string(), message), blobs.set_aside(key, &aside)).await;
    Ok(())
}

/// Returns whether an artifact refers to the upload, or the daemon is going to remove it.
pub(super) async fn is_known(store: &Store, key: UploadKey) -> Result<bool, CheckError> {
    let snapshot = store.read().await?;
    let target = uploads::get(&snapshot, key.artifact).await?;
    let live = target.is_some_and(|target| target.live_generations().contains(&key.generation));
    let is_garbage = rows::is_garbage(&snapshot, key.artifact, key.generation).await?;
    Ok(live
        || is_garbage
        || assets::is_known(&snapshot, key.artifact, key.generation).await?
        || lfs::is_known(&snapshot, key.artifact, key.generation).await?)
}
