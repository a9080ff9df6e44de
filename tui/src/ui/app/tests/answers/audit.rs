//! Entries of the audit log.

use farrier_common::api::AuditEntry;
use serde_json::json;

use super::super::prelude::*;
use crate::ui::{
    audit::AuditCompactor,
    net::{Page, SearchProgress},
};

/// Five entries of different kinds, newest first.
pub(in super::super) fn audit() -> Answer {
    let entries = json!([
        {
            "id": 905, "at": "2026-11-21T11:58:00Z", "action": "sign_in.refuse", "result": "refused", "count": 41,
            "reason": "wrong password", "actor": { "kind": "anonymous", "address": "203.0.113.77" },
            "object": { "kind": "user", "name": "ops-a" },
        },
        {
            "id": 904, "at": "2026-11-21T11:52:10Z", "action": "repository.visibility", "result": "done", "count": 1,
            "actor": { "kind": "user", "id": 2, "name": "ops-a", "token_id": 17, "address": "192.0.2.14" },
            "object": { "kind": "repository", "id": 12, "name": "lake", "owner": "data", "repository_id": 12 },
            "before": { "private": true, "description": "the lake" },
            "after": { "private": false, "description": "the lake of the whole company" },
            "request_id": "9e3779b97f4a7c15",
        },
        {
            "id": 903, "at": "2026-11-21T11:20:00Z", "action": "hook.edit", "result": "done", "count": 1,
            "actor": { "kind": "user", "id": 1, "name": "admin", "acts_as": "ops-b", "uid": 0 },
            "object": { "kind": "hook", "id": 7, "name": "gitea", "owner": "infra/gateway", "repository_id": 1 },
            "before": { "secret": "(set)", "url": "https://ci.example.net" },
            "after": { "secret": "(changed)", "url": "https://build.example.net" },
            "request_id": "3c6ef372fe94f82a",
        },
        {
            "id": 902, "at": "2026-11-20T09:00:00Z", "action": "retention.delete", "result": "done", "count": 12,
            "actor": { "kind": "daemon", "name": "(farrierd)" },
            "object": { "kind": "artifacts", "name": "expired artifacts" },
        },
        {
            "id": 901, "at": "2026-11-20T08:00:00Z", "action": "settings.reload", "result": "failed", "count": 1,
            "reason": "the configuration has 1 problem", "actor": { "kind": "daemon", "name": "(farrierd)" },
            "object": { "kind": "settings", "name": "configuration" },
        },
    ]);
    audit_of(serde_json::from_value(entries).unwrap())
}

/// Returns the response with these entries.
pub(in super::super) fn audit_of(entries: Vec<AuditEntry>) -> Answer {
    let mut compactor = AuditCompactor::default();
    let items: Vec<_> = entries.into_iter().map(|entry| compactor.compact(entry)).collect();
    Answer::Audit(Page { total: i64::try_from(items.len()).ok(), items, last: true }, SearchProgress::default())
}

/// Returns the response with these entries, if the daemon searched and examined `examined` entries.
pub(in super::super) fn audit_search(entries: Vec<AuditEntry>, examined: i64, more: bool) -> Answer {
    let Answer::Audit(page, _) = audit_of(entries) else { unreachable!() };
    Answer::Audit(Page { total: None, ..page }, SearchProgress { examined: Some(examined), more })
}
