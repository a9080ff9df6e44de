//! `farrier team`: manages the teams of organizations.

use farrier_common::{
    api::{self, Repository, User},
    client::Client,
};
use serde::Serialize;

use super::{confirm, list};
use crate::{
    args::{CreateTeam, EditTeam, Team, TeamArgs},
    exit::Failure,
    output::{Output, Table},
    team_text,
};

#[derive(Serialize)]
struct Teams {
    total_count: usize,
    teams: Vec<api::Team>,
}

#[derive(Serialize)]
struct Members {
    total_count: usize,
    members: Vec<User>,
}

#[derive(Serialize)]
struct Repositories {
    total_count: usize,
    repositories: Vec<Repository>,
}

pub(super) async fn run(command: Team, client: &Client, output: &Output) -> Result<(), Failure> {
    match command {
        Team::List { org, limit } => {
            let all = list::first(limit.items(), client.teams(&org), |page: Vec<api::Team>| page, |team| team.id).await;
            let all = all.map_err(Failure::call(format!("listing teams of {org}")))?;
            list::show(output, all, |team| team.name.clone(), table, |total_count, teams| Teams { total_count, teams })
        }
        Team::Create(args) => create(args, client, output).await,
        Team::Edit(args) => edit(args, client, output).await,
        Team::Delete { team, yes } => {
            let found = find(client, &team).await?;
            let name = shown(&team);
            confirm::deletion(&format!("Team {name}"), &name, yes).await?;
            client.delete_team(found.id).await.map_err(Failure::call(format!("deleting team {name}")))?;
            output.object(&serde_json::json!({ "deleted": name }), &name, || format!("Team {name} deleted"))
        }
        Team::Members { team, limit } => {
            let pages = client.team_members(find(client, &team).await?.id);
            let all = list::first(limit.items(), pages, |page: Vec<User>| page, |user| user.id).await;
            let all = all.map_err(Failure::call(format!("listing members of {}", shown(&team))))?;
            list::show(
                output,
                all,
                |user| user.login.clone(),
                members_table,
                |total_count, members| Members { total_count, members },
            )
        }
        Team::AddMember { team, user } => {
            let found = find(client, &team).await?;
            let doing = format!("adding {user} to {}", shown(&team));
            client.add_team_member(found.id, &user).await.map_err(Failure::call(doing))?;
            changed(output, &user, || format!("{user} added to team {}", shown(&team)))
        }
        Team::RemoveMember { team, user } => {
            let found = find(client, &team).await?;
            let doing = format!("removing {user} from {}", shown(&team));
            client.remove_team_member(found.id, &user).await.map_err(Failure::call(doing))?;
            changed(output, &user, || format!("{user} removed from team {}", shown(&team)))
        }
        Team::Repos { team, limit } => {
            let pages = client.team_repositories(find(client, &team).await?.id);
            let all = list::first(limit.items(), pages, |page: Vec<Repository>| page, |repo| repo.id).await;
            let all = all.map_err(Failure::call(format!("listing repositories of {}", shown(&team))))?;
            list::show(
                output,
                all,
                |repo| repo.full_name.clone(),
                repositories_table,
                |total_count, repositories| Repositories { total_count, repositories },
            )
        }
        Team::AddRepo { team, repo } => {
            let found = find(client, &team).await?;
            let doing = format!("adding {repo} to {}", shown(&team));
            client.add_team_repository(found.id, &repo).await.map_err(Failure::call(doing))?;
            changed(output, &repo.to_string(), || format!("{repo} added to team {}", shown(&team)))
        }
        Team::RemoveRepo { team, repo } => {
            let found = find(client, &team).await?;
            let doing = format!("removing {repo} from {}", shown(&team));
            client.remove_team_repository(found.id, &repo).await.map_err(Failure::call(doing))?;
            changed(output, &repo.to_string(), || format!("{repo} removed from team {}", shown(&team)))
        }
    }
}

async fn create(args: CreateTeam, client: &Client, output: &Output) -> Result<(), Failure> {
    let (org, name) = (args.team.org.clone(), shown(&args.team));
    let created = client.create_team(&org, &args.request()).await;
    let created = created.map_err(Failure::call(format!("creating team {name}")))?;
    output.object(&created, &created.name, || format!("Team {name} created"))
}

async fn edit(args: EditTeam, client: &Client, output: &Output) -> Result<(), Failure> {
    let found = find(client, &args.team).await?;
    let (org, name) = (args.team.org.clone(), shown(&args.team));
    let changed = client.edit_team(found.id, &args.request()).await;
    let changed = changed.map_err(Failure::call(format!("changing team {name}")))?;
    output.object(&changed, &changed.name, || format!("Team {org}/{} changed", changed.name))
}

/// Returns the team with the given name.
pub(super) async fn find(client: &Client, args: &TeamArgs) -> Result<api::Team, Failure> {
    let all = list::collect(client.teams(&args.org), |page: Vec<api::Team>| page, |team| team.id).await;
    let all = all.map_err(Failure::call(format!("listing teams of {}", args.org)))?;
    let found = all.into_iter().find(|team| team.name.eq_ignore_ascii_case(&args.team));
    found.ok_or_else(|| Failure::NotFound(format!("{} has no team {}", args.org, args.team)))
}

fn shown(args: &TeamArgs) -> String {
    format!("{}/{}", args.org, args.team)
}

fn changed(output: &Output, name: &str, text: impl FnOnce() -> String) -> Result<(), Failure> {
    output.object(&serde_json::json!({ "changed": name }), name, text)
}

fn table(all: &[api::Team]) -> String {
    let mut table = Table::new(["ID", "NAME", "REPOSITORIES", "RIGHTS", "DESCRIPTION"]);
    for team in all {
        let repositories = if team.includes_all_repositories { "all" } else { "listed" };

        let (id, name) = (team.id.to_string(), team.name.clone());
        table.row([id, name, repositories.to_owned(), team_text::rights(team), team.description.clone()]);
    }
    table.render()
}

fn members_table(all: &[User]) -> String {
    let mut table = Table::new(["ID", "NAME", "DISPLAY NAME"]);
    for user in all {
        table.row([user.id.to_string(), user.login.clone(), user.full_name.clone()]);
    }
    table.render()
}

fn repositories_table(all: &[Repository]) -> String {
    let mut table = Table::new(["ID", "NAME", "DESCRIPTION"]);
    for repo in all {
        table.row([repo.id.to_string(), repo.full_name.clone(), repo.description.clone()]);
    }
    table.render()
}
