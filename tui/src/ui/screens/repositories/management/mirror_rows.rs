//! The pull mirror and the push mirrors of a repository as rows of one list.

use std::borrow::Cow;

use farrier_common::api::{PushMirror, Repository};

use crate::ui::{
    list::{CellText, Column, FilterColumn, Haystack, Row},
    times::Clock,
    view::Role,
    words,
};

/// A mirror of a repository, or the source of which the repository is a mirror.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::ui::screens) struct MirrorRow {
    /// The name of a push mirror; `None` for the pull mirror.
    pub(super) name: Option<String>,
    pub(super) address: String,
    interval: String,
    /// When it last ran; the zero time of the API if never.
    ran_at: String,
    /// When the pull mirror is due.
    next_at: Option<String>,
    is_failing: bool,
    /// Why the last run failed; can be empty for callers who may not see it.
    error: String,
}

impl MirrorRow {
    /// Returns the row of a repository that is a pull mirror.
    pub(super) fn pull(repository: &Repository) -> Option<Self> {
        let progress = repository.farrier_mirror.clone().unwrap_or_default();
        repository.mirror.then(|| Self {
            name: None,
            address: repository.original_url.clone(),
            interval: repository.mirror_interval.clone(),
            ran_at: repository.mirror_updated.clone(),
            next_at: progress.next_at,
            is_failing: progress.state == "failing",
            error: progress.last_error,
        })
    }

    pub(super) fn kind(&self) -> &'static str {
        if self.name.is_some() { "push" } else { "pull" }
    }

    fn state(&self) -> CellText {
        match (self.is_failing, words::seconds(&self.ran_at) > 0) {
            (true, _) => CellText::of(Role::Error, "FAIL"),
            (false, true) => CellText::plain("ok"),
            (false, false) => CellText::of(Role::Muted, "never ran"),
        }
    }

    /// Returns all fields, one per line.
    pub(super) fn details(&self, clock: &Clock) -> String {
        let next = self.next_at.as_ref().map(|at| clock.stamp(at));
        let lines = [
            ("kind", self.kind().to_owned()),
            ("name", self.name.clone().unwrap_or_default()),
            ("address", self.address.clone()),
            ("state", self.state().text),
            ("error", self.error.clone()),
            ("last run", clock.stamp(&self.ran_at)),
            ("next run", next.unwrap_or_default()),
            ("interval", self.interval.clone()),
        ];
        words::fields(lines)
    }
}

impl From<&PushMirror> for MirrorRow {
    fn from(mirror: &PushMirror) -> Self {
        Self {
            name: Some(mirror.remote_name.clone()),
            address: mirror.remote_address.clone(),
            interval: mirror.interval.clone(),
            ran_at: mirror.last_update.clone(),
            next_at: None,
            is_failing: !mirror.last_error.is_empty(),
            error: mirror.last_error.clone(),
        }
    }
}

static COLUMNS: [Column<MirrorRow>; 6] = [
    Column {
        title: "KIND",
        width: 4,
        right: false,
        rank: 0,
        cell: |mirror, _| CellText::plain(mirror.kind()),
        order: Some(|a, b| a.kind().cmp(b.kind())),
    },
    Column { title: "STATE", width: 9, right: false, rank: 1, cell: |mirror, _| mirror.state(), order: None },
    Column {
        title: "ADDRESS",
        width: 16,
        right: false,
        rank: 0,
        cell: |mirror, _| CellText::plain(&*mirror.address),
        order: Some(|a, b| a.address.cmp(&b.address)),
    },
    Column {
        title: "RAN",
        width: 4,
        right: true,
        rank: 2,
        cell: |mirror, clock| CellText::plain(clock.age(&mirror.ran_at)),
        order: Some(|a, b| b.ran_at.cmp(&a.ran_at)),
    },
    Column {
        title: "EVERY",
        width: 8,
        right: true,
        rank: 3,
        cell: |mirror, _| CellText::of(Role::Muted, without_zeros(&mirror.interval)),
        order: None,
    },
    Column {
        title: "ERROR",
        width: 12,
        right: false,
        rank: 4,
        cell: |mirror, _| CellText::plain(&*mirror.error),
        order: None,
    },
];

/// Removes the parts that are zero from the end of an interval: `8h0m0s` becomes `8h`.
fn without_zeros(interval: &str) -> &str {
    let minutes = interval.strip_suffix("m0s").map_or(interval, |rest| &interval[..=rest.len()]);
    minutes.strip_suffix("h0m").map_or(minutes, |rest| &interval[..=rest.len()])
}

impl Haystack for MirrorRow {
    fn text(&self) -> Cow<'_, str> {
        format!("{} {} {} {}", self.kind(), self.address, self.state().text, self.error).into()
    }

    fn column(&self, name: &str) -> Option<String> {
        match name {
            "kind" => Some(self.kind().to_owned()),
            "state" => Some(self.state().text),
            "address" => Some(self.address.clone()),
            "error" => Some(self.error.clone()),
            _ => None,
        }
    }

    fn number(&self, name: &str) -> Option<i64> {
        (name == "ran").then(|| words::seconds_since(&self.ran_at, crate::clock::now())).flatten()
    }
}

impl Row for MirrorRow {
    type Id = Option<String>;

    const LIST: &'static str = "mirrors";
    const COLUMNS: &'static [Column<Self>] = &COLUMNS;
    const FILTERS: &'static [FilterColumn] = &[
        FilterColumn::text("kind"),
        FilterColumn::text("state"),
        FilterColumn::text("address"),
        FilterColumn::text("error"),
        FilterColumn::age("ran"),
    ];

    fn id(&self) -> Option<String> {
        self.name.clone()
    }

    fn flexible() -> usize {
        2
    }

    fn ages() -> &'static [&'static str] {
        &["RAN"]
    }

    fn is_problem(&self) -> bool {
        self.is_failing
    }
}
