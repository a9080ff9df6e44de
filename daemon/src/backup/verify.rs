//! Reads contents of backups again and compares them with their SHA-256.

use std::{
    collections::BTreeMap,
    fs::File,
    io::{self, Read as _},
    path::Path,
};

use serde::Serialize;
use sha2::{Digest as _, Sha256};

use super::{
    BackupError, BackupFile,
    destination::BackupDestination,
    manifest::{self, BackupManifest},
};

const BUFFER_BYTES: usize = 1 << 20;

/// A problem of a backup.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct BackupDamage {
    /// The backup.
    pub backup: String,
    /// The file that cannot be restored, or `manifest.json` or `files.jsonl`.
    pub path: String,
    /// What is wrong with it.
    pub reason: String,
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

/// Reads all backups in `root` and compares them with their SHA-256. Changes nothing. Blocks.
pub fn verify(root: &Path) -> Result<VerifiedBackups, BackupError> {
    let destination = BackupDestination::open_existing(root)?;
    let mut result = VerifiedBackups { backups: destination.complete()?, ..VerifiedBackups::default() };
    // Backups share contents. Each is read once.
    let mut checked: BTreeMap<String, Option<String>> = BTreeMap::new();
    for name in result.backups.clone() {
        let files = match manifest::read(&destination, &name) {
            Ok((_, files)) => files,
            Err(BackupError::Damaged { reason, .. }) => {
                result.damage.push(BackupDamage { backup: name, path: manifest::MANIFEST.to_owned(), reason });
                continue;
            }
            Err(error) => return Err(error),
        };
        for file in files {
            let problem = checked.entry(file.sha256.clone()).or_insert_with(|| {
                result.contents += 1;
                result.bytes += file.bytes;
                check(&destination, &file)
            });
            if let Some(reason) = problem.clone() {
                result.damage.push(BackupDamage { backup: name.clone(), path: file.path, reason });
            }
        }
    }
    Ok(result)
}

/// Reads the backup `name` completely. Returns an error at the first problem. Blocks.
pub(super) fn verify_one(
    destination: &BackupDestination,
    name: &str,
) -> Result<(BackupManifest, Vec<BackupFile>), BackupError> {
    let (manifest, files) = manifest::read(destination, name)?;
    for file in &files {
        if let Some(reason) = check(destination, file) {
            return Err(BackupError::Damaged { name: name.to_owned(), reason: format!("{}: {reason}", file.path) });
        }
    }
    Ok((manifest, files))
}

/// Returns what is wrong with the content of a file.
fn check(destination: &BackupDestination, file: &BackupFile) -> Option<String> {
    match digest(&destination.content(&file.sha256)) {
        Ok((sha256, bytes)) if sha256 == file.sha256 && bytes == file.bytes => None,
        Ok((_, bytes)) if bytes != file.bytes => Some(format!("it has {bytes} bytes instead of {}", file.bytes)),
        Ok(_) => Some("its content does not have its SHA-256".to_owned()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Some("its content is missing".to_owned()),
        Err(error) => Some(format!("its content cannot be read: {error}")),
    }
}

fn digest(path: &Path) -> io::Result<(String, u64)> {
    let (mut file, mut digest, mut buffer, mut bytes) = (File::open(path)?, Sha256::new(), vec![0; BUFFER_BYTES], 0);
    loop {
        let length = match file.read(&mut buffer) {
            Ok(0) => return Ok((hex::encode(digest.finalize()), bytes)),
            Ok(length) => length,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        };
        digest.update(&buffer[..length]);
        bytes += length as u64;
    }
}
