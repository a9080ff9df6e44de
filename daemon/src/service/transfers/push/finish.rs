//! Completes a push whose objects were received: applies the rules to the objects, moves the pack to the repository,
//! and moves the refs.

use std::{error::Error as StdError, mem};

use bytes::Bytes;

use super::{
    super::{InputError, TransferError},
    Basis, PushRequest, basis,
    tips::{self, Tips},
};
use crate::{
    git::{
        GitError, IncomingPack, RepositoryLock,
        commands::Update,
        report::{self, RefRefusal},
    },
    service::{
        Context, Error,
        bucket_packs::{self, PackOrigin},
        ref_moves::{ATOMIC_FAILED, Allow, FAILED, MoveError, Moves, RefOutcome, move_refs, preview},
        ref_rules,
    },
};

/// Maximum number of attempts, if rules change or objects are removed meanwhile.
const ATTEMPTS: usize = 3;
/// Maximum number of messages for the person who pushes. The report has the reason for every ref.
const MESSAGES_MAX: usize = 100;

const DELETED: &str = "the repository was deleted";
const ARCHIVED: &str = "the repository is archived";
const MIRROR: &str = "the repository is a mirror";
const OCCUPIED: &str = "it does not have the expected value, or another ref's name is in the way";
/// The answer if the pack of a push cannot be moved to the repository.
const NOT_STORED: &str = "the server cannot store the pack";

/// The objects of a push.
struct Objects {
    /// `None`: the client sent none, or they are in the repository already.
    pack: Option<IncomingPack>,
    /// The size of the pack that was moved to the repository, in bytes.
    grew_by: u64,
}

/// Why the refs of a push were not moved.
enum NotMoved {
    /// Objects were removed from the repository since those of the push were looked up.
    Pruned,
    /// A rule was added or changed since the rules were applied. It forbids an update, or requires another check.
    Protected,
    /// The pack cannot be moved to the repository.
    NotStored(GitError),
    /// The push ends with this error.
    Failed(TransferError),
}

impl<E: Into<TransferError>> From<E> for NotMoved {
    fn from(error: E) -> Self {
        Self::Failed(error.into())
    }
}

/// Returns the report of a push whose data is complete.
pub(super) async fn finish(
    context: &Context,
    request: &mut PushRequest,
    pack: Option<IncomingPack>,
    mut found: Basis,
) -> Result<Bytes, TransferError> {
    let refusals = refused_by_rules(context, request, pack.as_ref()).await?;
    if !refusals.is_empty() {
        return Ok(report::refused(&request.commands, &refusals));
    }
    let mut objects = Objects { pack, grew_by: 0 };
    for _ in 0..ATTEMPTS {
        let tips = tips::look_up(context, request, objects.pack.as_ref(), &found).await?;
        if let Some(pack) = &mut objects.pack
            && tips.refused.iter().any(Option::is_none)
        {
            bucket_packs::send(context, request.repository, pack, PackOrigin::Change).await?;
        }
        match apply(context, request, &mut objects, &tips, found.epoch).await {
            Ok(outcomes) => return Ok(report_of(request, &outcomes, tips)),
            Err(NotMoved::Pruned) => {
                // Read before the objects are looked up again.
                found = Basis { is_closed: false, ..basis(context, request.repository).await? };
                if let Some(pack) = &objects.pack
                    && let Some(problem) = pack.problem().await?
                {
                    return Ok(report::not_unpacked(&request.commands, &problem, false));
                }
            }
            Err(NotMoved::Protected) => {
                request.checked =
                    ref_rules::check(context, request.repository, request.changer, &request.commands).await?;
                let mut refusals = mem::take(&mut request.checked.refusals);
                if refusals.is_empty() {
                    refusals = refused_by_rules(context, request, objects.pack.as_ref()).await?;
                }
                if !refusals.is_empty() {
                    return Ok(report::refused(&request.commands, &refusals));
                }
            }
            Err(NotMoved::NotStored(error)) => {
                let repository = request.repository;
                tracing::error!(repository, error = &error as &dyn StdError, "the pack of a push was not stored");
                return Ok(report::not_unpacked(&request.commands, NOT_STORED, false));
            }
            Err(NotMoved::Failed(error)) => return Err(error),
        }
    }
    Err(Error::Busy.into())
}

/// Returns the updates that the rules refuse because of their objects.
async fn refused_by_rules(
    context: &Context,
    request: &PushRequest,
    pack: Option<&IncomingPack>,
) -> Result<Vec<RefRefusal>, TransferError> {
    if !request.checked.needs_objects() {
        return Ok(Vec::new());
    }
    let checked = request.checked.clone();
    if let Some(pack) = pack {
        return Ok(checked.with_objects(context, request.holder, pack.workspace()).await?);
    }
    let workspace = context.git.reader(request.repository).for_holder(request.holder).workspace().await?;
    let refusals = checked.with_objects(context, request.holder, &workspace).await;
    workspace.remove().await;
    Ok(refusals?)
}

/// Moves the refs under the lock of the repository. Returns the outcome of each update.
async fn apply(
    context: &Context,
    request: &mut PushRequest,
    objects: &mut Objects,
    tips: &Tips,
    epoch: u64,
) -> Result<Vec<RefOutcome>, NotMoved> {
    let is_atomic = request.commands.has("atomic");
    let mut outcomes = tips.refused.clone();
    if is_atomic && outcomes.iter().any(Option::is_some) {
        return Ok(outcomes.into_iter().map(|outcome| outcome.unwrap_or(RefOutcome::Refused(ATOMIC_FAILED))).collect());
    }
    let lock = context.git.lock(request.repository).await;
    if !request.access.holds().await {
        return Err(InputError::Revoked.into());
    }
    let request = &*request;
    let allowed = Allow::Rules { changer: request.changer, passed: request.checked.clone() };
    let moves = Moves {
        repository: request.repository,
        pusher: &request.pusher,
        updates: &request.commands.updates,
        atomic: is_atomic,
        allowed: &allowed,
        epoch,
        peeled: &tips.peeled,
        grew_by: 0,
        entry: None,
        mirror_depth: request.mirror_depth,
    };
    if objects.pack.is_some() {
        decide_whether_to_store(context, &moves, objects, &mut outcomes, &lock).await?;
    }
    let open: Vec<usize> = (0..outcomes.len()).filter(|number| outcomes[*number].is_none()).collect();
    if !open.is_empty() {
        let updates: Vec<Update> = open.iter().map(|number| request.commands.updates[*number].clone()).collect();
        let moves = Moves { updates: &updates, grew_by: objects.grew_by, ..moves };
        let moved = match move_refs(context, &moves, &lock).await {
            Ok(moved) => moved,
            Err(error) => vec![outcome_of_all(request.repository, error)?; updates.len()],
        };
        for (number, outcome) in open.into_iter().zip(moved) {
            outcomes[number] = Some(outcome);
        }
    }
    drop(lock);
    Ok(outcomes.into_iter().map(|outcome| outcome.unwrap_or(RefOutcome::Refused(FAILED))).collect())
}

/// Moves the pack to the repository if an update that may need it can be applied. Otherwise sets the outcomes of these
/// updates, and the repository gets nothing of the push.
///
/// The repository keeps the pack if the transaction that moves the refs then fails, or finds a rule that was added
/// since the preview. The pack is not removed: other pushes may have used its objects meanwhile to show that theirs
/// are complete. No ref names these objects, so a later pruning removes them.
///
/// If objects were removed since those of the push were looked up, objects that the pack names may be among them, and
/// the pack is not moved: a closed repository must not get an object that names a missing one.
async fn decide_whether_to_store(
    context: &Context,
    moves: &Moves<'_>,
    objects: &mut Objects,
    outcomes: &mut [Option<RefOutcome>],
    _lock: &RepositoryLock,
) -> Result<(), NotMoved> {
    let may_need_it = |number: usize| !moves.updates[number].deletes();
    let read = context.store.read().await.map_err(Error::from)?;
    let expected = match preview(&read, moves).await {
        Ok(expected) => expected,
        Err(error) => vec![outcome_of_all(moves.repository, error)?; moves.updates.len()],
    };
    drop(read);
    let is_moved = |number: usize| expected.get(number) == Some(&RefOutcome::Moved);
    if (0..outcomes.len()).any(|number| outcomes[number].is_none() && may_need_it(number) && is_moved(number)) {
        if let Some(pack) = objects.pack.take() {
            objects.grew_by = pack.install(moves.repository).await.map_err(NotMoved::NotStored)?;
        }
        return Ok(());
    }
    for (number, expected) in expected.iter().enumerate() {
        if outcomes[number].is_none() && (moves.atomic || may_need_it(number)) {
            outcomes[number] = Some(*expected);
        }
    }
    Ok(())
}

/// Returns the outcome of all updates if none was applied because of `error`, or why the push ends without a report.
fn outcome_of_all(repository: u64, error: MoveError) -> Result<RefOutcome, NotMoved> {
    match error {
        MoveError::Pruned => Err(NotMoved::Pruned),
        MoveError::Gone => Ok(RefOutcome::Refused(DELETED)),
        MoveError::Service(Error::Archived) => Ok(RefOutcome::Refused(ARCHIVED)),
        MoveError::Service(Error::Mirror) => Ok(RefOutcome::Refused(MIRROR)),
        MoveError::Protected => Err(NotMoved::Protected),
        MoveError::Service(error) => Err(error.into()),
        MoveError::Unknown(error) => {
            tracing::error!(repository, error = &error as &dyn StdError, "it is not known whether a push was recorded");
            Err(TransferError::NotRecorded.into())
        }
    }
}

/// Returns the report, with a message for each ref whose reason needs an explanation.
fn report_of(request: &PushRequest, outcomes: &[RefOutcome], tips: Tips) -> Bytes {
    let Tips { refused, mut messages, .. } = tips;
    for ((update, outcome), refused) in request.commands.updates.iter().zip(outcomes).zip(&refused) {
        match outcome {
            RefOutcome::Absent => messages.push("warning: deleting a non-existent ref".to_owned()),
            RefOutcome::Refused(FAILED) if refused.is_none() => {
                messages.push(format!("error: cannot update ref '{}': {OCCUPIED}", update.name));
            }
            RefOutcome::Moved | RefOutcome::Refused(_) => {}
        }
    }
    messages.truncate(MESSAGES_MAX);
    let reasons = outcomes.iter().map(|outcome| match outcome {
        RefOutcome::Moved | RefOutcome::Absent => None,
        RefOutcome::Refused(reason) => Some(*reason),
    });
    report::ended(&request.commands, &reasons.collect::<Vec<_>>(), messages)
}
