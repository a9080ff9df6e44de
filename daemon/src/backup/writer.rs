//! Writes one backup: contents first, each under its SHA-256, the manifest last.
//!
//! All calls block. A backup that was interrupted leaves its list; the next one uses it, so nothing is copied twice.

use std::{
    collections::HashMap,
    fs::{self, File},
    io::{self, BufWriter, Read, Write as _},
    os::unix::fs::MetadataExt as _,
    path::{Path, PathBuf},
    sync::Arc,
};

use sha2::{Digest as _, Sha256};

use super::{
    BackupError, BackupFile, BackupManifest, BackupProgress, FinishedBackup,
    destination::{BackupDestination, PARTIAL, create_dir, create_new, sync_dir, write_synced},
    manifest::{self, FORMAT, LIST, MANIFEST},
};

const BUFFER_BYTES: usize = 1 << 20;

/// A backup that is being written.
pub(super) struct BackupWriter {
    destination: BackupDestination,
    name: String,
    directory: PathBuf,
    list: BufWriter<File>,
    /// The files of earlier backups, by path.
    known: HashMap<String, BackupFile>,
    progress: Arc<BackupProgress>,
    files: u64,
    bytes: u64,
    added_bytes: u64,
}

impl BackupWriter {
    /// Begins the backup `name`, or `name-2` and so on if there is one with this name.
    pub(super) fn begin(
        destination: BackupDestination,
        name: &str,
        progress: Arc<BackupProgress>,
    ) -> Result<Self, BackupError> {
        let existing = destination.list()?;
        let mut known = HashMap::new();
        let newest = existing.iter().rfind(|name| !name.ends_with(PARTIAL));
        for earlier in newest.into_iter().chain(existing.iter().filter(|name| name.ends_with(PARTIAL))) {
            let files = manifest::read_partial(&destination.directory(earlier).join(LIST));
            known.extend(files.into_iter().map(|file| (file.path.clone(), file)));
        }
        let is_free = |name: &String| !existing.contains(name) && !existing.contains(&format!("{name}{PARTIAL}"));
        let mut names = std::iter::once(name.to_owned()).chain((2..).map(|number: u32| format!("{name}-{number}")));
        let name = names.find(is_free).expect("one of the names is free");
        let directory = destination.directory(&format!("{name}{PARTIAL}"));
        create_dir(&directory).map_err(BackupError::writing(&directory))?;
        let path = directory.join(LIST);
        let list = BufWriter::new(create_new(&path).map_err(BackupError::writing(&path))?);
        Ok(Self { destination, name, directory, list, known, progress, files: 0, bytes: 0, added_bytes: 0 })
    }

    /// Returns the directory of this backup, for temporary files.
    pub(super) fn directory(&self) -> &Path {
        &self.directory
    }

    /// Adds the file `from` under `path`. Returns `false` if it does not exist. `never_changes`: a file with the same
    /// path, size and time in an earlier backup has the same content, so it is not read.
    pub(super) fn add_file(&mut self, path: &str, from: &Path, never_changes: bool) -> Result<bool, BackupError> {
        let mut file = match File::open(from) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
            Err(error) => return Err(BackupError::reading(from)(error)),
        };
        let about = file.metadata().map_err(BackupError::reading(from))?;
        let modified_ns = about.mtime().saturating_mul(1_000_000_000).saturating_add(about.mtime_nsec());
        let known = self.known.get(path).filter(|known| {
            never_changes && known.modified_ns == modified_ns && known.bytes == about.len() && self.has_content(known)
        });
        let known = known.cloned();
        let entry = if let Some(known) = known {
            known
        } else {
            let (sha256, bytes) = self.store(&mut file, from)?;
            let modified_ns = if never_changes { modified_ns } else { 0 };
            BackupFile { path: path.to_owned(), bytes, sha256, modified_ns }
        };
        self.add_entry(&entry)?;
        Ok(true)
    }

    /// Adds a file with the content `bytes`, which was read from `from`.
    pub(super) fn add_bytes(&mut self, path: &str, bytes: &[u8], from: &Path) -> Result<(), BackupError> {
        let (sha256, bytes) = self.store(&mut &*bytes, from)?;
        self.add_entry(&BackupFile { path: path.to_owned(), bytes, sha256, modified_ns: 0 })
    }

    fn add_entry(&mut self, entry: &BackupFile) -> Result<(), BackupError> {
        self.require_running()?;
        let path = self.directory.join(LIST);
        let line = serde_json::to_string(entry).expect("plain data");
        writeln!(self.list, "{line}").map_err(BackupError::writing(&path))?;
        self.files += 1;
        self.bytes += entry.bytes;
        self.progress.add(entry.bytes);
        Ok(())
    }

    /// Returns an error if the future of the backup was dropped.
    fn require_running(&self) -> Result<(), BackupError> {
        if self.progress.is_stopped() { Err(BackupError::Stopped) } else { Ok(()) }
    }

    /// Returns whether the destination has the content. A content gets its name when it is complete and synced.
    fn has_content(&self, file: &BackupFile) -> bool {
        self.destination.content(&file.sha256).metadata().is_ok_and(|about| about.len() == file.bytes)
    }

    /// Copies a content to the destination unless it is there. Returns its SHA-256 and its size.
    fn store(&mut self, from: &mut impl Read, source: &Path) -> Result<(String, u64), BackupError> {
        let temporary = self.destination.contents().join("new");
        let stored = self.store_as(&temporary, from, source);
        if stored.is_err() {
            // Safe to remove: the file has only this name, and no backup names it.
            _ = fs::remove_file(&temporary);
        }
        stored
    }

    fn store_as(
        &mut self,
        temporary: &Path,
        from: &mut impl Read,
        source: &Path,
    ) -> Result<(String, u64), BackupError> {
        // Safe to remove: what an interrupted backup left has only this name, and no backup names it.
        match fs::remove_file(temporary) {
            Ok(()) => {}
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(BackupError::writing(temporary)(error)),
        }
        let mut file = create_new(temporary).map_err(BackupError::writing(temporary))?;
        let (mut digest, mut buffer, mut bytes) = (Sha256::new(), vec![0; BUFFER_BYTES], 0);
        loop {
            self.require_running()?;
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
        let target = self.destination.content(&sha256);
        if target.metadata().is_ok_and(|about| about.len() == bytes) {
            // Safe to remove: the same content is complete under its own name.
            fs::remove_file(temporary).map_err(BackupError::writing(temporary))?;
            return Ok((sha256, bytes));
        }
        file.sync_all().map_err(BackupError::writing(temporary))?;
        let directory = target.parent().unwrap_or(&target);
        create_dir(directory).map_err(BackupError::writing(directory))?;
        // A file with this name has another size, so it is damaged.
        fs::rename(temporary, &target).map_err(BackupError::writing(&target))?;
        self.added_bytes += bytes;
        Ok((sha256, bytes))
    }

    /// Completes the backup: from now on it can be restored. Removes what interrupted backups left.
    pub(super) fn finish(
        mut self,
        began: String,
        ended: String,
        warnings: Vec<String>,
    ) -> Result<(BackupDestination, FinishedBackup), BackupError> {
        self.require_running()?;
        let path = self.directory.join(LIST);
        self.list.flush().and_then(|()| self.list.get_ref().sync_all()).map_err(BackupError::writing(&path))?;
        let list = fs::read(&path).map_err(BackupError::reading(&path))?;
        let manifest = BackupManifest {
            format: FORMAT,
            version: farrier_common::VERSION.to_owned(),
            began,
            ended,
            files: self.files,
            bytes: self.bytes,
            list_sha256: hex::encode(Sha256::digest(&list)),
            warnings: warnings.clone(),
        };
        let text = serde_json::to_vec_pretty(&manifest).expect("plain data");
        write_synced(&self.directory.join(MANIFEST), &text)?;
        sync_dir(&self.directory)?;
        self.destination.sync()?;
        let target = self.destination.directory(&self.name);
        fs::rename(&self.directory, &target).map_err(BackupError::writing(&target))?;
        self.destination.sync()?;
        for name in self.destination.list()?.iter().filter(|name| name.ends_with(PARTIAL)) {
            let left = self.destination.directory(name);
            // Safe to remove: it was never complete, and its contents stay.
            fs::remove_dir_all(&left).map_err(BackupError::writing(&left))?;
        }
        let finished = FinishedBackup {
            name: self.name,
            files: self.files,
            bytes: self.bytes,
            added_bytes: self.added_bytes,
            removed: Vec::new(),
            warnings,
        };
        Ok((self.destination, finished))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn begin(root: &Path, name: &str) -> BackupWriter {
        let destination = BackupDestination::open(root, Path::new("/nonexistent/data")).expect("a directory");
        BackupWriter::begin(destination, name, Arc::default()).expect("begun")
    }

    fn finish(writer: BackupWriter) -> FinishedBackup {
        writer.finish(String::new(), String::new(), Vec::new()).expect("complete").1
    }

    #[test]
    fn the_next_backup_copies_only_what_changed() {
        let dir = tempfile::tempdir().expect("a directory");
        let (root, file) = (dir.path().join("backups"), dir.path().join("file"));
        fs::write(&file, "content").expect("a file");
        let mut first = begin(&root, "a");
        assert!(first.add_file("artifacts/1/1/1", &file, true).expect("copied"));
        assert!(!first.add_file("artifacts/1/1/2", &dir.path().join("nothing"), true).expect("looked up"));
        first.add_bytes("HEAD", b"content", &file).expect("copied");
        let finished = finish(first);
        assert_eq!((finished.files, finished.bytes, finished.added_bytes), (2, 14, 7));
        let mut second = begin(&root, "a");
        second.add_file("artifacts/1/1/1", &file, true).expect("known");
        second.add_bytes("HEAD", b"changed", &file).expect("copied");
        let finished = finish(second);
        assert_eq!((finished.name.as_str(), finished.added_bytes), ("a-2", 7));
    }

    #[test]
    fn links_of_other_users_are_not_followed() {
        let dir = tempfile::tempdir().expect("a directory");
        let (root, file) = (dir.path().join("backups"), dir.path().join("file"));
        fs::write(&file, "kept").expect("a file");
        let mut writer = begin(&root, "a");
        std::os::unix::fs::symlink(&file, writer.destination.contents().join("new")).expect("a link");
        writer.add_bytes("HEAD", b"content", &root).expect("copied");
        std::os::unix::fs::symlink(&file, writer.directory().join(MANIFEST)).expect("a link");
        assert!(writer.finish(String::new(), String::new(), Vec::new()).is_err());
        assert_eq!(fs::read_to_string(&file).expect("a file"), "kept");
    }

    #[test]
    fn a_stopped_backup_copies_nothing_more() {
        let dir = tempfile::tempdir().expect("a directory");
        let mut writer = begin(&dir.path().join("backups"), "a");
        writer.add_bytes("HEAD", b"content", dir.path()).expect("copied");
        writer.progress.stop();
        let stopped = writer.add_bytes("config", b"more", dir.path());
        assert!(matches!(stopped, Err(BackupError::Stopped)), "{stopped:?}");
        assert_eq!(fs::read_dir(writer.destination.contents()).expect("a directory").count(), 1);
        let finished = writer.finish(String::new(), String::new(), Vec::new());
        assert!(matches!(finished, Err(BackupError::Stopped)), "{finished:?}");
    }

    #[test]
    fn an_interrupted_backup_is_continued_and_never_counts_as_complete() {
        let dir = tempfile::tempdir().expect("a directory");
        let (root, file) = (dir.path().join("backups"), dir.path().join("file"));
        fs::write(&file, "content").expect("a file");
        let mut killed = begin(&root, "a");
        killed.add_file("artifacts/1/1/1", &file, true).expect("copied");
        fs::write(killed.destination.contents().join("new"), "half").expect("a file");
        drop(killed);
        let mut next = begin(&root, "b");
        assert_eq!(next.destination.complete().expect("listed"), [] as [String; 0]);
        next.add_file("artifacts/1/1/1", &file, true).expect("known");
        assert_eq!(finish(next).added_bytes, 0);
        let destination = BackupDestination::open_existing(&root).expect("backups");
        assert_eq!(destination.list().expect("listed"), ["b"]);
    }
}
