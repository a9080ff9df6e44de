//! The problems that mirrors fail, grouped by the host of the other server and the cause.

use farrier_common::api::FoundMirror;

use super::problems::{HealthProblem, NAMED_MAX, ProblemTarget, host, with_colon};
use crate::ui::{net::ManagementRequest, words};

/// A mirror whose last run failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct FailingMirror {
    /// The repository, `owner/name`.
    pub(super) repository: String,
    /// The name of a push mirror; empty for a pull mirror.
    name: String,
    /// Why the last run failed.
    error: String,
}

impl FailingMirror {
    fn of(mirror: &FoundMirror) -> Self {
        Self { repository: mirror.repository.clone(), name: mirror.name.clone(), error: mirror.error.clone() }
    }

    /// Returns whether both are the same mirror, which may fail for different reasons.
    pub(super) fn is_same(&self, other: &Self) -> bool {
        (&self.repository, &self.name) == (&other.repository, &other.name)
    }

    /// Returns `pull mirror tools/cli` or `push mirror of tools/cli`.
    fn title(&self) -> String {
        if self.name.is_empty() {
            format!("pull mirror {}", self.repository)
        } else {
            format!("push mirror of {}", self.repository)
        }
    }

    /// Returns the mirror with the error, for a list.
    pub(super) fn line(&self) -> String {
        format!("{}{}", self.title(), with_colon(&self.error))
    }

    /// Returns the request that runs it now. All push mirrors of a repository run together.
    pub(super) fn sync(&self) -> ManagementRequest {
        if self.name.is_empty() { ManagementRequest::SyncPullMirror } else { ManagementRequest::SyncPushMirrors }
    }
}

/// Returns one problem for all mirrors with the same host and the same error.
pub(super) fn of_mirrors(failing: &[FoundMirror]) -> Vec<HealthProblem> {
    let mut groups: Vec<Vec<&FoundMirror>> = Vec::new();
    for mirror in failing {
        let is_same = |group: &&mut Vec<&FoundMirror>| {
            let first = group.first();
            first.is_some_and(|one| host(&one.address) == host(&mirror.address) && one.error == mirror.error)
        };
        match groups.iter_mut().find(is_same) {
            Some(group) => group.push(mirror),
            None => groups.push(vec![mirror]),
        }
    }
    groups.iter().filter_map(|group| of_group(group)).collect()
}

fn of_group(mirrors: &[&FoundMirror]) -> Option<HealthProblem> {
    let first = *mirrors.first()?;
    let (host, why) = (host(&first.address), with_colon(&first.error));
    let all: Vec<FailingMirror> = mirrors.iter().map(|mirror| FailingMirror::of(mirror)).collect();
    let text = match all.as_slice() {
        [one] => {
            let times = if first.failures == 1 { "time" } else { "times in a row" };
            format!("{} failed {} {times}{why}   {host}", one.title(), words::count(first.failures))
        }
        many => {
            let mut named: Vec<&str> = many.iter().map(|one| one.repository.as_str()).collect();
            named.dedup();
            let more = named.len().saturating_sub(NAMED_MAX);
            named.truncate(NAMED_MAX);
            let more = if more > 0 { format!(", {more} more") } else { String::new() };
            format!("{} mirrors ({}{more}) fail{why}   {host}", many.len(), named.join(", "))
        }
    };
    let since = mirrors.iter().filter_map(|mirror| mirror.failing_since.as_deref()).map(words::seconds).min();
    let since = since.unwrap_or(0);
    Some(HealthProblem { text, since, trend: None, target: ProblemTarget::FailingMirrors(all) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mirrors_are_grouped_by_host_and_cause() {
        let mirror = |repository: &str, name: &str, address: &str, error: &str, since: &str| FoundMirror {
            repository: repository.into(),
            name: name.into(),
            address: address.into(),
            error: error.into(),
            failures: 3,
            failing_since: Some(since.into()),
            ..FoundMirror::default()
        };
        let unknown = "the host cannot be resolved";
        let problems = of_mirrors(&[
            mirror("data/lake", "", "https://git.example.net/lake", unknown, "2026-11-21T11:00:00Z"),
            mirror("data/lake", "m1", "https://git.example.net/b", unknown, "2026-11-21T10:00:00Z"),
            mirror("tools/cli", "m2", "https://git.example.net/c", unknown, "2026-11-21T11:00:00Z"),
            mirror("web/site", "m3", "https://git.example.net/d", "authentication failed", "2026-11-21T11:00:00Z"),
        ]);
        let texts: Vec<&str> = problems.iter().map(|problem| problem.text.as_str()).collect();
        assert_eq!(
            texts,
            [
                "3 mirrors (data/lake, tools/cli) fail: the host cannot be resolved   git.example.net",
                "push mirror of web/site failed 3 times in a row: authentication failed   git.example.net",
            ]
        );
        assert_eq!(problems[0].since, words::seconds("2026-11-21T10:00:00Z"));
        let ProblemTarget::FailingMirrors(all) = &problems[0].target else { panic!("{:?}", problems[0]) };
        assert_eq!((all.len(), all[0].sync()), (3, ManagementRequest::SyncPullMirror));
        assert_eq!(all[0].line(), "pull mirror data/lake: the host cannot be resolved");
    }
}
