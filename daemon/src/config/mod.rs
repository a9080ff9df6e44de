//! The daemon's configuration as typed values, with all defaults.
//!
//! This module defines the meaning of the keys. [`mod@file`] reads them from TOML and reports all problems at once.
//! The only environment variables are those that [`DefaultPaths`] reads. Nothing here opens files or sockets, except
//! [`machine`], which checks a configuration against the machine for `check-config`.

mod blobs;
mod bucket_url;
mod data;
mod default_paths;
mod defaults;
#[cfg(test)]
mod documented;
pub mod file;
pub mod forms;
mod git;
mod live;
mod log;
pub mod machine;
mod mirror;
mod node;
mod problem;
mod reader;
mod reload;
mod store_url;
mod toml_value;

use std::{net::SocketAddr, path::PathBuf, time::Duration};

use ipnet::IpNet;
use url::Url;

pub use self::{
    blobs::BlobsConfig,
    bucket_url::BucketUrl,
    data::{ArtifactsConfig, CachesConfig, LfsConfig, OnDuplicate, StorageConfig, StoreConfig, StoreEngine, UniquePer},
    default_paths::DefaultPaths,
    git::GitConfig,
    live::LiveConfig,
    log::LogConfig,
    mirror::MirrorConfig,
    node::NodeConfig,
    problem::{ConfigProblem, KeyLocations},
    reload::{changed_sections, keep_fixed},
    store_url::StoreUrl,
};
use crate::model::{id_token::Algorithm, secret::SharedSecret};

/// The complete configuration.
#[derive(Clone, Debug, PartialEq)]
pub struct Config {
    /// The file from which the configuration was read, for backups. `None`: the defaults apply.
    pub file: Option<PathBuf>,
    /// Directory for all data. Created if missing.
    pub data_dir: PathBuf,
    /// `[server]`
    pub server: ServerConfig,
    /// `[ssh]`
    pub ssh: SshConfig,
    /// `[socket]`
    pub socket: SocketConfig,
    /// `[auth]`
    pub auth: AuthConfig,
    /// `[repositories]`
    pub repositories: RepositoriesConfig,
    /// `[store]`
    pub store: StoreConfig,
    /// `[node]`
    pub node: NodeConfig,
    /// `[storage]`
    pub storage: StorageConfig,
    /// `[blobs]`
    pub blobs: BlobsConfig,
    /// `[artifacts]`
    pub artifacts: ArtifactsConfig,
    /// `[caches]`
    pub caches: CachesConfig,
    /// `[git]`
    pub git: GitConfig,
    /// `[lfs]`
    pub lfs: LfsConfig,
    /// `[ci]`
    pub ci: CiConfig,
    /// `[webhook]`
    pub webhook: WebhookConfig,
    /// `[events]`
    pub events: EventsConfig,
    /// `[audit]`
    pub audit: AuditConfig,
    /// `[migration]`
    pub migration: MigrationConfig,
    /// `[mirror]`
    pub mirror: MirrorConfig,
    /// `[metrics]`
    pub metrics: MetricsConfig,
    /// `[log]`
    pub log: LogConfig,
}

/// `[server]`: TCP listeners, and limits of all listeners.
#[derive(Clone, Debug, PartialEq)]
pub struct ServerConfig {
    /// `root_url`: absolute address under which clients reach the daemon, without a slash at its end. `None`: `http://`
    /// and the first listening address.
    pub root_url: Option<Url>,
    /// `listen`: TCP addresses.
    pub listen: Vec<SocketAddr>,
    /// `hosts`: further host names under which clients reach the daemon.
    pub hosts: Vec<String>,
    /// `version`: the version that `GET /api/v1/version` reports.
    pub version: String,
    /// `trusted_proxies`: networks of proxies whose `X-Forwarded-*` headers are used.
    pub trusted_proxies: Vec<IpNet>,
    /// `max_connections`: open TCP connections. More connections get 503.
    pub max_connections: usize,
    /// `max_connections_per_address`: open TCP connections of one IPv4 address or one IPv6 /64 network, except for
    /// trusted proxies. 0: unlimited.
    pub max_connections_per_address: usize,
    /// `header_timeout_secs`: time limit for receiving the head of a request.
    pub header_timeout: Duration,
    /// `idle_timeout_secs`: a request or response body without progress for this time is aborted.
    pub idle_timeout: Duration,
    /// `body_min_bytes_per_sec`: lowest average rate of a request body. 0: unlimited.
    pub body_min_bytes_per_sec: u64,
    /// `response_min_bytes_per_sec`: lowest average rate at which a client reads responses. 0: unlimited.
    pub response_min_bytes_per_sec: u64,
    /// `drain_grace_secs`: time for running requests to end when the daemon stops.
    pub drain_grace: Duration,
    /// `request_memory_mib`: memory for what requests hold as a whole: heads, lists of refs and of ref updates, JSON
    /// bodies, output of git. More requests get 503, or 429 if one client uses half of it.
    pub request_memory_mib: usize,
    /// `max_body_bytes`: largest request body, except for uploads and git.
    pub max_body_bytes: usize,
}

/// `[ssh]`: git over SSH.
#[derive(Clone, Debug, PartialEq)]
pub struct SshConfig {
    /// `listen`: TCP addresses. Empty: SSH is off.
    pub listen: Vec<SocketAddr>,
    /// Not a setting: whether `listen` is the default. A port of the default that is in use is not an error.
    pub listen_by_default: bool,
    /// `user`: the login name of every client.
    pub user: String,
    /// `clone_host`: the host in the SSH addresses of repositories. `None`: the host of the API.
    pub clone_host: Option<String>,
    /// `clone_port`: the port in the SSH addresses of repositories. 0: the port of the first listener.
    pub clone_port: u16,
    /// `max_connections`: open connections.
    pub max_connections: usize,
    /// `max_unauthenticated`: open connections that have not signed in.
    pub max_unauthenticated: usize,
    /// `login_timeout_secs`: time limit from the first byte to the accepted key.
    pub login_timeout: Duration,
    /// `idle_timeout_secs`: a connection without a running command is closed after this time.
    pub idle_timeout: Duration,
}

/// `[socket]`: the Unix socket.
#[derive(Clone, Debug, PartialEq)]
pub struct SocketConfig {
    /// `path`
    pub path: PathBuf,
    /// `max_connections`: open connections. More connections get 503.
    pub max_connections: usize,
    /// `group`: group that may connect. The socket's mode is 0660 with a group, else 0600.
    pub group: Option<String>,
    /// `admin_group`: members act as the built-in administrator.
    pub admin_group: Option<String>,
    /// `ci_group`: members may start and end jobs and use artifacts, nothing else.
    pub ci_group: Option<String>,
    /// `trust_peers`: whether callers are identified by the user and groups that the kernel reports.
    pub trust_peers: bool,
}

/// `[auth]`: authentication of callers.
#[derive(Clone, Debug, PartialEq)]
pub struct AuthConfig {
    /// `query_tokens`: whether tokens in the query are accepted. Proxies log queries.
    pub query_tokens: bool,
    /// `token_max_days`: maximum lifetime of new tokens. 0: unlimited.
    pub token_max_days: u32,
    /// `password_login`: whether passwords are accepted. If not, requests need an access token.
    pub password_login: bool,
    /// `require_sign_in`: whether anonymous callers are refused.
    pub require_sign_in: bool,
}

/// `[repositories]`
#[derive(Clone, Debug, PartialEq)]
pub struct RepositoriesConfig {
    /// `default_private`: whether new and imported repositories are private if the request does not say.
    pub default_private: bool,
}

/// `[ci]`
#[derive(Clone, Debug, PartialEq)]
pub struct CiConfig {
    /// `job_timeout_secs`: time after which a job that has not ended is cancelled.
    pub job_timeout: Duration,
    /// `cache_secret`: the secret of runners that use the daemon as their cache server. `None`: no runner may.
    pub cache_secret: Option<SharedSecret>,
    /// `id_token_algorithm`: the algorithm that signs the ID tokens of jobs.
    pub id_token_algorithm: Algorithm,
    /// `id_token_key_days`: after how many days a key of ID tokens is replaced.
    pub id_token_key_days: u32,
}

/// `[webhook]`: sending and retention of deliveries.
#[derive(Clone, Debug, PartialEq)]
pub struct WebhookConfig {
    /// `enabled`: whether events are delivered to hooks, and whether others than administrators may manage hooks.
    pub enabled: bool,
    /// `allowed_hosts`: hosts to which deliveries may be sent.
    pub allowed_hosts: String,
    /// `retry_schedule_secs`: pause before each retry.
    pub retry_schedule_secs: Vec<u64>,
    /// `timeout_secs`: time limit of an attempt, from name resolution to the last byte of the response.
    pub timeout: Duration,
    /// `max_concurrent`: attempts at the same time. An attempt that waits for a slow receiver soon stops counting.
    pub max_concurrent: usize,
    /// `max_waiting_per_owner`: number of waiting deliveries of the hooks of one account, including those of its
    /// repositories, or of all system hooks, above which the deliveries of further events are written later.
    pub max_waiting_per_owner: u64,
    /// `disable_after_secs`: time without a successful delivery after which a failing hook is disabled. 0: never.
    pub disable_after: Duration,
    /// `max_commits`: maximum number of commits in the payload of a push.
    pub max_commits: usize,
    /// `max_files_per_commit`: maximum number of paths of a commit in a payload.
    pub max_files_per_commit: usize,
    /// `max_payload_bytes`: largest payload of a push. Commits are left out of larger ones.
    pub max_payload_bytes: usize,
    /// `response_bytes`: number of bytes of a response that are stored.
    pub response_bytes: usize,
    /// `keep_secs`: retention of deliveries.
    pub keep: Duration,
    /// `keep_per_hook`: maximum number of stored deliveries per hook.
    pub keep_per_hook: u64,
    /// `keep_bytes`: maximum total size of stored attempts and payloads.
    pub keep_bytes: u64,
    /// `proxy_url`: HTTP proxy for deliveries. `None`: direct connections.
    pub proxy_url: Option<Url>,
    /// `proxy_auth_file`: file with `user:password` for the proxy, or the name of a credential. `None`: the credentials
    /// in `proxy_url`.
    pub proxy_auth_file: Option<PathBuf>,
    /// `proxy_hosts`: hosts that are reached through the proxy.
    pub proxy_hosts: String,
}

/// `[events]`: the event log.
#[derive(Clone, Debug, PartialEq)]
pub struct EventsConfig {
    /// `keep_secs`: retention of events.
    pub keep: Duration,
}

/// `[audit]`: the audit log.
#[derive(Clone, Debug, PartialEq)]
pub struct AuditConfig {
    /// `retention_days`: retention of audit entries.
    pub retention_days: u32,
    /// `required`: whether a change is refused if it cannot be recorded.
    pub required: bool,
    /// `file`: file that gets a copy of each entry.
    pub file: Option<PathBuf>,
    /// `journal`: socket of the systemd journal, which gets a copy of each entry. `None`: it gets none.
    pub journal: Option<PathBuf>,
}

/// `[migration]`: import of repositories.
#[derive(Clone, Debug, PartialEq)]
pub struct MigrationConfig {
    /// `allowed_hosts`: hosts from which repositories may be imported.
    pub allowed_hosts: String,
    /// `timeout_secs`: time limit of an import, including the time in the queue.
    pub timeout: Duration,
    /// `max_bytes`: largest imported repository, on disk.
    pub max_bytes: u64,
    /// `max_running`: imports at the same time. Further imports wait.
    pub max_running: usize,
    /// `max_running_per_owner`: running and waiting imports of one owner. Further imports are refused.
    pub max_running_per_owner: usize,
}

/// `[metrics]`: the listener for monitoring.
#[derive(Clone, Debug, PartialEq)]
pub struct MetricsConfig {
    /// `listen`: address that serves metrics and health without authentication. `None`: metrics are available to
    /// administrators on the other listeners only.
    pub listen: Option<SocketAddr>,
}
