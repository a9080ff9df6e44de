//! Adds to a push what only git knows, once, before its first attempt: all attempts say the same.

use std::{collections::HashMap, time::Duration};

use bytes::Bytes;
use farrier_proto::store::{Delivery, User};
use serde_json::{Map, Value};

use crate::{
    app::App,
    git::{
        GitError,
        read::{Query, Reader, commit::Commit, history::Changes},
        ref_name::{self, HEADS},
    },
    service::{Error, browse},
    store::{
        Tx,
        deliveries::{self, Said},
        repositories,
    },
    webhook::push::{self, Bounds, People, Pushed},
};

/// How often a busy git is asked again.
const TRIES: u32 = 5;

/// The JSON of `row`'s event, completed and written back.
pub(super) async fn complete(app: &App, row: &Delivery, said: Said) -> Result<Bytes, Error> {
    let Some(mut event) = push::object(&said.json) else { return Ok(said.json) };
    fill(app, row, &mut event, said.known).await?;
    let made = push::bytes(&event);
    app.store
        .write(async |tx: Tx| {
            // Another hook's worker may have been quicker: then all say what it has written.
            match deliveries::is_incomplete(&tx, row.event_id).await? {
                Some(true) => deliveries::put_payload(&tx, row.event_id, &made),
                Some(false) => return Ok(deliveries::payload(&tx, row.event_id).await?.map(|said| said.json)),
                None => {}
            }
            Ok::<_, Error>(None)
        })
        .await
        .map(|other| other.unwrap_or(made))
}

async fn fill(app: &App, row: &Delivery, event: &mut Map<String, Value>, known: Vec<String>) -> Result<(), Error> {
    let text = |key: &str| event.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
    let moved = RefMove { name: text("ref"), before: text("before"), after: text("after"), known };
    let mut pushed = Pushed::default();
    for attempt in 1.. {
        match read(app, row.repository_id, &moved).await {
            Ok(found) => {
                pushed = found;
                break;
            }
            Err(Error::Busy) if attempt < TRIES => tokio::time::sleep(Duration::from_secs(1)).await,
            Err(error) => {
                // What is not there any more cannot be told; the rest of the push can.
                let error = &error as &dyn std::error::Error;
                tracing::warn!(repository = row.repository_id, error, "a push is told without its commits");
                break;
            }
        }
    }
    let commits: Vec<&Commit> = pushed.commits.iter().chain(&pushed.head).map(|(commit, _)| commit).collect();
    let people = Accounts(browse::people(&app.store.read().await?, &commits).await?);
    let limits = &app.config.webhook;
    let bounds = Bounds { files: limits.max_files_per_commit, bytes: limits.max_payload_bytes };
    push::fill(event, &pushed, &people, &app.root_url, bounds);
    Ok(())
}

/// A change of a ref that is asked about.
struct RefMove {
    name: String,
    before: String,
    after: String,
    /// Where other branches were before it was made: what they reach is not new.
    known: Vec<String>,
}

async fn read(app: &App, repository: u64, moved: &RefMove) -> Result<Pushed, Error> {
    let snapshot = app.store.read().await?;
    let row = repositories::get(&snapshot, repository).await?.filter(|row| !row.deleted);
    let Some(row) = row else { return Ok(Pushed::default()) };
    drop(snapshot);
    let git = app.git.reader(repository);
    if ref_name::is_zero(&moved.after) {
        return Ok(Pushed::default());
    }
    let Some(head) = git.resolve(&moved.after).await.map_err(busy)? else { return Ok(Pushed::default()) };
    if !moved.name.starts_with(HEADS) {
        return Ok(Pushed { head: one(&git, &head).await?, ..Pushed::default() });
    }
    if moved.before == moved.after {
        // Nothing moved: a test shows the commit that is there.
        let shown = one(&git, &head).await?;
        let compared = Some((head.clone(), head));
        return Ok(Pushed { commits: shown.clone().into_iter().collect(), total: 1, head: shown, compared });
    }
    let new = ref_name::is_zero(&moved.before);
    let not = if new { moved.known.clone() } else { vec![moved.before.clone()] };
    let limit = app.config.webhook.max_commits;
    let query = Query { from: head.clone(), not, limit, changes: true, ..Query::default() };
    let (page, total) = tokio::try_join!(git.history(&query), git.count(&query)).map_err(busy)?;
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
    Ok(Pushed { commits, total, head, compared })
}

async fn one(git: &Reader, id: &str) -> Result<Option<(Commit, Option<Changes>)>, Error> {
    let query = Query { from: id.to_owned(), limit: 1, changes: true, ..Query::default() };
    let page = git.history(&query).await.map_err(busy)?;
    Ok(load(git, page).await?.into_iter().next())
}

async fn load(git: &Reader, page: Vec<Changes>) -> Result<Vec<(Commit, Option<Changes>)>, Error> {
    let ids: Vec<String> = page.iter().map(|changes| changes.id.clone()).collect();
    let commits = git.commits(&ids).await.map_err(busy)?;
    let mut by_id: HashMap<_, _> = commits.into_iter().map(|commit| (commit.id.clone(), commit)).collect();
    Ok(page.into_iter().filter_map(|changes| Some((by_id.remove(&changes.id)?, Some(changes)))).collect())
}

fn busy(error: GitError) -> Error {
    Error::git("reading a push")(error)
}

/// Accounts by address in lower case.
struct Accounts(HashMap<String, User>);

impl People for Accounts {
    fn name(&self, email: &str) -> &str {
        self.0.get(&email.to_lowercase()).map_or("", |user| user.name.as_str())
    }
}
