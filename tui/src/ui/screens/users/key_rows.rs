//! The SSH keys and OpenPGP keys of a user as rows of one list.

use std::borrow::Cow;

use farrier_common::api::{GpgKey, PublicKey};

use crate::ui::{
    list::{CellText, Column, FilterColumn, Haystack, Row},
    times::Clock,
    view::Role,
    words,
};

/// A key of a user.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::ui::screens) enum KeyRow {
    Ssh(Box<PublicKey>),
    Gpg(Box<GpgKey>),
}

impl KeyRow {
    pub(super) fn kind(&self) -> &'static str {
        match self {
            Self::Ssh(_) => "SSH",
            Self::Gpg(_) => "OpenPGP",
        }
    }

    /// Returns the title of an SSH key, or the addresses of an OpenPGP key.
    pub(super) fn title(&self) -> String {
        match self {
            Self::Ssh(key) => key.title.clone(),
            Self::Gpg(key) => key.emails.iter().map(|email| email.email.as_str()).collect::<Vec<_>>().join(" "),
        }
    }

    /// Returns the fingerprint of an SSH key, or the ID of an OpenPGP key.
    pub(super) fn fingerprint(&self) -> &str {
        match self {
            Self::Ssh(key) => &key.fingerprint,
            Self::Gpg(key) => &key.key_id,
        }
    }

    fn created_at(&self) -> &str {
        match self {
            Self::Ssh(key) => &key.created_at,
            Self::Gpg(key) => &key.created_at,
        }
    }

    /// Returns when an SSH key was last used. A key that was never used has the time at which it was added.
    fn last_used_at(&self) -> Option<&str> {
        match self {
            Self::Ssh(key) => Some(key.last_used_at.as_str()).filter(|at| *at != key.created_at),
            Self::Gpg(_) => None,
        }
    }

    /// Returns when an OpenPGP key expires, in seconds since 1970; 0 if never.
    fn expires(&self) -> i64 {
        match self {
            Self::Ssh(_) => 0,
            Self::Gpg(key) => words::seconds(&key.expires_at),
        }
    }

    /// Returns all fields, one per line.
    pub(super) fn details(&self, clock: &Clock) -> String {
        let used = self.last_used_at().map_or_else(|| "never".to_owned(), |at| clock.stamp(at));
        let lines = match self {
            Self::Ssh(key) => vec![
                ("title", key.title.clone()),
                ("ID", key.id.to_string()),
                ("fingerprint", key.fingerprint.clone()),
                ("added", clock.stamp(&key.created_at)),
                ("used", used),
                ("key", key.key.clone()),
            ],
            Self::Gpg(key) => {
                let subkeys: Vec<&str> = key.subkeys.iter().map(|subkey| subkey.key_id.as_str()).collect();
                let expires = if self.expires() > 0 { clock.stamp(&key.expires_at) } else { "never".to_owned() };
                vec![
                    ("key ID", key.key_id.clone()),
                    ("ID", key.id.to_string()),
                    ("addresses", self.title()),
                    ("subkeys", subkeys.join(", ")),
                    ("verified", if key.verified { "yes" } else { "no" }.to_owned()),
                    ("signs", if key.can_sign { "yes" } else { "no" }.to_owned()),
                    ("created", clock.stamp(&key.created_at)),
                    ("expires", expires),
                ]
            }
        };
        words::fields(lines)
    }
}

static COLUMNS: [Column<KeyRow>; 5] = [
    Column {
        title: "TITLE",
        width: 14,
        right: false,
        rank: 0,
        cell: |key, _| CellText::plain(key.title()),
        order: Some(|a, b| a.title().cmp(&b.title())),
    },
    Column {
        title: "TYPE",
        width: 7,
        right: false,
        rank: 1,
        cell: |key, _| CellText::plain(key.kind()),
        order: Some(|a, b| a.kind().cmp(b.kind())),
    },
    Column {
        title: "ADDED",
        width: 5,
        right: true,
        rank: 3,
        cell: |key, clock| CellText::plain(clock.age(key.created_at())),
        order: Some(|a, b| b.created_at().cmp(a.created_at())),
    },
    Column {
        title: "USED",
        width: 5,
        right: true,
        rank: 2,
        cell: |key, clock| CellText::plain(key.last_used_at().map_or_else(String::new, |at| clock.age(at))),
        order: None,
    },
    Column {
        title: "FINGERPRINT",
        width: 16,
        right: false,
        rank: 4,
        cell: |key, _| CellText::of(Role::Muted, key.fingerprint()),
        order: None,
    },
];

impl Haystack for KeyRow {
    fn text(&self) -> Cow<'_, str> {
        format!("{} {} {}", self.title(), self.kind(), self.fingerprint()).into()
    }

    fn column(&self, name: &str) -> Option<String> {
        match name {
            "title" => Some(self.title()),
            "type" => Some(self.kind().to_owned()),
            "fingerprint" => Some(self.fingerprint().to_owned()),
            _ => None,
        }
    }

    fn number(&self, name: &str) -> Option<i64> {
        match name {
            "added" => words::seconds_since(self.created_at(), crate::clock::now()),
            "used" => words::seconds_since(self.last_used_at()?, crate::clock::now()),
            _ => None,
        }
    }
}

impl Row for KeyRow {
    type Id = (&'static str, i64);

    const LIST: &'static str = "keys";
    const COLUMNS: &'static [Column<Self>] = &COLUMNS;
    const FILTERS: &'static [FilterColumn] = &[
        FilterColumn::text("title"),
        FilterColumn::text("type"),
        FilterColumn::text("fingerprint"),
        FilterColumn::age("added"),
        FilterColumn::age("used"),
    ];

    fn id(&self) -> (&'static str, i64) {
        match self {
            Self::Ssh(key) => (self.kind(), key.id),
            Self::Gpg(key) => (self.kind(), key.id),
        }
    }

    fn ages() -> &'static [&'static str] {
        &["ADDED", "USED"]
    }

    /// An OpenPGP key that has expired verifies no new signatures.
    fn is_problem(&self) -> bool {
        self.expires() > 0 && self.expires() < crate::clock::now().as_second()
    }
}
