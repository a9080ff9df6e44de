//! Deleted repositories and artifacts as rows.

use std::borrow::Cow;

use farrier_common::api::RestoreRepository;

use super::{Restorable, actions::restore_question, form as restore_form};
use crate::ui::screens::{Related, ScreenId};
use crate::{
    output::human_bytes,
    ui::{
        deleted::{DeletedArtifactSummary, DeletedRepositorySummary},
        keymap::{Object, Scope},
        layer::Layer,
        list::{CellText, Column, FilterColumn, Haystack, Row},
        net::{Answer, Page, Request},
        times::Clock,
        view::Role,
        words,
        world::World,
    },
};

/// Returns who deleted it. The API sends no name for a job, a local CI agent or an account that no longer exists.
fn by(name: &str) -> &str {
    if name.is_empty() { "-" } else { name }
}

/// The columns that both kinds of rows have after their names.
macro_rules! columns {
    ($row:ty, [$($first:expr),+]) => {
        [
            $($first,)+
            Column {
                title: "SIZE",
                width: 9,
                right: true,
                rank: 2,
                cell: |row: &$row, _| CellText::plain(human_bytes(row.size)),
                order: Some(|a, b| b.size.cmp(&a.size)),
            },
            Column {
                title: "DELETED",
                width: 7,
                right: true,
                rank: 1,
                cell: |row: &$row, clock| CellText::plain(clock.age_from(row.deleted())),
                order: Some(|a, b| b.deleted().cmp(&a.deleted())),
            },
            Column {
                title: "BY",
                width: 8,
                right: false,
                rank: 3,
                cell: |row: &$row, _| CellText::plain(by(row.deleted_by())),
                order: Some(|a, b| a.deleted_by().cmp(b.deleted_by())),
            },
            Column {
                title: "RESTORABLE UNTIL",
                width: 16,
                right: false,
                rank: 0,
                cell: |row: &$row, clock| CellText::plain(clock.minute_of(row.restorable_until())),
                order: Some(|a, b| a.restorable_until().cmp(&b.restorable_until())),
            },
        ]
    };
}

static REPOSITORIES: [Column<DeletedRepositorySummary>; 5] = columns!(
    DeletedRepositorySummary,
    [Column {
        title: "NAME",
        width: 16,
        right: false,
        rank: 0,
        cell: |row, _| CellText::plain(row.full_name()),
        order: Some(|a, b| a.full_name().cmp(b.full_name())),
    }]
);

static ARTIFACTS: [Column<DeletedArtifactSummary>; 6] = columns!(
    DeletedArtifactSummary,
    [
        Column {
            title: "NAME",
            width: 16,
            right: false,
            rank: 0,
            cell: |row, _| CellText::plain(row.name()),
            order: Some(|a, b| a.name().cmp(b.name())),
        },
        Column {
            title: "REPOSITORY",
            width: 26,
            right: false,
            rank: 4,
            cell: |row, _| {
                if row.repository_deleted {
                    CellText::of(Role::Warn, format!("{} (deleted)", row.repository()))
                } else {
                    CellText::plain(row.repository())
                }
            },
            order: Some(|a, b| a.repository().cmp(b.repository())),
        }
    ]
);

impl Haystack for DeletedRepositorySummary {
    fn text(&self) -> Cow<'_, str> {
        self.full_name().into()
    }

    fn column(&self, name: &str) -> Option<String> {
        (name == "by").then(|| self.deleted_by().to_owned())
    }

    fn number(&self, name: &str) -> Option<i64> {
        match name {
            "id" => Some(self.id),
            "size" => Some(self.size),
            "age" => words::seconds_from(self.deleted(), crate::clock::now()),
            _ => None,
        }
    }
}

impl Row for DeletedRepositorySummary {
    type Id = i64;

    const COLUMNS: &'static [Column<Self>] = &REPOSITORIES;
    const FILTERS: &'static [FilterColumn] =
        &[FilterColumn::text("by"), FilterColumn::count("id"), FilterColumn::size("size"), FilterColumn::age("age")];

    fn id(&self) -> i64 {
        self.id
    }

    fn ages() -> &'static [&'static str] {
        &["DELETED", "RESTORABLE UNTIL"]
    }

    fn is_problem(&self) -> bool {
        !self.owner_exists
    }

    fn weight(&self) -> i64 {
        self.size
    }
}

impl Haystack for DeletedArtifactSummary {
    fn text(&self) -> Cow<'_, str> {
        format!("{} {}", self.name(), self.repository()).into()
    }

    fn column(&self, name: &str) -> Option<String> {
        match name {
            "name" => Some(self.name().to_owned()),
            "repo" => Some(self.repository().to_owned()),
            "by" => Some(self.deleted_by().to_owned()),
            _ => None,
        }
    }

    fn number(&self, name: &str) -> Option<i64> {
        match name {
            "id" => Some(self.id),
            "run" => Some(self.run),
            "size" => Some(self.size),
            "age" => words::seconds_from(self.deleted(), crate::clock::now()),
            _ => None,
        }
    }
}

impl Row for DeletedArtifactSummary {
    type Id = i64;

    const COLUMNS: &'static [Column<Self>] = &ARTIFACTS;
    const FILTERS: &'static [FilterColumn] = &[
        FilterColumn::text("name"),
        FilterColumn::text("repo"),
        FilterColumn::text("by"),
        FilterColumn::count("id"),
        FilterColumn::count("run"),
        FilterColumn::size("size"),
        FilterColumn::age("age"),
    ];

    fn id(&self) -> i64 {
        self.id
    }

    fn ages() -> &'static [&'static str] {
        &["DELETED", "RESTORABLE UNTIL"]
    }

    fn is_problem(&self) -> bool {
        self.repository_deleted
    }

    fn weight(&self) -> i64 {
        self.size
    }
}

/// `deleted 2026-11-21 11:00 by ops, can be restored until 2026-12-21 11:00`
fn lifetime(deleted: i64, deleted_by: &str, restorable_until: i64, clock: &Clock) -> String {
    let by = if deleted_by.is_empty() { String::new() } else { format!(" by {deleted_by}") };
    let (then, until) = (clock.minute_of(deleted), clock.minute_of(restorable_until));
    format!("Deleted {then}{by}, can be restored until {until}.")
}

/// Returns the user who deleted an object; `None` for the daemon and for local agents.
fn user(deleted_by: &str) -> Option<Related> {
    let is_name = !deleted_by.is_empty() && !deleted_by.contains(|c: char| c.is_whitespace() || c == '(');
    is_name.then(|| Related::user(deleted_by))
}

impl Restorable for DeletedRepositorySummary {
    const SCREEN: ScreenId = ScreenId::DeletedRepositories;
    const LIVE: ScreenId = ScreenId::Repositories;
    const SCOPE: Scope = Scope::DeletedRepositories;
    const OBJECT: Object = Object::DeletedRepository;
    const NOUN: &str = "repository";
    const WHAT: &str = "deleted repositories";

    fn related(&self) -> Vec<Related> {
        let owner = self.full_name().split('/').next().unwrap_or_default();
        let all = [Related::audit_of("repository", &self.id.to_string()), Related::repositories_of(owner)];
        user(self.deleted_by()).into_iter().chain(all).collect()
    }

    fn list() -> Request {
        Request::DeletedRepositories
    }

    fn page(answer: &Answer) -> Option<&Page<Self>> {
        if let Answer::DeletedRepositories(page) = answer { Some(page) } else { None }
    }

    fn name(&self) -> String {
        self.full_name().to_owned()
    }

    fn facts(&self, clock: &Clock) -> Vec<(Role, String)> {
        let kind = if self.is_private { "private" } else { "public" };
        let mut lines = vec![
            (Role::Title, self.full_name().to_owned()),
            (Role::Text, format!("ID {}, {}, {kind}", self.id, human_bytes(self.size))),
            (Role::Text, lifetime(self.deleted(), self.deleted_by(), self.restorable_until(), clock)),
        ];
        if !self.owner_exists {
            let owner = self.full_name().split('/').next().unwrap_or_default();
            lines.push((Role::Warn, format!("Its owner {owner} no longer exists: restore it for another owner.")));
        }
        lines
    }

    fn restore_layer(&self, _: &World) -> Layer {
        Layer::Form(Box::new(restore_form::form(self)))
    }

    fn restore_request(id: i64, name: String) -> Request {
        Request::RestoreRepository { id, name, target: Box::new(RestoreRepository::default()) }
    }

    fn purge_request(id: i64, name: String) -> Request {
        Request::PurgeRepository { id, name }
    }

    fn purge_word(&self) -> String {
        self.full_name().to_owned()
    }
}

impl Restorable for DeletedArtifactSummary {
    const SCREEN: ScreenId = ScreenId::DeletedArtifacts;
    const LIVE: ScreenId = ScreenId::Artifacts;
    const SCOPE: Scope = Scope::DeletedArtifacts;
    const OBJECT: Object = Object::DeletedArtifact;
    const NOUN: &str = "artifact";
    const WHAT: &str = "deleted artifacts";

    fn related(&self) -> Vec<Related> {
        let repository = (!self.repository_deleted).then(|| {
            let path = self.repository();
            [Related::repository(path), Related::artifacts_of(path), Related::runs_in(path), Related::pushes_to(path)]
        });
        let all = repository.into_iter().flatten().chain(user(self.deleted_by()));
        all.chain([Related::audit_of("artifact", &self.id.to_string())]).collect()
    }

    fn list() -> Request {
        Request::DeletedArtifacts
    }

    fn page(answer: &Answer) -> Option<&Page<Self>> {
        if let Answer::DeletedArtifacts(page) = answer { Some(page) } else { None }
    }

    fn name(&self) -> String {
        self.name().to_owned()
    }

    fn facts(&self, clock: &Clock) -> Vec<(Role, String)> {
        let (run, size) = (self.run, human_bytes(self.size));
        let mut lines = vec![
            (Role::Title, self.name().to_owned()),
            (Role::Text, format!("ID {}, {size}, run {run} of {}", self.id, self.repository())),
            (Role::Text, lifetime(self.deleted(), self.deleted_by(), self.restorable_until(), clock)),
        ];
        lines.extend(self.obstacle().map(|why| (Role::Warn, format!("Cannot be restored yet: {why}."))));
        lines
    }

    fn obstacle(&self) -> Option<String> {
        self.repository_deleted.then(|| format!("restore its repository {} first", self.repository()))
    }

    fn restore_layer(&self, world: &World) -> Layer {
        restore_question(self, world)
    }

    fn restore_request(id: i64, name: String) -> Request {
        Request::RestoreArtifact { id, name }
    }

    fn purge_request(id: i64, name: String) -> Request {
        Request::PurgeArtifact { id, name }
    }

    fn purge_word(&self) -> String {
        self.id.to_string()
    }
}
