//! Runs commands of the shell with the connection of the full screen.

use std::iter::once;

use clap::Parser as _;
use farrier_common::client::Client;

use super::Answer;
use crate::{
    args::Cli,
    commands,
    exit::{self, Failure},
    output::Output,
    ui::redacted::Redacted,
};

/// A command of the shell that the full screen runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ShellCommand {
    /// The words that select the command, such as `repo fork`.
    pub(crate) name: String,
    /// The quoted command line, without the name of the program. An address in it may contain a password.
    pub(crate) line: Redacted,
    /// Whether it changes something on the daemon.
    pub(crate) changes: bool,
}

/// Runs a command and returns what it prints.
pub(super) async fn answer(client: &Client, command: &ShellCommand) -> Result<Answer, Failure> {
    let words = shlex::split(&command.line).unwrap_or_default();
    let cli = Cli::try_parse_from(once("farrier".to_owned()).chain(words));
    let cli = cli.map_err(|error| Failure::Usage(error.to_string()))?;
    let Some(parsed) = cli.command else { return Err(Failure::Usage("the command is missing".to_owned())) };
    // The full screen checks whether changes are allowed only for commands that are known to change something.
    let is_read_only = cli.global.read_only || !command.changes;
    let client = if is_read_only { client.clone().read_only() } else { client.clone() };
    let output = Output::captured(cli.global.format);
    let ran = Box::pin(commands::run_with(parsed, &client, &output)).await;
    let text = output.take_captured();
    match ran {
        Ok(code) => Ok(Answer::Printed { text, failed: code != exit::OK }),
        // The text was longer than the limit, and says so.
        Err(Failure::Closed) => Ok(Answer::Printed { text, failed: false }),
        Err(failure) if text.is_empty() => Err(failure),
        Err(failure) => Ok(Answer::Printed { text: format!("{text}\n{}", failure.report()), failed: true }),
    }
}

#[cfg(test)]
mod tests {
    use farrier_common::client::Endpoint;

    use super::*;

    #[tokio::test]
    async fn a_failed_command_is_an_error_with_the_text_of_the_shell() {
        let client = Client::new(Endpoint::Unix("/nonexistent/s".into()), None).unwrap();
        let of = |line: &str| ShellCommand { name: String::new(), line: Redacted(line.to_owned()), changes: false };
        let error = answer(&client, &of("user show mia")).await.unwrap_err();
        assert_eq!(error.code(), exit::UNREACHABLE, "{error:?}");
        let error = answer(&client, &of("no such command")).await.unwrap_err();
        assert_eq!(error.code(), exit::USAGE, "{error:?}");
        let error = answer(&client, &of("ci begin")).await.unwrap_err();
        assert_eq!(error.code(), exit::USAGE, "{error:?}");
        let error = answer(&client, &of("org create tools")).await.unwrap_err();
        assert_eq!(error.code(), exit::FAILED, "a change is not sent: {error:?}");
    }
}
