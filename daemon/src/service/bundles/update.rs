//! Writes the bundles of repositories: a base, then an increment each day, and a new base after seven of them.
//!
//! One bundle is written at a time, by one git process. It streams through the daemon, which counts its bytes against
//! the disk reserve and against `git.bundle_max_bytes`.

use std::{error::Error as StdError, sync::Arc, time::Duration};

use bytes::BytesMut;
use farrier_proto::store::Repository;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    time::timeout,
};

use super::{DAEMON, current, drop_all, facts};
use crate::{
    clock::Millis,
    copies::CopyError,
    git::{
        GitError, GitProcess,
        bundles::{Bundle, BundleRefused, BundleSet, BundleWriter},
    },
    service::{Context, Error, migrations, transfers::WriteSpace},
    store::repositories,
};

const DAY_MS: Millis = 86_400_000;
/// Pause after a bundle could not be written for a reason without a pause of its own.
const PAUSE_MS: Millis = 3_600_000;
/// Pause after all git processes were in use.
const BUSY_PAUSE_MS: Millis = 60_000;
/// Bundles that no client used for this time are dropped.
const UNUSED_MS: Millis = 7 * DAY_MS;
/// Most increments of a base. A clone downloads all of them.
const INCREMENTS_MAX: usize = 7;
/// Capacity of the buffer for the output of git.
const BUFFER_BYTES: usize = 256 << 10;
/// How git ends if the branches and tags have no object that the earlier bundles lack.
const NOTHING_NEW: &str = "Refusing to create empty bundle";

/// Why a bundle was not written.
#[derive(Debug, thiserror::Error)]
enum BundleError {
    #[error(transparent)]
    Git(#[from] GitError),
    #[error(transparent)]
    Copy(#[from] CopyError),
    #[error(transparent)]
    Refused(#[from] BundleRefused),
    /// The disk has no room above the reserve.
    #[error("there is not enough free disk space")]
    NoSpace,
    /// Git wrote nothing for too long.
    #[error("git made no progress for {0:?}")]
    Stalled(Duration),
}

/// Drops the bundles that are not to be served any more, and writes those that are due. Returns when the next one is
/// due.
pub async fn update(context: &Context) -> Result<Option<Millis>, Error> {
    let bundles = context.git.bundles();
    let mut due = Vec::new();
    for (id, used_ms) in bundles.kept() {
        let row = repositories::get(&context.store.read().await?, id).await?;
        let row = row.filter(|row| !row.deleted && used_ms.saturating_add(UNUSED_MS) > context.now_ms());
        let Some(set) = bundles.set(id) else { continue };
        match row {
            Some(row) if *set.facts() == facts(&row) => {
                if set.next_update_ms() <= context.now_ms() {
                    due.push(row);
                }
            }
            _ => context.git.drop_bundle_set(&set).await,
        }
    }
    for id in bundles.wanted(context.now_ms()) {
        let row = repositories::get(&context.store.read().await?, id).await?;
        let row = row.filter(|row| !row.deleted && migrations::pending(row).is_none());
        match row.filter(|row| bundles.accepts(row.size_bytes)) {
            Some(row) => due.push(row),
            None => drop_all(context, id).await,
        }
    }
    for row in due {
        let written = write_next(context, &row).await;
        bundles.end();
        let Err(error) = written else { continue };
        let pause_ms = match &error {
            // New clones may demand bundles at once.
            BundleError::Refused(BundleRefused::Dropped) => 0,
            BundleError::Refused(BundleRefused::TooLarge { .. }) => DAY_MS,
            BundleError::Git(GitError::Busy) => BUSY_PAUSE_MS,
            _ => PAUSE_MS,
        };
        tracing::warn!(repository = row.id, error = &error as &dyn StdError, "a bundle was not written");
        bundles.postpone(row.id, context.now_ms().saturating_add(pause_ms));
    }
    let sets = bundles.kept().into_iter().filter_map(|(id, used_ms)| {
        let next_ms = bundles.set(id)?.next_update_ms();
        Some(next_ms.min(used_ms.saturating_add(UNUSED_MS)))
    });
    Ok(sets.min())
}

/// Writes the next bundle of a repository, if it has anything to write.
async fn write_next(context: &Context, row: &Repository) -> Result<(), BundleError> {
    let next_ms = context.now_ms().saturating_add(DAY_MS);
    // From here on, a push that makes commits unreachable drops the bundle that is being written.
    context.copies.current(row.id).await?;
    let previous = current(context, row, DAEMON).await;
    if previous.is_none() && !context.git.bundles().wanted(context.now_ms()).contains(&row.id) {
        // They cannot be compared now, or they were dropped, and no clones demand others yet.
        if context.git.bundles().set(row.id).is_some() {
            context.git.bundles().postpone(row.id, context.now_ms().saturating_add(PAUSE_MS));
        }
        return Ok(());
    }
    let is_full = previous.as_ref().is_some_and(|set| set.bundles().len() > INCREMENTS_MAX);
    let known = previous.as_ref().map(|set| set.ids()).unwrap_or_default();
    let memory = Arc::new(context.serving.memory.request(DAEMON));
    let has_news = context.git.has_news(row.id, &known, &memory).await?;
    drop(memory);
    if has_news != Some(true) {
        // Nothing changed, the repository is empty, only git can read its refs, or they are too many.
        context.git.bundles().postpone(row.id, next_ms);
        return Ok(());
    }
    let extended = previous.as_ref().filter(|_| !is_full);
    context.git.bundles().begin(row.id, extended.is_none());
    let bundle = match write(context, row, extended).await {
        Ok(bundle) => bundle,
        Err(BundleError::Git(GitError::Failed { stderr, .. })) if stderr.contains(NOTHING_NEW) => {
            context.git.bundles().postpone(row.id, next_ms);
            return Ok(());
        }
        Err(error) => return Err(error),
    };
    let bundle = Arc::new(bundle);
    let earlier = extended.map(|set| set.bundles().to_vec()).unwrap_or_default();
    let all: Vec<Arc<Bundle>> = earlier.into_iter().chain([bundle.clone()]).collect();
    tracing::info!(repository = row.id, bytes = bundle.size, number = all.len(), "a bundle was written");
    let set = Arc::new(BundleSet::new(facts(row), all, next_ms));
    match context.git.bundles().publish(set, context.now_ms()) {
        Ok(Some(replaced)) if extended.is_none() => replaced.remove_files().await,
        Ok(_) => {}
        Err(refused) => {
            bundle.discard().await;
            return Err(refused.into());
        }
    }
    for dropped in context.git.bundles().limit_tips(row.id) {
        dropped.remove_files().await;
    }
    // A push may have made a commit unreachable after git read the refs, and looked for bundles before this one.
    current(context, row, DAEMON).await;
    Ok(())
}

/// Writes a bundle of all branches and tags, without the objects in the bundles of `extended`.
async fn write(context: &Context, row: &Repository, extended: Option<&Arc<BundleSet>>) -> Result<Bundle, BundleError> {
    let mut writer = context.git.bundles().create_file(row.id).await?;
    if let Err(error) = fill(context, row, extended, &mut writer).await {
        writer.discard().await;
        return Err(error);
    }
    let kind = if extended.is_some() { "daily" } else { "base" };
    // Larger than all before, also if the clock was set back or the base was replaced within a second.
    let last = context.git.bundles().set(row.id).and_then(|set| Some(set.bundles().last()?.creation_token));
    let seconds = u64::try_from(context.now_ms().div_euclid(1_000)).unwrap_or(0);
    let creation_token = seconds.max(last.map_or(0, |last| last + 1));
    Ok(writer.finish(&context.git, row.id, kind, creation_token).await?)
}

/// Runs git and stores its output.
async fn fill(
    context: &Context,
    row: &Repository,
    extended: Option<&Arc<BundleSet>>,
    writer: &mut BundleWriter,
) -> Result<(), BundleError> {
    let known: String = extended.into_iter().flat_map(|set| set.ids()).flat_map(|id| ["^", id, "\n"]).collect();
    let mut process = context.git.start_bundle(row.id).await?;
    let stdin = process.stdin();
    let feeding = async {
        if let Some(mut stdin) = stdin {
            // Git may stop reading early; its exit status says why.
            let _ = stdin.write_all(known.as_bytes()).await;
        }
        Ok::<_, BundleError>(())
    };
    // An error ends both, and git.
    tokio::try_join!(feeding, store(context, &mut process, writer))?;
    let ended = process.wait().await?;
    if ended.status != Some(0) {
        let failed = GitError::Failed { command: ended.command, status: ended.status, stderr: ended.stderr };
        return Err(failed.into());
    }
    Ok(())
}

/// Stores the output of git.
async fn store(context: &Context, process: &mut GitProcess, writer: &mut BundleWriter) -> Result<(), BundleError> {
    let limit = context.git.timeout();
    let mut space = WriteSpace::default();
    loop {
        let mut buffer = BytesMut::with_capacity(BUFFER_BYTES);
        let read = timeout(limit, process.read_buf(&mut buffer)).await.map_err(|_| BundleError::Stalled(limit))?;
        if read.map_err(GitError::from_output)? == 0 {
            return Ok(());
        }
        let chunk = buffer.freeze();
        let length = chunk.len() as u64;
        for dropped in context.git.bundles().grow(length)? {
            dropped.remove_files().await;
        }
        if !space.prepare(context, length).await {
            return Err(BundleError::NoSpace);
        }
        writer.append(chunk).await?;
        space.written(length);
    }
}
