//! The tree of runs and their artifacts, which may be added in any order.
//!
//! A reload keeps unchanged entries. Folding and sorting belong to the screen.

use std::{
    collections::{BTreeMap, btree_map},
    sync::Arc,
};

use super::{ArtifactSummary, RunSummary, RunsBatch};

/// A run and its artifacts, the newest first.
#[derive(Clone, Debug)]
pub(crate) struct Entry {
    pub(crate) run: Arc<RunSummary>,
    pub(crate) artifacts: Vec<Arc<ArtifactSummary>>,
}

impl Entry {
    /// Returns the index of the artifact with this ID, or the index to insert it at.
    fn position(&self, id: i64) -> Result<usize, usize> {
        self.artifacts.binary_search_by(|one| id.cmp(&one.id))
    }

    /// Returns the total size of the artifacts that exist, in bytes.
    pub(crate) fn bytes(&self) -> i64 {
        self.artifacts.iter().filter(|one| one.is_ready()).map(|one| one.size).sum()
    }

    /// Returns when the first of them expires; 0 if none does.
    pub(crate) fn expires(&self) -> i64 {
        self.artifacts.iter().filter(|one| one.is_ready()).map(|one| one.expires()).min().unwrap_or(0)
    }
}

/// All runs with their artifacts.
#[derive(Clone, Debug, Default)]
pub(crate) struct Tree(BTreeMap<i64, Entry>);

impl Tree {
    /// Adds a batch. Unchanged entries are taken from `older`.
    pub(crate) fn add(&mut self, part: RunsBatch, older: &Self) {
        for run in part.runs {
            let before = older.0.get(&run.id).map(|entry| &entry.run).filter(|before| **before == run);
            let run = before.cloned().unwrap_or(run);
            // The artifacts of a run may arrive before the run.
            match self.0.entry(run.id) {
                btree_map::Entry::Occupied(mut known) => known.get_mut().run = run,
                btree_map::Entry::Vacant(vacant) => {
                    vacant.insert(Entry { run, artifacts: Vec::new() });
                }
            }
        }
        for (repo, artifact) in part.artifacts {
            let before =
                older.0.get(&artifact.run).and_then(|entry| Some(&entry.artifacts[entry.position(artifact.id).ok()?]));
            let artifact = before.filter(|before| **before == artifact).cloned().unwrap_or(artifact);
            let unknown = || Arc::new(RunSummary { id: artifact.run, repo, ..RunSummary::default() });
            let entry = self.0.entry(artifact.run).or_insert_with(|| Entry { run: unknown(), artifacts: Vec::new() });
            match entry.position(artifact.id) {
                Ok(at) => entry.artifacts[at] = artifact,
                Err(at) => entry.artifacts.insert(at, artifact),
            }
        }
    }

    /// Removes an artifact.
    pub(crate) fn remove(&mut self, id: i64) {
        if let Some((entry, at)) = self.position_mut(id) {
            entry.artifacts.remove(at);
        }
    }

    /// Changes when an artifact expires.
    pub(crate) fn expires(&mut self, id: i64, at: i64) {
        if let Some((entry, position)) = self.position_mut(id) {
            Arc::make_mut(&mut entry.artifacts[position]).set_expires(at);
        }
    }

    fn position_mut(&mut self, id: i64) -> Option<(&mut Entry, usize)> {
        let entry = self.0.get_mut(&self.run_of(id)?)?;
        let at = entry.position(id).ok()?;
        Some((entry, at))
    }

    /// Returns the entries, the newest run first.
    pub(crate) fn entries(&self) -> impl Iterator<Item = &Entry> {
        self.0.values().rev()
    }

    pub(crate) fn get(&self, run: i64) -> Option<&Entry> {
        self.0.get(&run)
    }

    /// Returns the artifact with this ID.
    pub(crate) fn find(&self, id: i64) -> Option<&Arc<ArtifactSummary>> {
        self.entries().find_map(|entry| entry.artifacts.get(entry.position(id).ok()?))
    }

    /// Returns the run of the artifact with this ID.
    pub(crate) fn run_of(&self, id: i64) -> Option<i64> {
        self.find(id).map(|artifact| artifact.run)
    }
}

#[cfg(test)]
mod tests {
    use farrier_common::api::{ArtifactJob, ArtifactRun, FoundArtifact, FoundRun};

    use super::{super::RunCompactor, *};

    fn artifact(id: i64, run: i64, name: &str) -> FoundArtifact {
        FoundArtifact {
            id,
            name: name.into(),
            size_in_bytes: 10 * id,
            digest: format!("sha256:{}", "0a".repeat(32)),
            created_at: "1970-01-01T00:01:00Z".into(),
            expires_at: format!("1970-01-01T01:00:{id:02}Z"),
            workflow_run: ArtifactRun { id: run, ..ArtifactRun::default() },
            repository: "infra/gateway".into(),
            job: ArtifactJob { id: 4, name: "build".into() },
            state: "ready".into(),
            version: 4,
            ..FoundArtifact::default()
        }
    }

    fn part(artifacts: &[(i64, i64, &str)]) -> RunsBatch {
        let mut compactor = RunCompactor::default();
        let run = |id| FoundRun { id, repository: "infra/gateway".into(), ..FoundRun::default() };
        let artifacts = artifacts.iter().map(|(id, run, name)| compactor.artifact(&artifact(*id, *run, name)));
        let artifacts = artifacts.collect();
        RunsBatch { runs: vec![compactor.run(run(9)), compactor.run(run(8))], artifacts, last: true, cut: false }
    }

    #[test]
    fn artifacts_are_assigned_to_runs_in_any_arrival_order() {
        let mut tree = Tree::default();
        let late = part(&[(21, 9, "a"), (20, 7, "b"), (22, 9, "c"), (21, 9, "again")]);
        tree.add(RunsBatch { runs: Vec::new(), ..late }, &Tree::default());
        tree.add(part(&[(7, 8, "d")]), &Tree::default());
        let shown: Vec<(i64, String)> = tree
            .entries()
            .map(|entry| (entry.run.id, entry.artifacts.iter().map(|one| one.name()).collect::<Vec<_>>().join(" ")))
            .collect();
        assert_eq!(shown, [(9, "c again".into()), (8, "d".into()), (7, "b".into())]);
        let nine = tree.get(9).unwrap();
        assert_eq!((nine.bytes(), nine.expires(), tree.run_of(7), tree.run_of(1)), (430, 3_621, Some(8), None));
        assert_eq!((&*tree.get(7).unwrap().run.repo, nine.artifacts[0].sha256()), ("infra/gateway", "0a".repeat(32)));
    }

    #[test]
    fn deletions_and_expiry_changes_apply_without_a_refresh() {
        let mut tree = Tree::default();
        tree.add(part(&[(21, 9, "a"), (20, 9, "b")]), &Tree::default());
        tree.remove(21);
        tree.expires(20, 77);
        tree.remove(99);
        tree.expires(99, 77);
        let nine = tree.get(9).unwrap();
        assert_eq!((nine.artifacts.len(), nine.artifacts[0].name(), nine.expires()), (1, "b", 77));
    }

    #[test]
    fn unchanged_runs_and_artifacts_are_shared_with_the_older_tree() {
        let (mut older, mut newer) = (Tree::default(), Tree::default());
        older.add(part(&[(21, 9, "a"), (20, 9, "b")]), &Tree::default());
        newer.add(part(&[(21, 9, "a"), (20, 9, "changed")]), &older);
        let (before, after) = (older.get(9).unwrap(), newer.get(9).unwrap());
        assert!(Arc::ptr_eq(&before.run, &after.run) && Arc::ptr_eq(&before.artifacts[0], &after.artifacts[0]));
        assert!(!Arc::ptr_eq(&before.artifacts[1], &after.artifacts[1]));
        assert!(size_of::<ArtifactSummary>() <= 104, "{} bytes an artifact", size_of::<ArtifactSummary>());
    }
}
