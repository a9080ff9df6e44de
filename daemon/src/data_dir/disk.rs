//! Inspects the data directories without creating or changing anything.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use super::file::{self, FileState};
use crate::store::ids::IdKind;

/// The directories that contain data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DirectoryKind {
    /// `repositories/<id>.git`
    Repositories,
    /// `artifacts/<id>/<generation>/<file>`
    Artifacts,
}

impl DirectoryKind {
    /// Both.
    pub const ALL: [Self; 2] = [Self::Repositories, Self::Artifacts];

    /// Returns the directory's name in the data directory.
    pub fn directory(self) -> &'static str {
        match self {
            Self::Repositories => "repositories",
            Self::Artifacts => "artifacts",
        }
    }

    /// Returns the kind of ids that name its entries.
    pub fn ids(self) -> IdKind {
        match self {
            Self::Repositories => IdKind::Repository,
            Self::Artifacts => IdKind::Artifact,
        }
    }

    /// Returns the id in the name of an entry, or `None` for a name that farrier does not write.
    fn id(self, name: &str) -> Option<u64> {
        let number = match self {
            Self::Repositories => name.strip_suffix(".git")?,
            Self::Artifacts => name,
        };
        number.parse().ok().filter(|id: &u64| id.to_string() == number)
    }
}

/// The state of one directory.
#[derive(Clone, Debug)]
pub struct DirectoryState {
    /// Which directory it is.
    pub kind: DirectoryKind,
    /// Its path.
    pub path: PathBuf,
    /// Its identity file.
    pub file: FileState,
    /// The highest id among its entries if the identity file is missing. `None`: there is no entry, or the directory
    /// was not listed.
    pub highest: Option<u64>,
}

impl DirectoryState {
    /// Returns the first id of `kind` that was not reserved according to the identity file, or 1 without one.
    pub fn next_id(&self, kind: IdKind) -> u64 {
        if let FileState::File(file) = &self.file { file.next_id(kind) } else { 1 }
    }

    /// Returns the number of repositories or artifacts in the directory. Lists all of it.
    pub fn count(&self) -> usize {
        ids(&self.path, self.kind).map_or(0, |ids| ids.len())
    }
}

/// The state of all data directories.
#[derive(Clone, Debug)]
pub struct DiskState {
    /// Repositories, then artifacts.
    pub directories: [DirectoryState; 2],
}

impl DiskState {
    /// Returns whether there is neither data nor an identity file.
    pub fn is_empty(&self) -> bool {
        self.directories.iter().all(|directory| directory.file == FileState::Missing && directory.highest.is_none())
    }

    /// Returns whether a directory has no identity file.
    pub fn lacks_files(&self) -> bool {
        self.directories.iter().any(|directory| directory.file == FileState::Missing)
    }
}

/// Reads the state of the directories in `data_dir`. Lists only those without an identity file.
pub fn inspect_disk(data_dir: &Path) -> io::Result<DiskState> {
    let directory = |kind: DirectoryKind| {
        let path = data_dir.join(kind.directory());
        let file = file::read(&path)?;
        let highest = if file == FileState::Missing { ids(&path, kind)?.into_iter().max() } else { None };
        io::Result::Ok(DirectoryState { kind, path, file, highest })
    };
    Ok(DiskState { directories: [directory(DirectoryKind::Repositories)?, directory(DirectoryKind::Artifacts)?] })
}

/// Returns the ids of all entries. A missing directory has none.
pub(super) fn ids(path: &Path, kind: DirectoryKind) -> io::Result<Vec<u64>> {
    let entries = match fs::read_dir(path) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(error),
    };
    let mut ids = Vec::new();
    for entry in entries {
        ids.extend(entry?.file_name().to_str().and_then(|name| kind.id(name)));
    }
    Ok(ids)
}
