//! Workflow runs and their jobs.

use super::{Client, Pages, RepositoryPath};

impl Client {
    /// The runs of a repository, newest first.
    pub fn runs(&self, repo: &RepositoryPath) -> Pages<'_> {
        Pages::new(self, format!("{}/actions/runs", repo.api()))
    }

    /// The jobs of a run, oldest first.
    pub fn run_jobs(&self, repo: &RepositoryPath, run: i64) -> Pages<'_> {
        Pages::new(self, format!("{}/actions/runs/{run}/jobs", repo.api()))
    }
}
