//! Checks the refs of a repository: the rows decide, and the files of refs are written from them. In a repository of an
//! earlier release that the daemon has not adopted yet, the files decide.

use std::collections::BTreeMap;

use farrier_proto::store::Repository;

use super::{Check, CheckError, Class};
use crate::{
    copies::{Copies, CopyError},
    store::{Read, StoreError, refs},
};

/// Rows to read per transaction.
const PAGE: usize = 1_000;
/// Objects to look up at a time.
const OBJECTS_AT_ONCE: usize = 10_000;
/// Maximum number of names of refs in a finding.
const NAMES_MAX: usize = 20;

/// Checks the refs of a repository that has a directory. `marked`: an earlier release has not recorded a push.
pub(super) async fn check(check: &mut Check, row: &Repository, subject: &str, marked: bool) -> Result<(), CheckError> {
    let read = check.store.read().await?;
    let (version, tips) = (refs::version(&read, row.id).await?, tips(&read, row.id).await?);
    let is_converted = refs::is_converted(&read).await?;
    drop(read);
    match version {
        None if !is_converted => check.add_finding(
            Class::Unfinished,
            subject,
            "its refs were recorded by an earlier release; the daemon converts them when it starts",
        ),
        None => check.add_finding(Class::Damage, subject, "the version of its refs is missing"),
        Some(version) if version.from_disk && marked => check.add_finding(
            Class::Unfinished,
            subject,
            "a push was interrupted; the daemon records its changes when it starts",
        ),
        Some(version) if version.from_disk => check_unadopted(check, row, subject, &tips).await,
        Some(_) => check_adopted(check, row, subject, &tips).await,
    }
    Ok(())
}

/// Returns the rows of all refs: names and object ids.
async fn tips(read: &impl Read, repository: u64) -> Result<BTreeMap<String, String>, StoreError> {
    let mut tips: BTreeMap<String, String> = BTreeMap::new();
    loop {
        let last = tips.last_key_value().map(|(name, _)| name.clone());
        let page = refs::page(read, repository, last.as_deref(), PAGE).await?;
        if page.is_empty() {
            return Ok(tips);
        }
        tips.extend(page.into_iter().map(|(name, found)| (name, found.tip)));
    }
}

/// Compares the files of refs, which decide, with what an earlier release recorded.
async fn check_unadopted(check: &mut Check, row: &Repository, subject: &str, tips: &BTreeMap<String, String>) {
    let found = match check.git.every_ref(row.id).await {
        Ok(found) => found,
        Err(error) => {
            check.add_finding(Class::Damage, subject, format!("its refs cannot be read: {error}"));
            return;
        }
    };
    let lost = tips.iter().filter(|(name, _)| !found.contains_key(*name));
    let lost: BTreeMap<String, String> = lost.map(|(name, id)| (name.clone(), id.clone())).collect();
    check_objects(check, row, subject, &lost).await;
    let differ: Vec<&str> =
        tips.iter().filter(|(name, id)| found.get(*name) != Some(id)).map(|(name, _)| name.as_str()).collect();
    if !differ.is_empty() {
        let message = format!(
            "refs differ from the recorded ones; the daemon compares them when it runs: {}",
            shown(differ.iter().copied())
        );
        check.add_finding(Class::Unfinished, subject, message);
    }
}

/// Checks that the repository has the objects that the rows name, and that the files of refs have the values of the
/// rows.
async fn check_adopted(check: &mut Check, row: &Repository, subject: &str, tips: &BTreeMap<String, String>) {
    let has_objects = check_objects(check, row, subject, tips).await;
    let (class, message) = match check.git.differing_refs(row.id, tips).await {
        Ok(differing) if differing.is_empty() => return,
        Ok(differing) => {
            let names = shown(differing.iter().map(String::as_str));
            (Class::Unfinished, format!("files of refs differ from their rows, which decide: {names}"))
        }
        Err(error) => (Class::Damage, format!("its files of refs cannot be read: {error}")),
    };
    if !has_objects {
        // Only the files may have ids of objects that exist.
        check.add_finding(class, subject, format!("{message}; they are not written while objects are missing"));
        return;
    }
    let (copies, git, id) = (Copies::new(check.store.clone(), check.git.clone()), check.git.clone(), row.id);
    let rewritten = async move {
        let lock = git.lock(id).await;
        copies.rewrite_locked(id, &lock).await?;
        Ok::<_, CopyError>(())
    };
    check.repair((class, subject.to_owned(), message), rewritten).await;
}

/// Checks that the repository has the objects of refs. Returns whether it has all.
async fn check_objects(check: &mut Check, row: &Repository, subject: &str, tips: &BTreeMap<String, String>) -> bool {
    let mut has_all = true;
    let (names, ids): (Vec<&String>, Vec<String>) = tips.iter().map(|(name, id)| (name, id.clone())).unzip();
    for (names, ids) in names.chunks(OBJECTS_AT_ONCE).zip(ids.chunks(OBJECTS_AT_ONCE)) {
        let kinds = match check.git.kinds(row.id, None, ids).await {
            Ok(kinds) => kinds,
            Err(error) => {
                check.add_finding(Class::Damage, subject, format!("its objects cannot be read: {error}"));
                return false;
            }
        };
        for ((name, id), _) in names.iter().zip(ids).zip(&kinds).filter(|(_, kind)| kind.is_none()) {
            let message = format!("{name} was recorded at {id}, which the repository does not have");
            check.add_finding(Class::Damage, subject, message);
            has_all = false;
        }
    }
    has_all
}

/// Returns the first names, and how many others there are.
fn shown<'a>(names: impl ExactSizeIterator<Item = &'a str>) -> String {
    let others = names.len().saturating_sub(NAMES_MAX);
    let first = names.take(NAMES_MAX).collect::<Vec<_>>().join(", ");
    if others == 0 { first } else { format!("{first} and {others} more") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_finding_names_the_first_refs_and_counts_the_others() {
        let names: Vec<String> = (0..22).map(|number| format!("r{number}")).collect();
        let of = |count: usize| shown(names[..count].iter().map(String::as_str));
        assert_eq!(of(2), "r0, r1");
        assert!(of(20).ends_with(", r19"), "{}", of(20));
        assert!(of(22).ends_with(", r19 and 2 more"), "{}", of(22));
    }
}
