//! Stores packs that are only on this disk: those of a store that had no bucket.

use std::{collections::BTreeSet, error::Error as StdError, time::Duration};

use farrier_proto::store::{MigrationState, Repository, StoredPack};
use tokio::time::Instant;

use super::{failed, store};
use crate::{
    blob::BlobError,
    service::{Context, Error, packs as manifests, ref_moves},
    store::{
        Tx, nodes,
        packs::{self, Packs, bucket},
        refs, repositories,
    },
};

/// Rows of repositories to read at a time.
const PAGE: usize = 200;
/// Time between two log records about the progress.
const REPORT_EVERY: Duration = Duration::from_secs(60);
/// Attempts for a repository whose packs are replaced meanwhile.
const ATTEMPTS: usize = 3;

/// What was stored so far.
#[derive(Debug)]
struct Progress {
    packs: u64,
    bytes: u64,
    /// Repositories with packs that could not be stored.
    left: BTreeSet<u64>,
    reported: Instant,
}

/// Stores all packs that are not in the bucket, and records when it has all. Returns the repositories with packs that
/// could not be stored. Packs that were stored are not sent again by the next call.
///
/// `before`: what the previous call has returned. Warnings that it has logged are not repeated.
pub async fn fill(context: &Context, before: &BTreeSet<u64>) -> Result<BTreeSet<u64>, Error> {
    if context.packs.is_none() {
        return Ok(BTreeSet::new());
    }
    if bucket::place(&context.store.read().await?).await?.is_some_and(|place| place.complete) {
        return Ok(BTreeSet::new());
    }
    let mut progress = Progress { packs: 0, bytes: 0, left: BTreeSet::new(), reported: Instant::now() };
    let mut after = None;
    loop {
        let (page, next) = repositories::batch(&context.store.read().await?, after.as_deref(), PAGE).await?;
        for row in page.iter().filter(|row| has_packs(row)) {
            match repository(context, row.id, &mut progress).await {
                Ok(true) => {}
                Ok(false) => _ = progress.left.insert(row.id),
                // The next repositories would fail as well.
                Err(error @ (Error::Blob { .. } | Error::Store { .. })) => return Err(error),
                Err(error) => {
                    let (repository, error) = (row.id, &error as &dyn StdError);
                    if !before.contains(&repository) {
                        tracing::warn!(repository, error, "the packs of a repository are not in the bucket yet");
                    }
                    progress.left.insert(repository);
                }
            }
        }
        after = next;
        if after.is_none() {
            break;
        }
    }
    let Progress { packs, bytes, left, .. } = progress;
    if !left.is_empty() {
        if left != *before {
            report_left(context, &left).await?;
        }
        return Ok(left);
    }
    context
        .store
        .write(async |tx: Tx| {
            bucket::set_place(&tx, true);
            Ok::<_, Error>(())
        })
        .await?;
    tracing::info!(packs, bytes, "the packs of all repositories are in the bucket");
    Ok(left)
}

/// Logs which repositories have packs that are not in the bucket, and where these packs may be.
async fn report_left(context: &Context, left: &BTreeSet<u64>) -> Result<(), Error> {
    let mut elsewhere = Vec::new();
    for repository in left {
        if !context.git.exists(*repository).await.map_err(Error::git("looking for a repository"))? {
            elsewhere.push(*repository);
        }
    }
    let here = left.len() - elsewhere.len();
    if here > 0 {
        tracing::warn!(repositories = here, "repositories have packs that are only on this disk");
    }
    if let Some(first) = elsewhere.first() {
        let nodes: Vec<String> =
            nodes::all(&context.store.read().await?).await?.into_iter().map(|row| row.name).collect();
        tracing::warn!(
            repositories = elsewhere.len(),
            first,
            nodes = nodes.join(", "),
            "repositories have packs that are only on the disk of another node; start the node that has their directories"
        );
    }
    Ok(())
}

/// Returns whether a repository has packs that must be kept. An import that has not ended has none yet; its end stores
/// them.
fn has_packs(row: &Repository) -> bool {
    let is_complete = row.migration.as_ref().is_none_or(|migration| migration.state() == MigrationState::Done);
    is_complete && (!row.deleted || row.deleted_ms != 0)
}

/// Stores the packs of a repository. Returns whether all are in the bucket.
async fn repository(context: &Context, id: u64, progress: &mut Progress) -> Result<bool, Error> {
    let has_all = async || Ok::<_, Error>(bucket::has_all(&context.store.read().await?, id).await?);
    if has_all().await? {
        return Ok(true);
    }
    let lock = context.git.lock(id).await;
    ref_moves::require_adopted(context, id, &lock).await?;
    manifests::adopt(context, id, &lock).await?;
    drop(lock);
    for _ in 0..ATTEMPTS {
        let read = context.store.read().await?;
        let Some(version) = refs::version(&read, id).await? else { return Ok(true) };
        let named = packs::all(&read, id).await?;
        drop(read);
        if !version.has_manifest {
            return Ok(false);
        }
        let mut is_changed = false;
        for (name, row) in named.into_iter().filter(|(_, row)| bucket::is_only_local(row)) {
            let stored = match store(context, id, name.clone()).await {
                Ok(stored) => stored,
                // Git has replaced the pack meanwhile, or it is lost.
                Err(BlobError::Root { .. }) => {
                    is_changed = true;
                    break;
                }
                Err(error) => return Err(failed(error)),
            };
            progress.packs += 1;
            progress.bytes += row.bytes + row.index_bytes;
            let row = StoredPack { object: stored.object, ..row };
            let rows = &Packs::from([(name, row)]);
            is_changed |= context.store.write(async |tx: Tx| bucket::note_stored(&tx, id, rows).await).await?;
            progress.report();
        }
        if !is_changed {
            break;
        }
    }
    has_all().await
}

impl Progress {
    fn report(&mut self) {
        if self.reported.elapsed() >= REPORT_EVERY {
            let Self { packs, bytes, .. } = self;
            tracing::info!(packs, bytes, "packs of an earlier release are being stored in the bucket");
            self.reported = Instant::now();
        }
    }
}
