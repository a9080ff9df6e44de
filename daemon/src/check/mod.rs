//! `check-data`: compares the store with itself and with the disk while no daemon runs.
//!
//! Reports everything that disagrees. On request it mends what can be mended without losing anything that
//! was acknowledged; `decide` pairs a store with data that does not belong to it. It takes the store's
//! lock, so it never looks at data that a daemon changes. It serves nobody.

mod artifacts;
mod decide;
mod indexes;
mod numbers;
mod report;
mod repositories;

use std::path::PathBuf;

pub use self::{
    decide::{Decided, Decision, decide},
    report::{Class, Finding, Mending, Report, SetAsideItem},
};
use crate::{
    RunError,
    blob::{BlobError, LocalBlobs},
    clock::{Clock, Millis},
    config::Config,
    data_dir::{self, Look, PairError},
    git::{Git, GitError},
    set_aside::{Item, SetAside},
    start,
    store::{Store, StoreError, ids::IdKind},
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
    Open(#[from] RunError),
    /// The store failed.
    #[error("reading or writing the store failed")]
    Store(#[from] StoreError),
    /// Artifact bytes cannot be listed.
    #[error("looking at the bytes of artifacts failed")]
    Blobs(#[from] BlobError),
    /// A repository cannot be set aside.
    #[error("setting aside what the store does not know failed")]
    Decide(#[source] GitError),
    /// What was set aside cannot be listed.
    #[error("set-aside cannot be listed")]
    SetAside(#[source] std::io::Error),
    /// The directories of repositories cannot be listed.
    #[error("the directories of repositories cannot be looked at")]
    Repositories(#[source] std::io::Error),
}

/// Checks the data of `config`, which no daemon may be using. Without `repair` nothing is changed.
///
/// Every page of the store is checked first. If it is damaged, that is all that is reported. If store and
/// data do not belong together, the report says so, and `repair` is refused: an operator has to decide.
pub async fn run(config: &Config, options: Options) -> Result<Report, CheckError> {
    let pair_failed = |error| start::pair_failed(config, error);
    if !config.data_dir.join(data_dir::STORE_FILE).is_file() {
        data_dir::check_missing_store(&config.data_dir).map_err(pair_failed)?;
        return Err(CheckError::NoStore { path: config.data_dir.clone() });
    }
    let mut store = match start::open_unchanged(config).await {
        Ok(store) => store,
        Err(RunError::Damaged { path, source }) => return Ok(Report::of_damaged_store(&path, &source)),
        Err(error) => return Err(error.into()),
    };
    let mismatch = match data_dir::check(&store, &config.data_dir).await {
        Ok(_) => None,
        // The sequences are among the findings.
        Err(PairError::Mismatch(mismatch)) if mismatch.is_repairable => None,
        Err(PairError::Mismatch(mismatch)) if options.repair => return Err(RunError::Mismatch(mismatch).into()),
        Err(PairError::Mismatch(mismatch)) => Some(*mismatch),
        Err(error) => return Err(pair_failed(error).into()),
    };
    if options.repair {
        drop(store);
        store = start::open_store(config).await?;
    }
    let blobs = LocalBlobs::at(config.data_dir.join("artifacts"));
    let git = Git::open_read_only(&config.data_dir, &config.git).map_err(CheckError::Repositories)?;
    let aside = SetAside::new(&config.data_dir, Clock::system());
    let dir = config.data_dir.clone();
    let beside = tasks::blocking(move || data_dir::look(&dir)).await.map_err(CheckError::Repositories)?;
    let mut check =
        Check { store, blobs, git, aside, beside, options, report: Report { mismatch, ..Report::default() } };
    indexes::check(&mut check).await?;
    indexes::check_history(&mut check).await?;
    repositories::check(&mut check).await?;
    let highest_file = artifacts::check(&mut check).await?;
    indexes::check_sequences(&mut check, highest_file).await?;
    let items = check.aside.items(config.storage.set_aside_days).await.map_err(CheckError::SetAside)?;
    check.report.set_aside = items.iter().map(set_aside_item).collect();
    Ok(check.report)
}

fn set_aside_item(item: &Item) -> SetAsideItem {
    let day = |ms| jiff::Timestamp::from_millisecond(ms).map(|at| at.strftime("%Y-%m-%d").to_string());
    SetAsideItem {
        path: item.path.display().to_string(),
        size_bytes: item.bytes,
        since: item.since.map(|date| date.to_string()).unwrap_or_default(),
        removed_on: match item.removed_ms {
            Some(Millis::MIN) => "the next start".into(),
            Some(ms) => day(ms).unwrap_or_default(),
            None => String::new(),
        },
    }
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
    fn reserved(&self, kind: IdKind) -> u64 {
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
