//! `farrier repo migrate`

use std::time::Duration;

use farrier_common::{api::MigrateRepository, client::Client};

use super::show;
use crate::{args::MigrateRepo, commands::user::read_secret, exit::Failure, output::Output};

/// How often a migration is looked at.
const LOOK_EVERY: Duration = Duration::from_millis(500);

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
        private: args.private,
        description: args.description,
        ..MigrateRepository::default()
    };
    let doing = format!("migrating {}", args.repo);
    let mut repo = client.migrate_repository(&wanted).await.map_err(Failure::call(doing.as_str()))?;
    if args.wait {
        let bar = output.progress(&doing, None);
        while let Some(going) = repo.farrier_migration.as_ref().filter(|going| going.state == "running") {
            bar.set_message(format!("{doing}: {} {} objects", going.phase, going.objects_received));
            bar.set_position(u64::try_from(going.bytes_received).unwrap_or_default());
            tokio::time::sleep(LOOK_EVERY).await;
            repo = client.repository(&args.repo).await.map_err(Failure::call(doing.as_str()))?;
        }
        bar.finish_and_clear();
    }
    if let Some(failed) = repo.farrier_migration.as_ref().filter(|going| going.state == "failed") {
        return Err(Failure::Other(format!("{doing}: {}", failed.error)));
    }
    show(&repo, output)
}
