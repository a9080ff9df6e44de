//! Syncs a pull mirror: fetches from its source, moves its branches and tags, and records the changes with their
//! events.
//!
//! Deletes branches and tags that the source no longer has, which are acknowledged data only of the source: nobody can
//! write to a mirror. A source that has no branches and tags at all, or that fails, deletes nothing. Other refs, such
//! as hidden ones, are never touched.
//!
//! If the mirror was imported with the objects of Git LFS, a sync copies those that the new commits name before it
//! moves the refs.

use std::collections::{BTreeMap, BTreeSet};

use farrier_proto::store::{MirrorRemote, OwnerKind, Repository};
use tokio_util::sync::CancellationToken;

use super::failure::MirrorFailure;
use crate::{
    git::{
        GitError, ImportSource, PublishError, RemoteRefs, RepositoryLock,
        commands::{Commands, Update},
        ref_name::{self, HEADS, RefKind},
    },
    model::address_policy::AddressPolicy,
    service::{
        Context, Error, access,
        events::{Actor, EventKind, EventRecorder, Subject},
        lfs::{self, BatchObject},
        migrations::{self, input::Address},
        pushes,
        repositories::head,
    },
    shares::Holder,
    store::{Tx, mirrors, owners, refs, repositories},
};

/// Attempts to fetch from a source whose refs move meanwhile.
const TRIES: u32 = 3;

/// What a source has, after its objects were fetched.
struct Fetched {
    remote: RemoteRefs,
    updates: Vec<Update>,
    bytes: u64,
}

/// Syncs the pull mirror `id`.
pub(super) async fn run(
    context: &Context,
    id: u64,
    cancel: &CancellationToken,
    holder: Holder,
) -> Result<(), MirrorFailure> {
    let snapshot = context.store.read().await?;
    let row = repositories::get(&snapshot, id).await?.filter(is_followed);
    let remote = mirrors::remote(&snapshot, id, "").await?.unwrap_or_default();
    drop(snapshot);
    let Some(row) = row else { return Ok(()) };
    let fetched = tokio::select! {
        () = context.tasks.stop().cancelled() => Err(MirrorFailure::Stopped),
        () = cancel.cancelled() => Err(MirrorFailure::Cancelled),
        () = tokio::time::sleep(context.config.migration.timeout) => Err(MirrorFailure::Time),
        fetched = fetch_all(context, &row, remote, holder) => fetched,
    };
    // From here on, nothing interrupts the run: refs that were moved are recorded.
    let Fetched { remote, updates, bytes } = fetched?;
    if !updates.is_empty() {
        apply(context, &row, updates, bytes).await?;
    }
    follow_head(context, &row, &remote).await?;
    let tidy_context = context.clone();
    context.tasks.short(async move { pushes::tidy(&tidy_context, id).await });
    Ok(())
}

/// Returns whether a repository follows a source now.
fn is_followed(row: &Repository) -> bool {
    access::is_mirror(row) && !row.deleted && migrations::pending(row).is_none()
}

/// Connects to an address that the policy allows now. Also returns the texts that must not appear in messages.
pub(super) async fn connect(
    context: &Context,
    address: &str,
    credentials: Option<(String, String)>,
) -> Result<(ImportSource, Vec<String>), MirrorFailure> {
    let policy = AddressPolicy::parse(&context.config.migration.allowed_hosts).unwrap_or_default();
    let url = url::Url::parse(address).map_err(|_| MirrorFailure::Remote("the address is not valid".to_owned()))?;
    let credentials = credentials.filter(|(user, password)| !user.is_empty() || !password.is_empty());
    let pair = credentials.as_ref().map(|(user, password)| (user.as_str(), password.as_str()));
    let source = ImportSource::resolve(&url, pair, &policy).await?;
    let secrets = source.secrets();
    Ok((source, secrets))
}

/// Fetches the objects of the source and its LFS objects, and determines which refs differ.
async fn fetch_all(
    context: &Context,
    row: &Repository,
    remote: MirrorRemote,
    holder: Holder,
) -> Result<Fetched, MirrorFailure> {
    let MirrorRemote { username, password, lfs_endpoint, .. } = remote;
    let credentials = Some((username, password));
    let fetched = fetch(context, row, credentials.clone(), holder).await?;
    if context.config.lfs.enabled && !lfs_endpoint.is_empty() {
        copy_lfs_objects(context, row, &lfs_endpoint, credentials, &fetched).await?;
    }
    Ok(fetched)
}

/// Copies the LFS objects that the fetched commits name. Objects that the source does not have are left out.
async fn copy_lfs_objects(
    context: &Context,
    row: &Repository,
    endpoint: &str,
    credentials: Option<(String, String)>,
    fetched: &Fetched,
) -> Result<(), MirrorFailure> {
    let news = fetched.updates.iter().filter(|update| !update.deletes() && update.old != update.new);
    let from: BTreeSet<String> = news.map(|update| update.new.clone()).collect();
    let known: BTreeSet<String> = local_refs(context, row.id).await?.into_values().collect();
    let pointers =
        context.git.lfs_pointers(row.id, &from, &known).await.map_err(Error::git("looking for LFS objects"))?;
    let objects: Vec<BatchObject> = pointers
        .iter()
        .filter_map(|pointer| Some(BatchObject { oid: lfs::parse_oid(&pointer.oid)?, size: pointer.size }))
        .collect();
    let invalid = |_| MirrorFailure::Remote("the address is not valid".to_owned());
    let url = url::Url::parse(&row.original_url).map_err(invalid)?;
    let endpoint = url::Url::parse(endpoint).map_err(invalid)?;
    let credentials = credentials.filter(|(user, password)| !user.is_empty() || !password.is_empty());
    let source = migrations::input::lfs_source(endpoint, &Address { url, credentials });
    match lfs::import(context, row.id, actor(row), &source, &objects).await {
        Ok(_) => Ok(()),
        Err(Error::Invalid { reason, .. }) => Err(MirrorFailure::Remote(reason)),
        Err(error @ (Error::Quota { .. } | Error::TooLarge { .. })) => Err(MirrorFailure::Remote(error.to_string())),
        Err(error) => Err(MirrorFailure::Internal(error)),
    }
}

/// Fetches the objects of the source and determines which refs differ.
async fn fetch(
    context: &Context,
    row: &Repository,
    credentials: Option<(String, String)>,
    holder: Holder,
) -> Result<Fetched, MirrorFailure> {
    let (source, secrets) = connect(context, &row.original_url, credentials).await?;
    let local = local_refs(context, row.id).await?;
    let known: Vec<String> = local.values().cloned().collect();
    let max_bytes = context.config.migration.max_bytes;
    for tries_left in (0..TRIES).rev() {
        let remote =
            context.git.remote_refs(row.id, &source).await.map_err(|error| MirrorFailure::of_git(error, &secrets))?;
        if remote.refs.is_empty() && !local.is_empty() {
            let reason = "the source has no branches and tags; those of the mirror are kept";
            return Err(MirrorFailure::Remote(reason.to_owned()));
        }
        if !remote.refs.is_empty() && remote.sha256 != row.sha256 {
            return Err(MirrorFailure::Remote("the source has another object format now".to_owned()));
        }
        let is_new = |(name, id): &(&String, &String)| local.get(*name) != Some(*id);
        let wanted: BTreeMap<String, String> =
            remote.refs.iter().filter(is_new).map(|(name, id)| (name.clone(), id.clone())).collect();
        if wanted.is_empty() {
            let updates = updates(context, row, &local, &remote).await?;
            return Ok(Fetched { remote, updates, bytes: 0 });
        }
        match context.git.fetch_objects(row.id, &source, &wanted, &known, (max_bytes, holder)).await {
            Ok(bytes) => {
                let updates = updates(context, row, &local, &remote).await?;
                return Ok(Fetched { remote, updates, bytes });
            }
            Err(error) if tries_left > 0 && has_moved(&error) => {}
            Err(error) => return Err(MirrorFailure::of_publish(error, &secrets)),
        }
    }
    Err(MirrorFailure::Remote("the refs of the source moved during each attempt".to_owned()))
}

/// Returns whether the refs of the source were moved after they were listed.
fn has_moved(error: &PublishError) -> bool {
    let PublishError::Git(GitError::Failed { command, stderr, .. }) = error else { return false };
    command == "pack-objects" || stderr.contains("couldn't find remote ref")
}

/// Returns the branches and tags of the mirror.
async fn local_refs(context: &Context, id: u64) -> Result<BTreeMap<String, String>, MirrorFailure> {
    let tips = context.git.all_tips(id).await.map_err(Error::git("reading refs"))?;
    // An import may have taken names that no update can have.
    Ok(tips.into_iter().filter(|(name, _)| ref_name::is_valid(name)).collect())
}

/// Returns the updates that make the mirror equal to the source. Also contains refs without an update whose recorded
/// value differs from the one on disk: an earlier sync moved them, and its record failed.
async fn updates(
    context: &Context,
    row: &Repository,
    local: &BTreeMap<String, String>,
    remote: &RemoteRefs,
) -> Result<Vec<Update>, MirrorFailure> {
    let recorded = refs::all(&context.store.read().await?, row.id).await?;
    let zeros = "0".repeat(if row.sha256 { 64 } else { 40 });
    let or_zeros = |id: Option<&String>| id.unwrap_or(&zeros).clone();
    let names: BTreeSet<&String> = local.keys().chain(remote.refs.keys()).chain(recorded.keys()).collect();
    let differs = |name: &&&String| {
        let (before, after) = (local.get(**name), remote.refs.get(**name));
        let is_valid = ref_name::is_valid(name) && ref_name::kind(name) != RefKind::Other;
        is_valid && (before != after || recorded.get(**name) != before)
    };
    let update = |name: &&String| Update {
        name: (*name).clone(),
        old: or_zeros(local.get(*name)),
        new: or_zeros(remote.refs.get(*name)),
    };
    Ok(names.iter().filter(differs).map(update).collect())
}

/// Moves the refs and records the changes with their events. A crash in between leaves the mark of a push, with which
/// the next start finds the changes.
async fn apply(context: &Context, row: &Repository, updates: Vec<Update>, bytes: u64) -> Result<(), MirrorFailure> {
    let commands = Commands { updates, ..Commands::default() };
    let push = pushes::begin(context, row.id, actor(row), &commands).await?;
    let lock = context.git.lock(row.id).await;
    let moved = move_refs(context, row.id, &commands.updates, &lock).await;
    // Also after an error: some of the refs may have been moved, and the mark is removed.
    pushes::record(context, &push, bytes, &lock).await?;
    moved
}

/// Moves the refs on disk: deletes first, because a new branch may have the name of a deleted one as a directory.
async fn move_refs(
    context: &Context,
    id: u64,
    updates: &[Update],
    _lock: &RepositoryLock,
) -> Result<(), MirrorFailure> {
    // Read under the lock: the mirror may have been converted or deleted meanwhile.
    let row = repositories::get(&context.store.read().await?, id).await?;
    if !row.as_ref().is_some_and(is_followed) {
        return Err(MirrorFailure::Cancelled);
    }
    let moved = updates.iter().filter(|update| update.old != update.new);
    let (deletes, others): (Vec<&Update>, Vec<&Update>) = moved.partition(|update| update.deletes());
    for group in [deletes, others].into_iter().filter(|group| !group.is_empty()) {
        let input: String = group.into_iter().map(line).collect();
        let moved = context.git.run(id, ["update-ref", "--stdin", "-z"], input).await;
        moved.map_err(Error::git("moving the refs of a mirror"))?;
    }
    Ok(())
}

/// Returns an update as input for `git update-ref --stdin -z`. A value of zeros means that the ref does not exist.
fn line(update: &Update) -> String {
    if update.deletes() {
        return format!("delete {}\0{}\0", update.name, update.old);
    }
    format!("update {}\0{}\0{}\0", update.name, update.new, update.old)
}

/// Returns the account that the events name: the owner; for an organization, the account that imported the repository.
fn actor(row: &Repository) -> u64 {
    match row.owner_kind() {
        OwnerKind::Org => row.migration.as_ref().map_or(0, |migration| migration.actor_id),
        _ => row.owner_id,
    }
}

/// Makes the branch of the source's `HEAD` the default branch, if the mirror had no branches or its default branch does
/// not exist any more.
async fn follow_head(context: &Context, before_sync: &Repository, remote: &RemoteRefs) -> Result<(), MirrorFailure> {
    let has = |branch: &str| remote.refs.contains_key(&format!("{HEADS}{branch}"));
    let Some(branch) = remote.head.as_deref().filter(|branch| has(branch)) else { return Ok(()) };
    let id = before_sync.id;
    let snapshot = context.store.read().await?;
    let Some(row) = repositories::get(&snapshot, id).await?.filter(is_followed) else { return Ok(()) };
    if row.default_branch == branch || (!before_sync.empty && has(&row.default_branch)) {
        return Ok(());
    }
    let Some(owner) = &owners::owner(&snapshot, row.owner_kind(), row.owner_id).await? else { return Ok(()) };
    let actor = &Actor::find(&snapshot, actor(&row)).await?;
    drop(snapshot);
    let recorder = &EventRecorder::reserve(context, 1).await?;
    let written = context.store.write(async |tx: Tx| {
        let Some(before) = repositories::get(&tx, id).await?.filter(is_followed) else { return Ok(()) };
        let row = Repository { default_branch: branch.to_owned(), ..before.clone() };
        repositories::put(&tx, Some(&before), &row);
        let edited =
            EventKind::Repository { action: "edited", before: vec![("default_branch", before.default_branch.clone())] };
        recorder.record(&tx, Subject { repository: &row, owner, actor }, &[edited]).await?;
        head::note(&tx, &before, &row);
        Ok::<_, Error>(())
    });
    let written = written.await;
    // Also after an error: if the outcome of the commit is unknown, the row decides.
    head::follow(context, id).await;
    Ok(written?)
}
