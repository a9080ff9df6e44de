//! The manifest of a backup and the list of its files.

use std::{
    fs::File,
    io::{BufRead as _, BufReader},
    path::{Component, Path},
};

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use super::{
    BackupError,
    place::{StoredBackups, UNREACHABLE},
};

pub(super) const MANIFEST: &str = "manifest.json";
pub(super) const LIST: &str = "files.jsonl";
/// The current version of both files.
pub(super) const FORMAT: u32 = 1;
/// Number of digits of a SHA-256.
const SHA256_DIGITS: usize = 64;

/// The file `manifest.json` of a complete backup.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BackupManifest {
    /// Version of this file.
    pub format: u32,
    /// Version of the farrierd that made the backup.
    pub version: String,
    /// When the backup began, RFC 3339. Everything that was acknowledged before is in it.
    pub began: String,
    /// When it was complete, RFC 3339.
    pub ended: String,
    /// Number of files that a restore writes.
    pub files: u64,
    /// Bytes that a restore writes.
    pub bytes: u64,
    /// Whether cache entries were left out, with their rows.
    #[serde(default)]
    pub without_caches: bool,
    /// Whether the store was on PostgreSQL or the blobs were in a bucket. The backup has them as files.
    #[serde(default)]
    pub detached: bool,
    /// SHA-256 of `files.jsonl`, in hexadecimal.
    pub list_sha256: String,
    /// What is missing in the backup, one sentence each.
    pub warnings: Vec<String>,
}

/// A line of `files.jsonl`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BackupFile {
    /// Path in the data directory.
    pub path: String,
    /// Size, bytes.
    pub bytes: u64,
    /// SHA-256 of the content, in hexadecimal.
    pub sha256: String,
    /// Time of the last change of the source, nanoseconds since the epoch; 0 for files that git replaces, and for
    /// objects of a bucket.
    pub modified_ns: i64,
    /// For an object of a bucket: what tells it from all other objects that could get the same path and size. Objects
    /// never change.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub object: String,
}

impl BackupFile {
    /// Returns whether a restore may write the file: its path stays in the data directory.
    fn is_valid(&self) -> bool {
        let path = Path::new(&self.path);
        !self.path.is_empty()
            && path.components().all(|part| matches!(part, Component::Normal(_)))
            && self.sha256.len() == SHA256_DIGITS
            && self.sha256.bytes().all(|digit| matches!(digit, b'0'..=b'9' | b'a'..=b'f'))
    }
}

/// Reads a complete backup. Blocks.
pub(super) fn read(stored: &dyn StoredBackups, name: &str) -> Result<(BackupManifest, Vec<BackupFile>), BackupError> {
    let damaged = |reason: String| BackupError::Damaged { name: name.to_owned(), reason };
    let read = |file: &str| {
        stored.read(name, file).map_err(|error| match error.kind() {
            UNREACHABLE => BackupError::reading(&stored.place().join(file))(error),
            _ => damaged(format!("{file}: {error}")),
        })
    };
    let text = read(MANIFEST)?;
    let manifest: BackupManifest =
        serde_json::from_slice(&text).map_err(|error| damaged(format!("{MANIFEST}: {error}")))?;
    if manifest.format > FORMAT {
        return Err(damaged(format!("{MANIFEST} has format {}; a newer farrierd wrote it", manifest.format)));
    }
    let list = read(LIST)?;
    if hex::encode(Sha256::digest(&list)) != manifest.list_sha256 {
        return Err(damaged(format!("{LIST} was changed")));
    }
    let mut files = Vec::new();
    for (number, line) in (1..).zip(list.split(|byte| *byte == b'\n').filter(|line| !line.is_empty())) {
        let file: BackupFile =
            serde_json::from_slice(line).map_err(|error| damaged(format!("{LIST}, line {number}: {error}")))?;
        if !file.is_valid() {
            return Err(damaged(format!("{LIST}, line {number}: the path or the SHA-256 is not valid")));
        }
        files.push(file);
    }
    Ok((manifest, files))
}

/// Returns the files of a list that may end anywhere, as far as its lines can be read.
pub(super) fn read_partial(path: &Path) -> Vec<BackupFile> {
    let Ok(file) = File::open(path) else { return Vec::new() };
    let lines = BufReader::new(file).split(b'\n').map_while(Result::ok);
    let files = lines.map_while(|line| serde_json::from_slice::<BackupFile>(&line).ok());
    files.filter(BackupFile::is_valid).collect()
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn paths_outside_of_the_data_directory_are_refused() {
        let file = |path: &str, sha256: &str| BackupFile {
            path: path.into(),
            bytes: 1,
            sha256: sha256.into(),
            modified_ns: 0,
            object: String::new(),
        };
        let digest = "0f".repeat(32);
        assert!(file("repositories/1.git/HEAD", &digest).is_valid());
        for path in ["", "/etc/passwd", "../x", "a/../../x", "./a"] {
            assert!(!file(path, &digest).is_valid(), "{path}");
        }
        for digest in ["", "../../x", &"0F".repeat(32), &"0f".repeat(33)] {
            assert!(!file("a", digest).is_valid(), "{digest}");
        }
    }

    #[test]
    fn a_cut_list_gives_its_complete_lines() {
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join(LIST);
        let file =
            BackupFile { path: "a".into(), bytes: 1, sha256: "0f".repeat(32), modified_ns: 7, object: "0af1".into() };
        let line = serde_json::to_string(&file).expect("plain data");
        fs::write(&path, format!("{line}\n{line}\n{}", &line[..20])).expect("a file");
        assert_eq!(read_partial(&path), [file.clone(), file]);
        assert_eq!(read_partial(&dir.path().join("nothing")), []);
    }
}
