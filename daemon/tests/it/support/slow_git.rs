//! A `git` for a daemon under test that lists its commands and pauses one of them.

use std::{
    fs,
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
};

use super::{Binary, eventually};

/// Bytes of output before [`Pause::Middle`].
const FIRST_BYTES: usize = 100_000;

/// When a command pauses.
#[derive(Clone, Copy, Debug)]
pub enum Pause {
    /// Before git reads any input.
    Begin,
    /// After the first bytes of its output, while git runs.
    Middle,
    /// When git has ended, and before the daemon sees its end.
    End,
}

/// A program `git` that behaves like the installed one, except that a command pauses while a file exists.
pub struct SlowGit {
    directory: PathBuf,
}

impl SlowGit {
    /// Lets `farrier` use a git whose `command` can be paused. Call this before the daemon starts.
    pub fn install(farrier: &mut Binary, command: &str) -> Self {
        let slow = Self::write(&farrier.scratch(), command);
        let path = std::env::var("PATH").expect("text");
        farrier.env("PATH", format!("{}:{path}", slow.directory.display()));
        slow
    }

    fn write(directory: &Path, command: &str) -> Self {
        let path = std::env::var("PATH").expect("text");
        let installed = std::env::split_paths(&path).map(|entry| entry.join("git")).find(|git| git.is_file());
        let (git, here) = (installed.expect("git").display().to_string(), directory.display());
        let script = format!(
            "#!/bin/sh\n\
             echo \"$*\" >> {here}/commands\n\
             pause() {{\n\
             if [ -e {here}/$1 ]; then echo $$ > {here}/held.new; mv {here}/held.new {here}/held; fi\n\
             while [ -e {here}/$1 ]; do sleep 0.05; done\n\
             }}\n\
             case \" $* \" in *\" {command} \"*) ;; *) exec {git} \"$@\";; esac\n\
             pause Begin\n\
             if [ -e {here}/Middle ]; then\n\
             {git} \"$@\" | {{ head -c {FIRST_BYTES}; pause Middle; exec cat; }}; exit\n\
             fi\n\
             {git} \"$@\"; status=$?\n\
             pause End\n\
             exit $status\n"
        );
        fs::write(directory.join("git"), script).expect("a file");
        fs::set_permissions(directory.join("git"), fs::Permissions::from_mode(0o755)).expect("a program");
        Self { directory: directory.to_owned() }
    }

    /// Returns the arguments of each command since the last call.
    pub fn commands(&self) -> Vec<String> {
        let list = self.directory.join("commands");
        let text = fs::read_to_string(&list).unwrap_or_default();
        fs::write(list, "").expect("a file");
        text.lines().map(str::to_owned).collect()
    }

    /// Lets the next commands pause.
    pub fn hold(&self, pause: Pause) {
        let _ = fs::remove_file(self.directory.join("held"));
        fs::write(self.directory.join(format!("{pause:?}")), "").expect("a file");
    }

    /// Lets all commands continue.
    pub fn release(&self) {
        for pause in [Pause::Begin, Pause::Middle, Pause::End] {
            let _ = fs::remove_file(self.directory.join(format!("{pause:?}")));
        }
    }

    /// Waits until a command pauses. Returns the ID of its process.
    pub async fn held(&self) -> u32 {
        let held = self.directory.join("held");
        eventually("a command of git pauses", || async { held.exists() }).await;
        fs::read_to_string(held).expect("a file").trim().parse().expect("a number")
    }
}
