//! Checks repositories: rows against directories. [`refs`] compares refs, [`packs`] the manifest with the packs,
//! [`bucket`] with the objects in the bucket.

mod bucket;
mod packs;
mod refs;

use std::collections::BTreeSet;

use farrier_proto::store::{MigrationState, Repository};

use super::{Check, CheckError, Class};
use crate::store::{StoreError, Tx, owners, packs::bucket as bucket_rows, refs as ref_rows, repositories};

/// Rows to read per transaction.
const PAGE: usize = 200;

/// Checks every repository and every directory.
pub(super) async fn check(check: &mut Check) -> Result<(), CheckError> {
    let marks = ref_rows::marks(&check.store.read().await?).await?;
    let marked: BTreeSet<u64> = marks.into_iter().map(|(repository, ..)| repository).collect();
    let on_disk: BTreeSet<u64> = check.git.repositories_at_start().iter().copied().collect();
    let (mut after, mut unknown) = (None, on_disk.clone());
    loop {
        let (page, next) = repositories::batch(&check.store.read().await?, after.as_deref(), PAGE).await?;
        for row in page {
            unknown.remove(&row.id);
            check.report.repositories += 1;
            check_repository(check, &row, on_disk.contains(&row.id), marked.contains(&row.id)).await?;
        }
        after = next;
        if after.is_none() {
            break;
        }
    }
    for id in unknown {
        let about = (Class::Waste, directory(id), "no row refers to it; --repair moves it to set-aside".to_owned());
        let (git, aside) = (check.git.clone(), check.aside.clone());
        check.repair(about, git.set_aside(id, &aside)).await;
    }
    match check.git.partial().await {
        Ok(names) => {
            for name in names {
                check.add_finding(
                    Class::Unfinished,
                    format!("directory repositories/{name}"),
                    "its creation or deletion was interrupted",
                );
            }
        }
        Err(error) => check.add_finding(Class::Damage, "directory repositories", error.to_string()),
    }
    Ok(())
}

fn directory(id: u64) -> String {
    format!("directory repositories/{id}.git")
}

async fn check_repository(check: &mut Check, row: &Repository, on_disk: bool, marked: bool) -> Result<(), CheckError> {
    let subject = match row.deleted_ms {
        0 => format!("repository {} ({})", row.id, row.name),
        _ => format!("deleted repository {} ({})", row.id, row.deleted_path),
    };
    if row.deleted && row.deleted_ms == 0 {
        check.add_finding(Class::Unfinished, subject, "it is deleted; the daemon removes its files when it starts");
        return Ok(());
    }
    match row.migration.as_ref().map(farrier_proto::store::Migration::state) {
        Some(MigrationState::Running) => {
            check.add_finding(
                Class::Unfinished,
                subject,
                "its migration was interrupted; the daemon marks it as failed when it starts",
            );
            return Ok(());
        }
        Some(MigrationState::Failed) if on_disk => {
            let about = (Class::Waste, directory(row.id), "it belongs to a failed migration".to_owned());
            let (git, aside) = (check.git.clone(), check.aside.clone());
            check.repair(about, git.set_aside(row.id, &aside)).await;
            return Ok(());
        }
        Some(MigrationState::Failed) => return Ok(()),
        _ => {}
    }
    if !row.deleted {
        check_visibility(check, row, &subject).await?;
    }
    bucket::check(check, row, &subject).await?;
    if !on_disk {
        if check.packs.is_some() && bucket_rows::has_all(&check.store.read().await?, row.id).await? {
            // The daemon creates it at the next use.
            return Ok(());
        }
        check.add_finding(Class::Damage, subject, "its directory is missing");
        return Ok(());
    }
    check_head(check, row, &subject).await;
    refs::check(check, row, &subject, marked).await?;
    packs::check(check, row, &subject).await?;
    if check.options.git {
        match check.git.fsck(row.id).await {
            Ok(None) => {}
            Ok(Some(output)) => check.add_finding(Class::Damage, subject, format!("git fsck reports: {output}")),
            Err(error) => check.add_finding(Class::Damage, subject, format!("its objects cannot be checked: {error}")),
        }
    }
    Ok(())
}

/// Checks that the listing class of a row fits its own visibility and its owner's.
async fn check_visibility(check: &mut Check, row: &Repository, subject: &str) -> Result<(), CheckError> {
    let owner = owners::owner(&check.store.read().await?, row.owner_kind(), row.owner_id).await?;
    // The check of tables reports a missing owner.
    let Some(owner) = owner else { return Ok(()) };
    let class = repositories::class(owner.visibility(), row.private);
    if row.listed() != class {
        let about = (Class::Damage, subject.to_owned(), "its listing class does not match its visibility".to_owned());
        let (store, id, before) = (check.store.clone(), row.id, row);
        let relisted = store.write(async |tx: Tx| {
            let before = repositories::get(&tx, id).await?.unwrap_or_else(|| before.clone());
            repositories::put(&tx, Some(&before), &Repository { listed: class.into(), ..before.clone() });
            Ok::<_, StoreError>(())
        });
        check.repair(about, relisted).await;
    }
    Ok(())
}

/// Checks that `HEAD` names the default branch.
async fn check_head(check: &mut Check, row: &Repository, subject: &str) {
    let git = check.git.clone();
    match git.head(row.id).await {
        Ok(Some(head)) if head == row.default_branch => {}
        Ok(_) => {
            let message = format!("HEAD does not name the default branch {}", row.default_branch);
            check.repair((Class::Damage, subject.to_owned(), message), git.set_head(row.id, &row.default_branch)).await;
        }
        Err(error) => check.add_finding(Class::Damage, subject, error.to_string()),
    }
}
