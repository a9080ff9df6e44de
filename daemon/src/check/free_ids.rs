//! Finds the first free ids from the names of directories and files, from `set-aside` and from the identity files.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use crate::{
    data_dir::{DirectoryKind, DiskState},
    set_aside,
    store::{Store, StoreError, Tx, ids::IdKind},
};

/// The first free id of each kind, as far as the disk shows. 1: no id was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct FreeIds([u64; IdKind::ALL.len()]);

impl FreeIds {
    /// Reads them from the disk. Lists every directory of artifacts.
    pub(super) fn read(data_dir: &Path, disk: &DiskState) -> io::Result<Self> {
        let mut first = Self([1; IdKind::ALL.len()]);
        for directory in &disk.directories {
            for kind in IdKind::ALL {
                first.at_least(kind, directory.next_id(kind));
            }
        }
        first.add_directory(data_dir)?;
        for day in entries(&data_dir.join(set_aside::DIRECTORY))? {
            first.add_directory(&day)?;
        }
        Ok(first)
    }

    /// Adds the ids in `root`, a data directory or one day of `set-aside`.
    fn add_directory(&mut self, root: &Path) -> io::Result<()> {
        for repository in entries(&root.join(DirectoryKind::Repositories.directory()))? {
            self.add_used(IdKind::Repository, &repository);
        }
        for artifact in entries(&root.join(DirectoryKind::Artifacts.directory()))? {
            self.add_used(IdKind::Artifact, &artifact);
            for generation in entries(&artifact)? {
                for file in entries(&generation)? {
                    self.add_used(IdKind::BlockFile, &file);
                }
            }
        }
        Ok(())
    }

    fn add_used(&mut self, kind: IdKind, path: &Path) {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let digits = name.split(|c: char| !c.is_ascii_digit()).next().unwrap_or_default();
        if let Ok(number) = digits.parse::<u64>() {
            self.at_least(kind, number.saturating_add(1));
        }
    }

    fn at_least(&mut self, kind: IdKind, next: u64) {
        for (of, first) in IdKind::ALL.into_iter().zip(&mut self.0) {
            if of == kind {
                *first = next.max(*first);
            }
        }
    }

    /// Raises every sequence of `store` that is behind.
    pub(super) async fn raise(&self, store: &Store) -> Result<(), StoreError> {
        store
            .write(async |tx: Tx| {
                for (kind, next) in IdKind::ALL.into_iter().zip(self.0) {
                    crate::store::ids::raise(&tx, kind, next).await?;
                }
                Ok(())
            })
            .await
    }
}

/// Lists a directory. Returns nothing if it is missing or not a directory.
fn entries(path: &Path) -> io::Result<Vec<PathBuf>> {
    match fs::read_dir(path) {
        Ok(entries) => entries.map(|entry| Ok(entry?.path())).collect(),
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => Ok(Vec::new()),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_in_the_data_directory_and_in_set_aside_are_not_free() {
        let dir = tempfile::tempdir().expect("a directory");
        for path in [
            "repositories/7.git",
            "repositories/new-99-ab",
            "artifacts/3/1/12",
            "set-aside/2026-01-01/repositories/70.git-2",
            "set-aside/2026-01-01/artifacts/41/1-3/900",
        ] {
            fs::create_dir_all(dir.path().join(path)).expect("created");
        }
        let disk = crate::data_dir::inspect_disk(dir.path()).expect("readable");
        let first = FreeIds::read(dir.path(), &disk).expect("readable");
        let of = |kind| IdKind::ALL.into_iter().zip(first.0).find(|(of, _)| *of == kind).map(|(_, next)| next);
        assert_eq!(of(IdKind::Repository), Some(71));
        assert_eq!(of(IdKind::Artifact), Some(42));
        assert_eq!(of(IdKind::BlockFile), Some(901));
        assert_eq!(of(IdKind::Hook), Some(1));
    }
}
