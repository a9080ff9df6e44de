//! Converts audit entries for farrier's own API.

use std::collections::BTreeMap;

use farrier_common::api;
use farrier_proto::store::AuditEntry;
use serde_json::Value;

use super::{number, time};
use crate::model::words;

/// Converts an audit entry.
pub(crate) fn audit_entry(row: &AuditEntry) -> api::AuditEntry {
    let actor = row.actor.clone().unwrap_or_default();
    let object = row.object.clone().unwrap_or_default();
    let given = |id: u64| (id != 0).then(|| number(id));
    api::AuditEntry {
        id: number(row.id),
        at: time(row.at_ms),
        action: row.action.clone(),
        result: words::audit_result_word(row.result()).into(),
        actor: api::AuditActor {
            kind: words::audit_actor_word(actor.kind()).into(),
            id: number(actor.user_id),
            name: actor.name,
            acts_as: actor.acts_as,
            token_id: given(actor.token_id),
            address: actor.address,
            uid: actor.uid,
        },
        object: api::AuditObject {
            kind: object.kind,
            id: number(object.id),
            name: object.name,
            owner: object.owner,
            repository_id: given(row.repository_id),
        },
        before: fields(&row.before),
        after: fields(&row.after),
        reason: row.reason.clone(),
        count: number(row.count.max(1)),
        request_id: row.request_id.clone(),
    }
}

fn fields(json: &str) -> BTreeMap<String, Value> {
    serde_json::from_str(json).unwrap_or_default()
}
