//! Records changes of refs that an earlier release made on disk and did not record.

use std::collections::BTreeMap;

use farrier_proto::store::RepositoryVersion;

use super::{
    Pusher,
    changes::{Change, Size},
    write::{CHANGES_AT_ONCE, Facts, Numbers, created_branches, set, size_after},
};
use crate::{
    git::RepositoryLock,
    service::{Context, Error},
    store::{Tx, refs, repositories},
};

/// What was found in the directory of a repository.
pub(super) struct FoundChanges<'a> {
    /// The refs that differ from the rows. Their names must be valid and not internal.
    pub(super) changes: &'a [Change],
    /// By id of a tag object among the new ids: the object to which it leads.
    pub(super) peeled: &'a BTreeMap<String, String>,
    /// The marks of the pushes that the earlier release had not recorded.
    pub(super) marks: &'a [u64],
}

/// Records changes that were found in the directory, with their events. The files of refs are not touched. The last
/// transaction makes the rows decide from now on and removes the marks, also if nothing has changed.
///
/// Returns the version afterwards. `None`: the repository does not exist, and only the marks were removed. After an
/// error, a new comparison finds the changes that are not recorded.
pub(super) async fn record_found(
    context: &Context,
    repository: u64,
    pusher: &Pusher,
    found: &FoundChanges<'_>,
    lock: &RepositoryLock,
) -> Result<Option<u64>, Error> {
    let &FoundChanges { changes, peeled, marks } = found;
    let created = created_branches(changes);
    let facts = &Facts::read(context, repository, pusher, created, 0).await?;
    let mut batches: Vec<&[Change]> = changes.chunks(CHANGES_AT_ONCE).collect();
    let last = batches.pop().unwrap_or_default();
    let batches = batches.into_iter().map(|batch| (batch, false)).chain([(last, true)]);
    let size = size_after(context, repository, 0).await;
    let (mut version, mut follow) = (None, false);
    let mut result = Ok(());
    for (batch, is_last) in batches {
        match write(facts, repository, (batch, peeled), (marks, is_last), size).await {
            Ok(written) => {
                follow |= written.is_some_and(|(_, moves_default)| moves_default);
                version = written.map(|(version, _)| version);
            }
            Err(error) => {
                // If the outcome is unknown, the row decides which branch is the default.
                follow |= facts.row.as_ref().is_some_and(|row| row.empty);
                result = Err(error);
                break;
            }
        }
    }
    facts.finish(repository, changes.iter().any(Change::is_recorded), follow, lock).await;
    result.map(|()| version)
}

/// Records some of the changes in one transaction. Returns the version afterwards, and whether the default branch
/// changed.
async fn write(
    facts: &Facts<'_>,
    repository: u64,
    (changes, peeled): (&[Change], &BTreeMap<String, String>),
    (marks, is_last): (&[u64], bool),
    size: Size,
) -> Result<Option<(u64, bool)>, Error> {
    let numbers = &Numbers::new(facts.context);
    let write = facts.context.store.write(async |tx: Tx| {
        for mark in marks.iter().filter(|_| is_last) {
            refs::unmark(&tx, repository, *mark);
        }
        let Some(before) = repositories::get(&tx, repository).await? else { return Ok(None) };
        let Some(version) = refs::version(&tx, repository).await? else { return Ok(None) };
        for change in changes {
            set(&tx, repository, change, peeled);
        }
        let version = RepositoryVersion { from_disk: version.from_disk && !is_last, ..version };
        let written = facts.write(&tx, (&before, &version), changes, (size, None), numbers).await?;
        Ok::<_, Error>(Some(written))
    });
    write.await
}
