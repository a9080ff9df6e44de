//! Entries of a directory as rows.

use std::borrow::Cow;

use farrier_common::api::TreeEntry;

use crate::{
    output::human_bytes,
    ui::{
        list::{CellText, Column, FilterColumn, Haystack, Row},
        view::Role,
    },
};

/// The kind of an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::ui::screens) enum FileKind {
    Directory,
    File,
    Executable,
    Link,
    Submodule,
}

impl FileKind {
    /// Returns the kind of an entry with this type and mode.
    fn of(entry: &TreeEntry) -> Self {
        match (entry.kind.as_str(), entry.mode.as_str()) {
            ("tree", _) => Self::Directory,
            ("commit", _) => Self::Submodule,
            (_, "120000") => Self::Link,
            (_, "100755") => Self::Executable,
            _ => Self::File,
        }
    }

    fn word(self) -> &'static str {
        match self {
            Self::Directory => "dir",
            Self::File => "file",
            Self::Executable => "exec",
            Self::Link => "link",
            Self::Submodule => "module",
        }
    }
}

/// An entry of a directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::ui::screens) struct FileRow {
    pub(super) name: String,
    pub(super) kind: FileKind,
    /// Object ID; of a submodule, the commit in the other repository.
    pub(super) sha: String,
    bytes: i64,
}

impl From<&TreeEntry> for FileRow {
    fn from(entry: &TreeEntry) -> Self {
        Self { name: entry.path.clone(), kind: FileKind::of(entry), sha: entry.sha.clone(), bytes: entry.size }
    }
}

static COLUMNS: [Column<FileRow>; 3] = [
    Column {
        title: "FILE",
        width: 20,
        right: false,
        rank: 0,
        cell: |file, _| match file.kind {
            FileKind::Directory => CellText::of(Role::Accent, format!("{}/", file.name)),
            _ => CellText::plain(&*file.name),
        },
        order: Some(|a, b| (a.kind != FileKind::Directory, &a.name).cmp(&(b.kind != FileKind::Directory, &b.name))),
    },
    Column {
        title: "KIND",
        width: 6,
        right: false,
        rank: 2,
        cell: |file, _| CellText::of(Role::Muted, file.kind.word()),
        order: Some(|a, b| a.kind.cmp(&b.kind)),
    },
    Column {
        title: "SIZE",
        width: 10,
        right: true,
        rank: 1,
        cell: |file, _| match file.kind {
            FileKind::Directory | FileKind::Submodule => CellText::plain(""),
            _ => CellText::plain(human_bytes(file.bytes)),
        },
        order: Some(|a, b| b.bytes.cmp(&a.bytes)),
    },
];

impl Haystack for FileRow {
    fn text(&self) -> Cow<'_, str> {
        (&self.name).into()
    }

    fn column(&self, name: &str) -> Option<String> {
        (name == "kind").then(|| self.kind.word().to_owned())
    }

    fn number(&self, name: &str) -> Option<i64> {
        (name == "size").then_some(self.bytes)
    }
}

impl Row for FileRow {
    type Id = String;

    const LIST: &'static str = "files";
    const COLUMNS: &'static [Column<Self>] = &COLUMNS;
    const FILTERS: &'static [FilterColumn] = &[FilterColumn::text("kind"), FilterColumn::size("size")];

    fn id(&self) -> String {
        self.name.clone()
    }

    fn is_problem(&self) -> bool {
        false
    }

    fn weight(&self) -> i64 {
        self.bytes
    }
}
