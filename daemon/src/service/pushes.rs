//! Checks pushes and records their results.
//!
//! A mark is written before git gets the pack. The transaction that records the result removes the mark and writes ref
//! tips, events and the repository's own fields. Refs on disk that differ from the recorded tips were pushed but not
//! recorded, so a crash in between loses no event and creates none twice.

mod changes;
mod forced;
mod pusher;

use std::{
    collections::{BTreeMap, BTreeSet},
    error::Error as _,
    path::PathBuf,
};

use farrier_proto::store::{PushKey, PushMark, RefChange, Repository};

use self::changes::{Change, RequestedUpdate, Size};
pub use self::pusher::Pusher;
use super::{
    Context, Error,
    audit::{AuditRecorder, Entry},
    bundles,
    events::{Actor, EventKind, EventRecorder, Subject},
    mirrors, releases,
    repositories::{head, prune},
};
use crate::{
    git::{
        RepositoryLock,
        commands::Commands,
        ref_name::{self, HEADS, RefKind},
        report::RefRefusal,
    },
    model::secret,
    store::{Read, Tx, mirrors as mirror_rows, owners, refs, repositories},
};

/// Changes to record per transaction. A larger push takes several transactions, in order, so that other writers wait
/// for a few hundred rows at most: one ref and up to two events for each change.
const CHANGES_AT_ONCE: usize = 200;

/// Maximum number of branches that the commits of a new branch are compared with.
const KNOWN_MAX: usize = 256;
/// Minimum of that number if the push creates many branches.
const KNOWN_MIN: usize = 16;
/// Number of comparisons for all new branches of a push, unless the minimum requires more. The payload of each new
/// branch stores its comparisons until it is sent.
const KNOWN_PER_PUSH: usize = 16_384;

/// A push that git may be processing.
#[derive(Clone, Debug)]
pub struct Push {
    repository: u64,
    mark: u64,
    pusher: Pusher,
    requested: BTreeMap<String, RequestedUpdate>,
    /// The audit entry of a change through the API, which is recorded with the changes of refs.
    entry: Option<Entry>,
    /// The number of mirrors through which the push came.
    mirror_depth: u32,
}

impl Push {
    /// Adds the audit entry of a change through the API. It is recorded only if a ref changes.
    #[must_use]
    pub fn with_entry(self, entry: Option<Entry>) -> Self {
        Self { entry, ..self }
    }

    /// Sets the number of mirrors through which the push came.
    #[must_use]
    pub fn with_mirror_depth(self, mirror_depth: u32) -> Self {
        Self { mirror_depth, ..self }
    }
}

/// A push that an earlier daemon has not recorded.
#[derive(Clone, Debug)]
pub struct Interrupted {
    push: Push,
    /// Directories with objects of pushes that were not complete.
    quarantines: Vec<PathBuf>,
}

/// Returns the updates that must be refused before git sees them. The whole push is then refused.
///
/// Updates of hidden refs are left to git, which refuses each of them and applies the others. In an atomic push they
/// are refused here, because git would apply the others of an atomic push as well.
pub fn refusals(repository: &Repository, commands: &Commands) -> Vec<RefRefusal> {
    let default = format!("{}{}", HEADS, repository.default_branch);
    let reason = |name: &str, deletes: bool| {
        if !ref_name::is_valid(name) {
            return Some("this is not a valid ref name".to_owned());
        }
        if ref_name::is_internal(name) {
            return commands.has("atomic").then(|| "deny updating a hidden ref".to_owned());
        }
        let of_default = deletes && name == default;
        of_default.then(|| "the default branch cannot be deleted; make another branch the default first".to_owned())
    };
    let refused = commands.updates.iter().filter_map(|update| {
        let reason = reason(&update.name, update.deletes())?;
        Some(RefRefusal { name: update.name.clone(), reason })
    });
    refused.collect()
}

/// Writes the mark of a push. Must be called before git gets the pack.
pub async fn begin(
    context: &Context,
    repository: u64,
    pusher: impl Into<Pusher>,
    commands: &Commands,
) -> Result<Push, Error> {
    let pusher = pusher.into();
    let mark = u64::from_be_bytes(secret::random_bytes());
    let row = PushMark { actor_id: pusher.actor, since_ms: context.now_ms(), key: pusher.key.clone() };
    context
        .store
        .write(async |tx: Tx| {
            refs::mark(&tx, repository, mark, &row);
            Ok::<_, Error>(())
        })
        .await?;
    let requested = commands.updates.iter().map(|update| {
        let non_zero = |id: &str| Some(id.to_owned()).filter(|id| !ref_name::is_zero(id));
        (update.name.clone(), RequestedUpdate { old: non_zero(&update.old), new: non_zero(&update.new) })
    });
    Ok(Push { repository, mark, pusher, requested: requested.collect(), entry: None, mirror_depth: 0 })
}

/// Records the changes of a push. `received_bytes`: estimated growth of the repository.
pub async fn record(context: &Context, push: &Push, received_bytes: u64, lock: &RepositoryLock) -> Result<(), Error> {
    let names: Vec<String> = push.requested.keys().filter(|name| is_recorded(name)).cloned().collect();
    let (found, size) = tokio::join!(
        context.git.tips(push.repository, names.clone()),
        size_after_push(context, push.repository, received_bytes)
    );
    let found = found.map_err(Error::git("reading refs"))?;
    let known = refs::tips(&context.store.read().await?, push.repository, &names).await?;
    let changes = names.iter().zip(known.iter().zip(&found));
    let changes = changes.flat_map(|(name, (known, found))| {
        changes::find_changes(name, known.as_deref(), found.as_deref(), push.requested.get(name))
    });
    let changes = changes.collect::<Vec<_>>();
    if changes.iter().any(Change::loses_objects) {
        // Also if the changes cannot be recorded: the refs have moved.
        bundles::drop_all(context, push.repository).await;
    }
    write(context, push, &changes, size, lock).await?;
    forced::record(context, push.repository, changes);
    Ok(())
}

/// Returns the pushes that an earlier daemon has not recorded. Called before the first push of this daemon
/// begins.
pub async fn interrupted(context: &Context) -> Result<Vec<Interrupted>, Error> {
    let marks = refs::marks(&context.store.read().await?).await?;
    let mut interrupted = Vec::with_capacity(marks.len());
    for (repository, mark, row) in marks {
        let quarantines = context.git.quarantines(repository).await.map_err(Error::git("looking for leftovers"))?;
        let pusher = Pusher { actor: row.actor_id, key: row.key };
        let requested = BTreeMap::new();
        let push = Push { repository, mark, pusher, requested, entry: None, mirror_depth: 0 };
        interrupted.push(Interrupted { push, quarantines });
    }
    Ok(interrupted)
}

/// Records the changes of pushes that an earlier daemon has not recorded.
pub async fn recover(context: Context, interrupted: Vec<Interrupted>) {
    for Interrupted { push, quarantines } in interrupted {
        match recover_one(&context, &push, quarantines).await {
            Ok(()) => tracing::info!(repository = push.repository, "an interrupted push was recorded"),
            Err(error) => tracing::error!(
                repository = push.repository,
                error = &error as &dyn std::error::Error,
                "an interrupted push could not be recorded and will be tried at the next start"
            ),
        }
        if context.tasks.stop().is_cancelled() {
            return;
        }
    }
}

async fn recover_one(context: &Context, push: &Push, quarantines: Vec<PathBuf>) -> Result<(), Error> {
    let lock = context.git.lock(push.repository).await;
    let snapshot = context.store.read().await?;
    let repository = repositories::get(&snapshot, push.repository).await?;
    let known = refs::all(&snapshot, push.repository).await?;
    drop(snapshot);
    let mut found = BTreeMap::new();
    if repository.is_some() {
        context.git.clean(push.repository, quarantines, &lock).await.map_err(Error::git("removing leftovers"))?;
        found.extend(context.git.all_tips(push.repository).await.map_err(Error::git("reading refs"))?);
    }
    let names = known.keys().chain(found.keys()).collect::<BTreeSet<_>>();
    let changes = names.into_iter().flat_map(|name| {
        changes::find_changes(name, known.get(name).map(String::as_str), found.get(name).map(String::as_str), None)
    });
    let size = size_after_push(context, push.repository, 0).await;
    write(context, push, &changes.collect::<Vec<_>>(), size, &lock).await?;
    drop(lock);
    Ok(())
}

/// Returns the size of a repository after a push of `received` bytes. A repository with too many files to be measured
/// while the client waits is measured after it was tidied.
async fn size_after_push(context: &Context, repository: u64, received: u64) -> Size {
    match context.git.size_of_few_files(repository).await {
        Ok(Some(bytes)) => Size::Measured(bytes),
        Ok(None) => Size::GrewBy(received),
        Err(error) => {
            tracing::warn!(repository, error = &error as &dyn std::error::Error, "a repository was not measured");
            Size::GrewBy(received)
        }
    }
}

/// Tidies the repository after a push, if necessary, and measures it.
pub async fn tidy(context: &Context, repository: u64) {
    match context.git.tidy(repository).await {
        Ok(false) => return,
        Ok(true) => {}
        Err(error) => {
            tracing::warn!(repository, error = error.source(), "tidying a repository failed: {error}");
            return;
        }
    }
    let Ok(bytes) = context.git.size_bytes(repository).await else { return };
    let written = context.store.write(async |tx: Tx| {
        if let Some(before) = repositories::get(&tx, repository).await? {
            repositories::put(&tx, Some(&before), &Repository { size_bytes: bytes, ..before.clone() });
        }
        Ok::<_, Error>(())
    });
    if let Err(error) = written.await {
        tracing::warn!(
            repository,
            error = &error as &dyn std::error::Error,
            "recording the size of a repository failed"
        );
    }
}

/// Returns whether the daemon stores tips and records events for this ref: only for branches and tags.
fn is_recorded(name: &str) -> bool {
    ref_name::is_valid(name) && ref_name::kind(name) != RefKind::Other
}

/// Writes changes and their events, updates the repository's row, and removes the mark of the push.
async fn write(
    context: &Context,
    push: &Push,
    changes: &[Change],
    size: Size,
    lock: &RepositoryLock,
) -> Result<(), Error> {
    let (repository, pusher, marks) = (push.repository, &push.pusher, &[push.mark][..]);
    let snapshot = context.store.read().await?;
    let row = repositories::get(&snapshot, repository).await?;
    let owner = match &row {
        Some(row) => owners::owner(&snapshot, row.owner_kind(), row.owner_id).await?,
        None => None,
    };
    let actor = &Actor::find(&snapshot, pusher.actor).await?;
    let known = &match &row {
        Some(row) => branch_tips(&snapshot, row, changes).await?,
        None => Vec::new(),
    };
    drop(snapshot);
    let first_branch = row.as_ref().and_then(|row| changes::first_branch(row, changes));
    let mut batches: Vec<&[Change]> = changes.chunks(CHANGES_AT_ONCE).collect();
    let last = batches.pop().unwrap_or_default();
    let now = context.now_ms();
    for (batch, marks) in batches.into_iter().map(|batch| (batch, &[][..])).chain([(last, marks)]) {
        let moved = &batch.iter().map(Change::ref_change).collect::<Vec<_>>();
        let events = &event_kinds(batch, moved, known, pusher.key.as_ref());
        let recorder = &EventRecorder::reserve(context, events.len()).await?;
        let entry = push.entry.as_ref().filter(|_| !marks.is_empty() && !batch.is_empty());
        let audit = &AuditRecorder::reserve(context, entry.iter().len()).await?;
        let size = if marks.is_empty() { Size::GrewBy(0) } else { size };
        let written = context
            .store
            .write(async |tx: Tx| {
                for mark in marks {
                    refs::unmark(&tx, repository, *mark);
                }
                let Some(before) = repositories::get(&tx, repository).await? else { return Ok(()) };
                for change in batch {
                    refs::set(&tx, repository, &change.name, change.after.as_deref());
                }
                let mut row = Repository { size_bytes: size.after(before.size_bytes), ..before.clone() };
                row.branches = Some(match before.branches {
                    Some(number) => changes::branches_after(number, batch),
                    None => refs::count_branches(&tx, repository).await?,
                });
                releases::tags_deleted(&tx, &mut row, &changes::deleted_tags(batch)).await?;
                row.prune_due_ms = prune::due_after_push(context, &before, batch.iter().any(Change::loses_objects));
                if batch.is_empty() {
                    // A push of notes, or a push that git refused: only the size and the time of pruning may change.
                    if row != before {
                        repositories::put(&tx, Some(&before), &row);
                    }
                } else {
                    changes::apply(&mut row, first_branch, now);
                    repositories::put(&tx, Some(&before), &row);
                    head::note(&tx, &before, &row);
                    audit.record_all(&tx, entry.cloned());
                    // A deleted repository keeps the pushed refs, but no events are recorded.
                    if let Some(owner) = owner.as_ref().filter(|_| !row.deleted) {
                        recorder.record(&tx, Subject { repository: &row, owner, actor }, events).await?;
                    }
                    if has_push_mirrors(&row) {
                        mirror_rows::request_after_push(&tx, repository, push.mirror_depth, now).await?;
                    }
                }
                Ok::<_, Error>(())
            })
            .await;
        if first_branch.is_some_and(|branch| row.as_ref().is_some_and(|row| row.default_branch != branch)) {
            // Also after an error: if the outcome of the commit is unknown, the row decides.
            head::follow_locked(context, repository, lock).await;
        }
        written?;
    }
    if !changes.is_empty() && row.as_ref().is_some_and(has_push_mirrors) {
        mirrors::wake(context);
    }
    Ok(())
}

/// Returns whether the repository has push mirrors that are updated after each push.
fn has_push_mirrors(row: &Repository) -> bool {
    !row.deleted && row.mirror.as_ref().is_some_and(|mirror| mirror.push_on_commit > 0)
}

/// Returns the events of changes, in order.
fn event_kinds<'a>(
    changes: &[Change],
    moved: &'a [RefChange],
    known: &'a [String],
    key: Option<&'a PushKey>,
) -> Vec<EventKind<'a>> {
    let ref_change = changes.iter().zip(moved);
    let each = |(change, moved): (&Change, &'a RefChange)| {
        change.events().iter().map(move |kind| EventKind::Ref { kind, change: moved, known, key })
    };
    ref_change.flat_map(each).collect()
}

/// Returns the distinct tips of branches before `changes`, if one of these creates a branch. The new commits of that
/// branch are determined against these tips later, when the branches may have moved.
async fn branch_tips(read: &impl Read, repository: &Repository, changes: &[Change]) -> Result<Vec<String>, Error> {
    let created = changes.iter().filter(|change| change.before.is_none() && change.name.starts_with(HEADS)).count();
    if created == 0 {
        return Ok(Vec::new());
    }
    let known_max = (KNOWN_PER_PUSH / created).clamp(KNOWN_MIN, KNOWN_MAX);
    let mut tips = refs::all(read, repository.id).await?;
    let default = tips.remove(&format!("{HEADS}{}", repository.default_branch));
    let others: BTreeSet<String> =
        tips.into_iter().filter(|(name, _)| name.starts_with(HEADS)).map(|(_, tip)| tip).collect();
    Ok(default.into_iter().chain(others).take(known_max).collect())
}
