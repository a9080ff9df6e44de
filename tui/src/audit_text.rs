//! Texts about audit entries, for the command line and the full screen.

use std::collections::{BTreeMap, BTreeSet};

use farrier_common::api::{AuditActor, AuditEntry};
use serde_json::Value;

/// Returns the name of the actor, and the account that it acted as.
pub(crate) fn actor(actor: &AuditActor) -> String {
    let name = if actor.name.is_empty() { &actor.kind } else { &actor.name };
    if actor.acts_as.is_empty() { name.clone() } else { format!("{name} as {}", actor.acts_as) }
}

/// Returns the address of the client or the local user; empty for the daemon.
pub(crate) fn origin(actor: &AuditActor) -> String {
    uid_or_address(actor.uid, &actor.address)
}

/// Returns the local user or the address of the client; empty without both.
pub(crate) fn uid_or_address(uid: Option<u32>, address: &str) -> String {
    uid.map_or_else(|| address.to_owned(), |uid| format!("uid {uid}"))
}

/// Returns the kind and the path of the object.
pub(crate) fn object(entry: &AuditEntry) -> String {
    kind_and_path(&entry.object.kind, &entry.object.path())
}

/// Returns the kind of an object and its path, which can be empty.
pub(crate) fn kind_and_path(kind: &str, path: &str) -> String {
    format!("{kind} {path}").trim_end().to_owned()
}

/// Returns the result, and the number of actions if there were several.
pub(crate) fn result(entry: &AuditEntry) -> String {
    counted_result(&entry.result, entry.count)
}

/// Returns the result of `count` equal actions.
pub(crate) fn counted_result(result: &str, count: i64) -> String {
    if count > 1 { format!("{result} x{count}") } else { result.to_owned() }
}

/// Returns names and values of the fields of an entry. Values can be empty. `time`: the formatted time.
pub(crate) fn facts(entry: &AuditEntry, time: String) -> [(&'static str, String); 9] {
    let token = entry.actor.token_id.map(|id| format!(" with token {id}")).unwrap_or_default();
    let id = if entry.object.id == 0 { String::new() } else { format!(" (ID {})", entry.object.id) };
    [
        ("entry", entry.id.to_string()),
        ("time", time),
        ("action", entry.action.clone()),
        ("result", result(entry)),
        ("reason", entry.reason.clone()),
        ("actor", format!("{}{token}", actor(&entry.actor))),
        ("from", origin(&entry.actor)),
        ("object", format!("{}{id}", object(entry))),
        ("request", entry.request_id.clone()),
    ]
}

/// Returns one line for each changed field.
pub(crate) fn changes(entry: &AuditEntry) -> Vec<String> {
    let names: BTreeSet<&String> = entry.before.keys().chain(entry.after.keys()).collect();
    let value = |fields: &BTreeMap<String, Value>, name: &String| fields.get(name).map(shown).unwrap_or_default();
    let line = |name: &String| match (value(&entry.before, name), value(&entry.after, name)) {
        (before, after) if before.is_empty() => format!("{name}: {after}"),
        (before, after) if after.is_empty() => format!("{name}: {before} (before)"),
        (before, after) => format!("{name}: {before} -> {after}"),
    };
    names.into_iter().map(line).collect()
}

/// Returns a value for people: texts without quotes.
fn shown(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) if text.is_empty() => "\"\"".to_owned(),
        Value::String(text) => text.clone(),
        Value::Array(items) => items.iter().map(shown).collect::<Vec<_>>().join(", "),
        other => other.to_string(),
    }
}
