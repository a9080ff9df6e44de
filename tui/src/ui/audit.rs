//! Compact representation of an audit entry for lists.
//!
//! Contains all fields of the API. Actions and actors are stored once for neighbors that have the same. The changed
//! fields are stored as JSON, because only the pane and copies show them.

use std::{collections::BTreeMap, sync::Arc};

use farrier_common::api::{AuditActor, AuditEntry, AuditObject};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{
    compact::{PackedTexts, SharedValues, short_seconds},
    words,
};
use crate::audit_text;

/// The places of texts among those of an entry.
const NAME: usize = 0;
const OWNER: usize = 1;
const ADDRESS: usize = 2;
const REQUEST: usize = 3;
const REASON: usize = 4;
const DETAILS: usize = 5;

/// An entry of the audit log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct AuditSummary {
    pub(crate) id: i64,
    object_id: i64,
    count: i64,
    /// Name and owner of the object, address of the client, request, reason, and the details in JSON, if it has any.
    texts: PackedTexts<6>,
    action: Arc<Action>,
    /// Without its address.
    actor: Arc<AuditActor>,
    /// Seconds since 1970; 0 for none.
    at: u32,
}

/// Values that many entries have in common.
#[derive(Debug, PartialEq, Eq)]
struct Action {
    name: String,
    result: String,
    object_kind: String,
}

/// Fields of an entry that lists do not need.
#[derive(Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
struct Details {
    #[serde(skip_serializing_if = "Option::is_none")]
    repository_id: Option<i64>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    before: BTreeMap<String, Value>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    after: BTreeMap<String, Value>,
}

impl Details {
    fn to_json(&self) -> String {
        if *self == Self::default() { String::new() } else { serde_json::to_string(self).unwrap_or_default() }
    }
}

impl AuditSummary {
    pub(crate) fn action(&self) -> &str {
        &self.action.name
    }

    /// Returns `done`, `refused` or `failed`.
    pub(crate) fn result(&self) -> &str {
        &self.action.result
    }

    /// Returns the result, and the number of actions if there were several.
    pub(crate) fn counted_result(&self) -> String {
        audit_text::counted_result(self.result(), self.count)
    }

    /// Returns the actor without its address.
    pub(crate) fn actor(&self) -> &AuditActor {
        &self.actor
    }

    /// Returns the address of the client or the local user; empty for the daemon.
    pub(crate) fn origin(&self) -> String {
        audit_text::uid_or_address(self.actor.uid, self.texts.get(ADDRESS))
    }

    pub(crate) fn object_kind(&self) -> &str {
        &self.action.object_kind
    }

    /// Returns the ID of the object; 0 if it has none.
    pub(crate) fn object_id(&self) -> i64 {
        self.object_id
    }

    pub(crate) fn object_name(&self) -> &str {
        self.texts.get(NAME)
    }

    /// Returns the name of the owner of the object, or the path of its repository; empty for none.
    pub(crate) fn object_owner(&self) -> &str {
        self.texts.get(OWNER)
    }

    /// Returns the path of the repository that the object is or belongs to.
    pub(crate) fn repository_path(&self) -> Option<String> {
        if self.object_kind() == "repository" {
            return Some(format!("{}/{}", self.object_owner(), self.object_name()));
        }
        Some(self.object_owner()).filter(|owner| owner.contains('/')).map(str::to_owned)
    }

    /// Returns why the action was refused or failed; empty for others.
    pub(crate) fn reason(&self) -> &str {
        self.texts.get(REASON)
    }

    /// Returns the path or name of the object for display.
    pub(crate) fn object_path(&self) -> String {
        AuditObject::path_of(self.object_kind(), self.object_id, self.object_name(), self.texts.get(OWNER))
    }

    /// Returns the kind and the path of the object.
    pub(crate) fn object(&self) -> String {
        audit_text::kind_and_path(self.object_kind(), &self.object_path())
    }

    /// Returns the ID of the request; empty for actions of the daemon.
    pub(crate) fn request(&self) -> &str {
        self.texts.get(REQUEST)
    }

    /// Returns the time in seconds since 1970.
    pub(crate) fn at(&self) -> i64 {
        self.at.into()
    }

    /// Returns the entry as the daemon sent it.
    pub(crate) fn entry(&self) -> AuditEntry {
        // The text is empty without details.
        let details: Details = serde_json::from_str(self.texts.get(DETAILS)).unwrap_or_default();
        AuditEntry {
            id: self.id,
            at: words::rfc3339(self.at()),
            action: self.action().to_owned(),
            result: self.result().to_owned(),
            actor: AuditActor { address: self.texts.get(ADDRESS).to_owned(), ..AuditActor::clone(&self.actor) },
            object: AuditObject {
                kind: self.object_kind().to_owned(),
                id: self.object_id,
                name: self.object_name().to_owned(),
                owner: self.texts.get(OWNER).to_owned(),
                repository_id: details.repository_id,
            },
            before: details.before,
            after: details.after,
            reason: self.texts.get(REASON).to_owned(),
            count: self.count,
            request_id: self.request().to_owned(),
        }
    }
}

/// Converts audit entries to the compact form and shares common values.
#[derive(Debug, Default)]
pub(crate) struct AuditCompactor {
    actions: SharedValues<Action>,
    actors: SharedValues<AuditActor>,
}

impl AuditCompactor {
    pub(crate) fn compact(&mut self, entry: AuditEntry) -> AuditSummary {
        let AuditEntry { mut actor, object, before, after, .. } = entry;
        let address = std::mem::take(&mut actor.address);
        let details = Details { repository_id: object.repository_id, before, after }.to_json();
        AuditSummary {
            id: entry.id,
            object_id: object.id,
            count: entry.count,
            texts: PackedTexts::of([&object.name, &object.owner, &address, &entry.request_id, &entry.reason, &details]),
            action: self.actions.share(Action { name: entry.action, result: entry.result, object_kind: object.kind }),
            actor: self.actors.share(actor),
            at: short_seconds(&entry.at),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{super::compact::row_bytes, *};

    /// An entry without changed fields.
    fn entry(id: i64) -> AuditEntry {
        serde_json::from_value(json!({
            "id": id, "at": "2026-11-21T11:52:10Z", "action": "repository.visibility", "result": "done", "count": 1,
            "actor": { "kind": "user", "id": 2, "name": "ops-a", "token_id": 17, "address": "192.0.2.14" },
            "object": { "kind": "repository", "id": id, "name": "lake", "owner": "data", "repository_id": id },
            "request_id": "9e3779b97f4a7c15",
        }))
        .unwrap()
    }

    fn changed() -> AuditEntry {
        let fields = |value: Value| serde_json::from_value(value).unwrap();
        AuditEntry {
            before: fields(json!({ "private": true, "topics": ["日本", ""], "limit": -5 })),
            after: fields(json!({ "private": false, "topics": [], "limit": null })),
            reason: "wrong password".to_owned(),
            count: 41,
            ..entry(904)
        }
    }

    #[test]
    fn compacting_preserves_all_fields_of_an_audit_entry() {
        let mut compactor = AuditCompactor::default();
        let local = AuditActor { uid: Some(0), acts_as: "ops-b".to_owned(), ..AuditActor::default() };
        let of_daemon = AuditEntry { at: words::rfc3339(0), actor: local, ..AuditEntry::default() };
        let without_object = AuditEntry { object: AuditObject::default(), ..changed() };
        for entry in [entry(1), changed(), of_daemon, without_object] {
            assert_eq!(compactor.compact(entry.clone()).entry(), entry);
        }
    }

    #[test]
    fn lists_show_the_same_texts_of_compact_entries() {
        let mut compactor = AuditCompactor::default();
        let local = AuditActor { uid: Some(7), address: "192.0.2.1".to_owned(), ..AuditActor::default() };
        let object = AuditObject { kind: "hook".to_owned(), id: 7, owner: "a/b".to_owned(), ..AuditObject::default() };
        for entry in [entry(1), changed(), AuditEntry { actor: local, object, ..entry(2) }, AuditEntry::default()] {
            let summary = compactor.compact(entry.clone());
            assert_eq!(summary.counted_result(), audit_text::result(&entry));
            assert_eq!(summary.origin(), audit_text::origin(&entry.actor));
            assert_eq!(summary.object(), audit_text::object(&entry));
            assert_eq!(audit_text::actor(summary.actor()), audit_text::actor(&entry.actor));
        }
    }

    #[test]
    fn an_audit_entry_without_changes_takes_few_bytes() {
        let mut compactor = AuditCompactor::default();
        let (one, other) = (compactor.compact(entry(12_345)), compactor.compact(entry(12_346)));
        assert!(Arc::ptr_eq(&one.action, &other.action) && Arc::ptr_eq(&one.actor, &other.actor));
        let bytes = row_bytes::<AuditSummary>(&[one.texts.heap_bytes()]);
        assert!(bytes <= 200, "{bytes} bytes a row");
    }
}
