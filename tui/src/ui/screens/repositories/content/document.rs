//! Formats files and commits as lines of text.
//!
//! Files and messages come from everybody who may push. Their control characters stay in the lines; drawing and the
//! pager replace them.

use farrier_common::api::Commit;

use crate::{
    output::human_bytes,
    ui::{
        net::{CONTENT_MAX_BYTES, Excerpt},
        screens::text_scroll::Lines,
        times::Clock,
        view::Role,
        words,
    },
};

/// Largest number of lines that are shown.
const LINES_MAX: usize = 20_000;
/// Number of blanks in place of a tab.
const TAB: &str = "    ";

/// A text with a title.
#[derive(Debug)]
pub(super) struct Document {
    pub(super) title: String,
    /// Its size, and what is not shown.
    pub(super) note: String,
    pub(super) lines: Lines,
    /// Whether the lines have numbers.
    pub(super) is_numbered: bool,
}

/// Returns the lines of a text, without a last line that is incomplete, and whether lines are missing.
fn text_lines(excerpt: &Excerpt) -> (Vec<String>, bool) {
    let end = if excerpt.is_cut { excerpt.bytes.iter().rposition(|byte| *byte == b'\n') } else { None };
    let text = String::from_utf8_lossy(&excerpt.bytes[..end.unwrap_or(excerpt.bytes.len())]);
    let mut lines: Vec<String> = text.lines().take(LINES_MAX + 1).map(|line| line.replace('\t', TAB)).collect();
    let is_cut = excerpt.is_cut || lines.len() > LINES_MAX;
    lines.truncate(LINES_MAX);
    (lines, is_cut)
}

/// Returns what is said about a text that is not shown completely.
fn cut_note(count: usize) -> String {
    let limit = i64::try_from(CONTENT_MAX_BYTES).unwrap_or(i64::MAX);
    format!("the first {}, at most {}", counted_lines(count), human_bytes(limit))
}

fn counted_lines(count: usize) -> String {
    let number = words::count(i64::try_from(count).unwrap_or(i64::MAX));
    if count == 1 { "1 line".to_owned() } else { format!("{number} lines") }
}

/// Formats a file.
pub(super) fn of_file(path: &str, excerpt: &Excerpt) -> Document {
    let title = path.to_owned();
    let size = human_bytes(i64::try_from(excerpt.bytes.len()).unwrap_or(i64::MAX));
    let size = if excerpt.is_cut { format!("more than {size}") } else { size };
    let only = |text: &str| vec![(Role::Muted, text.to_owned())];
    if excerpt.bytes.contains(&0) {
        let lines = only("This is a binary file: it contains zero bytes.");
        return Document { title, note: format!("binary, {size}"), lines, is_numbered: false };
    }
    if excerpt.bytes.is_empty() {
        return Document { title, note: size, lines: only("The file is empty."), is_numbered: false };
    }
    let (text, is_cut) = text_lines(excerpt);
    let mut note = if is_cut { cut_note(text.len()) } else { format!("{}, {size}", counted_lines(text.len())) };
    // Only the bytes at the end of an incomplete text may be the beginning of a character.
    let invalid = std::str::from_utf8(&excerpt.bytes).err();
    if invalid.is_some_and(|error| error.error_len().is_some()) {
        note.push_str(", not UTF-8");
    }
    let lines = text.into_iter().map(|line| (Role::Text, line)).collect();
    Document { title, note, lines, is_numbered: true }
}

/// Formats a commit and its diff.
pub(super) fn of_commit(commit: &Commit, diff: &Excerpt, clock: &Clock) -> Document {
    let details = &commit.commit;
    let (author, committer) = (&details.author, &details.committer);
    let short = |sha: &str| sha.chars().take(7).collect::<String>();
    let mut lines: Lines = vec![
        (Role::Accent, format!("commit     {}", commit.sha)),
        (Role::Text, format!("author     {} <{}>  {}", author.name, author.email, clock.stamp(&author.date))),
    ];
    if (&author.name, &author.email) != (&committer.name, &committer.email) {
        let date = clock.stamp(&committer.date);
        lines.push((Role::Text, format!("committer  {} <{}>  {date}", committer.name, committer.email)));
    }
    if !commit.parents.is_empty() {
        let parents: Vec<String> = commit.parents.iter().map(|parent| short(&parent.sha)).collect();
        lines.push((Role::Text, format!("parents    {}", parents.join(" "))));
    }
    if let Some(stats) = commit.stats {
        let (added, deleted) = (words::count(stats.additions), words::count(stats.deletions));
        lines.push((Role::Text, format!("lines      +{added} -{deleted}")));
    }
    lines.push((Role::Text, String::new()));
    let message = details.message.trim_end().as_bytes();
    let end = message.len().min(CONTENT_MAX_BYTES);
    let message = Excerpt { bytes: message[..end].to_vec(), is_cut: end < message.len() };
    let (message_lines, is_message_cut) = text_lines(&message);
    lines.extend(message_lines.into_iter().map(|line| (Role::Text, line)));
    if is_message_cut {
        lines.push((Role::Muted, "… the rest of the message is not shown".to_owned()));
    }
    lines.push((Role::Text, String::new()));
    let (diff_lines, is_cut) = text_lines(diff);
    let note = if is_cut { cut_note(diff_lines.len()) } else { String::new() };
    if diff_lines.is_empty() {
        lines.push((Role::Muted, "The commit changes no files.".to_owned()));
    }
    let mut in_hunk = false;
    for line in diff_lines {
        let role = diff_role(&line, &mut in_hunk);
        lines.push((role, line));
    }
    if is_cut {
        lines.push((Role::Muted, "… the rest of the diff is not shown".to_owned()));
    }
    let title = format!("{}  {}", short(&commit.sha), words::title(&details.message));
    Document { title, note, lines, is_numbered: false }
}

/// Returns the role of a line of a diff. Lines of a file begin with a sign or a blank, so they are no headings.
fn diff_role(line: &str, in_hunk: &mut bool) -> Role {
    if line.starts_with("diff ") {
        *in_hunk = false;
        return Role::Title;
    }
    if line.starts_with("@@") {
        *in_hunk = true;
        return Role::Accent;
    }
    match line.chars().next() {
        Some('+') if *in_hunk => Role::Ok,
        Some('-') if *in_hunk => Role::Error,
        _ if *in_hunk => Role::Text,
        _ => Role::Muted,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn whole(bytes: &[u8]) -> Excerpt {
        Excerpt { bytes: bytes.to_vec(), is_cut: false }
    }

    fn shown(document: &Document) -> Vec<&str> {
        document.lines.iter().map(|(_, line)| line.as_str()).collect()
    }

    #[test]
    fn text_files_are_shown_with_their_size_and_without_tabs() {
        let document = of_file("src/a.rs", &whole("fn größe() {\r\n\t1\n}\n".as_bytes()));
        assert_eq!(shown(&document), ["fn größe() {", "    1", "}"]);
        assert_eq!((document.note.as_str(), document.is_numbered), ("3 lines, 21 B", true));
        assert_eq!(of_file("a", &whole(b"caf\xe9\n")).note, "1 line, 5 B, not UTF-8");
    }

    #[test]
    fn binary_and_empty_files_are_described() {
        let binary = of_file("a.png", &whole(b"\x89PNG\0\x1b"));
        assert_eq!(shown(&binary), ["This is a binary file: it contains zero bytes."]);
        assert_eq!((binary.note.as_str(), binary.is_numbered), ("binary, 6 B", false));
        assert_eq!(shown(&of_file("a", &whole(b""))), ["The file is empty."]);
    }

    #[test]
    fn a_cut_file_ends_with_a_complete_line_and_says_so() {
        let cut = of_file("big", &Excerpt { bytes: b"one\ntwo\nthr\xc3".to_vec(), is_cut: true });
        assert_eq!(shown(&cut), ["one", "two"]);
        assert_eq!(cut.note, "the first 2 lines, at most 512.0 KiB");
        let many = of_file("lines", &whole(&b"\n".repeat(LINES_MAX + 5)));
        assert_eq!((many.lines.len(), many.note.as_str()), (LINES_MAX, "the first 20 000 lines, at most 512.0 KiB"));
    }

    #[test]
    fn a_long_message_of_a_commit_is_cut() {
        let mut commit = Commit::default();
        commit.commit.message = "word\n".repeat(LINES_MAX * 10);
        let clock = Clock::at(jiff::Timestamp::UNIX_EPOCH, crate::ui::times::Times::default());
        let document = of_commit(&commit, &whole(b""), &clock);
        assert!(document.lines.len() < LINES_MAX + 20, "{}", document.lines.len());
        assert!(shown(&document).contains(&"… the rest of the message is not shown"));
    }

    #[test]
    fn lines_of_a_diff_that_look_like_headings_have_the_role_of_their_sign() {
        let diff =
            "diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1,2 +1,2 @@\n--- old\n+++ new\n same\ndiff --git a/y b/y\n";
        let mut in_hunk = false;
        let roles: Vec<Role> = diff.lines().map(|line| diff_role(line, &mut in_hunk)).collect();
        let expected =
            [Role::Title, Role::Muted, Role::Muted, Role::Accent, Role::Error, Role::Ok, Role::Text, Role::Title];
        assert_eq!(roles, expected);
    }
}
