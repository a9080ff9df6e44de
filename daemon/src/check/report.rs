//! What a check found, for people and for programs.

use std::{error::Error, fmt, path::Path};

use serde::Serialize;

use crate::data_dir::Mismatch;

/// Findings that are kept one by one; the rest is only counted.
const FINDINGS_MAX: usize = 10_000;

/// How bad a finding is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Class {
    /// Something that was acknowledged is not as it should be.
    Damage,
    /// Something is there that nothing needs: it takes room and does no harm.
    Waste,
    /// Something that was cut off, which the daemon brings to an end when it starts.
    Unfinished,
}

/// Whether a finding is mended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Mending {
    /// It is.
    Done,
    /// `--repair` would.
    Possible,
    /// Not by this program.
    None,
}

/// One thing that disagrees.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// How bad it is.
    pub class: Class,
    /// What it is about: a repository, an artifact, a key of the store.
    pub subject: String,
    /// What is wrong with it.
    pub message: String,
    /// Whether it is mended.
    pub mending: Mending,
}

/// Something in `set-aside`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SetAsideItem {
    /// Its path below `set-aside`.
    pub path: String,
    /// Bytes of its files.
    pub size_bytes: u64,
    /// The day on which it was set aside, `YYYY-MM-DD`; empty: the daemon does not know its name.
    pub since: String,
    /// The day on which the daemon removes it, `YYYY-MM-DD`; empty: never.
    pub removed_on: String,
}

/// What a check looked at and found.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Report {
    /// Keys of the store that were looked at.
    pub keys: u64,
    /// Repositories that were looked at.
    pub repositories: u64,
    /// Artifacts that were looked at.
    pub artifacts: u64,
    /// Damage, mended or not.
    pub damage: u64,
    /// Damage that is still there.
    pub damage_left: u64,
    /// Waste.
    pub waste: u64,
    /// What was cut off.
    pub unfinished: u64,
    /// The first of all findings.
    pub findings: Vec<Finding>,
    /// Why the store and the data beside it do not belong together; `None`: they do.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mismatch: Option<Mismatch>,
    /// What is in `set-aside`.
    pub set_aside: Vec<SetAsideItem>,
}

impl Report {
    /// The report on a store that cannot be read.
    pub(super) fn of_damaged_store(path: &Path, error: &dyn Error) -> Self {
        let mut message = error.to_string();
        let mut cause = error.source();
        while let Some(error) = cause {
            message = format!("{message}: {error}");
            cause = error.source();
        }
        let mut report = Self::default();
        let subject = format!("store {}", path.display());
        report.add(Finding { class: Class::Damage, subject, message, mending: Mending::None });
        report
    }

    /// Adds a finding.
    pub(super) fn add(&mut self, finding: Finding) {
        match finding.class {
            Class::Damage => {
                self.damage += 1;
                self.damage_left += u64::from(finding.mending != Mending::Done);
            }
            Class::Waste => self.waste += 1,
            Class::Unfinished => self.unfinished += 1,
        }
        if self.findings.len() < FINDINGS_MAX {
            self.findings.push(finding);
        }
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(mismatch) = &self.mismatch {
            writeln!(f, "{mismatch}\n")?;
        }
        for Finding { class, subject, message, mending } in &self.findings {
            let class = match class {
                Class::Damage => "damage",
                Class::Waste => "waste",
                Class::Unfinished => "unfinished",
            };
            let mending = match mending {
                Mending::Done => " (mended)",
                Mending::Possible => " (--repair mends it)",
                Mending::None => "",
            };
            writeln!(f, "{class}: {subject}: {message}{mending}")?;
        }
        for SetAsideItem { path, size_bytes, since, removed_on } in &self.set_aside {
            write!(f, "set aside: {path} ({size_bytes} bytes")?;
            match (since.as_str(), removed_on.as_str()) {
                ("", _) => writeln!(f, ", unknown name, never removed)")?,
                (since, removed_on) => writeln!(f, ", since {since}, removed on {removed_on})")?,
            }
        }
        let Self { keys, repositories, artifacts, damage, damage_left, waste, unfinished, findings, .. } = self;
        let more = damage + waste + unfinished - findings.len() as u64;
        if more > 0 {
            writeln!(f, "and {more} more")?;
        }
        writeln!(
            f,
            "looked at {keys} keys, {repositories} repositories and {artifacts} artifacts: \
             damage {damage} (left {damage_left}), waste {waste}, unfinished {unfinished}"
        )
    }
}
