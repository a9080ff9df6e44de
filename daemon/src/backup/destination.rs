//! The directory that has the backups.

use std::{
    fs::{self, DirBuilder, File, OpenOptions, TryLockError},
    io::{self, Write as _},
    os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _},
    path::{Path, PathBuf},
};

use super::{
    BackupError,
    place::{BACKUPS, FILES, MARK, MARK_TEXT, content_path},
};
use crate::inherited;

const LOCK: &str = "lock";
/// A directory in the root of some file systems.
const LOST_AND_FOUND: &str = "lost+found";
/// End of the names of backups that are not complete.
pub(super) const PARTIAL: &str = ".partial";

/// An open directory of backups, which no other process changes.
#[derive(Debug)]
pub(super) struct BackupDestination {
    root: PathBuf,
    /// `None`: on a read-only file system.
    _lock: Option<File>,
}

impl BackupDestination {
    /// Opens `root` to write a backup of `data_dir`. Creates it if it does not exist. An existing directory must be
    /// empty or have backups. Blocks.
    pub(super) fn open(root: &Path, data_dir: &Path) -> Result<Self, BackupError> {
        let refused = |reason| Err(BackupError::Destination { path: root.to_owned(), reason });
        if !root.is_absolute() {
            return refused("the path is not absolute");
        }
        let (target, data) = (resolved(root), resolved(data_dir));
        if target.starts_with(&data) {
            return refused("it is in the data directory");
        }
        if data.starts_with(&target) {
            return refused("the data directory is in it");
        }
        create_dir(root).map_err(BackupError::writing(root))?;
        // Once more: `..` after a name that did not exist is resolved only now.
        if resolved(root).starts_with(&data) {
            return refused("it is in the data directory");
        }
        let mark = root.join(MARK);
        if !mark.try_exists().map_err(BackupError::reading(&mark))? {
            for entry in fs::read_dir(root).map_err(BackupError::reading(root))? {
                let name = entry.map_err(BackupError::reading(root))?.file_name();
                if name != LOST_AND_FOUND && name != LOCK {
                    return refused("it is not empty, and it has no backups of farrierd");
                }
            }
        }
        let lock = lock(root)?;
        if !mark.try_exists().map_err(BackupError::reading(&mark))? {
            write_synced(&mark, MARK_TEXT.as_bytes())?;
        }
        for directory in [FILES, BACKUPS] {
            let path = root.join(directory);
            create_dir(&path).map_err(BackupError::writing(&path))?;
        }
        sync_dir(root)?;
        // The name of a new directory. Its parent may be unreadable for the daemon.
        _ = root.parent().map(sync_dir);
        Ok(Self { root: root.to_owned(), _lock: Some(lock) })
    }

    /// Opens existing backups to read them. Blocks.
    pub(super) fn open_existing(root: &Path) -> Result<Self, BackupError> {
        if !root.join(MARK).is_file() {
            return Err(BackupError::NoBackup { path: root.to_owned(), name: None });
        }
        let lock = match OpenOptions::new().read(true).open(root.join(LOCK)) {
            Ok(file) => match inherited::retry(|| file.try_lock_shared(), is_locked) {
                Ok(()) => Some(file),
                Err(TryLockError::WouldBlock) => return Err(BackupError::InUse { path: root.to_owned() }),
                Err(TryLockError::Error(_)) => None,
            },
            Err(_) => None,
        };
        Ok(Self { root: root.to_owned(), _lock: lock })
    }

    pub(super) fn root(&self) -> &Path {
        &self.root
    }

    /// Returns the names of the complete backups, oldest first.
    pub(super) fn complete(&self) -> Result<Vec<String>, BackupError> {
        let mut names = self.list()?;
        names.retain(|name| !name.ends_with(PARTIAL));
        Ok(names)
    }

    /// Returns the names of all backups, also of those that are not complete, in order.
    pub(super) fn list(&self) -> Result<Vec<String>, BackupError> {
        let path = self.root.join(BACKUPS);
        let mut names = Vec::new();
        for entry in fs::read_dir(&path).map_err(BackupError::reading(&path))? {
            let entry = entry.map_err(BackupError::reading(&path))?;
            // Such as files in which file managers keep their settings.
            if entry.path().is_dir() {
                names.extend(entry.file_name().into_string());
            }
        }
        names.sort_unstable();
        Ok(names)
    }

    /// Returns the directory of the backup `name`.
    pub(super) fn directory(&self, name: &str) -> PathBuf {
        self.root.join(BACKUPS).join(name)
    }

    /// Returns the directory of all contents.
    pub(super) fn contents(&self) -> PathBuf {
        self.root.join(FILES)
    }

    /// Returns the file with the content that has this SHA-256, in hexadecimal.
    pub(super) fn content(&self, sha256: &str) -> PathBuf {
        self.root.join(content_path(sha256))
    }

    /// Makes the names of all contents and backups durable.
    pub(super) fn sync(&self) -> Result<(), BackupError> {
        let contents = self.contents();
        for entry in fs::read_dir(&contents).map_err(BackupError::reading(&contents))? {
            let path = entry.map_err(BackupError::reading(&contents))?.path();
            if path.is_dir() {
                sync_dir(&path)?;
            }
        }
        sync_dir(&contents)?;
        sync_dir(&self.root.join(BACKUPS))
    }
}

/// Locks `root` for one process that writes.
fn lock(root: &Path) -> Result<File, BackupError> {
    let path = root.join(LOCK);
    let mut open = OpenOptions::new();
    let opened = open.read(true).write(true).create(true).truncate(false).mode(0o600).open(&path);
    let file = opened.map_err(BackupError::writing(&path))?;
    match inherited::retry(|| file.try_lock(), is_locked) {
        Ok(()) => Ok(file),
        Err(TryLockError::WouldBlock) => Err(BackupError::InUse { path: root.to_owned() }),
        Err(TryLockError::Error(source)) => Err(BackupError::writing(&path)(source)),
    }
}

fn is_locked(error: &TryLockError) -> bool {
    matches!(error, TryLockError::WouldBlock)
}

/// Returns `path` without symbolic links, as far as it exists.
fn resolved(path: &Path) -> PathBuf {
    let mut rest = Vec::new();
    let mut existing = path;
    loop {
        if let Ok(found) = existing.canonicalize() {
            return rest.iter().rev().fold(found, |path: PathBuf, name| path.join(name));
        }
        let (Some(parent), Some(name)) = (existing.parent(), existing.file_name()) else { return path.to_owned() };
        rest.push(name);
        existing = parent;
    }
}

/// Creates a directory that only its owner can access.
pub(super) fn create_dir(path: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(path)
}

/// Makes the names in a directory durable.
pub(super) fn sync_dir(path: &Path) -> Result<(), BackupError> {
    File::open(path).and_then(|directory| directory.sync_all()).map_err(BackupError::writing(path))
}

/// Creates a file that only its owner can read. Fails if there is one or a symbolic link: another user may have created
/// it, to read the keys in the backup or to make the daemon overwrite a file elsewhere.
pub(super) fn create_new(path: &Path) -> io::Result<File> {
    OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)
}

/// Writes a new file that only its owner can read, and syncs it.
pub(super) fn write_synced(path: &Path, content: &[u8]) -> Result<(), BackupError> {
    let written = create_new(path).and_then(|mut file| file.write_all(content).and_then(|()| file.sync_all()));
    written.map_err(BackupError::writing(path))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_destination_is_refused_if_it_holds_other_data() {
        let dir = tempfile::tempdir().expect("a directory");
        let data = dir.path().join("data");
        fs::create_dir(&data).expect("a directory");
        let reason = |path: &Path| match BackupDestination::open(path, &data) {
            Err(BackupError::Destination { reason, .. }) => reason,
            other => panic!("{other:?}"),
        };
        assert_eq!(reason(Path::new("relative")), "the path is not absolute");
        assert_eq!(reason(&data.join("a/b")), "it is in the data directory");
        std::os::unix::fs::symlink(&data, dir.path().join("link")).expect("a link");
        assert_eq!(reason(&dir.path().join("link/a")), "it is in the data directory");
        assert_eq!(reason(dir.path()), "the data directory is in it");
        assert!(!data.join("a").exists(), "nothing was created");
        assert_eq!(reason(&dir.path().join("new/../data/b")), "it is in the data directory");
        let other = dir.path().join("other");
        fs::create_dir(&other).expect("a directory");
        fs::write(other.join("file"), "x").expect("a file");
        assert_eq!(reason(&other), "it is not empty, and it has no backups of farrierd");
    }

    #[test]
    fn other_files_beside_backups_are_no_backups() {
        let dir = tempfile::tempdir().expect("a directory");
        let destination = BackupDestination::open(dir.path(), Path::new("/nonexistent/data")).expect("a directory");
        fs::write(dir.path().join(BACKUPS).join(".directory"), "x").expect("a file");
        fs::create_dir(destination.directory("a.partial")).expect("a directory");
        assert_eq!(destination.list().expect("listed"), ["a.partial"]);
        assert_eq!(destination.complete().expect("listed"), [] as [String; 0]);
    }

    #[test]
    fn one_process_writes_and_the_others_wait() {
        let dir = tempfile::tempdir().expect("a directory");
        let (root, data) = (dir.path().join("a/backups"), dir.path().join("data"));
        let open = BackupDestination::open(&root, &data).expect("a new directory");
        assert!(matches!(BackupDestination::open(&root, &data), Err(BackupError::InUse { .. })));
        assert!(matches!(BackupDestination::open_existing(&root), Err(BackupError::InUse { .. })));
        drop(open);
        BackupDestination::open(&root, &data).expect("an existing directory");
        assert!(matches!(BackupDestination::open_existing(dir.path()), Err(BackupError::NoBackup { .. })));
    }
}
