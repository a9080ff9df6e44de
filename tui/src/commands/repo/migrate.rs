//! `farrier repo migrate`

use farrier_common::{
    api::{MigrateRepository, Repository},
    client::Client,
    defaults::REPOSITORY_PRIVATE,
};

use super::show;
use crate::{
    args::MigrateRepo,
    commands::{task, user::read_secret},
    exit::Failure,
    output::Output,
};

pub(super) async fn run(args: MigrateRepo, client: &Client, output: &Output) -> Result<(), Failure> {
    let secret = if args.password_stdin { read_secret("--password-stdin").await? } else { String::new() };
    // A secret without a name is a token.
    let (password, token) = if args.username.is_empty() { (String::new(), secret) } else { (secret, String::new()) };
    let wanted = MigrateRepository {
        clone_addr: args.from,
        repo_name: args.repo.name.clone(),
        repo_owner: args.repo.owner.clone(),
        auth_username: args.username,
        auth_password: password,
        auth_token: token,
        private: args.private || REPOSITORY_PRIVATE,
        description: args.description,
        ..MigrateRepository::default()
    };
    let doing = format!("migrating {}", args.repo);
    let mut repo = client.migrate_repository(&wanted).await.map_err(Failure::call(doing.as_str()))?;
    let state = |repo: &Repository| repo.farrier_migration.as_ref().map(|going| going.state.clone());
    if args.wait && state(&repo).as_deref() == Some("running") {
        // The task of a migration has its repository's number.
        task::follow(client, repo.id, output).await?;
        repo = client.repository(&args.repo).await.map_err(Failure::call(doing.as_str()))?;
    }
    if let Some(failed) = repo.farrier_migration.as_ref().filter(|going| going.state == "failed") {
        return Err(Failure::Other(format!("{doing}: {}", failed.error)));
    }
    show(&repo, output)
}
