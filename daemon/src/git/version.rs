//! Checks the version of the installed git. Older versions lack features that the daemon needs.

use std::{
    fmt, io,
    path::{Path, PathBuf},
    time::Duration,
};

/// The oldest supported version. It introduced `merge-tree --write-tree`, which `git/workspace/merge.rs` needs.
const OLDEST: GitVersion = GitVersion(2, 38);
/// Time limit of `git version`.
const TIMEOUT: Duration = Duration::from_secs(30);

/// The first two numbers of a git version.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct GitVersion(u32, u32);

/// Why the installed git cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum VersionError {
    /// No directory in `PATH` contains git.
    #[error("there is no git in PATH; install git {OLDEST} or newer")]
    Missing,
    /// Git does not start.
    #[error("{path} cannot be started; install git {OLDEST} or newer")]
    Start {
        /// Path of the program.
        path: PathBuf,
        /// The cause.
        #[source]
        source: io::Error,
    },
    /// The output of `git version` cannot be parsed.
    #[error("{path} version gave no answer that can be read; install git {OLDEST} or newer")]
    Unreadable {
        /// The program.
        path: PathBuf,
    },
    /// Git is too old.
    #[error("{path} is git {found}, which is too old; install git {OLDEST} or newer")]
    Old {
        /// The program.
        path: PathBuf,
        /// Its version.
        found: GitVersion,
    },
}

impl fmt::Display for GitVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.0, self.1)
    }
}

/// Checks that the git in `PATH` is supported, and returns its version.
pub async fn check_installed() -> Result<GitVersion, VersionError> {
    let program = super::find_program(std::env::var_os("PATH").as_deref());
    check(&program.ok_or(VersionError::Missing)?).await
}

async fn check(program: &Path) -> Result<GitVersion, VersionError> {
    let path = program.to_owned();
    #[expect(clippy::disallowed_methods, reason = "the one door")]
    let mut command = tokio::process::Command::new(program);
    command.arg("version").env_clear().env("PATH", super::environment::search_path(program)).kill_on_drop(true);
    let output = match tokio::time::timeout(TIMEOUT, command.output()).await {
        Err(_) => return Err(VersionError::Unreadable { path }),
        Ok(Err(source)) => return Err(VersionError::Start { path, source }),
        Ok(Ok(output)) => output,
    };
    match parse(&String::from_utf8_lossy(&output.stdout)) {
        None => Err(VersionError::Unreadable { path }),
        Some(found) if found < OLDEST => Err(VersionError::Old { path, found }),
        Some(found) => Ok(found),
    }
}

/// Parses the output of `git version`.
fn parse(text: &str) -> Option<GitVersion> {
    let mut numbers = text.strip_prefix("git version ")?.split(['.', ' ', '\n', '-']);
    let mut next = || numbers.next()?.parse().ok();
    Some(GitVersion(next()?, next()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_read_and_compared() {
        for (text, expected) in [
            ("git version 2.39.5\n", Some(GitVersion(2, 39))),
            ("git version 2.39.5 (Apple Git-154)\n", Some(GitVersion(2, 39))),
            ("git version 2.45.GIT\n", Some(GitVersion(2, 45))),
            ("git version 2.47-rc1\n", Some(GitVersion(2, 47))),
            ("git version 3.0\n", Some(GitVersion(3, 0))),
            ("git version unknown\n", None),
            ("git version 2\n", None),
            ("", None),
        ] {
            assert_eq!(parse(text), expected, "{text}");
        }
        assert!(GitVersion(2, 9) < OLDEST && GitVersion(2, 36) < OLDEST && GitVersion(3, 0) > OLDEST);
    }
}
