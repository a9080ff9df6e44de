//! `farrier repo fork` and `farrier repo sync-fork`.

use farrier_common::{
    api::{CreateFork, MergeUpstream, Repository},
    client::{Client, RepositoryPath},
};

use crate::{exit::Failure, output::Output};

pub(super) async fn create(
    repo: &RepositoryPath,
    organization: String,
    name: String,
    client: &Client,
) -> Result<Repository, Failure> {
    let created = client.fork_repository(repo, &CreateFork { organization, name }).await;
    created.map_err(Failure::call(format!("forking {repo}")))
}

pub(super) async fn sync(
    repo: &RepositoryPath,
    branch: Option<String>,
    ff_only: bool,
    client: &Client,
    output: &Output,
) -> Result<(), Failure> {
    let failed = || Failure::call(format!("syncing {repo}"));
    let branch = match branch {
        Some(branch) => branch,
        None => client.repository(repo).await.map_err(failed())?.default_branch,
    };
    let merged = client.merge_upstream(repo, &MergeUpstream { branch: branch.clone(), ff_only }).await;
    let merged = merged.map_err(failed())?;
    output.object(&merged, &merged.merge_type, || match merged.merge_type.as_str() {
        "up-to-date" => format!("Branch {branch} of {repo} is up to date"),
        "fast-forward" => format!("Branch {branch} of {repo} moved to the commit of the source"),
        _ => format!("Branch {branch} of {repo} merged with the source"),
    })
}
