//! The scheduled tasks of the daemon, which run when they are due. Administrators can run them earlier.

use super::{
    Context, Error, access,
    audit::{self, Entry, Object},
    shared_tasks, tokens,
};
use crate::model::identity::Identity;

/// A scheduled task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ScheduledTask {
    /// Cancels overdue jobs, and removes data whose retention is over.
    Sweep,
    /// Packs repositories and removes unreachable objects.
    PruneRepositories,
    /// Deletes expired tokens.
    DeleteExpiredTokens,
    /// Looks for LFS objects that no file names, and removes them from their repositories when they are due.
    CollectLfsObjects,
}

impl ScheduledTask {
    /// All tasks.
    pub const ALL: [Self; 4] =
        [Self::Sweep, Self::PruneRepositories, Self::DeleteExpiredTokens, Self::CollectLfsObjects];

    /// Returns the name in the API.
    pub fn name(self) -> &'static str {
        match self {
            Self::Sweep => "sweep",
            Self::PruneRepositories => "prune_repositories",
            Self::DeleteExpiredTokens => "delete_expired_tokens",
            Self::CollectLfsObjects => "collect_lfs_objects",
        }
    }

    /// Returns when the task runs.
    pub fn schedule(self) -> &'static str {
        match self {
            Self::Sweep | Self::PruneRepositories => "when work is due",
            Self::DeleteExpiredTokens | Self::CollectLfsObjects => "@every 24h",
        }
    }
}

/// Runs the task `name` now. Tasks with their own loop are woken; they do only what is due. `dry_run`: it changes
/// nothing and only counts, which not every task can. Requires a site administrator.
pub async fn run(context: &Context, identity: &Identity, name: &str, dry_run: bool) -> Result<(), Error> {
    access::require_site_admin(identity)?;
    let found = ScheduledTask::ALL.iter().position(|task| task.name() == name);
    let index = found.ok_or(Error::NotFound { what: "the task" })?;
    let task = ScheduledTask::ALL[index];
    if dry_run && task != ScheduledTask::CollectLfsObjects {
        return Err(Error::Invalid { field: "dry_run", reason: format!("the task {} has no dry run", task.name()) });
    }
    let object = Object::new("task", index as u64 + 1, name);
    audit::record_before(context, Entry::new(audit::Action::TaskRun, object)).await?;
    match task {
        ScheduledTask::Sweep => context.sweep.now(),
        ScheduledTask::PruneRepositories => context.pruning.now(),
        ScheduledTask::DeleteExpiredTokens => tokens::delete_expired(context).await?,
        ScheduledTask::CollectLfsObjects if context.store.is_shared() => {
            shared_tasks::request_search(context, dry_run).await?;
            context.lfs_collection.wake.now();
        }
        ScheduledTask::CollectLfsObjects => context.lfs_collection.request(dry_run, context.now_ms())?,
    }
    Ok(())
}
