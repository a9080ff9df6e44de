//! Creates forks.
//!
//! The files are created first, as links to those of the source, and with a bucket the packs are copied there. Then
//! everything else follows in one transaction: the row, its refs, the LFS objects, the number of forks, the audit entry
//! and the events. A daemon that is killed in between leaves at most a directory without a row, which the next start
//! sets aside, and copies of packs without a row, which the sweep of the bucket removes.

use farrier_common::api::CreateFork;
use farrier_proto::store::{Repository, RepositoryVersion};
use tokio::sync::oneshot;

use super::{
    Context, Error,
    access::{self, AccessLevel, Action},
    audit::{self, AuditRecorder, Entry, Object, RequestScope},
    bucket_packs,
    commit_outcome::{CommitOutcome, run_until_known},
    events::{Actor, EventKind, EventRecorder, Subject},
    hooks::DefaultHookCopies,
    lfs, migrations, packs,
    ref_moves::require_adopted,
    repositories::{
        self, FoundRepository, OwnerChoice,
        create::{self, NewRepository},
        prune, rules,
    },
    tidying,
};
use crate::{
    git::{
        RepositoryLock,
        import::NewRef,
        ref_name::{self, HEADS, RefKind},
    },
    model::identity::Identity,
    store::{
        Read, StoreError, Tx,
        owners::{self, Owner},
        packs::{self as pack_rows, Packs},
        refs::{self, Ref},
        repositories as rows,
        repositories::forks,
    },
};

/// Number of rows of refs to read at a time.
const REFS_AT_ONCE: usize = 1_000;
/// Maximum number of attempts to bring the copy of the source to refs that other nodes move.
const FOLLOW_TRIES: u32 = 10;

/// Forks the repository `owner`/`name`.
pub async fn fork(
    context: &Context,
    identity: &Identity,
    owner: &str,
    name: &str,
    input: &CreateFork,
) -> Result<FoundRepository, Error> {
    let snapshot = context.store.read().await?;
    let source = repositories::find(&snapshot, identity, owner, name, Action::Read).await?;
    access::require_account(identity)?;
    drop(snapshot);
    if let Some(reason) = migrations::pending(&source.repository) {
        return Err(Error::Conflict { reason: reason.into() });
    }
    let choice = match input.organization.as_str() {
        "" => OwnerChoice::Caller,
        organization => OwnerChoice::Org(organization),
    };
    let new_owner = create::owner_for(context, identity, choice).await?;
    let row = row_of(context, &source.repository, &new_owner, input)?;
    check_first(&context.store.read().await?, &new_owner, &source).await?;
    let new = create::reserve(context, new_owner, row).await?;
    let (sender, result) = oneshot::channel();
    let (task_context, identity) = (context.clone(), identity.clone());
    context.tasks.short(RequestScope::inherit(async move {
        // Sending fails if the client has disconnected. The fork is completed nevertheless.
        let _ = sender.send(finish(&task_context, &identity, &source.repository, new).await);
    }));
    result.await.unwrap_or(Err(Error::Busy))
}

/// Creates the files and the row. Must not be interrupted in between.
async fn finish(
    context: &Context,
    identity: &Identity,
    source: &Repository,
    mut new: NewRepository,
) -> Result<FoundRepository, Error> {
    copy_files(context, source, &mut new).await?;
    let id = new.row.id;
    match insert(context, identity, source, new).await {
        CommitOutcome::Known(Ok(found)) => {
            create::note_version(context, id).await;
            Ok(found)
        }
        CommitOutcome::Known(Err(error)) => {
            // Safe to remove: no row was committed, and the directory was created above and never used. The source
            // keeps its own names of the files.
            let _ = context.git.remove(id).await;
            Err(error)
        }
        CommitOutcome::Unknown(error) => {
            // A row may refer to the directory, so it is kept. If there is none, the directory is set aside.
            tracing::warn!(repository = id, "it is unknown whether the fork was created; its files are kept");
            Err(error)
        }
    }
}

/// Returns the row of a fork, without an id and without what depends on its files.
fn row_of(context: &Context, source: &Repository, owner: &Owner, input: &CreateFork) -> Result<Repository, Error> {
    let name = if input.name.is_empty() { &source.name } else { &input.name };
    rules::name("name", name)?;
    Ok(Repository {
        name: name.clone(),
        description: source.description.clone(),
        parent: source.id,
        sha256: source.sha256,
        // The copied objects include those that no ref of the source reaches.
        prune_due_ms: prune::due_ms(context, source),
        ..create::default_row(context, owner, Some(source.private), source.default_branch.clone())
    })
}

/// Returns an error if `owner` has a fork of `source` already.
async fn check_first(read: &impl Read, owner: &Owner, source: &FoundRepository) -> Result<(), Error> {
    match forks::of_owner(read, source.repository.id, owner.id()).await?.first() {
        Some(other) => Err(Error::Exists {
            message: format!("the repository is already forked by {0}: {0}/{1}", owner.name(), other.name),
        }),
        None => Ok(()),
    }
}

/// Creates the files of a fork and completes its row. Its refs are those in the rows of the source.
///
/// The fork gets all complete files of objects of the source, so it is closed if the source is.
async fn copy_files(context: &Context, source: &Repository, new: &mut NewRepository) -> Result<(), Error> {
    let id = new.row.id;
    let lock = context.git.lock(source.id).await;
    require_adopted(context, source.id, &lock).await?;
    packs::try_adopt(context, source.id, &lock).await;
    tidying::complete(context, source.id, &lock).await?;
    let followed = follow(context, source.id, &lock).await?;
    new.tips = followed.tips;
    new.closed = followed.version.closed;
    let files = new.tips.iter().map(|(name, value)| NewRef {
        name: name.clone(),
        id: value.tip.clone(),
        peeled: value.peeled.clone(),
    });
    let between = (source.id, id);
    let copied = context.git.fork(between, &new.row.default_branch, new.row.sha256, files.collect(), &lock).await;
    drop(lock);
    copied.map_err(Error::git("forking a repository"))?;
    let known = bucket_packs::copied(context, (source.id, followed.packs), id).await;
    new.packs = packs::of_new(context, id, new.row.sha256, known).await?;
    let branches = new.tips.iter().filter(|(name, _)| name.starts_with(HEADS)).count() as u64;
    new.row.empty = branches == 0;
    new.row.branches = Some(branches);
    // If the size cannot be read, the next push measures it.
    new.row.size_bytes = context.git.size_bytes(id).await.unwrap_or(source.size_bytes);
    Ok(())
}

/// What the copy of a source has.
struct Followed {
    version: RepositoryVersion,
    tips: Vec<(String, Ref)>,
    packs: Packs,
}

/// Brings the copy of the source to its rows and returns them. Fails if other nodes move refs all the time.
async fn follow(context: &Context, source: u64, lock: &RepositoryLock) -> Result<Followed, Error> {
    for _ in 0..FOLLOW_TRIES {
        let followed = context.copies.current_locked(source, lock).await?;
        let read = context.store.read().await?;
        let version = refs::version(&read, source).await?.ok_or(Error::NotFound { what: "the repository" })?;
        // Another node may have moved refs, whose objects the copy does not have yet.
        if version.version == followed || !context.copies.has_others() {
            let packs = if version.has_manifest { pack_rows::all(&read, source).await? } else { Packs::new() };
            return Ok(Followed { version, tips: tips(&read, source).await?, packs });
        }
    }
    Err(Error::Busy)
}

/// Returns the branches and tags of a repository, sorted by name.
async fn tips(read: &impl Read, repository: u64) -> Result<Vec<(String, Ref)>, StoreError> {
    let (mut tips, mut after): (Vec<(String, Ref)>, Option<String>) = (Vec::new(), None);
    loop {
        let page = refs::page(read, repository, after.as_deref(), REFS_AT_ONCE).await?;
        let Some((last, _)) = page.last() else { return Ok(tips) };
        after = Some(last.clone());
        tips.extend(page.into_iter().filter(|(name, _)| ref_name::kind(name) != RefKind::Other));
    }
}

/// Inserts the row of a fork with everything that belongs to it.
async fn insert(
    context: &Context,
    identity: &Identity,
    source: &Repository,
    new: NewRepository,
) -> CommitOutcome<FoundRepository> {
    let into_org = matches!(new.owner, Owner::Org(_));
    let prepared = async { Ok::<_, Error>((DefaultHookCopies::prepare(context).await?, AuditRecorder::new(context))) };
    let (copies, audit) = match prepared.await {
        Ok(prepared) => prepared,
        Err(error) => return CommitOutcome::Known(Err(error)),
    };
    let (of_source, of_fork) = (&EventRecorder::new(context), &EventRecorder::new(context));
    let (copies, audit, new_ref) = (&copies, &audit, &new);
    let (actor, source_id) = (&Actor::of(identity), source.id);
    let inserted = run_until_known(context, create::TRIES, async |tx: Tx| {
        if let Some(row) = rows::get(&tx, new_ref.row.id).await? {
            // Ids are used once, so an earlier attempt was committed.
            return Ok(row);
        }
        // Read again: the owner or the source may have been changed or deleted, and the caller may have lost its
        // access.
        let owner = owners::owner(&tx, new_ref.owner.kind(), new_ref.owner.id()).await?;
        let owner = owner.ok_or(Error::NotFound { what: "the owner" })?;
        create::check_limit(&tx, &owner).await?;
        let source = repositories::allowing(&tx, identity, source_id, Action::Read).await?;
        let source = source.ok_or(Error::NotFound { what: "the repository" })?;
        check_first(&tx, &owner, &source).await?;
        let private = forks::are_private(&tx, &source.repository).await?;
        let mut row = Repository { private, ..new_ref.row.clone() };
        row.listed = rows::class(owner.visibility(), row.private).into();
        lfs::copy_objects(context, &tx, source_id, &mut row).await?;
        if !rows::insert(&tx, &row).await? {
            return Err(create::name_in_use(&owner, &row));
        }
        forks::added(&tx, &row).await?;
        refs::create(&tx, row.id, row.sha256, new_ref.closed, &new_ref.tips);
        if let Some(packs) = &new_ref.packs {
            bucket_packs::require_recent(context, &tx, packs).await?;
            pack_rows::replace(&tx, row.id, packs).await?;
        }
        let mut audited = entry(&row, &owner, &source);
        if create::give_to_creator(&tx, &owner, &row, identity.user_id()).await? {
            audited = audited.set("administrator", identity.user_id());
        }
        audit.record(&tx, audited).await?;
        // Before the event is recorded, since a copied hook may match it.
        copies.insert(&tx, row.id).await?;
        let forked = EventKind::Fork { fork: &row, owner: &owner };
        let subject = Subject { repository: &source.repository, owner: &source.owner, actor };
        of_source.record(&tx, subject, &[forked]).await?;
        if into_org {
            let created = EventKind::Repository { action: "created", before: Vec::new() };
            of_fork.record(&tx, Subject { repository: &row, owner: &owner, actor }, &[created]).await?;
        }
        Ok(row)
    })
    .await;
    match inserted {
        CommitOutcome::Known(Ok(repository)) => {
            CommitOutcome::Known(Ok(FoundRepository { repository, owner: new.owner, access_level: AccessLevel::Owner }))
        }
        CommitOutcome::Known(Err(error)) => CommitOutcome::Known(Err(error)),
        CommitOutcome::Unknown(error) => CommitOutcome::Unknown(error),
    }
}

/// Returns the audit entry of a new fork.
fn entry(row: &Repository, owner: &Owner, source: &FoundRepository) -> Entry {
    Entry::new(audit::Action::RepositoryFork, Object::repository(row, owner.name()))
        .set("source", source.path().as_str())
        .set("private", row.private)
}
