//! Log records as rows.

use std::borrow::Cow;

use farrier_common::api::LogRecord;

use crate::{
    log_text,
    ui::{
        list::{CellText, Column, FilterColumn, Haystack, Row},
        times::Clock,
        view::Role,
        words,
    },
};

/// The crate of the daemon, which most targets begin with.
const DAEMON: &str = "farrierd::";

/// Formats `14:02:07.123`.
fn time(record: &LogRecord, clock: &Clock) -> String {
    let millis = record.at.rsplit_once('.').map_or("", |(_, rest)| rest.trim_end_matches('Z'));
    let millis: String = millis.chars().take(3).collect();
    format!("{}.{millis:0>3}", clock.time(&record.at))
}

fn role(record: &LogRecord) -> Role {
    match record.level.as_str() {
        "error" => Role::Error,
        "warn" => Role::Warn,
        "info" => Role::Text,
        _ => Role::Muted,
    }
}

/// Returns all parts of a record, one per line.
pub(super) fn lines(record: &LogRecord, clock: &Clock) -> Vec<(Role, String)> {
    let mut lines = vec![(Role::Title, record.message.clone())];
    let mut fact = |role, name: &str, value: &str| {
        if !value.is_empty() {
            lines.push((role, format!("{name:<8} {value}")));
        }
    };
    fact(Role::Text, "time", &clock.stamp(&record.at));
    fact(role(record), "level", &record.level);
    fact(Role::Text, "target", &record.target);
    for field in &record.fields {
        fact(Role::Text, &field.name, &field.value);
    }
    fact(Role::Text, "request", &record.request_id);
    for object in &record.objects {
        fact(Role::Muted, "object", &log_text::object(object));
    }
    lines
}

/// Returns a record in two lines: its time, level and target, and its message.
pub(super) fn brief(record: &LogRecord, clock: &Clock) -> [(Role, String); 2] {
    let target = record.target.strip_prefix(DAEMON).unwrap_or(&record.target);
    let head = format!("{}  {:<5}  {target}", time(record, clock), record.level.to_uppercase());
    [(Role::Muted, head), (Role::Text, format!("  {}", record.message))]
}

static COLUMNS: [Column<LogRecord>; 4] = [
    Column {
        title: "TIME",
        width: 12,
        right: false,
        rank: 0,
        cell: |record, clock| CellText::of(Role::Muted, time(record, clock)),
        order: None,
    },
    Column {
        title: "LEVEL",
        width: 5,
        right: false,
        rank: 0,
        cell: |record, _| CellText::of(role(record), record.level.to_uppercase()),
        order: None,
    },
    Column {
        title: "TARGET",
        width: 16,
        right: false,
        rank: 2,
        cell: |record, _| CellText::of(Role::Muted, record.target.strip_prefix(DAEMON).unwrap_or(&record.target)),
        order: None,
    },
    Column {
        title: "MESSAGE",
        width: 16,
        right: false,
        rank: 0,
        cell: |record, _| CellText::plain(log_text::content(record)),
        order: None,
    },
];

impl Haystack for LogRecord {
    fn text(&self) -> Cow<'_, str> {
        format!("{} {} {}", self.level, self.target, log_text::content(self)).into()
    }

    fn column(&self, name: &str) -> Option<String> {
        match name {
            "level" => Some(self.level.clone()),
            "target" => Some(self.target.clone()),
            "message" => Some(self.message.clone()),
            "request" => Some(self.request_id.clone()),
            "object" => Some(self.objects.iter().map(log_text::object).collect::<Vec<_>>().join(" ")),
            _ => None,
        }
    }

    fn number(&self, name: &str) -> Option<i64> {
        match name {
            "age" => words::seconds_since(&self.at, crate::clock::now()),
            _ => None,
        }
    }
}

impl Row for LogRecord {
    type Id = i64;

    const LIST: &'static str = "logs";
    const COLUMNS: &'static [Column<Self>] = &COLUMNS;
    const FILTERS: &'static [FilterColumn] = &[
        FilterColumn::text("level"),
        FilterColumn::text("target"),
        FilterColumn::text("message"),
        FilterColumn::text("request"),
        FilterColumn::text("object"),
        FilterColumn::age("age"),
    ];

    fn id(&self) -> i64 {
        self.sequence
    }

    fn is_problem(&self) -> bool {
        matches!(self.level.as_str(), "error" | "warn")
    }

    fn flexible() -> usize {
        3
    }
}
