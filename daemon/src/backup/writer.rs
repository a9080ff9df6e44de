//! Writes one backup: contents first, each under its SHA-256, the manifest last.
//!
//! All calls block. A backup that was interrupted leaves its list; the next one uses it, so nothing is copied twice.

use std::{
    collections::HashMap,
    fs::File,
    io::{self, BufWriter, Cursor, Write as _},
    os::unix::fs::MetadataExt as _,
    path::{Path, PathBuf},
    sync::Arc,
};

use sha2::{Digest as _, Sha256};

use super::{
    BackupError, BackupFile, BackupManifest, BackupProgress, FinishedBackup,
    destination::create_new,
    fetched::FetchedObject,
    manifest::{FORMAT, LIST},
    place::{BackupTarget, ReadSeek},
};

/// What the manifest says about a backup besides its files.
#[derive(Debug, Default)]
pub(super) struct BackupFacts {
    /// When it began, RFC 3339.
    pub began: String,
    /// When it was complete, RFC 3339.
    pub ended: String,
    /// Whether cache entries were left out.
    pub without_caches: bool,
    /// Whether the store or the blobs were not files.
    pub detached: bool,
    /// What is missing in it, one sentence each.
    pub warnings: Vec<String>,
}

/// A backup that is being written.
pub(super) struct BackupWriter {
    target: Box<dyn BackupTarget>,
    name: String,
    directory: PathBuf,
    list: BufWriter<File>,
    list_digest: Sha256,
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
        mut target: Box<dyn BackupTarget>,
        name: &str,
        progress: Arc<BackupProgress>,
    ) -> Result<Self, BackupError> {
        let known = target.known()?.into_iter().map(|file| (file.path.clone(), file)).collect();
        let (name, directory) = target.begin(name)?;
        let path = directory.join(LIST);
        let list = BufWriter::new(create_new(&path).map_err(BackupError::writing(&path))?);
        let (files, bytes, added_bytes) = (0, 0, 0);
        let list_digest = Sha256::new();
        Ok(Self { target, name, directory, list, list_digest, known, progress, files, bytes, added_bytes })
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
            let is_same = known.modified_ns == modified_ns && known.bytes == about.len();
            never_changes && is_same && self.target.has_content(known)
        });
        if let Some(known) = known.cloned() {
            self.add_known(&known)?;
            return Ok(true);
        }
        let (sha256, bytes) = self.store(&mut file, from)?;
        let modified_ns = if never_changes { modified_ns } else { 0 };
        self.add_entry(&BackupFile { path: path.to_owned(), bytes, sha256, modified_ns, object: String::new() })?;
        Ok(true)
    }

    /// Returns the entry of an earlier backup for the same object of a bucket, if its content is stored.
    pub(super) fn known_object(&self, path: &str, bytes: u64, object: &str) -> Option<BackupFile> {
        let known = self.known.get(path).filter(|known| known.object == object && known.bytes == bytes)?;
        (!object.is_empty() && self.target.has_content(known)).then(|| known.clone())
    }

    /// Adds an entry of an earlier backup, whose content is stored.
    pub(super) fn add_known(&mut self, entry: &BackupFile) -> Result<(), BackupError> {
        self.target.note_known(entry);
        self.add_entry(entry)
    }

    /// Adds a fetched object of a bucket under `path`.
    pub(super) fn add_object(&mut self, path: &str, object: &str, content: &FetchedObject) -> Result<(), BackupError> {
        let entry = match content {
            FetchedObject::Bytes(bytes) => {
                let (sha256, bytes) = self.store(&mut Cursor::new(bytes), Path::new(path))?;
                BackupFile { path: path.to_owned(), bytes, sha256, modified_ns: 0, object: object.to_owned() }
            }
            FetchedObject::File(file) => {
                let stored = self.store_object(path, &file.0, object)?;
                stored.ok_or_else(|| BackupError::Vanished { path: file.0.clone() })?
            }
        };
        self.add_entry(&entry)
    }

    /// Stores the file `from`, which has the content of an object of a bucket, and returns its entry, which is to be
    /// added. `None`: the file does not exist.
    pub(super) fn store_object(
        &mut self,
        path: &str,
        from: &Path,
        object: &str,
    ) -> Result<Option<BackupFile>, BackupError> {
        let mut file = match File::open(from) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(BackupError::reading(from)(error)),
        };
        let (sha256, bytes) = self.store(&mut file, from)?;
        Ok(Some(BackupFile { path: path.to_owned(), bytes, sha256, modified_ns: 0, object: object.to_owned() }))
    }

    /// Adds a file with the content `bytes`, which was read from `from`.
    pub(super) fn add_bytes(&mut self, path: &str, bytes: &[u8], from: &Path) -> Result<(), BackupError> {
        let (sha256, bytes) = self.store(&mut Cursor::new(bytes), from)?;
        self.add_entry(&BackupFile { path: path.to_owned(), bytes, sha256, modified_ns: 0, object: String::new() })
    }

    /// Adds an entry whose content is stored.
    pub(super) fn add_entry(&mut self, entry: &BackupFile) -> Result<(), BackupError> {
        self.progress.require_running()?;
        let path = self.directory.join(LIST);
        let line = serde_json::to_string(entry).expect("plain data") + "\n";
        self.list_digest.update(&line);
        self.list.write_all(line.as_bytes()).map_err(BackupError::writing(&path))?;
        self.files += 1;
        self.bytes += entry.bytes;
        self.progress.add(entry.bytes);
        Ok(())
    }

    /// Copies a content to the target unless it is there. Returns its SHA-256 and its size.
    fn store(&mut self, from: &mut dyn ReadSeek, source: &Path) -> Result<(String, u64), BackupError> {
        let stored = self.target.store(from, source, &self.progress)?;
        if stored.is_new {
            self.added_bytes += stored.bytes;
        }
        Ok((stored.sha256, stored.bytes))
    }

    /// Completes the backup: from now on it can be restored. Removes what interrupted backups left.
    pub(super) fn finish(mut self, facts: BackupFacts) -> Result<(Box<dyn BackupTarget>, FinishedBackup), BackupError> {
        self.progress.require_running()?;
        let path = self.directory.join(LIST);
        self.list.flush().and_then(|()| self.list.get_ref().sync_all()).map_err(BackupError::writing(&path))?;
        let manifest = BackupManifest {
            format: FORMAT,
            version: farrier_common::VERSION.to_owned(),
            began: facts.began,
            ended: facts.ended,
            files: self.files,
            bytes: self.bytes,
            without_caches: facts.without_caches,
            detached: facts.detached,
            list_sha256: hex::encode(self.list_digest.finalize()),
            warnings: facts.warnings.clone(),
        };
        let text = serde_json::to_vec_pretty(&manifest).expect("plain data");
        self.target.complete(&self.name, &self.directory, &text)?;
        let finished = FinishedBackup {
            name: self.name,
            files: self.files,
            bytes: self.bytes,
            added_bytes: self.added_bytes,
            removed: Vec::new(),
            warnings: facts.warnings,
        };
        Ok((self.target, finished))
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::{
        super::{destination::BackupDestination, manifest::MANIFEST},
        *,
    };

    fn begin(root: &Path, name: &str) -> BackupWriter {
        let destination = BackupDestination::open(root, Path::new("/nonexistent/data")).expect("a directory");
        BackupWriter::begin(Box::new(destination), name, Arc::default()).expect("begun")
    }

    fn finish(writer: BackupWriter) -> FinishedBackup {
        writer.finish(BackupFacts::default()).expect("complete").1
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
    fn an_object_is_known_by_its_path_size_and_name() {
        let dir = tempfile::tempdir().expect("a directory");
        let root = dir.path().join("backups");
        let mut first = begin(&root, "a");
        let content = FetchedObject::Bytes(b"content".to_vec());
        first.add_object("artifacts/1/1/1", "store", &content).expect("copied");
        assert_eq!(finish(first).added_bytes, 7);
        let mut second = begin(&root, "b");
        for (path, bytes, object) in
            [("artifacts/1/1/1", 7, "other"), ("artifacts/1/1/1", 8, "store"), ("artifacts/1/1/2", 7, "store")]
        {
            assert_eq!(second.known_object(path, bytes, object), None, "{path} {bytes} {object}");
        }
        let known = second.known_object("artifacts/1/1/1", 7, "store").expect("known");
        second.add_known(&known).expect("added");
        let finished = finish(second);
        assert_eq!((finished.files, finished.bytes, finished.added_bytes), (1, 7, 0));
    }

    #[test]
    fn links_of_other_users_are_not_followed() {
        let dir = tempfile::tempdir().expect("a directory");
        let (root, file) = (dir.path().join("backups"), dir.path().join("file"));
        fs::write(&file, "kept").expect("a file");
        let mut writer = begin(&root, "a");
        std::os::unix::fs::symlink(&file, root.join("files/new")).expect("a link");
        writer.add_bytes("HEAD", b"content", &root).expect("copied");
        std::os::unix::fs::symlink(&file, writer.directory().join(MANIFEST)).expect("a link");
        assert!(writer.finish(BackupFacts::default()).is_err());
        assert_eq!(fs::read_to_string(&file).expect("a file"), "kept");
    }

    #[test]
    fn a_stopped_backup_copies_nothing_more() {
        let dir = tempfile::tempdir().expect("a directory");
        let root = dir.path().join("backups");
        let mut writer = begin(&root, "a");
        writer.add_bytes("HEAD", b"content", dir.path()).expect("copied");
        writer.progress.stop();
        let stopped = writer.add_bytes("config", b"more", dir.path());
        assert!(matches!(stopped, Err(BackupError::Stopped)), "{stopped:?}");
        assert_eq!(fs::read_dir(root.join("files")).expect("a directory").count(), 1);
        let finished = writer.finish(BackupFacts::default()).map(|(_, finished)| finished);
        assert!(matches!(finished, Err(BackupError::Stopped)), "{finished:?}");
    }

    #[test]
    fn an_interrupted_backup_is_continued_and_never_counts_as_complete() {
        let dir = tempfile::tempdir().expect("a directory");
        let (root, file) = (dir.path().join("backups"), dir.path().join("file"));
        fs::write(&file, "content").expect("a file");
        let mut killed = begin(&root, "a");
        killed.add_file("artifacts/1/1/1", &file, true).expect("copied");
        fs::write(root.join("files/new"), "half").expect("a file");
        drop(killed);
        let mut next = begin(&root, "b");
        assert_eq!(fs::read_dir(root.join("backups")).expect("a directory").count(), 2, "both are not complete");
        next.add_file("artifacts/1/1/1", &file, true).expect("known");
        assert_eq!(finish(next).added_bytes, 0);
        let destination = BackupDestination::open_existing(&root).expect("backups");
        assert_eq!(destination.list().expect("listed"), ["b"]);
    }
}
