//! `farrier repo transfer`, `accept-transfer`, `reject-transfer` and `generate`.

use farrier_common::{
    api::TransferRepository,
    client::{Client, RepositoryPath},
};

use crate::{
    args::{GenerateRepo, TeamArgs},
    commands::team,
    exit::Failure,
    output::Output,
};

pub(super) async fn transfer(
    repo: &RepositoryPath,
    new_owner: String,
    teams: Vec<String>,
    client: &Client,
    output: &Output,
) -> Result<(), Failure> {
    let mut team_ids = Vec::with_capacity(teams.len());
    for team in teams {
        team_ids.push(team_id(client, &new_owner, team).await?);
    }
    let doing = format!("transferring {repo} to {new_owner}");
    let request = TransferRepository { new_owner, team_ids };
    let found = client.transfer_repository(repo, &request).await.map_err(Failure::call(doing))?;
    output.object(&found, &found.full_name, || match &found.repo_transfer {
        Some(offer) => format!("Repository {repo} offered to {}", offer.recipient.login),
        None => format!("Repository {repo} transferred: {}", found.full_name),
    })
}

/// Returns the ID of a team of `org`. A number is an ID, so that teams can be given that the caller may not list.
async fn team_id(client: &Client, org: &str, team: String) -> Result<i64, Failure> {
    if let Ok(id) = team.parse() {
        return Ok(id);
    }
    Ok(team::find(client, &TeamArgs { org: org.to_owned(), team }).await?.id)
}

pub(super) async fn accept(repo: &RepositoryPath, client: &Client, output: &Output) -> Result<(), Failure> {
    let found = client.accept_transfer(repo).await.map_err(Failure::call(format!("accepting {repo}")))?;
    output.object(&found, &found.full_name, || format!("Repository {repo} transferred: {}", found.full_name))
}

pub(super) async fn reject(repo: &RepositoryPath, client: &Client, output: &Output) -> Result<(), Failure> {
    let found = client.reject_transfer(repo).await.map_err(Failure::call(format!("rejecting {repo}")))?;
    output.object(&found, &found.full_name, || format!("Transfer of {repo} rejected"))
}

pub(super) async fn generate(args: GenerateRepo, client: &Client, output: &Output) -> Result<(), Failure> {
    let (template, path) = (args.template.clone(), args.repo.clone());
    let created = client.generate_repository(&template, &args.request()).await;
    let created = created.map_err(Failure::call(format!("generating {path} from {template}")))?;
    super::show(&created, output)
}
