//! Checks the list of a push before its pack is read, and tidies the repository afterwards. `ref_moves` moves the refs.

pub(super) mod forced;

use std::error::Error as _;

use farrier_proto::store::Repository;

use super::{Context, Error, ref_moves::OF_DEFAULT, tidying};
use crate::{
    git::{
        commands::Commands,
        ref_name::{self, HEADS},
        report::RefRefusal,
    },
    store::{Tx, repositories},
};

/// Returns the updates that are refused before the pack is read. The whole push is then refused.
///
/// Updates of hidden refs are refused one by one when the refs move, and the others are applied. In an atomic push they
/// are refused here.
pub fn refusals(repository: &Repository, commands: &Commands) -> Vec<RefRefusal> {
    let default = format!("{}{}", HEADS, repository.default_branch);
    let reason = |name: &str, deletes: bool| {
        if !ref_name::is_valid(name) {
            return Some("this is not a valid ref name".to_owned());
        }
        if ref_name::is_internal(name) {
            return commands.has("atomic").then(|| "deny updating a hidden ref".to_owned());
        }
        let of_default = deletes && name == default;
        of_default.then(|| OF_DEFAULT.to_owned())
    };
    let refused = commands.updates.iter().filter_map(|update| {
        let reason = reason(&update.name, update.deletes())?;
        Some(RefRefusal { name: update.name.clone(), reason })
    });
    refused.collect()
}

/// Tidies the repository after a push, if necessary, and measures it. While a backup runs, the packs stay as they are;
/// the next push tidies it.
pub async fn tidy(context: &Context, repository: u64) {
    if let Err(error) = context.copies.current(repository).await {
        let error = &error as &dyn std::error::Error;
        tracing::warn!(repository, error, "a repository was not tidied: its files of refs are behind the rows");
        return;
    }
    match tidying::tidy(context, repository).await {
        Ok(false) => return,
        Ok(true) => {}
        Err(error) => {
            tracing::warn!(repository, error = error.source(), "tidying a repository failed: {error}");
            return;
        }
    }
    let Ok(bytes) = context.git.size_bytes(repository).await else { return };
    let written = context.store.write(async |tx: Tx| {
        if let Some(before) = repositories::get(&tx, repository).await? {
            repositories::put(&tx, Some(&before), &Repository { size_bytes: bytes, ..before.clone() });
        }
        Ok::<_, Error>(())
    });
    if let Err(error) = written.await {
        tracing::warn!(
            repository,
            error = &error as &dyn std::error::Error,
            "recording the size of a repository failed"
        );
    }
}
