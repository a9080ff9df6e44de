//! The table of commands that have no key because they need an argument.

use super::Object as O;

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
    pub(crate) object: Option<O>,
}

const fn typed(words: &'static str, argument: &'static str, title: &'static str) -> TypedCommand {
    TypedCommand { words, also: "", argument, title, object: None }
}

impl TypedCommand {
    const fn of(mut self, object: O) -> Self {
        self.object = Some(object);
        self
    }

    const fn also(mut self, also: &'static str) -> Self {
        self.also = also;
        self
    }
}

/// All commands with an argument.
pub(crate) static TYPED_COMMANDS: &[TypedCommand] = &[
    typed("repo show", "OWNER/NAME", "Show a repository").also("open go").of(O::Repository),
    typed("hook show", "ID", "Show a hook").also("open go").of(O::Hook),
    typed("delivery show", "UUID|ID", "Show a delivery").also("open go").of(O::Delivery),
    typed("user show", "NAME", "Show a user and its tokens").also("open go").of(O::User),
    typed("org show", "ORG", "Show teams, members and repositories of an organization")
        .also("open go")
        .of(O::Organization),
    typed("team list", "ORG", "Show teams of an organization").of(O::Organization),
    typed("team create", "ORG TEAM", "Create a team").also("new add make").of(O::Organization),
    typed("team members", "ORG TEAM", "Show members of a team").of(O::Team),
    typed("team repos", "ORG TEAM", "Show repositories of a team").of(O::Team),
    typed("team add-member", "ORG TEAM USER", "Add a user to a team").of(O::Team),
    typed("team remove-member", "ORG TEAM USER", "Remove a user from a team").of(O::Team),
    typed("team add-repo", "ORG TEAM OWNER/NAME", "Add a repository to a team").of(O::Team),
    typed("team remove-repo", "ORG TEAM OWNER/NAME", "Remove a repository from a team").of(O::Team),
    typed("audit show", "ID", "Show an audit log entry").also("open go").of(O::AuditEntry),
    typed("delivery list --hook", "ID", "Show deliveries of a hook").of(O::Hook),
    typed("delivery list --host", "HOST", "Show deliveries of the hooks with a host")
        .also("receiver domain")
        .of(O::HookHost),
    typed("delivery list --event", "EVENT", "Show deliveries of an event"),
    typed("artifact list --repo", "OWNER/NAME", "Show runs and artifacts of a repository").of(O::Repository),
    typed("release list", "OWNER/NAME", "Show releases of a repository").of(O::Repository),
    typed("repo protect list", "OWNER/NAME", "Show rules of a repository").also("protection").of(O::Repository),
    typed("commits", "OWNER/NAME", "Show commits of a repository").also("pushes history log").of(O::Repository),
    typed("commit", "OWNER/NAME SHA", "Show a commit with its diff").also("push open go changes").of(O::Repository),
    typed("collaborators", "OWNER/NAME", "Show collaborators of a repository").also("access").of(O::Repository),
    typed("repo deploy-key list", "OWNER/NAME", "Show deploy keys of a repository").also("ssh").of(O::Repository),
    typed("mirror list", "OWNER/NAME", "Show mirrors of a repository").also("push pull sync").of(O::Repository),
    typed("run list --repo", "OWNER/NAME", "Show runs of a repository").of(O::Repository),
    typed("run list --status", "in_progress|completed", "Show runs with a status"),
    typed("run show", "ID", "Show a run with its jobs and artifacts").also("open go").of(O::Run),
    typed("task show", "ID", "Show a background task").also("open go").of(O::Task),
    typed("artifact", "ID", "Show an artifact").also("open go").of(O::Artifact),
    typed("run", "ID", "Show a run and its artifacts").also("open go").of(O::Run),
    typed("connect", "NAME|PATH|URL", "Connect to another daemon").also("context server socket").of(O::Context),
    typed("files", "OWNER/NAME REF", "Show the files of a repository at a branch or tag")
        .also("open go browse")
        .of(O::Repository),
    typed("time", "relative|iso|local", "Set how times are shown").also("clock date"),
    typed("theme", "NAME", "Set the color theme; shown while you type its name").also("color").of(O::Theme),
];
