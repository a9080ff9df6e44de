//! Reads commits: history pages, single commits, comparisons and notes.

use std::collections::HashMap;

use super::{Browse, PageWithTotal};
use crate::{
    git::{
        GitProcess,
        read::{HistoryQuery, commit::CommitObject, history::Changes, rev},
    },
    service::Error,
};

/// Maximum number of commits in a comparison. Its total counts all of them.
const COMPARE_MAX: usize = 250;
/// The ref of git notes.
const NOTES: &str = "refs/notes/commits";
/// Longest note, in bytes.
const NOTE_MAX_BYTES: usize = 1 << 20;

/// A commit, with its changes if they were requested.
#[derive(Clone, Debug)]
pub struct CommitWithChanges {
    /// The commit.
    pub commit: CommitObject,
    /// Against its first parent.
    pub changes: Option<Changes>,
}

/// The filters of a commit list, as the client sent them.
#[derive(Clone, Debug, Default)]
pub struct CommitQuery<'a> {
    /// Branch, tag or commit; empty: the default branch.
    pub sha: &'a str,
    /// Only commits that are not in this one's history; empty: all.
    pub not: &'a str,
    /// Only commits that touch this path; empty: all.
    pub path: &'a str,
    /// Only commits after it, seconds since the epoch.
    pub since: Option<i64>,
    /// Only commits before it, seconds since the epoch.
    pub until: Option<i64>,
    /// Whether to include the changes of each commit.
    pub changes: bool,
}

/// Returns a page of the history, newest first.
pub async fn list(
    browse: &Browse,
    query: &CommitQuery<'_>,
    skip: u64,
    limit: usize,
) -> Result<PageWithTotal<CommitWithChanges>, Error> {
    let from = match browse.resolve(query.sha).await {
        Err(Error::NotFound { .. }) if browse.git.is_empty().await? => {
            return Err(Error::Conflict { reason: "Git Repository is empty.".into() });
        }
        found => found?,
    };
    let not = if query.not.is_empty() { Vec::new() } else { vec![browse.resolve(query.not).await?] };
    let path = super::path(query.path)?.to_owned();
    let (since, until, changes) = (query.since, query.until, query.changes);
    let query = HistoryQuery { from, not, path, since, until, skip, limit, changes, combined: false };
    if skip > i64::MAX.unsigned_abs() {
        return Ok((Vec::new(), browse.git.count(&query).await?));
    }
    let (page, total) = tokio::try_join!(browse.git.history(&query), browse.git.count(&query))?;
    Ok((load(browse, page, changes).await?, total))
}

/// Returns the commit that `revision` resolves to.
pub async fn get(browse: &Browse, revision: &str, changes: bool) -> Result<CommitWithChanges, Error> {
    if !rev::is_revision(revision) {
        return Err(Error::invalid("sha", "is not a valid name of a commit"));
    }
    let from = browse.resolve(revision).await?;
    load_one(browse, from, changes).await
}

/// Starts to write the diff of the commit that `revision` resolves to.
pub async fn diff(browse: &Browse, revision: &str, mail: bool) -> Result<GitProcess, Error> {
    let id = browse.resolve(revision).await?;
    Ok(browse.git.diff(&id, mail).await?)
}

/// Returns the commits in `head` that are not in `base`, newest first.
pub async fn compare(browse: &Browse, base: &str, head: &str) -> Result<PageWithTotal<CommitWithChanges>, Error> {
    let (base, from) = tokio::try_join!(browse.resolve(base), browse.resolve(head))?;
    let query = HistoryQuery { from, not: vec![base], limit: COMPARE_MAX, changes: true, ..HistoryQuery::default() };
    let (page, total) = tokio::try_join!(browse.git.history(&query), browse.git.count(&query))?;
    Ok((load(browse, page, true).await?, total))
}

/// Returns the note on the commit that `revision` resolves to.
pub async fn note(browse: &Browse, revision: &str) -> Result<(String, CommitWithChanges), Error> {
    let missing = || Error::NotFound { what: "the note" };
    if !rev::is_revision(revision) {
        return Err(Error::invalid("sha", "is not a valid name of a commit"));
    }
    let id = browse.resolve(revision).await?;
    // git spreads many notes over directories named by the first digits of the id.
    let fanned = format!("{}/{}", &id[..2], &id[2..]);
    let deeper = format!("{}/{}/{}", &id[..2], &id[2..4], &id[4..]);
    let names = [id.as_str(), &fanned, &deeper].map(|path| format!("{NOTES}:{path}"));
    let found = browse.git.objects(&names, NOTE_MAX_BYTES).await?.into_iter().flatten().next();
    let text = String::from_utf8_lossy(&found.ok_or_else(missing)?.content).into_owned();
    Ok((text, load_one(browse, id, true).await?))
}

async fn load_one(browse: &Browse, from: String, changes: bool) -> Result<CommitWithChanges, Error> {
    if !changes {
        return Ok(CommitWithChanges { commit: browse.commit(&from).await?, changes: None });
    }
    let page = browse.git.history(&HistoryQuery { from, limit: 1, changes, ..HistoryQuery::default() }).await?;
    let commits_with_changes = load(browse, page, changes).await?;
    commits_with_changes.into_iter().next().ok_or(Error::NotFound { what: "the commit" })
}

/// Reads the commits of a page with one git call.
async fn load(browse: &Browse, page: Vec<Changes>, changes: bool) -> Result<Vec<CommitWithChanges>, Error> {
    let ids: Vec<String> = page.iter().map(|commit| commit.id.clone()).collect();
    let commits = browse.git.commits(&ids).await?;
    let mut by_id: HashMap<_, _> = commits.into_iter().map(|commit| (commit.id.clone(), commit)).collect();
    let commits_with_changes = page.into_iter().filter_map(|found| {
        let commit = by_id.remove(&found.id)?;
        Some(CommitWithChanges { commit, changes: changes.then_some(found) })
    });
    Ok(commits_with_changes.collect())
}
