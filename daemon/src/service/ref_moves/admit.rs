//! Decides whether changes are permitted, and what each of them does: in their transaction, and before objects are
//! stored for them.

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

/// Number of names to read at a time.
const PAGE: usize = 1_000;

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
    if (version.prune_epoch != moves.epoch || version.hiding) && updates.iter().any(|update| !update.deletes()) {
        return Err(Stop::Failed(MoveError::Pruned));
    }
    Ok((row, version))
}

/// Decides about the updates, in order, and sets the rows of the refs that change. Each decision takes the changes
/// before it into account.
pub(super) async fn apply(tx: &Tx, moves: &Moves<'_>, row: &Repository, updates: &[Update]) -> Result<Decided, Stop> {
    let names: Vec<String> = updates.iter().map(|update| update.name.clone()).collect();
    let tips = refs::tips(tx, row.id, &names).await?;
    let mut decided = Decided::default();
    for (update, tip) in updates.iter().zip(&tips) {
        let in_the_way = if decide::creates(update) { refs::in_the_way(tx, row.id, &update.name).await? } else { None };
        let step = decide_update(moves, row, update, (tip.as_deref(), in_the_way.as_deref()));
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

/// Decides about an update of a ref with the value `tip`.
fn decide_update(
    moves: &Moves<'_>,
    row: &Repository,
    update: &Update,
    (tip, in_the_way): (Option<&str>, Option<&str>),
) -> Result<Step, &'static str> {
    let step = decide::decide(update, tip, in_the_way)?;
    let is_default = update.name.strip_prefix(HEADS) == Some(row.default_branch.as_str());
    // The default branch may have changed since the push began.
    if is_default && update.deletes() && matches!((&step, moves.allowed), (Step::Change(_), Allow::Rules { .. })) {
        return Err(decide::OF_DEFAULT);
    }
    Ok(step)
}

/// Returns the outcomes that the updates would have now; the errors are those of [`super::move_refs`]. Called under the
/// lock of the repository before objects are stored for the updates, so that a refused change stores none.
///
/// Does not look for names in the way if an update deletes a ref, which may be the one in the way. If the changes are
/// not atomic, it stops looking after the first update that can be applied: the objects must be stored then.
pub async fn preview(read: &impl Read, moves: &Moves<'_>) -> Result<Vec<RefOutcome>, MoveError> {
    match expected_outcomes(read, moves).await {
        Ok(outcomes) | Err(Stop::Refused(outcomes)) => Ok(outcomes),
        Err(Stop::Failed(error)) => Err(error),
    }
}

async fn expected_outcomes(read: &impl Read, moves: &Moves<'_>) -> Result<Vec<RefOutcome>, Stop> {
    let (row, _) = admit(read, moves, moves.updates).await?;
    let mut outcomes = decide::refused_at_once(moves.updates, moves.atomic);
    let open: Vec<usize> = (0..moves.updates.len()).filter(|number| outcomes[*number].is_none()).collect();
    let mut may_be_in_the_way = !moves.updates.iter().any(Update::deletes);
    for page in open.chunks(PAGE) {
        let names: Vec<String> = page.iter().map(|number| moves.updates[*number].name.clone()).collect();
        let tips = refs::tips(read, row.id, &names).await?;
        for (number, tip) in page.iter().zip(tips) {
            let update = &moves.updates[*number];
            let in_the_way = if may_be_in_the_way && decide::creates(update) {
                refs::in_the_way(read, row.id, &update.name).await?
            } else {
                None
            };
            let expected =
                decide::outcome(&decide_update(moves, &row, update, (tip.as_deref(), in_the_way.as_deref())));
            may_be_in_the_way &= moves.atomic || expected != RefOutcome::Moved;
            outcomes[*number] = Some(expected);
        }
    }
    let mut outcomes: Vec<RefOutcome> = outcomes.into_iter().flatten().collect();
    if moves.atomic {
        decide::all_or_none(&mut outcomes);
    }
    Ok(outcomes)
}
