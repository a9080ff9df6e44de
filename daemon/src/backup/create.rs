//! Makes a backup of a data directory, whether the daemon runs or not.

use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
    sync::Arc,
};

use farrier_proto::store::{LastBackup, Migration, MigrationState, Repository};
use futures_util::TryStreamExt as _;

use super::{
    BackupError, BackupProgress, BackupRequest, FinishedBackup,
    blocks::{CopiedBlocks, is_needed, leave_out_cache_entries},
    writer::{BackupFacts, BackupWriter},
};
use crate::{
    blob::{BlobStore as _, BlockRef, LocalBlobs},
    clock::{Clock, Millis},
    data_dir::KEY_FILE,
    git::{Git, RepositoryFile, files_of_refs, tips_in},
    store::{
        STORE_FILE, Snapshot, Store, StoreError, Tx, backups,
        engine::{RedbEngine, RedbOptions},
        identity,
        ids::IdKind,
        packs, refs, repositories,
    },
    tasks,
};

/// Rows to read at a time.
const PAGE: usize = 200;

/// The data of a backup.
#[derive(Clone)]
pub struct BackupSource {
    /// The data directory.
    pub data_dir: PathBuf,
    /// The file with the key of the store.
    pub key_file: PathBuf,
    /// The credential of the service manager with the key, which is not backed up; `None` if there is none.
    pub key_credential: Option<PathBuf>,
    /// The configuration file.
    pub configuration: Option<PathBuf>,
    /// The open store.
    pub store: Store,
    /// The repositories.
    pub git: Git,
}

/// Makes a backup. If this fails or is dropped, the destination has no new backup; what was copied stays, and the next
/// call uses it.
///
/// Everything that was acknowledged before the call is in the backup. While it runs, files that its snapshot of the
/// store names are not removed.
pub async fn create(
    source: &BackupSource,
    request: BackupRequest,
    clock: &Clock,
    progress: Arc<BackupProgress>,
) -> Result<FinishedBackup, BackupError> {
    let BackupRequest { destination, keep, without_caches } = request;
    let began_ms = clock.now_ms();
    let _stop = StopAtEnd(Arc::clone(&progress));
    let (data_dir, name) = (source.data_dir.clone(), name_of(began_ms));
    let identity = identity::get(&source.store.read().await?).await?;
    let owner = hex::encode(identity.map(|identity| identity.id).unwrap_or_default());
    let begin = move || BackupWriter::begin(destination.open(&data_dir, began_ms, owner)?, &name, progress);
    let writer = tasks::blocking(begin).await?;
    // Before the snapshot, see `removal_holds`. After the destination was opened, which can take long.
    let _hold = source.git.removals().hold();
    let store_file = writer.directory().join(STORE_FILE);
    let copy = copy_store(&source.store, &store_file).await?;
    // The store may be that of an earlier release, if no daemon has opened it yet.
    refs::convert(&copy).await?;
    if without_caches {
        leave_out_cache_entries(&copy, began_ms).await?;
    }
    let mut run = BackupRun { source, writer: Some(writer), moved: Vec::new(), warnings: Vec::new() };
    let snapshot = copy.read().await?;
    run.add_settings().await?;
    run.add_repositories(&snapshot).await?;
    run.add_uploads(&snapshot).await?;
    drop(snapshot);
    let BackupRun { writer, moved, mut warnings, .. } = run;
    let mut writer = writer.expect("every step returns the writer");
    copy.write(async |tx: Tx| {
        backups::mark_moved(&tx, &moved);
        Ok::<_, StoreError>(())
    })
    .await?;
    let path = store_file;
    let facts =
        BackupFacts { began: time(began_ms), ended: time(clock.now_ms()), without_caches, warnings: warnings.clone() };
    let complete = move || -> Result<FinishedBackup, BackupError> {
        // Closes the file, which is complete then.
        drop(copy);
        if !writer.add_file(STORE_FILE, &path, false)? {
            return Err(BackupError::Vanished { path });
        }
        // Safe to remove: its content is in the backup.
        std::fs::remove_file(&path).map_err(BackupError::writing(&path))?;
        let (mut target, mut finished) = writer.finish(facts)?;
        if let Some(keep) = keep {
            match target.retain(keep, &finished.name) {
                Ok(removed) => finished.removed = removed,
                Err(error) => {
                    warnings.push(format!("older backups were not removed: {error}"));
                    finished.warnings = warnings;
                }
            }
        }
        Ok(finished)
    };
    let mut finished = tasks::blocking(complete).await?;
    let last = LastBackup { began_ms, ended_ms: clock.now_ms(), files: finished.files, bytes: finished.bytes };
    let recorded = source.store.write(async |tx: Tx| {
        backups::put_last(&tx, &last);
        Ok::<_, StoreError>(())
    });
    if let Err(error) = recorded.await {
        finished.warnings.push(format!("the time of the backup could not be recorded: {error}"));
    }
    Ok(finished)
}

/// Stops the threads of a backup when it is dropped.
struct StopAtEnd(Arc<BackupProgress>);

impl Drop for StopAtEnd {
    fn drop(&mut self) {
        self.0.stop();
    }
}

/// Returns the name of a backup that begins at `at_ms`. Names sort by time.
fn name_of(at_ms: Millis) -> String {
    let at = jiff::Timestamp::from_millisecond(at_ms).unwrap_or(jiff::Timestamp::UNIX_EPOCH);
    at.strftime("%Y%m%dT%H%M%SZ").to_string()
}

fn time(at_ms: Millis) -> String {
    jiff::Timestamp::from_millisecond(at_ms).unwrap_or(jiff::Timestamp::UNIX_EPOCH).to_string()
}

/// Copies all rows of one snapshot to a new file and opens it.
async fn copy_store(store: &Store, file: &Path) -> Result<Store, BackupError> {
    let path = file.to_owned();
    let engine = tasks::blocking(move || RedbEngine::open(&path, RedbOptions::default())).await?;
    let engine = Arc::new(engine);
    store.copy_to(engine.as_ref()).await?;
    Ok(Store::open_as_is(engine).await?)
}

/// A running backup.
struct BackupRun<'a> {
    source: &'a BackupSource,
    /// `None` only while a step uses it on another thread.
    writer: Option<BackupWriter>,
    /// Repositories of an earlier release whose refs or `HEAD` differ from the snapshot.
    moved: Vec<u64>,
    warnings: Vec<String>,
}

impl BackupRun<'_> {
    /// Runs `work`, which blocks, with the writer.
    async fn write<T: Send + 'static>(
        &mut self,
        work: impl FnOnce(&mut BackupWriter) -> Result<T, BackupError> + Send + 'static,
    ) -> Result<T, BackupError> {
        let mut writer = self.writer.take().expect("every step returns the writer");
        let (writer, result) = tasks::blocking(move || {
            let result = work(&mut writer);
            (writer, result)
        })
        .await;
        self.writer = Some(writer);
        result
    }

    /// Adds the directories of all repositories that the snapshot has.
    async fn add_repositories(&mut self, snapshot: &Snapshot) -> Result<(), BackupError> {
        let mut after = None;
        loop {
            let (page, next) = repositories::batch(snapshot, after.as_deref(), PAGE).await?;
            for row in page.iter().filter(|row| has_directory(row)) {
                self.add_repository(snapshot, row).await?;
            }
            after = next;
            if after.is_none() {
                return Ok(());
            }
        }
    }

    async fn add_repository(&mut self, snapshot: &Snapshot, row: &Repository) -> Result<(), BackupError> {
        let (id, git) = (row.id, &self.source.git);
        let version = refs::version(snapshot, id).await?;
        let from_disk = version.is_none_or(|version| version.from_disk);
        let lock = git.lock(id).await;
        let Some(mut files) = git.files_for_backup(id, from_disk, &lock).await? else {
            self.warnings.push(format!("repository {id} has no directory; run farrierd check-data"));
            return Ok(());
        };
        drop(lock);
        if version.is_some_and(|version| version.has_manifest) {
            let named = packs::all(snapshot, id).await?;
            let missing = missing_packs(&files, named.keys());
            self.warnings.extend(
                missing
                    .into_iter()
                    .map(|name| format!("repository {id}: the pack {name} is missing; run farrierd check-data")),
            );
        }
        if from_disk {
            files = self.compare_refs(snapshot, row, files).await?;
        } else {
            let refs = refs_of(snapshot, id).await?;
            let branch = row.default_branch.clone();
            files.extend(tasks::blocking(move || files_of_refs(&branch, refs)).await);
        }
        let directory = git.directory(id);
        self.write(move |writer| {
            files.into_iter().try_for_each(|file| add_repository_file(writer, id, &directory, file))
        })
        .await
    }

    /// Notes whether the files of refs, which decide in a repository that was not adopted yet, differ from the rows.
    async fn compare_refs(
        &mut self,
        snapshot: &Snapshot,
        row: &Repository,
        files: Vec<RepositoryFile>,
    ) -> Result<Vec<RepositoryFile>, BackupError> {
        // A large repository has many refs, which take a while to read.
        let head = format!("ref: refs/heads/{}\n", row.default_branch);
        let (files, tips, has_head) = tasks::blocking(move || {
            let is_head = |file: &RepositoryFile| file.path == Path::new("HEAD");
            let has_head = files.iter().any(|file| is_head(file) && file.content.as_deref() == Some(head.as_bytes()));
            let tips = tips_in(&files);
            (files, tips, has_head)
        })
        .await;
        if !has_head || refs::all(snapshot, row.id).await? != tips {
            self.moved.push(row.id);
        }
        Ok(files)
    }

    /// Adds the bytes of artifacts, cache entries, files of releases and LFS objects that the snapshot has.
    ///
    /// Blocks with numbers that were not reserved in the snapshot were received later.
    async fn add_uploads(&mut self, snapshot: &Snapshot) -> Result<(), BackupError> {
        let next_ids = identity::next_ids(snapshot).await?;
        let next_file = next_ids.iter().find(|(kind, _)| *kind == IdKind::BlockFile).map_or(1, |(_, next)| *next);
        let blobs = LocalBlobs::at(self.source.data_dir.join("artifacts"));
        let (mut keys, mut copied) = (blobs.uploads(), CopiedBlocks::default());
        while let Some(key) = keys.try_next().await? {
            if !is_needed(snapshot, key).await? {
                continue;
            }
            let mut blocks: Vec<BlockRef> = blobs.files(key).try_collect().await?;
            blocks.retain(|block| block.file < next_file);
            let blobs = blobs.clone();
            let added = self.write(move |writer| {
                for block in blocks {
                    let path = format!("artifacts/{}/{}/{}", key.artifact, key.generation, block.file);
                    // A file that disappears was never acknowledged: its upload ended while it was received.
                    if writer.add_file(&path, &blobs.path(key, block.file), true)? {
                        copied.add(key, block);
                    }
                }
                Ok(copied)
            });
            copied = added.await?;
        }
        let missing = copied.count_missing(snapshot).await?;
        if missing > 0 {
            self.warnings.push(format!(
                "{missing} blocks of artifacts, cache entries, files of releases or LFS objects are missing in the \
                 data directory; run farrierd check-data"
            ));
        }
        Ok(())
    }

    /// Adds the keys and the configuration file.
    async fn add_settings(&mut self) -> Result<(), BackupError> {
        let (key_file, ssh) = (self.source.key_file.clone(), self.source.data_dir.join("ssh"));
        let (credential, configuration) = (self.source.key_credential.clone(), self.source.configuration.clone());
        let add = move |writer: &mut BackupWriter| -> Result<Vec<String>, BackupError> {
            let mut warnings = Vec::new();
            let has_file = writer.add_file(KEY_FILE, &key_file, false)?;
            // A file beside a credential may have only keys that are not used any more.
            if let Some(path) = &credential {
                warnings.push(format!(
                    "the key of the store is the credential {}, which is not in the backup; back it up separately",
                    path.display()
                ));
            } else if !has_file {
                warnings.push(format!(
                    "the key of the store is not in {}; back up the credential of the service manager separately",
                    key_file.display()
                ));
            }
            for (name, path) in files_in(&ssh)? {
                writer.add_file(&format!("ssh/{name}"), &path, false)?;
            }
            if let Some(path) = &configuration
                && !writer.add_file("configuration/farrierd.toml", path, false)?
            {
                warnings.push(format!("the configuration file {} does not exist", path.display()));
            }
            Ok(warnings)
        };
        let warnings = self.write(add).await?;
        self.warnings.extend(warnings);
        Ok(())
    }
}

/// Returns the packs of a manifest that are not among the files of a repository.
fn missing_packs<'a>(files: &[RepositoryFile], names: impl Iterator<Item = &'a String>) -> Vec<&'a String> {
    let found: BTreeSet<&Path> = files.iter().map(|file| file.path.as_path()).collect();
    let has = |name: &str, end| found.contains(Path::new(&format!("objects/pack/{name}.{end}")));
    names.filter(|name| !has(name, "pack") || !has(name, "idx")).collect()
}

/// Returns the refs in the snapshot, sorted by name: name, object id, and what a tag object leads to.
async fn refs_of(snapshot: &Snapshot, id: u64) -> Result<Vec<(String, String, Option<String>)>, BackupError> {
    let mut all: Vec<(String, String, Option<String>)> = Vec::new();
    loop {
        let after = all.last().map(|(name, ..)| name.clone());
        let page = refs::page(snapshot, id, after.as_deref(), PAGE).await?;
        if page.is_empty() {
            return Ok(all);
        }
        all.extend(page.into_iter().map(|(name, found)| (name, found.tip, found.peeled)));
    }
}

/// Returns whether a repository has a directory: it is complete, and it can be restored if it was deleted.
fn has_directory(row: &Repository) -> bool {
    let is_complete = row.migration.as_ref().map(Migration::state).is_none_or(|state| state == MigrationState::Done);
    is_complete && (!row.deleted || row.deleted_ms != 0)
}

fn add_repository_file(
    writer: &mut BackupWriter,
    id: u64,
    directory: &Path,
    file: RepositoryFile,
) -> Result<(), BackupError> {
    let from = directory.join(&file.path);
    let Some(below) = file.path.to_str() else { return Err(BackupError::Name { path: from }) };
    let path = format!("repositories/{id}.git/{below}");
    match file.content {
        Some(content) => writer.add_bytes(&path, &content, &from),
        None if writer.add_file(&path, &from, true)? => Ok(()),
        None => Err(BackupError::Vanished { path: from }),
    }
}

/// Returns the files of a directory, with their names. A missing directory has none.
fn files_in(directory: &Path) -> Result<Vec<(String, PathBuf)>, BackupError> {
    let entries = match std::fs::read_dir(directory) {
        Ok(entries) => entries,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(BackupError::reading(directory)(error)),
    };
    let mut files = Vec::new();
    for entry in entries {
        let path = entry.map_err(BackupError::reading(directory))?.path();
        if let (true, Some(name)) = (path.is_file(), path.file_name().and_then(|name| name.to_str())) {
            files.push((name.to_owned(), path.clone()));
        }
    }
    Ok(files)
}
