//! What is said of all artifacts together: how many there are, how large, and what expires next.

use std::sync::Arc;

use super::tree::expires_soon;
use crate::{
    output::human_bytes,
    ui::{
        runs::{Artifact, Tree},
        words,
        world::World,
    },
};

/// Artifacts that are named because they expire next.
const NEXT_MAX: usize = 8;

/// What is said of all artifacts together.
#[derive(Debug, Default)]
pub(crate) struct Facts {
    pub(super) runs: usize,
    pub(super) artifacts: usize,
    bytes: i64,
    /// Whether there are older ones that are not kept.
    pub(super) cut: bool,
    /// Those that expire next, the first one first.
    pub(super) next: Vec<Arc<Artifact>>,
}

impl Facts {
    pub(super) fn of(tree: &Tree, cut: bool) -> Self {
        let mut facts = Self { cut, ..Self::default() };
        for entry in tree.entries() {
            facts.runs += 1;
            facts.artifacts += entry.artifacts.len();
            facts.bytes += entry.bytes();
            for artifact in entry.artifacts.iter().filter(|one| one.is_ready()) {
                let at = facts.next.partition_point(|one| one.expires <= artifact.expires);
                if at < NEXT_MAX {
                    facts.next.insert(at, Arc::clone(artifact));
                    facts.next.truncate(NEXT_MAX);
                }
            }
        }
        facts
    }

    /// `2 runs, 14 artifacts, 41.7 GiB`. What may be used is a matter of each repository: it is told of
    /// `one` only.
    pub(super) fn told(&self, one: bool, world: &World) -> String {
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

    /// `map.json expires in 41m`, when something expires soon.
    pub(super) fn soon(&self, world: &World) -> Option<String> {
        let one = self.next.first().filter(|one| expires_soon(one, world.clock.now.as_second()))?;
        Some(format!("{} expires in {}", one.name(), world.clock.left(one.expires)))
    }
}
