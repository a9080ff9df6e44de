//! `farrier repo migrate`

use farrier_common::{api::Repository, client::Client};

use super::show;
use crate::{
    args::MigrateRepo,
    commands::{task, user::read_secret},
    exit::Failure,
    output::Output,
};

pub(super) async fn run(args: MigrateRepo, client: &Client, output: &Output) -> Result<(), Failure> {
    let secret = if args.password_stdin { read_secret("--password-stdin").await? } else { String::new() };
    let (path, wait) = (args.repo.clone(), args.wait);
    let doing = format!("migrating {path}");
    let wanted = args.wanted(secret);
    let mut repo = client.migrate_repository(&wanted).await.map_err(Failure::call(doing.as_str()))?;
    let state = |repo: &Repository| repo.farrier_migration.as_ref().map(|going| going.state.clone());
    if wait && state(&repo).as_deref() == Some("running") {
        // The task of a migration has its repository's number.
        task::follow(client, repo.id, output).await?;
        repo = client.repository(&path).await.map_err(Failure::call(doing.as_str()))?;
    }
    if let Some(failed) = repo.farrier_migration.as_ref().filter(|going| going.state == "failed") {
        return Err(Failure::Other(format!("{doing}: {}", failed.error)));
    }
    show(&repo, output)
}
