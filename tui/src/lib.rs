//! The terminal program of farrier as a library: the command line, `farrier NOUN VERB`, and the full screen that opens
//! without a command.
//!
//! It accesses the daemon only through its API, over TCP or the daemon's socket.

mod args;
mod audit_text;
mod blocking;
mod child;
mod clock;
mod commands;
mod config;
mod denied;
mod endpoint;
mod exit;
mod log_text;
mod moment;
mod output;
mod progress;
mod prompt;
mod quote;
mod rule_text;
mod team_text;
mod transfer;
mod ui;

use std::{ffi::OsString, process::ExitCode};

use clap::{CommandFactory as _, Parser as _};

use self::{
    args::{Cli, Command},
    exit::Failure,
    output::Output,
};

/// Returns the definition of the command line, for manual pages and completions.
pub fn command() -> clap::Command {
    Cli::command()
}

/// A part of the full screen and its keys: the keys, what they do, and the name of the action in the configuration.
pub type ScreenKeys = (String, Vec<(Vec<String>, &'static str, String)>);

/// Returns the keys of the full screen by part, for the manual.
pub fn keys() -> Vec<ScreenKeys> {
    ui::keys()
}

/// Returns the commands of the full screen that have no key, with their arguments and descriptions, for the
/// manual.
pub fn typed() -> Vec<(String, &'static str)> {
    ui::typed()
}

/// Returns the completion script of the program for `shell`.
pub fn completion(shell: clap_complete::Shell) -> Vec<u8> {
    commands::completion_script(shell)
}

/// Runs the program. The first element of `args` is the program's name.
pub fn main(args: impl IntoIterator<Item = OsString>) -> ExitCode {
    let cli = match Cli::try_parse_from(args) {
        Ok(cli) => cli,
        Err(error) => {
            // Help and version go to standard output with 0; usage errors exit with 2.
            let _ = error.print();
            return ExitCode::from(u8::try_from(error.exit_code()).unwrap_or(exit::USAGE));
        }
    };
    let output = Output::new(&cli.global, cli.display.color);
    let command = match cli.command {
        Some(command) => command,
        None if ui::is_available() => {
            return ui::open(&cli.global, &cli.display).unwrap_or_else(|failure| {
                let _ = output.error(&failure);
                ExitCode::from(failure.code())
            });
        }
        // Without a terminal, the status is printed instead of the full screen.
        None => Command::Status { watch: false },
    };
    // A mistake in a context must not prevent `config check`, which reports it.
    let is_local = matches!(command, Command::Config(_) | Command::Completion { .. } | Command::Man { .. });
    let global = if is_local { Ok(cli.global) } else { endpoint::in_selected_context(&cli.global) };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|source| Failure::io("starting", source));
    let result = match global.and_then(|global| Ok((global, runtime?))) {
        Ok((global, runtime)) => {
            let result = runtime.block_on(commands::run(command, &global, &output));
            // A blocked read of a file or of standard input must not delay the end of the program.
            runtime.shutdown_background();
            result
        }
        Err(failure) => Err(failure),
    };
    match result {
        Ok(code) => ExitCode::from(code),
        // Standard output was closed, as in `farrier … | head`.
        Err(Failure::Closed) => ExitCode::SUCCESS,
        Err(failure) => {
            let _ = output.error(&failure);
            ExitCode::from(failure.code())
        }
    }
}
