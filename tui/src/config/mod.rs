//! The configuration of the terminal program, `~/.config/farrier/config.toml`.
//!
//! All keys are optional. Problems are reported with their line and the valid values, and do not stop the
//! program: valid settings apply, all others keep their defaults.

mod context;
mod read;

use std::{ffi::OsString, fs, io, path::PathBuf};

pub(crate) use self::context::{Context, named};
use self::read::Reader;

/// The settings of a configuration file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Config {
    pub(crate) server: Server,
    /// The named daemons.
    pub(crate) contexts: Vec<Context>,
    pub(crate) ui: Ui,
    /// Columns by the name of their list.
    pub(crate) columns: Vec<(String, Vec<String>)>,
    pub(crate) keys: Vec<KeySetting>,
    pub(crate) themes: Vec<ThemeSetting>,
}

/// The daemon and the credentials.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Server {
    pub(crate) socket: Option<PathBuf>,
    pub(crate) url: Option<String>,
    pub(crate) token_file: Option<PathBuf>,
    /// PEM file of certificate authorities.
    pub(crate) ca: Option<PathBuf>,
    pub(crate) read_only: bool,
}

/// How the full screen looks and behaves.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Ui {
    pub(crate) theme: Option<String>,
    pub(crate) color: Option<String>,
    pub(crate) glyphs: Option<String>,
    pub(crate) clipboard: Option<String>,
    pub(crate) start: Option<String>,
    pub(crate) bell: Option<String>,
    pub(crate) time: Option<String>,
    pub(crate) sync: Option<String>,
    pub(crate) mouse: bool,
    pub(crate) title: bool,
    /// To delete more objects than this, their number must be typed. Default: 1.
    pub(crate) confirm_bulk_over: Option<usize>,
}

/// For every action on more objects than this, their number must be typed, in the full screen and in commands.
pub(crate) const TYPED_ABOVE: usize = 10;

/// The keys of an action, or keys to unbind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct KeySetting {
    pub(crate) line: usize,
    /// `global`, or the name of a part of the full screen.
    pub(crate) scope: String,
    /// The name of an action, or `unbind`.
    pub(crate) action: String,
    pub(crate) keys: Vec<String>,
}

/// A theme defined in the file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ThemeSetting {
    pub(crate) line: usize,
    pub(crate) name: String,
    pub(crate) base: Option<String>,
    /// Colors by the names of roles.
    pub(crate) roles: Vec<(usize, String, String)>,
}

/// A problem in a configuration file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ConfigProblem {
    pub(crate) line: usize,
    pub(crate) text: String,
    /// Whether the entry is only ignored, because it may be meant for another version.
    pub(crate) is_warning: bool,
}

impl ConfigProblem {
    pub(crate) fn error(line: usize, text: impl Into<String>) -> Self {
        Self { line, text: text.into(), is_warning: false }
    }

    pub(crate) fn warning(line: usize, text: impl Into<String>) -> Self {
        Self { line, text: text.into(), is_warning: true }
    }
}

/// Returns the path of the file, whether or not it exists.
pub(crate) fn path(variable: impl Fn(&str) -> Option<OsString>) -> Option<PathBuf> {
    let directory = |name: &str| variable(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let config = directory("XDG_CONFIG_HOME").or_else(|| directory("HOME").map(|home| home.join(".config")))?;
    Some(config.join("farrier/config.toml"))
}

/// Returns the text of the file; empty if it does not exist.
pub(crate) fn text(variable: impl Fn(&str) -> Option<OsString>) -> io::Result<String> {
    match path(variable).map(fs::read_to_string) {
        None => Ok(String::new()),
        Some(Err(error)) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
            Ok(String::new())
        }
        Some(read) => read,
    }
}

impl Config {
    /// Parses a configuration. Invalid entries are skipped and reported.
    pub(crate) fn parse(text: &str) -> (Self, Vec<ConfigProblem>) {
        Reader::read(text)
    }

    /// Loads the user's file. Problems are only reported by `farrier config check`.
    pub(crate) fn load(variable: impl Fn(&str) -> Option<OsString>) -> Self {
        Self::parse(&text(variable).unwrap_or_default()).0
    }
}
