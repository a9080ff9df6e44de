//! Moves refs. Every change of a ref in an existing repository is made here: pushes, changes through the API, syncs of
//! mirrors, and differences that an earlier release left between files and rows (`adopt`).
//!
//! The rows of refs decide. One transaction checks the expected values, the rules and the repository, and writes the
//! rows together with the events, the audit entry and the repository's own fields, so no event is lost or recorded
//! twice. The files of refs are written after the commit. The new objects must be in packs of the repository before the
//! call; the first transaction adds these packs to the manifest.
//!
//! A push of many refs takes several transactions. If the outcome of a commit is unknown, the transaction is not
//! repeated: the change number that it would have written shows whether it took place.

mod admit;
mod adopt;
mod changes;
mod commit;
mod decide;
mod found;
mod outcome;
mod pusher;
#[cfg(test)]
mod tests;
mod write;

use std::{collections::BTreeMap, error::Error as StdError};

use farrier_proto::store::RepositoryVersion;

pub use self::{
    admit::preview,
    adopt::{adopt_all, adopt_marked, require_files},
    decide::{ATOMIC_FAILED, FAILED},
    pusher::Pusher,
};
use self::{
    admit::{Decided, Stop},
    changes::Size,
    write::{CHANGES_AT_ONCE, Facts, created_branches, size_after},
};
pub(in crate::service) use self::{changes::Change, decide::OF_DEFAULT};
use super::{
    Context, Error,
    audit::Entry,
    bucket_packs::PackOrigin,
    bundles, packs,
    pushes::forced,
    ref_rules::{Checked, RefChanger},
    tidying,
};
use crate::{
    git::{RepositoryLock, commands::Update},
    store::{packs::NewPacks, refs},
};

/// Changes of refs that were requested together.
pub struct Moves<'a> {
    /// The ID of the repository.
    pub repository: u64,
    /// The account and the key that the events name.
    pub pusher: &'a Pusher,
    /// The changes. The names must be valid; each new id must be an object that the repository has, and that a branch
    /// or tag may have.
    pub updates: &'a [Update],
    /// Whether all updates are applied or none. Otherwise each update is decided on its own.
    pub atomic: bool,
    /// Why the changes are permitted. Checked again in the transaction.
    pub allowed: &'a Allow,
    /// The `prune_epoch` of the repository, read before the new ids were looked up.
    pub epoch: u64,
    /// By id of a tag object among the new ids: the object to which it leads.
    pub peeled: &'a BTreeMap<String, String>,
    /// The size of the new objects in bytes.
    pub grew_by: u64,
    /// The audit entry of a change through the API, which is recorded if a branch or tag changes.
    pub entry: Option<Entry>,
    /// The number of mirrors through which the push came.
    pub mirror_depth: u32,
}

/// Why changes of refs are permitted.
#[derive(Clone, Debug)]
pub enum Allow {
    /// The rules of the repository permit them, which must be neither archived nor a mirror.
    Rules {
        /// Who changes the refs.
        changer: RefChanger,
        /// The checks that the objects have passed.
        passed: Checked,
    },
    /// The repository is a pull mirror. If it no longer is, the error is [`MoveError::Gone`].
    FollowedMirror,
}

/// The result of one update.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RefOutcome {
    /// The ref has the requested value.
    Moved,
    /// The update deletes a ref that does not exist, without an expected value. Git reports success and a warning.
    Absent,
    /// The ref was not changed, for this reason: [`FAILED`] if it does not have the expected value or another name is
    /// in the way, otherwise a text for the person who pushes.
    Refused(&'static str),
}

/// Why no update was applied. If some updates of a push that is not atomic were applied before an error, the others get
/// [`RefOutcome::Refused`] instead, except after [`MoveError::Unknown`].
#[derive(Debug, thiserror::Error)]
pub enum MoveError {
    /// Objects may have been removed since the new ids were looked up. The caller releases the lock, looks them up
    /// again, and repeats the call.
    #[error("objects may have been removed meanwhile")]
    Pruned,
    /// The repository was deleted, or is no longer a pull mirror ([`Allow::FollowedMirror`]).
    #[error("the repository was deleted")]
    Gone,
    /// A rule forbids an update, or requires a check that its objects have not passed. `ref_rules::require` gives the
    /// reason, or the checks with which to try again.
    #[error("a rule protects a branch or tag")]
    Protected,
    /// The transaction failed; nothing was changed. Includes repositories that are archived or mirrors now.
    #[error(transparent)]
    Service(#[from] Error),
    /// It is unknown whether the updates were applied.
    #[error("the outcome of the change is unknown")]
    Unknown(#[source] Error),
}

impl MoveError {
    /// Returns the reason that is reported for the updates that were not applied because of this error.
    fn reason(&self) -> &'static str {
        match self {
            Self::Pruned => "objects were removed meanwhile; push again",
            Self::Gone => "the repository was deleted",
            Self::Protected => "a rule of the repository forbids it now",
            Self::Service(Error::Archived) => "the repository is archived",
            Self::Service(Error::Mirror) => "the repository is a mirror",
            Self::Service(_) | Self::Unknown(_) => "the server failed; push again",
        }
    }
}

/// Applies the updates under the lock of the repository, and records them. Returns the outcome of each, in their order.
///
/// Also writes the files of refs and `HEAD`; if that fails, the next use of the repository does it. Must not be
/// interrupted: the caller runs it in a task that outlives the request.
pub async fn move_refs(
    context: &Context,
    moves: &Moves<'_>,
    lock: &RepositoryLock,
) -> Result<Vec<RefOutcome>, MoveError> {
    let version = version_locked(context, moves.repository, lock).await?;
    let outcomes = decide::refused_at_once(moves.updates, moves.atomic);
    if outcomes.iter().all(Option::is_some) {
        return Ok(outcomes.into_iter().flatten().collect());
    }
    let created = created_branches(&moves.updates.iter().map(decide::requested).collect::<Vec<_>>());
    let facts = Facts::read(context, moves.repository, moves.pusher, created, moves.mirror_depth).await?;
    let mut run = Run { facts, version: version.version, outcomes, changes: Vec::new(), follow: false };
    let stopped = run.apply(moves, lock).await;
    run.finish(moves, matches!(stopped, Err(MoveError::Unknown(_))), lock).await;
    match stopped {
        Ok(()) => {}
        Err(MoveError::Unknown(error)) => return Err(MoveError::Unknown(error)),
        Err(error) if run.changes.is_empty() => return Err(error),
        Err(error) => {
            let reason = error.reason();
            let (repository, error) = (moves.repository, &error as &dyn StdError);
            tracing::warn!(repository, error, "only some of the refs of a push were updated");
            for outcome in &mut run.outcomes {
                outcome.get_or_insert(RefOutcome::Refused(reason));
            }
        }
    }
    Ok(run.outcomes.into_iter().flatten().collect())
}

/// Returns the version of a repository. Adopts the repository first if an earlier release wrote it, writes its manifest
/// if it has none, and completes a pruning that was interrupted.
pub async fn version_locked(
    context: &Context,
    repository: u64,
    lock: &RepositoryLock,
) -> Result<RepositoryVersion, MoveError> {
    let mut version = stored_version(context, repository).await?;
    if version.as_ref().is_some_and(|version| version.from_disk) {
        require_adopted(context, repository, lock).await?;
        version = stored_version(context, repository).await?;
    }
    if version.as_ref().is_some_and(|version| !version.has_manifest) {
        packs::try_adopt(context, repository, lock).await;
    }
    if version.as_ref().is_some_and(|version| version.hiding) {
        tidying::complete(context, repository, lock).await?;
        version = stored_version(context, repository).await?;
    }
    // After the prune epoch was read, and before the caller looks up objects.
    context.copies.follow_others_locked(repository, lock).await.map_err(Error::from)?;
    version.ok_or(MoveError::Gone)
}

/// Like [`version_locked`], for a caller without the lock. `None`: the repository was deleted, or has no refs yet.
pub async fn adopted_version(context: &Context, repository: u64) -> Result<Option<RepositoryVersion>, Error> {
    let mut version = stored_version(context, repository).await?;
    if version.as_ref().is_some_and(|version| version.from_disk || version.hiding) {
        let lock = context.git.lock(repository).await;
        require_adopted(context, repository, &lock).await?;
        tidying::complete(context, repository, &lock).await?;
        version = stored_version(context, repository).await?;
    }
    // After the prune epoch was read, and before the caller looks up objects.
    context.copies.follow_others(repository).await?;
    Ok(version)
}

async fn stored_version(context: &Context, repository: u64) -> Result<Option<RepositoryVersion>, Error> {
    Ok(refs::version(&context.store.read().await?, repository).await?)
}

/// Adopts a repository if an earlier release wrote it. If its files are the problem, clients do not get the cause,
/// which is about the disk of the server.
pub async fn require_adopted(context: &Context, repository: u64, lock: &RepositoryLock) -> Result<(), Error> {
    adopt::adopt(context, repository, lock).await.map_err(|error| match error {
        Error::Conflict { .. } | Error::Git { .. } => {
            let error = &error as &dyn StdError;
            tracing::error!(repository, error, "a repository of an earlier release could not be adopted");
            Error::NotAdopted
        }
        // The store failed, git is busy, or the disk is full.
        error => error,
    })
}

/// The state of one call of [`move_refs`].
struct Run<'a> {
    facts: Facts<'a>,
    /// The version of the repository after the last transaction.
    version: u64,
    /// By number of the update. `None`: not decided yet.
    outcomes: Vec<Option<RefOutcome>>,
    /// The changes so far.
    changes: Vec<Change>,
    /// Whether the default branch changed.
    follow: bool,
}

impl Run<'_> {
    /// Applies the updates in as many transactions as necessary, until one fails.
    async fn apply(&mut self, moves: &Moves<'_>, lock: &RepositoryLock) -> Result<(), MoveError> {
        let Some(row) = &self.facts.row else { return Err(MoveError::Gone) };
        let order = decide::order(row, moves.updates, &self.outcomes);
        // Deletes need no objects, so they are not refused if objects were pruned, which packs may name.
        let mut packs = if moves.updates.iter().all(Update::deletes) {
            NewPacks::default()
        } else {
            packs::unnamed(self.facts.context, moves.repository, PackOrigin::Change, lock).await?
        };
        let size = size_after(self.facts.context, moves.repository, moves.grew_by).await;
        let at_once = if moves.atomic { decide::ATOMIC_MAX } else { CHANGES_AT_ONCE };
        for batch in order.chunks(at_once) {
            let updates: Vec<Update> = batch.iter().map(|number| moves.updates[*number].clone()).collect();
            let is_first = self.changes.is_empty();
            let size = if is_first { size } else { Size::GrewBy(0) };
            let entry = moves.entry.as_ref().filter(|_| is_first);
            let committed = commit::commit(&self.facts, moves, (&updates, &packs), (size, entry), self.version).await;
            let outcomes = match committed {
                Ok((Decided { outcomes, changes }, written)) => {
                    self.changes.extend(changes);
                    if let Some((version, moves_default)) = written {
                        self.version = version;
                        self.follow |= moves_default;
                        // They are in the manifest, from which another node may drop them before the next transaction.
                        packs = NewPacks::default();
                    }
                    outcomes
                }
                Err(Stop::Refused(outcomes)) => outcomes,
                Err(Stop::Failed(error)) => return Err(error),
            };
            for (number, outcome) in batch.iter().zip(outcomes) {
                self.outcomes[*number] = Some(outcome);
            }
        }
        Ok(())
    }

    /// Updates what is outside the store after the changes: files of refs, `HEAD`, prepared bundles, mirrors.
    /// `unknown`: the outcome of the last transaction is unknown.
    async fn finish(&self, moves: &Moves<'_>, unknown: bool, lock: &RepositoryLock) {
        let context = self.facts.context;
        if !self.changes.is_empty() {
            context.copies.note_moved(moves.repository, self.version, lock).await;
        }
        let recorded: Vec<Change> = self.changes.iter().filter(|change| change.is_recorded()).cloned().collect();
        let may_lose = || moves.updates.iter().map(decide::requested).any(|change| change.loses_objects());
        if recorded.iter().any(Change::loses_objects) || (unknown && may_lose()) {
            bundles::drop_all(context, moves.repository).await;
        }
        // If the outcome is unknown, the row decides which branch is the default.
        let may_follow = unknown && self.facts.row.as_ref().is_some_and(|row| row.empty);
        let is_recorded = unknown || !recorded.is_empty();
        self.facts.finish(moves.repository, is_recorded, self.follow || may_follow, lock).await;
        forced::record(context, moves.repository, recorded);
    }
}
