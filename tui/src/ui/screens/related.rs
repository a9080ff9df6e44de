//! The objects that belong to the object under the cursor, with the command lines that show them.
//!
//! `docs/terminal.md` has the table of all relations. Each kind of relation has one key in the menu on all screens.

use std::borrow::Cow;

use farrier_common::api::{AuditEntry, LogObject, LogRecord};

/// Digits of an abbreviated commit.
const SHORT: usize = 7;

/// Returns a name as one word of a command line.
fn word(name: &str) -> Cow<'_, str> {
    // Only a zero byte cannot be quoted. No name contains it.
    shlex::try_quote(name).unwrap_or_default()
}

/// Returns the abbreviation of a commit ID. `None` for a text that is no commit ID, such as that of a deleted branch:
/// agents send any text, and a line runs commands.
fn short(commit: &str) -> Option<&str> {
    let is_id = commit.bytes().all(|byte| byte.is_ascii_hexdigit()) && commit.bytes().any(|byte| byte != b'0');
    commit.get(..SHORT).filter(|_| is_id)
}

/// The relations that have a key of their own on all screens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Relation {
    Hook,
    Repository,
    Run,
    Artifacts,
    Push,
}

impl Relation {
    /// Returns the keys in the menu of the objects that it leads to, the most specific first.
    fn keys(self) -> &'static [char] {
        match self {
            Self::Hook => &['h', 'w'],
            Self::Repository => &['r'],
            Self::Run => &['n', 'c', 'm'],
            Self::Artifacts => &['i', 'a'],
            Self::Push => &['p'],
        }
    }

    pub(crate) fn noun(self) -> &'static str {
        match self {
            Self::Hook => "hook",
            Self::Repository => "repository",
            Self::Run => "run",
            Self::Artifacts => "artifact",
            Self::Push => "push",
        }
    }

    /// Returns the object that it leads to.
    pub(crate) fn of(self, all: &[Related]) -> Option<&Related> {
        self.keys().iter().find_map(|key| all.iter().find(|one| one.key == *key))
    }
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

    /// The repositories of a user or an organization.
    pub(super) fn repositories_of(owner: &str) -> Self {
        Self::new('o', format!("repositories of {owner}"), format!("repo list --owner {}", word(owner)))
    }

    pub(super) fn hook(id: i64) -> Self {
        Self::new('h', format!("hook {id}"), format!("hook show {id}"))
    }

    pub(super) fn delivery(guid: &str) -> Self {
        Self::new('e', format!("delivery {guid}"), format!("delivery show {}", word(guid)))
    }

    pub(super) fn run(id: i64) -> Self {
        Self::new('n', format!("run {id}"), format!("run show {id}"))
    }

    pub(super) fn runs_in(path: &str) -> Self {
        Self::new('m', format!("runs of {path}"), format!("run list --repo {}", word(path)))
    }

    pub(super) fn artifact(id: i64) -> Self {
        Self::new('i', format!("artifact {id}"), format!("artifact {id}"))
    }

    /// A run on the screen of artifacts.
    pub(super) fn artifacts_of_run(id: i64) -> Self {
        Self::new('a', format!("artifacts of run {id}"), format!("run {id}"))
    }

    pub(super) fn user(name: &str) -> Self {
        Self::new('u', format!("user {name}"), format!("user show {}", word(name)))
    }

    /// The runs of a commit. `None` for a text that is no commit ID.
    pub(super) fn runs_of(commit: &str) -> Option<Self> {
        let short = short(commit)?;
        Some(Self::new('c', format!("runs of commit {short}"), commit))
    }

    /// The commit that was pushed, with its diff and the commits before it. `None` for a text that is no commit ID.
    pub(super) fn push(path: &str, commit: &str) -> Option<Self> {
        let short = short(commit)?;
        Some(Self::new('p', format!("push of {short} to {path}"), format!("commit {} {commit}", word(path))))
    }

    /// The newest commits of a repository.
    pub(super) fn pushes_to(path: &str) -> Self {
        Self::new('p', format!("pushed commits of {path}"), format!("commits {}", word(path)))
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

    /// The repository, the runs, the artifacts and the push of a commit. `commit` may be any text.
    pub(super) fn of_commit(path: &str, commit: &str) -> Vec<Self> {
        let runs = Self::runs_of(commit);
        [Self::repository(path)].into_iter().chain(runs).chain(Self::push(path, commit)).collect()
    }

    /// Leaves out the relations whose key an earlier one has. A menu has one object of each kind.
    pub(super) fn unique(all: impl IntoIterator<Item = Self>) -> Vec<Self> {
        let mut unique: Vec<Self> = Vec::new();
        for related in all {
            if unique.iter().all(|one| one.key != related.key) {
                unique.push(related);
            }
        }
        unique
    }

    /// The objects of a log record, and what its request changed.
    pub(super) fn of_record(record: &LogRecord) -> Vec<Self> {
        let object = |object: &LogObject| match (object.kind.as_str(), object.id) {
            ("repository", _) if !object.name.is_empty() => Some(Self::repository(&object.name)),
            ("hook", Some(id)) => Some(Self::hook(id)),
            ("run", Some(id)) => Some(Self::run(id)),
            ("artifact", Some(id)) => Some(Self::artifact(id)),
            ("delivery", _) if !object.name.is_empty() => Some(Self::delivery(&object.name)),
            ("delivery", Some(id)) => Some(Self::delivery(&id.to_string())),
            ("user", _) if !object.name.is_empty() => Some(Self::user(&object.name)),
            _ => None,
        };
        let id = &record.request_id;
        let request = (!id.is_empty()).then(|| {
            Self::new('l', format!("audit log of request {id}"), format!("audit list --request {}", word(id)))
        });
        Self::unique(record.objects.iter().filter_map(object).chain(request))
    }

    /// The object, the repository and the actor of an entry of the audit log, and the log of its request.
    pub(super) fn of_entry(entry: &AuditEntry) -> Vec<Self> {
        let object = &entry.object;
        let mut all = match object.kind.as_str() {
            "repository" => vec![Self::repository(&object.path())],
            "hook" => vec![Self::hook(object.id)],
            "run" => vec![Self::run(object.id)],
            "artifact" => vec![Self::artifact(object.id)],
            "user" => vec![Self::user(&object.name)],
            "organization" => vec![Self::repositories_of(&object.name)],
            _ => Vec::new(),
        };
        if object.kind != "repository" && object.owner.contains('/') {
            all.push(Self::repository(&object.owner));
        }
        if entry.actor.kind == "user" && object.kind != "user" {
            all.push(Self::user(&entry.actor.name));
        }
        if !entry.request_id.is_empty() {
            let id = &entry.request_id;
            all.push(Self::new('s', format!("log of request {id}"), format!("logs --grep {}", word(id))));
        }
        Self::unique(all)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_of_agents_and_names_are_no_commands() {
        for text in ["repo edit a/b --public", "hook off 7", "", "a1b2c3", "a1b2c3d 7", "日本語日本語", "00000000"]
        {
            assert_eq!(Related::runs_of(text), None, "{text}");
            assert_eq!(Related::push("a/b", text), None, "{text}");
        }
        assert_eq!(Related::runs_of("a1b2c3d4e5").map(|one| one.line).as_deref(), Some("a1b2c3d4e5"));
        assert_eq!(Related::repository("infra/gateway").line, "repo show infra/gateway");
        let line = Related::user("x y; z").line;
        assert_eq!(shlex::split(&line).unwrap(), ["user", "show", "x y; z"]);
    }

    #[test]
    fn a_relation_leads_to_the_most_specific_object() {
        let all = [Related::artifacts_of_run(7), Related::artifact(9), Related::hooks_of("a/b")];
        assert_eq!(Relation::Artifacts.of(&all), Some(&Related::artifact(9)));
        assert_eq!(Relation::Hook.of(&all), Some(&Related::hooks_of("a/b")));
        assert_eq!(Relation::Push.of(&all), None);
    }

    #[test]
    fn a_record_leads_to_the_hook_the_run_the_artifact_and_the_delivery_of_its_request() {
        let object = |kind: &str, id, name: &str| LogObject { kind: kind.into(), id, name: name.into() };
        let objects = vec![
            object("repository", Some(3), "octo/demo"),
            object("hook", Some(7), ""),
            object("run", Some(9), ""),
            object("artifact", Some(11), ""),
            object("delivery", None, "7c1a4e5f-0000-4000-8000-00000000000e"),
        ];
        let record = LogRecord { objects, request_id: "7d1e".into(), ..LogRecord::default() };
        let lines: Vec<String> = Related::of_record(&record).into_iter().map(|one| one.line).collect();
        let expected = [
            "repo show octo/demo",
            "hook show 7",
            "run show 9",
            "artifact 11",
            "delivery show 7c1a4e5f-0000-4000-8000-00000000000e",
            "audit list --request 7d1e",
        ];
        assert_eq!(lines, expected);
    }
}
