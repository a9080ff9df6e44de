//! The outputs that get copies of audit entries, and whether they fail.

use std::{
    path::Path,
    sync::atomic::{AtomicBool, Ordering},
};

use crate::config::AuditConfig;

/// An output outside the store that receives a copy of each entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AuditOutput {
    /// The file `audit.file`.
    File,
    /// The systemd journal, with `audit.journal`.
    Journal,
}

impl AuditOutput {
    /// Returns the key of the setting. It is also the name of the saved position and never changes.
    pub fn key(self) -> &'static str {
        match self {
            Self::File => "audit.file",
            Self::Journal => "audit.journal",
        }
    }

    /// Returns the name of the saved position of a node, if several nodes use the store.
    pub fn key_of_node(self, node: u64) -> String {
        format!("{}@{node:016x}", self.key())
    }

    /// Returns the path of the file or the socket. `None`: the output is off.
    pub fn path(self, config: &AuditConfig) -> Option<&Path> {
        match self {
            Self::File => config.file.as_deref(),
            Self::Journal => config.journal.as_deref(),
        }
    }

    /// Returns the entry after which an output begins that was never used. `configured_after`: the newest entry when it
    /// was configured.
    ///
    /// The file gets all entries of the store. The journal gets only new ones, because it limits the rate.
    pub fn first_position(self, configured_after: u64) -> u64 {
        match self {
            Self::File => 0,
            Self::Journal => configured_after,
        }
    }
}

/// The outputs that fail now.
#[derive(Debug, Default)]
pub(super) struct FailingOutputs {
    file: AtomicBool,
    journal: AtomicBool,
}

impl FailingOutputs {
    pub(super) fn set(&self, output: AuditOutput, is_failing: bool) {
        self.of(output).store(is_failing, Ordering::Relaxed);
    }

    pub(super) fn contains(&self, output: AuditOutput) -> bool {
        self.of(output).load(Ordering::Relaxed)
    }

    fn of(&self, output: AuditOutput) -> &AtomicBool {
        match output {
            AuditOutput::File => &self.file,
            AuditOutput::Journal => &self.journal,
        }
    }
}
