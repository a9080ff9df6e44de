//! Deliveries as rows.

use std::borrow::Cow;

use crate::ui::{
    delivery::{DeliveryId, DeliverySummary},
    list::{CellText, Column, FilterColumn, Haystack, Row},
    times::Clock,
    view::Role,
    words,
};

/// Returns the event and its action.
pub(crate) fn event(delivery: &DeliverySummary) -> String {
    match delivery.action() {
        Some(action) => format!("{} {action}", delivery.event()),
        None => delivery.event().to_owned(),
    }
}

/// Returns the status of the response, or a mark for no response. Only the result beside it has a color.
pub(crate) fn code(delivery: &DeliverySummary) -> CellText {
    match delivery.status_code {
        0 if delivery.delivered().is_none() => CellText::of(Role::Muted, "-"),
        0 => CellText::plain("FAIL"),
        code => CellText::plain(code.to_string()),
    }
}

/// Returns the color of a state: red for a delivery that failed for good, yellow for a delivery that waits for a retry.
pub(super) fn state_role(state: &str) -> Role {
    match state {
        "success" => Role::Text,
        "pending" => Role::Warn,
        "failed" => Role::Error,
        _ => Role::Muted,
    }
}

/// Returns the state in one word.
fn word(delivery: &DeliverySummary) -> &str {
    match delivery.state() {
        "success" => "ok",
        "pending" if delivery.attempts > 0 => "retry",
        "pending" => "waits",
        other => other,
    }
}

/// Returns the state in one or two words.
pub(crate) fn result(delivery: &DeliverySummary, clock: &Clock) -> CellText {
    let reason = Some(delivery.status()).filter(|status| !matches!(*status, "" | "OK"));
    let text = match (delivery.state(), delivery.next_attempt(), reason) {
        ("success", ..) => "ok".to_owned(),
        ("pending", Some(next), _) if delivery.attempts > 0 => format!("retry {}", clock.time_of(next)),
        // Its hook fails and is only probed.
        ("pending", Some(next), _) => format!("waits {}", clock.time_of(next)),
        ("pending", ..) => "waits".to_owned(),
        ("failed", _, Some(reason)) => format!("FAILED {reason}"),
        ("failed", ..) => "FAILED".to_owned(),
        ("cancelled", _, Some(reason)) => format!("cancelled: {reason}"),
        (other, ..) => other.to_owned(),
    };
    CellText::of(state_role(delivery.state()), text)
}

/// Returns `2/9`, and the total number of attempts if a user requested additional ones.
pub(super) fn tries(delivery: &DeliverySummary) -> String {
    if delivery.attempts > delivery.max_attempts() {
        return delivery.attempts.to_string();
    }
    format!("{}/{}", delivery.attempts, delivery.max_attempts())
}

static COLUMNS: [Column<DeliverySummary>; 9] = [
    Column {
        title: "TIME",
        width: 8,
        right: false,
        rank: 0,
        // The list is in the order of creation; the last attempt is one of the details.
        cell: |d, clock| CellText::plain(clock.moment(d.created())),
        order: None,
    },
    Column {
        title: "HOOK",
        width: 4,
        right: true,
        rank: 3,
        cell: |d, _| CellText::plain(d.hook.to_string()),
        order: None,
    },
    Column { title: "EVENT", width: 11, right: false, rank: 0, cell: |d, _| CellText::plain(event(d)), order: None },
    Column {
        title: "REPO",
        width: 14,
        right: false,
        rank: 4,
        cell: |d, _| CellText::plain(d.repository().unwrap_or("-")),
        order: None,
    },
    Column { title: "CODE", width: 4, right: true, rank: 2, cell: |d, _| code(d), order: None },
    Column {
        title: "MS",
        width: 5,
        right: true,
        rank: 6,
        cell: |d, _| match d.delivered() {
            None => CellText::of(Role::Muted, "-"),
            Some(_) => CellText::plain(d.millis().to_string()),
        },
        order: None,
    },
    Column { title: "TRY", width: 3, right: true, rank: 5, cell: |d, _| CellText::plain(tries(d)), order: None },
    Column { title: "RESULT", width: 14, right: false, rank: 1, cell: |d, clock| result(d, clock), order: None },
    Column {
        title: "ID",
        width: 36,
        right: false,
        rank: 10,
        cell: |d, _| CellText::of(Role::Muted, d.guid()),
        order: None,
    },
];

impl Haystack for DeliverySummary {
    fn text(&self) -> Cow<'_, str> {
        let repository = self.repository().unwrap_or_default();
        format!("{} {} {repository} {}", self.id, event(self), word(self)).into()
    }

    fn column(&self, name: &str) -> Option<String> {
        match name {
            "event" => Some(event(self)),
            "repo" => self.repository().map(str::to_owned),
            "state" => Some(self.state().to_owned()),
            _ => None,
        }
    }

    fn number(&self, name: &str) -> Option<i64> {
        match name {
            "hook" => Some(self.hook),
            "code" => Some(self.status_code.into()),
            "age" => words::seconds_from(self.created(), crate::clock::now()),
            _ => None,
        }
    }
}

impl Row for DeliverySummary {
    type Id = DeliveryId;

    const LIST: &'static str = "deliveries";
    const COLUMNS: &'static [Column<Self>] = &COLUMNS;
    const FILTERS: &'static [FilterColumn] = &[
        FilterColumn::text("event"),
        FilterColumn::text("repo"),
        FilterColumn::text("state"),
        FilterColumn::count("hook"),
        FilterColumn::count("code"),
        FilterColumn::age("age"),
    ];

    fn id(&self) -> DeliveryId {
        self.id.clone()
    }

    fn is_problem(&self) -> bool {
        self.state() == "failed" || (self.state() == "pending" && self.attempts > 0)
    }

    fn flexible() -> usize {
        2
    }

    fn ages() -> &'static [&'static str] {
        &["TIME"]
    }
}
