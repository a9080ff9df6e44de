//! Pairs the store with the data directories, so that the daemon never runs with a store that belongs to other data.
//!
//! A store that is missing, older than the repositories and artifacts, or from another directory has rows for only a
//! part of them. A daemon with this store would treat the rest as waste, so it does not start. [`inspect_disk`] reads
//! the state of the directories, [`compare`] decides, and [`pair`] writes the identity. All of this happens before
//! anything is created or changed. The store's half is in `store::identity`.

mod blobs;
mod bucket_packs;
mod compare;
mod copy;
mod copy_blobs;
mod disk;
mod error;
mod file;
mod lock;
mod mismatch;
mod node_id;
mod open;
mod other_nodes;
mod restore;
mod store_key;
mod upgrade;

use std::{
    io,
    path::{Path, PathBuf},
    sync::Arc,
};

use async_trait::async_trait;

pub(crate) use self::{
    blobs::{OpenedBlobs, adopt_bucket, blobs_to_check, open_blobs},
    node_id::node_id,
    open::{
        create_dir, open_or_create_store, open_store, open_store_to_serve, open_unchanged, store_location,
        store_may_exist,
    },
    other_nodes::{check_other_nodes, raise_format_level},
    store_key::{KeySources, keyring_for_reading},
};
pub use self::{
    compare::{PairingProblem, StoreState, compare},
    copy::{CopiedStore, CopyStoreError, copy_store},
    copy_blobs::{BlobPlace, CopiedBlobs, CopyBlobsError, copy_blobs},
    disk::{DirectoryKind, DirectoryState, DiskState, inspect_disk},
    error::DataDirError,
    file::{FILE, MarkFile},
    lock::{Lock, lock},
    mismatch::Mismatch,
    restore::{Restored, restore},
    store_key::{KEY_FILE, Rotated, rotate_key},
    upgrade::{UpgradeStoreError, upgrade_store},
};
pub use crate::store::STORE_FILE;
use crate::{
    clock::Clock,
    config::Config,
    model::secret,
    store::{
        Store, StoreError, Tx,
        identity::{self, Mark, MarkFiles},
    },
    tasks,
};

/// Why store and data could not be paired.
#[derive(Debug, thiserror::Error)]
pub enum PairError {
    /// They do not belong together.
    #[error(transparent)]
    Mismatch(#[from] Box<Mismatch>),
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A directory or an identity file cannot be read or written.
    #[error("{path} cannot be used")]
    Io {
        /// The data directory.
        path: PathBuf,
        /// The cause.
        #[source]
        source: io::Error,
    },
}

/// Returns an error if there is data but no store. Creates nothing.
pub fn check_missing_store(config: &Config) -> Result<(), PairError> {
    let data_dir = config.data_dir.as_path();
    let disk = inspect_disk(data_dir).map_err(failed(data_dir))?;
    match compare(&StoreState::default(), &disk) {
        problems if problems.is_empty() => Ok(()),
        _ => {
            let store = store_location(config);
            Err(Box::new(Mismatch::new(data_dir, &store, None, &disk, &[PairingProblem::NoStore])).into())
        }
    }
}

/// Compares `store` with the data directories. Writes nothing.
pub async fn check(store: &Store, config: &Config) -> Result<StoreState, PairError> {
    check_as(store, &store_location(config), config).await
}

/// Like [`check`], for a store in another place.
async fn check_as(store: &Store, file: &Path, config: &Config) -> Result<StoreState, PairError> {
    let data_dir = config.data_dir.as_path();
    let dir = data_dir.to_owned();
    let disk = tasks::blocking(move || inspect_disk(&dir)).await.map_err(failed(data_dir))?;
    let state = StoreState::read(&store.read().await?, disk.lacks_files(), config.blobs.url.is_some()).await?;
    let problems = compare(&state, &disk);
    if problems.is_empty() {
        return Ok(state);
    }
    Err(Box::new(Mismatch::new(data_dir, file, Some(&state), &disk, &problems)).into())
}

/// Compares `store` with the data directories, then advances the mark on both sides. This happens once per
/// start, so that an older copy of either state is recognized.
///
/// Assigns an identity to the data of releases without identities. Creates missing directories after the comparison.
pub async fn pair(store: &Store, config: &Config, clock: &Clock) -> Result<(), PairError> {
    let data_dir = config.data_dir.as_path();
    let state = check(store, config).await?;
    store.write_format().await?;
    if state.identity.is_none() {
        return pair_anew(store, data_dir, clock).await;
    }
    let files = files(data_dir, clock)?;
    // The pending mark must be in the files before the next mark becomes pending.
    write(store, &files).await?;
    store.write(async |tx: Tx| identity::advance(&tx).await).await?;
    finish(store, files).await
}

/// Assigns a new identity to `store` and the data directories, replacing any previous one.
pub async fn pair_anew(store: &Store, data_dir: &Path, clock: &Clock) -> Result<(), PairError> {
    let files = files(data_dir, clock)?;
    let id = secret::random_bytes::<16>();
    let begin = async |tx: Tx| {
        identity::begin(&tx, &id);
        Ok::<_, StoreError>(())
    };
    store.write(begin).await?;
    finish(store, files).await
}

/// Returns the identity files of `data_dir`. Creates missing directories.
fn files(data_dir: &Path, clock: &Clock) -> Result<Files, PairError> {
    for kind in DirectoryKind::ALL {
        file::create_dir(&data_dir.join(kind.directory())).map_err(failed(data_dir))?;
    }
    Ok(Files { data_dir: data_dir.to_owned(), clock: clock.clone() })
}

/// Writes the pending mark to the files and confirms it in the store.
async fn finish(store: &Store, files: Files) -> Result<(), PairError> {
    let written = write(store, &files).await?;
    store.write(async |tx: Tx| identity::confirm(&tx, written).await).await?;
    store.keep_marks(Arc::new(files), written).await;
    Ok(())
}

/// Writes the pending mark into the files unless they already have it. Returns the mark.
async fn write(store: &Store, files: &Files) -> Result<u64, PairError> {
    let Some(mark) = identity::pending(&store.read().await?).await? else { return Ok(0) };
    let dir = files.data_dir.clone();
    let (id, number) = (hex::encode(&mark.id), mark.mark);
    let are_written =
        move || DirectoryKind::ALL.iter().all(|kind| file::holds(&dir.join(kind.directory()), &id, number));
    if !tasks::blocking(are_written).await {
        files.write(&mark).await.map_err(failed(&files.data_dir))?;
    }
    Ok(number)
}

fn failed(data_dir: &Path) -> impl FnOnce(io::Error) -> PairError {
    let path = data_dir.to_owned();
    move |source| PairError::Io { path, source }
}

/// The identity files of `data_dir`.
struct Files {
    data_dir: PathBuf,
    clock: Clock,
}

#[async_trait]
impl MarkFiles for Files {
    async fn write(&self, mark: &Mark) -> io::Result<()> {
        let content = MarkFile::new(mark, self.clock.now_ms());
        let write = |kind: DirectoryKind| {
            let (directory, content) = (self.data_dir.join(kind.directory()), content.clone());
            tasks::begin(move || file::write(&directory, &content))
        };
        let [first, second] = DirectoryKind::ALL.map(write);
        let (first, second) = tokio::join!(first, second);
        first.and(second)
    }
}
