//! Backups that administrators start while the daemon runs.
//!
//! Decides who may start one and keeps its state; [`crate::backup`] makes it. One backup runs at a time, of all nodes
//! that use the store. It is a task of the daemon: it goes on when the client is gone, and it ends with the daemon.

use std::{
    error::Error as StdError,
    path::PathBuf,
    sync::{Arc, Mutex, OnceLock, PoisonError},
};

use farrier_common::api::{Backup, CreateBackup, CreateBackupStream};

use super::{
    Context, Error, access,
    audit::{self, Action, Entry, Object},
    backup_stream::{self, BackupStream},
};
use crate::{
    backup::{
        BackupError, BackupHolder, BackupProgress, BackupRequest, BackupSource, Destination, FinishedBackup, create,
        require_respected, running_on,
    },
    clock::{Clock, Millis},
    config::{BucketUrl, Config},
    model::identity::{Identity, Proof},
    show,
    store::backups,
};

/// Longest path of a directory of backups, bytes.
const PATH_MAX_BYTES: usize = 4_096;
/// The destination of a backup that is sent to the caller.
pub const STREAM: &str = "tar stream";
/// Answers a request to start a backup while one runs.
const RUNNING: &str = "a backup is running; try again when it has ended";

/// The backup that runs, or the last one since the start.
#[derive(Debug, Default)]
pub struct BackupState(Mutex<Option<Arc<BackupTask>>>);

/// A backup.
#[derive(Debug)]
struct BackupTask {
    destination: String,
    began_ms: Millis,
    progress: Arc<BackupProgress>,
    end: OnceLock<BackupEnd>,
}

impl BackupTask {
    fn new(destination: String, began_ms: Millis) -> Self {
        Self { destination, began_ms, progress: Arc::default(), end: OnceLock::new() }
    }
}

/// A backup that was claimed. It has ended when this is dropped, also if its request was cancelled before it began or
/// if it panicked: otherwise no other backup could start.
#[derive(Debug)]
struct RunningBackup {
    task: Arc<BackupTask>,
    clock: Clock,
}

impl RunningBackup {
    fn end(&self, result: Result<FinishedBackup, String>) {
        // Fails if it has ended already.
        _ = self.task.end.set(BackupEnd { at_ms: self.clock.now_ms(), result });
    }
}

impl Drop for RunningBackup {
    fn drop(&mut self) {
        self.end(Err("the backup was interrupted; the log of the daemon may say why".to_owned()));
    }
}

#[derive(Debug)]
struct BackupEnd {
    at_ms: Millis,
    result: Result<FinishedBackup, String>,
}

impl BackupState {
    fn latest(&self) -> Option<Arc<BackupTask>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Makes `task` the running backup, unless one runs.
    fn claim(&self, task: BackupTask, clock: Clock) -> Result<RunningBackup, Error> {
        let mut latest = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if latest.as_ref().is_some_and(|running| running.end.get().is_none()) {
            return Err(Error::Conflict { reason: RUNNING.into() });
        }
        let task = Arc::new(task);
        *latest = Some(Arc::clone(&task));
        Ok(RunningBackup { task, clock })
    }
}

/// Returns the backup that runs, or the last one. Requires a site administrator.
pub async fn get(context: &Context, identity: &Identity) -> Result<Backup, Error> {
    access::require_site_admin(identity)?;
    let last_success_at = last_success_at(context).await?;
    let Some(task) = context.backups.latest() else {
        return Ok(Backup { state: "none".into(), last_success_at, ..Backup::default() });
    };
    let (files, bytes) = task.progress.get();
    let running = Backup {
        state: "running".into(),
        destination: task.destination.clone(),
        began_at: show::time(task.began_ms),
        files: show::number(files),
        size_bytes: show::number(bytes),
        last_success_at,
        ..Backup::default()
    };
    let Some(end) = task.end.get() else { return Ok(running) };
    let ended = Backup { ended_at: show::time(end.at_ms), ..running };
    Ok(match &end.result {
        Ok(finished) => Backup {
            state: "done".into(),
            name: finished.name.clone(),
            files: show::number(finished.files),
            size_bytes: show::number(finished.bytes),
            added_bytes: show::number(finished.added_bytes),
            removed: finished.removed.clone(),
            warnings: finished.warnings.clone(),
            ..ended
        },
        Err(error) => Backup { state: "failed".into(), error: error.clone(), ..ended },
    })
}

/// Returns when the last successful backup was complete, RFC 3339; empty if there was none.
pub async fn last_success_at(context: &Context) -> Result<String, Error> {
    let last = backups::last(&context.store.read().await?).await?;
    Ok(last.map(|last| show::time(last.ended_ms)).unwrap_or_default())
}

/// Starts a backup. Requires a site administrator whom the kernel identified as peer of the Unix socket: a backup
/// writes all secrets to a directory of this machine, which a token or password from elsewhere must not choose.
///
/// A bucket requires also what [`stream`] requires of `local_user`: the bucket could belong to somebody else.
pub async fn start(
    context: &Context,
    identity: &Identity,
    local_user: Option<u32>,
    input: CreateBackup,
) -> Result<Backup, Error> {
    require_allowed(identity)?;
    let destination = destination(&context.config, &input.destination)?;
    if !matches!(destination, Destination::Directory(_)) {
        require_owner_of_data(local_user)?;
    }
    if input.keep == Some(0) {
        return Err(Error::Invalid { field: "keep", reason: "must be at least 1".into() });
    }
    require_cluster_ready(context).await?;
    let task = BackupTask::new(input.destination.clone(), context.now_ms());
    let running = context.backups.claim(task, context.clock.clone())?;
    audit::record_before(context, entry(&input)).await?;
    let keep = input.keep.and_then(|keep| usize::try_from(keep).ok());
    let request = BackupRequest { destination, keep, without_caches: input.without_caches };
    let context_of_run = context.clone();
    context.tasks.short(async move { _ = run(context_of_run, running, request).await });
    get(context, identity).await
}

/// Starts a backup that is sent to the caller as a tar stream. Has the requirements of [`start`]: a stream has all
/// secrets as well. Requires also that the peer, `local_user`, is root or the user of the daemon. The backup fails if
/// the caller stops reading.
pub async fn stream(
    context: &Context,
    identity: &Identity,
    local_user: Option<u32>,
    input: CreateBackupStream,
) -> Result<BackupStream, Error> {
    require_allowed(identity)?;
    require_owner_of_data(local_user)?;
    require_cluster_ready(context).await?;
    let without_caches = input.without_caches;
    let task = BackupTask::new(STREAM.to_owned(), context.now_ms());
    let running = context.backups.claim(task, context.clock.clone())?;
    let entry = entry(&CreateBackup { destination: STREAM.to_owned(), keep: None, without_caches });
    audit::record_before(context, entry).await?;
    let (sender, stream) = backup_stream::channel();
    let destination = Destination::Tar(Box::new(sender.writer()));
    let request = BackupRequest { destination, keep: None, without_caches };
    let context_of_run = context.clone();
    context.tasks.short(async move {
        if run(context_of_run, running, request).await {
            sender.complete();
        }
    });
    Ok(stream)
}

/// Returns the place that `text` names: a directory, or a prefix of a bucket.
fn destination(config: &Config, text: &str) -> Result<Destination, Error> {
    let invalid = |reason: String| Error::Invalid { field: "destination", reason };
    if text.len() > PATH_MAX_BYTES {
        return Err(invalid(format!("must have at most {PATH_MAX_BYTES} bytes")));
    }
    if text.starts_with("s3://") {
        let url = BucketUrl::parse(text).map_err(invalid)?;
        return Ok(Destination::Bucket(Box::new(config.blobs.clone()), url));
    }
    let path = PathBuf::from(text);
    if !path.is_absolute() || text.contains('\0') {
        return Err(invalid("must be an absolute path of a directory, or a URL such as s3://bucket/prefix".into()));
    }
    Ok(Destination::Directory(path))
}

fn require_allowed(identity: &Identity) -> Result<(), Error> {
    access::require_site_admin(identity)?;
    if identity.account().is_none_or(|account| account.proof != Proof::Peer) {
        let reason = "backups are started over the Unix socket of the daemon, without a token".into();
        return Err(Error::Forbidden { reason });
    }
    Ok(())
}

/// Requires that all nodes respect the hold of a backup, and that no other node makes one. If two begin at the same
/// time, one of them fails.
async fn require_cluster_ready(context: &Context) -> Result<(), Error> {
    let refused = |error: BackupError| Error::Conflict { reason: error.to_string() };
    require_respected(&context.store).map_err(refused)?;
    let running = running_on(&context.store, &context.clock).await?;
    running.map_or(Ok(()), |node| Err(refused(BackupError::Running { node })))
}

/// Requires a local user who can read the data directory. Members of `socket.admin_group` are administrators, but
/// cannot read the keys; a backup that leaves the directories of the daemon would give the keys to them.
fn require_owner_of_data(local_user: Option<u32>) -> Result<(), Error> {
    if local_user.is_some_and(|uid| uid == 0 || uid == rustix::process::geteuid().as_raw()) {
        return Ok(());
    }
    let reason = "only root and the user of the daemon back up to a stream or a bucket, because a backup has all keys; \
                  back up to a directory";
    Err(Error::Forbidden { reason: reason.into() })
}

/// Returns the audit entry of a backup.
pub fn entry(input: &CreateBackup) -> Entry {
    let mut entry = Entry::new(Action::BackupCreate, Object::new("backup", 0, &input.destination));
    if let Some(keep) = input.keep {
        entry = entry.set("keep", keep);
    }
    if input.without_caches {
        entry = entry.set("without_caches", true);
    }
    entry
}

/// Makes a backup. Returns whether it is complete.
async fn run(context: Context, running: RunningBackup, request: BackupRequest) -> bool {
    let task = Arc::clone(&running.task);
    let stop = context.tasks.stop().clone();
    let result = tokio::select! {
        () = stop.cancelled() => Err("the daemon stopped; the next backup continues".to_owned()),
        result = write(&context, request, Arc::clone(&task.progress)) => result.map_err(|error| with_causes(&error)),
    };
    match &result {
        Ok(finished) => {
            tracing::info!(destination = task.destination, name = finished.name, "a backup is complete");
            for warning in &finished.warnings {
                tracing::warn!(destination = task.destination, warning, "a backup has a warning");
            }
        }
        Err(error) => tracing::error!(destination = task.destination, error, "a backup failed"),
    }
    let is_complete = result.is_ok();
    running.end(result);
    // Removals that waited for the backup.
    context.sweep.now();
    context.pruning.now();
    context.tidying.removals.now();
    is_complete
}

async fn write(
    context: &Context,
    request: BackupRequest,
    progress: Arc<BackupProgress>,
) -> Result<FinishedBackup, BackupError> {
    let holder = BackupHolder { begun_by: context.node.this_start(), node: context.node.name().to_owned() };
    let (store, git) = (context.store.clone(), context.git.clone());
    let source = BackupSource::open(&context.config, store, git, Some(holder)).await?;
    create(&source, request, &context.clock, progress).await
}

/// Returns the text of an error with its causes.
fn with_causes(error: &dyn StdError) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text += ": ";
        text += &error.to_string();
        cause = error.source();
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_root_and_the_user_of_the_daemon_receive_the_keys() {
        let own = rustix::process::geteuid().as_raw();
        assert!(require_owner_of_data(Some(0)).is_ok() && require_owner_of_data(Some(own)).is_ok());
        for other in [None, Some(own + 1)] {
            assert!(matches!(require_owner_of_data(other), Err(Error::Forbidden { .. })), "{other:?}");
        }
    }

    #[test]
    fn a_backup_that_is_dropped_has_ended_and_blocks_no_other() {
        let state = BackupState::default();
        let claim = || state.claim(BackupTask::new("/backups".to_owned(), 0), Clock::system());
        let failed = |end: &BackupEnd| end.result.is_err();
        let running = claim().expect("the first");
        assert!(matches!(claim(), Err(Error::Conflict { .. })));
        drop(running);
        assert!(state.latest().is_some_and(|task| task.end.get().is_some_and(failed)));
        let running = claim().expect("the second");
        running.end(Ok(FinishedBackup::default()));
        drop(running);
        assert!(state.latest().is_some_and(|task| task.end.get().is_some_and(|end| !failed(end))));
    }
}
