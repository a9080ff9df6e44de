//! Makes a backup of a data directory, whether the daemon runs or not.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use farrier_proto::store::LastBackup;

use super::{
    BackupError, BackupProgress, BackupRequest, BackupSource, FinishedBackup,
    blocks::leave_out_cache_entries,
    detach::detach,
    fetched::FetchDirectory,
    hold::ClusterHold,
    writer::{BackupFacts, BackupWriter},
};
use crate::{
    clock::{Clock, Millis},
    data_dir::KEY_FILE,
    git::RepositoryFile,
    store::{
        STORE_FILE, Store, StoreError, Tx, backups,
        engine::{RedbEngine, RedbOptions},
        identity, refs,
    },
    tasks,
};

/// Makes a backup. If this fails or is dropped, the destination has no new backup; what was copied stays, and the next
/// call uses it.
///
/// Everything that was acknowledged before the call is in the backup. While it runs, no node removes files and objects
/// that its snapshot of the store names; otherwise the backup fails.
pub async fn create(
    source: &BackupSource,
    request: BackupRequest,
    clock: &Clock,
    progress: Arc<BackupProgress>,
) -> Result<FinishedBackup, BackupError> {
    let Some(holder) = source.holder.as_ref().filter(|_| source.store.is_shared()) else {
        return Box::pin(write_backup(source, request, clock, progress, None)).await;
    };
    let hold = ClusterHold::take(&source.store, clock, holder).await?;
    let written = tokio::select! {
        written = Box::pin(write_backup(source, request, clock, progress, Some(&hold))) => written,
        error = hold.keep() => Err(error),
    };
    hold.release().await;
    written
}

/// Makes a backup. `hold`: that of all nodes, which the caller extends.
async fn write_backup(
    source: &BackupSource,
    request: BackupRequest,
    clock: &Clock,
    progress: Arc<BackupProgress>,
    hold: Option<&ClusterHold>,
) -> Result<FinishedBackup, BackupError> {
    let BackupRequest { destination, keep, without_caches } = request;
    let began_ms = clock.now_ms();
    let _stop = StopAtEnd(Arc::clone(&progress));
    let (data_dir, name) = (source.data_dir.clone(), name_of(began_ms));
    let identity = identity::get(&source.store.read().await?).await?;
    let owner = hex::encode(identity.map(|identity| identity.id).unwrap_or_default());
    let of_target = owner.clone();
    let begin = move || {
        let writer = BackupWriter::begin(destination.open(&data_dir, began_ms, of_target)?, &name, progress)?;
        let scratch = FetchDirectory::create(writer.directory())?;
        Ok::<_, BackupError>((writer, scratch))
    };
    let (writer, scratch) = tasks::blocking(begin).await?;
    // Before the snapshot, see `removal_holds`. After the destination was opened, which can take long.
    let _hold = source.git.removals().hold();
    let store_file = writer.directory().join(STORE_FILE);
    let copy = copy_store(&source.store, &store_file).await?;
    // The store may be that of an earlier release, if no daemon has opened it yet.
    refs::convert(&copy).await?;
    if without_caches {
        leave_out_cache_entries(&copy, began_ms).await?;
    }
    let mut run = BackupRun {
        source,
        writer: Some(writer),
        owner,
        scratch,
        empty: [None, None],
        moved: Vec::new(),
        warnings: Vec::new(),
    };
    let snapshot = copy.read().await?;
    run.add_settings().await?;
    run.add_repositories(&snapshot).await?;
    run.add_uploads(&snapshot).await?;
    drop(snapshot);
    if let Some(hold) = hold {
        // All objects were read. They were there all the time if the hold was.
        hold.extend().await?;
    }
    let BackupRun { writer, scratch, moved, warnings, .. } = run;
    let writer = writer.expect("every step returns the writer");
    if source.is_elsewhere() {
        detach(&copy).await?;
    }
    copy.write(async |tx: Tx| {
        backups::mark_moved(&tx, &moved);
        Ok::<_, StoreError>(())
    })
    .await?;
    let facts = BackupFacts {
        began: time(began_ms),
        ended: time(clock.now_ms()),
        without_caches,
        detached: source.is_elsewhere(),
        warnings,
    };
    let mut finished = tasks::blocking(move || complete(writer, (copy, store_file), scratch, facts, keep)).await?;
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

/// Adds the copy of the store, which is in `path`, and completes the backup.
fn complete(
    mut writer: BackupWriter,
    (copy, path): (Store, PathBuf),
    scratch: FetchDirectory,
    facts: BackupFacts,
    keep: Option<usize>,
) -> Result<FinishedBackup, BackupError> {
    let mut warnings = facts.warnings.clone();
    // Closes the file, which is complete then.
    drop(copy);
    if !writer.add_file(STORE_FILE, &path, false)? {
        return Err(BackupError::Vanished { path });
    }
    // Safe to remove: its content is in the backup.
    std::fs::remove_file(&path).map_err(BackupError::writing(&path))?;
    drop(scratch);
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
pub(super) struct BackupRun<'a> {
    pub(super) source: &'a BackupSource,
    /// `None` only while a step uses it on another thread.
    writer: Option<BackupWriter>,
    /// The identity of the store, in hexadecimal.
    pub(super) owner: String,
    /// For objects that are being copied.
    pub(super) scratch: FetchDirectory,
    /// The files of empty repositories with SHA-1 and with SHA-256.
    pub(super) empty: [Option<Vec<RepositoryFile>>; 2],
    /// Repositories of an earlier release whose refs or `HEAD` differ from the snapshot.
    pub(super) moved: Vec<u64>,
    pub(super) warnings: Vec<String>,
}

impl BackupRun<'_> {
    /// Runs `work`, which blocks, with the writer.
    pub(super) async fn write<T: Send + 'static>(
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
