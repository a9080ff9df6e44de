//! Follows the audit log: logs the entries of this daemon and copies those of all nodes after their commit, and records
//! refused sign-ins when their window is over.

mod copies;

use std::{error::Error as StdError, time::Duration};

use farrier_proto::store::{AuditEntry, AuditResult};

use crate::{
    model::words,
    service::{
        Context, Error,
        audit::{self, AuditOutput},
    },
    store::{audit as rows, retried_work::RetriedWork},
};

/// Pause after a failure, so that a broken disk does not keep a core busy.
const PAUSE_AFTER_ERROR: Duration = Duration::from_secs(5);
/// Pause before entries are read again that another transaction holds up.
const RETRY: Duration = Duration::from_millis(50);
/// Entries to read at a time.
const BATCH: usize = 256;

/// Runs until the daemon stops. Follows the entries that are recorded after the start.
pub async fn run(context: Context) {
    tokio::join!(
        record_refusals(&context),
        log_entries(&context),
        copies::run(&context, AuditOutput::File),
        copies::run(&context, AuditOutput::Journal)
    );
}

async fn record_refusals(context: &Context) {
    let stop = context.tasks.stop().clone();
    let work = async {
        let log = RetriedWork::new("recording refused sign-ins");
        loop {
            match audit::flush_refusals(context, false).await {
                Ok(next) => {
                    log.succeeded();
                    context.audit.sign_ins.due.wait(&context.clock, next).await;
                }
                Err(error) => pause(&log, &error).await,
            }
        }
    };
    tokio::select! {
        () = stop.cancelled() => {}
        () = work => {}
    }
    if let Err(error) = audit::flush_refusals(context, true).await {
        tracing::warn!(error = &error as &dyn StdError, "refused sign-ins were not recorded");
    }
}

/// Logs the entries that this daemon records.
async fn log_entries(context: &Context) {
    let stop = context.tasks.stop().clone();
    let mut changes = context.audit.listen();
    let mut last = context.audit.opened_after();
    let work = RetriedWork::new("reading the audit log");
    loop {
        // Before the read, so that an entry that is committed after the read wakes this task.
        changes.mark_unchanged();
        let mut waits = false;
        match log_after(context, last).await {
            Ok(logged) => {
                work.succeeded();
                (last, waits) = logged;
            }
            Err(error) => pause(&work, &error).await,
        }
        let is_stopping = stop.is_cancelled();
        tokio::select! {
            changed = changes.changed() => if changed.is_err() { return },
            () = tokio::time::sleep(RETRY), if waits => {}
            () = stop.cancelled() => if is_stopping { return },
        }
    }
}

/// Logs the settled entries after the entry `last`. Returns the last one, and whether there are entries that are not
/// settled.
async fn log_after(context: &Context, mut last: u64) -> Result<(u64, bool), Error> {
    let snapshot = context.store.read().await?;
    let end = rows::unsettled(&snapshot).await?;
    loop {
        let entries = rows::after(&snapshot, last, BATCH).await?;
        let is_full_batch = entries.len() == BATCH;
        for entry in entries {
            if entry.id >= end {
                return Ok((last, true));
            }
            if audit::is_logged_here(context, &entry) {
                log(&entry);
            }
            last = entry.id;
        }
        if !is_full_batch {
            return Ok((last, false));
        }
    }
}

fn log(entry: &AuditEntry) {
    let actor = entry.actor.clone().unwrap_or_default();
    let object = entry.object.clone().unwrap_or_default();
    let result = words::audit_result_word(entry.result());
    let uid = actor.uid;
    let address = (!actor.address.is_empty()).then_some(actor.address.as_str());
    let owner = (!object.owner.is_empty()).then_some(object.owner.as_str());
    let (by, name, object, object_id) = (actor.name.as_str(), object.name.as_str(), object.kind.as_str(), object.id);
    let (id, action, request_id) = (entry.id, entry.action.as_str(), entry.request_id.as_str());
    let (before, after) = (entry.before.as_str(), entry.after.as_str());
    let reason = (!entry.reason.is_empty()).then_some(entry.reason.as_str());
    let count = (entry.count > 0).then_some(entry.count);
    // The level of a line is fixed where it is logged.
    macro_rules! line {
        ($level:ident) => {
            tracing::$level!(
                target: audit::LOG_TARGET,
                id, by, address, uid, object, object_id, name, owner, before, after, result, reason, count, request_id,
                "{action}"
            )
        };
    }
    if entry.result() == AuditResult::Done { line!(info) } else { line!(warn) }
}

async fn pause(work: &RetriedWork, error: &Error) {
    work.failed(error);
    tokio::time::sleep(PAUSE_AFTER_ERROR).await;
}
