//! `farrier repo list --deleted`, `restore` and `purge`: repositories that can be restored.

use farrier_common::{
    api::{RestorableRepository, RestoreRepository},
    client::{Client, RepositoryPath},
};
use http::StatusCode;
use serde::Serialize;

use super::super::{
    confirm,
    list::{self, Listed},
};
use crate::{
    exit::Failure,
    output::{Output, Table, human_bytes, time},
};

#[derive(Serialize)]
struct Repositories {
    total_count: usize,
    repositories: Vec<RestorableRepository>,
}

pub(super) async fn list(owner: Option<&str>, limit: usize, client: &Client, output: &Output) -> Result<(), Failure> {
    let mut all = all(client, None).await?;
    if let Some(owner) = owner {
        all.retain(|repo| repo.repository.split('/').next().is_some_and(|name| name.eq_ignore_ascii_case(owner)));
    }
    let document = |total_count, repositories| Repositories { total_count, repositories };
    list::show(output, Listed::cut(all, limit), |repo| repo.id, table, document)
}

pub(super) async fn restore(
    word: &str,
    target: Option<RepositoryPath>,
    client: &Client,
    output: &Output,
) -> Result<(), Failure> {
    let deleted = find(word, client).await?;
    let target = target.map_or_else(RestoreRepository::default, |target| RestoreRepository {
        owner: Some(target.owner),
        name: Some(target.name),
    });
    let doing = format!("restoring {}", deleted.repository);
    let restored = client.restore_repository(deleted.id, &target).await;
    let restored = restored.map_err(|error| match error.status() {
        Some(StatusCode::CONFLICT) => Failure::Conflict(format!(
            "{doing}: {error}\nuse --as OWNER/NAME to restore it for another owner or under another name"
        )),
        _ => Failure::call(doing)(error),
    })?;
    output.object(&restored, &restored.full_name, || format!("Repository {} restored", restored.full_name))
}

pub(super) async fn purge(word: &str, yes: bool, client: &Client, output: &Output) -> Result<(), Failure> {
    let deleted = find(word, client).await?;
    let what = format!("{} (ID {})", deleted.repository, deleted.id);
    confirm::deletion(&format!("Repository {what}"), &deleted.repository, yes).await?;
    let purged = client.purge_repository(deleted.id).await;
    purged.map_err(Failure::call(format!("deleting {what} permanently")))?;
    output.object(&serde_json::json!({ "purged": deleted.id }), &deleted.id.to_string(), || {
        format!("Repository {what} deleted permanently")
    })
}

/// Returns the deleted repository with the id `word` or the former path `word` (`OWNER/NAME`).
async fn find(word: &str, client: &Client) -> Result<RestorableRepository, Failure> {
    if let Ok(id) = word.parse() {
        let found = client.deleted_repository(id).await;
        return found.map_err(Failure::call(format!("looking for deleted repository {id}")));
    }
    let path: RepositoryPath =
        word.parse().map_err(|_| Failure::Usage(format!("{word} is not valid; expected OWNER/NAME or an ID")))?;
    let mut found = all(client, Some(&path)).await?;
    match found.len() {
        0 => Err(Failure::NotFound(format!(
            "no deleted repository was called {path}; `farrier repo list --deleted` lists them"
        ))),
        1 => Ok(found.remove(0)),
        count => {
            let each = found.iter().map(|repo| format!("{} (deleted {})", repo.id, repo.deleted_at));
            let each = each.collect::<Vec<_>>().join(", ");
            Err(Failure::Usage(format!("{count} deleted repositories were called {path}; give the ID of one: {each}")))
        }
    }
}

async fn all(client: &Client, path: Option<&RepositoryPath>) -> Result<Vec<RestorableRepository>, Failure> {
    let all = list::collect(client.deleted_repositories(path), |list: Vec<RestorableRepository>| list, |repo| repo.id);
    all.await.map_err(Failure::call("listing deleted repositories"))
}

fn table(all: &[RestorableRepository]) -> String {
    let mut table = Table::new(["ID", "SIZE", "DELETED", "BY", "RESTORABLE UNTIL", "NAME"]);
    for repo in all {
        table.row([
            repo.id.to_string(),
            human_bytes(repo.size_bytes),
            time(&repo.deleted_at),
            repo.deleted_by.clone(),
            time(&repo.restorable_until),
            repo.repository.clone(),
        ]);
    }
    table.render()
}
