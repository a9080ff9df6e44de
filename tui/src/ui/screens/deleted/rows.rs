//! Deleted repositories and artifacts as rows.

use std::{borrow::Cow, cmp::Ordering};

use farrier_common::api::{RestorableArtifact, RestorableRepository, RestoreRepository};

use super::{Restorable, actions::restore_question, form as restore_form};
use crate::ui::screens::ScreenId;
use crate::{
    output::human_bytes,
    ui::{
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

/// Compares times; the latest comes first.
fn latest_first(a: &str, b: &str) -> Ordering {
    words::seconds(b).cmp(&words::seconds(a))
}

/// The columns that both kinds of rows have after their names.
macro_rules! columns {
    ($row:ty, $size:ident, [$($first:expr),+]) => {
        [
            $($first,)+
            Column {
                title: "SIZE",
                width: 9,
                right: true,
                rank: 2,
                cell: |row: &$row, _| CellText::plain(human_bytes(row.$size)),
                order: Some(|a, b| b.$size.cmp(&a.$size)),
            },
            Column {
                title: "DELETED",
                width: 7,
                right: true,
                rank: 1,
                cell: |row: &$row, clock| CellText::plain(clock.age(&row.deleted_at)),
                order: Some(|a, b| latest_first(&a.deleted_at, &b.deleted_at)),
            },
            Column {
                title: "BY",
                width: 8,
                right: false,
                rank: 3,
                cell: |row: &$row, _| CellText::plain(by(&row.deleted_by)),
                order: Some(|a, b| a.deleted_by.cmp(&b.deleted_by)),
            },
            Column {
                title: "RESTORABLE UNTIL",
                width: 16,
                right: false,
                rank: 0,
                cell: |row: &$row, clock| CellText::plain(clock.minute(&row.restorable_until)),
                order: Some(|a, b| latest_first(&b.restorable_until, &a.restorable_until)),
            },
        ]
    };
}

static REPOSITORIES: [Column<RestorableRepository>; 5] = columns!(
    RestorableRepository,
    size_bytes,
    [Column {
        title: "NAME",
        width: 20,
        right: false,
        rank: 0,
        cell: |row, _| CellText::plain(&*row.repository),
        order: Some(|a, b| a.repository.cmp(&b.repository)),
    }]
);

static ARTIFACTS: [Column<RestorableArtifact>; 6] = columns!(
    RestorableArtifact,
    size_in_bytes,
    [
        Column {
            title: "NAME",
            width: 16,
            right: false,
            rank: 0,
            cell: |row, _| CellText::plain(&*row.name),
            order: Some(|a, b| a.name.cmp(&b.name)),
        },
        Column {
            title: "REPOSITORY",
            width: 26,
            right: false,
            rank: 4,
            cell: |row, _| {
                if row.repository_deleted {
                    CellText::of(Role::Warn, format!("{} (deleted)", row.repository))
                } else {
                    CellText::plain(&*row.repository)
                }
            },
            order: Some(|a, b| a.repository.cmp(&b.repository)),
        }
    ]
);

impl Haystack for RestorableRepository {
    fn text(&self) -> Cow<'_, str> {
        self.repository.as_str().into()
    }

    fn column(&self, name: &str) -> Option<String> {
        (name == "by").then(|| self.deleted_by.clone())
    }

    fn number(&self, name: &str) -> Option<i64> {
        match name {
            "id" => Some(self.id),
            "size" => Some(self.size_bytes),
            "age" => words::seconds_since(&self.deleted_at, crate::clock::now()),
            _ => None,
        }
    }
}

impl Row for RestorableRepository {
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
        self.size_bytes
    }
}

impl Haystack for RestorableArtifact {
    fn text(&self) -> Cow<'_, str> {
        format!("{} {}", self.name, self.repository).into()
    }

    fn column(&self, name: &str) -> Option<String> {
        match name {
            "name" => Some(self.name.clone()),
            "repo" => Some(self.repository.clone()),
            "by" => Some(self.deleted_by.clone()),
            _ => None,
        }
    }

    fn number(&self, name: &str) -> Option<i64> {
        match name {
            "id" => Some(self.id),
            "run" => Some(self.workflow_run.id),
            "size" => Some(self.size_in_bytes),
            "age" => words::seconds_since(&self.deleted_at, crate::clock::now()),
            _ => None,
        }
    }
}

impl Row for RestorableArtifact {
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
        self.size_in_bytes
    }
}

/// `deleted 2026-11-21 11:00 by ops, can be restored until 2026-12-21 11:00`
fn lifetime(deleted_at: &str, deleted_by: &str, restorable_until: &str, clock: &Clock) -> String {
    let by = if deleted_by.is_empty() { String::new() } else { format!(" by {deleted_by}") };
    let (then, until) = (clock.minute(deleted_at), clock.minute(restorable_until));
    format!("Deleted {then}{by}, can be restored until {until}.")
}

impl Restorable for RestorableRepository {
    const SCREEN: ScreenId = ScreenId::DeletedRepositories;
    const LIVE: ScreenId = ScreenId::Repositories;
    const SCOPE: Scope = Scope::DeletedRepositories;
    const OBJECT: Object = Object::DeletedRepository;
    const NOUN: &str = "repository";
    const WHAT: &str = "deleted repositories";

    fn list() -> Request {
        Request::DeletedRepositories
    }

    fn page(answer: &Answer) -> Option<&Page<Self>> {
        if let Answer::DeletedRepositories(page) = answer { Some(page) } else { None }
    }

    fn name(&self) -> String {
        self.repository.clone()
    }

    fn facts(&self, clock: &Clock) -> Vec<(Role, String)> {
        let kind = if self.private { "private" } else { "public" };
        let mut lines = vec![
            (Role::Title, self.repository.clone()),
            (Role::Text, format!("ID {}, {}, {kind}", self.id, human_bytes(self.size_bytes))),
            (Role::Text, lifetime(&self.deleted_at, &self.deleted_by, &self.restorable_until, clock)),
        ];
        if !self.owner_exists {
            let owner = self.repository.split('/').next().unwrap_or_default();
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
        self.repository.clone()
    }
}

impl Restorable for RestorableArtifact {
    const SCREEN: ScreenId = ScreenId::DeletedArtifacts;
    const LIVE: ScreenId = ScreenId::Artifacts;
    const SCOPE: Scope = Scope::DeletedArtifacts;
    const OBJECT: Object = Object::DeletedArtifact;
    const NOUN: &str = "artifact";
    const WHAT: &str = "deleted artifacts";

    fn list() -> Request {
        Request::DeletedArtifacts
    }

    fn page(answer: &Answer) -> Option<&Page<Self>> {
        if let Answer::DeletedArtifacts(page) = answer { Some(page) } else { None }
    }

    fn name(&self) -> String {
        self.name.clone()
    }

    fn facts(&self, clock: &Clock) -> Vec<(Role, String)> {
        let (run, size) = (self.workflow_run.id, human_bytes(self.size_in_bytes));
        let mut lines = vec![
            (Role::Title, self.name.clone()),
            (Role::Text, format!("ID {}, {size}, run {run} of {}", self.id, self.repository)),
            (Role::Text, lifetime(&self.deleted_at, &self.deleted_by, &self.restorable_until, clock)),
        ];
        lines.extend(self.obstacle().map(|why| (Role::Warn, format!("Cannot be restored yet: {why}."))));
        lines
    }

    fn obstacle(&self) -> Option<String> {
        self.repository_deleted.then(|| format!("restore its repository {} first", self.repository))
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
