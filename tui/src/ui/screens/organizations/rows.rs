//! Organizations and teams as rows.

use std::borrow::Cow;

use farrier_common::api::Team;

use crate::{
    team_text,
    ui::{
        list::{CellText, Column, FilterColumn, Haystack, Row},
        organization::OrganizationSummary,
        view::Role,
        words,
    },
};

static ORGANIZATION: [Column<OrganizationSummary>; 6] = [
    Column {
        title: "NAME",
        width: 14,
        right: false,
        rank: 0,
        cell: |org, _| CellText::plain(org.name()),
        order: Some(|a, b| a.name().cmp(b.name())),
    },
    Column {
        title: "VISIBILITY",
        width: 10,
        right: false,
        rank: 1,
        cell: |org, _| CellText::plain(org.visibility()),
        order: Some(|a, b| a.visibility().cmp(b.visibility())),
    },
    Column {
        title: "CREATED",
        width: 7,
        right: true,
        rank: 4,
        cell: |org, clock| CellText::plain(clock.age_from(org.created())),
        order: Some(|a, b| b.created().cmp(&a.created())),
    },
    Column {
        title: "FULL NAME",
        width: 14,
        right: false,
        rank: 2,
        cell: |org, _| CellText::plain(org.full_name()),
        order: Some(|a, b| a.full_name().cmp(b.full_name())),
    },
    Column {
        title: "DESCRIPTION",
        width: 16,
        right: false,
        rank: 3,
        cell: |org, _| CellText::of(Role::Muted, org.description()),
        order: None,
    },
    Column {
        title: "ID",
        width: 5,
        right: true,
        rank: 5,
        cell: |org, _| CellText::of(Role::Muted, org.id.to_string()),
        order: Some(|a, b| a.id.cmp(&b.id)),
    },
];

impl Haystack for OrganizationSummary {
    fn text(&self) -> Cow<'_, str> {
        format!("{} {} {} {}", self.name(), self.visibility(), self.full_name(), self.description()).into()
    }

    fn column(&self, name: &str) -> Option<String> {
        match name {
            "name" => Some(self.name().to_owned()),
            "visibility" => Some(self.visibility().to_owned()),
            _ => None,
        }
    }

    fn number(&self, name: &str) -> Option<i64> {
        match name {
            "id" => Some(self.id),
            "age" => words::seconds_from(self.created(), crate::clock::now()),
            _ => None,
        }
    }
}

impl Row for OrganizationSummary {
    type Id = i64;

    const LIST: &'static str = "organizations";
    const COLUMNS: &'static [Column<Self>] = &ORGANIZATION;
    const FILTERS: &'static [FilterColumn] = &[
        FilterColumn::text("name"),
        FilterColumn::text("visibility"),
        FilterColumn::count("id"),
        FilterColumn::age("age"),
    ];

    fn id(&self) -> i64 {
        self.id
    }

    fn is_problem(&self) -> bool {
        false
    }

    fn flexible() -> usize {
        4
    }

    fn ages() -> &'static [&'static str] {
        &["CREATED"]
    }
}

/// Returns the rights of a team; those of administrators are in the accent color.
fn rights(team: &Team) -> CellText {
    let text = team_text::rights(team);
    if team.permission == "none" { CellText::plain(text) } else { CellText::of(Role::Accent, text) }
}

/// Returns which repositories a team has.
fn repositories(team: &Team) -> &'static str {
    if team.includes_all_repositories { "all" } else { "listed" }
}

static TEAM: [Column<Team>; 5] = [
    Column {
        title: "NAME",
        width: 12,
        right: false,
        rank: 0,
        cell: |team, _| CellText::plain(&*team.name),
        order: Some(|a, b| a.name.cmp(&b.name)),
    },
    Column { title: "RIGHTS", width: 20, right: false, rank: 1, cell: |team, _| rights(team), order: None },
    Column {
        title: "REPOS",
        width: 6,
        right: false,
        rank: 2,
        cell: |team, _| CellText::plain(repositories(team)),
        order: Some(|a, b| repositories(a).cmp(repositories(b))),
    },
    Column {
        title: "DESCRIPTION",
        width: 16,
        right: false,
        rank: 3,
        cell: |team, _| CellText::of(Role::Muted, &*team.description),
        order: None,
    },
    Column {
        title: "ID",
        width: 5,
        right: true,
        rank: 4,
        cell: |team, _| CellText::of(Role::Muted, team.id.to_string()),
        order: Some(|a, b| a.id.cmp(&b.id)),
    },
];

impl Haystack for Team {
    fn text(&self) -> Cow<'_, str> {
        format!("{} {} {}", self.name, team_text::rights(self), self.description).into()
    }

    fn column(&self, name: &str) -> Option<String> {
        match name {
            "name" => Some(self.name.clone()),
            "rights" => Some(team_text::rights(self)),
            "repos" => Some(repositories(self).to_owned()),
            _ => None,
        }
    }

    fn number(&self, name: &str) -> Option<i64> {
        (name == "id").then_some(self.id)
    }
}

impl Row for Team {
    type Id = i64;

    const LIST: &'static str = "teams";
    const COLUMNS: &'static [Column<Self>] = &TEAM;
    const FILTERS: &'static [FilterColumn] = &[
        FilterColumn::text("name"),
        FilterColumn::text("rights"),
        FilterColumn::text("repos"),
        FilterColumn::count("id"),
    ];

    fn id(&self) -> i64 {
        self.id
    }

    fn is_problem(&self) -> bool {
        false
    }

    fn flexible() -> usize {
        1
    }
}
