//! The kinds of work that clients can start, with their limits from the configuration.

use crate::{
    config::Config,
    git::Git,
    shares::{ShareLimits, Shares, Usage, WorkKind},
};

const GIT_SPOOL: WorkKind = WorkKind { label: "git_spool", plural: "buffered fetches", retry_after_secs: 10 };
const UPLOADS: WorkKind = WorkKind { label: "upload", plural: "uploads", retry_after_secs: 5 };
const ARCHIVES: WorkKind = WorkKind { label: "archive", plural: "archives", retry_after_secs: 15 };
const IMPORTS: WorkKind = WorkKind { label: "import", plural: "imports", retry_after_secs: 60 };
const MIRRORS: WorkKind = WorkKind { label: "mirror", plural: "syncs of mirrors", retry_after_secs: 60 };
const SSH_CONNECTIONS: WorkKind = WorkKind { label: "ssh_connection", plural: "SSH connections", retry_after_secs: 5 };
const EVENT_STREAMS: WorkKind = WorkKind { label: "event_stream", plural: "event streams", retry_after_secs: 30 };
const PASSWORD_CHECKS: WorkKind = WorkKind { label: "password_check", plural: "password checks", retry_after_secs: 5 };
const REPLAYS: WorkKind = WorkKind { label: "replay", plural: "replays of deliveries", retry_after_secs: 10 };
const SIGNATURE_CHECKS: WorkKind =
    WorkKind { label: "signature_check", plural: "checks of signatures", retry_after_secs: 5 };

const DELIVERY_SEARCHES: WorkKind =
    WorkKind { label: "delivery_search", plural: "searches of deliveries", retry_after_secs: 5 };

/// Output of fetches that is buffered in files, in steps of 16 MiB: 1 GiB.
const GIT_SPOOL_MAX: usize = 64;
/// Maximum number of open event streams.
const EVENT_STREAMS_MAX: usize = 64;
/// Maximum number of replays of deliveries. Each one waits for its receiver, usually for a moment.
const REPLAYS_MAX: usize = 16;
/// Maximum number of passwords that are hashed at the same time. Each one uses a core and 19 MiB for a moment.
pub(super) const PASSWORD_CHECKS_MAX: usize = 2;
/// Password checks that wait for a free core. They take less than a tenth of a second each.
const PASSWORD_CHECKS_WAITING_MAX: usize = 256;
/// Requests that wait for the check of their signatures. A check usually takes some milliseconds.
const SIGNATURE_CHECKS_WAITING_MAX: usize = 256;
/// Searches of deliveries that wait. A search takes at most some tens of milliseconds.
const DELIVERY_SEARCHES_WAITING_MAX: usize = 256;

/// The shares of each kind of work. The connections of HTTP have shares in [`crate::serve`].
#[derive(Debug)]
pub struct WorkShares {
    /// Clones, fetches, pushes, and downloads from repositories: three quarters of `git.max_processes`.
    pub git: Shares,
    /// Queries of repositories for callers of the API: half of `git.max_processes`.
    pub git_reads: Shares,
    /// Steps of 16 MiB that slow fetches have in files.
    pub git_spool: Shares,
    /// Blocks that are being received: `artifacts.max_uploads`.
    pub uploads: Shares,
    /// Archives that are being written: `git.max_archives`.
    pub archives: Shares,
    /// Imports that are fetching: `migration.max_running`.
    pub imports: Shares,
    /// Running syncs of mirrors: `mirror.max_running`.
    pub mirrors: Shares,
    /// SSH connections that have signed in: `ssh.max_connections`.
    pub ssh_connections: Shares,
    /// Open event streams.
    pub event_streams: Shares,
    /// Replays of deliveries.
    pub replays: Shares,
    /// Passwords that are being hashed.
    pub password_checks: Shares,
    /// Requests whose signatures of commits and tags are being checked.
    pub signature_checks: Shares,
    /// Requests that search deliveries.
    pub delivery_searches: Shares,
}

impl WorkShares {
    /// Creates the shares, except for those of git processes.
    pub fn new(config: &Config, git: &Git) -> Self {
        // Half of the cores stay free for other requests.
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let capacity = (cores / 2).clamp(1, PASSWORD_CHECKS_MAX);
        let half = ShareLimits::of((cores / 2).max(1));
        let signature_checks = ShareLimits { waiting: SIGNATURE_CHECKS_WAITING_MAX, ..half };
        let delivery_searches = ShareLimits { waiting: DELIVERY_SEARCHES_WAITING_MAX, ..half };
        let password_checks = ShareLimits { waiting: PASSWORD_CHECKS_WAITING_MAX, ..ShareLimits::of(capacity) };
        Self {
            git: git.streams().clone(),
            git_reads: git.reads().clone(),
            git_spool: Shares::new(GIT_SPOOL, ShareLimits::of(GIT_SPOOL_MAX)),
            uploads: Shares::new(UPLOADS, uploads(config)),
            archives: Shares::new(ARCHIVES, ShareLimits::of(config.git.max_archives)),
            imports: Shares::new(IMPORTS, imports(config)),
            mirrors: Shares::new(MIRRORS, mirrors(config)),
            ssh_connections: Shares::new(SSH_CONNECTIONS, ShareLimits::of(config.ssh.max_connections)),
            event_streams: Shares::new(EVENT_STREAMS, ShareLimits::of(EVENT_STREAMS_MAX)),
            replays: Shares::new(REPLAYS, ShareLimits::of(REPLAYS_MAX)),
            password_checks: Shares::new(PASSWORD_CHECKS, password_checks),
            signature_checks: Shares::new(SIGNATURE_CHECKS, signature_checks),
            delivery_searches: Shares::new(DELIVERY_SEARCHES, delivery_searches),
        }
    }

    /// Applies the limits of a reloaded configuration.
    pub fn set_limits(&self, config: &Config) {
        self.uploads.set_limits(uploads(config));
        self.archives.set_limits(ShareLimits::of(config.git.max_archives));
        self.imports.set_limits(imports(config));
        self.mirrors.set_limits(mirrors(config));
    }

    /// Returns the use of every kind.
    pub fn usages(&self) -> Vec<Usage> {
        let all = [
            &self.git,
            &self.git_reads,
            &self.git_spool,
            &self.uploads,
            &self.archives,
            &self.imports,
            &self.mirrors,
            &self.ssh_connections,
            &self.event_streams,
            &self.replays,
            &self.password_checks,
            &self.signature_checks,
            &self.delivery_searches,
        ];
        all.into_iter().map(Shares::usage).collect()
    }
}

/// Returns the limits of uploads. Signed URLs name no account, so no part is reserved for accounts. The agents of a CI
/// system often have one address.
fn uploads(config: &Config) -> ShareLimits {
    let limits = ShareLimits::of(config.artifacts.max_uploads);
    ShareLimits { for_signed_in: 0, ..limits }.with_per_holder(limits.capacity.div_ceil(2))
}

/// Returns the limits of imports. Waiting imports are limited by `migration.max_running_per_owner`, and only accounts
/// can import.
fn imports(config: &Config) -> ShareLimits {
    let limits = ShareLimits::of(config.migration.max_running);
    ShareLimits { waiting: usize::MAX, for_signed_in: 0, ..limits }.with_per_holder(limits.capacity.div_ceil(2))
}

/// Returns the limits of syncs of mirrors. The daemon starts them itself, so all have one holder for each owner.
fn mirrors(config: &Config) -> ShareLimits {
    let limits = ShareLimits::of(config.mirror.max_running);
    ShareLimits { waiting: usize::MAX, for_signed_in: 0, for_operators: 0, ..limits }
        .with_per_holder(limits.capacity.div_ceil(2))
}
