//! The shared state of the services.

use std::{
    ops::Deref,
    sync::{Arc, Weak, atomic::AtomicI64},
};

use farrier_common::api::SshHostKey;
use tokio::sync::watch;

use super::{
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
    migrations::Migrations,
    mirrors::MirrorRuns,
    nodes::OwnNode,
    quota_watch::QuotaWatch,
    releases::downloads::DownloadCounts,
    sign_in::SignIn,
    storage_use::StorageUse,
    tidying::Tidying,
    work::WorkShares,
};
use crate::{
    blob::{BlobStore, PackObjects, digest::Digests},
    clock::Millis,
    delivery::DeliveryContext,
    id_locks::IdLocks,
    model::secret::SigningKey,
    serve::{Admission, FdReserve},
    set_aside::SetAside,
    shares::MemoryBudget,
    telemetry::records::LogRecords,
    wake::Wake,
};

/// The shared state of the services, with the fields of the [`DeliveryContext`]. Clones share it.
#[derive(Clone)]
pub struct Context(Arc<ContextFields>);

/// The fields of a [`Context`].
pub struct ContextFields {
    /// The fields that the delivery code uses too, such as the store and the configuration.
    pub delivery: DeliveryContext,
    /// Stores the bytes of artifacts.
    pub blobs: Arc<dyn BlobStore>,
    /// The packs in the bucket. `None`: they are only in the directories of repositories.
    pub packs: Option<PackObjects>,
    /// Computes the digests of uploads while they are received.
    pub digests: Digests,
    /// Remembers which artifacts were compared with their SHA-256 when they were downloaded.
    pub verified: VerifiedContents,
    /// The node of this daemon.
    pub node: OwnNode,
    /// Tracks which uploads are receiving blocks.
    pub receiving: Receiving,
    /// Artifacts of version 3 that are being finalized, by ID.
    pub finalizing: IdLocks,
    /// Repositories in which a received file of a release is being recorded, by ID. Used if they have a quota.
    pub recording_assets: IdLocks,
    /// Repositories in which an artifact is being recorded, by ID. Used if they have a quota.
    pub recording_artifacts: IdLocks,
    /// The part of the state of caches that is not in the store.
    pub caches: CacheState,
    /// Counts downloads of files of releases.
    pub asset_downloads: DownloadCounts,
    /// Limits the work that clients can start.
    pub work: WorkShares,
    /// Wakes transfers when the rights of callers may have changed.
    pub access_changes: AccessChanges,
    /// Counts announced bytes against the free space of the disk.
    pub disk_space: DiskSpace,
    /// Remembers since when the checks of the daemon find problems.
    pub health: HealthWatch,
    /// Remembers the quotas that are full or nearly full.
    pub quotas: QuotaWatch,
    /// Moves data without a row to the directory `set-aside`.
    pub set_aside: SetAside,
    /// Tracks running and recently ended migrations.
    pub migrations: Migrations,
    /// Tracks running syncs of mirrors, and wakes the task that starts them.
    pub mirrors: MirrorRuns,
    /// Counts failed sign-ins per source, to slow down password guessing.
    pub sign_in: SignIn,
    /// Signs download URLs and runtime tokens.
    pub keys: SigningKeys,
    /// Creates the keys of ID tokens one at a time.
    pub id_tokens: IdTokenState,
    /// Wakes the readers of events.
    pub events: EventSignal,
    /// The state of the audit log.
    pub audit: AuditLog,
    /// The backup that runs, or the last one.
    pub backups: BackupState,
    /// Wakes the task that prunes repositories.
    pub pruning: Wake,
    /// Which repositories are being tidied.
    pub tidying: Tidying,
    /// The search for LFS objects that no file names.
    pub lfs_collection: LfsCollection,
    /// How much storage each owner uses, as added up last.
    pub storage_use: StorageUse,
    /// The log filter, in the syntax of `log.filter`. The log applies each new value.
    pub log_filter: watch::Sender<String>,
    /// The newest log records of this process.
    pub log_records: Arc<LogRecords>,
    /// The listeners and connections of the daemon.
    pub serving: Serving,
}

/// The daemon's signing keys, one for each purpose.
#[derive(Clone, Debug)]
pub struct SigningKeys {
    /// Signs the URLs of artifact bytes.
    pub signed_url: SigningKey,
    /// Signs the runtime tokens of jobs.
    pub runtime_token: SigningKey,
    /// Signs the URLs of LFS objects.
    pub lfs_address: SigningKey,
    /// Signs the tokens of `git-lfs-authenticate`.
    pub lfs_token: SigningKey,
    /// Makes the tokens that prove the possession of OpenPGP keys.
    pub gpg_key_token: SigningKey,
}

/// The listeners and connections of the daemon.
#[derive(Debug)]
pub struct Serving {
    /// When the daemon became ready.
    pub started_ms: Millis,
    /// `(kind, address)` of each listener.
    pub listeners: Vec<(&'static str, String)>,
    /// SSH: its host keys, and why it is off although it is configured.
    pub ssh: SshServing,
    /// The number of open client connections.
    pub connections: Arc<AtomicI64>,
    /// Limits the number of open client connections, see `server.max_connections`.
    pub admission: Arc<Admission>,
    /// Limits the memory that requests hold, see `server.request_memory_mib`.
    pub memory: MemoryBudget,
    /// Keeps spare file descriptors for the case that the process has no other free one.
    pub reserve: Arc<FdReserve>,
}

/// The state of SSH since the start.
#[derive(Debug, Default)]
pub struct SshServing {
    /// The public host keys. Empty: SSH is off.
    pub host_keys: Vec<SshHostKey>,
    /// Why SSH is off although it is configured. The text is public.
    pub problem: Option<&'static str>,
}

impl Context {
    /// Creates the context from its fields.
    pub fn new(fields: ContextFields) -> Self {
        Self(Arc::new(fields))
    }

    /// Returns a reference that does not keep the context alive.
    pub fn downgrade(&self) -> WeakContext {
        WeakContext(Arc::downgrade(&self.0))
    }
}

impl Deref for Context {
    type Target = ContextFields;

    fn deref(&self) -> &ContextFields {
        &self.0
    }
}

impl Deref for ContextFields {
    type Target = DeliveryContext;

    fn deref(&self) -> &DeliveryContext {
        &self.delivery
    }
}

/// A reference to a [`Context`] that does not keep it alive.
#[derive(Clone)]
pub struct WeakContext(Weak<ContextFields>);

impl WeakContext {
    /// Returns the context, unless the daemon has stopped.
    pub fn upgrade(&self) -> Option<Context> {
        self.0.upgrade().map(Context)
    }
}
