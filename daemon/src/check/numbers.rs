//! The highest numbers that were ever given to directories and files, as far as the disk shows: what
//! lies in its place, what was set aside, and what identity files say.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use crate::{
    data_dir::{Look, SideKind},
    set_aside,
    store::{Store, StoreError, Tx, ids::IdKind},
};

/// For each kind the first number that is free, as far as it is known; 1: nothing is known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Free([u64; IdKind::ALL.len()]);

impl Free {
    /// What the disk says. Lists every directory of artifacts.
    pub(super) fn look(data_dir: &Path, look: &Look) -> io::Result<Self> {
        let mut free = Self([1; IdKind::ALL.len()]);
        for side in &look.sides {
            for kind in IdKind::ALL {
                free.at_least(kind, side.next_id(kind));
            }
        }
        free.data(data_dir)?;
        for day in entries(&data_dir.join(set_aside::DIRECTORY))? {
            free.data(&day)?;
        }
        Ok(free)
    }

    /// What lies below `root`, a data directory or one day of what was set aside.
    fn data(&mut self, root: &Path) -> io::Result<()> {
        for repository in entries(&root.join(SideKind::Repositories.directory()))? {
            self.used(IdKind::Repository, &repository);
        }
        for artifact in entries(&root.join(SideKind::Artifacts.directory()))? {
            self.used(IdKind::Artifact, &artifact);
            for generation in entries(&artifact)? {
                for file in entries(&generation)? {
                    self.used(IdKind::BlockFile, &file);
                }
            }
        }
        Ok(())
    }

    fn used(&mut self, kind: IdKind, path: &Path) {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let digits = name.split(|c: char| !c.is_ascii_digit()).next().unwrap_or_default();
        if let Ok(number) = digits.parse::<u64>() {
            self.at_least(kind, number.saturating_add(1));
        }
    }

    fn at_least(&mut self, kind: IdKind, next: u64) {
        for (of, free) in IdKind::ALL.into_iter().zip(&mut self.0) {
            if of == kind {
                *free = next.max(*free);
            }
        }
    }

    /// Raises every sequence of `store` that is below.
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

/// What is in a directory; nothing if it is missing or none.
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
    fn numbers_in_their_place_and_in_set_aside_count() {
        let dir = tempfile::tempdir().expect("a directory");
        for path in [
            "repositories/7.git",
            "repositories/new-99-ab",
            "artifacts/3/1/12",
            "set-aside/2026-01-01/repositories/70.git-2",
            "set-aside/2026-01-01/artifacts/41/1-3/900",
        ] {
            fs::create_dir_all(dir.path().join(path)).expect("made");
        }
        let look = crate::data_dir::look(dir.path()).expect("readable");
        let free = Free::look(dir.path(), &look).expect("readable");
        let of = |kind| IdKind::ALL.into_iter().zip(free.0).find(|(of, _)| *of == kind).map(|(_, next)| next);
        assert_eq!(of(IdKind::Repository), Some(71));
        assert_eq!(of(IdKind::Artifact), Some(42));
        assert_eq!(of(IdKind::BlockFile), Some(901));
        assert_eq!(of(IdKind::Hook), Some(1));
    }
}
