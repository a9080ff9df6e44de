//! The history of the command line: commands of this run, and those of earlier runs on the same daemon.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::App;
use crate::ui::world::UNKNOWN_ADDRESS;

/// Most saved commands of a daemon.
const COMMANDS_MAX: usize = 50;
/// Most daemons whose commands are saved.
const DAEMONS_MAX: usize = 8;
/// Longest saved command, bytes.
const COMMAND_MAX_BYTES: usize = 500;
/// Parts of words that may come before or contain a secret. Commands with one of them are not saved. `--set` sets a
/// setting of a receiver, which can be a key.
const SECRETS: [&str; 6] = ["secret", "password", "passwd", "token", "authorization", "--set"];
/// Characters of an access token. A pasted one looks like a commit ID.
const TOKEN_LEN: usize = 40;

/// The saved commands by daemon: an ID in a command belongs to another object on another daemon.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub(crate) struct CommandHistory {
    /// The name of the context or the address of the daemon, and its commands, the newest last.
    daemons: BTreeMap<String, Vec<String>>,
}

/// Returns whether a command can be saved: it is short, and nothing in it can be a secret.
fn can_be_saved(line: &str) -> bool {
    let lower = line.to_lowercase();
    // An address can contain a password before the `@`, or a secret in its path.
    let has_address = lower.contains("://");
    let is_token = lower.len() == TOKEN_LEN && lower.bytes().all(|byte| byte.is_ascii_hexdigit());
    line.len() <= COMMAND_MAX_BYTES
        && !has_address
        && !is_token
        && !line.contains(char::is_control)
        && !SECRETS.iter().any(|secret| lower.contains(secret))
}

impl CommandHistory {
    /// Adds a command as the newest one, each once.
    fn add(&mut self, daemon: &str, line: &str) {
        if !can_be_saved(line) {
            return;
        }
        if !self.daemons.contains_key(daemon) && self.daemons.len() >= DAEMONS_MAX {
            let fewest = self.daemons.iter().min_by_key(|(_, lines)| lines.len()).map(|(name, _)| name.clone());
            if let Some(name) = fewest {
                self.daemons.remove(&name);
            }
        }
        let lines = self.daemons.entry(daemon.to_owned()).or_default();
        lines.retain(|earlier| earlier != line);
        lines.push(line.to_owned());
        let excess = lines.len().saturating_sub(COMMANDS_MAX);
        lines.drain(..excess);
    }

    /// Returns the saved commands of a daemon, the newest last. A file that was edited can have more.
    fn of(&self, daemon: &str) -> &[String] {
        let lines = self.daemons.get(daemon).map(Vec::as_slice).unwrap_or_default();
        &lines[lines.len().saturating_sub(COMMANDS_MAX)..]
    }
}

impl App {
    /// Adds a command to the history.
    pub(super) fn remember_command(&mut self, line: String) {
        if let Some(daemon) = self.daemon_name() {
            self.command_history.add(&daemon, &line);
        }
        self.commands.push(line);
    }

    /// Returns the commands of earlier runs and of this one, the newest last.
    pub(super) fn known_commands(&self) -> Vec<String> {
        let daemon = self.daemon_name();
        let saved = daemon.map(|daemon| self.command_history.of(&daemon)).unwrap_or_default();
        let earlier = saved.iter().filter(|line| !self.commands.contains(line));
        earlier.chain(&self.commands).cloned().collect()
    }

    /// Returns the name of the context, else the address of the daemon; `None` until it is known.
    fn daemon_name(&self) -> Option<String> {
        let address = Some(&self.world.address).filter(|address| *address != UNKNOWN_ADDRESS);
        self.world.context.as_ref().map(|context| &context.name).or(address).cloned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_history_is_bounded_and_has_each_command_once() {
        let mut history = CommandHistory::default();
        for number in 0..COMMANDS_MAX + 5 {
            history.add("lab", &format!("run {number}"));
        }
        history.add("lab", "run 10");
        let lines = history.of("lab");
        assert_eq!(
            (lines.len(), lines[0].as_str(), lines[lines.len() - 1].as_str()),
            (COMMANDS_MAX, "run 5", "run 10")
        );
        assert_eq!(lines.iter().filter(|line| *line == "run 10").count(), 1);
        for number in 0..DAEMONS_MAX + 3 {
            history.add(&format!("daemon{number}"), "status");
        }
        assert_eq!(history.daemons.len(), DAEMONS_MAX);
        assert_eq!(history.of("lab").len(), COMMANDS_MAX, "the daemon with the fewest commands was left out");
        assert!(history.of("other").is_empty());
    }

    #[test]
    fn commands_that_may_contain_a_secret_are_not_saved() {
        for line in [
            "token create --user mia --name ci --scopes all",
            "hook create https://example.org/hook?key=1 --repo a/b",
            "hook edit 7 --secret-stdin",
            "connect https://mia:pw@example.org",
            "mirror add a/b c --username x --PASSWORD-stdin",
            "repo show a\u{1b}b",
            "hook edit 7 --set key=x",
            "0123456789abcdef0123456789abcdef01234567",
        ] {
            let mut history = CommandHistory::default();
            history.add("lab", line);
            assert!(history.of("lab").is_empty(), "{line}");
        }
        let mut history = CommandHistory::default();
        history.add("lab", "repo create infra/tool --private");
        assert_eq!(history.of("lab"), ["repo create infra/tool --private"]);
    }
}
