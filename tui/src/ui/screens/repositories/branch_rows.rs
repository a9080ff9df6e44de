//! Branches as rows.

use std::borrow::Cow;

use farrier_common::api::Branch;

use crate::ui::{
    list::{CellText, Column, FilterColumn, Haystack, Row},
    view::Role,
    words,
};

/// A branch of a repository.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct BranchRow {
    pub(super) branch: Branch,
    /// Whether it is the default branch.
    pub(super) is_default: bool,
}

impl BranchRow {
    pub(crate) fn branch_name(&self) -> &str {
        &self.branch.name
    }

    /// Returns the title of the last commit.
    pub(crate) fn commit_title(&self) -> String {
        words::title(&self.branch.commit.message)
    }
}

static BRANCH: [Column<BranchRow>; 5] = [
    Column {
        title: "BRANCH",
        width: 16,
        right: false,
        rank: 0,
        cell: |b, _| CellText::plain(&*b.branch.name),
        order: Some(|a, b| a.branch.name.cmp(&b.branch.name)),
    },
    Column {
        title: "DEFAULT",
        width: 7,
        right: false,
        rank: 4,
        cell: |b, _| CellText::plain(if b.is_default { "default" } else { "" }),
        order: Some(|a, b| b.is_default.cmp(&a.is_default)),
    },
    Column {
        title: "TIP",
        width: 7,
        right: false,
        rank: 1,
        cell: |b, _| CellText::of(Role::Accent, b.branch.commit.id.chars().take(7).collect::<String>()),
        order: None,
    },
    Column {
        title: "AGE",
        width: 4,
        right: true,
        rank: 2,
        cell: |b, clock| CellText::plain(clock.age(&b.branch.commit.timestamp)),
        order: Some(|a, b| b.branch.commit.timestamp.cmp(&a.branch.commit.timestamp)),
    },
    Column {
        title: "BY",
        width: 12,
        right: false,
        rank: 3,
        cell: |b, _| CellText::plain(&*b.branch.commit.author.name),
        order: Some(|a, b| a.branch.commit.author.name.cmp(&b.branch.commit.author.name)),
    },
];

impl Haystack for BranchRow {
    fn text(&self) -> Cow<'_, str> {
        (&self.branch.name).into()
    }

    fn column(&self, name: &str) -> Option<String> {
        match name {
            "tip" => Some(self.branch.commit.id.clone()),
            "by" => Some(self.branch.commit.author.name.clone()),
            _ => None,
        }
    }

    fn number(&self, name: &str) -> Option<i64> {
        (name == "age").then(|| words::seconds_since(&self.branch.commit.timestamp, crate::clock::now())).flatten()
    }
}

impl Row for BranchRow {
    type Id = String;

    const LIST: &'static str = "branches";
    const COLUMNS: &'static [Column<Self>] = &BRANCH;
    const FILTERS: &'static [FilterColumn] =
        &[FilterColumn::text("tip"), FilterColumn::text("by"), FilterColumn::age("age")];

    fn id(&self) -> String {
        self.branch.name.clone()
    }

    fn ages() -> &'static [&'static str] {
        &["AGE"]
    }

    fn is_problem(&self) -> bool {
        false
    }
}
