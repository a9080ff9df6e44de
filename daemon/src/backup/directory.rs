//! Writes backups to a directory, and reads them.
//!
//! Each content is written under a temporary name, synced, and renamed to its SHA-256.

use std::{
    fs::{self, File},
    io::{self, Read, Write as _},
    path::{Path, PathBuf},
};

use sha2::{Digest as _, Sha256};

use super::{
    BackupError, BackupFile, BackupProgress,
    destination::{BackupDestination, PARTIAL, create_dir, create_new, sync_dir, write_synced},
    manifest::{self, LIST, MANIFEST},
    place::{BackupTarget, PIECE_BYTES, ReadSeek, StoredBackups, StoredContent, names},
    retain::retain,
};

impl StoredBackups for BackupDestination {
    fn place(&self) -> &Path {
        self.root()
    }

    fn complete(&self) -> Result<Vec<String>, BackupError> {
        Self::complete(self)
    }

    fn read(&self, name: &str, file: &str) -> io::Result<Vec<u8>> {
        fs::read(self.directory(name).join(file))
    }

    fn open(&self, sha256: &str) -> io::Result<Box<dyn Read + '_>> {
        Ok(Box::new(File::open(self.content(sha256))?))
    }
}

impl BackupTarget for BackupDestination {
    /// Of the newest complete backup, and of those that were interrupted, which are later.
    fn known(&self) -> Result<Vec<BackupFile>, BackupError> {
        let existing = self.list()?;
        let newest = existing.iter().rfind(|name| !name.ends_with(PARTIAL));
        let lists = newest.into_iter().chain(existing.iter().filter(|name| name.ends_with(PARTIAL)));
        Ok(lists.flat_map(|name| manifest::read_partial(&self.directory(name).join(LIST))).collect())
    }

    fn begin(&mut self, name: &str) -> Result<(String, PathBuf), BackupError> {
        let existing = self.list()?;
        let is_free = |name: &String| !existing.contains(name) && !existing.contains(&format!("{name}{PARTIAL}"));
        let name = names(name).find(is_free).expect("one of the names is free");
        let directory = self.directory(&format!("{name}{PARTIAL}"));
        create_dir(&directory).map_err(BackupError::writing(&directory))?;
        Ok((name, directory))
    }

    /// Compares only the size: a content gets its name after it was written completely and synced, so neither a kill
    /// nor a power failure leaves a name with other bytes. What damages it later, such as a failing disk or a copy by
    /// another program, is found by a check of the backups.
    fn has_content(&self, file: &BackupFile) -> bool {
        self.content(&file.sha256).metadata().is_ok_and(|about| about.len() == file.bytes)
    }

    fn store(
        &mut self,
        from: &mut dyn ReadSeek,
        source: &Path,
        progress: &BackupProgress,
    ) -> Result<StoredContent, BackupError> {
        let temporary = self.contents().join("new");
        let stored = store_as(self, &temporary, from, source, progress);
        if stored.is_err() {
            // Safe to remove: the file has only this name, and no backup names it.
            _ = fs::remove_file(&temporary);
        }
        stored
    }

    fn complete(&mut self, name: &str, directory: &Path, manifest: &[u8]) -> Result<(), BackupError> {
        write_synced(&directory.join(MANIFEST), manifest)?;
        sync_dir(directory)?;
        self.sync()?;
        let target = self.directory(name);
        fs::rename(directory, &target).map_err(BackupError::writing(&target))?;
        self.sync()?;
        for name in self.list()?.iter().filter(|name| name.ends_with(PARTIAL)) {
            let left = self.directory(name);
            // Safe to remove: it was never complete, and its contents stay.
            fs::remove_dir_all(&left).map_err(BackupError::writing(&left))?;
        }
        Ok(())
    }

    fn retain(&mut self, keep: usize, newest: &str) -> Result<Vec<String>, BackupError> {
        retain(self, keep, newest)
    }
}

fn store_as(
    destination: &BackupDestination,
    temporary: &Path,
    from: &mut dyn ReadSeek,
    source: &Path,
    progress: &BackupProgress,
) -> Result<StoredContent, BackupError> {
    // Safe to remove: what an interrupted backup left has only this name, and no backup names it.
    match fs::remove_file(temporary) {
        Ok(()) => {}
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(error) => return Err(BackupError::writing(temporary)(error)),
    }
    let mut file = create_new(temporary).map_err(BackupError::writing(temporary))?;
    let (mut digest, mut buffer, mut bytes) = (Sha256::new(), vec![0; PIECE_BYTES], 0);
    loop {
        progress.require_running()?;
        let length = match from.read(&mut buffer) {
            Ok(0) => break,
            Ok(length) => length,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(BackupError::reading(source)(error)),
        };
        digest.update(&buffer[..length]);
        file.write_all(&buffer[..length]).map_err(BackupError::writing(temporary))?;
        bytes += length as u64;
    }
    let sha256 = hex::encode(digest.finalize());
    let target = destination.content(&sha256);
    if target.metadata().is_ok_and(|about| about.len() == bytes) {
        // Safe to remove: the same content is complete under its own name.
        fs::remove_file(temporary).map_err(BackupError::writing(temporary))?;
        return Ok(StoredContent { sha256, bytes, is_new: false });
    }
    file.sync_all().map_err(BackupError::writing(temporary))?;
    let directory = target.parent().unwrap_or(&target);
    create_dir(directory).map_err(BackupError::writing(directory))?;
    // A file with this name has another size, so it is damaged.
    fs::rename(temporary, &target).map_err(BackupError::writing(&target))?;
    Ok(StoredContent { sha256, bytes, is_new: true })
}
