//! Members of organizations and teams as rows.

use std::borrow::Cow;

use crate::ui::{
    list::{CellText, Column, FilterColumn, Haystack, Row},
    net::OrganizationMember,
    view::Role,
};

/// Returns whether the membership is public; empty for the members of a team.
fn membership(member: &OrganizationMember) -> &'static str {
    match member.is_public {
        Some(true) => "public",
        Some(false) => "concealed",
        None => "",
    }
}

static COLUMNS: [Column<OrganizationMember>; 4] = [
    Column {
        title: "NAME",
        width: 14,
        right: false,
        rank: 0,
        cell: |member, _| CellText::plain(&*member.login),
        order: Some(|a, b| a.login.cmp(&b.login)),
    },
    Column {
        title: "MEMBERSHIP",
        width: 10,
        right: false,
        rank: 1,
        cell: |member, _| CellText::plain(membership(member)),
        order: Some(|a, b| membership(a).cmp(membership(b))),
    },
    Column {
        title: "FULL NAME",
        width: 14,
        right: false,
        rank: 2,
        cell: |member, _| CellText::plain(&*member.full_name),
        order: Some(|a, b| a.full_name.cmp(&b.full_name)),
    },
    Column {
        title: "ID",
        width: 5,
        right: true,
        rank: 3,
        cell: |member, _| CellText::of(Role::Muted, member.id.to_string()),
        order: Some(|a, b| a.id.cmp(&b.id)),
    },
];

impl Haystack for OrganizationMember {
    fn text(&self) -> Cow<'_, str> {
        format!("{} {} {}", self.login, self.full_name, membership(self)).into()
    }

    fn column(&self, name: &str) -> Option<String> {
        match name {
            "name" => Some(self.login.clone()),
            "membership" => Some(membership(self).to_owned()),
            _ => None,
        }
    }

    fn number(&self, name: &str) -> Option<i64> {
        (name == "id").then_some(self.id)
    }
}

impl Row for OrganizationMember {
    type Id = i64;

    const LIST: &'static str = "members";
    const COLUMNS: &'static [Column<Self>] = &COLUMNS;
    const FILTERS: &'static [FilterColumn] =
        &[FilterColumn::text("name"), FilterColumn::text("membership"), FilterColumn::count("id")];

    fn id(&self) -> i64 {
        self.id
    }

    fn is_problem(&self) -> bool {
        false
    }

    fn flexible() -> usize {
        2
    }
}
