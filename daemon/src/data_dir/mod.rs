//! The identity of a data directory: whether the store and the data beside it belong together.
//!
//! A store that is missing, older than the repositories and artifacts, or of another directory knows
//! only a part of them. A daemon that served it would take the rest for waste, so it does not start.
//! [`look`] reads what lies beside the store, [`judge`] decides, and [`pair`] writes the identity. All
//! of that happens before anything is created or changed. The store's half is in `store::identity`.

mod file;
mod judge;
mod look;
mod mismatch;

use std::{
    io,
    path::{Path, PathBuf},
    sync::Arc,
};

use async_trait::async_trait;

pub use self::{
    file::{FILE, MarkFile},
    judge::{Problem, StoreSide, judge},
    look::{Look, Side, SideKind, look},
    mismatch::Mismatch,
};
use crate::{
    clock::Clock,
    model::secret,
    store::{
        Store, StoreError, Tx,
        identity::{self, Mark, MarkFiles},
    },
    tasks,
};

/// Name of the embedded store's file in the data directory.
pub const STORE_FILE: &str = "farrier.redb";

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
        _ => Err(Box::new(Mismatch::new(data_dir, None, &look, &[Problem::NoStore])).into()),
    }
}

/// Compares `store` with the data beside it and writes nothing.
pub async fn check(store: &Store, data_dir: &Path) -> Result<StoreSide, PairError> {
    let dir = data_dir.to_owned();
    let look = tasks::blocking(move || look(&dir)).await.map_err(failed(data_dir))?;
    let side = StoreSide::read(&store.read().await?, look.lacks_files()).await?;
    let problems = judge(&side, &look);
    if problems.is_empty() {
        return Ok(side);
    }
    Err(Box::new(Mismatch::new(data_dir, Some(&side), &look, &problems)).into())
}

/// Compares `store` with the data beside it, then advances the mark on both sides: once per start, so
/// that a copy of either side that was made before is recognised.
///
/// Data of a release without identities gets one. Directories are made here, after the decision.
pub async fn pair(store: &Store, data_dir: &Path, clock: &Clock) -> Result<(), PairError> {
    let side = check(store, data_dir).await?;
    store.write_format().await?;
    for kind in SideKind::ALL {
        file::make_dir(&data_dir.join(kind.directory())).map_err(failed(data_dir))?;
    }
    let files = Files { data_dir: data_dir.to_owned(), clock: clock.clone() };
    let mut written = 0;
    if side.identity.is_some() {
        // The mark that is pending goes into the files before the next one is made pending.
        write(store, &files, &mut written, data_dir).await?;
        store.write(async |tx: Tx| identity::advance(&tx).await).await?;
    } else {
        let id = secret::random_bytes::<16>();
        let begin = async |tx: Tx| {
            identity::begin(&tx, &id);
            Ok::<_, StoreError>(())
        };
        store.write(begin).await?;
    }
    write(store, &files, &mut written, data_dir).await?;
    store.write(async |tx: Tx| identity::confirm(&tx, written).await).await?;
    store.keep_marks(Arc::new(files), written).await;
    Ok(())
}

/// Writes the pending mark into the files that lack it.
async fn write(store: &Store, files: &Files, written: &mut u64, data_dir: &Path) -> Result<(), PairError> {
    let Some(mark) = identity::pending(&store.read().await?).await? else { return Ok(()) };
    let dir = data_dir.to_owned();
    let (id, number) = (hex::encode(&mark.id), mark.mark);
    let are_written = move || SideKind::ALL.iter().all(|kind| file::holds(&dir.join(kind.directory()), &id, number));
    if !tasks::blocking(are_written).await {
        files.write(&mark).await.map_err(failed(data_dir))?;
    }
    *written = number;
    Ok(())
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
