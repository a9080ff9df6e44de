//! What belongs to a repository, counted.

use farrier_common::{
    api::{Branch, Hook},
    client::{Client, ClientError, HookPlace, RepositoryPath},
};

use crate::ui::{times::Clock, words};

/// The branches that changed last are looked for among so many.
const BRANCHES_MAX: i64 = 200;
/// So many of them are shown.
const NEWEST: usize = 3;

/// How much there is of what belongs to a repository. What the caller may not count is not there.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Facts {
    pub(crate) branches: Option<i64>,
    pub(crate) tags: Option<i64>,
    pub(crate) hooks: Option<i64>,
    /// Hooks of the service that hear of it, too.
    pub(crate) system_hooks: Option<i64>,
    pub(crate) artifacts: Option<i64>,
    /// The branches with the youngest commits; none where there are too many to look at.
    pub(crate) newest: Vec<Branch>,
}

impl Facts {
    /// `14 branches, 61 tags, 3 hooks, 212 artifacts`
    pub(crate) fn counts(&self) -> String {
        let counts = [
            (self.branches, "branch", "branches"),
            (self.tags, "tag", "tags"),
            (self.hooks, "hook", "hooks"),
            (self.artifacts, "artifact", "artifacts"),
        ];
        let told = counts.into_iter().filter_map(|(count, one, many)| {
            let count = count?;
            Some(format!("{} {}", words::count(count), if count == 1 { one } else { many }))
        });
        told.collect::<Vec<_>>().join(", ")
    }

    /// `last commit 19h ago by ops-a on main`; empty where there is none.
    pub(crate) fn last(&self, clock: &Clock) -> String {
        let told = |branch: &Branch| {
            let commit = &branch.commit;
            let ago = clock.since(words::seconds(&commit.timestamp));
            format!("last commit {ago} ago by {} on {}", commit.author.name, branch.name)
        };
        self.newest.first().map(told).unwrap_or_default()
    }
}

/// Counts. Only a daemon that does not show the repository is a failure.
pub(super) async fn count(client: &Client, path: &RepositoryPath) -> Result<Facts, ClientError> {
    let place = HookPlace::Repository(path.clone());
    let (branches, tags, hooks, system_hooks, artifacts) = tokio::join!(
        branches(client, path),
        client.tags(path).count(),
        client.hooks(&place, "all").count(),
        system_hooks(client),
        client.artifacts(path, None, None).count(),
    );
    let (branches, newest) = branches?;
    Ok(Facts {
        branches,
        tags: tags.ok().flatten(),
        hooks: hooks.ok().flatten(),
        system_hooks: system_hooks.ok(),
        artifacts: artifacts.ok().flatten(),
        newest,
    })
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

/// Those that are on; only administrators may know.
async fn system_hooks(client: &Client) -> Result<i64, ClientError> {
    let mut pages = client.hooks(&HookPlace::Admin, "system");
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
    fn what_may_not_be_counted_is_not_said() {
        let facts = Facts { branches: Some(1), tags: Some(61), artifacts: Some(1_204), ..Facts::default() };
        assert_eq!(facts.counts(), "1 branch, 61 tags, 1 204 artifacts");
        assert_eq!(Facts::default().counts(), "");
    }
}
