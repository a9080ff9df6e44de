//! Commands that have no key because they need an argument.

use super::Object;

/// A command that is typed with an argument.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TypedCommand {
    pub(crate) words: &'static str,
    /// Other words that find it.
    pub(crate) also: &'static str,
    /// How its argument is written.
    pub(crate) argument: &'static str,
    pub(crate) title: &'static str,
    /// What its argument names, where known names can be offered.
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

/// All of them.
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
    typed("theme", "NAME", "Set the colour theme: default, mono, high-contrast, light, dark or your own").also("color"),
];
