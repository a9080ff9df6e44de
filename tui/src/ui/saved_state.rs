//! State that the full screen saves between sessions: `~/.local/state/farrier/ui.json`.
//!
//! Contains the last place with the address of its daemon, the sort orders, the layout of columns and panes, and the
//! newest commands. A place names objects and the filter; it contains no other data of the daemon.

use std::{
    collections::BTreeMap,
    ffi::OsString,
    fs, io,
    path::{Path, PathBuf},
};

use serde::{Deserialize, Serialize};

use super::{app::CommandHistory, place::HistoryPlace};

/// The saved state.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct SavedState {
    pub(crate) screen: String,
    /// The address of the daemon of `place`.
    pub(crate) daemon: String,
    /// What was visible; shown again if the next session has the same daemon and begins with the same screen.
    pub(crate) place: Option<HistoryPlace>,
    /// Column and direction by list name.
    pub(crate) sorts: BTreeMap<String, (String, bool)>,
    pub(crate) wide: bool,
    pub(crate) full_pane: bool,
    /// Width of the left one of two panes in thousandths; `None` for the default of each screen.
    pub(crate) pane_share: Option<u16>,
    /// Commands of the command line that contain no secret.
    pub(crate) commands: CommandHistory,
}

/// Returns the directory for files that this program saves by itself.
pub(crate) fn state(variable: impl Fn(&str) -> Option<OsString>) -> Option<PathBuf> {
    let directory = |name: &str| variable(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let state = directory("XDG_STATE_HOME").or_else(|| directory("HOME").map(|home| home.join(".local/state")))?;
    Some(state.join("farrier"))
}

/// Returns the path of the saved state.
pub(crate) fn path(variable: impl Fn(&str) -> Option<OsString>) -> Option<PathBuf> {
    Some(state(variable)?.join("ui.json"))
}

impl SavedState {
    /// Reads the saved state. Returns the default if it cannot be read: it is only a convenience.
    pub(crate) fn load(path: &Path) -> Self {
        fs::read(path).ok().and_then(|bytes| serde_json::from_slice(&bytes).ok()).unwrap_or_default()
    }

    /// Writes the state atomically. If two programs end at the same time, the file is that of one of them.
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
    fn saved_state_is_loaded_and_an_invalid_file_gives_the_default() {
        let dir = tempfile::tempdir().unwrap();
        let path = path(|name| (name == "HOME").then(|| dir.path().into())).unwrap();
        assert_eq!(SavedState::load(&path), SavedState::default());
        let sorts = BTreeMap::from([("hooks".to_owned(), ("URL".to_owned(), true))]);
        let place = HistoryPlace { screen: "Hooks".into(), object: "hook 7".into(), ..HistoryPlace::default() };
        let memory = SavedState {
            screen: "hooks".into(),
            daemon: "the socket /run/farrier/farrier.sock".into(),
            place: Some(place),
            sorts,
            wide: true,
            full_pane: false,
            pane_share: Some(400),
            ..SavedState::default()
        };
        memory.save(&path).unwrap();
        assert_eq!(SavedState::load(&path), memory);
        fs::write(&path, "{\"screen\": 7}").unwrap();
        assert_eq!(SavedState::load(&path), SavedState::default());
    }
}
