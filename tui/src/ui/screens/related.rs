//! The objects that belong to the object under the cursor, with the command lines that show them.

use std::borrow::Cow;

use farrier_common::api::{AuditEntry, LogObject, LogRecord};

/// Digits of an abbreviated commit.
const SHORT: usize = 7;

/// Returns a name as one word of a command line.
fn word(name: &str) -> Cow<'_, str> {
    // Only a zero byte cannot be quoted. No name contains it.
    shlex::try_quote(name).unwrap_or_default()
}

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
        Self::new('r', format!("repository {path}"), format!("repo show {}", word(path)))
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

    pub(super) fn user(name: &str) -> Self {
        Self::new('u', format!("user {name}"), format!("user show {}", word(name)))
    }

    /// The runs of a commit. `None` for a text that is no commit ID: agents send any text, and a line runs commands.
    pub(super) fn runs_of(commit: &str) -> Option<Self> {
        let short = commit.get(..SHORT)?;
        let is_id = commit.bytes().all(|byte| byte.is_ascii_hexdigit());
        is_id.then(|| Self::new('c', format!("runs of commit {short}"), commit))
    }

    pub(super) fn hooks_of(path: &str) -> Self {
        Self::new('w', format!("hooks of {path}"), format!("hook list --repo {}", word(path)))
    }

    pub(super) fn artifacts_of(path: &str) -> Self {
        Self::new('a', format!("runs and artifacts of {path}"), format!("artifact list --repo {}", word(path)))
    }

    pub(super) fn deliveries_of(hook: i64) -> Self {
        Self::new('d', format!("deliveries of hook {hook}"), format!("delivery list --hook {hook}"))
    }

    /// The audit log entries about an object.
    pub(super) fn audit_of(kind: &str, id: &str) -> Self {
        Self::new(
            'l',
            format!("audit log of {kind} {id}"),
            format!("audit list --object {}", word(&format!("{kind}:{id}"))),
        )
    }

    /// The audit log entries of the actions of a user.
    pub(super) fn audit_by(login: &str) -> Self {
        Self::new('d', format!("what {login} did"), format!("audit list --actor {}", word(login)))
    }

    /// The objects of a log record, and what its request changed.
    pub(super) fn of_record(record: &LogRecord) -> Vec<Self> {
        let object = |object: &LogObject| match (object.kind.as_str(), object.id) {
            ("repository", _) if !object.name.is_empty() => Some(Self::repository(&object.name)),
            ("hook", Some(id)) => Some(Self::hook(id)),
            ("run", Some(id)) => Some(Self::run(id)),
            ("user", _) if !object.name.is_empty() => Some(Self::user(&object.name)),
            _ => None,
        };
        let mut all: Vec<Self> = Vec::new();
        for related in record.objects.iter().filter_map(object) {
            // A menu has one object of each kind: its keys are those of the kinds.
            if all.iter().all(|one| one.key != related.key) {
                all.push(related);
            }
        }
        if !record.request_id.is_empty() {
            let id = &record.request_id;
            all.push(Self::new(
                'l',
                format!("audit log of request {id}"),
                format!("audit list --request {}", word(id)),
            ));
        }
        all
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_of_agents_and_names_are_no_commands() {
        for text in ["repo edit a/b --public", "hook off 7", "", "a1b2c3", "a1b2c3d 7", "日本語日本語"] {
            assert_eq!(Related::runs_of(text), None, "{text}");
        }
        assert_eq!(Related::runs_of("a1b2c3d4e5").map(|one| one.line).as_deref(), Some("a1b2c3d4e5"));
        assert_eq!(Related::repository("infra/gateway").line, "repo show infra/gateway");
        let line = Related::user("x y; z").line;
        assert_eq!(shlex::split(&line).unwrap(), ["user", "show", "x y; z"]);
    }
}
