//! Opens a text in the user's editor.
//!
//! Owns the choice of the program and the temporary file. The file is in a directory that only the user can open, so
//! that this also applies to the backups of the editor, and the directory is removed when the editor ends. The caller
//! has released the terminal.

use std::{
    ffi::{OsStr, OsString},
    fs,
    io::{self, Write as _},
    os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _},
    path::{Path, PathBuf},
    process::Command,
    sync::{Mutex, PoisonError},
};

use tempfile::TempDir;

use super::{net, redacted::Redacted};
use crate::endpoint::variable;

/// Exit code of a shell for an unknown command.
const MISSING: i32 = 127;
/// Default if neither `VISUAL` nor `EDITOR` is set.
const USUAL: &str = "vi";
/// Name of the file. Editors choose colors by its ending.
const NAME: &str = "payload.json";

/// The directory of the text that is being edited.
static DIRECTORY: Mutex<Option<PathBuf>> = Mutex::new(None);

/// Returns the command line of the editor.
pub(crate) fn command(variable: impl Fn(&str) -> Option<OsString>) -> OsString {
    let set = |name: &str| variable(name).filter(|value| !value.is_empty());
    set("VISUAL").or_else(|| set("EDITOR")).unwrap_or_else(|| USUAL.into())
}

/// Opens `text` until the editor exits, and returns the text of the file then. Returns an error if the editor failed.
pub(crate) fn edit(editor: &OsStr, text: &str) -> Result<Redacted, String> {
    let failed = |error: io::Error| format!("the payload could not be written to a temporary file: {error}");
    let directory = private_directory(variable("XDG_RUNTIME_DIR")).map_err(failed)?;
    remember(Some(directory.path().to_owned()));
    let file = directory.path().join(NAME);
    let edited = write(&file, text).map_err(failed).and_then(|()| run(editor, &file));
    let edited = edited.and_then(|()| net::read_payload(&file).map_err(|failure| failure.report()));
    remember(None);
    drop(directory);
    edited.map(Redacted)
}

/// Removes the text that is being edited, because a signal ends the program. Removes only the directory that [`edit`]
/// has created: its random name is recorded while it exists, and nothing else is in it.
pub(crate) fn abandon() {
    // The thread with the lock only assigns a value. If it is stopped right there, the file stays.
    let directory = DIRECTORY.try_lock().ok().and_then(|mut current| current.take());
    if let Some(directory) = directory {
        let _ = fs::remove_dir_all(directory);
    }
}

fn remember(directory: Option<PathBuf>) {
    *DIRECTORY.lock().unwrap_or_else(PoisonError::into_inner) = directory;
}

/// Creates a directory that only the user can open: in the runtime directory of the session, which is in memory on most
/// systems, else in the directory for temporary files.
fn private_directory(runtime: Option<OsString>) -> io::Result<TempDir> {
    let mut builder = tempfile::Builder::new();
    builder.prefix("farrier-").permissions(fs::Permissions::from_mode(0o700));
    // After `sudo`, the runtime directory can be that of another user.
    let in_runtime = runtime.and_then(|parent| builder.tempdir_in(parent).ok());
    in_runtime.map_or_else(|| builder.tempdir(), Ok)
}

fn write(file: &Path, text: &str) -> io::Result<()> {
    fs::File::options().write(true).create_new(true).mode(0o600).open(file)?.write_all(text.as_bytes())
}

/// Runs the editor until it exits.
#[expect(clippy::disallowed_methods, reason = "the program that the user edits with")]
fn run(editor: &OsStr, file: &Path) -> Result<(), String> {
    let name = editor.display();
    // `VISUAL` often contains arguments: `code --wait`.
    let mut line = editor.to_owned();
    line.push(" \"$1\"");
    let status = Command::new("sh").arg("-c").arg(line).arg("sh").arg(file).status();
    match status.map_err(|error| format!("{name} could not be started: {error}"))? {
        status if status.success() => Ok(()),
        status if status.code() == Some(MISSING) => {
            Err(format!("{name} not found; set VISUAL or EDITOR to another program"))
        }
        status => Err(format!("{name} failed ({status}); the payload was not changed")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_edited_text_is_returned_and_its_private_file_removed() {
        let dir = tempfile::tempdir().unwrap();
        let about = dir.path().join("about");
        let script = format!(
            "{{ echo \"$1\"; stat -c %a \"$1\" \"${{1%/*}}\"; }} >'{}'; cp \"$1\" \"$1~\"; printf '{{\"a\": 1}}' >",
            about.display()
        );
        let edited = edit(OsStr::new(&script), "{\"a\": 0}").unwrap();
        assert_eq!(&*edited, "{\"a\": 1}");
        let about = fs::read_to_string(about).unwrap();
        let [file, mode, of_directory] = about.lines().collect::<Vec<_>>()[..] else { panic!("{about}") };
        assert_eq!((mode, of_directory), ("600", "700"));
        let file = Path::new(file);
        assert!(file.ends_with(NAME) && !file.parent().unwrap().exists(), "{about}");
    }

    #[test]
    fn a_failed_editor_and_an_unusable_text_are_errors() {
        let error = |editor: &str| edit(OsStr::new(editor), "{}").unwrap_err();
        let missing = "farrier-no-such-editor not found; set VISUAL or EDITOR to another program";
        assert_eq!(error("farrier-no-such-editor"), missing);
        assert!(error("exit 3;").contains("the payload was not changed"));
        assert!(error("head -c 1100000 /dev/zero | tr '\\0' ' ' >").contains("larger than 1 MiB"));
        assert!(error("printf '\\377' >").contains("reading"));
        assert!(error("rm").contains("reading"));
    }

    #[test]
    fn visual_takes_precedence_over_editor() {
        let with = |set: &'static [(&str, &str)]| {
            command(|name| set.iter().find(|(known, _)| *known == name).map(|(_, value)| OsString::from(*value)))
        };
        assert_eq!(with(&[]), USUAL);
        assert_eq!(with(&[("EDITOR", "nano")]), "nano");
        assert_eq!(with(&[("EDITOR", "nano"), ("VISUAL", "code --wait")]), "code --wait");
        assert_eq!(with(&[("EDITOR", "nano"), ("VISUAL", "")]), "nano");
    }
}
