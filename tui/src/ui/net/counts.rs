//! Counts the objects of a repository.

use farrier_common::{
    api::{Branch, Commit, Hook},
    client::{Client, ClientError, HookOwner, RepositoryPath},
};

use super::CommitSummary;
use crate::ui::{times::Clock, words};

/// Up to this many branches are loaded to find the newest ones.
const BRANCHES_MAX: i64 = 200;
/// Number of newest branches that are shown.
const NEWEST: usize = 3;
/// Number of last commits that are shown, where there is room.
const LAST_COMMITS: usize = 20;

/// Object counts of a repository; `None` for objects that the caller may not list.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct RepositoryCounts {
    pub(crate) branches: Option<i64>,
    pub(crate) tags: Option<i64>,
    pub(crate) hooks: Option<i64>,
    /// Active system hooks, which also receive its events.
    pub(crate) system_hooks: Option<i64>,
    pub(crate) artifacts: Option<i64>,
    /// The branches with the newest commits; empty if there are too many branches to load.
    pub(crate) newest: Vec<Branch>,
    /// The last commits of the default branch, the newest first; empty if they cannot be listed.
    pub(crate) commits: Vec<CommitSummary>,
}

impl RepositoryCounts {
    /// Formats the counts, for example `14 branches, 61 tags, 3 hooks, 212 artifacts`.
    pub(crate) fn counts(&self) -> String {
        let counts = [
            (self.branches, "branch", "branches"),
            (self.tags, "tag", "tags"),
            (self.hooks, "hook", "hooks"),
            (self.artifacts, "artifact", "artifacts"),
        ];
        let texts = counts.into_iter().filter_map(|(count, one, many)| {
            let count = count?;
            Some(format!("{} {}", words::count(count), if count == 1 { one } else { many }))
        });
        texts.collect::<Vec<_>>().join(", ")
    }

    /// Formats the newest commit, for example `last commit 19h ago by ops-a on main`; empty without commits.
    pub(crate) fn last(&self, clock: &Clock) -> String {
        let text = |branch: &Branch| {
            let commit = &branch.commit;
            let ago = clock.since(words::seconds(&commit.timestamp));
            format!("last commit {ago} ago by {} on {}", commit.author.name, branch.name)
        };
        self.newest.first().map(text).unwrap_or_default()
    }
}

/// Counts the objects of a repository. Fails only if its branches cannot be listed.
pub(super) async fn count(client: &Client, path: &RepositoryPath) -> Result<RepositoryCounts, ClientError> {
    let owner = HookOwner::Repository(path.clone());
    let (content, tags, hooks, system_hooks, artifacts) = tokio::join!(
        content(client, path),
        client.tags(path).count(),
        client.hooks(&owner, "all").count(),
        system_hooks(client),
        client.artifacts(path, None, None).count(),
    );
    let (branches, newest, commits) = content?;
    Ok(RepositoryCounts {
        branches,
        tags: tags.ok().flatten(),
        hooks: hooks.ok().flatten(),
        system_hooks: system_hooks.ok(),
        artifacts: artifacts.ok().flatten(),
        newest,
        commits,
    })
}

/// Counts the branches, and returns the newest ones and the last commits.
async fn content(
    client: &Client,
    path: &RepositoryPath,
) -> Result<(Option<i64>, Vec<Branch>, Vec<CommitSummary>), ClientError> {
    let (count, newest) = branches(client, path).await?;
    // The daemon refuses to list the commits of an empty repository, and logs that as a failed request.
    let is_empty = newest.is_empty() && count.is_none_or(|count| count == 0);
    let commits = if is_empty { Vec::new() } else { last_commits(client, path).await.unwrap_or_default() };
    Ok((count, newest, commits))
}

async fn branches(client: &Client, path: &RepositoryPath) -> Result<(Option<i64>, Vec<Branch>), ClientError> {
    let mut pages = client.branches(path);
    let mut all: Vec<Branch> = Vec::new();
    while let Some(mut page) = pages.next(|page: Vec<Branch>| (0, page), |branch| branch.name.clone()).await? {
        all.append(&mut page);
        if pages.total().is_some_and(|total| total > BRANCHES_MAX) {
            return Ok((pages.total(), Vec::new()));
        }
    }
    all.sort_by_key(|branch| std::cmp::Reverse(words::seconds(&branch.commit.timestamp)));
    let total = pages.total();
    all.truncate(NEWEST);
    Ok((total, all))
}

/// Returns the last commits of the default branch.
async fn last_commits(client: &Client, path: &RepositoryPath) -> Result<Vec<CommitSummary>, ClientError> {
    let mut pages = client.commits(path, "", "");
    let page = pages.next(|page: Vec<Commit>| (0, page), |commit| commit.sha.clone()).await?;
    Ok(page.unwrap_or_default().iter().take(LAST_COMMITS).map(CommitSummary::from).collect())
}

/// Counts the active system hooks; only administrators may list them.
async fn system_hooks(client: &Client) -> Result<i64, ClientError> {
    let mut pages = client.hooks(&HookOwner::Admin, "system");
    let mut count = 0;
    while let Some(hooks) = pages.next(|hooks: Vec<Hook>| (0, hooks), |hook| hook.id).await? {
        count += hooks.iter().filter(|hook| hook.active).count();
    }
    Ok(i64::try_from(count).unwrap_or(i64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unknown_counts_are_omitted() {
        let facts = RepositoryCounts {
            branches: Some(1),
            tags: Some(61),
            artifacts: Some(1_204),
            ..RepositoryCounts::default()
        };
        assert_eq!(facts.counts(), "1 branch, 61 tags, 1 204 artifacts");
        assert_eq!(RepositoryCounts::default().counts(), "");
    }
}
