//! Carrying out questions that forms have.

use farrier_common::{
    api::{CheckBranchFilter, CheckedMigration, MigrateRepository, Organization},
    client::{Client, ClientError, RepositoryPath},
};

use super::{Answer, Ask};
use crate::output::human_bytes;

/// Answers `ask`, which is a question of a form.
pub(super) async fn answer(client: &Client, ask: Ask) -> Result<Answer, ClientError> {
    match ask {
        Ask::CheckName(path) => name(client, &path).await,
        Ask::CheckBranchFilter(wanted) => branch_filter(client, &wanted).await,
        Ask::CheckMigration(wanted) => migration(client, &wanted).await,
        Ask::OwnOrganizations => organizations(client).await,
        _ => Ok(Answer::Done),
    }
}

/// The first organisations of the caller: a form offers no more.
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
            Answer::Verdict(false, format!("there is no user or organisation {}", path.owner))
        }),
        Err(error) => Err(error),
    }
}

fn is_missing(error: &ClientError) -> bool {
    error.status() == Some(http::StatusCode::NOT_FOUND)
}

/// Whether a name belongs to a user or an organisation that the caller sees.
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

async fn branch_filter(client: &Client, wanted: &CheckBranchFilter) -> Result<Answer, ClientError> {
    let checked = client.check_branch_filter(wanted).await?;
    let all = checked.branches.len();
    if all == 0 {
        return Ok(Answer::Verdict(true, "nothing was pushed yet that it could be tried on".to_owned()));
    }
    let passing = checked.branches.iter().filter(|branch| branch.passes).count();
    let text = format!("matches {passing} of the last {all} pushed branches");
    Ok(Answer::Verdict(passing > 0, text))
}

async fn migration(client: &Client, wanted: &MigrateRepository) -> Result<Answer, ClientError> {
    let found = client.check_migration(wanted).await?;
    Ok(Answer::Verdict(found.branches > 0, words(&found)))
}

fn words(found: &CheckedMigration) -> String {
    let head = if found.head.is_empty() { "none" } else { &found.head };
    let let_in = if found.signed_in { "credentials accepted" } else { "no credentials needed" };
    format!(
        "the address answers: {} branches, {} tags, HEAD {head}, {}; {let_in}. How large it is only fetching shows: at most {}, and {} are free here.",
        found.branches,
        found.tags,
        found.object_format_name,
        human_bytes(found.max_bytes),
        human_bytes(found.free_bytes),
    )
}
