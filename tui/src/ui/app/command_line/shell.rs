//! Commands of the shell that no screen shows: the code of the shell runs them, and its output is shown as a text.

use clap::{CommandFactory as _, Parser as _};

use super::LineResult;
use crate::{
    args::{self, Cli, Command},
    ui::{
        app::{App, RequestOwner},
        layer::{Confirm, Layer, TextView},
        net::{Request, ShellCommand},
        redacted::Redacted,
        world::Tone,
    },
};

/// The last words of commands that change nothing on the daemon.
const READS: [&str; 10] =
    ["list", "show", "usage", "groups", "export", "download", "archive", "events", "logs", "status"];

/// The command that a line selects.
struct Selected {
    /// Its words, such as `repo fork`.
    name: String,
    /// Its last word.
    verb: String,
    /// Whether it asks before it changes something.
    asks: bool,
}

/// Returns the command that the words select.
fn selected(words: &[String]) -> Selected {
    let cli = Cli::command();
    let (mut command, mut names) = (&cli, Vec::new());
    for word in words.iter().filter(|word| !word.starts_with('-')) {
        match command.find_subcommand(word) {
            Some(next) => {
                command = next;
                names.push(next.get_name());
            }
            // The value of a global option can be before the command.
            None if names.is_empty() => {}
            None => break,
        }
    }
    let asks = command.get_arguments().any(|argument| argument.get_long() == Some("yes"));
    Selected { name: names.join(" "), verb: names.last().copied().unwrap_or_default().to_owned(), asks }
}

/// Returns whether a command needs the terminal, starts processes, never ends, or finds the daemon by itself.
fn needs_shell(command: &Command) -> bool {
    match command {
        Command::Ci(_)
        | Command::Artifact(_)
        | Command::Backup { .. }
        | Command::Passwd { .. }
        | Command::Config(_)
        | Command::Completion { .. }
        | Command::Man { .. }
        | Command::Task(args::Task::Wait { .. }) => true,
        Command::Events(args) => args.follow,
        Command::Logs(args) => args.follow,
        Command::Audit(args::Audit::List(list)) => list.follow,
        _ => false,
    }
}

/// Returns whether an option reads standard input, which is the keyboard of the full screen, or writes a file to
/// standard output.
fn uses_standard_streams(word: &str) -> bool {
    word.starts_with('-') && word != "--" && (word.ends_with('-') || word.ends_with("-stdin"))
}

impl App {
    /// Runs a command with the code of the shell. Asks first if the command asks in the shell.
    pub(super) fn shell_command(&mut self, words: &[String]) -> LineResult {
        let line = std::iter::once("farrier").chain(words.iter().map(String::as_str));
        let cli = Cli::try_parse_from(line).map_err(|error| super::usage(&error))?;
        let is_possible = cli.command.as_ref().is_some_and(|command| !needs_shell(command));
        if !is_possible || words.iter().any(|word| uses_standard_streams(word)) {
            return Err(format!("runs only in the shell: farrier {}", words.join(" ")));
        }
        let Selected { name, verb, asks } = selected(words);
        let changes = !READS.contains(&verb.as_str());
        if changes {
            self.may_change()?;
        }
        let confirmed = (asks && !words.iter().any(|word| word == "--yes")).then_some("--yes");
        let words = words.iter().map(String::as_str).chain(confirmed);
        let line = shlex::try_join(words).map_err(|error| error.to_string())?;
        let shown = format!("farrier {line}");
        let request = Request::Shell(Box::new(ShellCommand { name: name.clone(), line: Redacted(line), changes }));
        if asks {
            let lines = vec![shown];
            let title = format!("Run {name}?");
            let question = Confirm::typed(title, lines, "Run", verb, request, &self.world);
            self.open(RequestOwner::App, Layer::Confirm(question));
        } else {
            self.send(RequestOwner::App, request);
            self.notify(Tone::Plain, format!("Running farrier {name}"));
        }
        Ok(())
    }

    /// Shows the output of a command: a line as a notice, a longer text above the screen.
    pub(in crate::ui::app) fn show_output(&mut self, command: &ShellCommand, text: &str, failed: bool) {
        let title = format!("farrier {}", command.name);
        let text = text.trim_end();
        let tone = if failed { Tone::Error } else { Tone::Plain };
        match text.lines().count() {
            0 if failed => self.notify(tone, format!("{title} failed")),
            0 => self.notify(tone, format!("{title}: no output")),
            1 => self.notify(tone, text.to_owned()),
            _ => self.open(RequestOwner::App, Layer::TextView(TextView::table(title, text))),
        }
        if command.changes {
            self.refresh();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_words_of_a_line_select_its_command() {
        for (line, name, asks) in [
            ("repo fork infra/auth", "repo fork", false),
            ("--time iso repo deploy-key delete a/b list", "repo deploy-key delete", true),
            ("release delete a/b v1 --yes", "release delete", true),
            ("status", "status", false),
        ] {
            let words: Vec<String> = line.split(' ').map(str::to_owned).collect();
            let selected = selected(&words);
            assert_eq!((selected.name.as_str(), selected.asks), (name, asks), "{line}");
        }
    }

    #[test]
    fn standard_input_and_output_belong_to_the_terminal() {
        for (word, expected) in [
            ("-", true),
            ("--password-stdin", true),
            ("--output=-", true),
            ("--", false),
            ("--yes", false),
            ("name-", false),
        ] {
            assert_eq!(uses_standard_streams(word), expected, "{word}");
        }
    }
}
