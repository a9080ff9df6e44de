//! Compares the manifest of a repository with the packs in its directory.

use std::{collections::BTreeSet, mem};

use farrier_proto::store::{Repository, StoredPack};

use super::{Check, CheckError, Class};
use crate::{
    copies::facts,
    service::packs::rows,
    store::{
        Tx, dropped_packs,
        packs::{self, Packs},
        refs,
    },
};

/// Checks the packs of a repository that has a directory. A repository without a manifest has nothing to compare with:
/// the daemon writes its manifest when it runs. Packs without a row are no finding: a change that was refused or
/// interrupted leaves them, and the next change adds them to the manifest. Packs that were dropped are none either: the
/// daemon removes their files when it runs.
pub(super) async fn check(check: &mut Check, row: &Repository, subject: &str) -> Result<(), CheckError> {
    let read = check.store.read().await?;
    let dropped: BTreeSet<String> = dropped_packs::all(&read, row.id).await?.into_keys().collect();
    check_pairs(check, row, subject, &dropped).await;
    let version = refs::version(&read, row.id).await?;
    let Some(version) = version.filter(|version| version.has_manifest) else { return Ok(()) };
    let known = packs::all(&read, row.id).await?;
    drop(read);
    let names: BTreeSet<String> = known.keys().cloned().collect();
    let mut changes = match check.git.pack_changes(row.id, version.sha256, (names, dropped)).await {
        Ok(changes) => changes,
        Err(error) => {
            check.add_finding(Class::Damage, subject, format!("its packs cannot be listed: {error}"));
            return Ok(());
        }
    };
    let mut missing = mem::take(&mut changes.missing);
    let on_disk: Packs = known.iter().filter(|(name, _)| !missing.contains(name)).map(owned).collect();
    if check.packs.is_some() {
        // The daemon fetches those that are in the bucket or in the store, which are checked separately.
        missing.retain(|name| known.get(name).is_none_or(packs::bucket::is_only_local));
    }
    let mut lost = Vec::new();
    for name in &missing {
        if check.git.has_pack_file(row.id, name).await {
            // Created again from the pack.
            let about = (Class::Damage, subject.to_owned(), format!("the index of the pack {name} is missing"));
            let git = check.git.clone();
            check.repair(about, git.index_pack_again(row.id, name)).await;
        } else {
            lost.push(name.as_str());
        }
    }
    let facts_of = on_disk.iter().map(|(name, row)| (name.clone(), facts(row.clone())));
    let damaged = check.git.damaged_packs(row.id, version.sha256, facts_of.collect(), check.options.git).await;
    for (name, problem) in damaged.into_iter().chain(mem::take(&mut changes.unreadable)) {
        check.add_finding(Class::Damage, subject, format!("the pack {name}: {problem}"));
    }
    let present: Packs = known.into_iter().filter(|(name, _)| !missing.contains(name)).collect();
    if lost.is_empty() { Ok(()) } else { check_lost(check, row, subject, &lost, &(present, rows(changes))).await }
}

fn owned((name, row): (&String, &StoredPack)) -> (String, StoredPack) {
    (name.clone(), row.clone())
}

/// Reports packs of the manifest that are missing. If the repository has every object that its refs reach, a program
/// has replaced the packs, and the manifest becomes what is in the directory: the packs `left` and `new`.
async fn check_lost(
    check: &mut Check,
    row: &Repository,
    subject: &str,
    lost: &[&str],
    (left, new): &(Packs, Packs),
) -> Result<(), CheckError> {
    let names = lost.join(", ");
    let tips = refs::all_tips(&check.store.read().await?, row.id).await?;
    if !check.git.has_all_objects(row.id, &tips).await.unwrap_or(false) {
        let message = format!("packs are missing, with objects of its refs; copy them from a backup: {names}");
        check.add_finding(Class::Damage, subject, message);
        return Ok(());
    }
    let message = format!("packs were replaced by another program, and no object of a ref is missing: {names}");
    let (store, id) = (check.store.clone(), row.id);
    let packs: &Packs = &left.iter().chain(new).map(|(name, row)| (name.clone(), row.clone())).collect();
    let replaced = store.write(async |tx: Tx| {
        packs::replace(&tx, id, &packs.clone().into()).await?;
        packs::bucket::note_incomplete(&tx).await
    });
    check.repair((Class::Unfinished, subject.to_owned(), message), replaced).await;
    Ok(())
}

/// Checks that every pack has its index. One of the files is missing if the daemon was killed while it moved a pack of
/// a push that it had not acknowledged. A file that was lost later has the same effect. Packs that were dropped lose
/// their index first.
async fn check_pairs(check: &mut Check, row: &Repository, subject: &str, dropped: &BTreeSet<String>) {
    match check.git.incomplete_packs(row.id, dropped.clone()).await {
        Ok(0) => {}
        Ok(packs) => {
            let message = format!(
                "{packs} files are packs without an index or indexes without a pack, which an interrupted push can \
                 leave; git ignores them, and --git shows whether objects are missing"
            );
            check.add_finding(Class::Waste, subject, message);
        }
        Err(error) => check.add_finding(Class::Damage, subject, format!("its packs cannot be listed: {error}")),
    }
}
