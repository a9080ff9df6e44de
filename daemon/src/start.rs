//! Build, serve, drain: the daemon from its configuration to its end.

use std::{
    fs, io,
    net::SocketAddr,
    os::unix::fs::DirBuilderExt as _,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use farrier_proto::store as rows;
use nix::unistd::Group;
use tokio::sync::{Semaphore, oneshot, watch};
use tokio_util::sync::CancellationToken;

use crate::{
    app::{App, Keys, Serving, Shared},
    background,
    blob::{BlobError, LocalBlobs, digest::Digests},
    clock::{Clock, Millis},
    config::{Config, Live},
    control::Control,
    data_dir::{self, Mismatch, PairError, STORE_FILE},
    delivery::{self, DeliveryMetrics},
    git::{self, Git},
    http::{self, HttpService, PeerRules},
    metrics_listener,
    model::secret::{self, SigningKey},
    running,
    serve::{self, Limits, Listener},
    service::{
        self, accounts,
        artifacts::Receiving,
        events::SequenceTracker,
        migrations::{self, Migrations},
        pushes,
        sign_in::SignIn,
    },
    set_aside::SetAside,
    store::{
        Store, StoreError, Tx,
        engine::{EngineError, RedbEngine, RedbOptions},
        secrets,
    },
    tasks::{self, Tasks, TasksError},
    wake::Wake,
    webhook,
};

/// What is given to tasks beyond the grace of requests.
const TASKS_GRACE: Duration = Duration::from_secs(5);
/// Clients that listen to events at once.
const EVENT_STREAMS: usize = 64;
/// Threads that hash uploads beside their requests.
const HASH_LANES: usize = 2;

/// Why the daemon did not start or did not end in order.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// The data directory cannot be used.
    #[error("the data directory {path} cannot be used")]
    DataDir {
        /// The directory.
        path: PathBuf,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// A second daemon has the data.
    #[error("another farrierd uses the data directory {path}")]
    InUse {
        /// The directory.
        path: PathBuf,
    },
    /// The store and the data beside it do not belong together.
    #[error(transparent)]
    Mismatch(Box<Mismatch>),
    /// The store's file is damaged.
    #[error(
        "the store {path} is damaged; nothing was changed. Run farrierd check-data, and put a copy back with \
         farrierd restore STORE_FILE"
    )]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        #[source]
        source: StoreError,
    },
    /// A store was to be restored from itself.
    #[error("{path} is the store in use; name a copy of it")]
    SameFile {
        /// The store.
        path: PathBuf,
    },
    /// No room for what a start has to write.
    #[error("the file system of {path} is full; no data was lost. Make room for at least 1 MiB, then start again")]
    Full {
        /// The data directory.
        path: PathBuf,
        /// What could not be written.
        #[source]
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// The data may not be written.
    #[error(
        "{path} cannot be written; no data was lost. Mount its file system for writing and give the directory to \
         the user of the daemon, then start again"
    )]
    ReadOnly {
        /// The data directory.
        path: PathBuf,
        /// What could not be written.
        #[source]
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// The store cannot be opened.
    #[error("the store in {path} cannot be opened")]
    Store {
        /// The file.
        path: PathBuf,
        /// Why.
        #[source]
        source: StoreError,
    },
    /// The place for artifact bytes cannot be used.
    #[error("the directory for artifacts cannot be used")]
    Blobs(#[from] BlobError),
    /// The listener for figures cannot be opened.
    #[error("listening on {address} for metrics failed")]
    Metrics {
        /// `metrics.listen`
        address: SocketAddr,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// A configured group is unknown here.
    #[error("{key} names the group {name}, which does not exist")]
    Group {
        /// The configuration key.
        key: &'static str,
        /// The name.
        name: String,
    },
    /// The installed git cannot be used.
    #[error(transparent)]
    Git(#[from] git::VersionError),
    /// What the last daemon left cannot be put in order.
    #[error("putting in order what the last daemon left failed")]
    Recover(#[source] service::Error),
    /// A task ended that should not have.
    #[error(transparent)]
    Tasks(#[from] TasksError),
}

/// What is known once the daemon answers requests.
#[derive(Clone, Debug)]
pub struct Started {
    /// Base address of the API.
    pub root_url: String,
    /// `(kind, address)` of each listener: `tcp`, `unix`, `metrics`.
    pub listeners: Vec<(&'static str, String)>,
    /// What can be done to it while it runs.
    pub control: Control,
    /// What is to be logged, in the words of `log.filter`.
    pub log_filter: watch::Receiver<String>,
}

/// Runs the daemon until `stop` is cancelled, then lets running requests end.
///
/// `started` hears when requests are answered; it may have been dropped.
pub async fn run(
    config: Config,
    listeners: Vec<Listener>,
    clock: Clock,
    stop: CancellationToken,
    started: oneshot::Sender<Started>,
) -> Result<(), RunError> {
    // Before anything is written.
    let git_version = git::check_installed().await?;
    tracing::debug!(%git_version, "git is new enough");
    let store = open_store(&config).await?;
    let locked = data_dir::lock(&config.data_dir);
    let locked = locked.map_err(|source| data_failed(&config, source))?;
    let lock = locked.ok_or_else(|| RunError::InUse { path: config.data_dir.clone() })?;
    let ended = run_with_store(store, config, listeners, clock, stop, started).await;
    drop(lock);
    ended
}

/// The same over a store that is open already: what tests break on purpose.
pub async fn run_with_store(
    store: Store,
    config: Config,
    listeners: Vec<Listener>,
    clock: Clock,
    stop: CancellationToken,
    started: oneshot::Sender<Started>,
) -> Result<(), RunError> {
    let tasks = Tasks::new(stop);
    let grace = config.server.drain_grace + TASKS_GRACE;
    let data_dir = config.data_dir.clone();
    let app = build(store, config, &listeners, clock, tasks.clone()).await?;
    // Whoever has the store has the data directory, so nobody else holds the mark.
    let _mark = running::mark(&data_dir).map_err(|source| RunError::DataDir { path: data_dir, source })?;
    migrations::recover(&app).await.map_err(RunError::Recover)?;
    let interrupted = pushes::interrupted(&app).await.map_err(RunError::Recover)?;
    let router = http::router(app.clone());
    let service = HttpService::new(router, &app);
    let limits = Limits {
        slots: app.serving.slots.clone(),
        header_timeout: app.config.server.header_timeout,
        idle_timeout: app.config.server.idle_timeout,
        drain_grace: app.config.server.drain_grace,
        reserve: app.serving.reserve.clone(),
    };
    let open = app.serving.connections.clone();
    let serving = serve::serve(listeners, limits, tasks.clone(), open, move |peer, request| {
        service.clone().handle(peer, request)
    });
    tasks.keep("serve", serving);
    tasks.keep("sweep", background::run_sweep(app.clone()));
    tasks.keep("prune", background::run_prune(app.clone()));
    tasks.keep("deliver", delivery::run(app.clone()));
    tasks.short(pushes::recover(app.clone(), interrupted));

    let mut known = app.serving.listeners.clone();
    if let Some(address) = app.config.metrics.listen {
        let address = metrics_listener::start(&app, address).map_err(|source| RunError::Metrics { address, source })?;
        known.push(("metrics", address));
    }
    let about = Started {
        root_url: app.root_url.clone(),
        listeners: known,
        control: Control::new(&app),
        log_filter: app.log_filter.subscribe(),
    };
    // Ready means that the store works: what the start has read so far may be damaged.
    app.store.health().await.map_err(|source| store_failed(&app.config, source))?;
    drop(app);
    let _ = started.send(about);
    Ok(tasks.supervise(grace).await?)
}

/// Opens the store, which this process then has for itself. A missing one is made, unless there is
/// data beside it. Writes nothing into one that exists.
pub(crate) async fn open_store(config: &Config) -> Result<Store, RunError> {
    let file = config.data_dir.join(STORE_FILE);
    let missing = file.symlink_metadata().is_err_and(|error| error.kind() == io::ErrorKind::NotFound);
    if missing {
        data_dir::check_missing_store(&config.data_dir).map_err(|error| pair_failed(config, error))?;
    }
    open_or_make_store(config).await
}

/// Opens the store or makes one, whatever lies beside it.
pub(crate) async fn open_or_make_store(config: &Config) -> Result<Store, RunError> {
    make_dir(&config.data_dir).map_err(|error| failed_in(config, error))?;
    open_engine(config).await.map_err(|source| failed_in(config, store_failed(config, source)))
}

/// Checks every page of the store and opens it without ever writing to its file.
pub(crate) async fn open_unchanged(config: &Config) -> Result<Store, RunError> {
    let file = config.data_dir.join(STORE_FILE);
    let options = RedbOptions { cache_bytes: config.store.cache_mib << 20, quick_repair: false };
    let opened = tasks::blocking(move || RedbEngine::open_unchanged(&file, options)).await;
    let failed = |source| failed_in(config, store_failed(config, source));
    let engine = opened.map_err(|source| failed(source.into()))?;
    Store::open_as_is(Arc::new(engine)).await.map_err(failed)
}

async fn open_engine(config: &Config) -> Result<Store, StoreError> {
    let options = RedbOptions { cache_bytes: config.store.cache_mib << 20, quick_repair: config.store.quick_repair };
    let engine = RedbEngine::open(&config.data_dir.join(STORE_FILE), options)?;
    Store::open_as_is(Arc::new(engine)).await
}

fn store_failed(config: &Config, source: StoreError) -> RunError {
    store_failed_at(&config.data_dir.join(STORE_FILE), &config.data_dir, source)
}

/// The error for the store in `file`.
pub(crate) fn store_failed_at(file: &Path, data_dir: &Path, source: StoreError) -> RunError {
    let path = file.to_owned();
    match source {
        StoreError::Engine(EngineError::InUse) => RunError::InUse { path: data_dir.to_owned() },
        source @ (StoreError::Engine(EngineError::Damaged { .. })
        | StoreError::Unknown(EngineError::Damaged { .. })
        | StoreError::Corrupt { .. }) => RunError::Damaged { path, source },
        source => RunError::Store { path, source },
    }
}

/// The error for a directory or file beside the store.
pub(crate) fn data_failed(config: &Config, source: io::Error) -> RunError {
    failed_in(config, RunError::DataDir { path: config.data_dir.clone(), source })
}

pub(crate) fn pair_failed(config: &Config, error: PairError) -> RunError {
    match error {
        PairError::Mismatch(mismatch) => RunError::Mismatch(mismatch),
        PairError::Store(source) => failed_in(config, store_failed(config, source)),
        PairError::Io { source, .. } => data_failed(config, source),
    }
}

/// Tells a full and a read-only file system from other failures.
fn failed_in(config: &Config, error: RunError) -> RunError {
    let path = config.data_dir.clone();
    match io_kind(&error) {
        Some(io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded) => {
            RunError::Full { path, source: error.into() }
        }
        Some(io::ErrorKind::ReadOnlyFilesystem | io::ErrorKind::PermissionDenied) => {
            RunError::ReadOnly { path, source: error.into() }
        }
        _ => error,
    }
}

/// The kind of the I/O error that caused `error`.
fn io_kind(error: &(dyn std::error::Error + 'static)) -> Option<io::ErrorKind> {
    match error.downcast_ref::<io::Error>() {
        Some(error) => Some(error.kind()),
        None => io_kind(error.source()?),
    }
}

async fn build(
    store: Store,
    config: Config,
    listeners: &[Listener],
    clock: Clock,
    tasks: Tasks,
) -> Result<App, RunError> {
    make_dir(&config.data_dir)?;
    // Before anything is created or changed beside the store.
    data_dir::pair(&store, &config.data_dir, &clock).await.map_err(|error| pair_failed(&config, error))?;
    let now = clock.now_ms();
    let failed = |source| failed_in(&config, store_failed(&config, source));
    accounts::ensure_administrator(&store, now).await.map_err(failed)?;
    let keys = signing_keys(&store, now).await.map_err(failed)?;
    let events = SequenceTracker::open(&store).await.map_err(failed)?;
    let blobs = Arc::new(LocalBlobs::open(config.data_dir.join("artifacts")).await?);
    let git = Git::open(&config.data_dir, &config.git)
        .map_err(|source| RunError::DataDir { path: config.data_dir.clone(), source })?;
    let group = |key, name: &Option<String>| name.as_deref().map(|name| group_id(key, name)).transpose();
    let peers = PeerRules {
        trusted: config.socket.trust_peers,
        own_uid: rustix::process::geteuid().as_raw(),
        admin_gid: group("socket.admin_group", &config.socket.admin_group)?,
        ci_gid: group("socket.ci_group", &config.socket.ci_group)?,
    };
    let serving = Serving {
        started_ms: now,
        listeners: listeners.iter().map(|listener| (listener.kind(), listener.address().to_owned())).collect(),
        connections: Arc::default(),
        requests: Arc::default(),
        slots: Arc::new(Semaphore::new(config.server.max_connections)),
        reserve: Arc::default(),
    };
    let log_filter = watch::Sender::new(config.log.filter.clone());
    Ok(App::new(Shared {
        client: webhook::Client::new(&config.webhook),
        root_url: root_url(&config, listeners),
        digests: Digests::new(blobs.clone(), tasks.clone(), HASH_LANES),
        migrations: Migrations::new(config.migration.max_running),
        archives: Arc::new(Semaphore::new(config.git.max_archives)),
        uploads: Arc::new(Semaphore::new(config.artifacts.max_uploads)),
        set_aside: SetAside::new(&config.data_dir, clock.clone()),
        config: Live::new(config),
        clock,
        store,
        blobs,
        git,
        keys,
        peers,
        tasks,
        receiving: Receiving::default(),
        sign_in: SignIn::default(),
        sweep: Wake::default(),
        pruning: Wake::default(),
        events,
        event_streams: Arc::new(Semaphore::new(EVENT_STREAMS)),
        outbox: delivery::Outbox::default(),
        results: delivery::Results::default(),
        retries: Wake::default(),
        history: delivery::HistoryGrowth::default(),
        delivery_metrics: DeliveryMetrics::default(),
        log_filter,
        serving,
    }))
}

/// All data is for the daemon's user alone.
fn make_dir(path: &Path) -> Result<(), RunError> {
    let made = fs::DirBuilder::new().recursive(true).mode(0o700).create(path);
    made.map_err(|source| RunError::DataDir { path: path.to_owned(), source })
}

fn group_id(key: &'static str, name: &str) -> Result<u32, RunError> {
    let group = Group::from_name(name).ok().flatten();
    group.map(|group| group.gid.as_raw()).ok_or_else(|| RunError::Group { key, name: name.to_owned() })
}

/// What is configured, else where the first TCP listener is reached from this machine.
fn root_url(config: &Config, listeners: &[Listener]) -> String {
    if let Some(url) = &config.server.root_url {
        return http::trimmed(url);
    }
    let Some(mut address) = listeners.iter().find_map(Listener::tcp_address) else {
        return "http://localhost".to_owned();
    };
    if address.ip().is_unspecified() {
        let loopback = if address.is_ipv4() { [127, 0, 0, 1].into() } else { std::net::Ipv6Addr::LOCALHOST.into() };
        address.set_ip(loopback);
    }
    format!("http://{address}")
}

/// The daemon's one secret, made at the first start, and the keys derived from it.
async fn signing_keys(store: &Store, now: Millis) -> Result<Keys, StoreError> {
    let fresh = rows::SigningKey { secret: secret::random_bytes::<32>().to_vec(), created_ms: now };
    let root = store.write(async |tx: Tx| secrets::signing_key(&tx, fresh.clone()).await).await?.secret;
    Ok(Keys {
        signed_url: SigningKey::derive(&root, "signed-url"),
        runtime_token: SigningKey::derive(&root, "runtime-token"),
    })
}
