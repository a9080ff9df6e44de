//! Checks LFS objects: rows against files, and the recorded size of each repository.

use std::collections::BTreeMap;

use farrier_proto::store::{Block, LfsObject, Repository};
use futures_util::TryStreamExt as _;

use super::{Check, CheckError, Class, artifacts::check_content};
use crate::{
    blob::UploadKey,
    clock::Clock,
    store::{
        Store, StoreError, Tx,
        lfs::{self as rows, Oid},
        repositories,
    },
};

/// Rows to read per transaction.
const PAGE: usize = 200;

/// Checks every object, and the size of the objects of every repository.
pub(super) async fn check(check: &mut Check) -> Result<(), CheckError> {
    let mut after = None;
    loop {
        let (page, next) = rows::batch(&check.store.read().await?, after.as_deref(), PAGE).await?;
        for (oid, row) in page {
            check_object(check, &oid, &row).await?;
        }
        after = next;
        if after.is_none() {
            break;
        }
    }
    loop {
        let (page, next) = repositories::batch(&check.store.read().await?, after.as_deref(), PAGE).await?;
        for row in page {
            check_size(check, &row).await?;
        }
        after = next;
        if after.is_none() {
            return Ok(());
        }
    }
}

/// Checks that the bytes of an object exist, and that an object without a repository is marked for removal.
async fn check_object(check: &mut Check, oid: &Oid, row: &LfsObject) -> Result<(), CheckError> {
    let place = format!("artifacts/{}/{}/{}", row.id, rows::GENERATION, row.file);
    let subject = format!("LFS object {} in {place}", hex::encode(oid));
    let key = UploadKey { artifact: row.id, generation: rows::GENERATION };
    let found: BTreeMap<u64, u64> =
        check.blobs.files(key).map_ok(|block| (block.file, block.size)).try_collect().await?;
    match found.get(&row.file) {
        Some(size) if *size == row.size => {}
        Some(size) => {
            let message = format!("it has {size} bytes and should have {}", row.size);
            check.add_finding(Class::Damage, subject.clone(), message);
        }
        None => check.add_finding(Class::Damage, subject.clone(), "its bytes are missing"),
    }
    if check.options.content {
        check_content(check, subject.clone(), key, &[Block { file: row.file, size: row.size }], oid).await;
    }
    if row.unreferenced_ms == 0 && !rows::is_held(&check.store.read().await?, oid).await? {
        let message = "no repository has it, and it is not marked for removal".to_owned();
        let (store, now) = (check.store.clone(), Clock::system().now_ms());
        check.repair((Class::Waste, subject, message), mark_unreferenced(&store, oid, now)).await;
    }
    Ok(())
}

/// Marks an object without a repository, which the daemon removes a day later.
async fn mark_unreferenced(store: &Store, oid: &Oid, now_ms: i64) -> Result<(), StoreError> {
    store
        .write(async |tx: Tx| {
            if let Some(before) = rows::object(&tx, oid).await? {
                rows::put_object(&tx, oid, Some(&before), &LfsObject { unreferenced_ms: now_ms, ..before });
            }
            Ok(())
        })
        .await
}

/// Checks the recorded size of the objects of a repository.
async fn check_size(check: &mut Check, row: &Repository) -> Result<(), CheckError> {
    let actual = rows::size_of_entries(&check.store.read().await?, row.id).await?;
    if actual == row.lfs_size {
        return Ok(());
    }
    let subject = format!("repository {} ({})", row.id, row.name);
    let message = format!("the recorded size of its LFS objects is {} bytes, the actual size {actual}", row.lfs_size);
    let (store, id) = (check.store.clone(), row.id);
    let repair = store.write(async |tx: Tx| {
        if let Some(before) = repositories::get(&tx, id).await? {
            repositories::put(&tx, Some(&before), &Repository { lfs_size: actual, ..before.clone() });
        }
        Ok::<_, StoreError>(())
    });
    check.repair((Class::Damage, subject, message), repair).await;
    Ok(())
}
