//! Commits as rows.

use std::borrow::Cow;

use crate::ui::{
    list::{CellText, Column, FilterColumn, Haystack, Row},
    net::CommitSummary,
    view::Role,
    words,
};

static COLUMNS: [Column<CommitSummary>; 4] = [
    Column {
        title: "COMMIT",
        width: 7,
        right: false,
        rank: 1,
        cell: |c, _| CellText::of(Role::Accent, c.sha.chars().take(7).collect::<String>()),
        order: None,
    },
    Column { title: "TITLE", width: 16, right: false, rank: 0, cell: |c, _| CellText::plain(&*c.title), order: None },
    Column { title: "BY", width: 12, right: false, rank: 3, cell: |c, _| CellText::plain(&*c.author), order: None },
    Column {
        title: "AGE",
        width: 4,
        right: true,
        rank: 2,
        cell: |c, clock| CellText::plain(clock.age(&c.committed_at)),
        order: None,
    },
];

impl Haystack for CommitSummary {
    fn text(&self) -> Cow<'_, str> {
        (&self.title).into()
    }

    fn column(&self, name: &str) -> Option<String> {
        match name {
            "commit" => Some(self.sha.clone()),
            "by" => Some(self.author.clone()),
            _ => None,
        }
    }

    fn number(&self, name: &str) -> Option<i64> {
        (name == "age").then(|| words::seconds_since(&self.committed_at, crate::clock::now())).flatten()
    }
}

impl Row for CommitSummary {
    type Id = String;

    const LIST: &'static str = "commits";
    const COLUMNS: &'static [Column<Self>] = &COLUMNS;
    const FILTERS: &'static [FilterColumn] =
        &[FilterColumn::text("commit"), FilterColumn::text("by"), FilterColumn::age("age")];

    fn id(&self) -> String {
        self.sha.clone()
    }

    fn flexible() -> usize {
        1
    }

    fn ages() -> &'static [&'static str] {
        &["AGE"]
    }

    fn is_problem(&self) -> bool {
        false
    }
}
