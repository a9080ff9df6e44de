//! The report of a check, for people and for programs.

use std::{error::Error, fmt, path::Path};

use serde::Serialize;

use crate::data_dir::Mismatch;

/// Maximum number of findings in the report. Further ones are only counted.
const FINDINGS_MAX: usize = 10_000;

/// The class of a finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Class {
    /// Acknowledged data is missing or wrong.
    Damage,
    /// Unneeded data. It uses disk space and does no harm.
    Waste,
    /// An interrupted operation, which the daemon completes when it starts.
    Unfinished,
}

/// Whether a finding is repaired.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum RepairState {
    /// It was repaired.
    Done,
    /// `--repair` would repair it.
    Possible,
    /// This program cannot repair it.
    None,
}

/// One inconsistency.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// Its class.
    pub class: Class,
    /// The object: a repository, an artifact, a key of the store.
    pub subject: String,
    /// What is wrong with it.
    pub message: String,
    /// Whether it is repaired.
    #[serde(rename = "mending")]
    pub repair: RepairState,
}

/// A directory or file in `set-aside`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SetAsideItem {
    /// Its path below `set-aside`.
    pub path: String,
    /// Bytes of its files.
    pub size_bytes: u64,
    /// The day on which it was set aside, `YYYY-MM-DD`. Empty: the daemon does not recognize its name.
    pub since: String,
    /// The day on which the daemon removes it, `YYYY-MM-DD`. Empty: never.
    pub removed_on: String,
}

/// The result of a check.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct CheckReport {
    /// Keys of the store that were checked.
    pub keys: u64,
    /// Repositories that were checked.
    pub repositories: u64,
    /// Artifacts that were checked.
    pub artifacts: u64,
    /// Findings of class damage, repaired or not.
    pub damage: u64,
    /// Findings of class damage that are not repaired.
    pub damage_left: u64,
    /// Findings of class waste.
    pub waste: u64,
    /// Findings of class unfinished.
    pub unfinished: u64,
    /// All findings up to a limit.
    pub findings: Vec<Finding>,
    /// Why the store and the data do not belong together. `None`: they do.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mismatch: Option<Mismatch>,
    /// The content of `set-aside`.
    pub set_aside: Vec<SetAsideItem>,
}

impl CheckReport {
    /// Returns the report on a store that cannot be read.
    pub(super) fn of_damaged_store(path: &Path, error: &dyn Error) -> Self {
        let mut message = error.to_string();
        let mut cause = error.source();
        while let Some(error) = cause {
            message = format!("{message}: {error}");
            cause = error.source();
        }
        let mut report = Self::default();
        let subject = format!("store {}", path.display());
        report.add(Finding { class: Class::Damage, subject, message, repair: RepairState::None });
        report
    }

    /// Adds a finding.
    pub(super) fn add(&mut self, finding: Finding) {
        match finding.class {
            Class::Damage => {
                self.damage += 1;
                self.damage_left += u64::from(finding.repair != RepairState::Done);
            }
            Class::Waste => self.waste += 1,
            Class::Unfinished => self.unfinished += 1,
        }
        if self.findings.len() < FINDINGS_MAX {
            self.findings.push(finding);
        }
    }
}

impl fmt::Display for CheckReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(mismatch) = &self.mismatch {
            writeln!(f, "{mismatch}\n")?;
        }
        for Finding { class, subject, message, repair } in &self.findings {
            let class = match class {
                Class::Damage => "damage",
                Class::Waste => "waste",
                Class::Unfinished => "unfinished",
            };
            let repair = match repair {
                RepairState::Done => " (repaired)",
                RepairState::Possible => " (--repair repairs it)",
                RepairState::None => "",
            };
            writeln!(f, "{class}: {subject}: {message}{repair}")?;
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
            "checked {keys} keys, {repositories} repositories and {artifacts} artifacts: \
             damage {damage} (left {damage_left}), waste {waste}, unfinished {unfinished}"
        )
    }
}
