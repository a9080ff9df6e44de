//! The default values of all settings.

use std::{net::SocketAddr, time::Duration};

use super::{
    ArtifactsConfig, AuditConfig, AuthConfig, BlobsConfig, CachesConfig, CiConfig, Config, DefaultPaths, EventsConfig,
    GitConfig, LfsConfig, LogConfig, MetricsConfig, MigrationConfig, MirrorConfig, NodeConfig, OnDuplicate,
    RepositoriesConfig, ServerConfig, SocketConfig, SshConfig, StorageConfig, StoreConfig, StoreEngine, UniquePer,
    WebhookConfig,
};
use crate::model::id_token::Algorithm;

/// Name of the credential of the service manager that has the key of the store.
const KEY_CREDENTIAL: &str = "farrier-store-key";
const DAY_SECS: u64 = 86_400;
const HOUR_SECS: u64 = 3_600;
const MIB: u64 = 1 << 20;

impl Config {
    /// Returns the default configuration for `paths`.
    pub fn defaults(paths: &DefaultPaths) -> Self {
        Self {
            file: None,
            data_dir: paths.data_dir.clone(),
            server: server_defaults(),
            ssh: ssh_defaults(),
            socket: SocketConfig {
                path: paths.socket.clone(),
                max_connections: 8_192,
                group: None,
                admin_group: None,
                ci_group: None,
                trust_peers: true,
            },
            auth: AuthConfig { query_tokens: false, token_max_days: 0, password_login: true, require_sign_in: false },
            repositories: RepositoriesConfig { default_private: false },
            store: StoreConfig {
                engine: StoreEngine::Redb,
                url: None,
                password_file: None,
                ca_file: None,
                max_connections: 24,
                cache_mib: 32,
                quick_repair: false,
                verify_mib: 64,
                key_file: None,
                key_credential: paths.credentials.as_ref().map(|directory| directory.join(KEY_CREDENTIAL)),
            },
            storage: StorageConfig { set_aside_days: 30 },
            blobs: BlobsConfig::default(),
            artifacts: artifacts_defaults(),
            caches: CachesConfig {
                max_bytes: 10 * 1024 * MIB,
                quota_bytes: 10 * 1024 * MIB,
                total_bytes: 0,
                retention_days: 7,
            },
            git: GitConfig::default(),
            lfs: LfsConfig {
                enabled: true,
                max_object_bytes: 0,
                quota_bytes: 0,
                address: Duration::from_secs(HOUR_SECS),
                keep_unreferenced: Duration::from_secs(30 * DAY_SECS),
            },
            ci: CiConfig {
                job_timeout: Duration::from_secs(6 * HOUR_SECS),
                cache_secret: None,
                id_token_algorithm: Algorithm::Rs256,
                id_token_key_days: 90,
            },
            webhook: webhook_defaults(),
            events: EventsConfig { keep: Duration::from_secs(30 * DAY_SECS) },
            audit: AuditConfig { retention_days: 400, required: false, file: None, journal: None },
            migration: migration_defaults(),
            mirror: MirrorConfig::default(),
            node: NodeConfig::default(),
            metrics: MetricsConfig { listen: None },
            log: LogConfig::default(),
        }
    }
}

fn server_defaults() -> ServerConfig {
    ServerConfig {
        root_url: None,
        listen: vec![SocketAddr::from(([127, 0, 0, 1], 3000))],
        hosts: Vec::new(),
        version: farrier_common::api_version(),
        trusted_proxies: Vec::new(),
        max_connections: 16_384,
        max_connections_per_address: 8_192,
        header_timeout: Duration::from_secs(10),
        idle_timeout: Duration::from_secs(60),
        body_min_bytes_per_sec: 1_024,
        // Below 1 KB/s, at which a client on a slow line may still clone.
        response_min_bytes_per_sec: 512,
        drain_grace: Duration::from_secs(30),
        request_memory_mib: 256,
        max_body_bytes: 1 << 20,
    }
}

fn ssh_defaults() -> SshConfig {
    SshConfig {
        listen: vec![SocketAddr::from(([127, 0, 0, 1], 2222))],
        listen_by_default: true,
        user: "git".into(),
        clone_host: None,
        clone_port: 0,
        max_connections: 512,
        max_unauthenticated: 64,
        login_timeout: Duration::from_secs(30),
        idle_timeout: Duration::from_secs(300),
    }
}

fn artifacts_defaults() -> ArtifactsConfig {
    ArtifactsConfig {
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
    }
}

fn webhook_defaults() -> WebhookConfig {
    WebhookConfig {
        enabled: true,
        allowed_hosts: "external".into(),
        retry_schedule_secs: vec![5, 300, 1_800, 7_200, 18_000, 36_000, 36_000],
        timeout: Duration::from_secs(10),
        max_concurrent: 16,
        max_waiting_per_owner: 100_000,
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
    }
}

fn migration_defaults() -> MigrationConfig {
    MigrationConfig {
        allowed_hosts: "external".into(),
        timeout: Duration::from_secs(HOUR_SECS),
        max_bytes: 10 * 1024 * MIB,
        max_running: 4,
        max_running_per_owner: 20,
    }
}
