//! Finds the backup in a tar file, without unpacking it.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    fs::File,
    io::{self, Read},
    os::unix::fs::FileExt as _,
    path::{Path, PathBuf},
};

use tar::{Archive, EntryType};

use crate::backup::{
    BackupError,
    manifest::{LIST, MANIFEST},
    place::{BACKUPS, FILES, MARK, RECORD_BYTES_MAX, StoredBackups, content_path},
};

/// Number of digits of a SHA-256.
const SHA256_DIGITS: usize = 64;

/// A tar file with a backup. Only the places of its entries are in memory.
#[derive(Debug)]
pub(in crate::backup) struct TarBackups {
    path: PathBuf,
    file: File,
    /// The contents, by SHA-256.
    contents: HashMap<String, Section>,
    /// Lists and manifests, by the names of the backup and of the file.
    records: BTreeMap<(String, String), Section>,
}

/// Bytes of the file.
#[derive(Clone, Copy, Debug)]
struct Section {
    offset: u64,
    length: u64,
}

/// What an entry is, by its path.
#[derive(Debug, PartialEq, Eq)]
enum Entry {
    Mark,
    Directory,
    Content(String),
    Record(String, String),
}

impl TarBackups {
    /// Reads the headers of all entries. Refuses entries that [`super::TarTarget`] does not write: links, devices,
    /// other paths, paths that occur twice, and sizes beyond the end of the file.
    pub(in crate::backup) fn open(path: &Path) -> Result<Self, BackupError> {
        let reading = || BackupError::reading(path);
        let refused = |reason: String| BackupError::Tar { path: path.to_owned(), reason };
        let file = File::open(path).map_err(reading())?;
        let end = file.metadata().map_err(reading())?.len();
        let (mut contents, mut records) = (HashMap::new(), BTreeMap::new());
        let (mut directories, mut has_mark) = (BTreeSet::new(), false);
        let mut archive = Archive::new(&file);
        // Without the extensions for long names, which a backup does not need: they are read to memory.
        let entries = archive.entries_with_seek().map_err(reading())?.raw(true);
        for entry in entries {
            let entry = entry.map_err(|error| refused(format!("it is not a complete tar file: {error}")))?;
            let (name, kind) = (entry.path_bytes().into_owned(), entry.header().entry_type());
            let shown = String::from_utf8_lossy(&name).into_owned();
            let section = Section { offset: entry.raw_file_position(), length: entry.size() };
            if section.offset.checked_add(section.length).is_none_or(|after| after > end) {
                return Err(refused(format!("{shown:?} has more bytes than the file; the stream ended early")));
            }
            let is_new = match (parse(&name), kind) {
                (Some(Entry::Mark), EntryType::Regular) => !std::mem::replace(&mut has_mark, true),
                (Some(Entry::Directory), EntryType::Directory) if section.length == 0 => directories.insert(name),
                (Some(Entry::Content(sha256)), EntryType::Regular) => contents.insert(sha256, section).is_none(),
                (Some(Entry::Record(backup, file)), EntryType::Regular) => {
                    records.insert((backup, file), section).is_none()
                }
                _ => return Err(refused(format!("it has the entry {shown:?}, which no backup has"))),
            };
            if !is_new {
                return Err(refused(format!("it has the entry {shown:?} twice")));
            }
        }
        if !has_mark {
            return Err(refused("it was not written by farrierd".to_owned()));
        }
        Ok(Self { path: path.to_owned(), file, contents, records })
    }

    fn section(&self, section: Section) -> SectionReader<'_> {
        SectionReader { file: &self.file, left: section }
    }
}

/// Returns what a path of an entry means; `None` for paths that no backup has.
fn parse(path: &[u8]) -> Option<Entry> {
    let path = std::str::from_utf8(path).ok()?;
    if path == MARK {
        return Some(Entry::Mark);
    }
    let (top, rest) = path.split_once('/')?;
    let is_digit = |byte: u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
    let is_name =
        |name: &str| !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-');
    match (top, rest.split_once('/')) {
        (FILES | BACKUPS, None) if rest.is_empty() => Some(Entry::Directory),
        (FILES, Some((_, sha256))) => {
            let is_valid =
                sha256.len() == SHA256_DIGITS && sha256.bytes().all(is_digit) && path == content_path(sha256);
            is_valid.then(|| Entry::Content(sha256.to_owned()))
        }
        (BACKUPS, Some((name, ""))) if is_name(name) => Some(Entry::Directory),
        (BACKUPS, Some((name, file))) if is_name(name) && (file == LIST || file == MANIFEST) => {
            Some(Entry::Record(name.to_owned(), file.to_owned()))
        }
        _ => None,
    }
}

impl StoredBackups for TarBackups {
    fn place(&self) -> &Path {
        &self.path
    }

    /// Returns the backups with a manifest, which is the last entry.
    fn complete(&self) -> Result<Vec<String>, BackupError> {
        let manifests = self.records.keys().filter(|(_, file)| file == MANIFEST);
        Ok(manifests.map(|(name, _)| name.clone()).collect())
    }

    fn read(&self, name: &str, file: &str) -> io::Result<Vec<u8>> {
        let found = self.records.get(&(name.to_owned(), file.to_owned()));
        let section = *found.ok_or(io::ErrorKind::NotFound)?;
        if section.length > RECORD_BYTES_MAX {
            return Err(io::Error::new(io::ErrorKind::FileTooLarge, "it is too large"));
        }
        let mut bytes = Vec::new();
        self.section(section).read_to_end(&mut bytes)?;
        Ok(bytes)
    }

    fn open(&self, sha256: &str) -> io::Result<Box<dyn Read + '_>> {
        let section = *self.contents.get(sha256).ok_or(io::ErrorKind::NotFound)?;
        Ok(Box::new(self.section(section)))
    }
}

/// Reads a section of a file, independently of other readers.
struct SectionReader<'a> {
    file: &'a File,
    /// What was not read yet.
    left: Section,
}

impl Read for SectionReader<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let length = usize::try_from(self.left.length).unwrap_or(usize::MAX).min(buffer.len());
        let read = self.file.read_at(&mut buffer[..length], self.left.offset)?;
        self.left.offset += read as u64;
        self.left.length -= read as u64;
        Ok(read)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_paths_of_a_backup_are_accepted() {
        let digest = "0f".repeat(32);
        let parsed = |path: &str| parse(path.as_bytes());
        assert_eq!(parsed(MARK), Some(Entry::Mark));
        assert_eq!(parsed("files/"), Some(Entry::Directory));
        assert_eq!(parsed(&format!("files/0f/{digest}")), Some(Entry::Content(digest.clone())));
        assert_eq!(parsed("backups/20260102T030405Z-2/"), Some(Entry::Directory));
        let record = Entry::Record("20260102T030405Z".into(), LIST.into());
        assert_eq!(parsed("backups/20260102T030405Z/files.jsonl"), Some(record));
        let wrong = [
            String::new(),
            "/etc/passwd".into(),
            "../farrier-backups.json".into(),
            "./farrier-backups.json".into(),
            format!("files/0e/{digest}"),
            format!("files/0f/{}", digest.to_uppercase()),
            format!("files/0f/../0f/{digest}"),
            format!("files//{digest}"),
            "backups/../files.jsonl".into(),
            "backups//manifest.json".into(),
            "backups/a/b/manifest.json".into(),
            "backups/a/lock".into(),
            "lock".into(),
        ];
        for path in wrong {
            assert_eq!(parsed(&path), None, "{path}");
        }
        assert_eq!(parse(b"backups/\xff/files.jsonl"), None);
    }
}
