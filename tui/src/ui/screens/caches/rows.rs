//! Cache entries as rows.

use std::{borrow::Cow, cmp::Ordering};

use farrier_common::api::FoundCacheEntry;

use crate::{
    output::human_bytes,
    ui::{
        list::{CellText, Column, FilterColumn, Haystack, Row},
        view::Role,
        words,
    },
};

/// Compares times; the latest comes first.
fn latest_first(a: &str, b: &str) -> Ordering {
    words::seconds(b).cmp(&words::seconds(a))
}

/// Returns the ref without `refs/heads/`.
pub(super) fn short_ref(entry: &FoundCacheEntry) -> &str {
    entry.git_ref.strip_prefix("refs/heads/").unwrap_or(&entry.git_ref)
}

static COLUMNS: [Column<FoundCacheEntry>; 7] = [
    Column {
        title: "KEY",
        width: 18,
        right: false,
        rank: 0,
        cell: |entry, _| CellText::plain(&*entry.key),
        order: Some(|a, b| a.key.cmp(&b.key)),
    },
    Column {
        title: "REF",
        width: 10,
        right: false,
        rank: 2,
        cell: |entry, _| CellText::plain(short_ref(entry)),
        order: Some(|a, b| a.git_ref.cmp(&b.git_ref)),
    },
    Column {
        title: "REPOSITORY",
        width: 16,
        right: false,
        rank: 1,
        cell: |entry, _| CellText::plain(&*entry.repository),
        order: Some(|a, b| a.repository.cmp(&b.repository)),
    },
    Column {
        title: "SIZE",
        width: 9,
        right: true,
        rank: 0,
        cell: |entry, _| CellText::plain(human_bytes(entry.size_in_bytes)),
        order: Some(|a, b| b.size_in_bytes.cmp(&a.size_in_bytes)),
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
        cell: |entry, clock| CellText::plain(clock.age(&entry.last_accessed_at)),
        order: Some(|a, b| latest_first(&a.last_accessed_at, &b.last_accessed_at)),
    },
    Column {
        title: "AGE",
        width: 5,
        right: true,
        rank: 3,
        cell: |entry, clock| CellText::plain(clock.age(&entry.created_at)),
        order: Some(|a, b| latest_first(&a.created_at, &b.created_at)),
    },
];

/// Entries that no job found are muted.
fn hits_role(entry: &FoundCacheEntry) -> Role {
    if entry.hits == 0 { Role::Muted } else { Role::Text }
}

impl Haystack for FoundCacheEntry {
    fn text(&self) -> Cow<'_, str> {
        format!("{} {} {}", self.key, self.git_ref, self.repository).into()
    }

    fn column(&self, name: &str) -> Option<String> {
        match name {
            "key" => Some(self.key.clone()),
            "ref" => Some(self.git_ref.clone()),
            "repo" => Some(self.repository.clone()),
            "version" => Some(self.version.clone()),
            _ => None,
        }
    }

    fn number(&self, name: &str) -> Option<i64> {
        match name {
            "id" => Some(self.id),
            "size" => Some(self.size_in_bytes),
            "hits" => Some(self.hits),
            "used" => words::seconds_since(&self.last_accessed_at, crate::clock::now()),
            "age" => words::seconds_since(&self.created_at, crate::clock::now()),
            _ => None,
        }
    }
}

impl Row for FoundCacheEntry {
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
        self.size_in_bytes
    }

    fn ages() -> &'static [&'static str] {
        &["USED", "AGE"]
    }
}
