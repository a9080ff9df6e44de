//! Adds the commits to the payload of a push. This happens once, before the first attempt, so that all attempts send
//! the same body.

use std::{
    collections::{BTreeMap, HashMap},
    sync::{Arc, Mutex, PoisonError, Weak},
    time::Duration,
};

use bytes::Bytes;
use farrier_proto::store::{Delivery, User};
use serde_json::{Map, Value};

use super::DeliveryContext;
use crate::{
    copies::CopyError,
    git::{
        GitError,
        read::{HistoryQuery, RepositoryReader, commit::CommitObject, history::Changes},
        ref_name::{self, HEADS},
    },
    store::{
        StoreError, Tx,
        deliveries::{self, EventPayload},
        owners, repositories,
    },
    webhook::push::{self, AccountNames, PayloadLimits, PushDetails},
};

/// Attempts to read the commits while too many git processes are running.
const TRIES: u32 = 5;

/// Why the payload of a push could not be completed.
#[derive(Debug, thiserror::Error)]
pub enum DeliveryError {
    /// The store failed.
    #[error("reading or writing the store failed")]
    Store(#[from] StoreError),
    /// Git failed.
    #[error("reading the commits of a push failed")]
    Git(#[from] GitError),
    /// The directory of the repository could not be brought up to date.
    #[error("bringing the directory of a repository up to date failed")]
    Copy(#[from] CopyError),
}

/// The events whose payloads are being completed. The workers of all hooks of an event start at the same time, and only
/// one of them reads the commits.
#[derive(Debug, Default)]
pub struct Completions(Mutex<HashMap<u64, Weak<tokio::sync::Mutex<()>>>>);

impl Completions {
    /// Returns the lock of an event.
    fn lock_of(&self, event: u64) -> Arc<tokio::sync::Mutex<()>> {
        let mut locks = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(lock) = locks.get(&event).and_then(Weak::upgrade) {
            return lock;
        }
        locks.retain(|_, lock| lock.strong_count() > 0);
        let lock = Arc::default();
        locks.insert(event, Arc::downgrade(&lock));
        lock
    }
}

/// Returns the complete JSON of the event of `row`, after writing it to the store.
pub(super) async fn complete(
    context: &DeliveryContext,
    row: &Delivery,
    payload: EventPayload,
) -> Result<Bytes, DeliveryError> {
    let lock = context.completions.lock_of(row.event_id);
    let _guard = lock.lock().await;
    let current = deliveries::payload(&context.store.read().await?, row.event_id).await?;
    if let Some(complete) = current.filter(|current| !current.incomplete) {
        return Ok(complete.json);
    }
    let Some(mut event) = push::object(&payload.json) else { return Ok(payload.json) };
    fill(context, row, &mut event, payload.known).await?;
    let complete = push::bytes(&event);
    context
        .store
        .write(async |tx: Tx| {
            // The worker of another hook may have written the payload already. Then that version is used.
            match deliveries::is_incomplete(&tx, row.event_id).await? {
                Some(true) => deliveries::put_payload(&tx, row.event_id, &complete),
                Some(false) => return Ok(deliveries::payload(&tx, row.event_id).await?.map(|payload| payload.json)),
                None => {}
            }
            Ok::<_, StoreError>(None)
        })
        .await
        .map(|other| other.unwrap_or(complete))
        .map_err(DeliveryError::from)
}

async fn fill(
    context: &DeliveryContext,
    row: &Delivery,
    event: &mut Map<String, Value>,
    known: Vec<String>,
) -> Result<(), DeliveryError> {
    let text = |key: &str| event.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
    let moved = RefMove { name: text("ref"), before: text("before"), after: text("after"), known };
    let mut details = PushDetails::default();
    for attempt in 1.. {
        match read(context, row.repository_id, &moved).await {
            Ok(found) => {
                details = found;
                break;
            }
            Err(DeliveryError::Git(GitError::Busy) | DeliveryError::Copy(_)) if attempt < TRIES => {
                tokio::time::sleep(Duration::from_secs(1)).await;
            }
            Err(error) => {
                // The commits may have been removed. The push is then sent without them.
                let error = &error as &dyn std::error::Error;
                tracing::warn!(repository = row.repository_id, error, "a push event is sent without its commits");
                break;
            }
        }
    }
    let commits = details.commits.iter().chain(&details.head);
    let authors = commits.flat_map(|(commit, _)| [&commit.author, &commit.committer]);
    let addresses: Vec<&str> = authors.map(|person| person.email.as_str()).collect();
    let accounts = owners::users_by_email(&context.store.read().await?, &addresses).await?;
    let config = &context.config.webhook;
    let limits = PayloadLimits { files: config.max_files_per_commit, bytes: config.max_payload_bytes };
    push::fill(event, &details, &accounts, &context.root_url, limits);
    Ok(())
}

/// A change of a ref whose commits are needed.
struct RefMove {
    name: String,
    before: String,
    after: String,
    /// Tips of the other branches before the branch was created. Commits that they reach are not new.
    known: Vec<String>,
}

async fn read(context: &DeliveryContext, repository: u64, moved: &RefMove) -> Result<PushDetails, DeliveryError> {
    let snapshot = context.store.read().await?;
    let row = repositories::get(&snapshot, repository).await?.filter(|row| !row.deleted);
    let Some(row) = row else { return Ok(PushDetails::default()) };
    drop(snapshot);
    context.copies.current(repository).await?;
    // No client waits, so the limit is that of other git work.
    let git = context.git.reader(repository).with_timeout(context.git.timeout());
    if ref_name::is_zero(&moved.after) {
        return Ok(PushDetails::default());
    }
    let Some(head) = git.resolve(&moved.after).await? else { return Ok(PushDetails::default()) };
    if !moved.name.starts_with(HEADS) {
        return Ok(PushDetails { head: one(&git, &head).await?, ..PushDetails::default() });
    }
    if moved.before == moved.after {
        // The ref did not move: this is a test delivery, which shows the current commit.
        let shown = one(&git, &head).await?;
        let compared = Some((head.clone(), head));
        return Ok(PushDetails { commits: shown.clone().into_iter().collect(), total: 1, head: shown, compared });
    }
    let new = ref_name::is_zero(&moved.before);
    let not = if new { moved.known.clone() } else { vec![moved.before.clone()] };
    let limit = context.config.webhook.max_commits;
    let query = HistoryQuery { from: head.clone(), not, limit, changes: true, ..HistoryQuery::default() };
    let (page, total) = tokio::try_join!(git.history(&query), git.count(&query))?;
    let commits = load(&git, page).await?;
    let compared = if new {
        let parent = commits.last().and_then(|(commit, _)| commit.parents.first().cloned());
        (!commits.is_empty()).then(|| (parent.unwrap_or(row.default_branch), head.clone()))
    } else {
        Some((moved.before.clone(), moved.after.clone()))
    };
    let head = match commits.first() {
        Some(first) if first.0.id == head => Some(first.clone()),
        _ => one(&git, &head).await?,
    };
    Ok(PushDetails { commits, total, head, compared })
}

async fn one(git: &RepositoryReader, id: &str) -> Result<Option<(CommitObject, Option<Changes>)>, DeliveryError> {
    let query = HistoryQuery { from: id.to_owned(), limit: 1, changes: true, ..HistoryQuery::default() };
    let page = git.history(&query).await?;
    Ok(load(git, page).await?.into_iter().next())
}

async fn load(
    git: &RepositoryReader,
    page: Vec<Changes>,
) -> Result<Vec<(CommitObject, Option<Changes>)>, DeliveryError> {
    let ids: Vec<String> = page.iter().map(|changes| changes.id.clone()).collect();
    let commits = git.commits(&ids).await?;
    let mut by_id: HashMap<_, _> = commits.into_iter().map(|commit| (commit.id.clone(), commit)).collect();
    Ok(page.into_iter().filter_map(|changes| Some((by_id.remove(&changes.id)?, Some(changes)))).collect())
}

/// Accounts by e-mail address in lower case.
impl AccountNames for BTreeMap<String, User> {
    fn name(&self, email: &str) -> &str {
        self.get(&email.to_lowercase()).map_or("", |user| user.name.as_str())
    }
}
