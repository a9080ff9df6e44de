//! The command line that a client sends. Does no I/O; nothing is ever passed to a shell.

use std::fmt;

/// Longest command line, in bytes.
const LINE_MAX_BYTES: usize = 4_096;
/// Longest part of a path that is repeated in messages, in characters.
const SHOWN_MAX_CHARS: usize = 200;

/// A command that the daemon knows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SshCommand {
    /// `git-upload-pack PATH`: fetch.
    UploadPack(RepositoryPath),
    /// `git-receive-pack PATH`: push.
    ReceivePack(RepositoryPath),
    /// `git-upload-archive PATH`: `git archive --remote`.
    UploadArchive(RepositoryPath),
    /// `git-lfs-authenticate PATH download|upload`: asks for a token for LFS over HTTP.
    LfsAuthenticate {
        /// The repository.
        path: RepositoryPath,
        /// Whether the token is for uploads.
        uploads: bool,
    },
    /// `git-lfs-transfer …`: LFS over SSH alone, which is not served. Clients then use `git-lfs-authenticate`.
    LfsTransfer,
}

/// A path as the client sent it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RepositoryPath(String);

/// Why a command line is refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SshCommandError {
    /// The line is too long or has characters that no command has.
    #[error("the command cannot be read")]
    Unreadable,
    /// The command has too many or too few arguments.
    #[error("the command has the wrong number of arguments")]
    Arguments,
    /// There is no such command.
    #[error("only git commands are served here, and no shell")]
    Unknown,
}

impl SshCommand {
    /// Parses a command line.
    pub fn parse(line: &[u8]) -> Result<Self, SshCommandError> {
        let line = std::str::from_utf8(line).ok().filter(|line| line.len() <= LINE_MAX_BYTES);
        let line = line.filter(|line| !line.contains(['\0', '\n', '\r'])).ok_or(SshCommandError::Unreadable)?;
        let words = words(line).ok_or(SshCommandError::Unreadable)?;
        let Some((command, arguments)) = words.split_first() else { return Err(SshCommandError::Unknown) };
        let path = || match arguments {
            [path] => Ok(RepositoryPath(path.clone())),
            _ => Err(SshCommandError::Arguments),
        };
        Ok(match command.as_str() {
            "git-upload-pack" => Self::UploadPack(path()?),
            "git-receive-pack" => Self::ReceivePack(path()?),
            "git-upload-archive" => Self::UploadArchive(path()?),
            "git-lfs-authenticate" => match arguments {
                [path, operation] if matches!(operation.as_str(), "download" | "upload") => {
                    Self::LfsAuthenticate { path: RepositoryPath(path.clone()), uploads: operation == "upload" }
                }
                _ => return Err(SshCommandError::Arguments),
            },
            "git-lfs-transfer" => Self::LfsTransfer,
            _ => return Err(SshCommandError::Unknown),
        })
    }
}

impl SshCommand {
    /// Returns the name of the command.
    pub fn name(&self) -> &'static str {
        match self {
            Self::UploadPack(_) => "git-upload-pack",
            Self::ReceivePack(_) => "git-receive-pack",
            Self::UploadArchive(_) => "git-upload-archive",
            Self::LfsAuthenticate { .. } => "git-lfs-authenticate",
            Self::LfsTransfer => "git-lfs-transfer",
        }
    }
}

impl RepositoryPath {
    /// Returns the owner and the name, which may end in `.git`. `None`: the path has another form. The names are not
    /// validated.
    pub fn names(&self) -> Option<(&str, &str)> {
        let path = self.0.strip_prefix('/').unwrap_or(&self.0);
        let (owner, name) = path.split_once('/')?;
        let valid = |name: &str| !name.is_empty() && !name.contains('/') && !matches!(name, "." | "..");
        (valid(owner) && valid(name)).then_some((owner, name))
    }
}

impl fmt::Display for RepositoryPath {
    /// Shows the path without control characters.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown = self.0.chars().take(SHOWN_MAX_CHARS).map(|c| if c.is_control() { '?' } else { c });
        f.write_str(&shown.collect::<String>())
    }
}

/// Splits a line by the quoting rules of POSIX: single quotes, double quotes, backslashes. Every other character stands
/// for itself. `None`: a quote or a backslash is not complete.
fn words(line: &str) -> Option<Vec<String>> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut rest = line.chars();
    while let Some(c) = rest.next() {
        match c {
            ' ' | '\t' => words.extend(word.take()),
            '\'' => {
                let word = word.get_or_insert_default();
                loop {
                    match rest.next()? {
                        '\'' => break,
                        c => word.push(c),
                    }
                }
            }
            '"' => {
                let word = word.get_or_insert_default();
                loop {
                    match rest.next()? {
                        '"' => break,
                        '\\' => match rest.next()? {
                            c @ ('"' | '\\' | '$' | '`') => word.push(c),
                            c => word.extend(['\\', c]),
                        },
                        c => word.push(c),
                    }
                }
            }
            '\\' => word.get_or_insert_default().push(rest.next()?),
            c => word.get_or_insert_default().push(c),
        }
    }
    words.extend(word);
    Some(words)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path(text: &str) -> RepositoryPath {
        RepositoryPath(text.to_owned())
    }

    #[test]
    fn commands_of_clients_are_parsed() {
        for (line, expected) in [
            ("git-upload-pack '/o/r.git'", SshCommand::UploadPack(path("/o/r.git"))),
            ("git-upload-pack o/r", SshCommand::UploadPack(path("o/r"))),
            ("git-receive-pack 'o/r.git'", SshCommand::ReceivePack(path("o/r.git"))),
            ("git-receive-pack \"o/r.git\" ", SshCommand::ReceivePack(path("o/r.git"))),
            ("git-upload-archive  'o/r'\\''s'", SshCommand::UploadArchive(path("o/r's"))),
            (
                "git-lfs-authenticate /o/r.git upload",
                SshCommand::LfsAuthenticate { path: path("/o/r.git"), uploads: true },
            ),
            ("git-lfs-authenticate o/r download", SshCommand::LfsAuthenticate { path: path("o/r"), uploads: false }),
            ("git-lfs-transfer /o/r.git upload", SshCommand::LfsTransfer),
        ] {
            assert_eq!(SshCommand::parse(line.as_bytes()), Ok(expected), "{line}");
        }
    }

    #[test]
    fn other_lines_are_refused() {
        use SshCommandError::{Arguments, Unknown, Unreadable};
        let long = format!("git-upload-pack {}", "a".repeat(LINE_MAX_BYTES));
        for (line, expected) in [
            ("", Unknown),
            ("  ", Unknown),
            ("ls -la", Unknown),
            ("git upload-pack o/r", Unknown),
            ("/usr/bin/git-upload-pack o/r", Unknown),
            ("git-upload-pack", Arguments),
            ("git-upload-pack --strict o/r", Arguments),
            ("git-upload-pack o/r; id", Arguments),
            ("git-receive-pack o/r && id", Arguments),
            ("git-lfs-authenticate o/r", Arguments),
            ("git-lfs-authenticate o/r erase", Arguments),
            ("git-upload-pack 'o/r", Unreadable),
            ("git-upload-pack \"o/r", Unreadable),
            ("git-upload-pack o/r\\", Unreadable),
            ("git-upload-pack o/r\nid", Unreadable),
            ("git-upload-pack o/r\0", Unreadable),
            (long.as_str(), Unreadable),
        ] {
            assert_eq!(SshCommand::parse(line.as_bytes()), Err(expected), "{line}");
        }
        assert_eq!(SshCommand::parse(b"git-upload-pack \xff"), Err(Unreadable));
    }

    #[test]
    fn only_two_names_are_a_path() {
        for text in ["o/r", "/o/r", "o/r.git"] {
            assert!(path(text).names().is_some(), "{text}");
        }
        for text in ["", "/", "o", "o/", "/r", "//r", "//o/r", "o/r/", "o/r/x", "../r", "o/..", "o/.", "~/r/s"] {
            assert_eq!(path(text).names(), None, "{text}");
        }
        assert_eq!(path("/o/r.git").names(), Some(("o", "r.git")));
        assert_eq!(path("a\u{1b}[31m").to_string(), "a?[31m");
    }

    #[test]
    fn characters_of_shells_have_no_meaning() {
        assert_eq!(words("a$(id) `id` ${X} *;|&<>#!~").expect("complete"), ["a$(id)", "`id`", "${X}", "*;|&<>#!~"]);
        assert_eq!(words("'a b'\"c \\\" d\"\\ e ''").expect("complete"), ["a bc \" d e", ""]);
    }
}
