//! Commands of the shell that no screen shows: the code of the shell runs them, and its output is shown as a text.

use clap::{ArgMatches, CommandFactory as _, FromArgMatches as _};

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
const READS: [&str; 12] = [
    "list", "show", "usage", "groups", "export", "download", "archive", "branches", "token", "events", "logs", "status",
];
/// Files that stand for the terminal or for standard streams.
const STREAM_FILES: [&str; 5] = ["/dev/std", "/dev/tty", "/dev/console", "/dev/fd/", "/proc/self/fd/"];

/// The command that a line selects.
struct Selected {
    /// Its words, such as `repo fork`.
    name: String,
    /// Its last word.
    verb: String,
    /// Whether `--yes` was given. `None`: the command has no such option, because it does not ask.
    yes: Option<bool>,
}

/// Returns the command that the parser selected. Options can be before, between and after its words.
fn selected(mut matches: &ArgMatches) -> Selected {
    let mut names = Vec::new();
    while let Some((name, next)) = matches.subcommand() {
        names.push(name);
        matches = next;
    }
    let yes = matches.try_get_one::<bool>("yes").ok().flatten().copied();
    Selected { name: names.join(" "), verb: names.last().copied().unwrap_or_default().to_owned(), yes }
}

/// Adds `--yes` to a command. After `--` it would be a name.
fn confirmed(words: &[String]) -> Vec<&str> {
    let mut words: Vec<&str> = words.iter().map(String::as_str).collect();
    let end = words.iter().position(|word| *word == "--").unwrap_or(words.len());
    words.insert(end, "--yes");
    words
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
        Command::Status { watch } => *watch,
        Command::Events(args) => args.follow,
        Command::Logs(args) => args.follow,
        Command::Audit(args::Audit::List(list)) => list.follow,
        _ => false,
    }
}

/// Returns whether an option reads standard input, which is the keyboard of the full screen, or writes a file to
/// standard output.
fn uses_standard_streams(word: &str) -> bool {
    let is_option = word.starts_with('-') && word != "--" && (word.ends_with('-') || word.ends_with("-stdin"));
    is_option || STREAM_FILES.iter().any(|file| word.contains(file))
}

impl App {
    /// Runs a command with the code of the shell. Asks first if the command asks in the shell.
    pub(super) fn shell_command(&mut self, words: &[String]) -> LineResult {
        let line = std::iter::once("farrier").chain(words.iter().map(String::as_str));
        let matches = Cli::command().try_get_matches_from(line).map_err(|error| super::usage(&error))?;
        let cli = Cli::from_arg_matches(&matches).map_err(|error| super::usage(&error))?;
        let is_possible = cli.command.as_ref().is_some_and(|command| !needs_shell(command));
        if !is_possible || words.iter().any(|word| uses_standard_streams(word)) {
            return Err(format!("runs only in the shell: farrier {}", words.join(" ")));
        }
        let Selected { name, verb, yes } = selected(&matches);
        let changes = !READS.contains(&verb.as_str());
        if changes {
            self.may_change()?;
        }
        let words = if yes == Some(false) { confirmed(words) } else { words.iter().map(String::as_str).collect() };
        let line = shlex::try_join(words).map_err(|error| error.to_string())?;
        let shown = format!("farrier {line}");
        let request = Request::Shell(Box::new(ShellCommand { name: name.clone(), line: Redacted(line), changes }));
        if yes.is_some() {
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
            _ => {
                let running = format!("Running {title}");
                self.notice.take_if(|(_, shown, _)| *shown == running);
                self.open(RequestOwner::App, Layer::TextView(TextView::table(title, text)));
            }
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
        for (line, name, yes) in [
            ("repo fork infra/auth", "repo fork", None),
            ("--time iso repo deploy-key delete a/b list", "repo deploy-key delete", Some(false)),
            ("repo --time iso deploy-key delete a/b 1", "repo deploy-key delete", Some(false)),
            ("release --json delete a/b v1 --yes", "release delete", Some(true)),
            ("release delete a/b -- --yes", "release delete", Some(false)),
            ("status", "status", None),
        ] {
            let words = std::iter::once("farrier").chain(line.split(' '));
            let selected = selected(&Cli::command().try_get_matches_from(words).unwrap());
            assert_eq!((selected.name.as_str(), selected.yes), (name, yes), "{line}");
        }
    }

    #[test]
    fn the_confirmation_is_an_option_and_not_a_name() {
        for (line, expected) in [
            ("release delete a/b v1", "release delete a/b v1 --yes"),
            ("release delete a/b -- --yes", "release delete a/b --yes -- --yes"),
        ] {
            let words: Vec<String> = line.split(' ').map(str::to_owned).collect();
            assert_eq!(confirmed(&words).join(" "), expected);
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
            ("/dev/stdin", true),
            ("--output=/dev/stdout", true),
            ("/dev/shm/key.pub", false),
        ] {
            assert_eq!(uses_standard_streams(word), expected, "{word}");
        }
    }
}
