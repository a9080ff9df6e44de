//! `check-data`: compares the store with itself and with the disk while no daemon runs.
//!
//! Reports every inconsistency. With `--repair` it repairs those that can be repaired without losing acknowledged data;
//! `decide` pairs a store with data that does not belong to it. It holds the lock of the store, so that no daemon can
//! change the data meanwhile.

mod artifacts;
mod decide;
mod free_ids;
mod indexes;
mod lfs;
mod report;
mod repositories;

use std::{path::PathBuf, sync::Arc};

pub use self::{
    decide::{Decision, DecisionReport, decide},
    report::{CheckReport, Class, Finding, RepairState, SetAsideItem},
};
use crate::{
    blob::{BlobError, BlobStore, PackObjects},
    clock::{Clock, Millis},
    config::Config,
    data_dir::{self, DataDirError, DiskState, OpenedBlobs, PairError},
    git::{Git, GitError},
    service::audit::{self, Action, Entry, Object},
    set_aside::{SetAside, SetAsideEntry},
    store::{Store, StoreError, check as store_check, deliveries, ids::IdKind, refs, sealing},
    tasks,
};

/// Options of a check.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// Repairs what can be repaired without losing data.
    pub repair: bool,
    /// Runs `git fsck` on every repository.
    pub git: bool,
    /// Compares the bytes of every artifact with its SHA-256.
    pub content: bool,
}

/// Why the check could not be completed.
#[derive(Debug, thiserror::Error)]
pub enum CheckError {
    /// The data directory has no store.
    #[error("there is no store in {path}")]
    NoStore {
        /// The data directory.
        path: PathBuf,
    },
    /// The store cannot be opened.
    #[error(transparent)]
    Open(#[from] DataDirError),
    /// The store failed.
    #[error("reading or writing the store failed")]
    Store(#[from] StoreError),
    /// The files of artifacts cannot be listed.
    #[error("listing the files of artifacts failed")]
    Blobs(#[from] BlobError),
    /// A repository cannot be set aside.
    #[error("setting aside repositories without a row failed")]
    Decide(#[source] GitError),
    /// `set-aside` cannot be listed.
    #[error("set-aside cannot be listed")]
    SetAside(#[source] std::io::Error),
    /// The directories of repositories cannot be listed.
    #[error("the directories of repositories cannot be listed")]
    Repositories(#[source] std::io::Error),
}

/// Checks the data of `config`, which no daemon may be using. Changes nothing without `repair`.
///
/// Checks the pages of the store first. If one is damaged, the report contains nothing else. If store and data do not
/// belong together, the report says so and `repair` is refused, since an operator has to decide.
pub async fn run(config: &Config, options: Options) -> Result<CheckReport, CheckError> {
    let pair_failed = |error| DataDirError::from_pair(config, error);
    let no_store = || match data_dir::check_missing_store(config).map_err(pair_failed) {
        Ok(()) => CheckError::NoStore { path: config.data_dir.clone() },
        Err(error) => error.into(),
    };
    if !data_dir::store_may_exist(config) {
        return Err(no_store());
    }
    let mut store = match data_dir::open_unchanged(config).await {
        Ok(store) => store,
        Err(error) if error.is_missing_store() => return Err(no_store()),
        Err(DataDirError::Damaged { path, source }) => return Ok(CheckReport::of_damaged_store(&path, &source)),
        Err(error) => return Err(error.into()),
    };
    let mismatch = match data_dir::check(&store, config).await {
        Ok(_) => None,
        // The check of sequences reports these.
        Err(PairError::Mismatch(mismatch)) if mismatch.is_repairable => None,
        Err(PairError::Mismatch(mismatch)) if options.repair => return Err(DataDirError::Mismatch(mismatch).into()),
        Err(PairError::Mismatch(mismatch)) => Some(*mismatch),
        Err(error) => return Err(pair_failed(error).into()),
    };
    if options.repair {
        drop(store);
        store = data_dir::open_store(config).await?;
        // As the daemon does: rows of an earlier release cannot be compared.
        refs::convert(&store).await?;
        deliveries::index_all(&store).await?;
    }
    let OpenedBlobs { blobs, packs } = data_dir::blobs_to_check(config, Some(&store)).await?;
    let git = Git::open_read_only(&config.data_dir, &config.git).map_err(CheckError::Repositories)?;
    let aside = SetAside::new(&config.data_dir, Clock::system());
    let dir = config.data_dir.clone();
    let disk = tasks::blocking(move || data_dir::inspect_disk(&dir)).await.map_err(CheckError::Repositories)?;
    let mut check = Check {
        store,
        blobs,
        packs,
        git,
        aside,
        disk,
        options,
        report: CheckReport { mismatch, ..CheckReport::default() },
    };
    indexes::check(&mut check).await?;
    indexes::check_history(&mut check).await?;
    check_secrets(&mut check, config).await?;
    repositories::check(&mut check).await?;
    let highest_file = artifacts::check(&mut check).await?;
    lfs::check(&mut check).await?;
    indexes::check_sequences(&mut check, highest_file).await?;
    record_repair(&check).await?;
    let items = check.aside.items(config.storage.set_aside_days).await.map_err(CheckError::SetAside)?;
    check.report.set_aside = items.iter().map(set_aside_item).collect();
    Ok(check.report)
}

/// Records the repairs in the audit log.
async fn record_repair(check: &Check) -> Result<(), StoreError> {
    let done = |finding: &&Finding| finding.repair == RepairState::Done;
    let repaired: Vec<String> =
        check.report.findings.iter().filter(done).map(|finding| finding.subject.clone()).collect();
    if repaired.is_empty() {
        return Ok(());
    }
    let entry = Entry::new(Action::DataRepair, Object::new("data", 0, "data directory"));
    let entry = entry.set("repaired", repaired).set("damage_left", check.report.damage_left);
    audit::record_offline(&check.store, "check-data --repair", entry, Clock::system().now_ms()).await
}

/// Checks the key of the store, and every encrypted row.
async fn check_secrets(check: &mut Check, config: &Config) -> Result<(), CheckError> {
    match data_dir::keyring_for_reading(config, &check.store).await {
        Ok(Some(keyring)) => check.store.set_keyring(keyring),
        Ok(None) => return Ok(()),
        Err(error @ (DataDirError::KeyMissing { .. } | DataDirError::KeyUnusable { .. })) => {
            check.add_finding(Class::Damage, "secrets", error.to_string());
            return Ok(());
        }
        Err(error) => return Err(error.into()),
    }
    for (key, error) in sealing::unreadable(&check.store).await? {
        check.add_finding(Class::Damage, format!("key {}", store_check::show(&key)), error);
    }
    Ok(())
}

fn set_aside_item(item: &SetAsideEntry) -> SetAsideItem {
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

/// The state of a running check.
struct Check {
    store: Store,
    blobs: Arc<dyn BlobStore>,
    /// The packs in the bucket, if there is one.
    packs: Option<PackObjects>,
    git: Git,
    aside: SetAside,
    disk: DiskState,
    options: Options,
    report: CheckReport,
}

impl Check {
    /// Returns the highest id of `kind` that an identity file records as reserved.
    fn reserved(&self, kind: IdKind) -> u64 {
        self.disk.directories.iter().map(|directory| directory.next_id(kind)).max().unwrap_or(1) - 1
    }

    /// Adds a finding that this program cannot repair, or that the daemon resolves by itself.
    fn add_finding(&mut self, class: Class, subject: impl Into<String>, message: impl Into<String>) {
        self.report.add(Finding { class, subject: subject.into(), message: message.into(), repair: RepairState::None });
    }

    /// Adds a finding that `repair` repairs, and awaits `repair` if the options ask for it. An error of `repair` is
    /// added to the message.
    async fn repair<T, E: std::error::Error>(
        &mut self,
        (class, subject, message): (Class, String, String),
        repair: impl Future<Output = Result<T, E>>,
    ) {
        let (state, message) = if self.options.repair {
            match repair.await {
                Ok(_) => (RepairState::Done, message),
                Err(error) => (RepairState::None, format!("{message}; the repair failed: {error}")),
            }
        } else {
            (RepairState::Possible, message)
        };
        self.report.add(Finding { class, subject, message, repair: state });
    }
}
