//! Totals over all artifacts: number, size, and the artifacts that expire next.

use std::sync::Arc;

use super::tree::expires_soon;
use crate::{
    output::human_bytes,
    ui::{
        runs::{ArtifactSummary, Tree},
        words,
        world::World,
    },
};

/// Number of artifacts that are named as the next ones to expire.
const NEXT_MAX: usize = 8;

/// Totals over all artifacts.
#[derive(Debug, Default)]
pub(crate) struct ArtifactTotals {
    pub(super) runs: usize,
    pub(super) artifacts: usize,
    bytes: i64,
    /// Whether older runs exist that are not kept in memory.
    pub(super) cut: bool,
    /// The artifacts that expire next, the earliest first.
    pub(super) next: Vec<Arc<ArtifactSummary>>,
}

impl ArtifactTotals {
    pub(super) fn of(tree: &Tree, cut: bool) -> Self {
        let mut totals = Self { cut, ..Self::default() };
        for entry in tree.entries() {
            totals.runs += 1;
            totals.artifacts += entry.artifacts.len();
            totals.bytes += entry.bytes();
            for artifact in entry.artifacts.iter().filter(|one| one.is_ready()) {
                let at = totals.next.partition_point(|one| one.expires() <= artifact.expires());
                if at < NEXT_MAX {
                    totals.next.insert(at, Arc::clone(artifact));
                    totals.next.truncate(NEXT_MAX);
                }
            }
        }
        totals
    }

    /// Formats the totals as `2 runs, 14 artifacts, 41.7 GiB`. Limits apply per repository, so they are shown only
    /// if the list is limited to `one` repository.
    pub(super) fn summary(&self, one: bool, world: &World) -> String {
        let many = |count: usize, one: &str| {
            let plural = if count == 1 { "" } else { "s" };
            format!("{} {one}{plural}", words::count(i64::try_from(count).unwrap_or(i64::MAX)))
        };
        let quota = world.status.as_ref().map_or(0, |status| status.artifacts.quota_bytes);
        let quota = if one && quota > 0 { format!(" of {}", human_bytes(quota)) } else { String::new() };
        let bytes = human_bytes(self.bytes);
        let newest = if self.cut { "only the newest " } else { "" };
        format!("{newest}{}, {}, {bytes}{quota}", many(self.runs, "run"), many(self.artifacts, "artifact"))
    }

    /// Returns `map.json expires in 41m` if an artifact expires soon.
    pub(super) fn soon(&self, world: &World) -> Option<String> {
        let one = self.next.first().filter(|one| expires_soon(one, world.clock.now.as_second()))?;
        Some(format!("{} expires in {}", one.name(), world.clock.left(one.expires())))
    }
}
