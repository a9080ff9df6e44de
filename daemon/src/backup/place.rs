//! What a backup is written to and read from: a directory, a tar stream, or a bucket. All calls block.

use std::{
    fs,
    io::{self, Read, Seek, SeekFrom},
    path::{Path, PathBuf},
};

use sha2::{Digest as _, Sha256};

use super::{BackupError, BackupFile, BackupProgress, destination::create_dir};

/// Size of the pieces in which contents are copied, bytes. Contents up to this size are read once.
pub(super) const PIECE_BYTES: usize = 1 << 20;
/// Largest list or manifest that is read to memory from a tar file or a bucket, bytes. Enough for 4 million files.
pub(super) const RECORD_BYTES_MAX: u64 = 1 << 30;
/// Marks a place with backups.
pub(super) const MARK: &str = "farrier-backups.json";
/// Content of the mark.
pub(super) const MARK_TEXT: &str = "{\n  \"format\": 1,\n  \"about\": \"Backups of farrierd. They have secrets. Do not \
    edit them; farrierd restore reads them.\"\n}\n";
pub(super) const FILES: &str = "files";
pub(super) const BACKUPS: &str = "backups";

/// Kind of the errors of a place that cannot be reached: they say nothing about the backups in it.
pub(super) const UNREACHABLE: io::ErrorKind = io::ErrorKind::NotConnected;

/// Returns the path of a content in a place with backups.
pub(super) fn content_path(sha256: &str) -> String {
    format!("{FILES}/{}/{sha256}", sha256.get(..2).unwrap_or_default())
}

/// Returns the names that a backup may get, in the order of preference.
pub(super) fn names(name: &str) -> impl Iterator<Item = String> {
    std::iter::once(name.to_owned()).chain((2..).map(move |number: u32| format!("{name}-{number}")))
}

/// Backups that can be read.
pub(super) trait StoredBackups {
    /// Returns the path or the URL of the backups, for messages.
    fn place(&self) -> &Path;

    /// Returns the names of the complete backups, oldest first.
    fn complete(&self) -> Result<Vec<String>, BackupError>;

    /// Reads the list or the manifest of the backup `name`.
    fn read(&self, name: &str, file: &str) -> io::Result<Vec<u8>>;

    /// Opens the content with this SHA-256.
    fn open(&self, sha256: &str) -> io::Result<Box<dyn Read + '_>>;
}

/// Receives one backup: contents first, the manifest last.
pub(super) trait BackupTarget: Send {
    /// Returns the files of earlier backups, as far as they can be read. A later file with the same path counts.
    fn known(&self) -> Result<Vec<BackupFile>, BackupError>;

    /// Prepares a backup. Returns its name, which is `name` or begins with it, and a directory of its own on this
    /// machine for the list and for temporary files.
    fn begin(&mut self, name: &str) -> Result<(String, PathBuf), BackupError>;

    /// Returns whether the content of `file` is stored completely.
    fn has_content(&self, file: &BackupFile) -> bool;

    /// Records that the backup names `file`, whose content is stored already.
    fn note_known(&mut self, _file: &BackupFile) {}

    /// Stores a content, which is read from the file `source`, unless it is stored already.
    fn store(
        &mut self,
        from: &mut dyn ReadSeek,
        source: &Path,
        progress: &BackupProgress,
    ) -> Result<StoredContent, BackupError>;

    /// Completes the backup: from now on it can be restored. `directory` has the complete list. Removes what
    /// interrupted backups left.
    fn complete(&mut self, name: &str, directory: &Path, manifest: &[u8]) -> Result<(), BackupError>;

    /// Keeps the newest `keep` complete backups and removes the others. Returns the names of those that were removed.
    /// `newest`: the backup that was just made, which is kept even if the clock was set back and other names are later.
    fn retain(&mut self, keep: usize, newest: &str) -> Result<Vec<String>, BackupError>;
}

/// What [`BackupTarget::store`] stored.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct StoredContent {
    /// SHA-256, in hexadecimal.
    pub sha256: String,
    /// Size, bytes.
    pub bytes: u64,
    /// Whether the content was copied, because it was not stored.
    pub is_new: bool,
}

/// Directory in the data directory for the list and the copied store of a backup whose target is not a directory.
const SCRATCH_DIR: &str = "backup-scratch";

/// Removes what a killed backup left in `data_dir`: a copy of the store, and a list of files. The caller has the lock
/// of the data directory, and no backup runs. Blocks.
pub(crate) fn remove_scratch(data_dir: &Path) -> io::Result<()> {
    match fs::remove_dir_all(data_dir.join(SCRATCH_DIR)) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

/// A directory on this machine that is removed when this is dropped.
pub(super) struct ScratchDirectory(PathBuf);

impl ScratchDirectory {
    /// Creates the directory in `data_dir`. Removes what a killed backup left there: the daemon makes one backup at a
    /// time, and a command without a daemon has the lock of the data directory.
    pub(super) fn create(data_dir: &Path) -> Result<Self, BackupError> {
        let path = data_dir.join(SCRATCH_DIR);
        remove_scratch(data_dir).map_err(BackupError::writing(&path))?;
        create_dir(&path).map_err(BackupError::writing(&path))?;
        Ok(Self(path))
    }

    pub(super) fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for ScratchDirectory {
    fn drop(&mut self) {
        // Safe to remove, as above. The next backup tries again.
        _ = fs::remove_dir_all(&self.0);
    }
}

/// A content that can be read twice.
pub(super) trait ReadSeek: Read + Seek {}

impl<T: Read + Seek> ReadSeek for T {}

/// The SHA-256 and the size of a content, for places where the name and the size come before the bytes.
pub(super) struct MeasuredContent {
    /// SHA-256, in hexadecimal.
    pub sha256: String,
    /// Size, bytes.
    pub bytes: u64,
    /// All bytes of a small content.
    small: Option<Vec<u8>>,
}

impl MeasuredContent {
    /// Reads a content to its end.
    pub(super) fn read(from: &mut dyn ReadSeek, source: &Path, progress: &BackupProgress) -> Result<Self, BackupError> {
        let (mut digest, mut bytes) = (Sha256::new(), 0);
        let mut buffer = vec![0; PIECE_BYTES];
        loop {
            progress.require_running()?;
            let length = fill(from, &mut buffer).map_err(BackupError::reading(source))?;
            digest.update(&buffer[..length]);
            bytes += length as u64;
            if length < buffer.len() {
                let sha256 = hex::encode(digest.finalize());
                buffer.truncate(length);
                let small = (bytes == length as u64).then_some(buffer);
                return Ok(Self { sha256, bytes, small });
            }
        }
    }

    /// Reads the complete list of a backup to a tar stream or a bucket. Fails if a restore would refuse it for its
    /// size.
    pub(super) fn read_list(from: &mut dyn ReadSeek, source: &Path) -> Result<Self, BackupError> {
        let list = Self::read(from, source, &BackupProgress::default())?;
        if list.bytes > RECORD_BYTES_MAX { Err(BackupError::TooManyFiles { bytes: list.bytes }) } else { Ok(list) }
    }

    /// Passes all bytes to `write` in pieces of [`PIECE_BYTES`], the last one shorter or empty. Fails if the content is
    /// not the same any more, after some of it was passed.
    pub(super) fn copy(
        &self,
        from: &mut dyn ReadSeek,
        source: &Path,
        progress: &BackupProgress,
        mut write: impl FnMut(&[u8]) -> Result<(), BackupError>,
    ) -> Result<(), BackupError> {
        if let Some(small) = &self.small {
            return write(small);
        }
        from.seek(SeekFrom::Start(0)).map_err(BackupError::reading(source))?;
        let (mut digest, mut left, mut buffer) = (Sha256::new(), self.bytes, vec![0; PIECE_BYTES]);
        loop {
            progress.require_running()?;
            let length = fill(from, &mut buffer).map_err(BackupError::reading(source))?;
            let changed = || BackupError::Changed { path: source.to_owned() };
            // Never more than was announced.
            left = left.checked_sub(length as u64).ok_or_else(changed)?;
            digest.update(&buffer[..length]);
            write(&buffer[..length])?;
            if length < buffer.len() {
                let is_same = left == 0 && hex::encode(digest.finalize()) == self.sha256;
                return if is_same { Ok(()) } else { Err(changed()) };
            }
        }
    }
}

/// Reads until the buffer is full or the content ends.
fn fill(from: &mut dyn ReadSeek, buffer: &mut [u8]) -> io::Result<usize> {
    let mut length = 0;
    while length < buffer.len() {
        match from.read(&mut buffer[length..]) {
            Ok(0) => break,
            Ok(read) => length += read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(length)
}

#[cfg(test)]
mod tests {
    use std::io::Cursor;

    use super::*;

    fn copied(measured: &MeasuredContent, content: Vec<u8>) -> Result<Vec<u8>, BackupError> {
        let mut all = Vec::new();
        let write = |piece: &[u8]| {
            all.extend_from_slice(piece);
            Ok(())
        };
        measured.copy(&mut Cursor::new(content), Path::new("/file"), &BackupProgress::default(), write)?;
        Ok(all)
    }

    #[test]
    fn a_content_of_any_size_is_copied_as_it_was_measured() {
        for size in [0, 1, PIECE_BYTES - 1, PIECE_BYTES, PIECE_BYTES + 1, 2 * PIECE_BYTES] {
            let content = vec![7_u8; size];
            let progress = BackupProgress::default();
            let measured = MeasuredContent::read(&mut Cursor::new(content.clone()), Path::new("/file"), &progress);
            let measured = measured.expect("read");
            assert_eq!((measured.bytes, &measured.sha256), (size as u64, &hex::encode(Sha256::digest(&content))));
            assert!(copied(&measured, content.clone()).expect("copied") == content, "{size} bytes");
        }
    }

    #[test]
    fn a_large_content_that_changes_between_both_reads_is_an_error() {
        let content = vec![7_u8; PIECE_BYTES + 10];
        let progress = BackupProgress::default();
        let measured = MeasuredContent::read(&mut Cursor::new(content.clone()), Path::new("/file"), &progress);
        let measured = measured.expect("read");
        let mut other = content.clone();
        other[PIECE_BYTES] = 8;
        for changed in [content[1..].to_vec(), [content, vec![7]].concat(), other] {
            let error = copied(&measured, changed).expect_err("changed");
            assert!(matches!(error, BackupError::Changed { .. }), "{error:?}");
        }
    }
}
