//! Audit entries as rows.

use std::borrow::Cow;

use farrier_common::api::AuditEntry;

use crate::{
    audit_text,
    ui::{
        list::{CellText, Column, FilterColumn, Haystack, Row},
        view::Role,
        words,
    },
};

/// Returns the result, with a color unless the action was done.
fn result(entry: &AuditEntry) -> CellText {
    let role = match entry.result.as_str() {
        "done" => Role::Muted,
        "refused" => Role::Warn,
        _ => Role::Error,
    };
    CellText::of(role, audit_text::result(entry))
}

/// Returns the object. Its kind is left out if the action begins with it.
fn object(entry: &AuditEntry) -> String {
    let path = entry.object.path();
    let names_kind = entry.action.split('.').next() == Some(&entry.object.kind);
    if names_kind && !path.is_empty() { path } else { audit_text::object(entry) }
}

static COLUMNS: [Column<AuditEntry>; 7] = [
    Column {
        title: "AGE",
        width: 4,
        right: true,
        rank: 0,
        cell: |entry, clock| CellText::plain(clock.age(&entry.at)),
        order: None,
    },
    Column {
        title: "ACTION",
        width: 21,
        right: false,
        rank: 0,
        cell: |entry, _| CellText::plain(&*entry.action),
        order: None,
    },
    Column {
        title: "OBJECT",
        width: 16,
        right: false,
        rank: 1,
        cell: |entry, _| CellText::plain(object(entry)),
        order: None,
    },
    Column {
        title: "ACTOR",
        width: 12,
        right: false,
        rank: 0,
        cell: |entry, _| CellText::plain(audit_text::actor(&entry.actor)),
        order: None,
    },
    Column { title: "RESULT", width: 12, right: false, rank: 2, cell: |entry, _| result(entry), order: None },
    Column {
        title: "FROM",
        width: 15,
        right: false,
        rank: 3,
        cell: |entry, _| CellText::plain(audit_text::origin(&entry.actor)),
        order: None,
    },
    Column {
        title: "ID",
        width: 6,
        right: true,
        rank: 4,
        cell: |entry, _| CellText::of(Role::Muted, entry.id.to_string()),
        order: None,
    },
];

impl Haystack for AuditEntry {
    fn text(&self) -> Cow<'_, str> {
        let (actor, object) = (audit_text::actor(&self.actor), audit_text::object(self));
        format!("{} {object} {actor} {} {}", self.action, self.result, audit_text::origin(&self.actor)).into()
    }

    fn column(&self, name: &str) -> Option<String> {
        match name {
            "action" => Some(self.action.clone()),
            "actor" => Some(audit_text::actor(&self.actor)),
            "object" => Some(audit_text::object(self)),
            "result" => Some(self.result.clone()),
            "from" => Some(audit_text::origin(&self.actor)),
            "request" => Some(self.request_id.clone()),
            _ => None,
        }
    }

    fn number(&self, name: &str) -> Option<i64> {
        match name {
            "id" => Some(self.id),
            "age" => words::seconds_since(&self.at, crate::clock::now()),
            _ => None,
        }
    }
}

impl Row for AuditEntry {
    type Id = i64;

    fn id(&self) -> i64 {
        self.id
    }

    fn columns() -> &'static [Column<Self>] {
        &COLUMNS
    }

    fn filters() -> &'static [FilterColumn] {
        const {
            &[
                FilterColumn::text("action"),
                FilterColumn::text("actor"),
                FilterColumn::text("object"),
                FilterColumn::text("result"),
                FilterColumn::text("from"),
                FilterColumn::text("request"),
                FilterColumn::count("id"),
                FilterColumn::age("age"),
            ]
        }
    }

    fn is_problem(&self) -> bool {
        self.result != "done"
    }

    fn flexible() -> usize {
        2
    }

    fn ages() -> &'static [&'static str] {
        &["AGE"]
    }
}
