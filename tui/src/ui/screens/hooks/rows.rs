//! Hooks as rows.

use std::borrow::Cow;

use crate::ui::{
    hook::HookSummary,
    list::{CellText, Column, FilterColumn, Haystack, Row},
    view::Role,
    words,
};

/// Returns the word for the kind of owner of a hook.
pub(super) fn kind(hook: &HookSummary) -> &str {
    match hook.scope() {
        "repository" => "repo",
        "organization" => "org",
        other => other,
    }
}

/// Returns whether deliveries of the hook fail, or the daemon turned it off for that reason.
pub(crate) fn is_failing(hook: &HookSummary) -> bool {
    match hook.state() {
        // An older daemon sends no state, but sends the reasons.
        "" => hook.failures() > 0 || !hook.disabled_reason().is_empty(),
        state => matches!(state, "failing" | "disabled"),
    }
}

/// Returns whether a tab shows the hook.
pub(super) fn is_of(hook: &HookSummary, tab: &str) -> bool {
    match tab {
        "owner" => matches!(hook.scope(), "organization" | "user"),
        "repo" => hook.scope() == "repository",
        "failing" => is_failing(hook),
        "off" => !hook.is_active(),
        scope => scope == "all" || hook.scope() == scope,
    }
}

/// Returns the result of the last attempt.
fn last(hook: &HookSummary) -> CellText {
    match (hook.last_attempt(), hook.last_status()) {
        _ if hook.is_default() => CellText::of(Role::Muted, "n/a"),
        (None, _) => CellText::of(Role::Muted, "-"),
        (Some(_), 0) => CellText::of(Role::Error, "FAIL"),
        (Some(_), status @ 200..300) => CellText::plain(status.to_string()),
        (Some(_), status) => CellText::of(Role::Error, status.to_string()),
    }
}

/// Returns the subscribed events in short form.
pub(super) fn events(hook: &HookSummary) -> String {
    let names = hook.events();
    if names.len() > 12 { format!("{} events", names.len()) } else { names.join(", ") }
}

static COLUMNS: [Column<HookSummary>; 10] = [
    Column {
        title: "ID",
        width: 5,
        right: true,
        rank: 0,
        cell: |h, _| CellText::plain(h.id.to_string()),
        order: Some(|a, b| a.id.cmp(&b.id)),
    },
    Column {
        title: "KIND",
        width: 7,
        right: false,
        rank: 4,
        cell: |h, _| CellText::plain(kind(h)),
        order: Some(|a, b| a.scope().cmp(b.scope())),
    },
    Column {
        title: "OWNER",
        width: 14,
        right: false,
        rank: 3,
        cell: |h, _| CellText::plain(h.owner()),
        order: Some(|a, b| a.owner().cmp(b.owner())),
    },
    Column {
        title: "ON",
        width: 3,
        right: false,
        rank: 1,
        cell: |h, _| if h.is_active() { CellText::plain("on") } else { CellText::of(Role::Muted, "off") },
        order: Some(|a, b| b.is_active().cmp(&a.is_active())),
    },
    Column {
        title: "URL",
        width: 20,
        right: false,
        rank: 0,
        cell: |h, _| CellText::plain(h.url()),
        order: Some(|a, b| a.url().cmp(b.url())),
    },
    Column {
        title: "EVENTS",
        width: 16,
        right: false,
        rank: 5,
        cell: |h, _| CellText::of(Role::Muted, events(h)),
        order: None,
    },
    Column { title: "LAST", width: 4, right: true, rank: 2, cell: |h, _| last(h), order: None },
    Column {
        title: "FAILS",
        width: 5,
        right: true,
        rank: 3,
        cell: |h, _| match h.failures() {
            0 => CellText::of(Role::Muted, "-"),
            // The last result beside it is red.
            n => CellText::plain(words::count(n)),
        },
        order: Some(|a, b| b.failures().cmp(&a.failures())),
    },
    Column {
        title: "TYPE",
        width: 8,
        right: false,
        rank: 10,
        cell: |h, _| CellText::of(Role::Muted, h.hook_type()),
        order: Some(|a, b| a.hook_type().cmp(b.hook_type())),
    },
    Column {
        title: "CONTENT",
        width: 7,
        right: false,
        rank: 11,
        cell: |h, _| CellText::of(Role::Muted, h.content_type()),
        order: None,
    },
];

impl Haystack for HookSummary {
    fn text(&self) -> Cow<'_, str> {
        format!("{} {} {} {}", self.url(), self.name(), self.owner(), self.id).into()
    }

    fn column(&self, name: &str) -> Option<String> {
        match name {
            "url" => Some(self.url().to_owned()),
            "kind" => Some(kind(self).to_owned()),
            "event" => Some(events(self)),
            "type" => Some(self.hook_type().to_owned()),
            "owner" => Some(self.owner().to_owned()),
            "state" => Some(format!("{} {}", if self.is_active() { "on" } else { "off" }, self.state())),
            _ => None,
        }
    }

    fn number(&self, name: &str) -> Option<i64> {
        match name {
            "id" => Some(self.id),
            "fails" => Some(self.failures()),
            _ => None,
        }
    }
}

impl Row for HookSummary {
    type Id = i64;

    const LIST: &'static str = "hooks";
    const COLUMNS: &'static [Column<Self>] = &COLUMNS;
    const FILTERS: &'static [FilterColumn] = &[
        FilterColumn::text("url"),
        FilterColumn::text("kind"),
        FilterColumn::text("owner"),
        FilterColumn::text("event"),
        FilterColumn::text("type"),
        FilterColumn::text("state"),
        FilterColumn::count("id"),
        FilterColumn::count("fails"),
    ];

    fn id(&self) -> i64 {
        self.id
    }

    fn is_problem(&self) -> bool {
        is_failing(self)
    }

    fn flexible() -> usize {
        4
    }
}
