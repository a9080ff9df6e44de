//! Access tokens as rows.

use std::borrow::Cow;

use farrier_common::api::{AccessToken, TokenRepository};

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

/// Returns all fields of a token, one per line.
pub(super) fn details(token: &AccessToken, clock: &Clock) -> String {
    let path = |one: &TokenRepository| one.full_name.clone().unwrap_or_else(|| format!("{}/{}", one.owner, one.name));
    let repositories = match &token.repositories {
        Some(limited) => limited.iter().map(path).collect::<Vec<_>>().join(", "),
        None => "all that the user can access".to_owned(),
    };
    let used = if last_used(token) > 0 { clock.stamp(&token.last_used_at) } else { "never".to_owned() };
    let expires = match &token.expires_at {
        Some(at) if token.expired => format!("{} (expired)", clock.stamp(at)),
        Some(at) => clock.stamp(at),
        None => "never".to_owned(),
    };
    let lines = [
        ("name", token.name.clone()),
        ("ID", token.id.to_string()),
        ("ends in", token.token_last_eight.clone()),
        ("scopes", token.scopes.join(", ")),
        ("repositories", repositories),
        ("created", clock.stamp(&token.created_at)),
        ("used", used),
        ("from", token.last_used_address.clone().unwrap_or_default()),
        ("expires", expires),
    ];
    let lines = lines.into_iter().filter(|(_, value)| !value.is_empty());
    lines.map(|(name, value)| format!("{name:<12}  {value}")).collect::<Vec<_>>().join("\n")
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

    const LIST: &'static str = "tokens";
    const COLUMNS: &'static [Column<Self>] = &COLUMNS;
    const FILTERS: &'static [FilterColumn] = &[
        FilterColumn::text("name"),
        FilterColumn::text("scopes"),
        FilterColumn::text("from"),
        FilterColumn::count("id"),
        FilterColumn::age("used"),
    ];

    fn id(&self) -> i64 {
        self.id
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
