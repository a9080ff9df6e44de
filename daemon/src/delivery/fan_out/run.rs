//! The background task that runs the steps of all fan-outs.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Mutex, PoisonError},
    time::Duration,
};

use farrier_proto::store::FanOutCursor;
use tokio::time::Instant;

use super::{DELIVERIES_MAX, DELIVERIES_MAX_BESIDE_OTHERS, WrittenDeliveries, backlog, step};
use crate::{
    delivery::DeliveryContext,
    store::{
        StoreError, Tx, WriteObserver,
        fan_outs::{self, FanOutQueue},
        retried_work::RetriedWork,
    },
};

/// Queues of fan-outs that are read at a time.
const QUEUES_AT_ONCE: usize = 256;
/// Pause after an error of the store.
const PAUSE_AFTER_ERROR: Duration = Duration::from_secs(1);
/// Shortest time between two counts of the waiting deliveries while a fan-out waits for them.
const PAUSE_BETWEEN_COUNTS: Duration = Duration::from_secs(1);

/// Makes the steps of all fan-outs until the lease of the caller is lost.
pub async fn run(context: &DeliveryContext) {
    let mut task = FanOutTask::new(context.clone());
    let work = RetriedWork::new("a fan-out");
    loop {
        let passed = task.pass().await;
        if passed.is_ok() {
            work.succeeded();
        }
        match passed {
            Ok(Pass::Progress) => tokio::task::yield_now().await,
            Ok(Pass::Idle) => context.backlog.wait().await,
            Ok(Pass::Blocked) => {
                context.backlog.wait().await;
                tokio::time::sleep(PAUSE_BETWEEN_COUNTS).await;
            }
            Ok(Pass::Uncounted) => tokio::time::sleep(PAUSE_BETWEEN_COUNTS).await,
            Err(StoreError::LeaseLost { .. }) => return,
            Err(error) => {
                work.failed(&error);
                tokio::time::sleep(PAUSE_AFTER_ERROR).await;
            }
        }
    }
}

/// Counts the waiting deliveries again if those of an owner have reached the limit. For a node that makes no steps.
pub async fn count_if_full(context: &DeliveryContext) -> Result<(), StoreError> {
    let limit = context.config.webhook.max_waiting_per_owner;
    if context.backlog.is_full(limit) { count(context, limit).await } else { Ok(()) }
}

async fn count(context: &DeliveryContext, limit: u64) -> Result<(), StoreError> {
    context.backlog.begin_count();
    let snapshot = context.store.read().await?;
    context.backlog.counted(backlog::count(&snapshot, limit).await?);
    Ok(())
}

/// The result of a pass over all queues.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Pass {
    /// At least one step was made.
    Progress,
    /// There are no fan-outs.
    Idle,
    /// All fan-outs wait until deliveries of their owners have ended.
    Blocked,
    /// Like `Blocked`, but the waiting deliveries were counted too recently to be counted again.
    Uncounted,
}

pub(super) struct FanOutTask {
    context: DeliveryContext,
    /// When the waiting deliveries may be counted again.
    next_count: Option<Instant>,
    /// The owners with fan-outs, and the queue of each in which the last step was made.
    last_queues: BTreeMap<u64, FanOutQueue>,
    /// The owners with a fan-out that waits. Each was logged once.
    blocked_owners: BTreeSet<u64>,
    observer: WriteObserver,
}

impl FanOutTask {
    pub(super) fn new(context: DeliveryContext) -> Self {
        let observer = context.store.observer();
        Self { context, next_count: None, last_queues: BTreeMap::new(), blocked_owners: BTreeSet::new(), observer }
    }

    /// Makes one step for each owner with a fan-out, so that an owner with many fan-outs does not delay the others.
    /// With more than [`QUEUES_AT_ONCE`] queues, an owner may get one step for each page of queues.
    pub(super) async fn pass(&mut self) -> Result<Pass, StoreError> {
        if self.next_count.is_none() {
            self.count().await?;
        }
        // Before the waiting deliveries are counted: results that are recorded from now on lead to another pass.
        self.context.backlog.set_blocked(true);
        let (mut after, mut failed, mut progress, mut counted) = (None, None, false, false);
        let (mut blocked, mut last_queues) = (BTreeSet::new(), BTreeMap::new());
        loop {
            let page = fan_outs::queues(&self.context.store.read().await?, after, QUEUES_AT_ONCE).await?;
            for (owner, queue) in self.next_queues(&page) {
                if !self.has_room(owner) && !counted && self.next_count.is_none_or(|at| at <= Instant::now()) {
                    self.count().await?;
                    counted = true;
                }
                if !self.has_room(owner) {
                    blocked.insert(owner);
                    continue;
                }
                last_queues.insert(owner, queue);
                match self.step(queue).await {
                    Ok(()) => progress = true,
                    // An unreadable fan-out must not stop the others.
                    Err(error) => failed = Some(error),
                }
            }
            if page.len() < QUEUES_AT_ONCE {
                break;
            }
            after = page.last().map(|(queue, _)| *queue);
        }
        self.last_queues = last_queues;
        self.context.backlog.set_blocked(!blocked.is_empty());
        self.log_blocked(&blocked);
        match failed {
            Some(error) => Err(error),
            None if progress => Ok(Pass::Progress),
            None if blocked.is_empty() => Ok(Pass::Idle),
            None if counted => Ok(Pass::Blocked),
            None => Ok(Pass::Uncounted),
        }
    }

    /// Returns the next queue of each owner: the one after the queue of its last step.
    fn next_queues(&self, page: &[(FanOutQueue, FanOutCursor)]) -> BTreeMap<u64, FanOutQueue> {
        let mut next = BTreeMap::new();
        for (queue, cursor) in page {
            let is_later = |queue: &FanOutQueue| self.last_queues.get(&cursor.owner_id).is_none_or(|last| queue > last);
            let chosen = next.entry(cursor.owner_id).or_insert(*queue);
            if !is_later(chosen) && is_later(queue) {
                *chosen = *queue;
            }
        }
        next
    }

    async fn step(&mut self, queue: FanOutQueue) -> Result<(), StoreError> {
        let context = &self.context;
        let limit = if self.observer.others_write() { DELIVERIES_MAX_BESIDE_OTHERS } else { DELIVERIES_MAX };
        let (written, now) = (Mutex::new(WrittenDeliveries::default()), context.now_ms());
        let result = context
            .store
            .write_in_background(async |tx: Tx| {
                let step = step::step(&tx, &context.root_url, queue, limit, now).await?;
                *written.lock().unwrap_or_else(PoisonError::into_inner) = step;
                Ok::<_, StoreError>(())
            })
            .await;
        // Also after an error: the outcome of the commit may be unknown.
        written.into_inner().unwrap_or_else(PoisonError::into_inner).announce(context);
        result
    }

    fn has_room(&self, owner: u64) -> bool {
        self.context.backlog.has_room(owner, self.context.config.webhook.max_waiting_per_owner)
    }

    async fn count(&mut self) -> Result<(), StoreError> {
        count(&self.context, self.context.config.webhook.max_waiting_per_owner).await?;
        self.next_count = Some(Instant::now() + PAUSE_BETWEEN_COUNTS);
        Ok(())
    }

    fn log_blocked(&mut self, blocked: &BTreeSet<u64>) {
        for owner in blocked.difference(&self.blocked_owners) {
            let limit = self.context.config.webhook.max_waiting_per_owner;
            tracing::warn!(
                owner,
                limit,
                "too many deliveries wait for the hooks of an owner: further ones are delayed"
            );
        }
        self.blocked_owners.clone_from(blocked);
    }
}
