//! Runs the daemon: opens the data, starts the tasks, serves until it is stopped.

mod background_tasks;
mod error;
mod prepare;
mod ssh_sockets;
mod supervise;

use std::{net::SocketAddr, sync::Arc, time::Duration};

use farrier_proto::store as rows;
use nix::unistd::Group;
use tokio::{
    net::TcpListener,
    sync::{oneshot, watch},
};
use tokio_util::sync::CancellationToken;

pub use self::error::RunError;
use self::supervise::supervise;
use crate::{
    background, backup,
    blob::digest::Digests,
    clock::{Clock, Millis},
    config::{Config, LiveConfig},
    control::Control,
    copies::Copies,
    data_dir::{self, DataDirError, OpenedBlobs},
    delivery::{self, DeliveryContext, DeliveryFields},
    git::{self, Git},
    hints::{DueWork, OutgoingHints},
    http::{self, AppState, HttpService, PeerRules},
    id_locks::IdLocks,
    metrics::Metrics,
    metrics_listener,
    model::secret::{self, SigningKey},
    running,
    serve::{self, Admission, AdmissionLimits, ConnectionLimits, Listener, Pace},
    service::{
        Context, ContextFields, Serving, SigningKeys, SshServing,
        access_watch::AccessChanges,
        artifacts::{Receiving, VerifiedContents},
        audit::AuditLog,
        backups::BackupState,
        caches::CacheState,
        disk_space::DiskSpace,
        events::EventSignal,
        health_watch::HealthWatch,
        id_tokens::IdTokenState,
        lfs::LfsCollection,
        marked_uploads,
        migrations::{self, Migrations},
        mirrors::MirrorRuns,
        nodes::OwnNode,
        quota_watch::QuotaWatch,
        releases::downloads::DownloadCounts,
        sign_in::SignIn,
        storage_use::StorageUse,
        tidying::Tidying,
        work::WorkShares,
    },
    set_aside::SetAside,
    shares::MemoryBudget,
    ssh::{self, HostKeys},
    store::{Store, StoreError, Tx, identity, packs},
    tasks::{self, Tasks},
    telemetry::records::LogRecords,
    wake::Wake,
    webhook,
};

/// Time for tasks to end after the grace period of requests.
const TASKS_GRACE: Duration = Duration::from_secs(5);
/// Number of threads that hash uploads.
const HASH_THREADS: usize = 2;

/// The addresses and handles of a daemon that handles requests.
#[derive(Clone, Debug)]
pub struct Started {
    /// Base address of the API.
    pub root_url: String,
    /// `(kind, address)` of each listener: `tcp`, `unix`, `metrics`.
    pub listeners: Vec<(&'static str, String)>,
    /// Controls the running daemon.
    pub control: Control,
    /// The log filter, in the format of `log.filter`.
    pub log_filter: watch::Receiver<String>,
}

/// Runs the daemon until `stop` is cancelled, then waits for running requests.
///
/// Sends to `started` when the daemon handles requests. The receiver may be dropped.
pub async fn run(
    config: Config,
    listeners: Vec<Listener>,
    clock: Clock,
    stop: CancellationToken,
    started: oneshot::Sender<Started>,
) -> Result<(), RunError> {
    // Before the first write.
    let git_version = git::check_installed().await?;
    tracing::debug!(%git_version, "the installed git is supported");
    let store = data_dir::open_store_to_serve(&config).await?;
    // A database can exist without it.
    data_dir::create_dir(&config.data_dir)?;
    let locked = data_dir::lock(&config.data_dir);
    let locked = locked.map_err(|source| DataDirError::from_io(&config, source))?;
    let lock = locked.ok_or_else(|| DataDirError::InUse { path: config.data_dir.clone() })?;
    let ended = run_with_store(store, config, listeners, clock, stop, started).await;
    drop(lock);
    ended
}

/// Like [`run`], with a store that is already open. Tests pass a store that fails.
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
    let (listeners, inherited) = ssh_sockets::split(listeners);
    let ssh = ssh_sockets::open(&config, inherited)?;
    let (context, ssh) = build(store, config, &listeners, ssh, clock, tasks.clone()).await?;
    let peers = peer_rules(&context.config)?;
    // The open store locks the data directory, so no other process holds the mark.
    let _mark = running::mark(&data_dir).map_err(|source| DataDirError::Unusable { path: data_dir.clone(), source })?;
    let cleaned = tasks::blocking(move || backup::remove_scratch(&data_dir)).await;
    if let Err(error) = cleaned {
        tracing::warn!(%error, "the copies of a killed backup could not be removed; the next backup tries again");
    }
    migrations::recover(&context).await.map_err(RunError::Recover)?;
    marked_uploads::recover(&context).await.map_err(RunError::Recover)?;
    let state = AppState::new(context.clone(), peers);
    let router = http::router(state.clone());
    let service = HttpService::new(router, &state);
    let limits = ConnectionLimits {
        admission: context.serving.admission.clone(),
        memory: context.serving.memory.clone(),
        header_timeout: context.config.server.header_timeout,
        response_pace: Pace {
            wait_max: context.config.server.idle_timeout,
            min_bytes_per_sec: context.config.server.response_min_bytes_per_sec,
        },
        drain_grace: context.config.server.drain_grace,
        reserve: context.serving.reserve.clone(),
    };
    let open = context.serving.connections.clone();
    let serving = serve::serve(listeners, limits, tasks.clone(), open, service);
    // Before the first request, so that it follows the entries of all requests.
    tasks.keep("audit", background::run_audit(context.clone()));
    tasks.keep("serve", serving);
    background_tasks::start(&tasks, &context);
    if let Some((sockets, keys)) = ssh {
        tasks.keep("ssh", ssh::serve(context.clone(), sockets, keys));
    }
    let mut listeners = context.serving.listeners.clone();
    if let Some(address) = context.config.metrics.listen {
        let address =
            metrics_listener::start(&state, address).map_err(|source| RunError::Metrics { address, source })?;
        listeners.push(("metrics", address));
    }
    let ready = Started {
        root_url: context.root_url.to_string(),
        listeners,
        control: Control::new(&context),
        log_filter: context.log_filter.subscribe(),
    };
    // Checked before the daemon reports that it is ready: the start has read only parts of the store.
    context.store.health().await.map_err(|source| DataDirError::from_store(&context.config, source))?;
    let git = context.git.clone();
    let store = context.store.clone();
    drop((context, state));
    let _ = started.send(ready);
    let ended = supervise(tasks, store, grace).await;
    tasks::blocking(move || git.end_processes()).await;
    ended
}

/// Returns the state of the listeners at the start. `bound`: the addresses for SSH.
fn serving(config: &Config, now: Millis, listeners: &[Listener], bound: &[SocketAddr], ssh: SshServing) -> Serving {
    let listening = listeners.iter().map(|listener| (listener.kind(), listener.address().to_owned()));
    Serving {
        started_ms: now,
        listeners: listening.chain(bound.iter().map(|address| ("ssh", address.to_string()))).collect(),
        ssh,
        connections: Arc::default(),
        admission: Arc::new(Admission::new(AdmissionLimits::of(config))),
        memory: MemoryBudget::new(config.server.request_memory_mib),
        reserve: Arc::default(),
    }
}

async fn build(
    store: Store,
    config: Config,
    listeners: &[Listener],
    ssh_sockets: Vec<TcpListener>,
    clock: Clock,
    tasks: Tasks,
) -> Result<(Context, Option<(Vec<TcpListener>, HostKeys)>), RunError> {
    data_dir::create_dir(&config.data_dir)?;
    prepare::prepare(&store, &config, &clock).await?;
    let now = clock.now_ms();
    let failed = |source| DataDirError::from_store(&config, source).refined(&config);
    let keys = signing_keys(&store, now).await.map_err(failed)?;
    let hints = OutgoingHints::new(store.is_shared());
    let audit = AuditLog::open(&store, hints.clone()).await.map_err(failed)?;
    let node = enter_node(&store, &config, &clock).await?;
    let OpenedBlobs { blobs, packs } = data_dir::open_blobs(&config, &store).await?;
    share_if_complete(&store).await.map_err(failed)?;
    let git = open_git(&config)?;
    let (ssh, ssh_serving) = ssh_sockets::with_keys(&config, ssh_sockets).await;
    let bound = ssh.iter().flat_map(|(sockets, _)| sockets).filter_map(|socket| socket.local_addr().ok());
    let bound: Vec<SocketAddr> = bound.collect();
    let serving = serving(&config, now, listeners, &bound, ssh_serving);
    let log_filter = watch::Sender::new(config.log.filter.clone());
    let set_aside = SetAside::new(&config.data_dir, clock.clone());
    let digests = Digests::new(blobs.clone(), tasks.clone(), HASH_THREADS);
    let work = WorkShares::new(&config, &git);
    let shards = Arc::new(delivery::Shards::new(store.is_shared(), tasks.stop()));
    let delivery = DeliveryContext::new(DeliveryFields {
        root_url: ssh_sockets::addresses(&config, root_url(&config, listeners), bound.first()),
        client: webhook::Client::new(&config.webhook),
        config: LiveConfig::new(config),
        clock,
        tasks,
        copies: Copies::new(store.clone(), git.clone()).with_packs(packs.clone()),
        store,
        git,
        metrics: Metrics::default(),
        outbox: delivery::Outbox::new(hints.clone(), Arc::clone(&shards)),
        backlog: delivery::Backlog::new(hints.clone()),
        completions: delivery::Completions::default(),
        results: delivery::Results::default(),
        retries: Wake::default(),
        history: delivery::HistoryGrowth::default(),
        sweep: Wake::of_work(DueWork::Sweep, hints.clone()),
        hints: hints.clone(),
        shards,
    });
    let context = Context::new(ContextFields {
        delivery,
        blobs,
        packs,
        digests,
        node,
        verified: VerifiedContents::default(),
        receiving: Receiving::default(),
        finalizing: IdLocks::default(),
        recording_assets: IdLocks::default(),
        recording_artifacts: IdLocks::default(),
        caches: CacheState::default(),
        asset_downloads: DownloadCounts::default(),
        work,
        disk_space: DiskSpace::default(),
        access_changes: AccessChanges::new(hints.clone()),
        health: HealthWatch::default(),
        quotas: QuotaWatch::default(),
        set_aside,
        migrations: Migrations::default(),
        mirrors: MirrorRuns::new(hints.clone()),
        sign_in: SignIn::default(),
        keys,
        id_tokens: IdTokenState::default(),
        events: EventSignal::new(hints.clone()),
        audit,
        backups: BackupState::default(),
        pruning: Wake::of_work(DueWork::Pruning, hints),
        tidying: Tidying::default(),
        lfs_collection: LfsCollection::default(),
        storage_use: StorageUse::default(),
        log_filter,
        log_records: LogRecords::of_process(),
        serving,
    });
    Ok((context, ssh))
}

/// Lets other daemons use the store if they can read all packs. Otherwise it is shared when the bucket has all packs.
async fn share_if_complete(store: &Store) -> Result<(), StoreError> {
    if packs::bucket::place(&store.read().await?).await?.is_some_and(|place| place.complete) {
        store.share().await?;
    }
    Ok(())
}

/// Writes the row of the node whose data directory this is.
async fn enter_node(store: &Store, config: &Config, clock: &Clock) -> Result<OwnNode, DataDirError> {
    let data_dir = config.data_dir.clone();
    let id = tasks::blocking(move || data_dir::node_id(&data_dir)).await;
    let id = id.map_err(|source| DataDirError::from_io(config, source))?;
    let entered = OwnNode::enter(store, clock, id, config.node.name()).await;
    entered.map_err(|source| DataDirError::from_store(config, source))
}

fn open_git(config: &Config) -> Result<Git, DataDirError> {
    Git::open(&config.data_dir, &config.git)
        .map_err(|source| DataDirError::Unusable { path: config.data_dir.clone(), source })
}

/// Returns the rules for callers on the Unix socket. Fails if a configured group does not exist.
fn peer_rules(config: &Config) -> Result<PeerRules, RunError> {
    let group = |key, name: &Option<String>| name.as_deref().map(|name| group_id(key, name)).transpose();
    Ok(PeerRules {
        trusted: config.socket.trust_peers,
        own_uid: rustix::process::geteuid().as_raw(),
        admin_gid: group("socket.admin_group", &config.socket.admin_group)?,
        ci_gid: group("socket.ci_group", &config.socket.ci_group)?,
    })
}

fn group_id(key: &'static str, name: &str) -> Result<u32, RunError> {
    let group = Group::from_name(name).ok().flatten();
    group.map(|group| group.gid.as_raw()).ok_or_else(|| RunError::Group { key, name: name.to_owned() })
}

/// Returns `server.root_url` if set, else the address of the first TCP listener as reached from this machine.
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

/// Returns the signing keys, derived from the daemon's secret. The secret is created at the first start.
async fn signing_keys(store: &Store, now: Millis) -> Result<SigningKeys, StoreError> {
    let secret = secret::random_bytes::<32>().to_vec();
    let fresh = rows::SigningKey { secret, created_ms: now, ..rows::SigningKey::default() };
    let root = store.write(async |tx: Tx| identity::signing_key(&tx, fresh.clone()).await).await?.secret;
    Ok(SigningKeys {
        signed_url: SigningKey::derive(&root, "signed-url"),
        runtime_token: SigningKey::derive(&root, "runtime-token"),
        lfs_address: SigningKey::derive(&root, "lfs-address"),
        lfs_token: SigningKey::derive(&root, "lfs-token"),
        gpg_key_token: SigningKey::derive(&root, "gpg-key-token"),
    })
}
