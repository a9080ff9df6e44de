//! The node of this daemon: renews its row and takes leases.

use std::{error::Error as StdError, time::Duration};

use farrier_common::VERSION;
use farrier_proto::store::{Node, NodeFigures, NodeStart};
use tokio::sync::watch;

use super::{Context, Error, node_states};
use crate::{
    clock::{Clock, Millis},
    store::{
        Store, StoreError, Tx,
        leases::{self, HeldLease},
        nodes, value,
    },
};

/// Interval of renewals.
const INTERVAL: Duration = Duration::from_secs(5);
/// Pause after a failed renewal.
const PAUSE_AFTER_ERROR: Duration = Duration::from_secs(1);
/// Time after which the work under a lease ends if the node was not renewed. It is shorter than the time for which the
/// node is alive, because the renewal was sent before the store received it.
const SURE_MS: Millis = 10_000;

/// Interval at which background work reads what other nodes have changed, and at which it tries to take its lease.
const POLL_MS: Millis = 5_000;

/// What became of work that a row in the store names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WorkState {
    /// This daemon does it.
    Own,
    /// The daemon of another node does it.
    Elsewhere,
    /// The daemon that did it has ended.
    Interrupted,
}

/// The node of this daemon.
#[derive(Debug)]
pub struct OwnNode {
    id: u64,
    name: String,
    /// The first epoch of this start.
    start: u64,
    /// Whether other processes may use the store.
    is_shared: bool,
    renewed: watch::Sender<Renewed>,
}

/// The last successful renewal.
#[derive(Clone, Copy, Debug)]
pub struct Renewed {
    epoch: u64,
    /// When it was sent, by the monotonic clock.
    sent_ms: Millis,
}

impl Renewed {
    /// Returns the epoch of the node.
    pub fn epoch(&self) -> u64 {
        self.epoch
    }

    /// Returns the monotonic time until which the node certainly has its leases.
    pub fn sure_until_ms(&self) -> Millis {
        self.sent_ms.saturating_add(SURE_MS)
    }
}

impl OwnNode {
    /// Writes the row of the node `id`, whose daemon starts.
    pub async fn enter(store: &Store, clock: &Clock, id: u64, name: String) -> Result<Self, StoreError> {
        let is_shared = store.is_shared();
        let node = &Node {
            id,
            name: name.clone(),
            version: VERSION.into(),
            format_level: value::FORMAT_LEVEL,
            ..Node::default()
        };
        let (sent_ms, now) = (clock.monotonic_ms(), clock.now_ms());
        let entered = store.write(async |tx: Tx| {
            let row = nodes::enter(&tx, node, is_shared, now).await?;
            Ok::<_, StoreError>((row, tx.measure(clock).await?))
        });
        let (row, measured) = entered.await?;
        if let Some(measured) = measured {
            clock.follow(measured);
        }
        let renewed = watch::Sender::new(Renewed { epoch: row.epoch, sent_ms });
        Ok(Self { id, name, start: row.start, is_shared, renewed })
    }

    /// Returns `node.name`.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns this start, for rows of work that it does.
    pub fn this_start(&self) -> NodeStart {
        NodeStart { node: self.id, start: self.start }
    }

    /// Returns what became of work that a row names.
    pub async fn state_of(
        &self,
        tx: &Tx,
        begun_by: Option<&NodeStart>,
        clock_ms: Millis,
    ) -> Result<WorkState, StoreError> {
        if begun_by == Some(&self.this_start()) {
            return Ok(WorkState::Own);
        }
        let has_ended = nodes::has_ended(tx, begun_by, clock_ms).await?;
        Ok(if has_ended { WorkState::Interrupted } else { WorkState::Elsewhere })
    }

    /// Returns the ID of the node.
    pub fn id(&self) -> u64 {
        self.id
    }

    /// Returns a receiver of the last successful renewal.
    pub fn renewals(&self) -> watch::Receiver<Renewed> {
        self.renewed.subscribe()
    }

    fn epoch(&self) -> u64 {
        self.renewed.borrow().epoch
    }

    /// Renews the row, measures the clock of the store, and notes its format level. Returns `false` if another daemon
    /// has started with the same data directory.
    async fn renew(&self, store: &Store, clock: &Clock, figures: &NodeFigures) -> Result<bool, StoreError> {
        let (epoch, sent_ms, now) = (self.epoch(), clock.monotonic_ms(), clock.now_ms());
        let renewed = store.write(async |tx: Tx| {
            let renewal = nodes::renew(&tx, self.id, epoch, figures, now).await?;
            Ok::<_, StoreError>((renewal, tx.measure(clock).await?))
        });
        let (new, measured) = renewed.await?;
        let Some(nodes::Renewal { epoch: new, format_level }) = new else { return Ok(false) };
        store.note_format_level(format_level);
        if let Some(measured) = measured {
            clock.follow(measured);
        }
        if new != epoch {
            tracing::warn!("this daemon has not renewed its row in the store in time; it takes its leases again");
        }
        self.renewed.send_replace(Renewed { epoch: new, sent_ms });
        Ok(true)
    }

    /// Takes the lease `name`. Returns `None` if another node has it, and while this node is not renewed.
    pub async fn take(
        &self,
        store: &Store,
        clock: &Clock,
        name: &'static str,
    ) -> Result<Option<HeldLease>, StoreError> {
        if self.sure_for_ms(clock) <= 0 {
            return Ok(None);
        }
        let (own, now) = ((self.id, self.epoch()), clock.now_ms());
        match store.write(async |tx: Tx| leases::take(&tx, name, own, now).await).await {
            // The node is late. It gets a new epoch at its next renewal.
            Err(StoreError::LeaseLost { .. }) => Ok(None),
            taken => taken,
        }
    }

    /// Waits until the node may have lost its leases, because it was not renewed in time.
    pub async fn unsure(&self, clock: &Clock) {
        let mut renewed = self.renewed.subscribe();
        loop {
            let moved = clock.moved();
            let left = self.sure_for_ms(clock);
            if left <= 0 {
                return;
            }
            let sleep = async {
                if self.is_shared {
                    tokio::time::sleep(Duration::from_millis(left.unsigned_abs())).await;
                } else {
                    std::future::pending::<()>().await;
                }
            };
            tokio::select! {
                () = sleep => {}
                () = moved => {}
                _ = renewed.changed() => {}
            }
        }
    }

    /// Returns for how long the node certainly has its leases.
    fn sure_for_ms(&self, clock: &Clock) -> Millis {
        if !self.is_shared {
            return Millis::MAX;
        }
        self.renewed.borrow().sure_until_ms().saturating_sub(clock.monotonic_ms())
    }
}

/// Does `work` under the lease `name`. Returns `None` if another node has the lease, or if this node may have lost it
/// meanwhile; then `work` is dropped. A node that has the store alone needs no lease.
pub async fn under_lease<T>(
    context: &Context,
    name: &'static str,
    work: impl Future<Output = Result<T, Error>>,
) -> Result<Option<T>, Error> {
    let node = &context.node;
    if !node.is_shared {
        return work.await.map(Some);
    }
    let Some(lease) = node.take(&context.store, &context.clock, name).await? else { return Ok(None) };
    let done = tokio::select! {
        done = lease.scope(work) => done,
        () = node.unsure(&context.clock) => return Ok(None),
    };
    match done {
        Err(Error::Store { source: StoreError::LeaseLost { .. }, .. }) => Ok(None),
        done => done.map(Some),
    }
}

/// Returns when background work checks again what is due. `next`: when it is due according to the store. Other nodes
/// can write rows that are due earlier, and a lease may become free.
pub fn next_check_ms(context: &Context, next: Option<Millis>) -> Option<Millis> {
    let poll = context.node.is_shared.then(|| context.now_ms().saturating_add(POLL_MS));
    next.into_iter().chain(poll).min()
}

/// Renews the row of the node until the daemon stops, and then gives its leases back. Does nothing if no other process
/// can use the store. Ends early if another daemon has started with the same data directory.
pub async fn run(context: Context) {
    let (store, clock, node) = (&context.store, &context.clock, &context.node);
    let stop = context.tasks.stop().clone();
    if !node.is_shared {
        return stop.cancelled().await;
    }
    // Workers record the results of their last attempts under leases of this node.
    let given_back = async {
        stop.cancelled().await;
        context.shards.closed().await;
    };
    let renewals = async {
        let mut pause = INTERVAL;
        loop {
            tokio::time::sleep(pause).await;
            pause = match node.renew(store, clock, &node_states::own_figures(&context)).await {
                Ok(true) => INTERVAL,
                Ok(false) => {
                    tracing::error!("another daemon has started with a copy of this data directory");
                    return;
                }
                Err(StoreError::Newer { found, .. }) => {
                    store.note_outdated(found);
                    return;
                }
                Err(error) => {
                    // The engine logs that its server cannot be used.
                    tracing::debug!(error = &error as &dyn StdError, "this daemon cannot renew its row in the store");
                    PAUSE_AFTER_ERROR
                }
            };
        }
    };
    tokio::select! {
        () = given_back => {}
        () = renewals => return,
    }
    let (epoch, now) = (node.epoch(), clock.now_ms());
    if let Err(error) = store.write(async |tx: Tx| nodes::leave(&tx, node.id, epoch, now).await).await {
        tracing::warn!(error = &error as &dyn StdError, "the leases of this daemon end in a few seconds");
    }
}

#[cfg(test)]
mod tests;
