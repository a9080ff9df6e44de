//! `check-data`: compares the store with itself and with the disk while no daemon runs.
//!
//! Says everything that disagrees. What can be mended without losing anything that was acknowledged
//! is mended on request. Takes the store's lock, so it never looks at data that a daemon changes.
//! Knows no rule of the product; it starts nothing and serves nobody.

mod artifacts;
mod indexes;
mod report;
mod repositories;

use std::path::PathBuf;

pub use self::report::{Class, Finding, Mending, Report};
use crate::{
    blob::{BlobError, LocalBlobs},
    clock::Clock,
    config::Config,
    data_dir::{self, Look},
    git::Git,
    set_aside::SetAside,
    store::{Store, StoreError, ids::Kind},
    tasks,
};

/// What is asked for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// Mends what can be mended.
    pub repair: bool,
    /// Has git check every object.
    pub git: bool,
}

/// Why the data could not be checked to the end.
#[derive(Debug, thiserror::Error)]
pub enum CheckError {
    /// There is nothing to check.
    #[error("there is no store in {path}")]
    NoStore {
        /// The data directory.
        path: PathBuf,
    },
    /// The store cannot be opened.
    #[error(transparent)]
    Open(#[from] crate::RunError),
    /// The store failed.
    #[error("reading or writing the store failed")]
    Store(#[from] StoreError),
    /// Artifact bytes cannot be listed.
    #[error("looking at the bytes of artifacts failed")]
    Blobs(#[from] BlobError),
    /// The directories of repositories cannot be listed.
    #[error("the directories of repositories cannot be looked at")]
    Repositories(#[source] std::io::Error),
}

/// Checks the data of `config`, which no daemon may be using.
pub async fn run(config: &Config, options: Options) -> Result<Report, CheckError> {
    if !config.data_dir.join(data_dir::STORE_FILE).is_file() {
        return Err(CheckError::NoStore { path: config.data_dir.clone() });
    }
    let store = crate::start::open_store(config).await?;
    let blobs = LocalBlobs::open(config.data_dir.join("artifacts")).await?;
    let git = Git::open_as_left(&config.data_dir, &config.git).map_err(CheckError::Repositories)?;
    let aside = SetAside::new(&config.data_dir, Clock::system());
    let dir = config.data_dir.clone();
    let beside = tasks::blocking(move || data_dir::look(&dir)).await.map_err(CheckError::Repositories)?;
    let mut check = Check { store, blobs, git, aside, beside, options, report: Report::default() };
    indexes::check(&mut check).await?;
    indexes::check_history(&mut check).await?;
    repositories::check(&mut check).await?;
    let highest_file = artifacts::check(&mut check).await?;
    indexes::check_sequences(&mut check, highest_file).await?;
    Ok(check.report)
}

/// What the parts of the check work with.
struct Check {
    store: Store,
    blobs: LocalBlobs,
    git: Git,
    aside: SetAside,
    beside: Look,
    options: Options,
    report: Report,
}

impl Check {
    /// The highest id of `kind` that an identity file says was reserved.
    fn reserved(&self, kind: Kind) -> u64 {
        self.beside.sides.iter().map(|side| side.next_id(kind)).max().unwrap_or(1) - 1
    }

    /// Reports something that nothing here can mend, or that mends itself.
    fn tell(&mut self, class: Class, subject: impl Into<String>, message: impl Into<String>) {
        self.report.add(Finding { class, subject: subject.into(), message: message.into(), mending: Mending::None });
    }

    /// Reports something that `mend` mends, and does so if that is wanted. An error of `mend` only
    /// means that it is not mended.
    async fn mend<T, E: std::error::Error>(
        &mut self,
        (class, subject, message): (Class, String, String),
        mend: impl Future<Output = Result<T, E>>,
    ) {
        let (mending, message) = if self.options.repair {
            match mend.await {
                Ok(_) => (Mending::Done, message),
                Err(error) => (Mending::None, format!("{message}; it could not be mended: {error}")),
            }
        } else {
            (Mending::Possible, message)
        };
        self.report.add(Finding { class, subject, message, mending });
    }
}
