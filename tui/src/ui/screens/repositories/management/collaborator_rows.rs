//! Collaborators as rows.

use std::borrow::Cow;

use crate::ui::{
    list::{CellText, Column, FilterColumn, Haystack, Row},
    net::Collaborator,
    view::Role,
};

/// Returns the rank of a permission, the largest first.
fn rank(permission: &str) -> usize {
    ["owner", "admin", "write", "read"].iter().position(|one| *one == permission).unwrap_or(usize::MAX)
}

fn permission(collaborator: &Collaborator) -> CellText {
    match collaborator.permission.as_str() {
        // Only administrators of the repository see the permissions of others.
        "" => CellText::of(Role::Muted, "-"),
        word @ ("owner" | "admin") => CellText::of(Role::Accent, word),
        word => CellText::plain(word),
    }
}

static COLUMNS: [Column<Collaborator>; 3] = [
    Column {
        title: "NAME",
        width: 14,
        right: false,
        rank: 0,
        cell: |one, _| CellText::plain(&*one.login),
        order: Some(|a, b| a.login.cmp(&b.login)),
    },
    Column {
        title: "PERMISSION",
        width: 10,
        right: false,
        rank: 1,
        cell: |one, _| permission(one),
        order: Some(|a, b| rank(&a.permission).cmp(&rank(&b.permission))),
    },
    Column {
        title: "FULL NAME",
        width: 14,
        right: false,
        rank: 2,
        cell: |one, _| CellText::plain(&*one.full_name),
        order: Some(|a, b| a.full_name.cmp(&b.full_name)),
    },
];

impl Haystack for Collaborator {
    fn text(&self) -> Cow<'_, str> {
        format!("{} {} {}", self.login, self.full_name, self.permission).into()
    }

    fn column(&self, name: &str) -> Option<String> {
        match name {
            "name" => Some(self.login.clone()),
            "permission" => Some(self.permission.clone()),
            _ => None,
        }
    }

    fn number(&self, _: &str) -> Option<i64> {
        None
    }
}

impl Row for Collaborator {
    type Id = String;

    const LIST: &'static str = "collaborators";
    const COLUMNS: &'static [Column<Self>] = &COLUMNS;
    const FILTERS: &'static [FilterColumn] = &[FilterColumn::text("name"), FilterColumn::text("permission")];

    fn id(&self) -> String {
        self.login.clone()
    }

    fn flexible() -> usize {
        2
    }

    fn is_problem(&self) -> bool {
        false
    }
}
