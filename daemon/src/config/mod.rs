//! The daemon's configuration as typed values with every default visible.
//!
//! Owns what the keys mean; [`mod@file`] reads them from TOML and names every problem at once. Reads
//! no environment but what [`DefaultPaths`] was given, and opens nothing, except for [`machine`], which compares a
//! configuration with the machine for `check-config`.

mod default_paths;
#[cfg(test)]
mod documented;
pub mod file;
pub mod forms;
mod live;
pub mod machine;
mod problem;
mod reader;
mod reload;
mod toml_value;

use std::{
    net::{Ipv4Addr, Ipv6Addr, SocketAddr},
    path::PathBuf,
    time::Duration,
};

use ipnet::IpNet;
use url::Url;

pub use self::{
    default_paths::DefaultPaths,
    live::Live,
    problem::{Given, Problem},
    reload::keep_fixed,
};

/// Everything that can be configured.
#[derive(Clone, Debug, PartialEq)]
pub struct Config {
    /// Where all data lies. Created when missing.
    pub data_dir: PathBuf,
    /// `[server]`
    pub server: Server,
    /// `[socket]`
    pub socket: Socket,
    /// `[auth]`
    pub auth: Auth,
    /// `[store]`
    pub store: Store,
    /// `[storage]`
    pub storage: Storage,
    /// `[artifacts]`
    pub artifacts: Artifacts,
    /// `[git]`
    pub git: Git,
    /// `[ci]`
    pub ci: Ci,
    /// `[webhook]`
    pub webhook: Webhook,
    /// `[events]`
    pub events: Events,
    /// `[migration]`
    pub migration: Migration,
    /// `[metrics]`
    pub metrics: Metrics,
    /// `[log]`
    pub log: Log,
}

/// `[server]`: TCP and what holds for all listeners.
#[derive(Clone, Debug, PartialEq)]
pub struct Server {
    /// `root_url`: the absolute address under which clients reach the daemon, without a slash at
    /// its end. `None`: `http://` and the first listening address.
    pub root_url: Option<Url>,
    /// `listen`: TCP addresses.
    pub listen: Vec<SocketAddr>,
    /// `version`: what `GET /api/v1/version` answers.
    pub version: String,
    /// `trusted_proxies`: networks of peers whose `X-Forwarded-*` headers count.
    pub trusted_proxies: Vec<IpNet>,
    /// `max_connections`: over all listeners; more wait in the kernel's queue.
    pub max_connections: usize,
    /// `header_timeout_secs`: a request's head must be complete by then.
    pub header_timeout: Duration,
    /// `idle_timeout_secs`: a body that stands still this long, of a request or of an answer, is
    /// given up.
    pub idle_timeout: Duration,
    /// `drain_grace_secs`: requests get this long to end when the daemon stops.
    pub drain_grace: Duration,
    /// `max_body_bytes`: largest body outside uploads and git.
    pub max_body_bytes: usize,
}

/// `[socket]`: the Unix socket.
#[derive(Clone, Debug, PartialEq)]
pub struct Socket {
    /// `path`
    pub path: PathBuf,
    /// `group`: may connect; the mode is 0660 then, else 0600.
    pub group: Option<String>,
    /// `admin_group`: its members act as the built-in administrator.
    pub admin_group: Option<String>,
    /// `ci_group`: its members begin and end jobs and use artifacts, nothing else.
    pub ci_group: Option<String>,
    /// `trust_peers`: whether the kernel's word for who is connected counts.
    pub trust_peers: bool,
}

/// `[auth]`: how callers prove who they are.
#[derive(Clone, Debug, PartialEq)]
pub struct Auth {
    /// `query_tokens`: whether a token may stand in the query, where proxies log it.
    pub query_tokens: bool,
}

/// `[store]`
#[derive(Clone, Debug, PartialEq)]
pub struct Store {
    /// `engine`: only `redb` so far.
    pub engine: String,
    /// `cache_mib`: memory for pages of the store.
    pub cache_mib: usize,
    /// `quick_repair`: opens at once after a kill, for half of the write rate.
    pub quick_repair: bool,
}

/// `[storage]`: what holds for all kinds of data.
#[derive(Clone, Debug, PartialEq)]
pub struct Storage {
    /// `set_aside_days`: how long deleted repositories and artifacts, and data that was set aside, are
    /// kept; 0: not at all.
    pub set_aside_days: u32,
}

/// What happens when a finalized name is created again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnDuplicate {
    /// The new upload is refused.
    Reject,
    /// The new upload takes the old one's place once it is finalized.
    Replace,
}

/// Where the name of an artifact is unique.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UniquePer {
    /// In the run, as GitHub has it.
    Run,
    /// In the job: jobs of one run may use the same name.
    Job,
}

/// `[artifacts]`
#[derive(Clone, Debug, PartialEq)]
pub struct Artifacts {
    /// `on_duplicate`
    pub on_duplicate: OnDuplicate,
    /// `unique_per`
    pub unique_per: UniquePer,
    /// `signed_url_secs`: how long an address for bytes works.
    pub signed_url: Duration,
    /// `base_url`: base of signed addresses; `None`: the host that the request named.
    pub base_url: Option<Url>,
    /// `vendors`: first words of the Twirp routes.
    pub vendors: Vec<String>,
    /// `max_bytes`: largest artifact.
    pub max_bytes: u64,
    /// `quota_bytes`: finalized bytes of one repository; 0: unlimited.
    pub quota_bytes: u64,
    /// `reserve_bytes`: free disk space that uploads leave untouched.
    pub reserve_bytes: u64,
    /// `retention_days`: life of an artifact that names none.
    pub retention_days: u32,
    /// `max_retention_days`: longest life.
    pub max_retention_days: u32,
    /// `abandoned_secs`: an upload that is not finalized by then is dropped.
    pub abandoned: Duration,
    /// `max_uploads`: blocks that are received at once; more are answered with 503.
    pub max_uploads: usize,
}

/// `[git]`: processes that serve repositories.
#[derive(Clone, Debug, PartialEq)]
pub struct Git {
    /// `max_processes`: at once; callers beyond wait for a while.
    pub max_processes: usize,
    /// `max_archives`: of these, at once for archives; callers beyond wait for a while.
    pub max_archives: usize,
    /// `timeout_secs`: longest run of a process, or, while it streams, longest standstill.
    pub timeout: Duration,
    /// `max_push_bytes`: largest pack that one push may send.
    pub max_push_bytes: u64,
    /// `prune_after_days`: how long commits stay after no branch, tag or other ref reaches them;
    /// 0: for ever.
    pub prune_after_days: u32,
}

/// `[ci]`
#[derive(Clone, Debug, PartialEq)]
pub struct Ci {
    /// `job_timeout_secs`: a job that has not ended by then is cancelled.
    pub job_timeout: Duration,
}

/// `[webhook]`: how deliveries are sent and how long they are remembered.
#[derive(Clone, Debug, PartialEq)]
pub struct Webhook {
    /// `enabled`: whether events go to hooks, and whether others than administrators manage hooks.
    pub enabled: bool,
    /// `allowed_hosts`
    pub allowed_hosts: String,
    /// `retry_schedule_secs`: the pause before each further attempt.
    pub retry_schedule_secs: Vec<u64>,
    /// `timeout_secs`: longest attempt, from the name's resolution to the answer's last byte.
    pub timeout: Duration,
    /// `max_concurrent`: requests at once; one that waits for a slow receiver soon counts no more.
    pub max_concurrent: usize,
    /// `disable_after_secs`: a hook that fails this long without one success is switched off;
    /// zero: never.
    pub disable_after: Duration,
    /// `max_commits`: commits of a push that its payload names.
    pub max_commits: usize,
    /// `max_files_per_commit`: paths of a commit that its payload names.
    pub max_files_per_commit: usize,
    /// `max_payload_bytes`: beyond it a push names fewer commits.
    pub max_payload_bytes: usize,
    /// `response_bytes`: how much of an answer is kept.
    pub response_bytes: usize,
    /// `keep_secs`: how long deliveries are remembered.
    pub keep: Duration,
    /// `keep_per_hook`: deliveries of one hook that are remembered.
    pub keep_per_hook: u64,
    /// `keep_bytes`: most bytes of attempts and payloads that are remembered.
    pub keep_bytes: u64,
    /// `proxy_url`: an HTTP proxy; `None`: connections go straight.
    pub proxy_url: Option<Url>,
    /// `proxy_auth_file`: a file with `user:password` for it, or the name of a credential; `None`: what
    /// `proxy_url` says.
    pub proxy_auth_file: Option<PathBuf>,
    /// `proxy_hosts`: hosts that are reached through it.
    pub proxy_hosts: String,
}

/// `[events]`: what happened.
#[derive(Clone, Debug, PartialEq)]
pub struct Events {
    /// `keep_secs`: how long it is remembered.
    pub keep: Duration,
}

/// `[migration]`: repositories that are fetched from elsewhere.
#[derive(Clone, Debug, PartialEq)]
pub struct Migration {
    /// `allowed_hosts`
    pub allowed_hosts: String,
    /// `timeout_secs`: longest run of one, waiting included.
    pub timeout: Duration,
    /// `max_bytes`: largest one, on disk.
    pub max_bytes: u64,
    /// `max_running`: at once; more wait.
    pub max_running: usize,
    /// `max_running_per_owner`: of one owner, waiting ones included; more are refused.
    pub max_running_per_owner: usize,
}

/// `[metrics]`: figures for whoever watches the daemon.
#[derive(Clone, Debug, PartialEq)]
pub struct Metrics {
    /// `listen`: where figures and health are given to anybody who connects; `None`: nowhere but on
    /// the other listeners, to administrators.
    pub listen: Option<SocketAddr>,
}

/// `[log]`
#[derive(Clone, Debug, PartialEq)]
pub struct Log {
    /// `filter`: directives such as `info,farrierd::http=debug`.
    pub filter: String,
    /// `json`: one JSON object a line.
    pub json: bool,
    /// `directory`: rotated files besides standard error.
    pub directory: Option<PathBuf>,
    /// `keep_files`: daily files that are kept.
    pub keep_files: usize,
}

const DAY_SECS: u64 = 86_400;
const HOUR_SECS: u64 = 3_600;
const MIB: u64 = 1 << 20;

impl Config {
    /// The defaults for `paths`.
    pub fn defaults(paths: &DefaultPaths) -> Self {
        Self {
            data_dir: paths.data_dir.clone(),
            server: Server {
                root_url: None,
                listen: vec![SocketAddr::from(([127, 0, 0, 1], 3000))],
                version: farrier_common::api_version(),
                trusted_proxies: vec![
                    IpNet::new_assert(Ipv4Addr::new(127, 0, 0, 0).into(), 8),
                    IpNet::new_assert(Ipv6Addr::LOCALHOST.into(), 128),
                ],
                max_connections: 16_384,
                header_timeout: Duration::from_secs(10),
                idle_timeout: Duration::from_secs(60),
                drain_grace: Duration::from_secs(30),
                max_body_bytes: 1 << 20,
            },
            socket: Socket {
                path: paths.socket.clone(),
                group: None,
                admin_group: None,
                ci_group: None,
                trust_peers: true,
            },
            auth: Auth { query_tokens: true },
            store: Store { engine: "redb".into(), cache_mib: 32, quick_repair: false },
            storage: Storage { set_aside_days: 30 },
            artifacts: Artifacts {
                on_duplicate: OnDuplicate::Reject,
                unique_per: UniquePer::Run,
                signed_url: Duration::from_secs(6 * HOUR_SECS),
                base_url: None,
                vendors: vec!["github".into()],
                max_bytes: 50 * 1024 * MIB,
                quota_bytes: 0,
                reserve_bytes: 256 * MIB,
                retention_days: 90,
                max_retention_days: 400,
                abandoned: Duration::from_secs(DAY_SECS),
                max_uploads: 256,
            },
            git: Git {
                max_processes: 32,
                max_archives: 8,
                timeout: Duration::from_secs(360),
                max_push_bytes: 4_096 * MIB,
                prune_after_days: 30,
            },
            ci: Ci { job_timeout: Duration::from_secs(6 * HOUR_SECS) },
            webhook: Webhook {
                enabled: true,
                allowed_hosts: "external".into(),
                retry_schedule_secs: vec![5, 300, 1_800, 7_200, 18_000, 36_000, 36_000],
                timeout: Duration::from_secs(10),
                max_concurrent: 16,
                disable_after: Duration::from_secs(5 * DAY_SECS),
                max_commits: 50,
                max_files_per_commit: 3_000,
                max_payload_bytes: 25 << 20,
                response_bytes: 64 << 10,
                keep: Duration::from_secs(7 * DAY_SECS),
                keep_per_hook: 1_000,
                keep_bytes: 1024 * MIB,
                proxy_url: None,
                proxy_auth_file: None,
                proxy_hosts: "*".into(),
            },
            events: Events { keep: Duration::from_secs(30 * DAY_SECS) },
            migration: Migration {
                allowed_hosts: "external".into(),
                timeout: Duration::from_secs(HOUR_SECS),
                max_bytes: 10 * 1024 * MIB,
                max_running: 4,
                max_running_per_owner: 20,
            },
            metrics: Metrics { listen: None },
            log: Log { filter: "info".into(), json: false, directory: None, keep_files: 14 },
        }
    }
}
