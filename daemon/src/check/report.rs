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
        let Self { keys, repositories, artifacts, damage, damage_left, waste, unfinished, findings, mismatch: _ } =
            self;
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
