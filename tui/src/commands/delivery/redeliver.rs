//! `farrier delivery redeliver` and `farrier delivery recover`: send deliveries again.

use std::collections::BTreeMap;

use farrier_common::{
    api::{Delivery, Hook, RecoverDeliveries, RecoveredDeliveries},
    client::{Client, HookOwner, HookQuery},
};
use serde::Serialize;

use crate::{
    args::FilterArgs,
    commands::{confirm::Bulk, list::collect},
    exit::{self, Failure},
    output::{Output, counted},
};

/// The result for one of several deliveries.
#[derive(Serialize)]
struct Outcome {
    delivery: String,
    redelivered: bool,
    error: Option<String>,
}

#[derive(Serialize)]
struct Outcomes {
    results: Vec<Outcome>,
}

pub(super) async fn run(
    named: Vec<String>,
    filter: FilterArgs,
    yes: bool,
    client: &Client,
    output: &Output,
) -> Result<u8, Failure> {
    if let [delivery] = named.as_slice() {
        let again = client.redeliver(delivery).await.map_err(Failure::call(redelivering(delivery)))?;
        output.object(&again, &again.guid, || redelivered(&again.guid))?;
        return Ok(exit::OK);
    }
    if !named.is_empty() {
        return each(named, client, output).await;
    }
    // All matches are read before the first is redelivered, because a redelivered delivery may no longer match
    // the filter.
    let rows = super::rows(filter, usize::MAX, client).await?.items;
    let hooks = if rows.is_empty() { BTreeMap::new() } else { hooks(client).await? };
    let (rows, details) = selected(rows, &hooks);
    let ids: Vec<String> = rows.into_iter().map(|row| row.guid).collect();
    if ids.is_empty() {
        let text =
            details.iter().fold("No delivery to redeliver".to_owned(), |text, detail| format!("{text}; {detail}"));
        let _ = output.note(&text); // a message may get lost
    } else {
        let bulk = Bulk { verb: "Redeliver", noun: "delivery", count: ids.len(), details, deletes: false };
        bulk.confirmed(yes, output).await?;
    }
    each(ids, client, output).await
}

/// Returns the hooks that the caller may manage, by id.
async fn hooks(client: &Client) -> Result<BTreeMap<i64, Hook>, Failure> {
    let all = collect(client.managed_hooks(&HookQuery::default()), |page: Vec<Hook>| page, |hook| hook.id).await;
    let all = all.map_err(Failure::call("listing hooks"))?;
    Ok(all.into_iter().map(|hook| (hook.id, hook)).collect())
}

/// Returns the deliveries that can be redelivered, and the details to print before the confirmation.
fn selected(rows: Vec<Delivery>, hooks: &BTreeMap<i64, Hook>) -> (Vec<Delivery>, Vec<String>) {
    let (mut deleted, mut queued, mut inactive) = (0, 0, 0);
    let mut kept = Vec::new();
    for row in rows {
        match hooks.get(&row.hook_id) {
            None => deleted += 1,
            Some(hook) if !hook.active => inactive += 1,
            Some(_) if row.state == "pending" && row.attempts == 0 => queued += 1,
            Some(_) => kept.push(row),
        }
    }
    let lines = [
        (deleted, "skipped: their hook was deleted"),
        (queued, "skipped: not attempted yet, still in the queue"),
        (inactive, "skipped: their hook is inactive (farrier hook on ID)"),
    ];
    let details = lines.into_iter().filter(|(count, _)| *count > 0).map(|(count, text)| format!("{count} {text}"));
    (kept, details.collect())
}

fn redelivering(delivery: &str) -> String {
    format!("redelivering {delivery}")
}

fn redelivered(delivery: &str) -> String {
    format!("Delivery {delivery} queued for redelivery")
}

/// Redelivers all of them; a failure does not stop the others.
async fn each(ids: Vec<String>, client: &Client, output: &Output) -> Result<u8, Failure> {
    let (mut results, mut failures) = (Vec::new(), Vec::new());
    for delivery in ids {
        let again = client.redeliver(&delivery).await.map_err(Failure::call(redelivering(&delivery)));
        let error = again.as_ref().err().map(Failure::report);
        let outcome = Outcome { delivery, redelivered: error.is_none(), error };
        if !output.format().json && (output.format().jsonl || outcome.redelivered) {
            output.object(&outcome, &outcome.delivery, || redelivered(&outcome.delivery))?;
        }
        if let Err(failure) = again {
            let _ = output.error(&failure); // if the message is lost, the exit code still reports the failure
            failures.push(failure);
        }
        results.push(outcome);
    }
    let done = results.len() - failures.len();
    if output.format().json {
        output.object(&Outcomes { results }, "", String::new)?;
    }
    Ok(match failures.first() {
        None => exit::OK,
        Some(_) if done > 0 => exit::PARTLY,
        Some(first) => first.code(),
    })
}

/// `farrier delivery recover`. `since` is RFC 3339.
pub(super) async fn recover(
    hook: u64,
    since: Option<&str>,
    yes: bool,
    client: &Client,
    output: &Output,
) -> Result<(), Failure> {
    let doing = format!("recovering hook {hook}");
    let selection = RecoverDeliveries { since: since.map(str::to_owned), dry_run: true, waiting: true };
    let found = client.recover(hook, &selection).await.map_err(Failure::call(doing.as_str()))?;
    let count = usize::try_from(found.count.saturating_add(found.retried)).unwrap_or(usize::MAX);
    if count > 0 {
        let id = i64::try_from(hook).unwrap_or(i64::MAX);
        let owner = client.hook(&HookOwner::Any, id).await.map_err(Failure::call(doing.as_str()))?;
        let details = vec![
            format!("to hook {hook}, {}", owner.url),
            format!("{} failed, {} waiting for a retry or for the next probe of the hook", found.count, found.retried),
        ];
        let bulk = Bulk { verb: "Redeliver", noun: "delivery", count, details, deletes: false };
        bulk.confirmed(yes, output).await?;
    }
    let selection = RecoverDeliveries { dry_run: false, ..selection };
    let recovered = client.recover(hook, &selection).await.map_err(Failure::call(doing))?;
    output.object(&recovered, &recovered.count.to_string(), || recovered_text(&recovered))
}

/// Returns the result of a recovery: `3 deliveries redelivered, 11 retried now`.
fn recovered_text(recovered: &RecoveredDeliveries) -> String {
    let redelivered = counted(usize::try_from(recovered.count).unwrap_or(usize::MAX), "delivery");
    format!("{redelivered} redelivered, {} retried now", recovered.retried)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn deliveries_that_cannot_be_redelivered_are_counted_and_skipped() {
        let row =
            |hook_id, state: &str, attempts| Delivery { hook_id, state: state.into(), attempts, ..Delivery::default() };
        let hook = |id, active| (id, Hook { id, active, ..Hook::default() });
        let hooks = BTreeMap::from([hook(1, true), hook(2, false)]);
        let rows = vec![
            row(1, "failed", 9),
            row(2, "failed", 9),
            row(3, "failed", 9),
            row(1, "pending", 0),
            row(1, "pending", 1),
        ];
        let (kept, details) = selected(rows, &hooks);
        assert_eq!(kept.iter().map(|row| row.attempts).collect::<Vec<_>>(), [9, 1]);
        assert_eq!(
            details,
            [
                "1 skipped: their hook was deleted",
                "1 skipped: not attempted yet, still in the queue",
                "1 skipped: their hook is inactive (farrier hook on ID)"
            ]
        );
    }
}
