//! The objects that the fields of a log record name. Clients only show them: a wrong object gives nobody access.

use std::collections::BTreeMap;

use farrier_common::names;

use crate::{
    service::audit,
    store::{Read, StoreError, owners, repositories},
    telemetry::records::LogLine,
};

/// Maximum number of repositories whose paths are read for one response.
const PATHS_MAX: usize = 200;
/// Segments that names of files, branches or tags follow. Such names can have any text.
const BEFORE_NAMES: [&str; 14] = [
    "archive",
    "branch_protections",
    "branches",
    "bundle",
    "compare",
    "contents",
    "git",
    "media",
    "raw",
    "statuses",
    "sync_fork",
    "tags",
    "tarball",
    "zipball",
];

/// A kind of object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum LogObjectKind {
    /// A repository, by ID or `owner/name`.
    Repository,
    /// A hook, by ID.
    Hook,
    /// A workflow run, by ID.
    Run,
    /// An artifact, by ID.
    Artifact,
    /// A delivery, by ID or UUID.
    Delivery,
    /// A user, by name.
    User,
}

/// An object that a record names.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct LogObject {
    /// The kind.
    pub kind: LogObjectKind,
    /// ID; 0 if only the name is known.
    pub id: u64,
    /// Name, for a repository `owner/name`, for a delivery its UUID; empty if only the ID is known.
    pub name: String,
}

impl LogObject {
    fn with_id(kind: LogObjectKind, id: u64) -> Self {
        Self { kind, id, name: String::new() }
    }

    fn named(kind: LogObjectKind, name: impl Into<String>) -> Self {
        Self { kind, id: 0, name: name.into() }
    }
}

/// Returns the objects of a record, without duplicates. Repositories may have an ID only.
pub(super) fn objects(line: &LogLine) -> Vec<LogObject> {
    let mut found = Vec::new();
    for (name, value) in line.fields.pairs() {
        let id = value.parse::<u64>().ok().filter(|id| *id != 0);
        match (name, id) {
            ("repository", Some(id)) => found.push(LogObject::with_id(LogObjectKind::Repository, id)),
            ("hook", Some(id)) => found.push(LogObject::with_id(LogObjectKind::Hook, id)),
            ("run", Some(id)) => found.push(LogObject::with_id(LogObjectKind::Run, id)),
            ("artifact", Some(id)) => found.push(LogObject::with_id(LogObjectKind::Artifact, id)),
            ("delivery", Some(id)) => found.push(LogObject::with_id(LogObjectKind::Delivery, id)),
            ("delivery", None) if is_uuid(value) => found.push(LogObject::named(LogObjectKind::Delivery, value)),
            ("path", None) => found.extend(of_path(value)),
            ("account", None) if is_user(value) => found.push(LogObject::named(LogObjectKind::User, value)),
            _ => {}
        }
    }
    if line.target == audit::LOG_TARGET {
        found.extend(of_audit_line(line));
    }
    found.sort();
    found.dedup();
    found
}

/// Returns the object of the log line of an audit entry.
fn of_audit_line(line: &LogLine) -> Option<LogObject> {
    let id = line.field("object_id").and_then(|id| id.parse::<u64>().ok()).filter(|id| *id != 0);
    match (line.field("object")?, id) {
        ("repository", Some(id)) => Some(LogObject::with_id(LogObjectKind::Repository, id)),
        ("hook", Some(id)) => Some(LogObject::with_id(LogObjectKind::Hook, id)),
        ("run", Some(id)) => Some(LogObject::with_id(LogObjectKind::Run, id)),
        ("artifact", Some(id)) => Some(LogObject::with_id(LogObjectKind::Artifact, id)),
        ("user", _) => {
            line.field("name").filter(|name| is_user(name)).map(|name| LogObject::named(LogObjectKind::User, name))
        }
        _ => None,
    }
}

/// Returns the objects in the path of a request: of the API, or of git.
fn of_path(path: &str) -> Vec<LogObject> {
    let segments: Vec<&str> = path.trim_start_matches('/').split('/').collect();
    let mut found = Vec::new();
    let mut rest = segments.as_slice();
    match segments.as_slice() {
        ["api", _, "repos", owner, name, after @ ..] | ["api", "farrier", _, "repos", owner, name, after @ ..] => {
            found.extend(repository(owner, name));
            rest = after;
        }
        ["api", _, "users", name, ..] | ["api", _, "admin", "users", name, ..] if is_user(name) => {
            found.push(LogObject::named(LogObjectKind::User, *name));
        }
        [owner, name, ..] if name.ends_with(".git") => found.extend(repository(owner, name.trim_end_matches(".git"))),
        _ => {}
    }
    if segments.first() == Some(&"api") {
        for pair in rest.windows(2).take_while(|pair| !BEFORE_NAMES.contains(&pair[0])) {
            let id = pair[1].parse::<u64>().ok().filter(|id| *id != 0);
            match (pair[0], id) {
                ("hooks", Some(id)) => found.push(LogObject::with_id(LogObjectKind::Hook, id)),
                ("runs", Some(id)) => found.push(LogObject::with_id(LogObjectKind::Run, id)),
                ("artifacts", Some(id)) => found.push(LogObject::with_id(LogObjectKind::Artifact, id)),
                ("deliveries", Some(id)) => found.push(LogObject::with_id(LogObjectKind::Delivery, id)),
                ("deliveries", None) if is_uuid(pair[1]) => {
                    found.push(LogObject::named(LogObjectKind::Delivery, pair[1]));
                }
                _ => {}
            }
        }
    }
    found
}

/// Returns a repository if both names can be names. Clients send any path.
fn repository(owner: &str, name: &str) -> Option<LogObject> {
    let is_name = |text: &str| names::check_repository(text).is_ok();
    (is_name(owner) && is_name(name)).then(|| LogObject::named(LogObjectKind::Repository, format!("{owner}/{name}")))
}

/// Returns whether a text can be the name of a user. The access log has other words for callers without an account.
fn is_user(name: &str) -> bool {
    names::check_repository(name).is_ok()
}

/// Returns whether a text has the form of a UUID, which identifies a delivery.
fn is_uuid(text: &str) -> bool {
    let lengths = text.split('-').map(|part| part.bytes().all(|byte| byte.is_ascii_hexdigit()).then_some(part.len()));
    lengths.eq([8, 4, 4, 4, 12].map(Some))
}

/// Reads the paths of repositories that have only an ID. Repositories that do not exist any more keep their ID.
pub(super) async fn name_repositories(read: &impl Read, objects: &mut [Vec<LogObject>]) -> Result<(), StoreError> {
    let mut paths: BTreeMap<u64, String> = BTreeMap::new();
    let nameless = objects.iter_mut().flatten();
    for object in nameless.filter(|object| object.kind == LogObjectKind::Repository && object.name.is_empty()) {
        if !paths.contains_key(&object.id) && paths.len() < PATHS_MAX {
            let path = path_of(read, object.id).await?;
            paths.insert(object.id, path.unwrap_or_default());
        }
        object.name = paths.get(&object.id).cloned().unwrap_or_default();
    }
    for objects in objects {
        // A request names the repository by its path, and another field by its ID.
        let with_id: Vec<String> =
            objects.iter().filter(|object| object.id != 0).map(|object| object.name.clone()).collect();
        objects.retain(|object| {
            object.kind != LogObjectKind::Repository || object.id != 0 || !with_id.contains(&object.name)
        });
    }
    Ok(())
}

/// Returns `owner/name` of a repository that is not deleted.
async fn path_of(read: &impl Read, id: u64) -> Result<Option<String>, StoreError> {
    let Some(row) = repositories::get(read, id).await?.filter(|row| !row.deleted) else { return Ok(None) };
    let owner = owners::owner(read, row.owner_kind(), row.owner_id).await?;
    Ok(owner.map(|owner| format!("{}/{}", owner.name(), row.name)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(target: &'static str, fields: &[(&'static str, &str)]) -> LogLine {
        let fields = fields.iter().copied().collect();
        LogLine { target, fields, ..LogLine::default() }
    }

    fn shown(target: &'static str, fields: &[(&'static str, &str)]) -> Vec<String> {
        let found = objects(&line(target, fields));
        found.iter().map(|object| format!("{:?} {}{}", object.kind, object.id, object.name)).collect()
    }

    #[test]
    fn fields_with_ids_and_names_become_objects() {
        assert_eq!(shown("farrierd::x", &[("hook", "7"), ("repository", "3")]), ["Repository 3", "Hook 7"]);
        assert_eq!(shown("farrierd::x", &[("hook", "0"), ("repository", "a/b"), ("run", "-1")]), [""; 0]);
        let entry = [("object", "hook"), ("object_id", "12"), ("name", "x")];
        assert_eq!(shown(audit::LOG_TARGET, &entry), ["Hook 12"]);
        assert_eq!(shown("farrierd::x", &entry), [""; 0], "the fields of other targets have other meanings");
        assert_eq!(
            shown(audit::LOG_TARGET, &[("object", "user"), ("object_id", "4"), ("name", "octo")]),
            ["User 0octo"]
        );
    }

    #[test]
    fn requests_name_their_repository_hook_run_artifact_delivery_and_caller() {
        for (path, expected) in [
            ("/api/v1/repos/octo/demo/hooks/7", &["Repository 0octo/demo", "Hook 7"][..]),
            ("/api/farrier/v1/repos/octo/demo/bundle", &["Repository 0octo/demo"]),
            ("/api/farrier/v1/runs/9/cancel", &["Run 9"]),
            ("/api/farrier/v1/artifacts/11/zip", &["Artifact 11"]),
            ("/api/farrier/v1/deliveries/5", &["Delivery 5"]),
            (
                "/api/farrier/v1/deliveries/7c1a4e5f-0000-4000-8000-00000000000e/replays",
                &["Delivery 07c1a4e5f-0000-4000-8000-00000000000e"],
            ),
            ("/api/farrier/v1/deliveries/groups", &[]),
            ("/api/v1/repos/hooks/7", &["Repository 0hooks/7"]),
            ("/api/v1/repos/octo/demo/contents/runs/9", &["Repository 0octo/demo"]),
            ("/api/v1/admin/users/eve", &["User 0eve"]),
            ("/octo/demo.git/git-receive-pack", &["Repository 0octo/demo"]),
            ("/api/v1/repos/search", &[]),
            ("/api/v1/repos/../..", &[]),
            ("/x y/\u{1b}[2J.git/info/refs", &[]),
            ("", &[]),
        ] {
            assert_eq!(shown("farrierd::access", &[("path", path)]), expected, "{path}");
        }
        for (account, expected) in [("octo", &["User 0octo"][..]), ("-", &[]), ("job 3", &[]), ("(ci agent)", &[])] {
            assert_eq!(shown("farrierd::access", &[("account", account)]), expected, "{account}");
        }
    }
}
