//! Reads events in order, limited to those that the caller may see, without losing an event that is committed
//! after a later one.

use std::collections::HashMap;

use farrier_proto::store::Event;

use crate::{
    clock::Millis,
    model::identity::Identity,
    service::{
        Context, Error,
        access::{self, AccessLevel, Action},
    },
    store::{Read, Snapshot, StoreError, Tx, events, fan_outs, owners, repositories},
};

/// Number of rows per read.
const BATCH: usize = 256;
/// Maximum number of rows that one page reads. A caller who may see few of them gets a short or empty page and
/// continues with the next one.
const ROWS_READ_MAX: usize = 4_096;
/// Maximum number of events that one step of the sweep removes.
const SWEEP_MAX: usize = 1_000;
/// Minimum interval between removals of expired events, milliseconds.
const SWEEP_EVERY_MS: Millis = 3_600 * 1_000;

/// Which events to return.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EventFilter {
    /// Only events of this repository.
    pub repository: Option<u64>,
    /// Only events of these kinds; empty for all.
    pub kinds: Vec<String>,
}

/// A page of events.
#[derive(Clone, Debug, Default)]
pub struct Page {
    /// The matching events that the caller may see.
    pub events: Vec<Event>,
    /// Id after which the next page starts.
    pub next: u64,
    /// Whether the next page may have events.
    pub more: bool,
    /// Whether events after the start of this page have expired.
    pub gap: bool,
    /// Whether there are later events that cannot be read yet, because a transaction may still commit earlier ones.
    pub waits: bool,
}

/// Returns at most `limit` events after the event `after`, oldest first.
///
/// The loop ends because each step reads the rows after those of the previous step, and because rows are in
/// order: the first unsettled event ends the page.
pub async fn page(
    context: &Context,
    identity: &Identity,
    filter: &EventFilter,
    after: u64,
    limit: usize,
) -> Result<Page, Error> {
    access::require_account(identity)?;
    let snapshot = context.store.read().await?;
    let end = events::unsettled(&snapshot).await?;
    let forgotten = events::forgotten(&snapshot).await?;
    let mut page = Page { next: after.max(forgotten), gap: after < forgotten, ..Page::default() };
    let mut visibility = VisibilityCache { identity, by_repository: HashMap::new() };
    let mut rows_read = 0;
    loop {
        let rows = events::after(&snapshot, page.next, BATCH).await?;
        let is_full = rows.len() == BATCH;
        for row in rows {
            if row.id >= end {
                page.waits = true;
                return Ok(page);
            }
            if page.events.len() == limit || rows_read == ROWS_READ_MAX {
                page.more = true;
                return Ok(page);
            }
            rows_read += 1;
            page.next = row.id;
            if filter.matches(&row) && visibility.is_visible(&snapshot, &row).await? {
                page.events.push(row);
            }
        }
        if !is_full {
            return Ok(page);
        }
        tokio::task::yield_now().await;
    }
}

/// Returns the newest `limit` events among the last 4,096, oldest first. A reader that continues after `next`
/// misses no event.
pub async fn newest(context: &Context, identity: &Identity, filter: &EventFilter, limit: usize) -> Result<Page, Error> {
    access::require_account(identity)?;
    let snapshot = context.store.read().await?;
    let mut before = events::unsettled(&snapshot).await?;
    let newest = events::before(&snapshot, before, 1).await?.pop();
    let next = match newest {
        Some(event) => event.id,
        None => events::forgotten(&snapshot).await?,
    };
    let mut visibility = VisibilityCache { identity, by_repository: HashMap::new() };
    let mut page = Page { next, ..Page::default() };
    let mut rows_read = 0;
    // Each step reads the rows before those of the previous step.
    while rows_read < ROWS_READ_MAX {
        let rows = events::before(&snapshot, before, BATCH).await?;
        let is_full = rows.len() == BATCH;
        rows_read += rows.len();
        for row in rows {
            if page.events.len() == limit {
                break;
            }
            before = row.id;
            if filter.matches(&row) && visibility.is_visible(&snapshot, &row).await? {
                page.events.push(row);
            }
        }
        if !is_full || page.events.len() == limit {
            break;
        }
        tokio::task::yield_now().await;
    }
    page.events.reverse();
    Ok(page)
}

impl EventFilter {
    fn matches(&self, event: &Event) -> bool {
        self.repository.is_none_or(|repository| event.repository_id == repository)
            && (self.kinds.is_empty() || self.kinds.contains(&event.kind))
    }
}

/// What the caller may do with each repository of a page.
struct VisibilityCache<'a> {
    identity: &'a Identity,
    by_repository: HashMap<u64, AccessLevel>,
}

impl VisibilityCache<'_> {
    async fn is_visible(&mut self, snapshot: &Snapshot, event: &Event) -> Result<bool, StoreError> {
        let level = match self.by_repository.get(&event.repository_id) {
            Some(level) => *level,
            None => access_level(snapshot, self.identity, event.repository_id).await?,
        };
        self.by_repository.insert(event.repository_id, level);
        Ok(level.allows(Action::Read) && level.allows(action(&event.kind)))
    }
}

/// Returns the action that a caller needs to see events of a kind.
fn action(kind: &str) -> Action {
    match kind {
        "release" => Action::ReadReleases,
        "workflow_job" | "workflow_run" => Action::ReadActions,
        _ => Action::Read,
    }
}

/// Returns the caller's access to the events of a repository: that to the repository; only administrators see those of
/// a deleted one.
async fn access_level(read: &impl Read, identity: &Identity, id: u64) -> Result<AccessLevel, StoreError> {
    let is_unrestricted =
        identity.token().is_none_or(|token| token.repositories.is_empty() && !token.scopes.public_only());
    if identity.is_admin() && is_unrestricted {
        return Ok(AccessLevel::Owner);
    }
    let hidden = Ok(AccessLevel::Hidden);
    let Some(row) = repositories::get(read, id).await?.filter(|row| !row.deleted) else { return hidden };
    let Some(owner) = owners::owner(read, row.owner_kind(), row.owner_id).await? else { return hidden };
    access::access_level(read, identity, &owner, &row).await
}

/// Removes a bounded number of expired events. Keeps those whose deliveries are not all written. Returns whether there
/// may be more.
pub async fn sweep(context: &Context) -> Result<bool, Error> {
    let until = context.now_ms().saturating_sub(keep_ms(context));
    let snapshot = context.store.read().await?;
    let rows = events::after(&snapshot, 0, SWEEP_MAX).await?;
    // A fan-out is written in the transaction of its events, so that of every event in `rows` is in the same snapshot.
    let waiting = fan_outs::oldest_event(&snapshot).await?.unwrap_or(u64::MAX);
    drop(snapshot);
    let is_old = |row: &Event| row.at_ms <= until && row.id < waiting;
    let old = &rows.into_iter().take_while(is_old).collect::<Vec<_>>();
    if old.is_empty() {
        return Ok(false);
    }
    context
        .store
        .write(async |tx: Tx| {
            events::forget(&tx, old);
            Ok::<_, Error>(())
        })
        .await?;
    Ok(old.len() == SWEEP_MAX)
}

/// Returns when the next event expires. An expired event whose deliveries are not all written is looked at again after
/// a while.
pub async fn next_due_ms(context: &Context) -> Result<Option<Millis>, Error> {
    let snapshot = context.store.read().await?;
    let first = events::after(&snapshot, 0, 1).await?;
    let Some(first) = first.first() else { return Ok(None) };
    let due = first.at_ms.saturating_add(keep_ms(context)).saturating_add(SWEEP_EVERY_MS);
    let waits = fan_outs::oldest_event(&snapshot).await?.is_some_and(|oldest| oldest <= first.id);
    Ok(Some(if waits { due.max(context.now_ms().saturating_add(SWEEP_EVERY_MS)) } else { due }))
}

/// Schedules the sweep for the expiry of an event that is recorded now.
pub(super) fn remember(context: &Context, now: Millis) {
    context.sweep.due_at(now.saturating_add(keep_ms(context)).saturating_add(SWEEP_EVERY_MS));
}

fn keep_ms(context: &Context) -> Millis {
    Millis::try_from(context.config.events.keep.as_millis()).unwrap_or(Millis::MAX)
}
