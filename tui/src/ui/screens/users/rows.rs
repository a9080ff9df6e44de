//! Users as rows.

use std::borrow::Cow;

use farrier_common::api::User;

use crate::ui::{
    list::{CellText, Column, FilterColumn, Haystack, Row},
    view::Role,
    words,
};

/// Returns the state of a user, without color while it is usual.
fn state(user: &User) -> CellText {
    if !user.active {
        return CellText::of(Role::Warn, "off");
    }
    if user.prohibit_login {
        return CellText::of(Role::Warn, "no sign-in");
    }
    match (user.is_admin, user.restricted) {
        (true, _) => CellText::of(Role::Accent, "admin"),
        (_, true) => CellText::plain("restricted"),
        _ => CellText::plain("on"),
    }
}

static COLUMNS: [Column<User>; 7] = [
    Column {
        title: "NAME",
        width: 12,
        right: false,
        rank: 0,
        cell: |user, _| CellText::plain(&*user.login),
        order: Some(|a, b| a.login.cmp(&b.login)),
    },
    Column { title: "STATE", width: 10, right: false, rank: 0, cell: |user, _| state(user), order: None },
    Column {
        title: "SIGNED IN",
        width: 9,
        right: true,
        rank: 1,
        cell: |user, clock| CellText::plain(clock.age(&user.last_login)),
        order: Some(|a, b| words::seconds(&b.last_login).cmp(&words::seconds(&a.last_login))),
    },
    Column {
        title: "CREATED",
        width: 7,
        right: true,
        rank: 3,
        cell: |user, clock| CellText::plain(clock.age(&user.created)),
        order: Some(|a, b| words::seconds(&b.created).cmp(&words::seconds(&a.created))),
    },
    Column {
        title: "FULL NAME",
        width: 14,
        right: false,
        rank: 4,
        cell: |user, _| CellText::plain(&*user.full_name),
        order: Some(|a, b| a.full_name.cmp(&b.full_name)),
    },
    Column {
        title: "EMAIL",
        width: 16,
        right: false,
        rank: 2,
        cell: |user, _| CellText::plain(&*user.email),
        order: Some(|a, b| a.email.cmp(&b.email)),
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

impl Haystack for User {
    fn text(&self) -> Cow<'_, str> {
        format!("{} {} {} {}", self.login, self.full_name, self.email, state(self).text).into()
    }

    fn column(&self, name: &str) -> Option<String> {
        match name {
            "name" => Some(self.login.clone()),
            "state" => Some(state(self).text),
            "email" => Some(self.email.clone()),
            _ => None,
        }
    }

    fn number(&self, name: &str) -> Option<i64> {
        match name {
            "id" => Some(self.id),
            "age" => words::seconds_since(&self.created, crate::clock::now()),
            "signed" => words::seconds_since(&self.last_login, crate::clock::now()),
            _ => None,
        }
    }
}

impl Row for User {
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
        self.login.clone()
    }

    fn is_problem(&self) -> bool {
        !self.active || self.prohibit_login
    }

    fn flexible() -> usize {
        5
    }

    fn ages() -> &'static [&'static str] {
        &["SIGNED IN", "CREATED"]
    }
}
