//! `farrier audit …`

use std::{fmt::Write as _, time::Duration};

use farrier_common::{
    api::AuditEntry,
    client::{AuditFilter, Client, ClientError},
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

/// Number of entries that are listed by default.
const LIMIT: usize = 50;
/// Number of older entries that are printed before new ones by default.
const FOLLOW_LIMIT: usize = 10;
/// Pause between two requests for new entries.
const PAUSE: Duration = Duration::from_secs(2);

#[derive(Serialize)]
struct Entries {
    total_count: usize,
    entries: Vec<AuditEntry>,
}

pub(super) async fn run(command: Audit, client: &Client, output: &Output) -> Result<(), Failure> {
    match command {
        Audit::List(args) if args.follow => follow(*args, client, output).await,
        Audit::List(args) => {
            let all = newest(&filter(&args)?, args.limit.unwrap_or(LIMIT), args.own, client).await;
            let all = all.map_err(Failure::call("listing the audit log"))?;
            let document = |total_count, entries| Entries { total_count, entries };
            list::show(output, all, |entry| entry.id, table, document)
        }
        Audit::Show { id } => {
            let found = client.audit_entry(id).await.map_err(Failure::call(format!("showing audit entry {id}")))?;
            output.page(&found, &found.id.to_string(), || page(&found))
        }
    }
}

fn filter(args: &ListAudit) -> Result<AuditFilter, Failure> {
    let text = |text: &Option<String>| text.clone().unwrap_or_default();
    let time = |flag, text: &Option<String>| match text {
        Some(text) => instant(flag, text, clock::now()),
        None => Ok(String::new()),
    };
    Ok(AuditFilter {
        actor: text(&args.actor),
        action: text(&args.action),
        object: text(&args.object),
        repository: text(&args.repo),
        result: text(&args.result),
        since: time("--since", &args.since)?,
        until: time("--until", &args.until)?,
        request_id: text(&args.request),
        user: text(&args.user),
        text: text(&args.text),
        after: None,
    })
}

/// Returns the newest `limit` entries, newest first. `own`: of the caller.
async fn newest(
    filter: &AuditFilter,
    limit: usize,
    own: bool,
    client: &Client,
) -> Result<Listed<AuditEntry>, ClientError> {
    let pages = if own { client.own_audit(filter) } else { client.audit(filter) };
    list::first(limit, pages, |page: Vec<AuditEntry>| page, |entry| entry.id).await
}

/// Prints the newest entries, then new ones, until a request fails.
async fn follow(args: ListAudit, client: &Client, output: &Output) -> Result<(), Failure> {
    let mut filter = AuditFilter { after: Some(0), ..filter(&args)? };
    let mut limit = args.limit.unwrap_or(FOLLOW_LIMIT);
    loop {
        let entries = newest(&filter, limit, args.own, client).await;
        let entries = entries.map_err(Failure::call("following the audit log"))?.items;
        for entry in entries.iter().rev() {
            output.object(entry, &entry.id.to_string(), || line(entry))?;
        }
        filter.after = entries.first().map(|entry| entry.id).or(filter.after);
        limit = usize::MAX;
        tokio::time::sleep(PAUSE).await;
    }
}

/// Returns an entry on one line.
fn line(entry: &AuditEntry) -> String {
    let (actor, origin) = (audit_text::actor(&entry.actor), audit_text::origin(&entry.actor));
    let parts = [&entry.at, &audit_text::result(entry), &entry.action, &actor, &origin, &audit_text::object(entry)];
    parts.iter().filter(|part| !part.is_empty()).map(|part| clean_line(part)).collect::<Vec<_>>().join("  ")
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
        for part in ["chief as octo with token 3", "192.0.2.1", "name: old -> new\n", "secret: (set)\n", "(ID 5)"] {
            assert!(text.contains(part), "{part}: {text}");
        }
        assert!(!text.contains('\u{1b}') && !text.contains("count"), "{text}");
        let line = line(&entry);
        let expected = "2026-01-02T03:04:05Z  done  repository.rename  chief as octo  192.0.2.1  repository octo/new";
        assert!(line.starts_with(expected) && !line.contains('\u{1b}'), "{line}");
    }
}
