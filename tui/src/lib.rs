//! farrier's terminal program as a library: `main` is thin and tests call the same [`main`].
//!
//! Owns the command line, `farrier NOUN VERB`, and the full screen that opens without one. Knows the daemon only through its API, and no file of
//! it but the socket.

mod args;
mod blocking;
mod child;
mod clock;
mod commands;
mod config;
mod denied;
mod endpoint;
mod exit;
mod moment;
mod output;
mod progress;
mod prompt;
mod quote;
mod transfer;
mod ui;

use std::{ffi::OsString, process::ExitCode};

use clap::{CommandFactory as _, Parser as _};

use self::{
    args::{Cli, Command},
    exit::Failure,
    output::Output,
};

/// The command line, for manual pages and completions.
pub fn command() -> clap::Command {
    Cli::command()
}

/// A place of the full screen, and its keys: names, what they do, and what a configuration calls it.
pub type KeysOfPlace = (String, Vec<(Vec<String>, &'static str, String)>);

/// The keys of the full screen, place by place, for the manual.
pub fn keys() -> Vec<KeysOfPlace> {
    ui::keys()
}

/// Commands of the full screen that have no key, with their arguments and what they do, for the manual.
pub fn typed() -> Vec<(String, &'static str)> {
    ui::typed()
}

/// Runs the program with `args`, the first of which is its name.
pub fn main(args: impl IntoIterator<Item = OsString>) -> ExitCode {
    let cli = match Cli::try_parse_from(args) {
        Ok(cli) => cli,
        Err(error) => {
            // Help and version are asked for and go to stdout with 0; the rest is usage, 2.
            let _ = error.print();
            return ExitCode::from(u8::try_from(error.exit_code()).unwrap_or(exit::USAGE));
        }
    };
    let output = Output::new(&cli.global);
    let command = match cli.command {
        Some(command) => command,
        None if ui::possible() => {
            return ui::open(&cli.global, &cli.looks).unwrap_or_else(|failure| {
                let _ = output.error(&failure);
                ExitCode::from(failure.code())
            });
        }
        // Where there is no terminal, the same question has a short answer.
        None => Command::Status { watch: false },
    };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let result = match runtime {
        Ok(runtime) => {
            let result = runtime.block_on(commands::run(command, &cli.global, &output));
            // A blocked read of a file or of stdin must not hold the program up.
            runtime.shutdown_background();
            result
        }
        Err(source) => Err(Failure::io("starting", source)),
    };
    match result {
        Ok(code) => ExitCode::from(code),
        // The reader has gone, which is its right: `farrier … | head`.
        Err(Failure::Closed) => ExitCode::SUCCESS,
        Err(failure) => {
            let _ = output.error(&failure);
            ExitCode::from(failure.code())
        }
    }
}
