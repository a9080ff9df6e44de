//! Releases as rows, and the text with all details of one.

use std::borrow::Cow;

use farrier_common::api::{Attachment, Release};

use crate::{
    output::{clean_line, human_bytes},
    ui::{
        bulk,
        list::{CellText, Column, FilterColumn, Haystack, Row},
        times::Clock,
        view::Role,
        words,
    },
};

/// Maximum length of the shown text of a release.
const TEXT_MAX_CHARS: usize = 32_000;

fn state(release: &Release) -> &'static str {
    match (release.draft, release.prerelease) {
        (true, _) => "draft",
        (false, true) => "prerelease",
        (false, false) => "",
    }
}

fn bytes(release: &Release) -> i64 {
    release.assets.iter().map(|file| file.size).sum()
}

/// Returns all details of a release, its files and its text.
pub(super) fn details(release: &Release, clock: &Clock) -> String {
    let author = release.author.as_ref().map(|user| user.login.clone());
    let files = format!("{}, {}", bulk::counted(release.assets.len(), "file"), human_bytes(bytes(release)));
    let lines = [
        ("tag", release.tag_name.clone()),
        ("title", release.name.clone()),
        ("state", state(release).to_owned()),
        ("by", author.unwrap_or_default()),
        ("published", clock.stamp(&release.published_at)),
        ("files", files),
    ];
    let mut text = vec![words::fields(lines)];
    let file = |one: &Attachment| {
        let count = bulk::counted(usize::try_from(one.download_count).unwrap_or(0), "download");
        format!("  {}   {}   {count}", clean_line(&one.name), human_bytes(one.size))
    };
    text.extend(release.assets.iter().map(file));
    if !release.body.trim().is_empty() {
        text.push(String::new());
        text.push(release.body.chars().take(TEXT_MAX_CHARS).collect());
    }
    if release.body.chars().nth(TEXT_MAX_CHARS).is_some() {
        text.push(format!("[only the first {TEXT_MAX_CHARS} characters are shown]"));
    }
    text.join("\n")
}

static COLUMNS: [Column<Release>; 6] = [
    Column {
        title: "RELEASE",
        width: 12,
        right: false,
        rank: 0,
        cell: |one, _| CellText::plain(&*one.tag_name),
        order: Some(|a, b| a.tag_name.cmp(&b.tag_name)),
    },
    Column {
        title: "STATE",
        width: 10,
        right: false,
        rank: 2,
        cell: |one, _| CellText::of(Role::Accent, state(one)),
        order: Some(|a, b| state(b).cmp(state(a))),
    },
    Column {
        title: "FILES",
        width: 5,
        right: true,
        rank: 1,
        cell: |one, _| CellText::plain(one.assets.len().to_string()),
        order: Some(|a, b| b.assets.len().cmp(&a.assets.len())),
    },
    Column {
        title: "SIZE",
        width: 10,
        right: true,
        rank: 4,
        cell: |one, _| CellText::plain(human_bytes(bytes(one))),
        order: Some(|a, b| bytes(b).cmp(&bytes(a))),
    },
    Column {
        title: "AGE",
        width: 4,
        right: true,
        rank: 1,
        cell: |one, clock| CellText::plain(clock.age(&one.published_at)),
        order: Some(|a, b| b.published_at.cmp(&a.published_at)),
    },
    Column {
        title: "TITLE",
        width: 14,
        right: false,
        rank: 3,
        cell: |one, _| CellText::plain(&*one.name),
        order: None,
    },
];

impl Haystack for Release {
    fn text(&self) -> Cow<'_, str> {
        format!("{} {} {}", self.tag_name, self.name, state(self)).into()
    }

    fn column(&self, name: &str) -> Option<String> {
        match name {
            "release" => Some(self.tag_name.clone()),
            "title" => Some(self.name.clone()),
            "state" => Some(state(self).to_owned()),
            _ => None,
        }
    }

    fn number(&self, name: &str) -> Option<i64> {
        match name {
            "id" => Some(self.id),
            "size" => Some(bytes(self)),
            "files" => i64::try_from(self.assets.len()).ok(),
            "age" => words::seconds_since(&self.published_at, crate::clock::now()),
            _ => None,
        }
    }
}

impl Row for Release {
    type Id = i64;

    const LIST: &'static str = "releases";
    const COLUMNS: &'static [Column<Self>] = &COLUMNS;
    const FILTERS: &'static [FilterColumn] = &[
        FilterColumn::text("release"),
        FilterColumn::text("title"),
        FilterColumn::text("state"),
        FilterColumn::count("files"),
        FilterColumn::size("size"),
        FilterColumn::age("age"),
        FilterColumn::count("id"),
    ];

    fn id(&self) -> i64 {
        self.id
    }

    fn flexible() -> usize {
        5
    }

    fn ages() -> &'static [&'static str] {
        &["AGE"]
    }

    fn is_problem(&self) -> bool {
        false
    }

    fn weight(&self) -> i64 {
        bytes(self)
    }
}
