//! Reads contents of backups again and compares them with their SHA-256.

use std::{
    collections::{BTreeMap, HashSet},
    io::{self, Read},
};

use serde::Serialize;
use sha2::{Digest as _, Sha256};

use super::{
    BackupError, BackupFile, BackupsPlace,
    manifest::{self, BackupManifest},
    place::{PIECE_BYTES, StoredBackups, UNREACHABLE, content_path},
};

/// A problem of a backup.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct BackupDamage {
    /// The backup.
    pub backup: String,
    /// The file that cannot be restored, or `manifest.json` or `files.jsonl`.
    pub path: String,
    /// What is wrong with it.
    pub reason: String,
    /// Path of the damaged content in the directory of backups; empty if only the list or the manifest is damaged. If
    /// the content is deleted, the next backup copies it again from data that still has it.
    pub content: String,
}

/// The result of a check.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct VerifiedBackups {
    /// Names of all complete backups, oldest first.
    pub backups: Vec<String>,
    /// Number of contents that were read.
    pub contents: u64,
    /// Bytes that were read.
    pub bytes: u64,
    /// All problems.
    pub damage: Vec<BackupDamage>,
}

/// Reads all backups of `source` and compares them with their SHA-256. Changes nothing. Blocks.
pub fn verify(source: &BackupsPlace) -> Result<VerifiedBackups, BackupError> {
    let stored = source.open()?;
    let mut result = VerifiedBackups { backups: stored.complete()?, ..VerifiedBackups::default() };
    if result.backups.is_empty() {
        return Err(BackupError::NoBackup { path: stored.place().to_owned(), name: None });
    }
    // Backups share contents. Each is read once.
    let mut checked: BTreeMap<String, Option<String>> = BTreeMap::new();
    for name in result.backups.clone() {
        let files = match manifest::read(&*stored, &name) {
            Ok((_, files)) => files,
            Err(BackupError::Damaged { reason, .. }) => {
                let (path, content) = (manifest::MANIFEST.to_owned(), String::new());
                result.damage.push(BackupDamage { backup: name, path, reason, content });
                continue;
            }
            Err(error) => return Err(error),
        };
        for file in files {
            let problem = if let Some(problem) = checked.get(&file.sha256) {
                problem.clone()
            } else {
                result.contents += 1;
                result.bytes += file.bytes;
                let problem = check(&*stored, &file)?;
                checked.insert(file.sha256.clone(), problem.clone());
                problem
            };
            if let Some(reason) = problem {
                let content = content_path(&file.sha256);
                result.damage.push(BackupDamage { backup: name.clone(), path: file.path, reason, content });
            }
        }
    }
    Ok(result)
}

/// Reads the backup `name` completely. Returns an error at the first problem. Blocks.
pub(super) fn verify_one(
    stored: &dyn StoredBackups,
    name: &str,
) -> Result<(BackupManifest, Vec<BackupFile>), BackupError> {
    let (manifest, files) = manifest::read(stored, name)?;
    // Files share contents. Each is read once.
    let mut checked = HashSet::new();
    for file in files.iter().filter(|file| checked.insert((&file.sha256, file.bytes))) {
        if let Some(reason) = check(stored, file)? {
            return Err(BackupError::Damaged { name: name.to_owned(), reason: format!("{}: {reason}", file.path) });
        }
    }
    Ok((manifest, files))
}

/// Returns what is wrong with the content of a file. Fails if that is not known.
fn check(stored: &dyn StoredBackups, file: &BackupFile) -> Result<Option<String>, BackupError> {
    let reason = match stored.open(&file.sha256).and_then(|mut content| digest(&mut *content)) {
        Ok((sha256, bytes)) if sha256 == file.sha256 && bytes == file.bytes => None,
        Ok((_, bytes)) if bytes != file.bytes => Some(format!("it has {bytes} bytes instead of {}", file.bytes)),
        Ok(_) => Some("its content does not have its SHA-256".to_owned()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Some("its content is missing".to_owned()),
        Err(error) if error.kind() == UNREACHABLE => {
            let path = stored.place().join(content_path(&file.sha256));
            return Err(BackupError::reading(&path)(error));
        }
        Err(error) => Some(format!("its content cannot be read: {error}")),
    };
    Ok(reason)
}

fn digest(content: &mut dyn Read) -> io::Result<(String, u64)> {
    let (mut digest, mut buffer, mut bytes) = (Sha256::new(), vec![0; PIECE_BYTES], 0);
    loop {
        let length = match content.read(&mut buffer) {
            Ok(0) => return Ok((hex::encode(digest.finalize()), bytes)),
            Ok(length) => length,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        };
        digest.update(&buffer[..length]);
        bytes += length as u64;
    }
}

#[cfg(test)]
mod tests {
    use std::{fs, path::Path, sync::Arc};

    use super::{
        super::{
            destination::BackupDestination,
            writer::{BackupFacts, BackupWriter},
        },
        *,
    };

    #[test]
    fn a_damaged_content_is_named_and_copied_again_after_it_was_deleted() {
        let dir = tempfile::tempdir().expect("a directory");
        let (root, file) = (dir.path().join("backups"), dir.path().join("file"));
        let source = BackupsPlace::Directory(root.clone());
        fs::write(&file, "content").expect("a file");
        let backup = || {
            let destination = BackupDestination::open(&root, Path::new("/nonexistent/data")).expect("a directory");
            let mut writer = BackupWriter::begin(Box::new(destination), "a", Arc::default()).expect("begun");
            writer.add_file("artifacts/1/1/1", &file, true).expect("added");
            writer.finish(BackupFacts::default()).expect("complete").1
        };
        assert_eq!(backup().added_bytes, 7);
        let name = hex::encode(Sha256::digest("content"));
        let content = format!("files/{}/{name}", &name[..2]);
        // The size is the same, so a backup does not notice it.
        fs::write(root.join(&content), "CONTENT").expect("a file");
        assert_eq!(backup().added_bytes, 0);
        let damage = verify(&source).expect("read").damage;
        assert_eq!(damage.len(), 2, "one for each backup: {damage:?}");
        assert!(damage.iter().all(|found| found.content == content), "{damage:?}");
        fs::remove_file(root.join(&content)).expect("a file");
        assert_eq!(backup().added_bytes, 7);
        assert_eq!(verify(&source).expect("read").damage, []);
        // A content with another size was never complete under its name, and is replaced without help.
        fs::write(root.join(&content), "con").expect("a file");
        assert_eq!(backup().added_bytes, 7);
        assert_eq!(verify(&source).expect("read").damage, []);
    }
}
