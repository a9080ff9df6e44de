//! Commits: pages of a history, single ones, what lies between two, notes.

use std::collections::HashMap;

use super::{Browse, PageOf};
use crate::{
    git::{
        GitProcess,
        read::{HistoryQuery, commit::CommitObject, history::Changes, rev},
    },
    service::Error,
};

/// Most commits that a comparison shows; its total counts all.
const COMPARE_MAX: usize = 250;
/// Where notes are kept.
const NOTES: &str = "refs/notes/commits";
/// Longest note, bytes.
const NOTE_MAX_BYTES: usize = 1 << 20;

/// A commit, and what it changed if that was asked for.
#[derive(Clone, Debug)]
pub struct Seen {
    /// The commit.
    pub commit: CommitObject,
    /// Against its first parent.
    pub changes: Option<Changes>,
}

/// Which commits of a list are wanted, in the client's words.
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
    /// Whether what they changed is wanted.
    pub changes: bool,
}

/// A page of a history, newest first.
pub async fn list(browse: &Browse, query: &CommitQuery<'_>, skip: u64, limit: usize) -> Result<PageOf<Seen>, Error> {
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

/// The commit that `revision` names.
pub async fn get(browse: &Browse, revision: &str, changes: bool) -> Result<Seen, Error> {
    if !rev::is_revision(revision) {
        return Err(Error::invalid("sha", "is no name of a commit"));
    }
    let from = browse.resolve(revision).await?;
    one(browse, from, changes).await
}

/// The changes of the commit that `revision` names, as text.
pub async fn diff(browse: &Browse, revision: &str, mail: bool) -> Result<GitProcess, Error> {
    let id = browse.resolve(revision).await?;
    Ok(browse.git.diff(&id, mail).await?)
}

/// What `head` has and `base` has not, newest first.
pub async fn compare(browse: &Browse, base: &str, head: &str) -> Result<PageOf<Seen>, Error> {
    let (base, from) = tokio::try_join!(browse.resolve(base), browse.resolve(head))?;
    let query = HistoryQuery { from, not: vec![base], limit: COMPARE_MAX, changes: true, ..HistoryQuery::default() };
    let (page, total) = tokio::try_join!(browse.git.history(&query), browse.git.count(&query))?;
    Ok((load(browse, page, true).await?, total))
}

/// The note on the commit that `revision` names.
pub async fn note(browse: &Browse, revision: &str) -> Result<(String, Seen), Error> {
    let missing = || Error::NotFound { what: "the note" };
    if !rev::is_revision(revision) {
        return Err(Error::invalid("sha", "is no name of a commit"));
    }
    let id = browse.resolve(revision).await?;
    // git spreads many notes over directories named by the first digits.
    let fanned = format!("{}/{}", &id[..2], &id[2..]);
    let deeper = format!("{}/{}/{}", &id[..2], &id[2..4], &id[4..]);
    let names = [id.as_str(), &fanned, &deeper].map(|path| format!("{NOTES}:{path}"));
    let found = browse.git.objects(&names, NOTE_MAX_BYTES).await?.into_iter().flatten().next();
    let text = String::from_utf8_lossy(&found.ok_or_else(missing)?.content).into_owned();
    Ok((text, one(browse, id, true).await?))
}

async fn one(browse: &Browse, from: String, changes: bool) -> Result<Seen, Error> {
    if !changes {
        return Ok(Seen { commit: browse.commit(&from).await?, changes: None });
    }
    let page = browse.git.history(&HistoryQuery { from, limit: 1, changes, ..HistoryQuery::default() }).await?;
    let seen = load(browse, page, changes).await?;
    seen.into_iter().next().ok_or(Error::NotFound { what: "the commit" })
}

/// Reads the commits of a page, all at once.
async fn load(browse: &Browse, page: Vec<Changes>, changes: bool) -> Result<Vec<Seen>, Error> {
    let ids: Vec<String> = page.iter().map(|commit| commit.id.clone()).collect();
    let commits = browse.git.commits(&ids).await?;
    let mut by_id: HashMap<_, _> = commits.into_iter().map(|commit| (commit.id.clone(), commit)).collect();
    let seen = page.into_iter().filter_map(|found| {
        let commit = by_id.remove(&found.id)?;
        Some(Seen { commit, changes: changes.then_some(found) })
    });
    Ok(seen.collect())
}
