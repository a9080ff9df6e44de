//! Responses about the content of repositories.

use farrier_common::api::{Commit, CommitDetails, CommitMeta, CommitStats, Signature, Tag, TreeEntry};

use super::super::prelude::*;
use crate::ui::net::{Directory, Excerpt, Page};

/// ID of the newest commit.
pub(in super::super) const TIP: &str = "a1b2c3d4e5f6a1b2c3d4e5f6a1b2c3d4e5f6a1b2";

/// Returns the commit with this number; 0 is the newest.
pub(in super::super) fn commit(number: usize) -> Commit {
    let sha = if number == 0 { TIP.to_owned() } else { format!("{number:040x}") };
    let signature =
        Signature { name: "ops-a".into(), email: "ops-a@forge01.lan".into(), date: "2026-11-21T10:00:00Z".into() };
    Commit {
        sha,
        created: "2026-11-21T10:00:00Z".into(),
        commit: CommitDetails {
            message: format!("fix: change {number}\n\nBecause of a timeout.\n"),
            author: signature.clone(),
            committer: signature,
            ..CommitDetails::default()
        },
        ..Commit::default()
    }
}

/// Returns the newest of 1 204 commits.
pub(in super::super) fn commits(count: usize) -> Answer {
    Answer::Commits(Page { items: (0..count).map(commit).collect(), total: Some(1_204), last: true })
}

/// Returns the newest commit with a diff.
pub(in super::super) fn opened_commit() -> Answer {
    let commit = Commit {
        parents: vec![CommitMeta { sha: format!("{:040x}", 1), ..CommitMeta::default() }],
        stats: Some(CommitStats { total: 2, additions: 1, deletions: 1 }),
        ..commit(0)
    };
    let diff = "diff --git a/src/main.rs b/src/main.rs\nindex 1..2 100644\n--- a/src/main.rs\n+++ b/src/main.rs\n\
                @@ -1,3 +1,3 @@\n fn main() {\n-\trun();\n+\trun(30);\n }\n";
    Answer::Commit(Box::new((commit, Excerpt { bytes: diff.as_bytes().to_vec(), is_cut: false })))
}

fn entry(path: &str, kind: &str, mode: &str, size: i64) -> TreeEntry {
    let sha = format!("{:040x}", path.len());
    TreeEntry { path: path.into(), kind: kind.into(), mode: mode.into(), size, sha, ..TreeEntry::default() }
}

/// Returns a directory with an entry of each kind.
pub(in super::super) fn directory(path: &str) -> Answer {
    let items = vec![
        entry("docs", "tree", "040000", 0),
        entry("src", "tree", "040000", 0),
        entry("README.md", "blob", "100644", 1_204),
        entry("run", "blob", "100755", 96),
        entry("latest", "blob", "120000", 9),
        entry("vendor", "commit", "160000", 0),
    ];
    let entries = Page { total: i64::try_from(items.len()).ok(), items, last: true };
    Answer::Directory(Box::new(Directory { commit: commit(0), path: path.into(), entries }))
}

pub(in super::super) fn file(text: &str) -> Answer {
    Answer::FileContent(Excerpt { bytes: text.as_bytes().to_vec(), is_cut: false })
}

/// Returns an annotated and a lightweight tag.
pub(in super::super) fn tags() -> Answer {
    let tag = |name: &str, id: &str| Tag {
        name: name.into(),
        message: format!("Version {name}\n"),
        id: id.into(),
        commit: CommitMeta { sha: TIP.into(), ..CommitMeta::default() },
        ..Tag::default()
    };
    Answer::Tags(Page {
        total: Some(2),
        items: vec![tag("v1.0", &format!("{:040x}", 7)), tag("v1.1", TIP)],
        last: true,
    })
}

/// Opens the files of a repository with commits.
pub(in super::super) fn open_files(screen: &mut TestScreen) {
    screen.keys("jj\n]");
    screen.answer(|request| matches!(request, Request::Directory { .. }), Ok(directory("")));
}
