//! The counts of objects that the overview of a repository shows.

use std::time::Duration;

use farrier_common::client::RepositoryPath;

use crate::ui::{
    net::{Answer, Problem, RepositoryCounts, Request},
    repo::RepositorySummary,
    world::Env,
};

/// Counts older than this are requested again.
const COUNTS_KEEP: Duration = Duration::from_secs(30);

/// Counts, the time they were requested, and the repository's update time then.
#[derive(Debug)]
struct Counted {
    of: RepositoryPath,
    updated: i64,
    at: Duration,
    facts: RepositoryCounts,
}

/// The last counts, and the request for newer ones.
#[derive(Debug, Default)]
pub(super) struct Counts {
    counted: Option<Counted>,
    /// The count that is being requested, and the repository's update time before.
    counting: Option<(RepositoryPath, i64)>,
}

impl Counts {
    /// Sends one request at a time, so that moving through the repository list does not send one per row.
    pub(super) fn request(&mut self, repo: &RepositorySummary, path: RepositoryPath, again: bool, env: &mut Env) {
        let good = self.counted.as_ref().is_some_and(|counted| {
            let old = again && env.world.now >= counted.at + COUNTS_KEEP;
            counted.of == path && counted.updated == repo.updated && !old
        });
        if !good && self.counting.is_none() {
            self.counting = Some((path.clone(), repo.updated));
            env.send(Request::RepositoryCounts(path));
        }
    }

    /// Returns the counts of a repository.
    pub(super) fn of(&self, repo: &RepositorySummary) -> Option<&RepositoryCounts> {
        let name = repo.full_name();
        self.counted.as_ref().filter(|counted| counted.of.to_string() == name).map(|counted| &counted.facts)
    }

    /// Handles the response for `path`. Returns whether it contains the counts.
    pub(super) fn answered(&mut self, path: &RepositoryPath, result: &Result<Answer, Problem>, now: Duration) -> bool {
        let before = self.counting.take_if(|(counting, _)| counting == path);
        let (Some((of, updated)), Ok(Answer::RepositoryCounts(facts))) = (before, result) else { return false };
        self.counted = Some(Counted { of, updated, at: now, facts: (**facts).clone() });
        true
    }
}
