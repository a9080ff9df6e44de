//! Validates requests to change files. Does no I/O.

use std::collections::HashSet;

use base64::{Engine as _, engine::general_purpose::STANDARD as BASE64};
use bytes::Bytes;
use farrier_common::api::ChangedFile;

use crate::service::Error;

/// Longest path and longest part of a path, in bytes.
const PATH_MAX_BYTES: usize = 4_096;
const PART_MAX_BYTES: usize = 255;
/// Most parts of a path. Git writes one level of directories after the other.
const PARTS_MAX: usize = 128;
/// Most directories above the files of a request, and the length of their paths in total, in bytes.
const DIRECTORIES_MAX: usize = 10_000;
const DIRECTORIES_MAX_BYTES: usize = 8 << 20;
/// Most files of a request.
const FILES_MAX: usize = 1_000;

/// What happens to a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileOperation {
    /// Adds a file. It must not exist.
    Create,
    /// Replaces a file, and moves it if there is another old path.
    Update,
    /// Adds or replaces a file.
    Upload,
    /// Moves a file.
    Rename,
    /// Deletes a file.
    Delete,
}

/// A change of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileChange {
    /// What happens.
    pub operation: FileOperation,
    /// The path.
    pub path: String,
    /// The path from which the file is moved. Empty: it is not moved.
    pub from_path: String,
    /// Id of the blob that the client read. Empty: not compared.
    pub sha: String,
    /// The new content. `None`: a moved file keeps its content, another one is empty.
    pub content: Option<Bytes>,
}

impl FileChange {
    /// Checks a change that a client sent.
    pub fn from_input(input: ChangedFile) -> Result<Self, Error> {
        let operation = match input.operation.as_str() {
            "create" => FileOperation::Create,
            "update" => FileOperation::Update,
            "upload" => FileOperation::Upload,
            "rename" => FileOperation::Rename,
            "delete" => FileOperation::Delete,
            _ => {
                return Err(Error::invalid("operation", "is not one of create, update, upload, rename, delete"));
            }
        };
        let path = path("path", &input.path)?;
        let from_path =
            if input.from_path.is_empty() { String::new() } else { self::path("from_path", &input.from_path)? };
        let content = input.content.map(|text| decoded(&text)).transpose()?;
        // Clients of the family send an empty content with every file that they rename.
        let content = content.filter(|content| operation != FileOperation::Rename || !content.is_empty());
        let change = Self { operation, from_path, path, sha: input.sha.to_ascii_lowercase(), content };
        match operation {
            FileOperation::Update | FileOperation::Delete if change.sha.is_empty() => {
                Err(Error::invalid("sha", "Required: send the id of the blob that you read"))
            }
            FileOperation::Rename if change.from_path.is_empty() => Err(Error::invalid("from_path", "Required")),
            FileOperation::Rename if change.from_path == change.path => {
                Err(Error::invalid("from_path", "is the same as path"))
            }
            _ => Ok(Self { from_path: change.moved_from().map(str::to_owned).unwrap_or_default(), ..change }),
        }
    }

    /// Returns the path from which the file is moved.
    pub fn moved_from(&self) -> Option<&str> {
        let moves = matches!(self.operation, FileOperation::Update | FileOperation::Rename);
        Some(self.from_path.as_str()).filter(|from| moves && !from.is_empty() && *from != self.path)
    }

    /// Returns the path of the existing file that is changed.
    pub fn old_path(&self) -> &str {
        self.moved_from().unwrap_or(&self.path)
    }

    fn verb(&self) -> &'static str {
        match self.operation {
            FileOperation::Create | FileOperation::Upload => "Add",
            FileOperation::Update => "Update",
            FileOperation::Rename => "Rename",
            FileOperation::Delete => "Delete",
        }
    }
}

/// Decodes the content of a file.
fn decoded(text: &str) -> Result<Bytes, Error> {
    let plain: String = if text.contains(['\n', '\r']) { text.replace(['\n', '\r'], "") } else { text.to_owned() };
    BASE64.decode(plain).map(Bytes::from).map_err(|_| Error::invalid("content", "is not valid base64"))
}

/// Checks the changes of one commit. Each path may occur once.
pub(super) fn check_all(changes: &[FileChange]) -> Result<(), Error> {
    if changes.is_empty() {
        return Err(Error::invalid("files", "Required: send at least one change"));
    }
    if changes.len() > FILES_MAX {
        return Err(Error::invalid("files", format!("has more than {FILES_MAX} changes")));
    }
    let mut paths: Vec<&str> =
        changes.iter().flat_map(|change| [Some(change.path.as_str()), change.moved_from()]).flatten().collect();
    check_directories(&paths)?;
    paths.sort_unstable();
    match paths.windows(2).find(|pair| pair[0] == pair[1]) {
        Some(pair) => Err(Error::invalid("path", format!("{:?} occurs twice", pair[0]))),
        None => Ok(()),
    }
}

/// Checks the number and the length of the directories above `paths`. All of them are read and written.
fn check_directories(paths: &[&str]) -> Result<(), Error> {
    let directories = |path: &&str| path.matches('/').count();
    let bytes = |path: &&str| path.match_indices('/').map(|(end, _)| end).sum::<usize>();
    let too_many = || Error::invalid("files", "have too many directories in their paths; send fewer files at once");
    if paths.iter().map(bytes).sum::<usize>() > DIRECTORIES_MAX_BYTES {
        return Err(too_many());
    }
    if paths.iter().map(directories).sum::<usize>() <= DIRECTORIES_MAX {
        return Ok(());
    }
    let all = paths.iter().flat_map(|path| path.match_indices('/').map(move |(end, _)| &path[..end]));
    if all.collect::<HashSet<_>>().len() > DIRECTORIES_MAX { Err(too_many()) } else { Ok(()) }
}

/// Returns `text` without slashes at its ends, if git accepts it as the path of a file and a clone can check it out
/// everywhere.
pub(in crate::service) fn path(field: &'static str, text: &str) -> Result<String, Error> {
    let path = text.trim_matches('/');
    if path.is_empty() {
        return Err(Error::invalid(field, "Required"));
    }
    if path.len() > PATH_MAX_BYTES {
        return Err(Error::invalid(field, format!("is longer than {PATH_MAX_BYTES} bytes")));
    }
    if path.split('/').count() > PARTS_MAX {
        return Err(Error::invalid(field, format!("has more than {PARTS_MAX} parts")));
    }
    for part in path.split('/') {
        if matches!(part, "" | "." | "..") {
            return Err(Error::invalid(field, "must not have parts that are empty, . or .."));
        }
        if part.len() > PART_MAX_BYTES {
            return Err(Error::invalid(field, format!("has a part that is longer than {PART_MAX_BYTES} bytes")));
        }
        if part.chars().any(char::is_control) {
            return Err(Error::invalid(field, "must not contain control characters"));
        }
        if is_git_directory(part) {
            return Err(Error::invalid(field, "must not have a part that some file systems read as .git"));
        }
    }
    Ok(path.to_owned())
}

/// Returns whether a file system may read `part` as `.git`. The same names are refused in pushes.
fn is_git_directory(part: &str) -> bool {
    // NTFS: short names, spaces and dots at the end, and streams after a colon. A backslash separates parts.
    let is_ntfs = part.split('\\').any(|part| {
        let lower = part.to_ascii_lowercase();
        let rest = lower.strip_prefix(".git").or_else(|| lower.strip_prefix("git~1"));
        rest.is_some_and(|rest| matches!(rest.trim_start_matches([' ', '.']).chars().next(), None | Some(':')))
    });
    // HFS+ ignores these characters.
    let is_ignored =
        |c: char| matches!(c, '\u{200c}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{206a}'..='\u{206f}' | '\u{feff}');
    let visible: String = part.chars().filter(|c| !is_ignored(*c)).collect();
    is_ntfs || visible.eq_ignore_ascii_case(".git")
}

/// Returns the message of a commit whose client sent none.
pub(super) fn default_message(changes: &[FileChange]) -> String {
    /// Most paths in a message.
    const LINES_MAX: usize = 100;
    let line = |change: &FileChange| format!("{} {}", change.verb(), change.path);
    let mut lines: Vec<String> = changes.iter().take(LINES_MAX).map(line).collect();
    if changes.len() > LINES_MAX {
        lines.push(format!("and {} more", changes.len() - LINES_MAX));
    }
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_that_a_push_would_refuse_are_refused() {
        for good in ["a", "/a/b/", "a b/ü.txt", ".github/x", ".gitignore", "git", "x.git", ".gitx", "a\\b"] {
            assert_eq!(path("path", good).expect(good), good.trim_matches('/'));
        }
        let (long, deep) = ("x".repeat(256), ["x"; PARTS_MAX + 1].join("/"));
        for bad in [
            "",
            "/",
            ".",
            "..",
            "a/../b",
            "a//b",
            "./a",
            ".git",
            "a/.GIT/config",
            ".git/x",
            ".git.",
            ".git ",
            ".git. .",
            "git~1",
            "GIT~1/x",
            ".git::$INDEX_ALLOCATION",
            ".g\u{200c}it",
            "a\\.git",
            "a\nb",
            "a\0b",
            &long,
            &deep,
        ] {
            assert!(path("path", bad).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn each_path_occurs_once() {
        let change = |operation: &str, path: &str, from_path: &str| {
            FileChange::from_input(ChangedFile {
                operation: operation.into(),
                path: path.into(),
                from_path: from_path.into(),
                sha: "ab".into(),
                content: Some("b25l\nCg==\n".into()),
            })
            .expect("valid")
        };
        let all = [
            change("create", "a", ""),
            change("update", "b", "c"),
            change("rename", "d", "e"),
            change("delete", "f", ""),
        ];
        assert_eq!(all[0].content.as_deref(), Some(&b"one\n"[..]));
        check_all(&all).expect("different paths");
        assert_eq!(default_message(&all), "Add a\nUpdate b\nRename d\nDelete f");
        assert!(check_all(&[all[1].clone(), change("create", "c", "")]).is_err());
        assert!(check_all(&[]).is_err());
        assert_eq!(change("update", "b", "b").moved_from(), None);
    }

    #[test]
    fn a_rename_keeps_the_file_unless_it_has_new_content() {
        let rename = |path: &str, content: &str| {
            FileChange::from_input(ChangedFile {
                operation: "rename".into(),
                path: path.into(),
                from_path: "a".into(),
                content: Some(content.into()),
                ..ChangedFile::default()
            })
        };
        assert_eq!(rename("b", "").expect("valid").content, None);
        assert_eq!(rename("b", "eA==").expect("valid").content.as_deref(), Some(&b"x"[..]));
        assert!(rename("a", "").is_err() && rename("/a", "eA==").is_err(), "the same path");
    }

    #[test]
    fn directories_of_a_request_are_limited() {
        let check = |path: &dyn Fn(usize) -> String| {
            let all: Vec<String> = (0..FILES_MAX).map(path).collect();
            check_directories(&all.iter().map(String::as_str).collect::<Vec<_>>())
        };
        let deep = ["d"; 50].join("/");
        assert!(check(&|n| format!("{deep}/{n}")).is_ok(), "the same directories");
        assert!(check(&|n| format!("{n}/{deep}/file")).is_err(), "too many directories");
        let long = vec!["x".repeat(250); 15].join("/");
        assert!(check(&|n| format!("{long}/{n}")).is_err(), "too many bytes");
    }
}
