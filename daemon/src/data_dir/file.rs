//! The identity file: a small JSON file in each directory that holds data.

use std::{
    collections::BTreeMap,
    fs::{self, DirBuilder, File, OpenOptions},
    io::{self, Write as _},
    os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _},
    path::Path,
};

use serde::{Deserialize, Serialize};

use crate::{clock::Millis, store::identity::Mark};

/// Its name in `repositories/` and `artifacts/`.
pub const FILE: &str = "farrier-data.json";
/// What is being written. A leftover is overwritten by the next write.
const NEW_FILE: &str = ".farrier-data.json.new";
/// The first version of the file.
const FORMAT: u32 = 1;
/// A larger file is none of ours.
const MAX_BYTES: u64 = 1 << 16;

/// The content of an identity file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MarkFile {
    /// Version of this content.
    pub format: u32,
    /// For people who find the file.
    pub about: String,
    /// The id of the data directory, hex.
    pub id: String,
    /// Counts how often the file was written.
    pub mark: u64,
    /// For each kind of ids the first that was not reserved.
    pub next_ids: BTreeMap<String, u64>,
    /// When the file was written, RFC 3339.
    pub written: String,
}

impl MarkFile {
    /// The content for `mark`.
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

    /// The first id of `kind` that was not reserved when this was written.
    pub fn next_id(&self, kind: crate::store::ids::IdKind) -> u64 {
        self.next_ids.get(kind.name()).copied().unwrap_or(1)
    }
}

/// What a directory has under the file's name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Found {
    /// Nothing.
    Missing,
    /// Something that cannot be read as an identity file, and why.
    Unreadable(String),
    /// An identity file.
    File(MarkFile),
}

/// Reads the identity file of `directory`, which may be missing itself.
pub(super) fn read(directory: &Path) -> io::Result<Found> {
    let path = directory.join(FILE);
    match fs::metadata(&path) {
        Ok(about) if about.len() > MAX_BYTES => return Ok(Found::Unreadable(format!("it has {} bytes", about.len()))),
        Ok(_) => {}
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Found::Missing),
        Err(error) => return Err(error),
    }
    Ok(match serde_json::from_slice::<MarkFile>(&fs::read(path)?) {
        Ok(file) if file.format > FORMAT => Found::Unreadable(format!(
            "it has format {}, this farrierd reads up to {FORMAT}: it was written by a newer one",
            file.format
        )),
        Ok(file) => Found::File(file),
        Err(error) => Found::Unreadable(error.to_string()),
    })
}

/// Whether the identity file of `directory` has this id and mark.
pub(super) fn holds(directory: &Path, id: &str, mark: u64) -> bool {
    matches!(read(directory), Ok(Found::File(file)) if file.id == id && file.mark == mark)
}

/// Replaces the identity file of `directory`. Returns once that would survive a power cut.
pub(super) fn write(directory: &Path, content: &MarkFile) -> io::Result<()> {
    let new = directory.join(NEW_FILE);
    let mut text = serde_json::to_vec_pretty(content)?;
    text.push(b'\n');
    let mut open = OpenOptions::new();
    let mut file = open.write(true).create(true).truncate(true).mode(0o600).open(&new)?;
    let written = file.write_all(&text).and_then(|()| file.sync_all());
    if let Err(error) = written {
        // It never had its name. The file before it is still in place.
        _ = fs::remove_file(&new);
        return Err(error);
    }
    fs::rename(&new, directory.join(FILE))?;
    File::open(directory)?.sync_all()
}

/// Makes a directory for the daemon's user alone.
pub(super) fn make_dir(path: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(path)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::ids::IdKind;

    #[test]
    fn a_file_reads_back_and_anything_else_is_named() {
        let dir = tempfile::tempdir().expect("a directory");
        assert_eq!(read(&dir.path().join("missing")).expect("nothing"), Found::Missing);
        let mark = Mark { id: vec![7; 16], mark: 3, next_ids: vec![(IdKind::Repository, 65)] };
        let content = MarkFile::new(&mark, 1_767_323_045_000);
        write(dir.path(), &content).expect("written");
        assert_eq!(read(dir.path()).expect("readable"), Found::File(content.clone()));
        assert_eq!((content.next_id(IdKind::Repository), content.next_id(IdKind::Artifact)), (65, 1));
        assert!(holds(dir.path(), &"07".repeat(16), 3) && !holds(dir.path(), &"07".repeat(16), 2));
        assert_eq!(fs::read_dir(dir.path()).expect("readable").count(), 1);
        for (text, reason) in [("{", "EOF"), ("", "EOF"), ("{\"format\":1}", "missing field")] {
            fs::write(dir.path().join(FILE), text).expect("written");
            let found = read(dir.path()).expect("readable");
            assert!(matches!(&found, Found::Unreadable(why) if why.contains(reason)), "{text}: {found:?}");
        }
        let newer = MarkFile { format: 2, ..content };
        write(dir.path(), &newer).expect("written");
        assert!(matches!(read(dir.path()).expect("readable"), Found::Unreadable(why) if why.contains("newer one")));
    }
}
