//! What lies beside the store, without creating or changing anything.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use super::file::{self, Found};
use crate::store::ids::IdKind;

/// The directories that hold data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SideKind {
    /// `repositories/<id>.git`
    Repositories,
    /// `artifacts/<id>/<generation>/<file>`
    Artifacts,
}

impl SideKind {
    /// Both.
    pub const ALL: [Self; 2] = [Self::Repositories, Self::Artifacts];

    /// The directory's name in the data directory.
    pub fn directory(self) -> &'static str {
        match self {
            Self::Repositories => "repositories",
            Self::Artifacts => "artifacts",
        }
    }

    /// What its entries are numbered by.
    pub fn ids(self) -> IdKind {
        match self {
            Self::Repositories => IdKind::Repository,
            Self::Artifacts => IdKind::Artifact,
        }
    }

    /// The id in the name of an entry; `None` for what is none of ours.
    fn id(self, name: &str) -> Option<u64> {
        let number = match self {
            Self::Repositories => name.strip_suffix(".git")?,
            Self::Artifacts => name,
        };
        number.parse().ok().filter(|id: &u64| id.to_string() == number)
    }
}

/// One directory.
#[derive(Clone, Debug)]
pub struct Side {
    /// Which one.
    pub kind: SideKind,
    /// Where it is.
    pub path: PathBuf,
    /// Its identity file.
    pub file: Found,
    /// The highest id among its entries, if the identity file is missing; `None`: no entry, or not
    /// looked for.
    pub highest: Option<u64>,
}

impl Side {
    /// The first id of `kind` that was not reserved, as the identity file says; 1 without one.
    pub fn next_id(&self, kind: IdKind) -> u64 {
        if let Found::File(file) = &self.file { file.next_id(kind) } else { 1 }
    }

    /// How many repositories or artifacts the directory holds. Lists all of it.
    pub fn count(&self) -> usize {
        ids(&self.path, self.kind).map_or(0, |ids| ids.len())
    }
}

/// What lies beside the store.
#[derive(Clone, Debug)]
pub struct Look {
    /// Repositories, then artifacts.
    pub sides: [Side; 2],
}

impl Look {
    /// Whether there is neither data nor an identity file.
    pub fn is_empty(&self) -> bool {
        self.sides.iter().all(|side| side.file == Found::Missing && side.highest.is_none())
    }

    /// Whether a directory has no identity file.
    pub fn lacks_files(&self) -> bool {
        self.sides.iter().any(|side| side.file == Found::Missing)
    }
}

/// Looks at the directories of `data_dir`. Lists only those that have no identity file.
pub fn look(data_dir: &Path) -> io::Result<Look> {
    let side = |kind: SideKind| {
        let path = data_dir.join(kind.directory());
        let file = file::read(&path)?;
        let highest = if file == Found::Missing { ids(&path, kind)?.into_iter().max() } else { None };
        io::Result::Ok(Side { kind, path, file, highest })
    };
    Ok(Look { sides: [side(SideKind::Repositories)?, side(SideKind::Artifacts)?] })
}

/// The ids of all entries. A directory that is not there has none.
pub(super) fn ids(path: &Path, kind: SideKind) -> io::Result<Vec<u64>> {
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
