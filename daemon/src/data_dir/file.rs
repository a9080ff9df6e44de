//! The identity file: a small JSON file in each data directory.

use std::{
    collections::BTreeMap,
    fs::{self, DirBuilder, File, OpenOptions},
    io::{self, Write as _},
    os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _},
    path::Path,
};

use serde::{Deserialize, Serialize};

use crate::{clock::Millis, store::identity::Mark};

/// Name of the file in `repositories/` and `artifacts/`.
pub const FILE: &str = "farrier-data.json";
/// Temporary name while the file is written. The next write overwrites a leftover.
const NEW_FILE: &str = ".farrier-data.json.new";
/// The current version of the file.
const FORMAT: u32 = 1;
/// Largest accepted file. farrier's own are much smaller.
const MAX_BYTES: u64 = 1 << 16;

/// The content of an identity file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MarkFile {
    /// Version of this content.
    pub format: u32,
    /// An explanation for people who find the file.
    pub about: String,
    /// The id of the data directory, in hexadecimal.
    pub id: String,
    /// Counts how often the file was written.
    pub mark: u64,
    /// The first id of each kind that was not reserved.
    pub next_ids: BTreeMap<String, u64>,
    /// When the file was written, in RFC 3339.
    pub written: String,
}

impl MarkFile {
    /// Creates the content for `mark`.
    pub fn new(mark: &Mark, now_ms: Millis) -> Self {
        Self {
            format: FORMAT,
            about: "farrierd pairs this directory with its store by this file. Do not edit, copy or delete it.".into(),
            id: hex::encode(&mark.id),
            mark: mark.mark,
            next_ids: mark.next_ids.iter().map(|(kind, next)| (kind.name().to_owned(), *next)).collect(),
            written: jiff::Timestamp::from_millisecond(now_ms).unwrap_or_default().to_string(),
        }
    }

    /// Returns the first id of `kind` that was not reserved when the file was written.
    pub fn next_id(&self, kind: crate::store::ids::IdKind) -> u64 {
        self.next_ids.get(kind.name()).copied().unwrap_or(1)
    }
}

/// The result of reading an identity file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FileState {
    /// The file does not exist.
    Missing,
    /// The file is not a valid identity file. Contains the reason.
    Unreadable(String),
    /// A valid identity file.
    File(MarkFile),
}

/// Reads the identity file of `directory`, which may itself be missing.
pub(super) fn read(directory: &Path) -> io::Result<FileState> {
    let path = directory.join(FILE);
    match fs::metadata(&path) {
        Ok(about) if about.len() > MAX_BYTES => {
            return Ok(FileState::Unreadable(format!("it has {} bytes", about.len())));
        }
        Ok(_) => {}
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(FileState::Missing),
        Err(error) => return Err(error),
    }
    Ok(match serde_json::from_slice::<MarkFile>(&fs::read(path)?) {
        Ok(file) if file.format > FORMAT => FileState::Unreadable(format!(
            "it has format {}, this farrierd reads up to {FORMAT}: it was written by a newer one",
            file.format
        )),
        Ok(file) => FileState::File(file),
        Err(error) => FileState::Unreadable(error.to_string()),
    })
}

/// Returns whether the identity file of `directory` has this id and mark.
pub(super) fn holds(directory: &Path, id: &str, mark: u64) -> bool {
    matches!(read(directory), Ok(FileState::File(file)) if file.id == id && file.mark == mark)
}

/// Replaces the identity file of `directory`. Returns once the change survives a power failure.
pub(super) fn write(directory: &Path, content: &MarkFile) -> io::Result<()> {
    let new = directory.join(NEW_FILE);
    let mut text = serde_json::to_vec_pretty(content)?;
    text.push(b'\n');
    let mut open = OpenOptions::new();
    let mut file = open.write(true).create(true).truncate(true).mode(0o600).open(&new)?;
    let written = file.write_all(&text).and_then(|()| file.sync_all());
    if let Err(error) = written {
        // Safe to remove: this file was never renamed, and the previous identity file still exists.
        _ = fs::remove_file(&new);
        return Err(error);
    }
    fs::rename(&new, directory.join(FILE))?;
    File::open(directory)?.sync_all()
}

/// Creates a directory that only the daemon's user can access.
pub(super) fn create_dir(path: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(path)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::ids::IdKind;

    #[test]
    fn a_written_file_reads_back_and_an_invalid_one_is_reported() {
        let dir = tempfile::tempdir().expect("a directory");
        assert_eq!(read(&dir.path().join("missing")).expect("nothing"), FileState::Missing);
        let mark = Mark { id: vec![7; 16], mark: 3, next_ids: vec![(IdKind::Repository, 65)] };
        let content = MarkFile::new(&mark, 1_767_323_045_000);
        write(dir.path(), &content).expect("written");
        assert_eq!(read(dir.path()).expect("readable"), FileState::File(content.clone()));
        assert_eq!((content.next_id(IdKind::Repository), content.next_id(IdKind::Artifact)), (65, 1));
        assert!(holds(dir.path(), &"07".repeat(16), 3) && !holds(dir.path(), &"07".repeat(16), 2));
        assert_eq!(fs::read_dir(dir.path()).expect("readable").count(), 1);
        for (text, reason) in [("{", "EOF"), ("", "EOF"), ("{\"format\":1}", "missing field")] {
            fs::write(dir.path().join(FILE), text).expect("written");
            let found = read(dir.path()).expect("readable");
            assert!(matches!(&found, FileState::Unreadable(why) if why.contains(reason)), "{text}: {found:?}");
        }
        let newer = MarkFile { format: 2, ..content };
        write(dir.path(), &newer).expect("written");
        assert!(matches!(read(dir.path()).expect("readable"), FileState::Unreadable(why) if why.contains("newer one")));
    }
}
