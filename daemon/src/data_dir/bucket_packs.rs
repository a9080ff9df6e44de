//! Makes the rows of packs agree with the bucket of the configuration, by the decision of an operator.

use super::DataDirError;
use crate::{
    blob::{PackObject, PackObjects},
    config::Config,
    store::{
        Store, StoreError, Tx,
        packs::{self, Packs, bucket},
        repositories,
    },
};

/// Rows of repositories to read at a time.
const PAGE: usize = 200;

/// Makes each row name only objects that exist in `objects`; without a bucket, no row names any. The daemon stores the
/// others again when it runs. Nothing is removed from a bucket.
pub(super) async fn adopt(config: &Config, store: &Store, objects: Option<&PackObjects>) -> Result<(), DataDirError> {
    let failed = |source: StoreError| DataDirError::from_store(config, source);
    let mut after = None;
    loop {
        let read = store.read().await.map_err(failed)?;
        let (page, next) = repositories::batch(&read, after.as_deref(), PAGE).await.map_err(failed)?;
        let mut named = Vec::new();
        for row in page {
            named.push((row.id, packs::all(&read, row.id).await.map_err(failed)?));
        }
        drop(read);
        for (repository, packs) in named {
            let missing = &missing(repository, packs, objects).await?;
            if !missing.is_empty() {
                let cleared = store.write(async |tx: Tx| {
                    bucket::clear_objects(&tx, repository, missing);
                    Ok(())
                });
                cleared.await.map_err(failed)?;
            }
        }
        after = next;
        if after.is_none() {
            break;
        }
    }
    let has_bucket = objects.is_some();
    let noted = store.write(async |tx: Tx| {
        if has_bucket {
            // The manifests of repositories that were adopted are not written yet.
            return bucket::note_incomplete(&tx).await;
        }
        bucket::forget_place(&tx);
        Ok(())
    });
    noted.await.map_err(failed)
}

/// Returns the packs whose objects do not exist, or have another size.
async fn missing(repository: u64, packs: Packs, objects: Option<&PackObjects>) -> Result<Packs, DataDirError> {
    let mut missing = Packs::new();
    for (name, row) in packs.into_iter().filter(|(_, row)| !row.object.is_empty()) {
        let pack = PackObject { repository, name, object: row.object.clone() };
        let exists = match objects {
            Some(objects) => objects.sizes(&pack).await? == [Some(row.bytes), Some(row.index_bytes)],
            None => false,
        };
        if !exists {
            missing.insert(pack.name, row);
        }
    }
    Ok(missing)
}
