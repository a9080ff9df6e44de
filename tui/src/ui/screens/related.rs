//! The objects that belong to the object under the cursor, with the command lines that show them.

use farrier_common::api::AuditEntry;

/// A related object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Related {
    /// The key in the menu.
    pub(crate) key: char,
    pub(crate) title: String,
    /// The command line that shows it.
    pub(crate) line: String,
}

impl Related {
    fn new(key: char, title: impl Into<String>, line: impl Into<String>) -> Self {
        Self { key, title: title.into(), line: line.into() }
    }

    pub(super) fn repository(path: &str) -> Self {
        Self::new('r', format!("repository {path}"), format!("repo show {path}"))
    }

    pub(super) fn hook(id: i64) -> Self {
        Self::new('h', format!("hook {id}"), format!("hook show {id}"))
    }

    pub(super) fn run(id: i64) -> Self {
        Self::new('n', format!("run {id}"), format!("run {id}"))
    }

    /// A run on the screen of artifacts.
    pub(super) fn artifacts_of_run(id: i64) -> Self {
        Self::new('a', format!("artifacts of run {id}"), format!("run {id}"))
    }

    fn user(name: &str) -> Self {
        Self::new('u', format!("user {name}"), format!("user show {name}"))
    }

    /// The runs of a commit.
    pub(super) fn runs_of(commit: &str) -> Self {
        let short = commit.get(..7).unwrap_or(commit);
        Self::new('c', format!("runs of commit {short}"), commit)
    }

    pub(super) fn hooks_of(path: &str) -> Self {
        Self::new('w', format!("hooks of {path}"), format!("hook list --repo {path}"))
    }

    pub(super) fn artifacts_of(path: &str) -> Self {
        Self::new('a', format!("runs and artifacts of {path}"), format!("artifact list --repo {path}"))
    }

    pub(super) fn deliveries_of(hook: i64) -> Self {
        Self::new('d', format!("deliveries of hook {hook}"), format!("delivery list --hook {hook}"))
    }

    /// The audit log entries about an object.
    pub(super) fn audit_of(kind: &str, id: &str) -> Self {
        Self::new('l', format!("audit log of {kind} {id}"), format!("audit list --object {kind}:{id}"))
    }

    /// The audit log entries of the actions of a user.
    pub(super) fn audit_by(login: &str) -> Self {
        Self::new('d', format!("what {login} did"), format!("audit list --actor {login}"))
    }

    /// The object, the repository and the actor of an entry of the audit log.
    pub(super) fn of_entry(entry: &AuditEntry) -> Vec<Self> {
        let object = &entry.object;
        let mut all = match object.kind.as_str() {
            "repository" => vec![Self::repository(&object.path())],
            "hook" => vec![Self::hook(object.id)],
            "user" => vec![Self::user(&object.name)],
            _ => Vec::new(),
        };
        if object.kind != "repository" && object.owner.contains('/') {
            all.push(Self::repository(&object.owner));
        }
        if entry.actor.kind == "user" && object.kind != "user" {
            all.push(Self::user(&entry.actor.name));
        }
        all
    }
}
