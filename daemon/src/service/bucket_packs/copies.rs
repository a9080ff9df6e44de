//! Copies packs of a repository to a fork within the bucket, so that a fork of a large repository sends no bytes.

use std::error::Error as StdError;

use farrier_proto::store::StoredPack;
use futures_util::{FutureExt as _, StreamExt as _, stream};

use super::PACKS_AT_ONCE;
use crate::{
    blob::{PackObject, PackObjects},
    service::Context,
    store::packs::Packs,
};

/// Copies the packs of the repository `source` that are in the bucket, for the repository `fork`, and returns their
/// rows. A pack that the server does not copy is left out: the caller sends it.
///
/// The rows of the fork are written after this. The objects of the source may be removed meanwhile: then nothing is
/// copied. Copies without a row are removed by the sweep.
pub(in crate::service) async fn copied(context: &Context, (source, packs): (u64, Packs), fork: u64) -> Packs {
    let Some(objects) = &context.packs else { return Packs::new() };
    let in_bucket = packs.into_iter().filter(|(_, row)| !row.object.is_empty());
    let copies: Vec<_> = in_bucket.map(|pack| copy(context, objects, source, pack, fork).boxed()).collect();
    let copied: Vec<_> = stream::iter(copies).buffer_unordered(PACKS_AT_ONCE).collect().await;
    copied.into_iter().flatten().collect()
}

async fn copy(
    context: &Context,
    objects: &PackObjects,
    source: u64,
    (name, row): (String, StoredPack),
    fork: u64,
) -> Option<(String, StoredPack)> {
    let from = PackObject { repository: source, name: name.clone(), object: row.object.clone() };
    let to = PackObject::new(fork, &name, context.now_ms());
    match objects.copy(&from, &to, [row.bytes, row.index_bytes]).await {
        Ok(true) => Some((name, StoredPack { object: to.object, ..row })),
        Ok(false) => None,
        Err(error) => {
            let error = &error as &dyn StdError;
            tracing::info!(repository = fork, name, error, "a pack was not copied within the bucket; it is sent");
            None
        }
    }
}
