//! Users as rows.

use std::borrow::Cow;

use crate::ui::{
    list::{CellText, Column, FilterColumn, Haystack, Row},
    user::UserSummary,
    view::Role,
    words,
};

/// Returns the state of a user, without color while it is usual.
fn state(user: &UserSummary) -> CellText {
    if !user.is_active() {
        return CellText::of(Role::Warn, "off");
    }
    if user.cannot_sign_in() {
        return CellText::of(Role::Warn, "no sign-in");
    }
    match (user.is_admin(), user.is_restricted()) {
        (true, _) => CellText::of(Role::Accent, "admin"),
        (_, true) => CellText::plain("restricted"),
        _ => CellText::plain("on"),
    }
}

static COLUMNS: [Column<UserSummary>; 7] = [
    Column {
        title: "NAME",
        width: 12,
        right: false,
        rank: 0,
        cell: |user, _| CellText::plain(user.login()),
        order: Some(|a, b| a.login().cmp(b.login())),
    },
    Column { title: "STATE", width: 10, right: false, rank: 0, cell: |user, _| state(user), order: None },
    Column {
        title: "SIGNED IN",
        width: 9,
        right: true,
        rank: 1,
        cell: |user, clock| CellText::plain(clock.age_from(user.last_login())),
        order: Some(|a, b| b.last_login().cmp(&a.last_login())),
    },
    Column {
        title: "CREATED",
        width: 7,
        right: true,
        rank: 3,
        cell: |user, clock| CellText::plain(clock.age_from(user.created())),
        order: Some(|a, b| b.created().cmp(&a.created())),
    },
    Column {
        title: "FULL NAME",
        width: 14,
        right: false,
        rank: 4,
        cell: |user, _| CellText::plain(user.full_name()),
        order: Some(|a, b| a.full_name().cmp(b.full_name())),
    },
    Column {
        title: "EMAIL",
        width: 16,
        right: false,
        rank: 2,
        cell: |user, _| CellText::plain(user.email()),
        order: Some(|a, b| a.email().cmp(b.email())),
    },
    Column {
        title: "ID",
        width: 5,
        right: true,
        rank: 5,
        cell: |user, _| CellText::of(Role::Muted, user.id.to_string()),
        order: Some(|a, b| a.id.cmp(&b.id)),
    },
];

impl Haystack for UserSummary {
    fn text(&self) -> Cow<'_, str> {
        format!("{} {} {} {}", self.login(), self.full_name(), self.email(), state(self).text).into()
    }

    fn column(&self, name: &str) -> Option<String> {
        match name {
            "name" => Some(self.login().to_owned()),
            "state" => Some(state(self).text),
            "email" => Some(self.email().to_owned()),
            _ => None,
        }
    }

    fn number(&self, name: &str) -> Option<i64> {
        match name {
            "id" => Some(self.id),
            "age" => words::seconds_from(self.created(), crate::clock::now()),
            "signed" => words::seconds_from(self.last_login(), crate::clock::now()),
            _ => None,
        }
    }
}

impl Row for UserSummary {
    type Id = String;

    const LIST: &'static str = "users";
    const COLUMNS: &'static [Column<Self>] = &COLUMNS;
    const FILTERS: &'static [FilterColumn] = &[
        FilterColumn::text("name"),
        FilterColumn::text("state"),
        FilterColumn::text("email"),
        FilterColumn::count("id"),
        FilterColumn::age("age"),
        FilterColumn::age("signed"),
    ];

    fn id(&self) -> String {
        self.login().to_owned()
    }

    fn is_problem(&self) -> bool {
        !self.is_active() || self.cannot_sign_in()
    }

    fn flexible() -> usize {
        5
    }

    fn ages() -> &'static [&'static str] {
        &["SIGNED IN", "CREATED"]
    }
}
