//! Writes the rows that change together with refs: events, the audit entry, and the repository's own fields.

use std::collections::{BTreeMap, BTreeSet};

use farrier_proto::store::{PushKey, RefChange, Repository, RepositoryVersion};

use super::{
    Pusher,
    changes::{self, Change, Size},
};
use crate::{
    git::{RepositoryLock, ref_name::HEADS},
    model::secret,
    service::{
        Context, Error,
        audit::{AuditRecorder, Entry},
        events::{Actor, EventKind, EventRecorder, Subject},
        mirrors, releases,
        repositories::{head, prune},
    },
    store::{
        Read, Tx, mirrors as mirror_rows,
        owners::{self, Owner},
        refs::{self, Ref},
        repositories,
    },
};

/// Changes to record per transaction. A larger push takes several transactions, in order, so that other writers wait
/// for a few hundred rows at most: one ref and up to two events for each change.
pub(super) const CHANGES_AT_ONCE: usize = 200;

/// Maximum number of branches that the commits of a new branch are compared with.
const KNOWN_MAX: usize = 256;
/// Minimum of that number if the push creates many branches.
const KNOWN_MIN: usize = 16;
/// Number of comparisons for all new branches of a push, unless the minimum requires more. The payload of each new
/// branch stores its comparisons until it is sent.
const KNOWN_PER_PUSH: usize = 16_384;
/// Branches whose tips are read at a time.
const TIPS_AT_ONCE: usize = 512;

/// The data that the transactions of one push share.
pub(super) struct Facts<'a> {
    pub(super) context: &'a Context,
    key: Option<&'a PushKey>,
    mirror_depth: u32,
    /// The repository before the push. `None`: there is no such repository.
    pub(super) row: Option<Repository>,
    owner: Option<Owner>,
    actor: Actor,
    /// Tips of branches before the push.
    known: Vec<String>,
    now: i64,
}

/// The recorders and the change number of one transaction.
pub(super) struct Numbers<'a> {
    events: EventRecorder<'a>,
    audit: AuditRecorder<'a>,
    /// The change number. It shows whether the transaction was committed.
    pub(super) change: u64,
}

impl<'a> Numbers<'a> {
    pub(super) fn new(context: &'a Context) -> Self {
        Self {
            events: EventRecorder::new(context),
            audit: AuditRecorder::new(context),
            change: u64::from_be_bytes(secret::random_bytes()),
        }
    }
}

impl<'a> Facts<'a> {
    /// Reads the facts of a push. `created`: the number of branches that it creates. `mirror_depth`: the number of
    /// mirrors through which it came.
    pub(super) async fn read(
        context: &'a Context,
        repository: u64,
        pusher: &'a Pusher,
        created: usize,
        mirror_depth: u32,
    ) -> Result<Self, Error> {
        let snapshot = context.store.read().await?;
        let row = repositories::get(&snapshot, repository).await?;
        let (mut owner, mut known) = (None, Vec::new());
        if let Some(row) = &row {
            owner = owners::owner(&snapshot, row.owner_kind(), row.owner_id).await?;
            known = branch_tips(&snapshot, row, created).await?;
        }
        let actor = Actor::find(&snapshot, pusher.actor).await?;
        let (key, now) = (pusher.key.as_ref(), context.now_ms());
        Ok(Self { context, key, mirror_depth, row, owner, actor, known, now })
    }

    /// Writes the consequences of `changes`, whose rows the caller has set with [`set`]. `before` and `version` are
    /// those of the repository before this transaction. Returns its version afterwards, and whether its default branch
    /// changed.
    pub(super) async fn write(
        &self,
        tx: &Tx,
        (before, version): (&Repository, &RepositoryVersion),
        changes: &[Change],
        (size, entry): (Size, Option<&Entry>),
        numbers: &Numbers<'_>,
    ) -> Result<(u64, bool), Error> {
        let repository = before.id;
        let mut recorded: Vec<Change> = changes.iter().filter(|change| change.is_recorded()).cloned().collect();
        recorded.sort_by(|one, other| one.name.cmp(&other.name));
        let mut row = Repository { size_bytes: size.after(before.size_bytes), ..before.clone() };
        row.branches = Some(match before.branches {
            Some(number) => changes::branches_after(number, &recorded),
            None => refs::count_branches(tx, repository).await?,
        });
        releases::tags_deleted(tx, &mut row, &changes::deleted_tags(&recorded)).await?;
        row.prune_due_ms = prune::due_after_push(self.context, before, recorded.iter().any(Change::loses_objects));
        if recorded.is_empty() {
            // A push of notes: only the size and the time of pruning may change.
            if row != *before {
                repositories::put(tx, Some(before), &row);
            }
        } else {
            changes::apply(&mut row, changes::first_branch(before, &recorded), self.now);
            repositories::put(tx, Some(before), &row);
            head::note(tx, before, &row);
            numbers.audit.record_all(tx, entry.cloned()).await?;
            // A deleted repository gets the refs that were found in its directory, but no events are recorded.
            if let Some(owner) = self.owner.as_ref().filter(|_| !row.deleted) {
                let moved: Vec<RefChange> = recorded.iter().map(Change::ref_change).collect();
                let events = self.event_kinds(&recorded, &moved);
                let subject = Subject { repository: &row, owner, actor: &self.actor };
                numbers.events.record(tx, subject, &events).await?;
            }
            if has_push_mirrors(&row) {
                mirror_rows::request_after_push(tx, repository, self.mirror_depth, self.now).await?;
            }
        }
        let steps = changes.iter().map(Change::step).collect();
        let after = refs::advance(tx, repository, version, numbers.change, steps).await?;
        Ok((after, row.default_branch != before.default_branch))
    }

    /// Returns the events of changes, in order.
    fn event_kinds<'b>(&'b self, changes: &[Change], moved: &'b [RefChange]) -> Vec<EventKind<'b>> {
        let (known, key) = (&self.known[..], self.key);
        let each = |(change, moved): (&Change, &'b RefChange)| {
            change.events().iter().map(move |kind| EventKind::Ref { kind, change: moved, known, key })
        };
        changes.iter().zip(moved).flat_map(each).collect()
    }

    /// Wakes the push mirrors and sets `HEAD`, after the last transaction. `follow`: the default branch changed, or may
    /// have changed.
    pub(super) async fn finish(&self, repository: u64, is_recorded: bool, follow: bool, lock: &RepositoryLock) {
        if follow {
            head::follow_locked(self.context, repository, lock).await;
        }
        if is_recorded && self.row.as_ref().is_some_and(has_push_mirrors) {
            mirrors::wake(self.context);
        }
    }
}

/// Sets the row of a ref. `peeled`: by id of a tag object among the new tips, the object to which it leads.
pub(super) fn set(tx: &Tx, repository: u64, change: &Change, peeled: &BTreeMap<String, String>) {
    let value = change.after.as_ref().map(|tip| Ref { tip: tip.clone(), peeled: peeled.get(tip).cloned() });
    refs::set(tx, repository, &change.name, value.as_ref());
}

/// Returns the size of a repository whose new objects have `grew_by` bytes. A repository with too many files to be
/// measured while the client waits is measured after it was tidied.
pub(super) async fn size_after(context: &Context, repository: u64, grew_by: u64) -> Size {
    match context.git.size_of_few_files(repository).await {
        Ok(Some(bytes)) => Size::Measured(bytes),
        Ok(None) => Size::GrewBy(grew_by),
        Err(error) => {
            tracing::warn!(repository, error = &error as &dyn std::error::Error, "a repository was not measured");
            Size::GrewBy(grew_by)
        }
    }
}

/// Returns the number of branches that changes create.
pub(super) fn created_branches<'a>(changes: impl IntoIterator<Item = &'a Change>) -> usize {
    let is_created = |change: &&Change| change.before.is_none() && change.after.is_some();
    changes.into_iter().filter(is_created).filter(|change| change.name.starts_with(HEADS)).count()
}

/// Returns whether the repository has push mirrors that are updated after each push.
fn has_push_mirrors(row: &Repository) -> bool {
    !row.deleted && row.mirror.as_ref().is_some_and(|mirror| mirror.push_on_commit > 0)
}

/// Returns distinct tips of branches before a push that creates `created` branches; none if that is 0. The first one is
/// that of the default branch, and of the others only as many are read as are needed. The new commits of a branch are
/// determined against these tips later, when the branches may have moved.
async fn branch_tips(read: &impl Read, repository: &Repository, created: usize) -> Result<Vec<String>, Error> {
    if created == 0 {
        return Ok(Vec::new());
    }
    let known_max = (KNOWN_PER_PUSH / created).clamp(KNOWN_MIN, KNOWN_MAX);
    let default = [format!("{HEADS}{}", repository.default_branch)];
    let default = refs::tips(read, repository.id, &default).await?.into_iter().flatten().next();
    let (mut others, mut after) = (BTreeSet::new(), HEADS.to_owned());
    while others.len() < known_max {
        // After the branches come other refs.
        let page = refs::page(read, repository.id, Some(&after), TIPS_AT_ONCE).await?;
        let branches = page.into_iter().take_while(|(name, _)| name.starts_with(HEADS)).collect::<Vec<_>>();
        let Some((last, _)) = branches.last() else { break };
        after.clone_from(last);
        let is_last = branches.len() < TIPS_AT_ONCE;
        others.extend(branches.into_iter().map(|(_, branch)| branch.tip).filter(|tip| Some(tip) != default.as_ref()));
        if is_last {
            break;
        }
    }
    Ok(default.into_iter().chain(others).take(known_max).collect())
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::store::{Store, StoreError, engine::MemoryEngine};

    #[tokio::test]
    async fn a_new_branch_is_compared_with_distinct_tips_of_branches() {
        let store = Store::open(Arc::new(MemoryEngine::new())).await.expect("a store");
        let tip = |number: usize| format!("{number:040x}");
        let stored = |name: String, number| (name, Ref { tip: tip(number), peeled: None });
        // More branches than a page, with one tip, then others; and refs that are no branches.
        let mut tips: Vec<_> = (0..=TIPS_AT_ONCE).map(|number| stored(format!("refs/heads/a{number:05}"), 1)).collect();
        tips.extend((2..=KNOWN_MAX + 9).map(|number| stored(format!("refs/heads/b{number:05}"), number)));
        tips.extend(["refs/heads/main", "refs/notes/x", "refs/tags/v1"].map(|name| stored(name.to_owned(), 0)));
        let (id, few) = (7, 8);
        let written = store.write(async |tx: Tx| {
            refs::create(&tx, id, false, true, &tips);
            let of_few = ["refs/heads/other", "refs/tags/v1"].map(|name| stored(name.to_owned(), 5));
            refs::create(&tx, few, false, true, &of_few);
            Ok::<_, StoreError>(())
        });
        written.await.expect("written");
        let read = store.read().await.expect("a snapshot");
        let row = |id| Repository { id, default_branch: "main".into(), ..Repository::default() };
        for (created, expected) in [(0, 0), (1, KNOWN_MAX), (KNOWN_PER_PUSH, KNOWN_MIN)] {
            let known = branch_tips(&read, &row(id), created).await.expect("readable");
            assert_eq!(known.len(), expected);
            assert!(known.first().is_none_or(|first| *first == tip(0)), "the default branch is the first");
            assert_eq!(known.iter().collect::<BTreeSet<_>>().len(), expected, "distinct");
        }
        assert_eq!(branch_tips(&read, &row(few), 1).await.expect("readable"), [tip(5)]);
        assert!(branch_tips(&read, &row(9), 1).await.expect("readable").is_empty());
    }
}
