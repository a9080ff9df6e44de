//! Artifacts: rows against lists of blocks, and lists against files.

use std::collections::{BTreeMap, BTreeSet};

use farrier_proto::store::{Artifact, ArtifactState, Block};
use futures_util::TryStreamExt as _;

use super::{Check, CheckError, Class};
use crate::{
    blob::{BlobStore as _, BlockRef, UploadKey},
    store::{Store, StoreError, Tx, artifacts as rows},
};

/// Rows that are read at a time.
const PAGE: usize = 200;

/// Looks at every artifact and every place on disk; gives the highest number of a block file.
pub(super) async fn check(check: &mut Check) -> Result<u64, CheckError> {
    let mut after = None;
    loop {
        let (page, next) = rows::batch(&check.store.read().await?, after.as_deref(), PAGE).await?;
        for row in page {
            check.report.artifacts += 1;
            one(check, &row).await?;
        }
        after = next;
        if after.is_none() {
            break;
        }
    }
    // Bytes first: what drops the rows of a place drops its bytes, too.
    let highest = uploads(check).await?;
    lists(check).await?;
    Ok(highest)
}

async fn one(check: &mut Check, row: &Artifact) -> Result<(), CheckError> {
    if let Some(content) = row.content.as_ref().filter(|_| row.state() == ArtifactState::Final) {
        let key = UploadKey { artifact: row.id, generation: content.generation };
        let list = rows::list(&check.store.read().await?, key.artifact, key.generation).await?;
        let size: u64 = list.iter().map(|block| block.size).sum();
        let whole = list.len() as u64 == u64::from(content.blocks) && size == content.size;
        if !whole {
            let message = format!(
                "its list has {} blocks with {size} bytes, its row {} with {}",
                list.len(),
                content.blocks,
                content.size
            );
            check.tell(Class::Damage, subject(row), message);
        }
        files(check, row, key, &list, whole).await?;
    }
    if let Some(upload) = &row.upload {
        let key = UploadKey { artifact: row.id, generation: upload.generation };
        let snapshot = check.store.read().await?;
        let mut list = rows::list(&snapshot, key.artifact, key.generation).await?;
        let uploaded = rows::all_blocks(&snapshot, key.artifact, key.generation, usize::MAX).await?;
        drop(snapshot);
        list.extend(uploaded.into_iter().map(|(_, block)| block));
        files(check, row, key, &list, true).await?;
    }
    Ok(())
}

fn subject(row: &Artifact) -> String {
    format!("artifact {} ({})", row.id, row.name)
}

/// Every block that is named has its file, of the right size, and no other file is there. Files that no
/// list names are dropped only if the list is `whole`: else a client's bytes may be among them.
async fn files(
    check: &mut Check,
    row: &Artifact,
    key: UploadKey,
    list: &[Block],
    whole: bool,
) -> Result<(), CheckError> {
    let mut found: BTreeMap<u64, u64> =
        check.blobs.files(key).map_ok(|block| (block.file, block.size)).try_collect().await?;
    let named: BTreeMap<u64, u64> = list.iter().map(|block| (block.file, block.size)).collect();
    for (file, size) in named {
        match found.remove(&file) {
            Some(is) if is == size => {}
            Some(is) => {
                check.tell(Class::Damage, subject(row), format!("block {file} has {is} bytes and should have {size}"));
            }
            None => check.tell(Class::Damage, subject(row), format!("block {file} is missing")),
        }
    }
    if found.is_empty() {
        return Ok(());
    }
    let message = format!("{} files are in no list of its blocks", found.len());
    let uploading = row.upload.as_ref().is_some_and(|upload| upload.generation == key.generation);
    if uploading || rows::is_marked_for_trim(&check.store.read().await?, key.artifact, key.generation).await? {
        check.tell(Class::Unfinished, subject(row), message);
    } else if !whole {
        check.tell(Class::Waste, subject(row), message);
    } else {
        let store = check.store.clone();
        check.mend((Class::Waste, subject(row), message), trim(&store, key)).await;
    }
    Ok(())
}

/// Has the daemon drop the files that no list names.
async fn trim(store: &Store, key: UploadKey) -> Result<(), StoreError> {
    store
        .write(async |tx: Tx| {
            rows::mark_trim(&tx, key.artifact, key.generation, 0);
            Ok(())
        })
        .await
}

/// Has the daemon drop the rows of a place that holds no bytes.
async fn reclaim(store: &Store, key: UploadKey) -> Result<(), StoreError> {
    store
        .write(async |tx: Tx| {
            rows::discard(&tx, key.artifact, key.generation, 0);
            Ok(())
        })
        .await
}

/// Every list of blocks belongs to an artifact.
async fn lists(check: &mut Check) -> Result<(), CheckError> {
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

/// Every place on disk belongs to an artifact.
async fn uploads(check: &mut Check) -> Result<u64, CheckError> {
    let places: BTreeSet<UploadKey> = check.blobs.uploads().try_collect().await?;
    let mut highest = 0;
    for key in places {
        let files: Vec<u64> = check.blobs.files(key).map_ok(|block| block.file).try_collect().await?;
        highest = files.into_iter().fold(highest, u64::max);
        orphan_bytes(check, key).await?;
    }
    Ok(highest)
}

/// Reports rows of blocks without an artifact. `--repair` has the daemon drop them with everything in
/// their place, so this requires that no bytes are left there.
async fn orphan_rows(check: &mut Check, key: UploadKey) -> Result<(), CheckError> {
    if is_known(&check.store, key).await? {
        return Ok(());
    }
    let bytes: Vec<BlockRef> = check.blobs.files(key).try_collect().await?;
    let (subject, message) = (key.to_string(), "rows of blocks that no artifact knows".to_owned());
    if check.options.repair && !bytes.is_empty() {
        check.tell(Class::Waste, subject, message);
        return Ok(());
    }
    let store = check.store.clone();
    check.mend((Class::Waste, subject, message), reclaim(&store, key)).await;
    Ok(())
}

/// Reports bytes of a place that no artifact has. `--repair` sets them aside: a missing row is no
/// proof that a client did not upload them.
async fn orphan_bytes(check: &mut Check, key: UploadKey) -> Result<(), CheckError> {
    if is_known(&check.store, key).await? {
        return Ok(());
    }
    let message = "bytes that no artifact knows; --repair moves them to set-aside".to_owned();
    let (blobs, aside) = (check.blobs.clone(), check.aside.clone());
    check.mend((Class::Waste, key.to_string(), message), blobs.set_aside(key, &aside)).await;
    Ok(())
}

/// Whether an artifact has the place, or the place waits to be reclaimed.
pub(super) async fn is_known(store: &Store, key: UploadKey) -> Result<bool, CheckError> {
    let snapshot = store.read().await?;
    let row = rows::get(&snapshot, key.artifact).await?;
    let live = row.is_some_and(|row| rows::live_generations(&row).any(|kept| kept == key.generation));
    Ok(live || rows::is_garbage(&snapshot, key.artifact, key.generation).await?)
}
