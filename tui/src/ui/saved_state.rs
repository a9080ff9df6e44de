//! What the full screen remembers from one time to the next: `~/.local/state/farrier/ui.json`.
//!
//! Where one was and how lists were sorted; never a filter, which would hide rows that somebody
//! counts on, and never anything of the daemon.

use std::{
    collections::BTreeMap,
    ffi::OsString,
    fs, io,
    path::{Path, PathBuf},
};

use serde::{Deserialize, Serialize};

/// What is remembered.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct SavedState {
    pub(crate) screen: String,
    /// Columns by the names of lists, and whether they are reversed.
    pub(crate) sorts: BTreeMap<String, (String, bool)>,
    pub(crate) wide: bool,
    pub(crate) full_pane: bool,
}

/// The directory of all that this program keeps for its user, unasked.
pub(crate) fn state(variable: impl Fn(&str) -> Option<OsString>) -> Option<PathBuf> {
    let directory = |name: &str| variable(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let state = directory("XDG_STATE_HOME").or_else(|| directory("HOME").map(|home| home.join(".local/state")))?;
    Some(state.join("farrier"))
}

/// Where it is kept.
pub(crate) fn path(variable: impl Fn(&str) -> Option<OsString>) -> Option<PathBuf> {
    Some(state(variable)?.join("ui.json"))
}

impl SavedState {
    /// What was kept; nothing when it cannot be read: it is only a convenience.
    pub(crate) fn load(path: &Path) -> Self {
        fs::read(path).ok().and_then(|bytes| serde_json::from_slice(&bytes).ok()).unwrap_or_default()
    }

    /// Keeps it. Two programs that end together leave one of the two, and never half a file.
    pub(crate) fn save(&self, path: &Path) -> io::Result<()> {
        let Some(directory) = path.parent() else { return Ok(()) };
        fs::create_dir_all(directory)?;
        let file = tempfile::NamedTempFile::new_in(directory)?;
        serde_json::to_writer(&file, self)?;
        file.persist(path).map(drop).map_err(|error| error.error)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_kept_comes_back_and_what_is_broken_is_nothing() {
        let dir = tempfile::tempdir().unwrap();
        let path = path(|name| (name == "HOME").then(|| dir.path().into())).unwrap();
        assert_eq!(SavedState::load(&path), SavedState::default());
        let sorts = BTreeMap::from([("hooks".to_owned(), ("URL".to_owned(), true))]);
        let memory = SavedState { screen: "hooks".into(), sorts, wide: true, full_pane: false };
        memory.save(&path).unwrap();
        assert_eq!(SavedState::load(&path), memory);
        fs::write(&path, "{\"screen\": 7}").unwrap();
        assert_eq!(SavedState::load(&path), SavedState::default());
    }
}
