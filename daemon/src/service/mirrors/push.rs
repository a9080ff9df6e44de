//! Runs a push mirror: pushes all branches and tags to its remote, and deletes those that the repository does not have.
//!
//! The copy on the other server is a mirror, so what only the remote has is lost there. A repository without branches
//! and tags is not pushed, because that would delete everything. Git pushes the refs in the directory, so they are
//! compared with the rows first: a lost file of a ref must not delete a branch of the other server.

use tokio_util::sync::CancellationToken;

use super::{failure::MirrorFailure, pull::connect};
use crate::{
    service::{Context, migrations, ref_moves},
    shares::Holder,
    store::{mirrors, refs, repositories},
};

/// Runs the push mirror `name` of the repository `id`.
pub(super) async fn run(
    context: &Context,
    id: u64,
    name: &str,
    cancel: &CancellationToken,
    holder: Holder,
) -> Result<(), MirrorFailure> {
    let snapshot = context.store.read().await?;
    let row = repositories::get(&snapshot, id).await?;
    let remote = mirrors::remote(&snapshot, id, name).await?;
    drop(snapshot);
    let Some(remote) = remote else { return Ok(()) };
    if row.is_none_or(|row| row.deleted || migrations::pending(&row).is_some()) {
        return Err(MirrorFailure::Remote("the repository is deleted".to_owned()));
    }
    require_refs(context, id).await?;
    let push = async {
        let (target, secrets) = connect(context, &remote.address, Some((remote.username, remote.password))).await?;
        let pushed = context.git.push_to_mirror(id, &target, remote.depth.saturating_add(1), holder).await;
        pushed.map_err(|error| MirrorFailure::of_git(error, &secrets))
    };
    tokio::select! {
        () = context.tasks.stop().cancelled() => Err(MirrorFailure::Stopped),
        () = cancel.cancelled() => Err(MirrorFailure::Cancelled),
        () = tokio::time::sleep(context.config.migration.timeout) => Err(MirrorFailure::Time),
        pushed = push => pushed,
    }
}

/// Returns an error if the repository has no branches and tags, or if the files of its refs differ from the rows and
/// cannot be written again.
async fn require_refs(context: &Context, id: u64) -> Result<(), MirrorFailure> {
    let lock = context.git.lock(id).await;
    drop(ref_moves::require_files(context, id, lock).await?);
    if refs::all(&context.store.read().await?, id).await?.is_empty() {
        return Err(MirrorFailure::Remote("the repository has no branches and tags; nothing was pushed".to_owned()));
    }
    Ok(())
}
