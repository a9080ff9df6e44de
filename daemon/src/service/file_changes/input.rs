//! Checks the input of changes of files. Pure.

use std::fmt::Write as _;

use base64::{Engine as _, engine::general_purpose::STANDARD as BASE64};
use bytes::Bytes;
use farrier_common::api::{ChangedFile, CommitIdentity, CommitOptions};

use crate::{clock::Millis, git::read::commit::Person, service::Error};

/// Longest path and longest part of a path, in bytes.
const PATH_MAX_BYTES: usize = 4_096;
const PART_MAX_BYTES: usize = 255;
/// Longest commit message, in bytes.
const MESSAGE_MAX_BYTES: usize = 1 << 16;
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
        let change = Self { operation, from_path, path, sha: input.sha.to_ascii_lowercase(), content };
        match operation {
            FileOperation::Update | FileOperation::Delete if change.sha.is_empty() => {
                Err(Error::invalid("sha", "Required: send the id of the blob that you read"))
            }
            FileOperation::Rename if change.from_path.is_empty() => Err(Error::invalid("from_path", "Required")),
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
    paths.sort_unstable();
    match paths.windows(2).find(|pair| pair[0] == pair[1]) {
        Some(pair) => Err(Error::invalid("path", format!("{:?} occurs twice", pair[0]))),
        None => Ok(()),
    }
}

/// Returns `text` without slashes at its ends, if git accepts it as the path of a file and a clone can check it out
/// everywhere.
fn path(field: &'static str, text: &str) -> Result<String, Error> {
    let path = text.trim_matches('/');
    if path.is_empty() {
        return Err(Error::invalid(field, "Required"));
    }
    if path.len() > PATH_MAX_BYTES {
        return Err(Error::invalid(field, format!("is longer than {PATH_MAX_BYTES} bytes")));
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

/// The message and the persons of a commit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct CommitText {
    /// The message, without line breaks at its end.
    message: String,
    /// The author and the author date.
    author: Person,
    /// The committer and the commit date.
    committer: Person,
}

impl CommitText {
    /// Returns the text of a commit by `caller` at `now`. `default_message` is used if the client sent none.
    pub(super) fn new(
        options: &CommitOptions,
        caller: &CommitIdentity,
        default_message: impl FnOnce() -> String,
        now: Millis,
    ) -> Result<Self, Error> {
        let author = identity(&options.author, caller);
        let committer = identity(&options.committer, &author);
        let author = person(author, "author", &options.dates.author, now)?;
        let committer = person(committer, "committer", &options.dates.committer, now)?;
        if options.message.len() > MESSAGE_MAX_BYTES || options.message.contains('\0') {
            return Err(Error::invalid("message", format!("must be text of at most {MESSAGE_MAX_BYTES} bytes")));
        }
        let given = options.message.trim();
        let mut message = if given.is_empty() { default_message() } else { given.to_owned() };
        if options.signoff {
            let _ = write!(message, "\n\nSigned-off-by: {} <{}>", committer.name, committer.email);
        }
        Ok(Self { message, author, committer })
    }

    /// Returns the commit object.
    pub(super) fn object(&self, tree: &str, parent: Option<&str>) -> String {
        let parent = parent.map(|id| format!("parent {id}\n")).unwrap_or_default();
        format!(
            "tree {tree}\n{parent}author {}\ncommitter {}\n\n{}\n",
            header(&self.author),
            header(&self.committer),
            self.message
        )
    }
}

/// Returns the value of a header with a person.
fn header(person: &Person) -> String {
    let (sign, minutes) =
        if person.offset_minutes < 0 { ('-', -person.offset_minutes) } else { ('+', person.offset_minutes) };
    let (hours, minutes) = (minutes / 60, minutes % 60);
    format!("{} <{}> {} {sign}{hours:02}{minutes:02}", person.name, person.email, person.seconds)
}

/// Returns the identity in a request, with the parts of `other` that it does not have.
fn identity(given: &CommitIdentity, other: &CommitIdentity) -> CommitIdentity {
    let or = |given: &str, other: &str| {
        // These characters would end the name or the address in a commit object.
        let clean = given.replace(|c: char| c.is_control() || matches!(c, '<' | '>'), "");
        let clean = clean.trim();
        if clean.is_empty() { other.to_owned() } else { clean.to_owned() }
    };
    CommitIdentity { name: or(&given.name, &other.name), email: or(&given.email, &other.email) }
}

fn person(identity: CommitIdentity, role: &'static str, date: &str, now: Millis) -> Result<Person, Error> {
    let CommitIdentity { name, email } = identity;
    let now = now.div_euclid(1_000);
    // Clients of the family send the year 1 for a date that is not set.
    if date.is_empty() || date.starts_with("0001-01-01") {
        return Ok(Person { name, email, seconds: now, offset_minutes: 0 });
    }
    let field = if role == "author" { "dates.author" } else { "dates.committer" };
    let invalid = || Error::invalid(field, "must be a time such as 2026-01-02T03:04:05Z, not before 1970");
    let seconds = date.parse::<jiff::Timestamp>().map_err(|_| invalid())?.as_second();
    let pieces = jiff::fmt::temporal::Pieces::parse(date).map_err(|_| invalid())?;
    let offset_minutes = match pieces.to_numeric_offset() {
        Some(offset) => offset.seconds() / 60,
        None => 0,
    };
    if seconds < 0 { Err(invalid()) } else { Ok(Person { name, email, seconds, offset_minutes }) }
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
    use farrier_common::api::CommitDates;

    use super::*;

    fn caller() -> CommitIdentity {
        CommitIdentity { name: "Octo".into(), email: "octo@x".into() }
    }

    fn text(options: &CommitOptions) -> Result<CommitText, Error> {
        CommitText::new(options, &caller(), || "Add a".into(), 1_767_323_045_999)
    }

    #[test]
    fn paths_that_a_push_would_refuse_are_refused() {
        for good in ["a", "/a/b/", "a b/ü.txt", ".github/x", ".gitignore", "git", "x.git", ".gitx", "a\\b"] {
            assert_eq!(path("path", good).expect(good), good.trim_matches('/'));
        }
        let long = "x".repeat(256);
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
        ] {
            assert!(path("path", bad).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn empty_fields_and_the_year_one_mean_unset() {
        let commit = text(&CommitOptions {
            dates: CommitDates { author: "0001-01-01T00:00:00Z".into(), committer: String::new() },
            ..CommitOptions::default()
        })
        .expect("valid");
        assert_eq!(
            commit.object("t", None),
            "tree t\nauthor Octo <octo@x> 1767323045 +0000\ncommitter Octo <octo@x> 1767323045 +0000\n\nAdd a\n"
        );
    }

    #[test]
    fn author_committer_dates_and_signoff_are_used() {
        let identity = |name: &str, email: &str| CommitIdentity { name: name.into(), email: email.into() };
        let options = CommitOptions {
            message: "add a\n".into(),
            author: identity("Au <x>\n", "au@x.org"),
            dates: CommitDates {
                author: "2020-01-02T03:04:05-09:30".into(),
                committer: "2021-01-02T03:04:05+05:30".into(),
            },
            signoff: true,
            ..CommitOptions::default()
        };
        let expected = "tree t\nparent p\nauthor Au x <au@x.org> 1577968445 -0930\n\
                        committer Au x <au@x.org> 1609536845 +0530\n\nadd a\n\nSigned-off-by: Au x <au@x.org>\n";
        assert_eq!(text(&options).expect("valid").object("t", Some("p")), expected);
        let other = CommitOptions { committer: identity("", "co@x.org"), ..options.clone() };
        assert_eq!(text(&other).expect("valid").committer.email, "co@x.org");
        for date in ["yesterday", "1960-01-02T03:04:05Z", "2020-01-02"] {
            let dates = CommitDates { author: String::new(), committer: date.into() };
            assert!(text(&CommitOptions { dates, ..options.clone() }).is_err(), "{date}");
        }
        assert!(text(&CommitOptions { message: "a\0b".into(), ..options }).is_err());
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
}
