//! What each noun and verb does.
//!
//! A command turns its arguments into calls of the client and answers into output. It decides no exit
//! code but through the failure that it returns, and knows nothing of how the daemon is found.

mod artifact;
mod ci;
mod config;
mod delivery;
mod events;
mod hook;
mod list;
mod log;
mod org;
mod repo;
mod status;
mod task;
mod token;
mod user;

use crate::{
    args::{Command, Global},
    endpoint,
    exit::{self, Failure},
    output::Output,
};

/// Runs one command. The answer is the exit code of a command that did not fail by itself.
pub(crate) async fn run(command: Command, global: &Global, output: &Output) -> Result<u8, Failure> {
    match command {
        Command::Status { watch: false } => status::run(&endpoint::connect(global).await?, output).await?,
        Command::Status { watch: true } => status::watch(&endpoint::connect(global).await?, output).await?,
        Command::Task(command) => task::run(command, &endpoint::connect(global).await?, output).await?,
        Command::User(command) => user::run(command, &endpoint::connect(global).await?, output).await?,
        Command::Org(command) => org::run(command, &endpoint::connect(global).await?, output).await?,
        Command::Token(command) => token::run(command, &endpoint::connect(global).await?, output).await?,
        Command::Repo(command) => repo::run(command, &endpoint::connect(global).await?, output).await?,
        Command::Hook(command) => return hook::run(command, &endpoint::connect(global).await?, output).await,
        Command::Events(args) => events::run(args, &endpoint::connect(global).await?, output).await?,
        Command::Delivery(command) => return delivery::run(command, &endpoint::connect(global).await?, output).await,
        Command::Log(command) => log::run(command, &endpoint::connect(global).await?, output).await?,
        Command::Ci(command) => return ci::run(command, &endpoint::connect(global).await?, output).await,
        Command::Config(command) => return config::run(command, output),
        Command::Artifact(command) => return artifact::run(command, global, output).await,
    }
    Ok(exit::OK)
}
