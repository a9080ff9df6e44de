//! Deploy keys as rows.

use std::borrow::Cow;

use farrier_common::api::DeployKey;

use crate::ui::{
    list::{CellText, Column, FilterColumn, Haystack, Row},
    times::Clock,
    view::Role,
    words,
};

fn access(key: &DeployKey) -> &'static str {
    if key.read_only { "read" } else { "write" }
}

/// Returns all fields of a deploy key, one per line.
pub(super) fn details(key: &DeployKey, clock: &Clock) -> String {
    let lines = [
        ("title", key.title.clone()),
        ("ID", key.id.to_string()),
        ("access", access(key).to_owned()),
        ("fingerprint", key.fingerprint.clone()),
        ("added", clock.stamp(&key.created_at)),
        ("key", key.key.clone()),
    ];
    words::fields(lines)
}

static COLUMNS: [Column<DeployKey>; 5] = [
    Column {
        title: "TITLE",
        width: 14,
        right: false,
        rank: 0,
        cell: |key, _| CellText::plain(&*key.title),
        order: Some(|a, b| a.title.cmp(&b.title)),
    },
    Column {
        title: "ACCESS",
        width: 6,
        right: false,
        rank: 1,
        cell: |key, _| if key.read_only { CellText::plain("read") } else { CellText::of(Role::Accent, "write") },
        order: Some(|a, b| a.read_only.cmp(&b.read_only)),
    },
    Column {
        title: "ADDED",
        width: 5,
        right: true,
        rank: 2,
        cell: |key, clock| CellText::plain(clock.age(&key.created_at)),
        order: Some(|a, b| b.created_at.cmp(&a.created_at)),
    },
    Column {
        title: "FINGERPRINT",
        width: 20,
        right: false,
        rank: 3,
        cell: |key, _| CellText::of(Role::Muted, &*key.fingerprint),
        order: None,
    },
    Column {
        title: "ID",
        width: 5,
        right: true,
        rank: 4,
        cell: |key, _| CellText::of(Role::Muted, key.id.to_string()),
        order: Some(|a, b| a.id.cmp(&b.id)),
    },
];

impl Haystack for DeployKey {
    fn text(&self) -> Cow<'_, str> {
        format!("{} {} {}", self.title, access(self), self.fingerprint).into()
    }

    fn column(&self, name: &str) -> Option<String> {
        match name {
            "title" => Some(self.title.clone()),
            "access" => Some(access(self).to_owned()),
            "fingerprint" => Some(self.fingerprint.clone()),
            _ => None,
        }
    }

    fn number(&self, name: &str) -> Option<i64> {
        match name {
            "id" => Some(self.id),
            "added" => words::seconds_since(&self.created_at, crate::clock::now()),
            _ => None,
        }
    }
}

impl Row for DeployKey {
    type Id = i64;

    const LIST: &'static str = "deploy_keys";
    const COLUMNS: &'static [Column<Self>] = &COLUMNS;
    const FILTERS: &'static [FilterColumn] = &[
        FilterColumn::text("title"),
        FilterColumn::text("access"),
        FilterColumn::text("fingerprint"),
        FilterColumn::age("added"),
        FilterColumn::count("id"),
    ];

    fn id(&self) -> i64 {
        self.id
    }

    fn flexible() -> usize {
        3
    }

    fn ages() -> &'static [&'static str] {
        &["ADDED"]
    }

    fn is_problem(&self) -> bool {
        false
    }
}
