//! Repositories as rows.

use std::{borrow::Cow, cmp::Ordering};

use crate::{
    output::human_bytes,
    ui::{
        list::{CellText, Column, FilterColumn, Haystack, Row},
        repo::RepositorySummary,
        view::Role,
        words,
    },
};

/// Returns the state of a repository in one word.
pub(super) fn state(repo: &RepositorySummary) -> &'static str {
    match repo.migration().map(|import| import.state.as_str()) {
        Some("running") => "importing",
        Some("failed") => "FAILED",
        _ if repo.is_archived() => "archived",
        _ if repo.is_empty() => "empty",
        _ if repo.is_mirror() => "mirror",
        _ => "ok",
    }
}

/// Returns the size in bytes. The API counts in KiB.
pub(super) fn bytes(repo: &RepositorySummary) -> i64 {
    repo.size.saturating_mul(1_024)
}

fn by_name(a: &RepositorySummary, b: &RepositorySummary) -> Ordering {
    let (a, b) = (a.full_name(), b.full_name());
    if a.is_ascii() && b.is_ascii() {
        // Lowercase copies would dominate the time to sort a long list.
        let small = |byte: u8| byte.to_ascii_lowercase();
        return a.bytes().map(small).cmp(b.bytes().map(small));
    }
    a.to_lowercase().cmp(&b.to_lowercase())
}

static REPOSITORY: [Column<RepositorySummary>; 9] = [
    Column {
        title: "NAME",
        width: 18,
        right: false,
        rank: 0,
        cell: |r, _| CellText::plain(r.full_name()),
        order: Some(by_name),
    },
    Column {
        title: "VIS",
        width: 3,
        right: false,
        rank: 3,
        cell: |r, _| CellText::plain(if r.is_private() { "prv" } else { "pub" }),
        order: Some(|a, b| a.is_private().cmp(&b.is_private())),
    },
    Column {
        title: "BRANCH",
        width: 10,
        right: false,
        rank: 5,
        cell: |r, _| CellText::plain(r.default_branch()),
        order: Some(|a, b| a.default_branch().cmp(b.default_branch())),
    },
    Column {
        title: "SIZE",
        width: 10,
        right: true,
        rank: 2,
        cell: |r, _| if r.size == 0 { CellText::of(Role::Muted, "-") } else { CellText::plain(human_bytes(bytes(r))) },
        order: Some(|a, b| a.size.cmp(&b.size)),
    },
    Column {
        title: "CHANGED",
        width: 7,
        right: true,
        rank: 4,
        cell: |r, clock| CellText::plain(clock.age_from(r.updated)),
        order: Some(|a, b| b.updated.cmp(&a.updated)),
    },
    Column {
        title: "STATE",
        width: 9,
        right: false,
        rank: 1,
        cell: |r, _| {
            let state = state(r);
            let role = match state {
                "ok" => Role::Text,
                "FAILED" => Role::Error,
                "importing" => Role::Warn,
                _ => Role::Muted,
            };
            CellText::of(role, state)
        },
        order: Some(|a, b| state(a).cmp(state(b))),
    },
    Column {
        title: "ID",
        width: 7,
        right: true,
        rank: 10,
        cell: |r, _| CellText::of(Role::Muted, r.id.to_string()),
        order: Some(|a, b| a.id.cmp(&b.id)),
    },
    Column {
        title: "CREATED",
        width: 19,
        right: false,
        rank: 11,
        cell: |r, clock| CellText::of(Role::Muted, clock.stamp_of(r.created)),
        order: Some(|a, b| b.created.cmp(&a.created)),
    },
    Column {
        title: "ABOUT",
        width: 24,
        right: false,
        rank: 12,
        cell: |r, _| CellText::of(Role::Muted, r.description()),
        order: None,
    },
];

impl Haystack for RepositorySummary {
    fn text(&self) -> Cow<'_, str> {
        self.full_name().into()
    }

    fn column(&self, name: &str) -> Option<String> {
        match name {
            "state" => Some(state(self).to_owned()),
            "branch" => Some(self.default_branch().to_owned()),
            "vis" => Some(if self.is_private() { "private" } else { "public" }.to_owned()),
            "about" => Some(self.description().to_owned()),
            _ => None,
        }
    }

    fn number(&self, name: &str) -> Option<i64> {
        match name {
            "size" => Some(bytes(self)),
            "age" => words::seconds_from(self.updated, crate::clock::now()),
            "id" => Some(self.id),
            _ => None,
        }
    }
}

impl Row for RepositorySummary {
    type Id = i64;

    const LIST: &'static str = "repositories";
    const COLUMNS: &'static [Column<Self>] = &REPOSITORY;
    const IS_SEARCHED: bool = true;
    const FILTERS: &'static [FilterColumn] = &[
        FilterColumn::text("state"),
        FilterColumn::text("branch"),
        FilterColumn::text("vis"),
        FilterColumn::text("about"),
        FilterColumn::size("size"),
        FilterColumn::age("age"),
        FilterColumn::count("id"),
    ];

    fn id(&self) -> i64 {
        self.id
    }

    fn is_problem(&self) -> bool {
        state(self) == "FAILED"
    }

    fn weight(&self) -> i64 {
        bytes(self)
    }

    fn ages() -> &'static [&'static str] {
        &["CHANGED", "CREATED"]
    }
}
