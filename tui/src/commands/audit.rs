//! `farrier audit …`

use std::fmt::Write as _;

use farrier_common::{
    api::AuditEntry,
    client::{AuditFilter, Client},
};
use serde::Serialize;

use super::{
    instant::instant,
    list::{self, Listed},
};
use crate::{
    args::{Audit, ListAudit},
    audit_text, clock,
    exit::Failure,
    output::{Output, Table, clean_line, fields, moment, time},
};

#[derive(Serialize)]
struct Entries {
    total_count: usize,
    entries: Vec<AuditEntry>,
}

pub(super) async fn run(command: Audit, client: &Client, output: &Output) -> Result<(), Failure> {
    match command {
        Audit::List(args) => {
            let all = newest(args, client).await?;
            let document = |total_count, entries| Entries { total_count, entries };
            list::show(output, all, |entry| entry.id, table, document)
        }
        Audit::Show { id } => {
            let found = client.audit_entry(id).await.map_err(Failure::call(format!("showing audit entry {id}")))?;
            output.page(&found, &found.id.to_string(), || page(&found))
        }
    }
}

async fn newest(args: ListAudit, client: &Client) -> Result<Listed<AuditEntry>, Failure> {
    let time = |flag, text: Option<String>| match text {
        Some(text) => instant(flag, &text, clock::now()),
        None => Ok(String::new()),
    };
    let filter = AuditFilter {
        actor: args.actor.unwrap_or_default(),
        action: args.action.unwrap_or_default(),
        object: args.object.unwrap_or_default(),
        repository: args.repo.unwrap_or_default(),
        result: args.result.unwrap_or_default(),
        since: time("--since", args.since)?,
        until: time("--until", args.until)?,
        request_id: args.request.unwrap_or_default(),
    };
    let pages = if args.own { client.own_audit(&filter) } else { client.audit(&filter) };
    let all = list::first(args.limit, pages, |page: Vec<AuditEntry>| page, |entry| entry.id).await;
    all.map_err(Failure::call("listing the audit log"))
}

fn table(all: &[AuditEntry]) -> String {
    let mut table = Table::new(["ID", "TIME", "RESULT", "ACTION", "ACTOR", "FROM", "OBJECT"]).with_states("RESULT");
    for entry in all {
        table.row([
            entry.id.to_string(),
            time(&entry.at),
            audit_text::result(entry),
            entry.action.clone(),
            audit_text::actor(&entry.actor),
            audit_text::origin(&entry.actor),
            audit_text::object(entry),
        ]);
    }
    table.render()
}

fn page(entry: &AuditEntry) -> String {
    let mut text = fields(&audit_text::facts(entry, moment(&entry.at)));
    let changes = audit_text::changes(entry);
    if !changes.is_empty() {
        text.push('\n');
    }
    for line in changes {
        let _ = writeln!(text, "{}", clean_line(&line));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_shows_changes_and_counts() {
        let entry: AuditEntry = serde_json::from_value(serde_json::json!({
            "id": 7, "at": "2026-01-02T03:04:05Z", "action": "repository.rename", "result": "done", "count": 1,
            "actor": { "kind": "user", "name": "chief", "acts_as": "octo", "token_id": 3, "address": "192.0.2.1" },
            "object": { "kind": "repository", "id": 5, "name": "new\u{1b}[2J", "owner": "octo" },
            "before": { "name": "old", "secret": null }, "after": { "name": "new", "secret": "(set)" },
        }))
        .unwrap();
        let text = page(&entry);
        for part in ["chief as octo with token 3", "192.0.2.1", "name: old → new\n", "secret: (set)\n", "(ID 5)"] {
            assert!(text.contains(part), "{part}: {text}");
        }
        assert!(!text.contains('\u{1b}') && !text.contains("count"), "{text}");
    }
}
