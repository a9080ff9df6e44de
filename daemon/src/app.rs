//! What every request and every background task works with.

use std::sync::{Arc, Weak, atomic::AtomicI64};

use tokio::sync::{Semaphore, watch};

use crate::{
    blob::{BlobStore, digest::Digests},
    clock::{Clock, Millis},
    config::LiveConfig,
    delivery::{DeliveryMetrics, HistoryGrowth, Outbox, Results},
    git::Git,
    http::{PeerRules, Requests},
    model::secret::SigningKey,
    serve::FdReserve,
    service::{artifacts::Receiving, events::SequenceTracker, migrations::Migrations, sign_in::SignIn},
    set_aside::SetAside,
    store::Store,
    tasks::Tasks,
    wake::Wake,
    webhook,
};

/// The daemon's shared state. Clones share it.
#[derive(Clone)]
pub struct App(Arc<Shared>);

/// The fields behind [`App`].
pub struct Shared {
    /// The configuration in force.
    pub config: LiveConfig,
    /// Base address that answers are built from; no slash at its end.
    pub root_url: String,
    /// The time.
    pub clock: Clock,
    /// Everything durable but artifact bytes.
    pub store: Store,
    /// Artifact bytes.
    pub blobs: Arc<dyn BlobStore>,
    /// Data without a row, moved out of use.
    pub set_aside: SetAside,
    /// Git repositories.
    pub git: Git,
    /// Repositories that are being fetched from elsewhere.
    pub migrations: Migrations,
    /// Archives that are written at the moment; bounded by `git.max_archives`.
    pub archives: Arc<Semaphore>,
    /// Who tried to sign in and could not.
    pub sign_in: SignIn,
    /// Running digests of uploads.
    pub digests: Digests,
    /// Keys for what the daemon signs.
    pub keys: Keys,
    /// Which local users act as what.
    pub peers: PeerRules,
    /// Running tasks.
    pub tasks: Tasks,
    /// Uploads that are received at the moment; bounded by `artifacts.max_uploads`.
    pub uploads: Arc<Semaphore>,
    /// Where they go.
    pub receiving: Receiving,
    /// When artifacts and jobs have something to end.
    pub sweep: Wake,
    /// Wakes the task that prunes repositories.
    pub pruning: Wake,
    /// Numbers of events that are being recorded.
    pub events: SequenceTracker,
    /// Seats for clients that listen to events.
    pub event_streams: Arc<Semaphore>,
    /// Hooks that have something to send.
    pub outbox: Outbox,
    /// Callers that wait for the result of a delivery.
    pub results: Results,
    /// When the next attempt of a delivery is due.
    pub retries: Wake,
    /// Hooks whose history has grown.
    pub history: HistoryGrowth,
    /// Metrics of deliveries.
    pub delivery_metrics: DeliveryMetrics,
    /// The log filter, in the syntax of `log.filter`. The log applies each new value.
    pub log_filter: watch::Sender<String>,
    /// Connects to receivers of deliveries.
    pub client: webhook::Client,
    /// What `farrier status` shows about serving.
    pub serving: Serving,
}

/// Keys for what the daemon signs, each for one purpose.
#[derive(Clone, Debug)]
pub struct Keys {
    /// Signed addresses of artifact bytes.
    pub signed_url: SigningKey,
    /// Runtime tokens of jobs.
    pub runtime_token: SigningKey,
}

/// Figures about serving.
#[derive(Debug)]
pub struct Serving {
    /// When the daemon became ready.
    pub started_ms: Millis,
    /// `(kind, address)` of each listener.
    pub listeners: Vec<(&'static str, String)>,
    /// Open client connections.
    pub connections: Arc<AtomicI64>,
    /// Answered requests.
    pub requests: Arc<Requests>,
    /// How many more may be open; bounded by `server.max_connections`.
    pub slots: Arc<Semaphore>,
    /// Descriptors for when no other is free.
    pub reserve: Arc<FdReserve>,
}

impl App {
    /// Shares `shared`.
    pub fn new(shared: Shared) -> Self {
        Self(Arc::new(shared))
    }

    /// The same without keeping it.
    pub fn weak(&self) -> WeakApp {
        WeakApp(Arc::downgrade(&self.0))
    }

    /// The present time, milliseconds since the epoch.
    pub fn now_ms(&self) -> Millis {
        self.clock.now_ms()
    }
}

/// An [`App`] that ends when the daemon does.
#[derive(Clone)]
pub struct WeakApp(Weak<Shared>);

impl WeakApp {
    /// The app, if the daemon runs.
    pub fn upgrade(&self) -> Option<App> {
        self.0.upgrade().map(App)
    }
}

impl std::ops::Deref for App {
    type Target = Shared;

    fn deref(&self) -> &Shared {
        &self.0
    }
}
