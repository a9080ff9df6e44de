//! The commands of the shell as the command line of the full screen offers them, from the definition of the shell.

use std::sync::LazyLock;

use clap::{Arg, ArgAction, Command, CommandFactory as _};

use super::{BINDINGS, Object, TYPED_COMMANDS};
use crate::args::Cli;

/// Commands that run only in the shell.
const ONLY_SHELL: [&str; 8] = ["ci", "artifact upload", "backup", "passwd", "config", "completion", "man", "task wait"];

/// A command of the shell that is in none of the other tables.
#[derive(Debug)]
pub(crate) struct ShellEntry {
    pub(crate) words: String,
    /// Placeholders of the required arguments.
    pub(crate) argument: String,
    pub(crate) title: String,
    /// The kind of object that the first argument names.
    pub(crate) object: Option<Object>,
}

/// What can follow the typed part of a command of the shell.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Expected {
    Object(Object),
    /// Words with descriptions, such as options.
    Words(Vec<(String, String)>),
    Nothing,
}

static SHELL: LazyLock<Command> = LazyLock::new(Cli::command);

/// All commands of the shell that are in none of the other tables.
pub(crate) static SHELL_COMMANDS: LazyLock<Vec<ShellEntry>> = LazyLock::new(|| {
    let mut entries = Vec::new();
    collect(&SHELL, "", &mut entries);
    entries
});

fn collect(command: &Command, words: &str, entries: &mut Vec<ShellEntry>) {
    for one in command.get_subcommands() {
        let words = format!("{words} {}", one.get_name()).trim_start().to_owned();
        let is_known = BINDINGS.iter().any(|binding| binding.words == words)
            || TYPED_COMMANDS.iter().any(|typed| typed.words == words && !one.has_subcommands());
        if ONLY_SHELL.contains(&words.as_str()) {
            continue;
        }
        if one.has_subcommands() {
            collect(one, &words, entries);
        } else if !is_known {
            let required: Vec<String> =
                one.get_arguments().filter(|arg| arg.is_required_set()).map(placeholder).collect();
            let object = one.get_positionals().next().and_then(|arg| object_of(&words, arg));
            let title = one.get_about().map(ToString::to_string).unwrap_or_default();
            entries.push(ShellEntry { argument: required.join(" "), title, object, words });
        }
    }
}

/// Returns the text for an argument in a description: `OWNER/NAME`, or `--email EMAIL`.
fn placeholder(arg: &Arg) -> String {
    let value = arg
        .get_value_names()
        .and_then(|names| names.first())
        .map_or_else(|| arg.get_id().as_str().to_uppercase(), ToString::to_string);
    arg.get_long().map_or_else(|| value.clone(), |long| format!("--{long} {value}"))
}

/// Returns the kind of object that an argument of a command names.
fn object_of(words: &str, arg: &Arg) -> Option<Object> {
    let is_path = arg.get_value_names().and_then(|names| names.first()).is_some_and(|name| name == "OWNER/NAME");
    let (noun, verb) = words.split_once(' ').unwrap_or((words, ""));
    let id = arg.get_long().unwrap_or_else(|| arg.get_id().as_str());
    // A team is named by its organization and its own name, which are suggested together.
    if noun == "team" && matches!(id, "org" | "team") {
        return None;
    }
    match (noun, id) {
        _ if is_path && verb != "create" && verb != "migrate" => Some(Object::Repository),
        (_, "user") | ("user", "name") => (verb != "create").then_some(Object::User),
        (_, "org") | ("org", "name") => (verb != "create").then_some(Object::Organization),
        (_, "hook") | ("hook", "id") => Some(Object::Hook),
        (_, "run") => Some(Object::Run),
        ("delivery", "host") => Some(Object::HookHost),
        ("task", "id") => Some(Object::Task),
        ("delivery", "delivery" | "deliveries") => Some(Object::Delivery),
        ("artifact", "artifact" | "artifacts") => Some(Object::Artifact),
        (_, "branch" | "ref" | "reference") => Some(Object::Branch),
        _ => None,
    }
}

/// Returns whether an option is followed by a value.
fn takes_value(arg: &Arg) -> bool {
    matches!(arg.get_action(), ArgAction::Set | ArgAction::Append)
}

/// Returns the option that a word names.
fn option<'c>(command: &'c Command, word: &str) -> Option<&'c Arg> {
    let name = word.strip_prefix("--")?;
    command.get_arguments().find(|arg| arg.get_long() == Some(name))
}

/// Returns what can follow in a line that begins with a complete command of the shell. The last word of the line is
/// the typed part.
pub(crate) fn expected(line: &str) -> Expected {
    let mut typed: Vec<&str> = line.split(' ').filter(|word| !word.is_empty()).collect();
    let last = if line.ends_with(' ') { "" } else { typed.pop().unwrap_or_default() };
    let (mut command, mut words) = (&*SHELL, Vec::new());
    while let Some(next) = typed.get(words.len()).and_then(|word| command.find_subcommand(word)) {
        command = next;
        words.push(next.get_name());
    }
    if words.is_empty() || command.has_subcommands() {
        return Expected::Nothing;
    }
    let arguments = &typed[words.len()..];
    let words = words.join(" ");
    if let Some(arg) = arguments.last().and_then(|word| option(command, word)).filter(|arg| takes_value(arg)) {
        return value_of(&words, arg);
    }
    if last.starts_with('-') {
        let is_new = |arg: &&Arg| arg.get_long().is_some_and(|long| !arguments.contains(&format!("--{long}").as_str()));
        let about = |arg: &Arg| arg.get_help().map(ToString::to_string).unwrap_or_default();
        let offer = |arg: &Arg| Some((format!("--{}", arg.get_long()?), about(arg)));
        let offers = command.get_arguments().filter(|arg| !arg.is_hide_set()).filter(is_new).filter_map(offer);
        return Expected::Words(offers.filter(|(name, _)| name.starts_with(last)).collect());
    }
    let mut position = 0;
    let mut is_value = false;
    for word in arguments {
        let is_option = word.starts_with('-');
        if !is_option && !is_value {
            position += 1;
        }
        is_value = is_option && option(command, word).is_some_and(takes_value);
    }
    let positionals: Vec<&Arg> = command.get_positionals().collect();
    let is_list = |arg: &&&Arg| matches!(arg.get_action(), ArgAction::Append);
    match positionals.get(position).or_else(|| positionals.last().filter(is_list)) {
        Some(arg) => value_of(&words, arg),
        None => Expected::Nothing,
    }
}

fn value_of(words: &str, arg: &Arg) -> Expected {
    if let Some(object) = object_of(words, arg) {
        return Expected::Object(object);
    }
    let values = arg.get_possible_values();
    if values.is_empty() {
        return Expected::Nothing;
    }
    let about = |value: &clap::builder::PossibleValue| value.get_help().map(ToString::to_string).unwrap_or_default();
    Expected::Words(values.iter().map(|value| (value.get_name().to_owned(), about(value))).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_command_of_the_shell_is_offered_once() {
        let words: Vec<&str> = SHELL_COMMANDS.iter().map(|one| one.words.as_str()).collect();
        for known in ["repo fork", "cache usage", "user create", "release delete", "repo deploy-key add", "key add"] {
            assert_eq!(words.iter().filter(|one| **one == known).count(), 1, "{known}: {words:?}");
        }
        for other in ["repo create", "hook show", "ci exec", "passwd", "repo", "artifact upload"] {
            assert!(!words.contains(&other), "{other}");
        }
        let fork = SHELL_COMMANDS.iter().find(|one| one.words == "repo fork").unwrap();
        assert_eq!((fork.argument.as_str(), fork.object), ("OWNER/NAME", Some(Object::Repository)));
    }

    #[test]
    fn arguments_and_options_of_the_shell_are_known() {
        for (line, object) in [
            ("repo fork inf", Object::Repository),
            ("token list --user mi", Object::User),
            ("hook list --org to", Object::Organization),
            ("repo sync-fork infra/auth --branch ma", Object::Branch),
            ("artifact list --run ", Object::Run),
            ("artifact delete 7 8", Object::Artifact),
            ("delivery groups --host ci", Object::HookHost),
        ] {
            assert_eq!(expected(line), Expected::Object(object), "{line}");
        }
        let Expected::Words(options) = expected("repo fork infra/auth --o") else { panic!("options are offered") };
        assert_eq!(options.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>(), ["--org"]);
        let Expected::Words(values) = expected("org create tools --visibility ") else { panic!("values are offered") };
        assert!(values.iter().any(|(name, _)| name == "limited"), "{values:?}");
        for line in ["repo", "repo cr", "infra", "user create z", ""] {
            assert_eq!(expected(line), Expected::Nothing, "{line}");
        }
    }
}
