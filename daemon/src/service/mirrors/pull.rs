//! Syncs a pull mirror: fetches from its source, and moves its branches and tags like a push.
//!
//! Deletes branches and tags that the source no longer has, which are acknowledged data only of the source: clients
//! cannot write to a mirror. A source that has no branches and tags at all, or that fails, deletes nothing. Other refs,
//! such as hidden ones, are never touched.
//!
//! If the mirror was imported with the objects of Git LFS, a sync copies those that the new commits name before it
//! moves the refs.

use std::collections::{BTreeMap, BTreeSet};

use farrier_proto::store::{MirrorRemote, OwnerKind, Repository, RepositoryVersion};
use tokio_util::sync::CancellationToken;

use super::failure::MirrorFailure;
use crate::{
    git::{
        GitError, ImportSource, IncomingPack, PublishError, RemoteRefs, TipKind,
        commands::Update,
        ref_name::{self, HEADS, RefKind},
    },
    model::address_policy::AddressPolicy,
    service::{
        Context, Error, access,
        bucket_packs::{self, PackOrigin},
        events::{Actor, EventKind, EventRecorder, Subject},
        lfs::{self, BatchObject},
        migrations::{self, input::Address},
        packs, pushes,
        ref_moves::{self, Allow, MoveError, Moves, Pusher, RefOutcome, move_refs},
        repositories::head,
    },
    shares::Holder,
    store::{Tx, mirrors, owners, refs, repositories},
};

/// Attempts to fetch from a source whose refs move meanwhile.
const TRIES: u32 = 3;

/// The refs of a source, whose objects were fetched.
struct Fetched {
    remote: RemoteRefs,
    /// The updates that make the mirror equal to the source.
    updates: Vec<Update>,
    /// By id of a tag object among the new ids: the object to which it leads.
    peeled: BTreeMap<String, String>,
    /// `prune_epoch` of the mirror before the objects were fetched.
    epoch: u64,
    /// The size of the fetched objects in bytes.
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
    // Before the refs of the mirror are compared with those of the source.
    ref_moves::adopted_version(context, id).await?;
    context.copies.current(id).await.map_err(Error::from)?;
    let fetched = tokio::select! {
        () = context.tasks.stop().cancelled() => Err(MirrorFailure::Stopped),
        () = cancel.cancelled() => Err(MirrorFailure::Cancelled),
        () = tokio::time::sleep(context.config.migration.timeout) => Err(MirrorFailure::Time),
        fetched = fetch_all(context, &row, remote, holder) => fetched,
    };
    // From here on, nothing interrupts the run.
    let fetched = fetched?;
    if !fetched.updates.is_empty() {
        apply(context, &row, &fetched).await?;
    }
    follow_head(context, &row, &fetched.remote).await?;
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
    // Read before the objects that the fetched ones name are looked up.
    let epoch = version(context, row.id).await?.prune_epoch;
    let local = local_refs(context, row.id).await?;
    context.copies.follow_others(row.id).await.map_err(Error::from)?;
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
        let fetched = if wanted.is_empty() {
            Ok(None)
        } else {
            context.git.fetch_objects(row.id, &source, &wanted, &known, (max_bytes, holder)).await.map(Some)
        };
        match fetched {
            Ok(pack) => {
                let bytes = match pack {
                    Some(pack) => store(context, row.id, pack, epoch).await?,
                    None => 0,
                };
                let peeled = peeled(context, row.id, &wanted).await?;
                let updates = updates(row, &local, &remote);
                return Ok(Fetched { remote, updates, peeled, epoch, bytes });
            }
            Err(error) if tries_left > 0 && has_moved(&error) => {}
            Err(error) => return Err(MirrorFailure::of_publish(error, &secrets)),
        }
    }
    Err(MirrorFailure::Remote("the refs of the source moved during each attempt".to_owned()))
}

/// Moves the fetched objects to the mirror, and returns the size of their pack in bytes. Fails if objects were removed
/// since `epoch`, because the fetched ones may name them; the next sync fetches again.
async fn store(context: &Context, id: u64, mut pack: IncomingPack, epoch: u64) -> Result<u64, MirrorFailure> {
    bucket_packs::send(context, id, &mut pack, PackOrigin::Change).await?;
    let lock = context.git.lock(id).await;
    packs::require_epoch(context, id, epoch, &lock).await?;
    let stored = pack.install(id).await;
    Ok(stored.map_err(Error::git("storing the objects of a mirror"))?)
}

/// Returns whether the refs of the source were moved after they were listed.
fn has_moved(error: &PublishError) -> bool {
    let PublishError::Git(GitError::Failed { command, stderr, .. }) = error else { return false };
    command == "pack-objects" || stderr.contains("couldn't find remote ref")
}

/// Returns the branches and tags of the mirror.
async fn local_refs(context: &Context, id: u64) -> Result<BTreeMap<String, String>, MirrorFailure> {
    Ok(refs::all(&context.store.read().await?, id).await?)
}

/// Returns the version of the refs and objects of the mirror. Fails if it was deleted meanwhile.
async fn version(context: &Context, id: u64) -> Result<RepositoryVersion, MirrorFailure> {
    refs::version(&context.store.read().await?, id).await?.ok_or(MirrorFailure::Cancelled)
}

/// Returns the object to which each tag object among the fetched refs leads. Fails if a branch is not a commit: git
/// would not serve such a branch.
async fn peeled(
    context: &Context,
    id: u64,
    fetched: &BTreeMap<String, String>,
) -> Result<BTreeMap<String, String>, MirrorFailure> {
    let failed = || Error::git("reading the fetched objects");
    let ids: Vec<String> = fetched.values().cloned().collect();
    let kinds = context.git.kinds(id, None, &ids).await.map_err(failed())?;
    let mut tags = Vec::new();
    for ((name, id_of_ref), kind) in fetched.iter().zip(kinds) {
        if kind.is_none() || (name.starts_with(HEADS) && kind != Some(TipKind::Commit)) {
            return Err(MirrorFailure::Remote(format!("{name} of the source is no commit")));
        }
        if kind == Some(TipKind::Tag) {
            tags.push(id_of_ref.clone());
        }
    }
    Ok(context.git.all_peeled(id, None, &tags).await.map_err(failed())?)
}

/// Returns the updates that make the mirror equal to the source: deletes first, because a new branch may have the name
/// of a deleted one as a directory.
fn updates(row: &Repository, local: &BTreeMap<String, String>, remote: &RemoteRefs) -> Vec<Update> {
    let zeros = "0".repeat(if row.sha256 { 64 } else { 40 });
    let or_zeros = |id: Option<&String>| id.unwrap_or(&zeros).clone();
    let names: BTreeSet<&String> = local.keys().chain(remote.refs.keys()).collect();
    let differs = |name: &&String| {
        let is_valid = ref_name::is_valid(name) && ref_name::kind(name) != RefKind::Other;
        is_valid && local.get(*name) != remote.refs.get(*name)
    };
    let update = |name: &String| Update {
        name: name.clone(),
        old: or_zeros(local.get(name)),
        new: or_zeros(remote.refs.get(name)),
    };
    let mut updates: Vec<Update> = names.into_iter().filter(differs).map(update).collect();
    updates.sort_by_key(|update| !update.deletes());
    updates
}

/// Moves the refs and records the changes with their events.
async fn apply(context: &Context, row: &Repository, fetched: &Fetched) -> Result<(), MirrorFailure> {
    let lock = context.git.lock(row.id).await;
    // Under the lock, no object is removed.
    let epoch = version(context, row.id).await?.prune_epoch;
    context.copies.follow_others_locked(row.id, &lock).await.map_err(Error::from)?;
    if epoch != fetched.epoch && !is_connected(context, row.id, &fetched.updates).await? {
        let reason = "objects were removed during the sync; it is repeated later";
        return Err(MirrorFailure::Remote(reason.to_owned()));
    }
    let moves = Moves {
        repository: row.id,
        pusher: &Pusher::from(actor(row)),
        updates: &fetched.updates,
        atomic: false,
        allowed: &Allow::FollowedMirror,
        epoch,
        peeled: &fetched.peeled,
        grew_by: fetched.bytes,
        entry: None,
        mirror_depth: 0,
    };
    let outcomes = match move_refs(context, &moves, &lock).await {
        Ok(outcomes) => outcomes,
        // The mirror was converted or deleted meanwhile.
        Err(MoveError::Gone | MoveError::Protected | MoveError::Pruned) => return Err(MirrorFailure::Cancelled),
        Err(MoveError::Service(error) | MoveError::Unknown(error)) => return Err(MirrorFailure::Internal(error)),
    };
    let refused = fetched.updates.iter().zip(outcomes).find_map(|(update, outcome)| match outcome {
        RefOutcome::Refused(reason) => Some(format!("{} was not moved: {reason}", update.name)),
        RefOutcome::Moved | RefOutcome::Absent => None,
    });
    match refused {
        None => Ok(()),
        Some(reason) => Err(MirrorFailure::Internal(Error::Conflict { reason })),
    }
}

/// Returns whether the mirror has everything that the new values of its refs reach.
async fn is_connected(context: &Context, id: u64, updates: &[Update]) -> Result<bool, MirrorFailure> {
    let new = updates.iter().filter(|update| !update.deletes()).map(|update| update.new.clone());
    let connected = context.git.is_connected(id, None, &new.collect::<Vec<_>>(), None).await;
    Ok(connected.map_err(Error::git("looking for the fetched objects"))?)
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
    let recorder = &EventRecorder::new(context);
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn branches_that_are_deleted_make_room_for_others() {
        let refs = |refs: &[(&str, char)]| -> BTreeMap<String, String> {
            refs.iter().map(|(name, digit)| ((*name).to_owned(), digit.to_string().repeat(40))).collect()
        };
        let local = refs(&[("refs/heads/kept", 'a'), ("refs/heads/moved", 'a'), ("refs/heads/x", 'a')]);
        let found = refs(&[("refs/heads/a", 'b'), ("refs/heads/kept", 'a'), ("refs/heads/moved", 'b')]);
        let remote = RemoteRefs { refs: found, ..RemoteRefs::default() };
        let updates = updates(&Repository::default(), &local, &remote);
        let lines = updates.iter().map(|update| format!("{} {} {}", update.name, &update.old[..1], &update.new[..1]));
        assert_eq!(lines.collect::<Vec<_>>(), ["refs/heads/x a 0", "refs/heads/a 0 b", "refs/heads/moved a b"]);
    }
}
