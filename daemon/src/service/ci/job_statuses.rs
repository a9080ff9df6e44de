//! Statuses of commits that jobs write: a job adds a status to the commit of its run when it begins and when it ends.
//!
//! The commit is read before the transaction that changes the job. The status and its event are written in that
//! transaction, so a job and its status agree after a crash. Jobs of a run with the same name share a context.

use std::collections::BTreeMap;

use farrier_proto::store::{CommitStatus, Conclusion, Job, Repository, Run, RunStatus, StatusState, User};

use crate::{
    clock::Millis,
    git::read::{commit::CommitObject, rev},
    model::root_url::RootUrl,
    service::{
        Context, Error, browse,
        events::{EventKind, Subject},
        migrations,
        statuses::TEXT_MAX_CHARS,
    },
    show,
    store::{StoreError, Tx, ids::IdKind, repositories, runs, statuses},
};

/// Between the workflow and the job in a context.
const SEPARATOR: &str = " / ";
/// Longest part of the name of a job in the context, in characters. The workflow gets the rest.
const JOB_MAX_CHARS: usize = 126;
/// Most bytes of a commit in an event. Each job that a transaction changes has an event of its own.
const COMMIT_MAX_BYTES: usize = 64 << 10;

/// Writes the statuses of one transaction under ids that were reserved before it.
pub(super) struct JobStatuses<'a> {
    root_url: &'a RootUrl,
    /// `None`: the run names no commit of the repository, so nothing is written.
    commit: Option<RunCommit>,
    ids: Vec<u64>,
    now: Millis,
}

/// The commit of a run.
struct RunCommit {
    object: CommitObject,
    people: BTreeMap<String, User>,
    /// Whether git could read the commit. If not, only its id is known, and only contexts that the commit already has
    /// get a status.
    is_read: bool,
}

impl<'a> JobStatuses<'a> {
    /// Reads the commit `sha` of `repository`. If it exists, reserves ids for at most `most` statuses.
    pub(super) async fn reserve(
        context: &'a Context,
        repository: &Repository,
        sha: &str,
        most: usize,
    ) -> Result<Self, Error> {
        let commit = RunCommit::read(context, repository, sha).await?;
        let mut ids = Vec::new();
        if commit.is_some() {
            for _ in 0..most {
                ids.push(context.store.next_id(IdKind::Status).await?);
            }
        }
        Ok(Self { root_url: &context.root_url, commit, ids, now: context.now_ms() })
    }

    /// Like [`JobStatuses::reserve`], for the commit of the run `run`. Without the run, nothing is written.
    pub(super) async fn of_run(context: &'a Context, run: u64, most: usize) -> Result<Self, Error> {
        let snapshot = context.store.read().await?;
        let run = runs::run(&snapshot, run).await?.unwrap_or_default();
        let repository = repositories::get(&snapshot, run.repository_id).await?.unwrap_or_default();
        drop(snapshot);
        Self::reserve(context, &repository, &run.head_sha, most).await
    }

    /// Like [`JobStatuses::of_run`], for the run of the job `job`.
    pub(super) async fn of_job(context: &'a Context, job: u64) -> Result<Self, Error> {
        let row = runs::job_by_id(&context.store.read().await?, job).await?;
        Self::of_run(context, row.unwrap_or_default().run_id, 1).await
    }

    /// Adds the statuses of `changed` to the commit, in the transaction that changes these jobs. A commit that has too
    /// many contexts gets no new one.
    pub(super) async fn write(
        &self,
        tx: &Tx,
        subject: Subject<'_>,
        changed: &[(&Job, &Run)],
    ) -> Result<Vec<CommitStatus>, StoreError> {
        let mut written = Vec::new();
        let Some(commit) = &self.commit else { return Ok(written) };
        let (repository, id) = (subject.repository.id, commit.object.id.as_str());
        for (number, (job, run)) in self.ids.iter().zip(changed) {
            let status = self.status(*number, subject, job, run);
            let is_allowed = commit.is_read || statuses::has_context(tx, repository, id, &status.context).await?;
            if is_allowed && statuses::insert(tx, repository, id, &status).await? {
                written.push(status);
            }
        }
        Ok(written)
    }

    /// Returns the kinds of the events of `written`.
    pub(super) fn events<'e>(&'e self, written: &'e [CommitStatus]) -> Vec<EventKind<'e>> {
        let Some(RunCommit { object, people, .. }) = &self.commit else { return Vec::new() };
        written.iter().map(|status| EventKind::Status { commit: object, status, people }).collect()
    }

    fn status(&self, id: u64, subject: Subject<'_>, job: &Job, run: &Run) -> CommitStatus {
        let (state, description) = state(job);
        let path = format!("{}/{}", subject.owner.name(), subject.repository.name);
        let address = format!("{}/runs/{}", show::actions_url(self.root_url, &path), run.id);
        CommitStatus {
            id,
            state: state.into(),
            context: context_name(&run.workflow, &job.name),
            description: description.to_owned(),
            target_url: if address.chars().count() > TEXT_MAX_CHARS { String::new() } else { address },
            creator_id: subject.actor.id(),
            created_ms: self.now,
        }
    }
}

impl RunCommit {
    /// Returns the commit `sha` of `repository`. `None` if `sha` is not the full id of a commit that exists. A commit
    /// that git cannot read does not keep jobs from beginning and ending.
    async fn read(context: &Context, repository: &Repository, sha: &str) -> Result<Option<Self>, Error> {
        if !rev::is_full_id(sha) || repository.deleted {
            return Ok(None);
        }
        let id = migrations::readable(repository);
        let found = match context.copies.current(id).await {
            Ok(_) => context.git.reader(id).commits(&[sha.to_owned()]).await.map_err(Error::git("reading a commit")),
            Err(error) => Err(error.into()),
        };
        let object = match found {
            // Git takes an id of 40 digits for the beginning of an id in repositories with SHA-256.
            Ok(found) => found.into_iter().find(|object| object.id.eq_ignore_ascii_case(sha)),
            Err(error) => {
                tracing::warn!(
                    repository = repository.id,
                    sha,
                    error = &error as &dyn std::error::Error,
                    "the commit of a run could not be read"
                );
                let object = CommitObject { id: sha.to_ascii_lowercase(), ..CommitObject::default() };
                return Ok(Some(Self { object, people: BTreeMap::new(), is_read: false }));
            }
        };
        let Some(object) = object.map(without_long_texts) else { return Ok(None) };
        let people = browse::people(&context.store.read().await?, &[&object]).await?;
        Ok(Some(Self { object, people, is_read: true }))
    }
}

/// Returns a commit for events. Of a commit with longer texts than any person writes, only the id is left.
fn without_long_texts(commit: CommitObject) -> CommitObject {
    let people = [&commit.author, &commit.committer];
    let texts: usize = people.iter().map(|person| person.name.len() + person.email.len()).sum();
    let parents: usize = commit.parents.iter().map(String::len).sum();
    if texts + parents + commit.message.len() > COMMIT_MAX_BYTES {
        return CommitObject { id: commit.id, ..CommitObject::default() };
    }
    CommitObject { signed: None, ..commit }
}

/// Returns the state and the description of the status of a job. A cancelled job has no result, which is an error.
fn state(job: &Job) -> (StatusState, &'static str) {
    match (job.status(), job.conclusion()) {
        (RunStatus::InProgress | RunStatus::Unspecified, _) => (StatusState::Pending, "The job is in progress"),
        (RunStatus::Completed, Conclusion::Success) => (StatusState::Success, "The job succeeded"),
        (RunStatus::Completed, Conclusion::Failure) => (StatusState::Failure, "The job failed"),
        (RunStatus::Completed, Conclusion::Skipped) => (StatusState::Skipped, "The job was skipped"),
        (RunStatus::Completed, Conclusion::Cancelled | Conclusion::Unspecified) => {
            (StatusState::Error, "The job was cancelled")
        }
    }
}

/// Returns the context of the statuses of a job: `workflow / job`, or the job if the run has no workflow. Long names
/// are cut.
fn context_name(workflow: &str, job: &str) -> String {
    if workflow.is_empty() {
        return job.to_owned();
    }
    let job: String = job.chars().take(JOB_MAX_CHARS).collect();
    let rest = TEXT_MAX_CHARS - SEPARATOR.len() - job.chars().count();
    let workflow: String = workflow.chars().take(rest).collect();
    format!("{workflow}{SEPARATOR}{job}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::git::read::commit::Signed;

    #[test]
    fn contexts_name_the_workflow_and_the_job_within_the_limit() {
        assert_eq!(context_name("ci.yml", "build"), "ci.yml / build");
        assert_eq!(context_name("", "build"), "build");
        let long = "\u{e4}".repeat(255);
        for (workflow, job) in [(long.as_str(), "build"), ("ci.yml", long.as_str()), (&long, &long), ("", &long)] {
            let context = context_name(workflow, job);
            assert!(context.chars().count() <= TEXT_MAX_CHARS, "{context}");
        }
        let both = context_name(&long, &long);
        assert_eq!((both.chars().count(), both.split(SEPARATOR).count()), (TEXT_MAX_CHARS, 2));
        assert!(context_name(&long, "build").ends_with(" / build"));
    }

    #[test]
    fn events_have_no_commits_with_very_long_texts() {
        let commit = |length: usize| CommitObject {
            id: "1".repeat(40),
            message: "m".repeat(length),
            signed: Some(Signed::default()),
            ..CommitObject::default()
        };
        let (usual, long) = (without_long_texts(commit(1_000)), without_long_texts(commit(COMMIT_MAX_BYTES + 1)));
        assert_eq!((usual.message.len(), usual.signed), (1_000, None));
        assert_eq!((long.id, long.message), ("1".repeat(40), String::new()));
    }

    #[test]
    fn the_state_of_a_status_follows_from_the_job() {
        let job = |status: RunStatus, conclusion: Conclusion| {
            state(&Job { status: status.into(), conclusion: conclusion.into(), ..Job::default() }).0
        };
        assert_eq!(job(RunStatus::InProgress, Conclusion::Unspecified), StatusState::Pending);
        for (conclusion, expected) in [
            (Conclusion::Success, StatusState::Success),
            (Conclusion::Failure, StatusState::Failure),
            (Conclusion::Skipped, StatusState::Skipped),
            (Conclusion::Cancelled, StatusState::Error),
        ] {
            assert_eq!(job(RunStatus::Completed, conclusion), expected);
        }
    }
}
