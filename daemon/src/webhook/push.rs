//! Adds the data that only git has (commits, paths) to the payload of a push or a new tag.

use bytes::Bytes;
use jiff::{Timestamp, tz};
use serde_json::{Map, Value, json};

use crate::git::read::{
    commit::{CommitObject, Person},
    history::Changes,
};

/// The data of a push, read from git.
#[derive(Clone, Debug, Default)]
pub struct PushDetails {
    /// The new commits, newest first, with the changes of each.
    pub commits: Vec<(CommitObject, Option<Changes>)>,
    /// Total number of new commits.
    pub total: u64,
    /// The commit that the ref points to now; `None` if the ref was deleted.
    pub head: Option<(CommitObject, Option<Changes>)>,
    /// The two commits of the comparison URL; `None` if there is nothing to compare.
    pub compared: Option<(String, String)>,
}

/// Limits of a payload.
#[derive(Clone, Copy, Debug)]
pub struct PayloadLimits {
    /// Maximum number of paths per commit.
    pub files: usize,
    /// Maximum size of the payload, bytes.
    pub bytes: usize,
}

/// Finds accounts by email address.
pub trait AccountNames {
    /// Returns the name of the account with this address; empty if there is none.
    fn name(&self, email: &str) -> &str;
}

/// Adds commits to `event`, the JSON of a push, up to `limits`. `root` is the base URL of the daemon.
pub fn fill(
    event: &mut Map<String, Value>,
    details: &PushDetails,
    accounts: &impl AccountNames,
    root: &str,
    limits: PayloadLimits,
) {
    let html = event.get("repository").and_then(|r| r["html_url"].as_str()).unwrap_or_default().to_owned();
    let mut cut = false;
    let mut to_json = |(commit, changes): &(CommitObject, Option<Changes>)| {
        let (value, complete) = commit_json(commit, changes.as_ref(), accounts, &html, limits.files);
        cut |= !complete;
        value
    };
    let commits: Vec<Value> = details.commits.iter().map(&mut to_json).collect();
    let head = details.head.as_ref().map_or(Value::Null, &mut to_json);
    let compare = match &details.compared {
        Some((from, to)) => format!("{html}/compare/{from}...{to}"),
        None => format!("{root}/"),
    };
    event.insert("compare_url".into(), compare.into());
    event.insert("total_commits".into(), details.total.into());
    event.insert("head_commit".into(), head);
    let other_bytes = serde_json::to_vec(event).map_or(0, |bytes| bytes.len());
    let mut bytes_left = limits.bytes.saturating_sub(other_bytes);
    let mut complete_commits = Vec::with_capacity(commits.len());
    for commit in commits {
        let size = commit.to_string().len() + 1;
        if size > bytes_left {
            cut = true;
            break;
        }
        bytes_left -= size;
        complete_commits.push(commit);
    }
    event.insert("commits".into(), complete_commits.into());
    if cut {
        event.insert("truncated".into(), true.into());
    }
}

/// Returns a commit in the format of payloads, and whether it contains all changed paths.
pub fn commit_json(
    commit: &CommitObject,
    changes: Option<&Changes>,
    accounts: &impl AccountNames,
    html: &str,
    files: usize,
) -> (Value, bool) {
    let person = |person: &Person| json!({ "name": person.name, "email": person.email, "username": accounts.name(&person.email) });
    let (mut added, mut removed, mut modified) = (Vec::new(), Vec::new(), Vec::new());
    let all = changes.map(|changes| changes.files.as_slice()).unwrap_or_default();
    for (path, letter) in all.iter().take(files) {
        match letter {
            'A' => added.push(path.as_str()),
            'D' => removed.push(path.as_str()),
            _ => modified.push(path.as_str()),
        }
    }
    let value = json!({
        "id": commit.id,
        "message": commit.message,
        "url": format!("{html}/commit/{}", commit.id),
        "author": person(&commit.author),
        "committer": person(&commit.committer),
        "verification": null,
        "timestamp": local_time(&commit.author),
        "added": added,
        "removed": removed,
        "modified": modified,
    });
    (value, all.len() <= files)
}

/// Formats a time as RFC 3339 with the offset of the author or committer, in whole seconds.
fn local_time(person: &Person) -> String {
    let offset = tz::Offset::from_seconds(person.offset_minutes.saturating_mul(60)).unwrap_or(tz::Offset::UTC);
    let instant = Timestamp::from_second(person.seconds).unwrap_or(Timestamp::UNIX_EPOCH);
    if offset == tz::Offset::UTC {
        return instant.to_string();
    }
    instant.to_zoned(tz::TimeZone::fixed(offset)).strftime("%Y-%m-%dT%H:%M:%S%:z").to_string()
}

/// Parses the JSON of an event; `None` if it is not an object.
pub fn object(json: &[u8]) -> Option<Map<String, Value>> {
    serde_json::from_slice(json).ok()
}

/// Returns the JSON of an event as bytes.
pub fn bytes(event: &Map<String, Value>) -> Bytes {
    serde_json::to_vec(event).expect("JSON is JSON").into()
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Ann;

    impl AccountNames for Ann {
        fn name(&self, email: &str) -> &str {
            if email == "ann@x" { "ann" } else { "" }
        }
    }

    fn commit(id: &str, files: usize) -> (CommitObject, Option<Changes>) {
        let person = Person { name: "A".into(), email: "ann@x".into(), seconds: 1_767_323_045, offset_minutes: 60 };
        let commit = CommitObject { id: id.into(), author: person, message: "m\n".into(), ..CommitObject::default() };
        let files = (0..files).map(|n| (format!("f{n}"), ['A', 'D', 'M'][n % 3])).collect();
        (commit, Some(Changes { files, ..Changes::default() }))
    }

    fn filled(details: &PushDetails, limits: PayloadLimits) -> Value {
        let mut event = object(br#"{"ref":"refs/heads/main","repository":{"html_url":"http://h/o/r"}}"#).expect("JSON");
        fill(&mut event, details, &Ann, "http://h", limits);
        Value::Object(event)
    }

    #[test]
    fn a_push_event_lists_complete_commits_and_the_total_count() {
        let details = PushDetails {
            commits: vec![commit("b", 4), commit("a", 0)],
            total: 60,
            head: Some(commit("b", 4)),
            compared: Some(("x".into(), "b".into())),
        };
        let event = filled(&details, PayloadLimits { files: 9, bytes: 1 << 20 });
        assert_eq!(
            (&event["total_commits"], &event["compare_url"]),
            (&60.into(), &"http://h/o/r/compare/x...b".into())
        );
        let expected = json!({
            "id": "b", "message": "m\n", "url": "http://h/o/r/commit/b",
            "author": { "name": "A", "email": "ann@x", "username": "ann" },
            "committer": { "name": "", "email": "", "username": "" },
            "verification": null, "timestamp": "2026-01-02T04:04:05+01:00",
            "added": ["f0", "f3"], "removed": ["f1"], "modified": ["f2"],
        });
        assert_eq!((&event["commits"][0], &event["head_commit"]), (&expected, &expected));
        assert_eq!(event.get("truncated"), None);
    }

    #[test]
    fn a_payload_that_is_too_large_is_truncated_and_marked() {
        let details = PushDetails { commits: vec![commit("b", 2), commit("a", 2)], total: 2, ..PushDetails::default() };
        let event = filled(&details, PayloadLimits { files: 1, bytes: 1 << 20 });
        assert_eq!((&event["commits"][0]["removed"], &event["truncated"]), (&json!([]), &true.into()));
        let event = filled(&details, PayloadLimits { files: 9, bytes: 500 });
        assert_eq!((event["commits"].as_array().map(Vec::len), &event["truncated"]), (Some(1), &true.into()));
        assert_eq!((&event["total_commits"], &event["compare_url"]), (&2.into(), &"http://h/".into()));
    }
}
