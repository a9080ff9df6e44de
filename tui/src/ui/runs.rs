//! Runs and artifacts as lists keep them, and the tree that they are.
//!
//! Owns what of them stays in memory while a hundred thousand are listed: each once, however many rows
//! show it, and texts that many have in common only once. To ask for everything again keeps what has
//! not changed.

use std::{
    collections::{BTreeMap, btree_map},
    sync::Arc,
};

use farrier_common::api::{FoundArtifact, FoundJob, FoundRun};

use super::words;

/// How a run or a job ended, if it did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Outcome {
    #[default]
    Running,
    Success,
    Failure,
    Cancelled,
    Skipped,
}

impl Outcome {
    fn of(status: &str, conclusion: &str) -> Self {
        match (status, conclusion) {
            ("completed", "success") => Self::Success,
            ("completed", "failure") => Self::Failure,
            ("completed", "skipped") => Self::Skipped,
            ("completed", _) => Self::Cancelled,
            _ => Self::Running,
        }
    }
}

/// A run.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Run {
    pub(crate) id: i64,
    /// `owner/name`.
    pub(crate) repo: Arc<str>,
    pub(crate) title: Box<str>,
    /// Empty when the agent named none; so is the commit.
    pub(crate) branch: Box<str>,
    pub(crate) sha: Box<str>,
    pub(crate) outcome: Outcome,
    /// Seconds since 1970; 0 for none.
    pub(crate) began: i64,
    pub(crate) ended: i64,
    /// The oldest first.
    pub(crate) jobs: Box<[Job]>,
}

/// A job of a run.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Job {
    pub(crate) id: i64,
    pub(crate) name: Box<str>,
    pub(crate) outcome: Outcome,
    pub(crate) began: i64,
    pub(crate) ended: i64,
}

/// How far an artifact is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum State {
    Uploading,
    #[default]
    Ready,
    Expired,
}

/// An artifact.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Artifact {
    pub(crate) id: i64,
    pub(crate) run: i64,
    pub(crate) job: i64,
    /// Its name, a blank and its repository: what filters look through.
    text: Box<str>,
    name_bytes: u32,
    pub(crate) size: i64,
    sha256: [u8; 32],
    /// Seconds since 1970; 0 for none.
    pub(crate) created: i64,
    pub(crate) expires: i64,
    /// Of the protocol; 0: unknown.
    pub(crate) version: i32,
    pub(crate) state: State,
}

impl Artifact {
    pub(crate) fn name(&self) -> &str {
        &self.text[..self.name_bytes as usize]
    }

    /// Its name, and its repository behind it.
    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    /// The digest in hexadecimal digits; empty while there is none.
    pub(crate) fn sha256(&self) -> String {
        if self.is_uploading() { String::new() } else { hex::encode(self.sha256) }
    }

    pub(crate) fn is_uploading(&self) -> bool {
        self.state == State::Uploading
    }

    pub(crate) fn is_ready(&self) -> bool {
        self.state == State::Ready
    }
}

/// Runs and artifacts, as they come: each artifact with its repository.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Part {
    pub(crate) runs: Vec<Arc<Run>>,
    pub(crate) artifacts: Vec<(Arc<str>, Arc<Artifact>)>,
    /// Whether nothing follows.
    pub(crate) last: bool,
    /// Whether there are older ones that are not kept.
    pub(crate) cut: bool,
}

/// Makes runs and artifacts small, and remembers what neighbours have in common.
#[derive(Debug, Default)]
pub(crate) struct Slimmer {
    repo: Arc<str>,
}

impl Slimmer {
    pub(crate) fn run(&mut self, whole: FoundRun) -> Arc<Run> {
        Arc::new(Run {
            id: whole.id,
            repo: self.repo(&whole.repository),
            title: whole.display_title.into(),
            branch: whole.head_branch.into(),
            sha: whole.head_sha.into(),
            outcome: Outcome::of(&whole.status, &whole.conclusion),
            began: words::seconds(&whole.started_at),
            ended: words::seconds(&whole.completed_at),
            jobs: whole.jobs.into_iter().map(job).collect(),
        })
    }

    pub(crate) fn artifact(&mut self, whole: &FoundArtifact) -> (Arc<str>, Arc<Artifact>) {
        let mut sha256 = [0; 32];
        // What is no digest is shown as none would be.
        let _ = hex::decode_to_slice(whole.digest.trim_start_matches("sha256:"), &mut sha256);
        let state = match whole.state.as_str() {
            "uploading" => State::Uploading,
            _ if whole.expired => State::Expired,
            _ => State::Ready,
        };
        let artifact = Artifact {
            id: whole.id,
            run: whole.workflow_run.id,
            job: whole.job.id,
            text: format!("{} {}", whole.name, whole.repository).into(),
            // No answer of a daemon is as long as numbers of this size go.
            name_bytes: u32::try_from(whole.name.len()).unwrap_or(u32::MAX),
            size: whole.size_in_bytes,
            sha256,
            created: words::seconds(&whole.created_at),
            expires: words::seconds(&whole.expires_at),
            version: whole.version,
            state,
        };
        (self.repo(&whole.repository), Arc::new(artifact))
    }

    fn repo(&mut self, name: &str) -> Arc<str> {
        if *self.repo != *name {
            self.repo = name.into();
        }
        Arc::clone(&self.repo)
    }
}

fn job(whole: FoundJob) -> Job {
    Job {
        id: whole.id,
        name: whole.name.into(),
        outcome: Outcome::of(&whole.status, &whole.conclusion),
        began: words::seconds(&whole.started_at),
        ended: words::seconds(&whole.completed_at),
    }
}

/// A run and its artifacts, the newest first.
#[derive(Clone, Debug)]
pub(crate) struct Entry {
    pub(crate) run: Arc<Run>,
    pub(crate) artifacts: Vec<Arc<Artifact>>,
}

impl Entry {
    /// Where the artifact with number `id` is, or would be.
    fn place(&self, id: i64) -> Result<usize, usize> {
        self.artifacts.binary_search_by(|one| id.cmp(&one.id))
    }

    /// Bytes of those that are there.
    pub(crate) fn bytes(&self) -> i64 {
        self.artifacts.iter().filter(|one| one.is_ready()).map(|one| one.size).sum()
    }

    /// When the first of them expires; 0: none does.
    pub(crate) fn expires(&self) -> i64 {
        self.artifacts.iter().filter(|one| one.is_ready()).map(|one| one.expires).min().unwrap_or(0)
    }
}

/// All runs with their artifacts.
#[derive(Clone, Debug, Default)]
pub(crate) struct Tree(BTreeMap<i64, Entry>);

impl Tree {
    /// Takes what came. What is the same in `older` is kept from there.
    pub(crate) fn add(&mut self, part: Part, older: &Self) {
        for run in part.runs {
            let before = older.0.get(&run.id).map(|entry| &entry.run).filter(|before| **before == run);
            let run = before.cloned().unwrap_or(run);
            // Its artifacts may have come first.
            match self.0.entry(run.id) {
                btree_map::Entry::Occupied(mut known) => known.get_mut().run = run,
                btree_map::Entry::Vacant(place) => {
                    place.insert(Entry { run, artifacts: Vec::new() });
                }
            }
        }
        for (repo, artifact) in part.artifacts {
            let before =
                older.0.get(&artifact.run).and_then(|entry| Some(&entry.artifacts[entry.place(artifact.id).ok()?]));
            let artifact = before.filter(|before| **before == artifact).cloned().unwrap_or(artifact);
            let unknown = || Arc::new(Run { id: artifact.run, repo, ..Run::default() });
            let entry = self.0.entry(artifact.run).or_insert_with(|| Entry { run: unknown(), artifacts: Vec::new() });
            match entry.place(artifact.id) {
                Ok(at) => entry.artifacts[at] = artifact,
                Err(at) => entry.artifacts.insert(at, artifact),
            }
        }
    }

    /// Forgets an artifact.
    pub(crate) fn remove(&mut self, id: i64) {
        if let Some((entry, at)) = self.place_mut(id) {
            entry.artifacts.remove(at);
        }
    }

    /// An artifact expires at another time.
    pub(crate) fn expires(&mut self, id: i64, at: i64) {
        if let Some((entry, place)) = self.place_mut(id) {
            Arc::make_mut(&mut entry.artifacts[place]).expires = at;
        }
    }

    fn place_mut(&mut self, id: i64) -> Option<(&mut Entry, usize)> {
        let entry = self.0.get_mut(&self.run_of(id)?)?;
        let at = entry.place(id).ok()?;
        Some((entry, at))
    }

    /// The newest run first.
    pub(crate) fn entries(&self) -> impl Iterator<Item = &Entry> {
        self.0.values().rev()
    }

    pub(crate) fn get(&self, run: i64) -> Option<&Entry> {
        self.0.get(&run)
    }

    /// The artifact with number `id`.
    pub(crate) fn find(&self, id: i64) -> Option<&Arc<Artifact>> {
        self.entries().find_map(|entry| entry.artifacts.get(entry.place(id).ok()?))
    }

    /// The run of the artifact with number `id`.
    pub(crate) fn run_of(&self, id: i64) -> Option<i64> {
        self.find(id).map(|artifact| artifact.run)
    }
}

#[cfg(test)]
mod tests {
    use farrier_common::api::{ArtifactJob, ArtifactRun};

    use super::*;

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

    fn part(artifacts: &[(i64, i64, &str)]) -> Part {
        let mut slimmer = Slimmer::default();
        let run = |id| FoundRun { id, repository: "infra/gateway".into(), ..FoundRun::default() };
        let artifacts = artifacts.iter().map(|(id, run, name)| slimmer.artifact(&artifact(*id, *run, name)));
        let artifacts = artifacts.collect();
        Part { runs: vec![slimmer.run(run(9)), slimmer.run(run(8))], artifacts, last: true, cut: false }
    }

    #[test]
    fn artifacts_find_their_run_in_whatever_order_both_come() {
        let mut tree = Tree::default();
        let late = part(&[(21, 9, "a"), (20, 7, "b"), (22, 9, "c"), (21, 9, "again")]);
        tree.add(Part { runs: Vec::new(), ..late }, &Tree::default());
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
    fn what_was_done_is_seen_before_it_is_asked_for() {
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
    fn what_has_not_changed_is_there_once() {
        let (mut older, mut newer) = (Tree::default(), Tree::default());
        older.add(part(&[(21, 9, "a"), (20, 9, "b")]), &Tree::default());
        newer.add(part(&[(21, 9, "a"), (20, 9, "changed")]), &older);
        let (before, after) = (older.get(9).unwrap(), newer.get(9).unwrap());
        assert!(Arc::ptr_eq(&before.run, &after.run) && Arc::ptr_eq(&before.artifacts[0], &after.artifacts[0]));
        assert!(!Arc::ptr_eq(&before.artifacts[1], &after.artifacts[1]));
        assert!(size_of::<Artifact>() <= 112, "{} bytes an artifact", size_of::<Artifact>());
    }
}
