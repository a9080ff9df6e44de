//! Restores a backup to a new data directory.

use std::{
    collections::BTreeSet,
    fs::{self, OpenOptions},
    io::{self, Write as _},
    os::unix::fs::OpenOptionsExt as _,
    path::{Path, PathBuf},
    sync::Arc,
};

use sha2::{Digest as _, Sha256};

use super::{
    BackupError, BackupFile, BackupManifest, BackupsPlace,
    destination::{create_dir, sync_dir},
    place::{PIECE_BYTES, StoredBackups, content_path},
    verify::verify_one,
};
use crate::{
    clock::Clock,
    data_dir::{self, Lock},
    git,
    store::{
        STORE_FILE, Store, StoreError, Tx,
        engine::{RedbEngine, RedbOptions},
        identity,
        ids::{self, IdKind},
    },
    tasks,
};

/// IDs of each kind that are left out after a restore. The daemon may have given out IDs after the backup, which
/// clients know, and which must not name other objects.
const ID_GAP: u64 = 1_000_000;

/// What to restore.
#[derive(Clone, Debug, PartialEq)]
pub struct RestoreRequest {
    /// The backups.
    pub source: BackupsPlace,
    /// Name of the backup; `None`: the newest.
    pub name: Option<String>,
    /// The new data directory. Must not exist, or be empty.
    pub data_dir: PathBuf,
    /// Checks everything and changes nothing.
    pub dry_run: bool,
}

/// A restored backup.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RestoredBackup {
    /// Its name.
    pub name: String,
    /// Its manifest.
    pub manifest: BackupManifest,
}

/// Restores a backup. Reads all of it and compares it with its SHA-256 before anything is written. The store gets its
/// name last, so a restore that was interrupted leaves a directory with which no daemon starts.
///
/// The new directory gets an identity of its own: its store never matches the files of the lost directory.
pub async fn restore(request: RestoreRequest, clock: &Clock) -> Result<RestoredBackup, BackupError> {
    let (data_dir, dry_run) = (request.data_dir.clone(), request.dry_run);
    let (restored, lock) = tasks::blocking(move || restore_files(&request)).await?;
    if dry_run {
        return Ok(restored);
    }
    let unfinished = data_dir.join(unfinished_store());
    let path = unfinished.clone();
    let engine = tasks::blocking(move || RedbEngine::open(&path, RedbOptions::default())).await?;
    let store = Store::open_as_is(Arc::new(engine)).await?;
    leave_out_ids(&store).await?;
    data_dir::pair_anew(&store, &data_dir, clock).await?;
    let install = move || -> Result<(), BackupError> {
        // Closes the file.
        drop(store);
        let target = data_dir.join(STORE_FILE);
        fs::rename(&unfinished, &target).map_err(BackupError::writing(&target))?;
        sync_dir(&data_dir)?;
        // The name of a new directory. Its parent may be unreadable.
        _ = data_dir.parent().map(sync_dir);
        drop(lock);
        Ok(())
    };
    tasks::blocking(install).await?;
    Ok(restored)
}

/// Name of the store until everything else is restored.
fn unfinished_store() -> String {
    format!("{STORE_FILE}.restore")
}

/// Raises all sequences, so that no ID is used again that the lost daemon gave out after the backup.
async fn leave_out_ids(store: &Store) -> Result<(), StoreError> {
    let next_ids = identity::next_ids(&store.read().await?).await?;
    let next_ids: &[(IdKind, u64)] = &next_ids;
    store
        .write(async |tx: Tx| {
            for (kind, next) in next_ids {
                ids::raise(&tx, *kind, next.saturating_add(ID_GAP)).await?;
            }
            Ok(())
        })
        .await
}

/// Checks the backup and writes all files but the store's name. Returns the lock of the new directory.
fn restore_files(request: &RestoreRequest) -> Result<(RestoredBackup, Option<Lock>), BackupError> {
    let stored = request.source.open()?;
    let names = stored.complete()?;
    let name = match &request.name {
        Some(name) => names.iter().find(|known| *known == name),
        None => names.last(),
    };
    let missing = || BackupError::NoBackup { path: stored.place().to_owned(), name: request.name.clone() };
    let name = name.ok_or_else(missing)?.clone();
    let data_dir = &request.data_dir;
    require_empty(data_dir)?;
    let (manifest, files) = verify_one(&*stored, &name)?;
    if files.iter().all(|file| file.path != STORE_FILE) {
        return Err(BackupError::Damaged { name, reason: format!("it has no {STORE_FILE}") });
    }
    let restored = RestoredBackup { name, manifest };
    if request.dry_run {
        return Ok((restored, None));
    }
    create_dir(data_dir).map_err(BackupError::writing(data_dir))?;
    let lock = data_dir::lock(data_dir).map_err(BackupError::writing(data_dir))?;
    let lock = lock.ok_or_else(|| BackupError::NotEmpty { path: data_dir.clone() })?;
    let mut directories = BTreeSet::from([data_dir.clone()]);
    // `check-data` starts git there, also before the first start of the daemon.
    make_directories(data_dir, &data_dir.join(git::HOME_DIR), &mut directories)?;
    // Git needs these directories, which have no files in a repository without commits.
    for file in &files {
        if let Some(repository) = file.path.strip_suffix(".git/HEAD").filter(|path| is_repository(path)) {
            for part in ["objects/pack", "objects/info", "refs/heads", "refs/tags"] {
                make_directories(data_dir, &data_dir.join(format!("{repository}.git/{part}")), &mut directories)?;
            }
        }
        let path = if file.path == STORE_FILE { unfinished_store() } else { file.path.clone() };
        let target = data_dir.join(path);
        make_directories(data_dir, target.parent().unwrap_or(data_dir), &mut directories)?;
        copy(&*stored, &target, file, &restored.name)?;
    }
    directories.iter().try_for_each(|directory| sync_dir(directory))?;
    Ok((restored, Some(lock)))
}

/// Returns whether `path` is `repositories/<id>`.
fn is_repository(path: &str) -> bool {
    path.strip_prefix("repositories/").is_some_and(|id| id.bytes().all(|digit| digit.is_ascii_digit()))
}

fn require_empty(path: &Path) -> Result<(), BackupError> {
    match fs::read_dir(path).map(|mut entries| entries.next().is_none()) {
        Ok(true) => Ok(()),
        Ok(false) => Err(BackupError::NotEmpty { path: path.to_owned() }),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) if error.kind() == io::ErrorKind::NotADirectory => {
            Err(BackupError::NotEmpty { path: path.to_owned() })
        }
        Err(error) => Err(BackupError::reading(path)(error)),
    }
}

/// Creates `path`, which is below `root`, and remembers all new directories, which are synced at the end.
fn make_directories(root: &Path, path: &Path, directories: &mut BTreeSet<PathBuf>) -> Result<(), BackupError> {
    if directories.contains(path) {
        return Ok(());
    }
    create_dir(path).map_err(BackupError::writing(path))?;
    directories.extend(path.ancestors().take_while(|ancestor| *ancestor != root).map(Path::to_owned));
    Ok(())
}

/// Copies a content to a new file. Compares it once more: it may have changed since it was checked.
fn copy(stored: &dyn StoredBackups, to: &Path, file: &BackupFile, backup: &str) -> Result<(), BackupError> {
    let from = &stored.place().join(content_path(&file.sha256));
    let mut source = stored.open(&file.sha256).map_err(BackupError::reading(from))?;
    let opened = OpenOptions::new().write(true).create_new(true).mode(0o600).open(to);
    let mut target = opened.map_err(BackupError::writing(to))?;
    let (mut digest, mut buffer, mut left) = (Sha256::new(), vec![0; PIECE_BYTES], file.bytes);
    let changed = || {
        let reason = format!("{} changed while it was restored", file.path);
        BackupError::Damaged { name: backup.to_owned(), reason }
    };
    loop {
        let length = match source.read(&mut buffer) {
            Ok(0) => break,
            Ok(length) => length,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(BackupError::reading(from)(error)),
        };
        digest.update(&buffer[..length]);
        // Never more than was checked: somebody else may write to a bucket, and fill the disk.
        left = left.checked_sub(length as u64).ok_or_else(changed)?;
        target.write_all(&buffer[..length]).map_err(BackupError::writing(to))?;
    }
    if hex::encode(digest.finalize()) != file.sha256 {
        return Err(changed());
    }
    target.sync_all().map_err(BackupError::writing(to))
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use super::*;

    /// A bucket whose contents another program has replaced.
    struct Replaced;

    impl StoredBackups for Replaced {
        fn place(&self) -> &Path {
            Path::new("/backups")
        }

        fn complete(&self) -> Result<Vec<String>, BackupError> {
            Ok(Vec::new())
        }

        fn read(&self, _name: &str, _file: &str) -> io::Result<Vec<u8>> {
            Ok(Vec::new())
        }

        fn open(&self, _sha256: &str) -> io::Result<Box<dyn Read + '_>> {
            Ok(Box::new(io::repeat(7).take(10 << 20)))
        }
    }

    #[test]
    fn a_content_that_has_grown_since_it_was_checked_is_not_written() {
        let dir = tempfile::tempdir().expect("a directory");
        let to = dir.path().join("file");
        let file = BackupFile {
            path: "file".into(),
            bytes: 100,
            sha256: "0f".repeat(32),
            modified_ns: 0,
            object: String::new(),
        };
        let result = copy(&Replaced, &to, &file, "a");
        assert!(matches!(result, Err(BackupError::Damaged { .. })), "{result:?}");
        assert_eq!(to.metadata().expect("a file").len(), 0);
    }
}
