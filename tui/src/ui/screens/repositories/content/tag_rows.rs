//! Tags as rows.

use std::borrow::Cow;

use farrier_common::api::Tag;

use crate::ui::{
    list::{CellText, Column, FilterColumn, Haystack, Row},
    view::Role,
    words,
};

/// The data of a tag that a list shows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::ui::screens) struct TagRow {
    pub(super) name: String,
    pub(super) commit: String,
    /// First line of its message, or of the message of the commit.
    title: String,
    is_annotated: bool,
}

impl From<&Tag> for TagRow {
    fn from(tag: &Tag) -> Self {
        Self {
            name: tag.name.clone(),
            commit: tag.commit.sha.clone(),
            title: words::title(&tag.message),
            is_annotated: tag.id != tag.commit.sha,
        }
    }
}

static COLUMNS: [Column<TagRow>; 4] = [
    Column {
        title: "TAG",
        width: 14,
        right: false,
        rank: 0,
        cell: |t, _| CellText::plain(&*t.name),
        order: Some(|a, b| a.name.cmp(&b.name)),
    },
    Column {
        title: "COMMIT",
        width: 7,
        right: false,
        rank: 1,
        cell: |t, _| CellText::of(Role::Accent, t.commit.chars().take(7).collect::<String>()),
        order: None,
    },
    Column {
        title: "KIND",
        width: 9,
        right: false,
        rank: 3,
        cell: |t, _| CellText::of(Role::Muted, if t.is_annotated { "annotated" } else { "" }),
        order: Some(|a, b| b.is_annotated.cmp(&a.is_annotated)),
    },
    Column { title: "MESSAGE", width: 24, right: false, rank: 2, cell: |t, _| CellText::plain(&*t.title), order: None },
];

impl Haystack for TagRow {
    fn text(&self) -> Cow<'_, str> {
        (&self.name).into()
    }

    fn column(&self, name: &str) -> Option<String> {
        match name {
            "commit" => Some(self.commit.clone()),
            "message" => Some(self.title.clone()),
            _ => None,
        }
    }

    fn number(&self, _: &str) -> Option<i64> {
        None
    }
}

impl Row for TagRow {
    type Id = String;

    const LIST: &'static str = "tags";
    const COLUMNS: &'static [Column<Self>] = &COLUMNS;
    const FILTERS: &'static [FilterColumn] = &[FilterColumn::text("commit"), FilterColumn::text("message")];

    fn id(&self) -> String {
        self.name.clone()
    }

    fn is_problem(&self) -> bool {
        false
    }
}
