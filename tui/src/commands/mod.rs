//! The commands of the program.
//!
//! A command turns its arguments into requests of the client, and responses into output. Its exit code follows from the
//! failure that it returns. How the daemon is found is decided in `endpoint`.

mod artifact;
mod audit;
mod backup;
mod cache;
mod ci;
mod config;
mod confirm;
mod delivery;
mod events;
mod gpg_key;
mod hook;
mod instant;
mod key;
mod list;
mod log;
mod logs;
mod manual;
mod mirror;
mod org;
mod passwd;
mod release;
mod repo;
mod run;
mod save;
mod status;
mod task;
mod team;
mod token;
mod user;

pub(crate) use self::{manual::completion_script, token::creation as token_creation};
use farrier_common::client::Client;

use crate::{
    args::{Command, Global},
    endpoint,
    exit::{self, Failure},
    output::Output,
};

/// Connects to the daemon and warns when the token leaves the machine unencrypted.
async fn connect(global: &Global, output: &Output) -> Result<Client, Failure> {
    let client = endpoint::connect(global).await?;
    if client.exposes_token() {
        let _ = output.note(&format!(
            "farrier: warning: {} is not encrypted; others on the network can read the token",
            client.endpoint()
        ));
    }
    Ok(client)
}

/// Runs one command and returns its exit code.
pub(crate) async fn run(command: Command, global: &Global, output: &Output) -> Result<u8, Failure> {
    match command {
        Command::Ci(command) => return ci::run(command, &connect(global, output).await?, global, output).await,
        Command::Artifact(command) => return artifact::run(command, global, output).await,
        Command::Config(command) => return config::run(command, output),
        Command::Completion { shell } => manual::completion(shell, output)?,
        Command::Man { command } => manual::page(&command, output)?,
        command => return run_with(command, &connect(global, output).await?, output).await,
    }
    Ok(exit::OK)
}

/// Runs one command with a client that is connected already. The full screen runs commands like this.
///
/// # Errors
///
/// Returns a usage error for commands that need more than a client.
pub(crate) async fn run_with(command: Command, client: &Client, output: &Output) -> Result<u8, Failure> {
    match command {
        Command::Status { watch: false } => status::run(client, output).await?,
        Command::Status { watch: true } => status::watch(client, output).await?,
        Command::Task(command) => task::run(command, client, output).await?,
        Command::User(command) => user::run(command, client, output).await?,
        Command::Org(command) => org::run(command, client, output).await?,
        Command::Team(command) => team::run(command, client, output).await?,
        Command::Token(command) => token::run(command, client, output).await?,
        Command::Key(command) => key::run(command, client, output).await?,
        Command::GpgKey(command) => gpg_key::run(command, client, output).await?,
        Command::Repo(command) => repo::run(command, client, output).await?,
        Command::Release(command) => release::run(command, client, output).await?,
        Command::Mirror(command) => mirror::run(command, client, output).await?,
        Command::Hook(command) => return hook::run(command, client, output).await,
        Command::Events(args) => events::run(args, client, output).await?,
        Command::Delivery(command) => return delivery::run(command, client, output).await,
        Command::Audit(command) => audit::run(command, client, output).await?,
        Command::Backup { directory: Some(directory), keep, without_caches, .. } => {
            backup::run(&directory, keep, without_caches, client, output).await?;
        }
        Command::Backup { directory: None, without_caches, .. } => {
            backup::stream(without_caches, client, output).await?;
        }
        Command::Log(command) => log::run(command, client, output).await?,
        Command::Logs(args) => logs::run(args, client, output).await?,
        Command::Run(command) => run::run(command, client, output).await?,
        Command::Cache(command) => cache::run(command, client, output).await?,
        Command::Passwd { password_stdin, revoke_tokens } => {
            passwd::run(password_stdin, revoke_tokens, client, output).await?;
        }
        Command::Ci(_)
        | Command::Artifact(_)
        | Command::Config(_)
        | Command::Completion { .. }
        | Command::Man { .. } => {
            return Err(Failure::Usage("this command runs only in the shell".to_owned()));
        }
    }
    Ok(exit::OK)
}
