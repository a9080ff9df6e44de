//! `check-data --adopt` and `--set-aside`: pairs a store with data that does not belong to it.
//!
//! Both keep the store and all data that it refers to. They differ in repositories without a row. Nothing is deleted,
//! also not later: rows of an older store that would make the daemon delete data are changed here. If the process
//! is interrupted, store and data stay unpaired, and the command can run again.

mod tips;

use std::{fmt, sync::Arc};

use farrier_proto::store::Repository;
use futures_util::TryStreamExt as _;
use serde::Serialize;

use self::tips::UnreadableRefs;
use super::{CheckError, artifacts, free_ids::FreeIds};
use crate::{
    blob::{BlobStore, UploadKey},
    clock::Clock,
    config::{Config, StoreEngine},
    data_dir::{self, DataDirError},
    git::Git,
    service::{
        accounts::{self, ADMIN_ID},
        audit::{self, Action, Entry, Object},
    },
    set_aside::SetAside,
    store::{
        Store, StoreError, Tx, artifacts as artifact_rows, caches, check as store_check, owners,
        refs::{self, Ref},
        releases::assets,
        repositories,
    },
    tasks,
};

/// Rows to read per transaction.
const PAGE: usize = 200;

/// What to do with repositories without a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decision {
    /// Makes them private repositories of the built-in administrator.
    Adopt,
    /// Sets them aside.
    SetAside,
}

/// The actions of the command, one sentence each.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct DecisionReport {
    /// In the order in which they were done.
    pub done: Vec<String>,
}

impl fmt::Display for DecisionReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.done.iter().try_for_each(|line| writeln!(f, "{line}"))
    }
}

/// Pairs the store and the data of `config`. Creates a missing store and refuses a damaged one.
pub async fn decide(config: &Config, decision: Decision, clock: Clock) -> Result<DecisionReport, CheckError> {
    let dir = &config.data_dir;
    let io_failed = |source| DataDirError::from_io(config, source);
    let dir_to_inspect = dir.clone();
    let disk = tasks::blocking(move || data_dir::inspect_disk(&dir_to_inspect)).await.map_err(io_failed)?;
    let may_exist = data_dir::store_may_exist(config);
    if !may_exist && disk.is_empty() {
        return Err(CheckError::NoStore { path: dir.clone() });
    }
    let in_use = || DataDirError::InUse { path: dir.clone() };
    let _lock = data_dir::lock(dir).map_err(io_failed)?.ok_or_else(in_use)?;
    if may_exist && config.store.engine == StoreEngine::Redb {
        drop(data_dir::open_unchanged(config).await?);
    }
    let store = data_dir::open_or_create_store(config).await?;
    store.write_format().await?;
    refs::convert(&store).await?;

    // Before sequences are raised, because the account must get the first id.
    accounts::ensure_administrator(&store, clock.now_ms()).await?;
    let free = {
        let (dir, disk) = (dir.clone(), disk.clone());
        tasks::blocking(move || FreeIds::read(&dir, &disk)).await.map_err(io_failed)?
    };
    free.raise(&store).await?;
    for behind in store_check::stale_sequences(&store.read().await?, |_| 0).await? {
        store_check::raise(&store, behind).await?;
    }

    let mut pairing = Pairing {
        git: Git::open_read_only(dir, &config.git).map_err(CheckError::Repositories)?,
        blobs: data_dir::blobs_to_check(config, None).await?.blobs,
        aside: SetAside::new(dir, clock.clone()),
        store,
        clock,
        done: Vec::new(),
    };
    pairing.sync_known_repositories().await?;
    pairing.handle_unknown_repositories(decision).await?;
    pairing.handle_artifacts().await?;
    pairing.record(decision).await?;
    data_dir::pair_anew(&pairing.store, dir, &pairing.clock)
        .await
        .map_err(|error| DataDirError::from_pair(config, error))?;
    data_dir::adopt_bucket(config, &pairing.store).await?;
    pairing.done.push(format!("the store and the data in {} belong together now", dir.display()));
    Ok(DecisionReport { done: pairing.done })
}

struct Pairing {
    store: Store,
    git: Git,
    blobs: Arc<dyn BlobStore>,
    aside: SetAside,
    clock: Clock,
    done: Vec<String>,
}

impl Pairing {
    /// Records the decision in the audit log.
    async fn record(&self, decision: Decision) -> Result<(), StoreError> {
        let (action, command) = match decision {
            Decision::Adopt => (Action::DataAdopt, "check-data --adopt"),
            Decision::SetAside => (Action::DataSetAside, "check-data --set-aside"),
        };
        let entry = Entry::new(action, Object::new("data", 0, "data directory")).set("done", self.done.clone());
        audit::record_offline(&self.store, command, entry, self.clock.now_ms()).await
    }

    async fn handle_unknown_repositories(&mut self, decision: Decision) -> Result<(), CheckError> {
        for id in self.git.repositories_at_start().to_vec() {
            if repositories::get(&self.store.read().await?, id).await?.is_some() {
                continue;
            }
            if decision == Decision::Adopt {
                match self.adopt(id).await? {
                    Ok(name) => {
                        self.done.push(format!("repository {id}: now admin/{name}, private"));
                        continue;
                    }
                    Err(reason) => self.done.push(format!("repository {id}: cannot be adopted: {reason}")),
                }
            }
            match self.git.set_aside(id, &self.aside).await {
                Ok(Some(to)) => self.done.push(format!("repository {id}: moved to {}", to.display())),
                Ok(None) => {}
                Err(error) => return Err(CheckError::Decide(error)),
            }
        }
        Ok(())
    }

    /// Creates the row for a directory. Returns the name of the repository, or why the repository cannot be
    /// adopted.
    async fn adopt(&self, id: u64) -> Result<Result<String, String>, CheckError> {
        let read = async {
            let (tips, _) = self.read_refs(id).await?;
            Ok::<_, UnreadableRefs>((tips, self.git.head(id).await?, self.git.size_bytes(id).await?))
        };
        let (tips, head, size_bytes) = match read.await {
            Ok(read) => read,
            Err(error) => return Ok(Err(error.to_string())),
        };
        let Some(owner) = owners::owner(&self.store.read().await?, OWNER_KIND, ADMIN_ID).await? else {
            return Ok(Err("the account admin does not exist".into()));
        };
        let now = self.clock.now_ms();
        let tips: Vec<(String, Ref)> = tips.into_iter().collect();
        let first = tips.iter().find_map(|(name, _)| name.strip_prefix("refs/heads/"));
        let row = Repository {
            id,
            owner_kind: OWNER_KIND.into(),
            owner_id: ADMIN_ID,
            description: format!("Recovered on {}: the store had no row for this repository", self.aside.today()),
            private: true,
            listed: repositories::class(owner.visibility(), true).into(),
            default_branch: head.or_else(|| first.map(str::to_owned)).unwrap_or_else(|| "main".into()),
            created_ms: now,
            updated_ms: now,
            empty: first.is_none(),
            size_bytes,
            sha256: self.git.is_sha256(id).await,
            ..Repository::default()
        };
        for number in 1..100 {
            let suffix = if number == 1 { String::new() } else { format!("-{number}") };
            let row = Repository { name: format!("recovered-{id}{suffix}"), ..row.clone() };
            let inserted = self.store.write(async |tx: Tx| {
                let inserted = repositories::insert(&tx, &row).await?;
                if inserted {
                    refs::create(&tx, id, row.sha256, false, &tips);
                }
                Ok::<_, StoreError>(inserted)
            });
            if inserted.await? {
                return Ok(Ok(row.name));
            }
        }
        Ok(Err(format!("the names recovered-{id} to recovered-{id}-99 are in use")))
    }

    /// Sets aside files that belong to no artifact, and those of uploads that are not finalized: with an older store
    /// the daemon would remove these as abandoned, although they may have been finalized later.
    async fn handle_artifacts(&mut self) -> Result<(), CheckError> {
        let mut after = None;
        loop {
            let (page, next) = artifact_rows::batch(&self.store.read().await?, after.as_deref(), PAGE).await?;
            for row in page {
                let Some(upload) = &row.upload else { continue };
                self.set_aside(UploadKey { artifact: row.id, generation: upload.generation }).await?;
                let now = self.clock.now_ms();
                let abandon = async |tx: Tx| {
                    if let Some(row) = artifact_rows::get(&tx, row.id).await? {
                        artifact_rows::abandon(&tx, &row, now);
                    }
                    Ok::<_, StoreError>(())
                };
                self.store.write(abandon).await?;
            }
            after = next;
            if after.is_none() {
                break;
            }
        }
        self.handle_reserved_cache_entries().await?;
        self.handle_marked_release_files().await?;
        let keys: Vec<UploadKey> = self.blobs.uploads().try_collect().await?;
        for key in keys {
            if !artifacts::is_known(&self.store, key).await? {
                self.set_aside(key).await?;
            }
        }
        Ok(())
    }

    /// Like [`Self::handle_artifacts`], for reserved cache entries.
    async fn handle_reserved_cache_entries(&mut self) -> Result<(), CheckError> {
        let mut after = None;
        loop {
            let (page, next) = caches::batch(&self.store.read().await?, after.as_deref(), PAGE).await?;
            for row in page {
                let Some(upload) = &row.upload else { continue };
                self.set_aside(UploadKey { artifact: row.id, generation: upload.generation }).await?;
                let now = self.clock.now_ms();
                let abandon = async |tx: Tx| {
                    if let Some(row) = caches::get(&tx, row.id).await?.filter(|row| row.content.is_none()) {
                        caches::delete(&tx, &row, now);
                    }
                    Ok::<_, StoreError>(())
                };
                self.store.write(abandon).await?;
            }
            after = next;
            if after.is_none() {
                return Ok(());
            }
        }
    }

    /// Like [`Self::handle_artifacts`], for files of releases that were being uploaded. Their marks are removed after
    /// their bytes were moved, so that the next start does not remove the bytes.
    async fn handle_marked_release_files(&mut self) -> Result<(), CheckError> {
        loop {
            let marked = assets::marked(&self.store.read().await?, 0, PAGE).await?;
            if marked.is_empty() {
                return Ok(());
            }
            for id in &marked {
                self.set_aside(UploadKey { artifact: *id, generation: assets::GENERATION }).await?;
            }
            let unmark = async |tx: Tx| {
                for id in &marked {
                    assets::unmark(&tx, *id);
                }
                Ok::<_, StoreError>(())
            };
            self.store.write(unmark).await?;
        }
    }

    async fn set_aside(&mut self, key: UploadKey) -> Result<(), CheckError> {
        if let Some(to) = self.blobs.set_aside(key, &self.aside).await? {
            self.done.push(format!("{key}: moved to {}", to.display()));
        }
        Ok(())
    }
}

/// The owner of adopted repositories, the administrator, is a user.
const OWNER_KIND: farrier_proto::store::OwnerKind = farrier_proto::store::OwnerKind::User;
