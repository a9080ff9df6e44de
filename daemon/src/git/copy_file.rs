//! The file `farrier-copy` in the directory of a repository, which contains the version that its files of refs have.
//!
//! It is not synced: after a power failure, neither it nor the files of refs can be trusted. Then the ID of the boot in
//! it differs from that of the machine.

use std::{
    fs::{self, File},
    io::{self, Read as _, Write as _},
    path::Path,
    sync::Arc,
};

use super::{Git, GitError, RepositoryLock, objects::open_regular, refs::ignore_missing};
use crate::tasks;

/// Name of the file, in the directory of a repository.
pub(super) const COPY_FILE: &str = "farrier-copy";
/// The next content of the file.
pub(super) const COPY_LOCK: &str = "farrier-copy.lock";
/// The first line.
const FORMAT: &str = "farrier-copy 1";
/// Maximum size of the file, bytes.
const MAX_BYTES: u64 = 1_024;

/// The version that the files of refs of a repository have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CopyFile {
    /// The identity of the store.
    pub store: Vec<u8>,
    /// The version of the refs of the repository.
    pub version: u64,
    /// The prune epoch whose dropped packs are hidden. Only if other nodes may prune the repository.
    pub epoch: Option<u64>,
    /// The ID of the boot of the machine in which the files were written: one line without spaces.
    pub boot: String,
}

impl CopyFile {
    fn text(&self) -> String {
        let epoch = self.epoch.map(|epoch| format!("epoch {epoch}\n")).unwrap_or_default();
        format!("{FORMAT}\nstore {}\nversion {}\n{epoch}boot {}\n", hex::encode(&self.store), self.version, self.boot)
    }

    /// Returns the content of a complete file.
    fn parse(text: &str) -> Option<Self> {
        let mut lines = text.strip_suffix('\n')?.split('\n');
        if lines.next() != Some(FORMAT) {
            return None;
        }
        let store = hex::decode(lines.next()?.strip_prefix("store ")?).ok()?;
        let version = lines.next()?.strip_prefix("version ")?.parse().ok()?;
        let (mut line, mut epoch) = (lines.next()?, None);
        if let Some(text) = line.strip_prefix("epoch ") {
            epoch = Some(text.parse().ok()?);
            line = lines.next()?;
        }
        let boot = line.strip_prefix("boot ")?.to_owned();
        lines.next().is_none().then_some(Self { store, version, epoch, boot })
    }
}

impl Git {
    /// Returns the version that the files of refs of a repository have; `None` if it is unknown.
    pub async fn read_copy(&self, repository: u64) -> Result<Option<CopyFile>, GitError> {
        let directory = self.directory(repository);
        tasks::blocking(move || read(&directory)).await.map_err(GitError::io("reading the version of files of refs"))
    }

    /// Records the version that the files of refs of a repository have.
    ///
    /// `guard` stays locked until the file is written, also if the returned future is dropped.
    pub async fn write_copy(
        &self,
        repository: u64,
        copy: &CopyFile,
        guard: Arc<RepositoryLock>,
    ) -> Result<(), GitError> {
        let (directory, text) = (self.directory(repository), copy.text());
        let written = tasks::blocking(move || {
            let _guard = guard;
            write(&directory, &text)
        });
        written.await.map_err(GitError::io("writing the version of files of refs"))
    }
}

/// Reads the file. A missing, damaged or foreign file has no content.
fn read(directory: &Path) -> io::Result<Option<CopyFile>> {
    // A link, a directory or a pipe was not written by the daemon.
    let Ok(Some(file)) = open_regular(&directory.join(COPY_FILE)) else { return Ok(None) };
    let mut bytes = Vec::new();
    file.take(MAX_BYTES).read_to_end(&mut bytes)?;
    Ok(std::str::from_utf8(&bytes).ok().and_then(CopyFile::parse))
}

fn write(directory: &Path, text: &str) -> io::Result<()> {
    let staging = directory.join(COPY_LOCK);
    // Only the daemon writes this file, one writer at a time. So an existing file was left by a write that failed.
    ignore_missing(fs::remove_file(&staging))?;
    File::create_new(&staging)?.write_all(text.as_bytes())?;
    fs::rename(&staging, directory.join(COPY_FILE))
}

/// Removes the file. No acknowledged data is lost: the files of refs are then written again from the rows.
pub(super) fn remove(directory: &Path) -> io::Result<()> {
    ignore_missing(fs::remove_file(directory.join(COPY_FILE)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn copy() -> CopyFile {
        CopyFile { store: vec![1, 2], version: 42, epoch: Some(7), boot: "b".to_owned() }
    }

    #[test]
    fn a_file_has_what_was_written_and_replaces_the_file_of_a_write_that_failed() {
        let dir = tempfile::tempdir().expect("a directory");
        assert_eq!(read(dir.path()).expect("no file"), None);
        fs::write(dir.path().join(COPY_LOCK), "half").expect("a file");
        write(dir.path(), &copy().text()).expect("written");
        assert_eq!(read(dir.path()).expect("readable"), Some(copy()));
        let next = CopyFile { version: 43, epoch: None, ..copy() };
        write(dir.path(), &next.text()).expect("written");
        assert_eq!(read(dir.path()).expect("readable"), Some(next));
        assert!(!dir.path().join(COPY_LOCK).exists());
        remove(dir.path()).expect("removed");
        remove(dir.path()).expect("removed already");
        assert_eq!(read(dir.path()).expect("no file"), None);
    }

    #[test]
    fn a_truncated_damaged_or_foreign_file_has_no_content() {
        let text = copy().text();
        for length in 0..text.len() {
            assert_eq!(CopyFile::parse(&text[..length]), None, "{length}");
        }
        for damaged in
            [format!("{text}x\n"), text.replace("copy 1", "copy 2"), text.replace("42", "-1"), text.replace('7', "")]
        {
            assert_eq!(CopyFile::parse(&damaged), None, "{damaged}");
        }
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join(COPY_FILE);
        fs::write(dir.path().join("other"), &text).expect("a file");
        std::os::unix::fs::symlink("other", &path).expect("a link");
        assert_eq!(read(dir.path()).expect("not followed"), None);
        write(dir.path(), &text).expect("written");
        assert!(fs::symlink_metadata(&path).expect("a file").is_file(), "the link was replaced");
        fs::write(&path, vec![0xff; 5_000]).expect("a file");
        assert_eq!(read(dir.path()).expect("readable"), None);
    }
}
