//! Lists runs across repositories, newest first, limited to those that the caller may read.

use farrier_proto::store::{Conclusion, Job, Run, RunStatus};

use super::JOBS_MAX;
use crate::{
    model::identity::Identity,
    service::{Error, access::Action, repositories::AccessCache},
    store::{Read, runs},
};

/// Rows to read per scan.
const STEP: usize = 100;
/// Maximum number of rows that one page skips. A caller with little access gets a short page with a cursor.
const SKIPPED_MAX: usize = 4_096;

/// The filters and position of a list.
#[derive(Clone, Debug, Default)]
pub struct RunQuery {
    /// Only runs of this repository, which the caller may read.
    pub repository: Option<u64>,
    /// Only runs with this status.
    pub status: Option<RunStatus>,
    /// Only runs with this conclusion.
    pub conclusion: Option<Conclusion>,
    /// Words in lower case, each of which must be a part of the ID, the repository, the workflow, the branch or the
    /// commit.
    pub words: Vec<String>,
    /// Only runs before this id.
    pub before: Option<u64>,
    /// Maximum number of items.
    pub limit: usize,
}

/// A run with its repository and its jobs.
#[derive(Clone, Debug)]
pub struct FoundRun {
    /// The run.
    pub run: Run,
    /// Its jobs, oldest first.
    pub jobs: Vec<Job>,
    /// Its repository, `owner/name`.
    pub path: String,
}

/// Returns run `id`, if the caller may read it.
pub async fn find(read: &impl Read, identity: &Identity, id: u64) -> Result<FoundRun, Error> {
    let missing = || Error::NotFound { what: "the run" };
    let run = runs::run(read, id).await?.ok_or_else(missing)?;
    let mut access_cache = AccessCache::new(identity, Action::ReadActions);
    let path = access_cache.path(read, run.repository_id).await?.ok_or_else(missing)?;
    let jobs = runs::jobs_of_run(read, id, JOBS_MAX).await?;
    Ok(FoundRun { run, jobs, path })
}

/// A page of runs.
#[derive(Clone, Debug, Default)]
pub struct RunPage {
    /// The runs, newest first.
    pub entries: Vec<FoundRun>,
    /// ID of the last run before the next page; `None` after the last page.
    pub next: Option<u64>,
    /// Number of runs that were read.
    pub examined: usize,
}

/// Returns whether each of `words` is a part of the text of a run, as lists show it.
fn has_words(run: &Run, path: &str, words: &[String]) -> bool {
    if words.is_empty() {
        return true;
    }
    let text = format!("run {} {path} {} {} {}", run.id, run.workflow, run.head_branch, run.head_sha).to_lowercase();
    words.iter().all(|word| text.contains(word.as_str()))
}

/// Returns a page of the matching runs that the caller may read.
pub async fn page(read: &impl Read, identity: &Identity, query: &RunQuery) -> Result<RunPage, Error> {
    let mut access_cache = AccessCache::new(identity, Action::ReadActions);
    let (mut entries, mut skipped, mut before) = (Vec::new(), 0, query.before);
    loop {
        let rows = runs::older(read, query.repository, before, STEP).await?;
        let is_full_batch = rows.len() == STEP;
        for run in rows {
            if entries.len() == query.limit || skipped == SKIPPED_MAX {
                let examined = entries.len() + skipped;
                return Ok(RunPage { entries, next: before, examined });
            }
            before = Some(run.id);
            if query.status.is_some_and(|status| status != run.status())
                || query.conclusion.is_some_and(|conclusion| conclusion != run.conclusion())
            {
                skipped += 1;
                continue;
            }
            let Some(path) = access_cache.path(read, run.repository_id).await? else {
                skipped += 1;
                continue;
            };
            if !has_words(&run, &path, &query.words) {
                skipped += 1;
                continue;
            }
            let jobs = runs::jobs_of_run(read, run.id, JOBS_MAX).await?;
            entries.push(FoundRun { run, jobs, path });
        }
        if !is_full_batch {
            let examined = entries.len() + skipped;
            return Ok(RunPage { entries, next: None, examined });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_word_is_a_part_of_the_shown_texts_of_a_run() {
        let run = Run {
            id: 31,
            workflow: "Nightly Build".into(),
            head_branch: "feature/x".into(),
            head_sha: "ab12cd".into(),
            ..Run::default()
        };
        let matches = |text: &str| {
            let words: Vec<String> = text.split_whitespace().map(str::to_owned).collect();
            has_words(&run, "Octo/demo", &words)
        };
        for text in ["", "run 31", "octo/d", "night build feature/ ab12"] {
            assert!(matches(text), "{text}");
        }
        for text in ["32", "octo nothing", "\u{0}", "%", &"x".repeat(10_000)] {
            assert!(!matches(text), "{text}");
        }
    }
}
