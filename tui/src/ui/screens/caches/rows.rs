//! Cache entries as rows.

use std::borrow::Cow;

use crate::{
    output::human_bytes,
    ui::{
        cache::CacheSummary,
        list::{CellText, Column, FilterColumn, Haystack, Row},
        view::Role,
        words,
    },
};

/// Returns the ref without `refs/heads/`.
pub(super) fn short_ref(entry: &CacheSummary) -> &str {
    entry.git_ref().strip_prefix("refs/heads/").unwrap_or(entry.git_ref())
}

static COLUMNS: [Column<CacheSummary>; 7] = [
    Column {
        title: "KEY",
        width: 18,
        right: false,
        rank: 0,
        cell: |entry, _| CellText::plain(entry.key()),
        order: Some(|a, b| a.key().cmp(b.key())),
    },
    Column {
        title: "REF",
        width: 10,
        right: false,
        rank: 2,
        cell: |entry, _| CellText::plain(short_ref(entry)),
        order: Some(|a, b| a.git_ref().cmp(b.git_ref())),
    },
    Column {
        title: "REPOSITORY",
        width: 16,
        right: false,
        rank: 1,
        cell: |entry, _| CellText::plain(entry.repository()),
        order: Some(|a, b| a.repository().cmp(b.repository())),
    },
    Column {
        title: "SIZE",
        width: 9,
        right: true,
        rank: 0,
        cell: |entry, _| CellText::plain(human_bytes(entry.size)),
        order: Some(|a, b| b.size.cmp(&a.size)),
    },
    Column {
        title: "HITS",
        width: 5,
        right: true,
        rank: 2,
        cell: |entry, _| CellText::of(hits_role(entry), words::count(entry.hits)),
        order: Some(|a, b| b.hits.cmp(&a.hits)),
    },
    Column {
        title: "USED",
        width: 5,
        right: true,
        rank: 1,
        cell: |entry, clock| CellText::plain(clock.age_from(entry.used())),
        order: Some(|a, b| b.used().cmp(&a.used())),
    },
    Column {
        title: "AGE",
        width: 5,
        right: true,
        rank: 3,
        cell: |entry, clock| CellText::plain(clock.age_from(entry.created())),
        order: Some(|a, b| b.created().cmp(&a.created())),
    },
];

/// Entries that no job found are muted.
fn hits_role(entry: &CacheSummary) -> Role {
    if entry.hits == 0 { Role::Muted } else { Role::Text }
}

impl Haystack for CacheSummary {
    fn text(&self) -> Cow<'_, str> {
        format!("{} {} {}", self.key(), self.git_ref(), self.repository()).into()
    }

    fn column(&self, name: &str) -> Option<String> {
        match name {
            "key" => Some(self.key().to_owned()),
            "ref" => Some(self.git_ref().to_owned()),
            "repo" => Some(self.repository().to_owned()),
            "version" => Some(self.version().to_owned()),
            _ => None,
        }
    }

    fn number(&self, name: &str) -> Option<i64> {
        match name {
            "id" => Some(self.id),
            "size" => Some(self.size),
            "hits" => Some(self.hits),
            "used" => words::seconds_from(self.used(), crate::clock::now()),
            "age" => words::seconds_from(self.created(), crate::clock::now()),
            _ => None,
        }
    }
}

impl Row for CacheSummary {
    type Id = i64;

    const LIST: &'static str = "caches";
    const COLUMNS: &'static [Column<Self>] = &COLUMNS;
    const FILTERS: &'static [FilterColumn] = &[
        FilterColumn::text("key"),
        FilterColumn::text("ref"),
        FilterColumn::text("repo"),
        FilterColumn::text("version"),
        FilterColumn::size("size"),
        FilterColumn::count("hits"),
        FilterColumn::count("id"),
        FilterColumn::age("used"),
        FilterColumn::age("age"),
    ];

    fn id(&self) -> i64 {
        self.id
    }

    fn is_problem(&self) -> bool {
        false
    }

    fn weight(&self) -> i64 {
        self.size
    }

    fn ages() -> &'static [&'static str] {
        &["USED", "AGE"]
    }
}
