//! `farrier mirror`: lists, adds, syncs, deletes and converts mirrors.

use farrier_common::{
    api::PushMirror,
    client::{Client, RepositoryPath},
};
use serde::Serialize;

use super::{confirm, list, user::read_secret};
use crate::{
    args::{self, AddMirror},
    exit::Failure,
    output::{Output, Table, time},
};

#[derive(Serialize)]
struct Mirrors {
    total_count: usize,
    mirrors: Vec<PushMirror>,
}

pub(super) async fn run(command: args::Mirror, client: &Client, output: &Output) -> Result<(), Failure> {
    match command {
        args::Mirror::List { repo, limit } => {
            let pages = client.push_mirrors(&repo);
            let name = |mirror: &PushMirror| mirror.remote_name.clone();
            let all = list::first(limit.items(), pages, |page: Vec<PushMirror>| page, name).await;
            let all = all.map_err(Failure::call(format!("listing push mirrors of {repo}")))?;
            list::show(output, all, name, table, |total_count, mirrors| Mirrors { total_count, mirrors })
        }
        args::Mirror::Add(args) => add(args, client, output).await,
        args::Mirror::Sync { repo } => sync(&repo, client, output).await,
        args::Mirror::Delete { repo, name, yes } => {
            confirm::deletion(&format!("Push mirror {name} of {repo}"), &name, yes).await?;
            let doing = format!("deleting push mirror {name} of {repo}");
            client.delete_push_mirror(&repo, &name).await.map_err(Failure::call(doing))?;
            output.object(&serde_json::json!({ "deleted": name }), &name, || {
                format!("Push mirror {name} of {repo} deleted")
            })
        }
        args::Mirror::Convert { repo, yes } => {
            confirm::deletion(&format!("The connection of {repo} to its source"), &repo.name, yes).await?;
            let converted = client.convert_mirror(&repo).await;
            let converted = converted.map_err(Failure::call(format!("converting {repo}")))?;
            output.object(&converted, &converted.id.to_string(), || format!("{repo} converted to a normal repository"))
        }
    }
}

async fn add(args: AddMirror, client: &Client, output: &Output) -> Result<(), Failure> {
    let secret = if args.password_stdin { read_secret("--password-stdin").await? } else { String::new() };
    let repo = args.repo.clone();
    let added = client.add_push_mirror(&repo, &args.request(secret)).await;
    let added = added.map_err(Failure::call(format!("adding a push mirror to {repo}")))?;
    output.object(&added, &added.remote_name, || {
        format!("Push mirror {} added to {repo}: {}", added.remote_name, added.remote_address)
    })
}

async fn sync(repo: &RepositoryPath, client: &Client, output: &Output) -> Result<(), Failure> {
    let doing = || format!("syncing {repo}");
    let found = client.repository(repo).await.map_err(Failure::call(doing()))?;
    let (kind, text) = if found.mirror {
        client.sync_mirror(repo).await.map_err(Failure::call(doing()))?;
        ("pull", format!("Sync of {repo} requested"))
    } else {
        client.sync_push_mirrors(repo).await.map_err(Failure::call(doing()))?;
        ("push", format!("Push mirrors of {repo} synced"))
    };
    output.object(&serde_json::json!({ "synced": kind }), kind, || text)
}

fn table(all: &[PushMirror]) -> String {
    let mut table = Table::new(["NAME", "LAST RUN", "INTERVAL", "ON PUSH", "ADDRESS", "ERROR"]);
    for mirror in all {
        let ran = if mirror.last_update.starts_with("1970-") { "never".to_owned() } else { time(&mirror.last_update) };
        let on_push = if mirror.sync_on_commit { "yes" } else { "no" };
        table.row([
            mirror.remote_name.clone(),
            ran,
            mirror.interval.clone(),
            on_push.to_owned(),
            mirror.remote_address.clone(),
            mirror.last_error.clone(),
        ]);
    }
    table.render()
}
