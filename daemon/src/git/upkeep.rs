//! Says when a repository is worth tidying, so that reading stays fast: small packs become few packs, files of refs
//! become one file, and a bitmap index lists the objects that each commit reaches.
//!
//! Each push and each change adds a pack, so the small packs are combined often. A new bitmap is written only when much
//! of the repository is not in one.

use std::{
    fs, io,
    path::{Path, PathBuf},
    time::SystemTime,
};

use super::{Git, GitError, RepositoryLock, incoming, multi_pack_index};
use crate::tasks;

/// Maximum number of packs without tidying, because a fetch opens every pack. Each push adds a pack.
const PACKS_MAX: usize = 20;
/// Maximum number of files of refs that are left out of `packed-refs`. A list of refs opens each of them.
const REF_FILES_MAX: usize = 1_000;
/// Size of the pack indexes that no bitmap covers, bytes; about 4,000 objects. Below that a clone is as fast
/// without a bitmap.
const UNMAPPED_MAX_BYTES: u64 = 128 << 10;
/// A new bitmap costs as much as reading all objects. It is written when at least this fraction (1/4) of the
/// indexes is not covered.
const UNMAPPED_MAX_SHARE: u64 = 4;
/// Most files whose sizes are read while a client waits; takes a few milliseconds.
const FEW_FILES: usize = 8_192;

/// What tidying does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TidyLevel {
    /// Small packs become few packs. The bitmap of the large packs stays.
    Packs,
    /// In addition, a new bitmap, commit graph and `packed-refs`. Costs as much as reading all objects.
    Everything,
}

impl Git {
    /// Returns what has to be done to tidy a repository; `None`: nothing.
    pub async fn untidiness(&self, repository: u64) -> Result<Option<TidyLevel>, GitError> {
        let packs = self.directory(repository).join("objects").join("pack");
        let check = move || Ok(Packs::read(&packs)?.untidiness());
        tasks::blocking(check).await.map_err(GitError::io("checking the packs of a repository"))
    }

    /// Removes files of processes that were killed while they wrote packs.
    pub async fn remove_unfinished(&self, repository: u64, _lock: &RepositoryLock) -> Result<(), GitError> {
        let (objects, start) = (self.directory(repository).join("objects"), self.0.start.clone());
        let remove = move || {
            remove_unfinished(&objects)?;
            incoming::remove_copies(&objects.join("pack"), &start)
        };
        tasks::blocking(remove).await.map_err(GitError::io("removing unfinished packs"))
    }

    /// Packs the refs of a repository, if `anyway` or if it has many files of refs.
    pub async fn pack_refs(&self, repository: u64, anyway: bool, lock: &RepositoryLock) -> Result<(), GitError> {
        let refs = self.directory(repository).join("refs");
        let count = move || {
            let mut left = REF_FILES_MAX;
            Ok(size(&refs, &mut left)?.is_none())
        };
        if !anyway && !tasks::blocking(count).await.map_err(GitError::io("counting files of refs"))? {
            return Ok(());
        }
        let pack = async { self.run(repository, ["pack-refs", "--all"], "").await.map(drop) };
        self.with_lock_files(repository, lock, pack).await
    }

    /// Packs the loose objects of a repository, which earlier releases wrote, with its small packs. Called only while
    /// the repository has no manifest: git replaces packs.
    pub async fn pack_loose_objects(&self, repository: u64, lock: &RepositoryLock) -> Result<(), GitError> {
        // Also after an error: packs may have been replaced.
        let _closed = self.close_packs_at_end(repository);
        let _changed = self.0.generations.raise_at_end(repository);
        let repack = async {
            self.remove_unfinished(repository, lock).await?;
            self.run(repository, ["repack", "-d", "-l", "-q", "--geometric=2"], "").await.map(drop)
        };
        self.with_lock_files(repository, lock, repack).await
    }

    /// Returns the total size of the files below a repository's `objects` directory, bytes, without hidden packs.
    pub async fn size_bytes(&self, repository: u64) -> Result<u64, GitError> {
        Ok(self.measure(repository, usize::MAX).await?.unwrap_or(0))
    }

    /// Returns the same size, or `None` if there are too many files to read while a client waits. A repository
    /// that was repacked recently has fewer files.
    pub async fn size_of_few_files(&self, repository: u64) -> Result<Option<u64>, GitError> {
        self.measure(repository, FEW_FILES).await
    }

    async fn measure(&self, repository: u64, files_max: usize) -> Result<Option<u64>, GitError> {
        let objects = self.directory(repository).join("objects");
        let measured = tasks::blocking(move || {
            let mut left = files_max;
            size(&objects, &mut left)
        });
        measured.await.map_err(GitError::io("measuring a repository"))
    }
}

/// A summary of a repository's packs. Uses the times of the index files, because git updates the time of a pack
/// when a push contains an object that the pack already has.
struct Packs {
    count: usize,
    /// Bytes of all indexes.
    bytes: u64,
    /// Bytes of the indexes that are newer than the multi-pack index.
    unmapped: u64,
}

impl Packs {
    fn read(directory: &Path) -> io::Result<Self> {
        let (mut indexes, mut mapped) = (Vec::new(), SystemTime::UNIX_EPOCH);
        for entry in files(directory)? {
            // A file may be removed after it was listed.
            let (path, Ok(metadata)) = (entry.path(), entry.metadata()) else { continue };
            if path.extension().is_some_and(|extension| extension == "idx") {
                indexes.push((metadata.modified()?, metadata.len()));
            } else if entry.file_name() == multi_pack_index::FILE {
                mapped = metadata.modified()?;
            }
        }
        let sum = |since: SystemTime| indexes.iter().filter(|(at, _)| *at > since).map(|(_, bytes)| bytes).sum();
        Ok(Self { count: indexes.len(), bytes: sum(SystemTime::UNIX_EPOCH), unmapped: sum(mapped) })
    }

    fn untidiness(&self) -> Option<TidyLevel> {
        if self.unmapped > UNMAPPED_MAX_BYTES && self.unmapped > self.bytes / UNMAPPED_MAX_SHARE {
            return Some(TidyLevel::Everything);
        }
        (self.count > PACKS_MAX).then_some(TidyLevel::Packs)
    }
}

/// Removes files of packing processes that were killed from a repository's `objects` directory. Nothing uses them:
/// pushes and changes are packed in workspaces, and the caller holds the repository's lock, under which all packing of
/// the repository itself runs.
pub(super) fn remove_unfinished(objects: &Path) -> io::Result<()> {
    let packs = objects.join("pack");
    for (directory, prefixes) in [(packs.as_path(), [".tmp-", "tmp_"].as_slice()), (objects, &["bitmap-ref-tips_"])] {
        for entry in files(directory)? {
            let name = entry.file_name();
            if prefixes.iter().any(|prefix| name.to_string_lossy().starts_with(prefix)) {
                fs::remove_file(entry.path())?;
            }
        }
    }
    Ok(())
}

/// Returns the directories of loose objects in a repository's `objects` directory.
pub(super) fn loose_directories(objects: &Path) -> io::Result<Vec<PathBuf>> {
    let is_of_loose = |entry: &fs::DirEntry| {
        let name = entry.file_name();
        name.len() == 2 && name.to_str().is_some_and(|name| u8::from_str_radix(name, 16).is_ok())
    };
    Ok(files(objects)?.iter().filter(|entry| is_of_loose(entry)).map(fs::DirEntry::path).collect())
}

pub(super) fn files(directory: &Path) -> io::Result<Vec<fs::DirEntry>> {
    match fs::read_dir(directory) {
        Ok(entries) => Ok(entries.flatten().collect()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
        Err(error) => Err(error),
    }
}

/// Returns the size of the files below a directory, or `None` if there are more than `left`. A pack without an index,
/// which was dropped, does not count. Files may be removed meanwhile.
fn size(directory: &Path, left: &mut usize) -> io::Result<Option<u64>> {
    let mut bytes = 0;
    for entry in fs::read_dir(directory)?.flatten() {
        let Ok(metadata) = entry.metadata() else { continue };
        if metadata.is_dir() {
            match size(&entry.path(), left) {
                Ok(Some(below)) => bytes += below,
                Ok(None) => return Ok(None),
                Err(_) => {}
            }
            continue;
        }
        let Some(fewer) = left.checked_sub(1) else { return Ok(None) };
        *left = fewer;
        let path = entry.path();
        if path.extension().is_some_and(|end| end == "pack") && !path.with_extension("idx").exists() {
            continue;
        }
        bytes += metadata.len();
    }
    Ok(Some(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_packs_are_combined_and_a_bitmap_is_written_for_many_objects_without_one() {
        let (few, many) = (UNMAPPED_MAX_BYTES, 100 * UNMAPPED_MAX_BYTES);
        for (count, bytes, unmapped, level) in [
            (PACKS_MAX, many, 0, None),
            (PACKS_MAX + 1, many, 0, Some(TidyLevel::Packs)),
            (PACKS_MAX + 1, few, few, Some(TidyLevel::Packs)),
            (1, many, many / UNMAPPED_MAX_SHARE, None),
            (1, many, many / 2, Some(TidyLevel::Everything)),
            (PACKS_MAX + 1, many, many, Some(TidyLevel::Everything)),
        ] {
            assert_eq!(Packs { count, bytes, unmapped }.untidiness(), level, "{count} {bytes} {unmapped}");
        }
    }
}
