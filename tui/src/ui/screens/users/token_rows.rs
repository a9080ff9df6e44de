//! Access tokens as rows.

use std::borrow::Cow;

use farrier_common::api::AccessToken;

use crate::ui::{
    list::{CellText, Column, FilterColumn, Haystack, Row},
    times::Clock,
    view::Role,
    words,
};

fn expiry(token: &AccessToken, clock: &Clock) -> CellText {
    match &token.expires_at {
        _ if token.expired => CellText::of(Role::Error, "expired"),
        None => CellText::of(Role::Muted, "never"),
        Some(at) => CellText::plain(clock.until(words::seconds(at))),
    }
}

fn last_used(token: &AccessToken) -> i64 {
    words::seconds(&token.last_used_at)
}

static COLUMNS: [Column<AccessToken>; 6] = [
    Column {
        title: "NAME",
        width: 12,
        right: false,
        rank: 0,
        cell: |token, _| CellText::plain(&*token.name),
        order: Some(|a, b| a.name.cmp(&b.name)),
    },
    Column {
        title: "ENDS IN",
        width: 8,
        right: false,
        rank: 2,
        cell: |token, _| CellText::of(Role::Muted, &*token.token_last_eight),
        order: None,
    },
    Column {
        title: "USED",
        width: 5,
        right: true,
        rank: 1,
        cell: |token, clock| CellText::plain(clock.age_from(last_used(token))),
        order: Some(|a, b| last_used(b).cmp(&last_used(a))),
    },
    Column { title: "EXPIRES", width: 8, right: true, rank: 1, cell: expiry, order: None },
    Column {
        title: "FROM",
        width: 15,
        right: false,
        rank: 4,
        cell: |token, _| CellText::plain(token.last_used_address.clone().unwrap_or_default()),
        order: None,
    },
    Column {
        title: "SCOPES",
        width: 16,
        right: false,
        rank: 3,
        cell: |token, _| CellText::plain(token.scopes.join(" ")),
        order: None,
    },
];

impl Haystack for AccessToken {
    fn text(&self) -> Cow<'_, str> {
        format!("{} {} {}", self.name, self.token_last_eight, self.scopes.join(" ")).into()
    }

    fn column(&self, name: &str) -> Option<String> {
        match name {
            "name" => Some(self.name.clone()),
            "scopes" => Some(self.scopes.join(" ")),
            "from" => self.last_used_address.clone(),
            _ => None,
        }
    }

    fn number(&self, name: &str) -> Option<i64> {
        match name {
            "id" => Some(self.id),
            "used" => words::seconds_from(last_used(self), crate::clock::now()),
            _ => None,
        }
    }
}

impl Row for AccessToken {
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
                FilterColumn::text("name"),
                FilterColumn::text("scopes"),
                FilterColumn::text("from"),
                FilterColumn::count("id"),
                FilterColumn::age("used"),
            ]
        }
    }

    fn is_problem(&self) -> bool {
        self.expired
    }

    fn flexible() -> usize {
        5
    }

    fn ages() -> &'static [&'static str] {
        &["USED", "EXPIRES"]
    }
}
