//! Commands that have no key because they need an argument.

use super::Object;

/// A command with an argument.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TypedCommand {
    pub(crate) words: &'static str,
    /// Other search words.
    pub(crate) also: &'static str,
    /// Placeholder of the argument in the help.
    pub(crate) argument: &'static str,
    pub(crate) title: &'static str,
    /// The kind of object that the argument names, to offer suggestions.
    pub(crate) object: Option<Object>,
}

const fn typed(words: &'static str, argument: &'static str, title: &'static str) -> TypedCommand {
    TypedCommand { words, also: "", argument, title, object: None }
}

impl TypedCommand {
    const fn of(mut self, object: Object) -> Self {
        self.object = Some(object);
        self
    }

    const fn also(mut self, also: &'static str) -> Self {
        self.also = also;
        self
    }
}

/// All commands with an argument.
pub(crate) static COMMANDS: &[TypedCommand] = &[
    typed("repo show", "OWNER/NAME", "Show a repository").also("open go").of(Object::Repository),
    typed("hook show", "ID", "Show a hook").also("open go").of(Object::Hook),
    typed("delivery list --hook", "ID", "Show deliveries of a hook").of(Object::Hook),
    typed("delivery list --event", "EVENT", "Show deliveries of an event"),
    typed("artifact list --repo", "OWNER/NAME", "Show runs and artifacts of a repository").of(Object::Repository),
    typed("artifact", "ID", "Show an artifact").also("open go").of(Object::Artifact),
    typed("run", "ID", "Show a run and its artifacts").also("open go").of(Object::Run),
    typed("connect", "PATH|URL", "Connect to another daemon").also("server socket"),
    typed("time", "relative|iso|local", "Set how times are shown").also("clock date"),
    typed("theme", "NAME", "Set the color theme: default, mono, high-contrast, light, dark or your own").also("color"),
];
