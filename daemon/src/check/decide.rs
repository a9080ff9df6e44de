//! `check-data --adopt` and `--set-aside`: pairs a store with data that does not belong to it.
//!
//! Both keep the store and everything that it knows. They differ in repositories that it does not know.
//! Nothing is deleted, also not later: rows of an older store that would have the daemon delete data are
//! changed here. If this is cut off, store and data stay unpaired, and it can be run again.

use std::{collections::BTreeMap, fmt};

use farrier_proto::store::{MigrationState, Repository};
use futures_util::TryStreamExt as _;
use serde::Serialize;

use super::{CheckError, artifacts, numbers::Free};
use crate::{
    RunError,
    blob::{BlobStore as _, LocalBlobs, UploadKey},
    clock::Clock,
    config::Config,
    data_dir,
    git::Git,
    service::accounts::{self, ADMIN_ID},
    set_aside::SetAside,
    start,
    store::{Store, StoreError, Tx, artifacts as artifact_rows, check as store_check, owners, refs, repositories},
    tasks,
};

/// Rows that are read at a time.
const PAGE: usize = 200;
/// Tips that one transaction records.
const TIPS_AT_ONCE: usize = 1_000;

/// What becomes of repositories that the store does not know.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decision {
    /// They become private repositories of the built-in administrator.
    Adopt,
    /// They are set aside.
    SetAside,
}

/// What was done, one sentence each.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Decided {
    /// In the order in which it was done.
    pub done: Vec<String>,
}

impl fmt::Display for Decided {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.done.iter().try_for_each(|line| writeln!(f, "{line}"))
    }
}

/// Pairs the store and the data of `config` anew. A missing store is made; a damaged one is refused.
pub async fn decide(config: &Config, decision: Decision, clock: Clock) -> Result<Decided, CheckError> {
    let dir = &config.data_dir;
    let io_failed = |source| start::data_failed(config, source);
    let look_dir = dir.clone();
    let look = tasks::blocking(move || data_dir::look(&look_dir)).await.map_err(io_failed)?;
    let file = dir.join(data_dir::STORE_FILE);
    if !file.exists() && look.is_empty() {
        return Err(CheckError::NoStore { path: dir.clone() });
    }
    let in_use = || RunError::InUse { path: dir.clone() };
    let _lock = data_dir::lock(dir).map_err(io_failed)?.ok_or_else(in_use)?;
    if file.exists() {
        drop(start::open_unchanged(config).await?);
    }
    let store = start::open_or_create_store(config).await?;
    store.write_format().await?;

    // Before sequences are raised: the account has the first number.
    accounts::ensure_administrator(&store, clock.now_ms()).await?;
    let free = {
        let (dir, look) = (dir.clone(), look.clone());
        tasks::blocking(move || Free::look(&dir, &look)).await.map_err(io_failed)?
    };
    free.raise(&store).await?;
    for behind in store_check::stale_sequences(&store.read().await?, |_| 0).await? {
        store_check::raise(&store, behind).await?;
    }

    let mut work = Work {
        git: Git::open_read_only(dir, &config.git).map_err(CheckError::Repositories)?,
        blobs: LocalBlobs::at(dir.join("artifacts")),
        aside: SetAside::new(dir, clock.clone()),
        store,
        clock,
        done: Vec::new(),
    };
    work.known_repositories().await?;
    work.unknown_repositories(decision).await?;
    work.artifacts().await?;
    data_dir::pair_anew(&work.store, dir, &work.clock).await.map_err(|error| start::pair_failed(config, error))?;
    work.done.push(format!("the store and the data in {} belong together now", dir.display()));
    Ok(Decided { done: work.done })
}

struct Work {
    store: Store,
    git: Git,
    blobs: LocalBlobs,
    aside: SetAside,
    clock: Clock,
    done: Vec<String>,
}

impl Work {
    /// Takes the branches and tags of repositories that have rows from the disk.
    async fn known_repositories(&mut self) -> Result<(), CheckError> {
        let mut after = None;
        loop {
            let (page, next) = repositories::batch(&self.store.read().await?, after.as_deref(), PAGE).await?;
            for row in page {
                if self.git.repositories_at_start().contains(&row.id) && !row.deleted {
                    self.known(&row).await?;
                }
            }
            after = next;
            if after.is_none() {
                return Ok(());
            }
        }
    }

    async fn known(&mut self, row: &Repository) -> Result<(), CheckError> {
        let found: BTreeMap<String, String> = match self.git.all_tips(row.id).await {
            Ok(found) => found.into_iter().collect(),
            Err(error) => {
                self.done.push(format!("repository {} ({}): its refs cannot be read: {error}", row.id, row.name));
                return Ok(());
            }
        };
        let known = refs::all(&self.store.read().await?, row.id).await?;
        let gone = known.keys().filter(|name| !found.contains_key(*name)).map(|name| (name.clone(), None));
        let moved = found.iter().filter(|(name, id)| known.get(*name) != Some(id));
        let moved = moved.map(|(name, id)| (name.clone(), Some(id.clone())));
        let changes: Vec<(String, Option<String>)> = gone.chain(moved).collect();
        let has_branch = found.keys().any(|name| name.starts_with("refs/heads/"));
        // A migration that runs in an older store has a directory, so it was done since. The daemon would
        // remove what it takes for half fetched.
        let running = |row: &Repository| row.migration.as_ref().is_some_and(|m| m.state() == MigrationState::Running);
        if changes.is_empty() && !running(row) && (!row.empty || !has_branch) {
            return Ok(());
        }
        for part in changes.chunks(TIPS_AT_ONCE).chain(changes.is_empty().then_some(&[][..])) {
            let write = async |tx: Tx| {
                for (name, id) in part {
                    refs::set(&tx, row.id, name, id.as_deref());
                }
                let Some(before) = repositories::get(&tx, row.id).await? else { return Ok(()) };
                let mut after = Repository { empty: before.empty && !has_branch, ..before.clone() };
                if let Some(migration) = after.migration.as_mut().filter(|_| running(&before)) {
                    migration.set_state(MigrationState::Done);
                }
                repositories::put(&tx, Some(&before), &after);
                Ok::<_, StoreError>(())
            };
            self.store.write(write).await?;
        }
        self.done.push(format!(
            "repository {} ({}): {} branches and tags recorded as they are on disk",
            row.id,
            row.name,
            changes.len()
        ));
        Ok(())
    }

    async fn unknown_repositories(&mut self, decision: Decision) -> Result<(), CheckError> {
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

    /// Gives a directory a row; the name, or why it cannot have one.
    async fn adopt(&self, id: u64) -> Result<Result<String, String>, CheckError> {
        let read = async {
            let tips = self.git.all_tips(id).await?;
            Ok::<_, crate::git::GitError>((tips, self.git.head(id).await?, self.git.size_bytes(id).await?))
        };
        let (tips, head, size_bytes) = match read.await {
            Ok(read) => read,
            Err(error) => return Ok(Err(error.to_string())),
        };
        let Some(owner) = owners::owner(&self.store.read().await?, OWNER, ADMIN_ID).await? else {
            return Ok(Err("there is no account admin".into()));
        };
        let now = self.clock.now_ms();
        let first = tips.iter().find_map(|(name, _)| name.strip_prefix("refs/heads/"));
        let row = Repository {
            id,
            owner_kind: OWNER.into(),
            owner_id: ADMIN_ID,
            description: format!("Recovered on {}: the store did not know this repository", self.aside.today()),
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
                    repositories::put_tips(&tx, id, &tips);
                }
                Ok::<_, StoreError>(inserted)
            });
            if inserted.await? {
                return Ok(Ok(row.name));
            }
        }
        Ok(Err(format!("the names recovered-{id} to recovered-{id}-99 are taken")))
    }

    /// Sets aside bytes that no artifact has, and those of uploads that were not finalized: an older store
    /// would drop them as abandoned, although they may have been finalized since.
    async fn artifacts(&mut self) -> Result<(), CheckError> {
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
        let places: Vec<UploadKey> = self.blobs.uploads().try_collect().await?;
        for key in places {
            if !artifacts::is_known(&self.store, key).await? {
                self.set_aside(key).await?;
            }
        }
        Ok(())
    }

    async fn set_aside(&mut self, key: UploadKey) -> Result<(), CheckError> {
        if let Some(to) = self.blobs.set_aside(key, &self.aside).await? {
            self.done.push(format!("{key}: moved to {}", to.display()));
        }
        Ok(())
    }
}

/// The administrator is a user.
const OWNER: farrier_proto::store::OwnerKind = farrier_proto::store::OwnerKind::User;
