//! Compact representation of a run for the list of runs.
//!
//! Contains all fields of the API. Repositories, workflows and names of jobs are stored once for neighbors that have
//! the same.

use std::sync::Arc;

use farrier_common::api::{FoundJob, FoundRun};

use super::Outcome;
use crate::ui::{
    compact::{SharedValues, short_seconds},
    words,
};

/// A run with its jobs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ListedRun {
    pub(crate) id: i64,
    origin: Arc<Origin>,
    workflow: Arc<Workflow>,
    sha: Box<str>,
    /// Number of the run within its repository.
    number: i64,
    /// Seconds since 1970; 0 for none.
    began: u32,
    ended: u32,
    /// The oldest first.
    jobs: Box<[ListedJob]>,
}

/// The repository of a run.
#[derive(Debug, PartialEq, Eq)]
struct Origin {
    /// `owner/name`.
    repository: String,
    id: i64,
    /// The address of a run before the ID of the run.
    address: String,
    /// Whether the ID of the run follows the address.
    has_id: bool,
}

/// Values that many runs have in common.
#[derive(Debug, PartialEq, Eq)]
struct Workflow {
    title: String,
    branch: String,
    status: String,
    conclusion: String,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct ListedJob {
    id: i64,
    kind: Arc<JobKind>,
    began: u32,
    ended: u32,
}

/// Values that many jobs have in common.
#[derive(Debug, PartialEq, Eq)]
struct JobKind {
    name: String,
    status: String,
    conclusion: String,
}

impl ListedRun {
    /// Returns the repository, `owner/name`.
    pub(crate) fn repository(&self) -> &str {
        &self.origin.repository
    }

    /// Returns the name of the workflow; empty if the agent sent none.
    pub(crate) fn title(&self) -> &str {
        &self.workflow.title
    }

    /// Returns the branch; empty if the agent sent none.
    pub(crate) fn branch(&self) -> &str {
        &self.workflow.branch
    }

    /// Returns the commit; empty if the agent sent none.
    pub(crate) fn sha(&self) -> &str {
        &self.sha
    }

    pub(crate) fn outcome(&self) -> Outcome {
        Outcome::of(&self.workflow.status, &self.workflow.conclusion)
    }

    pub(crate) fn is_running(&self) -> bool {
        self.outcome() == Outcome::Running
    }

    /// Returns whether the daemon reports the conclusion `failure`.
    pub(crate) fn has_failed(&self) -> bool {
        self.workflow.conclusion == "failure"
    }

    /// Returns when it began in seconds since 1970; 0 for none.
    pub(crate) fn began(&self) -> i64 {
        self.began.into()
    }

    /// Returns when its last job ended in seconds since 1970; 0 while it runs.
    pub(crate) fn ended(&self) -> i64 {
        self.ended.into()
    }

    /// Returns the names of its jobs, the oldest first.
    pub(crate) fn job_names(&self) -> impl ExactSizeIterator<Item = &str> {
        self.jobs.iter().map(|job| &*job.kind.name)
    }

    /// Returns its jobs as the daemon sent them.
    pub(crate) fn jobs(&self) -> Vec<FoundJob> {
        let job = |job: &ListedJob| FoundJob {
            id: job.id,
            name: job.kind.name.clone(),
            status: job.kind.status.clone(),
            conclusion: job.kind.conclusion.clone(),
            started_at: words::rfc3339(job.began.into()),
            completed_at: words::rfc3339(job.ended.into()),
        };
        self.jobs.iter().map(job).collect()
    }

    /// Returns the run as the daemon sent it.
    pub(crate) fn run(&self) -> FoundRun {
        let Origin { address, has_id, .. } = &*self.origin;
        FoundRun {
            id: self.id,
            url: if *has_id { format!("{address}{}", self.id) } else { address.clone() },
            repository: self.repository().to_owned(),
            repository_id: self.origin.id,
            run_number: self.number,
            display_title: self.title().to_owned(),
            head_branch: self.branch().to_owned(),
            head_sha: self.sha().to_owned(),
            status: self.workflow.status.clone(),
            conclusion: self.workflow.conclusion.clone(),
            started_at: words::rfc3339(self.began()),
            completed_at: words::rfc3339(self.ended()),
            jobs: self.jobs(),
        }
    }
}

/// Converts runs to the compact form and shares common values.
#[derive(Debug, Default)]
pub(crate) struct ListedRunCompactor {
    origins: SharedValues<Origin>,
    workflows: SharedValues<Workflow>,
    jobs: SharedValues<JobKind>,
}

impl ListedRunCompactor {
    pub(crate) fn compact(&mut self, run: FoundRun) -> ListedRun {
        let before_id = run.url.strip_suffix(&run.id.to_string()).map(str::to_owned);
        let has_id = before_id.is_some();
        ListedRun {
            id: run.id,
            origin: self.origins.share(Origin {
                repository: run.repository,
                id: run.repository_id,
                address: before_id.unwrap_or(run.url),
                has_id,
            }),
            workflow: self.workflows.share(Workflow {
                title: run.display_title,
                branch: run.head_branch,
                status: run.status,
                conclusion: run.conclusion,
            }),
            sha: run.head_sha.into(),
            number: run.run_number,
            began: short_seconds(&run.started_at),
            ended: short_seconds(&run.completed_at),
            jobs: run.jobs.into_iter().map(|job| self.job(job)).collect(),
        }
    }

    fn job(&mut self, job: FoundJob) -> ListedJob {
        let FoundJob { name, status, conclusion, .. } = job;
        ListedJob {
            id: job.id,
            kind: self.jobs.share(JobKind { name, status, conclusion }),
            began: short_seconds(&job.started_at),
            ended: short_seconds(&job.completed_at),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ui::compact::row_bytes;

    fn run(id: i64) -> FoundRun {
        let job = FoundJob {
            id: id * 10,
            name: "build-linux".into(),
            status: "completed".into(),
            conclusion: "success".into(),
            started_at: "2026-11-21T11:58:10Z".into(),
            completed_at: "2026-11-21T11:59:00Z".into(),
        };
        FoundRun {
            id,
            url: format!("https://forge.example.org/platform-team/gateway/actions/runs/{id}"),
            repository: "platform-team/gateway".into(),
            repository_id: 12,
            run_number: id - 3,
            display_title: "ci".into(),
            head_branch: "main".into(),
            head_sha: "a1b2c3d4e5".repeat(4),
            status: "completed".into(),
            conclusion: "success".into(),
            started_at: "2026-11-21T11:58:00Z".into(),
            completed_at: "2026-11-21T11:59:00Z".into(),
            jobs: vec![job],
        }
    }

    fn compacted(run: &FoundRun) -> ListedRun {
        ListedRunCompactor::default().compact(run.clone())
    }

    #[test]
    fn a_run_is_returned_as_the_daemon_sent_it() {
        let mut running = FoundRun {
            status: "in_progress".into(),
            conclusion: String::new(),
            completed_at: "0001-01-01T00:00:00Z".into(),
            url: "https://forge.example.org/latest".into(),
            ..run(8)
        };
        let second = FoundJob {
            id: 81,
            name: "test".into(),
            status: "in_progress".into(),
            started_at: "2026-11-21T11:58:30Z".into(),
            completed_at: "0001-01-01T00:00:00Z".into(),
            ..FoundJob::default()
        };
        running.jobs.push(second);
        let unknown = FoundRun {
            display_title: String::new(),
            head_branch: String::new(),
            head_sha: String::new(),
            url: String::new(),
            jobs: Vec::new(),
            ..run(9)
        };
        for sent in [run(7), running, unknown] {
            assert_eq!(compacted(&sent).run(), sent);
        }
    }

    #[test]
    fn the_values_of_a_run_are_read_without_its_object() {
        let one = compacted(&run(7));
        assert_eq!((one.id, one.repository(), one.title(), one.branch()), (7, "platform-team/gateway", "ci", "main"));
        assert_eq!((one.sha(), one.ended() - one.began()), (&*"a1b2c3d4e5".repeat(4), 60));
        assert_eq!((one.outcome(), one.is_running(), one.has_failed()), (Outcome::Success, false, false));
        assert_eq!((one.job_names().collect::<Vec<_>>(), one.jobs()), (vec!["build-linux"], run(7).jobs));
        let failed = compacted(&FoundRun { conclusion: "failure".into(), ..run(7) });
        assert!(failed.has_failed() && failed != one);
        assert!(compacted(&FoundRun { status: "in_progress".into(), ..run(7) }).is_running());
    }

    #[test]
    fn a_run_of_a_long_list_needs_at_most_180_bytes() {
        let mut compactor = ListedRunCompactor::default();
        let (one, other) = (compactor.compact(run(12_345)), compactor.compact(run(12_346)));
        assert!(Arc::ptr_eq(&one.origin, &other.origin) && Arc::ptr_eq(&one.workflow, &other.workflow));
        assert!(Arc::ptr_eq(&one.jobs[0].kind, &other.jobs[0].kind));
        let bytes = row_bytes::<ListedRun>(&[one.sha.len(), size_of_val(&*one.jobs)]);
        assert!(bytes <= 180, "{bytes} bytes a row");
    }
}
