//! The units of repositories in which teams have rights.

/// Git and the content of repositories.
pub const CODE: &str = "repo.code";
/// Releases.
pub const RELEASES: &str = "repo.releases";
/// Runs, jobs, artifacts and caches.
pub const ACTIONS: &str = "repo.actions";

/// The units of the API family. Only those above have an effect; farrier has no issues, pull requests, wikis, projects
/// and packages, and stores their rights for clients.
pub const UNITS: [&str; 10] = [
    ACTIONS,
    CODE,
    "repo.ext_issues",
    "repo.ext_wiki",
    "repo.issues",
    "repo.packages",
    "repo.projects",
    "repo.pulls",
    RELEASES,
    "repo.wiki",
];
