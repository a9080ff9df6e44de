//! Checks the store itself: index entries against rows, ids against sequences.

use super::{Check, CheckError, Class, Finding, RepairState};
use crate::store::{
    check::{self as store, KeyProblem},
    deliveries,
    ids::IdKind,
    repositories::orders,
};

/// Checks every table of the store. Does not report the entries that the next start adds to the data of an earlier
/// version.
pub(super) async fn check(check: &mut Check) -> Result<(), CheckError> {
    let snapshot = check.store.read().await?;
    let known_orders = orders::known(&snapshot).await?;
    let is_indexed = deliveries::is_indexed(&snapshot).await?;
    drop(snapshot);
    for table in store::TABLES {
        let mut after = None;
        loop {
            let snapshot = check.store.read().await?;
            let mut page = store::page(&snapshot, table, after.as_deref()).await?;
            drop(snapshot);
            page.found.retain(|found| match found.problem {
                KeyProblem::Missing if orders::is_added_later(&found.key, known_orders) => false,
                KeyProblem::Missing | KeyProblem::Leftover => is_indexed || !store::needs_index(&found.key),
                _ => true,
            });
            check.report.keys += page.keys as u64;
            if check.options.repair {
                let fixes: Vec<_> = page.found.iter().filter_map(|found| found.fix.clone()).collect();
                store::apply(&check.store, &fixes).await?;
            }
            for found in page.found {
                check.report.add(Finding {
                    class: if found.problem.is_harmless() { Class::Waste } else { Class::Damage },
                    subject: format!("key {}", store::show(&found.key)),
                    message: found.problem.sentence().to_owned(),
                    repair: match found.fix {
                        Some(_) if check.options.repair => RepairState::Done,
                        Some(_) => RepairState::Possible,
                        None => RepairState::None,
                    },
                });
            }
            after = page.next;
            if after.is_none() {
                break;
            }
        }
    }
    Ok(())
}

/// Checks the recorded size of the delivery history, which retention depends on.
pub(super) async fn check_history(check: &mut Check) -> Result<(), CheckError> {
    let Some((known, bytes)) = store::history(&check.store.read().await?).await? else { return Ok(()) };
    let message = format!("the recorded size is {known} bytes, the actual size is {bytes} bytes");
    let rows = check.store.clone();
    check.repair((Class::Damage, "history of deliveries".into(), message), store::recount(&rows, bytes)).await;
    Ok(())
}

/// Checks that no sequence would return an id that is in use.
pub(super) async fn check_sequences(check: &mut Check, highest_file: u64) -> Result<(), CheckError> {
    let outside =
        |kind| if kind == IdKind::BlockFile { check.reserved(kind).max(highest_file) } else { check.reserved(kind) };
    let behind = store::stale_sequences(&check.store.read().await?, outside).await?;
    for behind in behind {
        let subject = format!("ids of kind {}", behind.kind.name());
        let message = format!("the next one would be below {}, which is in use", behind.used);
        let rows = check.store.clone();
        check.repair((Class::Damage, subject, message), store::raise(&rows, behind)).await;
    }
    Ok(())
}
