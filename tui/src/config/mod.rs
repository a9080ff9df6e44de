//! The configuration of this program: `~/.config/farrier/config.toml`.
//!
//! Everything in it is optional. What is wrong in it is said with its line and the choices there
//! are, and stops nothing: what can be understood holds, the rest stays as it is without a file.

mod read;

use std::{ffi::OsString, fs, io, path::PathBuf};

use self::read::Reader;

/// What a configuration says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Config {
    pub(crate) server: Server,
    pub(crate) ui: Ui,
    /// Columns by the name of their list.
    pub(crate) columns: Vec<(String, Vec<String>)>,
    pub(crate) keys: Vec<KeySetting>,
    pub(crate) themes: Vec<ThemeSetting>,
}

/// Where the daemon is and who asks.
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
    /// Above this number of objects, an action asks for the number to be typed.
    pub(crate) confirm_bulk_over: Option<usize>,
}

/// Above this number of objects, the number must be typed to confirm an action, in the full screen and in commands.
pub(crate) const TYPED_ABOVE: usize = 10;

/// Keys of one action, or keys that mean nothing any more.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct KeySetting {
    pub(crate) line: usize,
    /// `global`, or the name of a place.
    pub(crate) scope: String,
    /// The name of an action, or `unbind`.
    pub(crate) action: String,
    pub(crate) keys: Vec<String>,
}

/// A theme that a file makes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ThemeSetting {
    pub(crate) line: usize,
    pub(crate) name: String,
    pub(crate) base: Option<String>,
    /// Colours by the names of roles.
    pub(crate) roles: Vec<(usize, String, String)>,
}

/// Something in a file that is not as it should be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ConfigProblem {
    pub(crate) line: usize,
    pub(crate) text: String,
    /// Whether it only is passed over, as it may be meant for another version.
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

/// Where the file is, whether or not there is one.
pub(crate) fn path(variable: impl Fn(&str) -> Option<OsString>) -> Option<PathBuf> {
    let directory = |name: &str| variable(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let config = directory("XDG_CONFIG_HOME").or_else(|| directory("HOME").map(|home| home.join(".config")))?;
    Some(config.join("farrier/config.toml"))
}

/// The file's text; nothing when there is no file.
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
    /// Understands a file as far as it can be understood.
    pub(crate) fn parse(text: &str) -> (Self, Vec<ConfigProblem>) {
        Reader::read(text)
    }

    /// What the user's file says; problems are for `farrier config check` to tell.
    pub(crate) fn load(variable: impl Fn(&str) -> Option<OsString>) -> Self {
        Self::parse(&text(variable).unwrap_or_default()).0
    }
}
