//! Checks of form input by the daemon: names, branch filters, import sources.

use farrier_common::{
    api::{CheckBranchFilter, CheckedMigration, MigrateRepository, Organization},
    client::{Client, ClientError, RepositoryPath},
};

use super::{Answer, Request};
use crate::output::{counted, human_bytes};

/// Handles a check of a form.
pub(super) async fn answer(client: &Client, request: Request) -> Result<Answer, ClientError> {
    match request {
        Request::CheckName(path) => name(client, &path).await,
        Request::CheckBranchFilter(request) => branch_filter(client, &request).await,
        Request::CheckMigration(request) => migration(client, &request).await,
        Request::OwnOrganizations => organizations(client).await,
        _ => Ok(Answer::Done),
    }
}

/// Lists the first page of the caller's organizations; a form does not offer more.
async fn organizations(client: &Client) -> Result<Answer, ClientError> {
    let own: Vec<Organization> = client.get("/api/v1/user/orgs?limit=50").await?;
    Ok(Answer::Organizations(own.into_iter().map(|org| org.username).collect()))
}

async fn name(client: &Client, path: &RepositoryPath) -> Result<Answer, ClientError> {
    match client.repository(path).await {
        Ok(_) => Ok(Answer::Verdict(false, format!("{path} is taken"))),
        Err(error) if is_missing(&error) => Ok(if is_owner(client, &path.owner).await? {
            Answer::Verdict(true, format!("{path} is free"))
        } else {
            Answer::Verdict(false, format!("user or organization {} does not exist", path.owner))
        }),
        Err(error) => Err(error),
    }
}

fn is_missing(error: &ClientError) -> bool {
    error.status() == Some(http::StatusCode::NOT_FOUND)
}

/// Returns whether a user or an organization with this name exists and is visible to the caller.
async fn is_owner(client: &Client, name: &str) -> Result<bool, ClientError> {
    match client.user(name).await {
        Ok(_) => return Ok(true),
        Err(error) if is_missing(&error) => {}
        Err(error) => return Err(error),
    }
    match client.org(name).await {
        Ok(_) => Ok(true),
        Err(error) if is_missing(&error) => Ok(false),
        Err(error) => Err(error),
    }
}

async fn branch_filter(client: &Client, request: &CheckBranchFilter) -> Result<Answer, ClientError> {
    let checked = client.check_branch_filter(request).await?;
    let all = checked.branches.len();
    if all == 0 {
        return Ok(Answer::Verdict(true, "not tested: no branch was pushed yet".to_owned()));
    }
    let passing = checked.branches.iter().filter(|branch| branch.passes).count();
    let text = format!("matches {passing} of the last {all} pushed branches");
    Ok(Answer::Verdict(passing > 0, text))
}

async fn migration(client: &Client, request: &MigrateRepository) -> Result<Answer, ClientError> {
    let found = client.check_migration(request).await?;
    Ok(Answer::Verdict(found.branches > 0, migration_text(&found)))
}

fn migration_text(found: &CheckedMigration) -> String {
    let head = if found.head.is_empty() { "none" } else { &found.head };
    let credentials = if found.signed_in { "credentials accepted" } else { "no credentials needed" };
    format!(
        "the source responds: {}, {}, HEAD {head}, {}; {credentials}. \
         Its size is unknown; the limit is {}, and {} are free.",
        counted(found.branches, "branch"),
        counted(found.tags, "tag"),
        found.object_format_name,
        human_bytes(found.max_bytes),
        human_bytes(found.free_bytes),
    )
}
