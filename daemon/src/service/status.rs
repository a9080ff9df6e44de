//! The daemon's status and health.

use std::{sync::atomic::Ordering, time::Duration};

use farrier_common::{
    VERSION,
    api::{
        Amount, ArtifactLimits, BucketStatus, DiskStatus, Health, HealthCheck, Kept, ListenerStatus, QuotaStatus,
        SshService, Status, StoreServer, StoreStatus, WorkLimit,
    },
};

use rustix::fs::StatVfsMountFlags;

use super::{
    Context, Error,
    audit::{self, AuditOutput},
    backups,
    deliveries::watch,
    disk_space, node_states,
    quota_watch::QuotaKind,
    storage_use,
};
use crate::{
    clock::Millis,
    model::identity::Identity,
    shares::Usage,
    show,
    store::{
        engine::EngineInfo,
        events,
        packs::bucket,
        repositories,
        totals::{self, Total},
    },
    tasks,
};

const READ_ONLY: &str = "the disk is read-only: nothing can be written";

/// Longest wait for a request that shows whether the bucket responds again.
const PROBE_MAX: Duration = Duration::from_millis(500);
/// Maximum number of unused packs that are counted.
const UNUSED_PACKS_MAX: u64 = 100_000;
/// Maximum number of quotas in the status.
const QUOTAS_MAX: usize = 20;

/// The health of one part. The texts are public and must not contain details.
enum PartHealth {
    Pass,
    /// Something is wrong, but requests are served.
    Warn(&'static str),
    Fail(&'static str),
}

/// Returns whether requests can be served, and all problems.
pub async fn health(context: &Context) -> Health {
    let mut health = Health::default();
    let store = store(context).await;
    let has_store = !matches!(store, PartHealth::Fail(_));
    let mut parts = vec![
        ("store", store),
        ("disk", disk(context).await),
        ("deliveries", deliveries(context).await),
        ("audit", audit(context)),
        ("ssh", ssh(context)),
    ];
    if context.packs.is_some() {
        parts.push(("bucket", bucket(context).await));
    }
    // Without the store, this would only wait.
    if context.store.is_shared() && has_store {
        parts.push(("nodes", nodes(context).await));
    }
    let mut worst = "pass";
    for (name, part) in parts {
        let (status, problem) = match part {
            PartHealth::Pass => ("pass", None),
            PartHealth::Warn(problem) => ("warn", Some(problem)),
            PartHealth::Fail(problem) => ("fail", Some(problem)),
        };
        if worst == "pass" || status == "fail" {
            worst = status;
        }
        let since = context.health.note(name, problem, context.now_ms()).map(show::time);
        health.problems.extend(problem.map(str::to_owned));
        let check = HealthCheck { status: status.to_owned(), output: problem.map(str::to_owned), since };
        health.checks.insert(name.to_owned(), vec![check]);
    }
    worst.clone_into(&mut health.status);
    health
}

async fn store(context: &Context) -> PartHealth {
    match context.store.health().await {
        Ok(info) if info.oldest_write.is_some() => {
            PartHealth::Warn("the event stream waits for a transaction of the PostgreSQL server that does not end")
        }
        Ok(_) => PartHealth::Pass,
        Err(_) => PartHealth::Fail("the store does not respond"),
    }
}

async fn disk(context: &Context) -> PartHealth {
    if is_read_only(context).await {
        return PartHealth::Fail(READ_ONLY);
    }
    match disk_space::local(context).await {
        Ok(space) if space.is_read_only => PartHealth::Fail(READ_ONLY),
        Ok(space) if space.free_bytes < context.config.artifacts.reserve_bytes => {
            PartHealth::Fail("the disk is almost full: uploads are refused")
        }
        Ok(_) => PartHealth::Pass,
        Err(_) => PartHealth::Fail("the disk does not respond"),
    }
}

/// Returns whether the file system of the store is mounted read-only. The artifacts may be on another one.
async fn is_read_only(context: &Context) -> bool {
    let data_dir = context.config.data_dir.clone();
    let stat = tasks::blocking(move || rustix::fs::statvfs(&data_dir)).await;
    stat.is_ok_and(|stat| stat.f_flag.contains(StatVfsMountFlags::RDONLY))
}

/// Checks deliveries. Failing receivers are not a problem of the daemon, but overdue deliveries are.
async fn deliveries(context: &Context) -> PartHealth {
    match watch::stuck(context).await {
        Ok(false) => PartHealth::Pass,
        Ok(true) => PartHealth::Warn("deliveries of webhooks are overdue: nothing has been sent for minutes"),
        Err(_) => PartHealth::Warn("pending deliveries cannot be read"),
    }
}

/// Checks the copies of the audit log. Entries are in the store also if they cannot be copied.
fn audit(context: &Context) -> PartHealth {
    match (context.audit.is_failing(AuditOutput::File), context.audit.is_failing(AuditOutput::Journal)) {
        (false, false) => PartHealth::Pass,
        (true, false) => PartHealth::Warn("audit entries cannot be written to audit.file: they stay in the store"),
        (false, true) => PartHealth::Warn("audit entries cannot be sent to the journal: they stay in the store"),
        (true, true) => {
            PartHealth::Warn("audit entries cannot be copied to audit.file and to the journal: they stay in the store")
        }
    }
}

/// Checks the bucket, with the result of the last request. If that failed, sends another one, because there may be no
/// other requests.
async fn bucket(context: &Context) -> PartHealth {
    if !context.blobs.is_reachable() {
        _ = tokio::time::timeout(PROBE_MAX, context.blobs.probe()).await;
    }
    if context.blobs.is_reachable() {
        PartHealth::Pass
    } else {
        PartHealth::Warn("the bucket does not respond: pushes, uploads and downloads of artifacts are refused")
    }
}

/// Checks the other nodes.
async fn nodes(context: &Context) -> PartHealth {
    match node_states::has_lost_nodes(context).await {
        Ok(true) => PartHealth::Warn("a node has ended without having been stopped: see the nodes in the status"),
        // The check of the store reports the reason of an error.
        Ok(false) | Err(_) => PartHealth::Pass,
    }
}

/// Checks SSH. HTTP is served also if SSH is not.
fn ssh(context: &Context) -> PartHealth {
    context.serving.ssh.problem.map_or(PartHealth::Pass, PartHealth::Warn)
}

/// Returns how clients reach the daemon over SSH, for anybody.
pub fn ssh_service(context: &Context) -> SshService {
    let Some(address) = context.root_url.ssh() else { return SshService::default() };
    SshService {
        enabled: true,
        user: address.user.clone(),
        host: address.host.clone(),
        port: address.port.into(),
        host_keys: context.serving.ssh.host_keys.clone(),
    }
}

/// Returns the status for operators. Requires any authenticated caller.
pub async fn status(context: &Context, identity: &Identity) -> Result<Status, Error> {
    if matches!(identity, Identity::Anonymous) {
        return Err(Error::Unauthenticated { reason: "token is required".into() });
    }
    let store = context.store.health().await?;
    let health = health(context).await;
    // If the disk does not respond, `problems` contains that.
    let (free_bytes, total_bytes) =
        disk_space::local(context).await.map_or((0, 0), |space| (space.free_bytes, space.total_bytes));
    let listeners = context.serving.listeners.iter();
    Ok(Status {
        status: health.status,
        problems: health.problems,
        version: VERSION.into(),
        api_version: context.config.server.version.clone(),
        api_level: farrier_common::API_LEVEL,
        root_url: context.root_url.to_string(),
        uptime_secs: (context.now_ms() - context.serving.started_ms).max(0) / 1_000,
        listeners: listeners
            .map(|(kind, address)| ListenerStatus { kind: (*kind).into(), address: address.clone() })
            .collect(),
        resident_bytes: resident_bytes().unwrap_or_default(),
        store: store_status(context, &store, identity).await?,
        bucket: if identity.is_admin() { bucket_status(context).await? } else { None },
        disk: DiskStatus { free_bytes: signed(free_bytes), total_bytes: signed(total_bytes) },
        connections: context.serving.connections.load(Ordering::Relaxed),
        limits: limits(context),
        identity: identity.label().into(),
        artifacts: artifact_limits(context),
        restore_days: context.config.storage.set_aside_days.into(),
        ssh_host_keys: context.serving.ssh.host_keys.clone(),
        kept: if identity.is_admin() { Some(kept(context).await?) } else { None },
        storage: storage_use::shown(context, identity),
        nodes: if identity.is_admin() { node_states::all(context).await? } else { Vec::new() },
        quotas: if storage_use::may_read(identity) { quotas(context).await? } else { Vec::new() },
    })
}

async fn store_status(context: &Context, info: &EngineInfo, identity: &Identity) -> Result<StoreStatus, Error> {
    let oldest = info.oldest_write.as_ref().filter(|_| identity.is_admin());
    let server = info.server.as_ref().filter(|_| identity.is_admin());
    Ok(StoreStatus {
        engine: info.name.into(),
        size_bytes: signed(info.size_bytes),
        retries_per_minute: signed(context.store.retries_in_last_minute()),
        server: server.map(|server| StoreServer {
            address: server.address.clone(),
            reachable_since: show::time(ago_ms(context, server.reachable_for)),
            synchronous_standby: server.has_synchronous_standby,
            connections: signed_count(server.connections),
            max_connections: signed_count(server.max_connections),
        }),
        events_settled_to: signed(events::unsettled(&context.store.read().await?).await?.saturating_sub(1)),
        events_wait_for: oldest
            .map(|oldest| format!("{}, open for {} s", oldest.by, oldest.open_for.as_secs()))
            .unwrap_or_default(),
        format_level: context.store.format_level().into(),
    })
}

async fn bucket_status(context: &Context) -> Result<Option<BucketStatus>, Error> {
    let Some(url) = &context.config.blobs.url else { return Ok(None) };
    let unused = bucket::count_unused(&context.store.read().await?, UNUSED_PACKS_MAX).await?;
    let (last_error, last_error_at) = match context.blobs.last_failure() {
        Some(failure) => (failure.reason, show::time(ago_ms(context, failure.age))),
        None => (String::new(), String::new()),
    };
    Ok(Some(BucketStatus {
        url: url.to_string(),
        reachable: context.blobs.is_reachable(),
        last_error,
        last_error_at,
        unused_packs: signed(unused),
    }))
}

/// Returns the time that was `age` ago.
fn ago_ms(context: &Context, age: Duration) -> Millis {
    context.now_ms().saturating_sub(Millis::try_from(age.as_millis()).unwrap_or(Millis::MAX))
}

/// Returns the quotas that are full or nearly full. Reads the repositories only of these.
async fn quotas(context: &Context) -> Result<Vec<QuotaStatus>, Error> {
    let found = context.quotas.nearly_full(context.now_ms(), QUOTAS_MAX);
    let mut shown = Vec::new();
    if found.is_empty() {
        return Ok(shown);
    }
    let snapshot = context.store.read().await?;
    for one in found {
        let Some(row) = repositories::get(&snapshot, one.repository).await?.filter(|row| !row.deleted) else {
            continue;
        };
        let path = audit::path_of(&snapshot, row.id).await?;
        let owner = path.split_once('/').map_or(path.as_str(), |(owner, _)| owner);
        let holder = if one.kind == QuotaKind::LfsObjects { owner.to_owned() } else { path };
        shown.push(QuotaStatus {
            kind: one.kind.word().into(),
            holder,
            repository_id: signed(row.id),
            used_bytes: signed(one.used),
            max_bytes: signed(one.max),
            since: show::time(one.since_ms),
        });
    }
    Ok(shown)
}

/// Returns the use of everything that clients share: work, connections and the memory of requests.
fn limits(context: &Context) -> Vec<WorkLimit> {
    let connections = context.serving.admission.usages();
    let mut limits: Vec<WorkLimit> = context.work.usages().iter().chain(&connections).map(limit).collect();
    let memory = context.serving.memory.usage();
    limits.push(WorkLimit {
        kind: memory.kind.label.into(),
        unit: "bytes".into(),
        running: signed(memory.used),
        waiting: 0,
        max: signed(memory.max),
        max_per_caller: signed(memory.max_per_holder),
        refused: signed(memory.refused),
    });
    limits
}

fn limit(usage: &Usage) -> WorkLimit {
    WorkLimit {
        kind: usage.kind.label.into(),
        unit: String::new(),
        running: signed_count(usage.running),
        waiting: signed_count(usage.waiting),
        max: signed_count(usage.limits.capacity),
        max_per_caller: signed_count(usage.limits.per_holder),
        refused: signed(usage.refused_own_share.saturating_add(usage.refused_all_in_use)),
    }
}

async fn kept(context: &Context) -> Result<Kept, Error> {
    let snapshot = context.store.read().await?;
    let amount = |total: Total| Amount { count: signed(total.count), size_bytes: signed(total.size_bytes) };
    Ok(Kept {
        repositories: amount(totals::repositories(&snapshot).await?),
        artifacts: amount(totals::artifacts(&snapshot).await?),
        deleted_repositories: amount(totals::deleted_repositories(&snapshot).await?),
        deleted_artifacts: amount(totals::deleted_artifacts(&snapshot).await?),
        set_aside: amount(context.set_aside.total()),
        fan_out_events: signed(watch::fan_out_events(&snapshot).await?),
        last_backup_at: backups::last_success_at(context).await?,
    })
}

fn artifact_limits(context: &Context) -> ArtifactLimits {
    let limits = &context.config.artifacts;
    ArtifactLimits {
        quota_bytes: signed(limits.quota_bytes),
        retention_days: limits.retention_days.into(),
        max_retention_days: limits.max_retention_days.into(),
    }
}

fn signed(bytes: u64) -> i64 {
    i64::try_from(bytes).unwrap_or(i64::MAX)
}

fn signed_count(count: usize) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

/// Returns the resident memory of this process in bytes, as counted by the kernel.
pub(super) fn resident_bytes() -> Option<i64> {
    let statm = std::fs::read_to_string("/proc/self/statm").ok()?;
    let pages: i64 = statm.split_whitespace().nth(1)?.parse().ok()?;
    pages.checked_mul(i64::try_from(rustix::param::page_size()).ok()?)
}
