//! The problem that artifacts expire within a day.

use std::collections::BTreeMap;

use farrier_common::api::FoundArtifact;

use super::problems::{HealthProblem, ProblemTarget};
use crate::ui::words;

/// Number of owners that are named.
const OWNERS_NAMED: usize = 3;

/// Returns the problem for artifacts that expire within a day, the first to expire first. `more` says that there are
/// others.
pub(super) fn of_artifacts(artifacts: &[FoundArtifact], more: bool) -> Option<HealthProblem> {
    let first = artifacts.first()?;
    let mut owners: BTreeMap<&str, i64> = BTreeMap::new();
    for artifact in artifacts {
        let owner = artifact.repository.split_once('/').map_or("", |(owner, _)| owner);
        *owners.entry(owner).or_default() += 1;
    }
    let mut sorted: Vec<(&str, i64)> = owners.into_iter().collect();
    sorted.sort_by_key(|(_, count)| -count);
    let named = sorted.iter().take(OWNERS_NAMED).map(|(owner, count)| format!("{owner} {}", words::count(*count)));
    let mut named: Vec<String> = named.collect();
    if sorted.len() > OWNERS_NAMED {
        named.push(format!("{} more", sorted.len() - OWNERS_NAMED));
    }
    let count = words::count(i64::try_from(artifacts.len()).unwrap_or(i64::MAX));
    let subject = match (artifacts.len(), more) {
        (_, true) => format!("more than {count} artifacts expire"),
        (1, false) => "1 artifact expires".to_owned(),
        (_, false) => format!("{count} artifacts expire"),
    };
    let since = words::seconds(&first.expires_at);
    let first = format!("{} of {}", first.name, first.repository);
    let text = format!("{subject} within a day: {}; first {first}", named.join(", "));
    Some(HealthProblem { text, since, trend: None, target: ProblemTarget::ExpiringArtifacts })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn artifact(repository: &str, name: &str) -> FoundArtifact {
        FoundArtifact { repository: repository.into(), name: name.into(), ..FoundArtifact::default() }
    }

    #[test]
    fn expiring_artifacts_are_one_problem_with_the_owners() {
        assert_eq!(of_artifacts(&[], false), None);
        let text = |artifacts: &[FoundArtifact], more| of_artifacts(artifacts, more).map(|one| one.text);
        let one = [artifact("web/site", "junit.xml")];
        let expected = "1 artifact expires within a day: web 1; first junit.xml of web/site";
        assert_eq!(text(&one, false).as_deref(), Some(expected));
        let many = ["web/a", "tools/a", "tools/b", "data/a", "ops/a"].map(|repository| artifact(repository, "log"));
        let expected = "more than 5 artifacts expire within a day: tools 2, data 1, ops 1, 1 more; first log of web/a";
        assert_eq!(text(&many, true).as_deref(), Some(expected));
    }
}
