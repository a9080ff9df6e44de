//! `farrier repo`: lists, shows, creates, edits and deletes repositories.

mod archive;
mod branches;
mod deleted;
mod fork;
mod migrate;
mod protect;
mod transfer;

use farrier_common::{
    api::{EditRepository, Repository, RepositorySearch, RepositoryTransfer},
    client::{Client, RepositoryPath},
};

use serde::Serialize;

use super::{
    confirm, key,
    list::{self, first},
};
use crate::{
    args::{CreateRepo, EditRepo, Repo},
    exit::Failure,
    output::{Output, Table, fields, human_bytes, moment, time},
};

#[derive(Serialize)]
struct Repositories {
    total_count: usize,
    repositories: Vec<Repository>,
}

pub(super) async fn run(command: Repo, client: &Client, output: &Output) -> Result<(), Failure> {
    match command {
        Repo::List { owner, limit, deleted: true } => {
            deleted::list(owner.as_deref(), limit.items(), client, output).await
        }
        Repo::List { owner, limit, deleted: false } => list_of(owner.as_deref(), limit.items(), client, output).await,
        Repo::Create(args) => show(&create(args, client).await?, output),
        Repo::Show { repo } => {
            let found = client.repository(&repo).await.map_err(Failure::call(format!("showing {repo}")))?;
            show(&found, output)
        }
        Repo::Edit(args) => show(&edit(args, client).await?, output),
        Repo::Delete { repo, yes } => delete(&repo, yes, client, output).await,
        Repo::Restore { repo, target } => deleted::restore(&repo, target, client, output).await,
        Repo::Purge { repo, yes } => deleted::purge(&repo, yes, client, output).await,
        Repo::Fork { repo, org, name } => show(&fork::create(&repo, org, name, client).await?, output),
        Repo::SyncFork { repo, branch, ff_only } => fork::sync(&repo, branch, ff_only, client, output).await,
        Repo::Migrate(args) => migrate::run(args, client, output).await,
        Repo::Transfer { repo, new_owner, teams } => transfer::transfer(&repo, new_owner, teams, client, output).await,
        Repo::AcceptTransfer { repo } => transfer::accept(&repo, client, output).await,
        Repo::RejectTransfer { repo } => transfer::reject(&repo, client, output).await,
        Repo::Generate(args) => transfer::generate(args, client, output).await,
        Repo::Archive(args) => archive::run(args, client, output).await,
        Repo::DeployKey(command) => key::run_deploy(command, client, output).await,
        Repo::Protect(command) => protect::run(command, client, output).await,
        Repo::Branches { repo, limit } => branches::run(&repo, limit.items(), client, output).await,
    }
}

fn show(repo: &Repository, output: &Output) -> Result<(), Failure> {
    output.page(repo, &repo.full_name, || page(repo))
}

async fn create(args: CreateRepo, client: &Client) -> Result<Repository, Failure> {
    let path = args.repo.clone();
    let created = client.create_repository(&path.owner, &args.request()).await;
    created.map_err(Failure::call(format!("creating {path}")))
}

async fn edit(args: EditRepo, client: &Client) -> Result<Repository, Failure> {
    let path = args.repo.clone();
    let request = args.request();
    if request == EditRepository::default() {
        return Err(Failure::nothing_to_change("--description TEXT"));
    }
    let changed = client.edit_repository(&path, &request).await;
    changed.map_err(Failure::call(format!("changing {path}")))
}

async fn delete(repo: &RepositoryPath, yes: bool, client: &Client, output: &Output) -> Result<(), Failure> {
    let hint = confirm::restore_hint(client, &format!("farrier repo restore {repo}")).await;
    confirm::restorable_deletion(&format!("Repository {repo}"), &repo.to_string(), hint.clone(), yes).await?;
    client.delete_repository(repo).await.map_err(Failure::call(format!("deleting {repo}")))?;
    let deleted = serde_json::json!({ "deleted": repo.to_string() });
    output.object(&deleted, &repo.to_string(), || format!("Repository {repo} deleted"))?;
    confirm::print_restore_hint(hint.as_deref(), output);
    Ok(())
}

async fn list_of(owner: Option<&str>, limit: usize, client: &Client, output: &Output) -> Result<(), Failure> {
    let failed = || Failure::call("listing repositories");
    let all = match owner {
        None => {
            let found = first(limit, client.repositories(None), |search: RepositorySearch| search.data, |repo| repo.id);
            found.await.map_err(failed())?
        }
        Some(owner) => {
            let plain = |list: Vec<Repository>| list;
            match first(limit, client.repositories(Some(owner)), plain, |repo| repo.id).await {
                // Not a user, so perhaps an organization.
                Err(error) if error.status().is_some_and(|status| status.as_u16() == 404) => {
                    first(limit, client.organization_repositories(owner), plain, |repo| repo.id)
                        .await
                        .map_err(failed())?
                }
                other => other.map_err(failed())?,
            }
        }
    };
    let document = |total_count, repositories| Repositories { total_count, repositories };
    list::show(output, all, |repo| repo.full_name.clone(), table, document)
}

fn table(all: &[Repository]) -> String {
    let mut table = Table::new(["ID", "UPDATED", "STATE", "NAME"]).with_states("STATE");
    for repo in all {
        table.row([repo.id.to_string(), time(&repo.updated_at), state(repo), repo.full_name.clone()]);
    }
    table.render()
}

fn state(repo: &Repository) -> String {
    let is = |state: &str| repo.farrier_migration.as_ref().is_some_and(|migration| migration.state == state);
    let (migrating, failed) = (is("running"), is("failed"));
    let words = [
        (failed, "import failed"),
        (repo.private, "private"),
        (repo.empty && !migrating && !failed, "empty"),
        (repo.archived, "archived"),
        (repo.fork, "fork"),
        (repo.mirror, "mirror"),
        (repo.template, "template"),
        (migrating, "importing"),
    ];
    words.into_iter().filter_map(|(is, word)| is.then_some(word)).collect::<Vec<_>>().join(", ")
}

/// Returns the open offer of a repository as one text, such as `acme by ann, with access for devs`.
fn offer(offer: &RepositoryTransfer) -> String {
    let mut text = format!("{} by {}", offer.recipient.login, offer.doer.login);
    if !offer.teams.is_empty() {
        let teams: Vec<&str> = offer.teams.iter().map(|team| team.name.as_str()).collect();
        text += ", with access for ";
        text += &teams.join(", ");
    }
    text
}

fn page(repo: &Repository) -> String {
    let lines = [
        ("repository", format!("{} ({})", repo.full_name, repo.id)),
        ("description", repo.description.clone()),
        ("state", state(repo)),
        ("branch", repo.default_branch.clone()),
        ("size", if repo.size == 0 { String::new() } else { human_bytes(repo.size.saturating_mul(1_024)) }),
        ("clone", repo.clone_url.clone()),
        ("ssh", repo.ssh_url.clone()),
        ("source", repo.original_url.clone()),
        ("forked from", repo.parent.as_ref().map(|parent| parent.full_name.clone()).unwrap_or_default()),
        ("forks", if repo.forks_count == 0 { String::new() } else { repo.forks_count.to_string() }),
        ("error", repo.farrier_migration.as_ref().map(|migration| migration.error.clone()).unwrap_or_default()),
        ("sync error", repo.farrier_mirror.as_ref().map(|mirror| mirror.last_error.clone()).unwrap_or_default()),
        ("offered to", repo.repo_transfer.as_ref().map(offer).unwrap_or_default()),
        ("updated", moment(&repo.updated_at)),
    ];
    fields(&lines)
}

#[cfg(test)]
mod tests {
    use farrier_common::api::{MirrorProgress, Team, User};

    use super::*;

    #[test]
    fn the_error_of_a_mirror_and_an_open_offer_are_shown() {
        let plain = Repository { full_name: "octo/tool".into(), ..Repository::default() };
        let text = page(&plain);
        assert!(!text.contains("sync error") && !text.contains("offered to"), "{text}");
        let user = |name: &str| User { login: name.into(), ..User::default() };
        let team = |name: &str| Team { name: name.into(), ..Team::default() };
        let offer = RepositoryTransfer { doer: user("ann"), recipient: user("acme"), teams: vec![] };
        let mirror = MirrorProgress { last_error: "the source\ndid not answer".into(), ..MirrorProgress::default() };
        let busy = Repository { farrier_mirror: Some(mirror), repo_transfer: Some(offer.clone()), ..plain };
        let text = page(&busy);
        assert!(text.lines().any(|line| line.starts_with("sync error ") && line.contains("did not answer")), "{text}");
        assert!(text.lines().any(|line| line.starts_with("offered to ") && line.ends_with("acme by ann")), "{text}");
        let offer = RepositoryTransfer { teams: vec![team("devs"), team("ops")], ..offer };
        let text = page(&Repository { repo_transfer: Some(offer), ..busy });
        assert!(text.contains("acme by ann, with access for devs, ops\n"), "{text}");
    }
}
