//! Audit entries as rows.

use std::borrow::Cow;

use farrier_common::api::AuditActor;

use crate::{
    audit_text,
    ui::{
        audit::AuditSummary,
        list::{CellText, Column, FilterColumn, Haystack, Row},
        view::Role,
        words,
    },
};

/// Returns the result, with a color unless the action was done.
fn result(entry: &AuditSummary) -> CellText {
    let role = match entry.result() {
        "done" => Role::Muted,
        "refused" => Role::Warn,
        _ => Role::Error,
    };
    CellText::of(role, entry.counted_result())
}

/// Returns the object. Its kind is left out if the action begins with it.
fn object(entry: &AuditSummary) -> String {
    let path = entry.object_path();
    let names_kind = entry.action().split('.').next() == Some(entry.object_kind());
    if names_kind && !path.is_empty() { path } else { entry.object() }
}

/// Returns the names of the accounts that an entry is about: those that did it, the object, and its owner.
fn accounts(entry: &AuditSummary) -> Vec<&str> {
    let actor = entry.actor();
    let owner = entry.object_owner().split('/').next().unwrap_or_default();
    let is_account = ["user", "organization", "member", "collaborator"].contains(&entry.object_kind());
    let object = if is_account { entry.object_name() } else { "" };
    [&*actor.name, &*actor.acts_as, owner, object].into_iter().filter(|name| !name.is_empty()).collect()
}

static COLUMNS: [Column<AuditSummary>; 7] = [
    Column {
        title: "AGE",
        width: 4,
        right: true,
        rank: 0,
        cell: |entry, clock| CellText::plain(clock.age_from(entry.at())),
        order: None,
    },
    Column {
        title: "ACTION",
        width: 21,
        right: false,
        rank: 0,
        cell: |entry, _| CellText::plain(entry.action()),
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
        cell: |entry, _| CellText::plain(audit_text::actor(entry.actor())),
        order: None,
    },
    Column { title: "RESULT", width: 12, right: false, rank: 2, cell: |entry, _| result(entry), order: None },
    Column {
        title: "FROM",
        width: 15,
        right: false,
        rank: 3,
        cell: |entry, _| CellText::plain(entry.origin()),
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

impl Haystack for AuditSummary {
    fn text(&self) -> Cow<'_, str> {
        let (actor, object) = (audit_text::actor(self.actor()), self.object());
        // The daemon looks for words in the same texts (`store/audit/filter`).
        format!("{} {object} {actor} {} {} {}", self.action(), self.result(), self.origin(), self.reason()).into()
    }

    fn column(&self, name: &str) -> Option<String> {
        match name {
            "action" => Some(self.action().to_owned()),
            "actor" => Some(audit_text::actor(self.actor())),
            "object" => Some(self.object()),
            "result" => Some(self.result().to_owned()),
            "from" => Some(self.origin()),
            "request" => Some(self.request().to_owned()),
            "repo" => self.repository_path(),
            "user" => Some(accounts(self).join(" ")),
            _ => None,
        }
    }

    /// Several forms of a value are exact, as in `farrier audit list`: the first word of an action, the actor or the
    /// account that it acted as, and the object by its kind, with or without its ID or name.
    fn is_exactly(&self, name: &str, value: &str) -> bool {
        let is_value = |text: &str| text.eq_ignore_ascii_case(value);
        match name {
            "action" => is_value(self.action()) || self.action().split('.').next().is_some_and(is_value),
            "actor" => {
                let AuditActor { name, acts_as, .. } = self.actor();
                is_value(name) || is_value(acts_as) || is_value(&audit_text::actor(self.actor()))
            }
            "object" => {
                let (kind, id, name) = (self.object_kind(), self.object_id(), self.object_name());
                let by_id = id != 0 && is_value(&format!("{kind} {id}"));
                by_id || is_value(kind) || is_value(&format!("{kind} {name}")) || is_value(&self.object())
            }
            "repo" => {
                let id = || self.entry().object.repository_id.map(|id| id.to_string());
                let is_id = !value.is_empty() && value.bytes().all(|byte| byte.is_ascii_digit());
                if is_id {
                    id().as_deref() == Some(value)
                } else {
                    self.repository_path().is_some_and(|path| is_value(&path))
                }
            }
            "user" => accounts(self).into_iter().any(is_value),
            _ => self.column(name).is_some_and(|text| is_value(&text)),
        }
    }

    fn number(&self, name: &str) -> Option<i64> {
        match name {
            "id" => Some(self.id),
            "age" => words::seconds_from(self.at(), crate::clock::now()),
            _ => None,
        }
    }
}

impl Row for AuditSummary {
    type Id = i64;

    const LIST: &'static str = "audit";
    const COLUMNS: &'static [Column<Self>] = &COLUMNS;
    const FILTERS: &'static [FilterColumn] = &[
        FilterColumn::text("action"),
        FilterColumn::text("actor"),
        FilterColumn::text("object"),
        FilterColumn::text("result"),
        FilterColumn::text("from"),
        FilterColumn::text("request"),
        FilterColumn::text("repo"),
        FilterColumn::text("user"),
        FilterColumn::count("id"),
        FilterColumn::age("age"),
    ];

    fn id(&self) -> i64 {
        self.id
    }

    fn is_problem(&self) -> bool {
        self.result() != "done"
    }

    fn flexible() -> usize {
        2
    }

    fn ages() -> &'static [&'static str] {
        &["AGE"]
    }
}
