//! `farrier repo migrate`: imports a repository from another server.

use farrier_common::{api::Repository, client::Client};

use super::show;
use crate::{
    args::MigrateRepo,
    child::Signals,
    commands::{task, user::read_secret},
    exit::Failure,
    output::Output,
};

pub(super) async fn run(args: MigrateRepo, client: &Client, output: &Output) -> Result<(), Failure> {
    let secret = if args.password_stdin { read_secret("--password-stdin").await? } else { String::new() };
    let (path, wait) = (args.repo.clone(), args.wait);
    let doing = format!("importing {path}");
    let request = args.request(secret);
    let mut repo = client.migrate_repository(&request).await.map_err(Failure::call(doing.as_str()))?;
    let state = |repo: &Repository| repo.farrier_migration.as_ref().map(|migration| migration.state.clone());
    if wait && state(&repo).as_deref() == Some("running") {
        // The task of an import has the ID of its repository.
        follow(client, &repo, output).await?;
        repo = client.repository(&path).await.map_err(Failure::call(doing.as_str()))?;
    }
    if let Some(failed) = repo.farrier_migration.as_ref().filter(|migration| migration.state == "failed") {
        return Err(Failure::Other(format!("{doing}: {}", failed.error)));
    }
    if output.format().quiet && !wait {
        // The ID of the task, for `task wait`.
        return output.text(&repo.id.to_string());
    }
    show(&repo, output)
}

/// Waits for the end of the import. An interrupt ends the wait, not the import.
async fn follow(client: &Client, repo: &Repository, output: &Output) -> Result<(), Failure> {
    let mut signals = Signals::caught().map_err(|source| Failure::io("catching signals", source))?;
    tokio::select! {
        ended = task::follow(client, repo.id, output) => ended.map(drop),
        _ = signals.next() => {
            let _ = output.note(&continues_message(repo));
            Err(Failure::Interrupted)
        }
    }
}

fn continues_message(repo: &Repository) -> String {
    let (path, id) = (&repo.full_name, repo.id);
    format!(
        "farrier: the import of {path} continues in the background\n  follow it: farrier task wait {id}\n  cancel it: farrier task cancel {id}"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interrupted_wait_prints_how_to_follow_and_cancel_the_import() {
        let text = continues_message(&Repository { id: 6, full_name: "octo/copy".into(), ..Repository::default() });
        assert!(text.contains("octo/copy continues"), "{text}");
        assert!(text.contains("farrier task wait 6") && text.contains("farrier task cancel 6"), "{text}");
    }
}
