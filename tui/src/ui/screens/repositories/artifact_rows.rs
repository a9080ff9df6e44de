//! Artifacts of one repository as rows of one list, not grouped by run.

use std::borrow::Cow;

use farrier_common::api::Artifact;

use crate::{
    output::human_bytes,
    ui::{
        list::{CellText, Column, FilterColumn, Haystack, Row},
        view::Role,
        words,
    },
};

/// The data of an artifact that a list shows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ArtifactRow {
    pub(super) id: i64,
    pub(super) name: String,
    pub(super) bytes: i64,
    pub(super) run: i64,
    created_at: String,
    expires_at: String,
    pub(super) expired: bool,
}

impl From<&Artifact> for ArtifactRow {
    fn from(artifact: &Artifact) -> Self {
        Self {
            id: artifact.id,
            name: artifact.name.clone(),
            bytes: artifact.size_in_bytes,
            run: artifact.workflow_run.id,
            created_at: artifact.created_at.clone(),
            expires_at: artifact.expires_at.clone(),
            expired: artifact.expired,
        }
    }
}

static COLUMNS: [Column<ArtifactRow>; 5] = [
    Column {
        title: "ARTIFACT",
        width: 14,
        right: false,
        rank: 0,
        cell: |a, _| CellText::of(if a.expired { Role::Muted } else { Role::Text }, &*a.name),
        order: Some(|a, b| a.name.cmp(&b.name)),
    },
    Column {
        title: "SIZE",
        width: 10,
        right: true,
        rank: 1,
        cell: |a, _| CellText::plain(human_bytes(a.bytes)),
        order: Some(|a, b| b.bytes.cmp(&a.bytes)),
    },
    Column {
        title: "RUN",
        width: 5,
        right: true,
        rank: 3,
        cell: |a, _| CellText::plain(a.run.to_string()),
        order: Some(|a, b| b.run.cmp(&a.run)),
    },
    Column {
        title: "AGE",
        width: 4,
        right: true,
        rank: 2,
        cell: |a, clock| CellText::plain(clock.age(&a.created_at)),
        order: Some(|a, b| b.created_at.cmp(&a.created_at)),
    },
    Column {
        title: "EXPIRES",
        width: 7,
        right: true,
        rank: 4,
        cell: |a, clock| {
            if a.expired {
                CellText::of(Role::Muted, "expired")
            } else {
                CellText::plain(clock.until(words::seconds(&a.expires_at)))
            }
        },
        order: Some(|a, b| a.expires_at.cmp(&b.expires_at)),
    },
];

impl Haystack for ArtifactRow {
    fn text(&self) -> Cow<'_, str> {
        (&self.name).into()
    }

    fn column(&self, name: &str) -> Option<String> {
        (name == "run").then(|| self.run.to_string())
    }

    fn number(&self, name: &str) -> Option<i64> {
        match name {
            "size" => Some(self.bytes),
            "age" => words::seconds_since(&self.created_at, crate::clock::now()),
            "id" => Some(self.id),
            _ => None,
        }
    }
}

impl Row for ArtifactRow {
    type Id = i64;

    const COLUMNS: &'static [Column<Self>] = &COLUMNS;
    const FILTERS: &'static [FilterColumn] =
        &[FilterColumn::text("run"), FilterColumn::size("size"), FilterColumn::age("age"), FilterColumn::count("id")];

    fn id(&self) -> i64 {
        self.id
    }

    fn ages() -> &'static [&'static str] {
        &["AGE", "EXPIRES"]
    }

    fn is_problem(&self) -> bool {
        false
    }

    fn weight(&self) -> i64 {
        self.bytes
    }
}
