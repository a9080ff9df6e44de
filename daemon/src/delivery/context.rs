//! The shared state of everything that creates, sends and records deliveries.

use std::{ops::Deref, sync::Arc};

use super::{Backlog, Completions, HistoryGrowth, Outbox, Results, Shards};
use crate::{
    clock::{Clock, Millis},
    config::LiveConfig,
    copies::Copies,
    git::Git,
    hints::OutgoingHints,
    metrics::Metrics,
    model::root_url::RootUrl,
    store::Store,
    tasks::Tasks,
    wake::Wake,
    webhook,
};

/// The shared state of the delivery code. Clones share it.
#[derive(Clone)]
pub struct DeliveryContext(Arc<DeliveryFields>);

/// The fields of a [`DeliveryContext`].
pub struct DeliveryFields {
    /// The current configuration.
    pub config: LiveConfig,
    /// The base URL of the daemon, without a slash at the end. All URLs in responses and payloads start with it.
    pub root_url: RootUrl,
    /// Returns the current time.
    pub clock: Clock,
    /// Starts background tasks and stops them when the daemon stops.
    pub tasks: Tasks,
    /// Stores all data except git objects and the bytes of artifacts.
    pub store: Store,
    /// Stores the git repositories.
    pub git: Git,
    /// The copies of repositories: brings the git directories to the version of the rows.
    pub copies: Copies,
    /// Counts requests, delivery attempts and finished deliveries.
    pub metrics: Metrics,
    /// Sends requests to the receivers of deliveries.
    pub client: webhook::Client,
    /// Collects changes of which other nodes are notified.
    pub hints: OutgoingHints,
    /// The shards whose deliveries this node sends.
    pub shards: Arc<Shards>,
    /// Announces hooks with new deliveries to the dispatcher.
    pub outbox: Outbox,
    /// Counts the waiting deliveries of each owner and wakes the fan-out.
    pub backlog: Backlog,
    /// Makes one worker for each event add the commits to its payload.
    pub completions: Completions,
    /// Notifies callers that wait for the result of a delivery.
    pub results: Results,
    /// Wakes the dispatcher when a retry is due.
    pub retries: Wake,
    /// Counts attempts per hook, to decide when old deliveries of the hook must be removed.
    pub history: HistoryGrowth,
    /// Wakes the sweep, which removes expired and deleted data.
    pub sweep: Wake,
}

impl DeliveryContext {
    /// Creates the context from its fields.
    pub fn new(fields: DeliveryFields) -> Self {
        Self(Arc::new(fields))
    }
}

impl DeliveryFields {
    /// Returns the current time.
    pub fn now_ms(&self) -> Millis {
        self.clock.now_ms()
    }
}

impl Deref for DeliveryContext {
    type Target = DeliveryFields;

    fn deref(&self) -> &DeliveryFields {
        &self.0
    }
}
