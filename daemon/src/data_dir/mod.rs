//! The identity of a data directory: whether the store and the data beside it belong together.
//!
//! A store that is missing, older than the repositories and artifacts, or of another directory knows
//! only a part of them. A daemon that served it would take the rest for waste, so it does not start.
//! [`look`] reads what lies beside the store, [`judge`] decides, and [`pair`] writes the identity. All
//! of that happens before anything is created or changed. The store's half is in `store::identity`.

mod file;
mod judge;
mod lock;
mod look;
mod mismatch;
mod restore;

use std::{
    io,
    path::{Path, PathBuf},
    sync::Arc,
};

use async_trait::async_trait;

pub use self::{
    file::{FILE, MarkFile},
    judge::{Problem, StoreSide, judge},
    lock::{Lock, lock},
    look::{Look, Side, SideKind, look},
    mismatch::Mismatch,
    restore::{Restored, restore},
};
pub use crate::store::STORE_FILE;
use crate::{
    clock::Clock,
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
    /// A directory or an identity file failed.
    #[error("{path} cannot be used")]
    Io {
        /// The data directory.
        path: PathBuf,
        /// Why.
        #[source]
        source: io::Error,
    },
}

/// Refuses if data lies beside a store that does not exist. Creates nothing.
pub fn check_missing_store(data_dir: &Path) -> Result<(), PairError> {
    let look = look(data_dir).map_err(failed(data_dir))?;
    match judge(&StoreSide::default(), &look) {
        problems if problems.is_empty() => Ok(()),
        _ => {
            Err(Box::new(Mismatch::new(data_dir, &data_dir.join(STORE_FILE), None, &look, &[Problem::NoStore])).into())
        }
    }
}

/// Compares `store` with the data beside it and writes nothing.
pub async fn check(store: &Store, data_dir: &Path) -> Result<StoreSide, PairError> {
    check_as(store, &data_dir.join(STORE_FILE), data_dir).await
}

/// The same for a store in another file.
async fn check_as(store: &Store, file: &Path, data_dir: &Path) -> Result<StoreSide, PairError> {
    let dir = data_dir.to_owned();
    let look = tasks::blocking(move || look(&dir)).await.map_err(failed(data_dir))?;
    let side = StoreSide::read(&store.read().await?, look.lacks_files()).await?;
    let problems = judge(&side, &look);
    if problems.is_empty() {
        return Ok(side);
    }
    Err(Box::new(Mismatch::new(data_dir, file, Some(&side), &look, &problems)).into())
}

/// Compares `store` with the data beside it, then advances the mark on both sides: once per start, so
/// that a copy of either side that was made before is recognised.
///
/// Data of a release without identities gets one. Directories are made here, after the decision.
pub async fn pair(store: &Store, data_dir: &Path, clock: &Clock) -> Result<(), PairError> {
    let side = check(store, data_dir).await?;
    store.write_format().await?;
    if side.identity.is_none() {
        return pair_anew(store, data_dir, clock).await;
    }
    let files = files(data_dir, clock)?;
    // The mark that is pending goes into the files before the next one is made pending.
    write(store, &files).await?;
    store.write(async |tx: Tx| identity::advance(&tx).await).await?;
    finish(store, files).await
}

/// Gives `store` and the data beside it a new identity, whatever they had.
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

/// The identity files of `data_dir`, whose directories are made if they are missing.
fn files(data_dir: &Path, clock: &Clock) -> Result<Files, PairError> {
    for kind in SideKind::ALL {
        file::make_dir(&data_dir.join(kind.directory())).map_err(failed(data_dir))?;
    }
    Ok(Files { data_dir: data_dir.to_owned(), clock: clock.clone() })
}

/// Writes the pending mark and confirms it.
async fn finish(store: &Store, files: Files) -> Result<(), PairError> {
    let written = write(store, &files).await?;
    store.write(async |tx: Tx| identity::confirm(&tx, written).await).await?;
    store.keep_marks(Arc::new(files), written).await;
    Ok(())
}

/// Writes the pending mark into the files, unless they have it; gives the mark.
async fn write(store: &Store, files: &Files) -> Result<u64, PairError> {
    let Some(mark) = identity::pending(&store.read().await?).await? else { return Ok(0) };
    let dir = files.data_dir.clone();
    let (id, number) = (hex::encode(&mark.id), mark.mark);
    let are_written = move || SideKind::ALL.iter().all(|kind| file::holds(&dir.join(kind.directory()), &id, number));
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
        let write = |kind: SideKind| {
            let (directory, content) = (self.data_dir.join(kind.directory()), content.clone());
            tasks::begin(move || file::write(&directory, &content))
        };
        let [first, second] = SideKind::ALL.map(write);
        let (first, second) = tokio::join!(first, second);
        first.and(second)
    }
}
