//! Decides in a transaction: whether the changes are permitted, and what each of them does.

use farrier_proto::store::{Repository, RepositoryVersion};

use super::{
    Allow, MoveError, Moves, RefOutcome,
    changes::Change,
    decide::{self, Step},
    write::set,
};
use crate::{
    git::{commands::Update, ref_name::HEADS},
    service::{Error, access, ref_rules},
    store::{Read, StoreError, Tx, refs, repositories},
};

/// Why a transaction writes nothing.
#[derive(Debug)]
pub(super) enum Stop {
    /// An update of an atomic push is refused, so all are.
    Refused(Vec<RefOutcome>),
    /// The transaction failed.
    Failed(MoveError),
}

impl From<Error> for Stop {
    fn from(error: Error) -> Self {
        Self::Failed(error.into())
    }
}

impl From<StoreError> for Stop {
    fn from(error: StoreError) -> Self {
        Error::from(error).into()
    }
}

/// The decisions about some updates.
#[derive(Clone, Debug, Default)]
pub(super) struct Decided {
    /// In the order of the updates.
    pub(super) outcomes: Vec<RefOutcome>,
    /// The refs that change.
    pub(super) changes: Vec<Change>,
}

/// Returns the rows of the repository, or why nothing may change. The caller was authorized before the push; this finds
/// changes since then.
pub(super) async fn admit(
    read: &impl Read,
    moves: &Moves<'_>,
    updates: &[Update],
) -> Result<(Repository, RepositoryVersion), Stop> {
    let row = repositories::get(read, moves.repository).await?.filter(|row| !row.deleted);
    let version = refs::version(read, moves.repository).await?;
    let (Some(row), Some(version)) = (row, version) else { return Err(Stop::Failed(MoveError::Gone)) };
    match moves.allowed {
        Allow::FollowedMirror if access::is_mirror(&row) => {}
        Allow::FollowedMirror => return Err(Stop::Failed(MoveError::Gone)),
        Allow::Rules { changer, passed } => {
            access::require_writable(&row)?;
            let checked = ref_rules::check_in(read, row.id, *changer, updates).await?;
            if !checked.refusals.is_empty() || !checked.is_covered_by(passed) {
                return Err(Stop::Failed(MoveError::Protected));
            }
        }
    }
    // Deletes need no objects.
    if version.prune_epoch != moves.epoch && updates.iter().any(|update| !update.deletes()) {
        return Err(Stop::Failed(MoveError::Pruned));
    }
    Ok((row, version))
}

/// Decides about the updates, in order, and sets the rows of the refs that change. Each decision takes the changes
/// before it into account.
pub(super) async fn apply(tx: &Tx, moves: &Moves<'_>, row: &Repository, updates: &[Update]) -> Result<Decided, Stop> {
    let names: Vec<String> = updates.iter().map(|update| update.name.clone()).collect();
    let tips = refs::tips(tx, row.id, &names).await?;
    let default = format!("{HEADS}{}", row.default_branch);
    let is_kept =
        |update: &Update| update.deletes() && update.name == default && matches!(moves.allowed, Allow::Rules { .. });
    let mut decided = Decided::default();
    for (update, tip) in updates.iter().zip(&tips) {
        let in_the_way = if decide::creates(update) { refs::in_the_way(tx, row.id, &update.name).await? } else { None };
        let step = match decide::decide(update, tip.as_deref(), in_the_way.as_deref()) {
            // The default branch may have changed since the push began.
            Ok(Step::Change(_)) if is_kept(update) => Err(decide::OF_DEFAULT),
            step => step,
        };
        decided.outcomes.push(decide::outcome(&step));
        if let Ok(Step::Change(change)) = step {
            set(tx, row.id, &change, moves.peeled);
            decided.changes.push(change);
        }
    }
    if moves.atomic && decide::all_or_none(&mut decided.outcomes) {
        return Err(Stop::Refused(decided.outcomes));
    }
    Ok(decided)
}
