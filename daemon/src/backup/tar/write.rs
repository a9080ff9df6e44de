//! Writes a backup as a tar stream.

use std::{
    collections::HashSet,
    fs::File,
    io::Write,
    path::{Path, PathBuf},
};

use tar::{EntryType, Header};

use crate::backup::{
    BackupError, BackupFile, BackupProgress,
    manifest::{LIST, MANIFEST},
    place::{
        BACKUPS, BackupTarget, FILES, MARK, MARK_TEXT, MeasuredContent, PIECE_BYTES, ReadSeek, ScratchDirectory,
        StoredContent, content_path,
    },
};

/// Size of a block of a tar file, bytes.
const BLOCK_BYTES: usize = 512;

/// Writes a tar stream with one backup. Holds a piece of it in memory, and the digests of the contents.
///
/// Nothing is written when this is dropped: a stream that was not completed has no manifest.
pub(in crate::backup) struct TarTarget {
    out: Box<dyn Write + Send>,
    /// Bytes that were not passed to `out` yet.
    buffer: Vec<u8>,
    data_dir: PathBuf,
    scratch: Option<ScratchDirectory>,
    stored: HashSet<Vec<u8>>,
    /// Time of all entries, seconds since the epoch.
    time: u64,
}

impl TarTarget {
    /// Begins a stream to `out`. The list and the copy of the store are in `data_dir` until the end.
    pub(in crate::backup) fn new(out: Box<dyn Write + Send>, data_dir: &Path, time: u64) -> Self {
        let (buffer, stored) = (Vec::with_capacity(2 * PIECE_BYTES), HashSet::new());
        Self { out, buffer, data_dir: data_dir.to_owned(), scratch: None, stored, time }
    }

    fn add_header(&mut self, path: &str, kind: EntryType, size: u64) -> Result<(), BackupError> {
        let mut header = Header::new_gnu();
        header.set_path(path).map_err(BackupError::Stream)?;
        header.set_entry_type(kind);
        header.set_mode(if kind == EntryType::Directory { 0o700 } else { 0o600 });
        header.set_uid(0);
        header.set_gid(0);
        header.set_mtime(self.time);
        header.set_size(size);
        header.set_cksum();
        self.add(header.as_bytes())
    }

    fn add_directory(&mut self, path: &str) -> Result<(), BackupError> {
        self.add_header(&format!("{path}/"), EntryType::Directory, 0)
    }

    fn add_small(&mut self, path: &str, content: &[u8]) -> Result<(), BackupError> {
        self.add_header(path, EntryType::Regular, content.len() as u64)?;
        self.add(content)?;
        self.pad(content.len() as u64)
    }

    fn add_measured(
        &mut self,
        path: &str,
        measured: &MeasuredContent,
        from: &mut dyn ReadSeek,
        source: &Path,
        progress: &BackupProgress,
    ) -> Result<(), BackupError> {
        self.add_header(path, EntryType::Regular, measured.bytes)?;
        measured.copy(from, source, progress, |piece| self.add(piece))?;
        self.pad(measured.bytes)
    }

    /// Fills the last block of an entry of `size` bytes.
    fn pad(&mut self, size: u64) -> Result<(), BackupError> {
        let block = BLOCK_BYTES as u64;
        let missing = usize::try_from((block - size % block) % block).expect("less than a block");
        self.add(&[0; BLOCK_BYTES][..missing])
    }

    fn add(&mut self, bytes: &[u8]) -> Result<(), BackupError> {
        self.buffer.extend_from_slice(bytes);
        if self.buffer.len() >= PIECE_BYTES { self.pass() } else { Ok(()) }
    }

    fn pass(&mut self) -> Result<(), BackupError> {
        self.out.write_all(&self.buffer).map_err(BackupError::Stream)?;
        self.buffer.clear();
        Ok(())
    }
}

impl BackupTarget for TarTarget {
    fn known(&self) -> Result<Vec<BackupFile>, BackupError> {
        Ok(Vec::new())
    }

    fn begin(&mut self, name: &str) -> Result<(String, PathBuf), BackupError> {
        let scratch = self.scratch.insert(ScratchDirectory::create(&self.data_dir)?).path().to_owned();
        self.add_small(MARK, MARK_TEXT.as_bytes())?;
        self.add_directory(FILES)?;
        self.add_directory(BACKUPS)?;
        // At once, so that a stream that cannot be written is noticed before the store is copied.
        self.pass()?;
        Ok((name.to_owned(), scratch))
    }

    fn has_content(&self, _file: &BackupFile) -> bool {
        false
    }

    fn store(
        &mut self,
        from: &mut dyn ReadSeek,
        source: &Path,
        progress: &BackupProgress,
    ) -> Result<StoredContent, BackupError> {
        let measured = MeasuredContent::read(from, source, progress)?;
        let digest = hex::decode(&measured.sha256).expect("hexadecimal digits");
        let is_new = self.stored.insert(digest);
        if is_new {
            self.add_measured(&content_path(&measured.sha256), &measured, from, source, progress)?;
        }
        Ok(StoredContent { sha256: measured.sha256, bytes: measured.bytes, is_new })
    }

    fn complete(&mut self, name: &str, directory: &Path, manifest: &[u8]) -> Result<(), BackupError> {
        let (path, below) = (directory.join(LIST), format!("{BACKUPS}/{name}"));
        let mut list = File::open(&path).map_err(BackupError::reading(&path))?;
        let progress = BackupProgress::default();
        let measured = MeasuredContent::read_list(&mut list, &path)?;
        self.add_directory(&below)?;
        self.add_measured(&format!("{below}/{LIST}"), &measured, &mut list, &path, &progress)?;
        self.add_small(&format!("{below}/{MANIFEST}"), manifest)?;
        self.add(&[0; 2 * BLOCK_BYTES])?;
        self.pass()?;
        self.out.flush().map_err(BackupError::Stream)?;
        self.scratch = None;
        Ok(())
    }

    /// A stream has one backup, so nothing is removed.
    fn retain(&mut self, _keep: usize, _newest: &str) -> Result<Vec<String>, BackupError> {
        Ok(Vec::new())
    }
}
