//! Reads a configuration file: its sections and keys, each with its limits. Reports all problems of a file, not only
//! the first one.

use std::{path::PathBuf, time::Duration};

use ipnet::IpNet;
use url::Url;

use super::{
    Config, ConfigProblem, OnDuplicate, StoreEngine, StoreUrl, UniquePer,
    forms::{absolute, base_url, listen_address},
    problem::KeyLocations,
    reader::{ConfigReader, SECS_MAX},
};
use crate::model::{address_policy::AddressPolicy, host_names, id_token::Algorithm};

/// Replaces the values of `config` by those in `text`. On `Err`, `config` must not be used.
pub fn apply(text: &str, config: &mut Config) -> Result<(), Vec<ConfigProblem>> {
    let (_, problems) = read(text, config);
    if problems.is_empty() { Ok(()) } else { Err(problems) }
}

/// Like [`apply`], but also returns the position of each key in the file. If there are problems, `config` still gets
/// the valid values.
pub fn read(text: &str, config: &mut Config) -> (KeyLocations, Vec<ConfigProblem>) {
    match ConfigReader::new(text) {
        Ok(mut reader) => {
            read_all(&mut reader, config);
            reader.finish(SECTIONS)
        }
        Err(problems) => (KeyLocations::default(), problems),
    }
}

/// Returns all known keys, as `section.key`.
#[cfg(test)]
pub(super) fn known_keys(mut config: Config) -> Vec<String> {
    let mut reader = ConfigReader::new("").expect("an empty file is TOML");
    read_all(&mut reader, &mut config);
    reader.known
}

/// Clients of the event stream must be able to continue after a day.
const EVENTS_KEEP_MIN_SECS: u64 = 86_400;
/// Largest time limit of a delivery attempt.
pub const TIMEOUT_SECS_MAX: u64 = 60;
/// Largest stored part of a response: an attempt is stored in one row.
const RESPONSE_BYTES_MAX: usize = 512 << 10;

/// Socket of the native protocol of the systemd journal.
const JOURNAL_SOCKET: &str = "/run/systemd/journal/socket";

/// Longest lifetime of tokens that can be configured: 100 years.
const TOKEN_DAYS_MAX: u32 = 36_500;

const SECTIONS: &[&str] = &[
    "server",
    "ssh",
    "socket",
    "auth",
    "repositories",
    "store",
    "node",
    "storage",
    "blobs",
    "artifacts",
    "caches",
    "git",
    "lfs",
    "ci",
    "webhook",
    "events",
    "audit",
    "migration",
    "mirror",
    "metrics",
    "log",
];

fn read_all(r: &mut ConfigReader<'_>, c: &mut Config) {
    r.top_level("data_dir", &mut c.data_dir, |path| absolute(PathBuf::from(path)));
    read_server(r, c);
    read_ssh(r, c);
    read_artifacts(r, c);
    read_caches(r, c);
    read_lfs(r, c);

    let s = &mut c.socket;
    r.parsed("socket", "path", &mut s.path, absolute);
    r.at_least("socket", "max_connections", &1, &mut s.max_connections);
    r.parsed("socket", "group", &mut s.group, |name: String| Ok(Some(name)));
    r.parsed("socket", "admin_group", &mut s.admin_group, |name: String| Ok(Some(name)));
    r.parsed("socket", "ci_group", &mut s.ci_group, |name: String| Ok(Some(name)));
    r.value("socket", "trust_peers", &mut s.trust_peers);

    r.value("auth", "query_tokens", &mut c.auth.query_tokens);
    r.parsed("auth", "token_max_days", &mut c.auth.token_max_days, |days: u32| match days {
        0..=TOKEN_DAYS_MAX => Ok(days),
        _ => Err(format!("must be at most {TOKEN_DAYS_MAX} days")),
    });
    r.value("auth", "password_login", &mut c.auth.password_login);
    r.value("auth", "require_sign_in", &mut c.auth.require_sign_in);
    r.value("repositories", "default_private", &mut c.repositories.default_private);

    read_store(r, c);
    c.node.read(r);
    r.value("storage", "set_aside_days", &mut c.storage.set_aside_days);
    c.blobs.read(r);
    c.git.read(r);

    r.seconds("ci", "job_timeout_secs", 1, &mut c.ci.job_timeout);
    r.secret("ci", "cache_secret", &mut c.ci.cache_secret);
    r.parsed("ci", "id_token_algorithm", &mut c.ci.id_token_algorithm, |name: String| {
        Algorithm::from_name(&name).ok_or_else(|| "expected \"RS256\" or \"ES256\"".into())
    });
    r.at_least("ci", "id_token_key_days", &2, &mut c.ci.id_token_key_days);
    r.seconds("events", "keep_secs", EVENTS_KEEP_MIN_SECS, &mut c.events.keep);
    r.at_least("audit", "retention_days", &1, &mut c.audit.retention_days);
    r.value("audit", "required", &mut c.audit.required);
    r.parsed("audit", "file", &mut c.audit.file, |path: PathBuf| absolute(path).map(Some));
    r.parsed("audit", "journal", &mut c.audit.journal, |on: bool| Ok(on.then(|| JOURNAL_SOCKET.into())));
    read_webhook(r, c);

    r.parsed("migration", "allowed_hosts", &mut c.migration.allowed_hosts, |text: String| {
        AddressPolicy::parse(&text).map(|_| text)
    });
    r.seconds("migration", "timeout_secs", 1, &mut c.migration.timeout);
    r.at_least("migration", "max_bytes", &1, &mut c.migration.max_bytes);
    r.at_least("migration", "max_running", &1, &mut c.migration.max_running);
    r.at_least("migration", "max_running_per_owner", &1, &mut c.migration.max_running_per_owner);
    c.mirror.read(r);

    r.parsed("metrics", "listen", &mut c.metrics.listen, |text: String| {
        // Without a host, metrics are served to this machine only.
        let local = text.strip_prefix(':').map(|port| format!("127.0.0.1:{port}"));
        listen_address(&local.unwrap_or(text)).map(Some)
    });

    c.log.read(r);
}

fn read_store(r: &mut ConfigReader<'_>, c: &mut Config) {
    let s = &mut c.store;
    r.parsed("store", "engine", &mut s.engine, |name: String| match name.as_str() {
        "redb" => Ok(StoreEngine::Redb),
        "postgres" => Ok(StoreEngine::Postgres),
        _ => Err("expected \"redb\" or \"postgres\"".into()),
    });
    r.parsed("store", "url", &mut s.url, |text: String| StoreUrl::parse(&text).map(Some));
    r.parsed("store", "password_file", &mut s.password_file, |path: PathBuf| Ok(Some(path)));
    r.parsed("store", "ca_file", &mut s.ca_file, |path: PathBuf| absolute(path).map(Some));
    r.at_least("store", "max_connections", &2, &mut s.max_connections);
    r.at_least("store", "cache_mib", &1, &mut s.cache_mib);
    r.value("store", "quick_repair", &mut s.quick_repair);
    r.value("store", "verify_mib", &mut s.verify_mib);
    r.parsed("store", "key_file", &mut s.key_file, |path: PathBuf| absolute(path).map(Some));
}

fn read_server(r: &mut ConfigReader<'_>, c: &mut Config) {
    let s = &mut c.server;
    r.parsed("server", "root_url", &mut s.root_url, |text: String| base_url(&text).map(Some));
    r.list("server", "listen", &mut s.listen, |text: String| listen_address(&text));
    r.list("server", "hosts", &mut s.hosts, |text: String| host_names::parse_pattern(&text));
    r.parsed("server", "version", &mut s.version, |text: String| {
        let plain = !text.is_empty() && text.chars().all(|c| c.is_ascii_graphic());
        if plain { Ok(text) } else { Err("must be visible ASCII characters without spaces".into()) }
    });
    r.list("server", "trusted_proxies", &mut s.trusted_proxies, |text: String| {
        text.parse::<IpNet>().map_err(|_| "expected a network such as \"10.0.0.0/8\" or \"::1/128\"".into())
    });
    r.at_least("server", "max_connections", &1, &mut s.max_connections);
    r.value("server", "max_connections_per_address", &mut s.max_connections_per_address);
    r.seconds("server", "header_timeout_secs", 1, &mut s.header_timeout);
    r.seconds("server", "idle_timeout_secs", 1, &mut s.idle_timeout);
    r.value("server", "body_min_bytes_per_sec", &mut s.body_min_bytes_per_sec);
    r.value("server", "response_min_bytes_per_sec", &mut s.response_min_bytes_per_sec);
    r.seconds("server", "drain_grace_secs", 0, &mut s.drain_grace);
    r.at_least("server", "request_memory_mib", &1, &mut s.request_memory_mib);
    r.at_least("server", "max_body_bytes", &1_024, &mut s.max_body_bytes);
}

fn read_ssh(r: &mut ConfigReader<'_>, c: &mut Config) {
    let s = &mut c.ssh;
    let default = s.listen.clone();
    r.list("ssh", "listen", &mut s.listen, |text: String| listen_address(&text));
    s.listen_by_default &= s.listen == default;
    r.parsed("ssh", "user", &mut s.user, |name: String| {
        let plain = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.');
        let starts_well = name.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '_');
        let valid = starts_well && name.len() <= 32 && name.bytes().all(plain);
        if valid { Ok(name) } else { Err("expected a login name of letters, digits, -, _ and .".into()) }
    });
    r.parsed("ssh", "clone_host", &mut s.clone_host, |host: String| match url::Host::parse(&host) {
        Ok(host) => Ok(Some(host.to_string())),
        Err(_) => Err("expected a host name or an address, without a port".into()),
    });
    r.value("ssh", "clone_port", &mut s.clone_port);
    r.at_least("ssh", "max_connections", &1, &mut s.max_connections);
    r.at_least("ssh", "max_unauthenticated", &1, &mut s.max_unauthenticated);
    r.seconds("ssh", "login_timeout_secs", 1, &mut s.login_timeout);
    r.seconds("ssh", "idle_timeout_secs", 1, &mut s.idle_timeout);
}

fn read_artifacts(r: &mut ConfigReader<'_>, c: &mut Config) {
    let a = &mut c.artifacts;
    r.parsed("artifacts", "unique_per", &mut a.unique_per, |word: String| match word.as_str() {
        "run" => Ok(UniquePer::Run),
        "job" => Ok(UniquePer::Job),
        _ => Err(format!("{word:?} is not valid: expected \"run\" or \"job\"")),
    });
    r.parsed("artifacts", "on_duplicate", &mut a.on_duplicate, |word: String| match word.as_str() {
        "reject" => Ok(OnDuplicate::Reject),
        "replace" => Ok(OnDuplicate::Replace),
        _ => Err("expected \"reject\" or \"replace\"".into()),
    });
    r.seconds("artifacts", "signed_url_secs", 1, &mut a.signed_url);
    r.parsed("artifacts", "base_url", &mut a.base_url, |text: String| base_url(&text).map(Some));
    r.list("artifacts", "vendors", &mut a.vendors, |word: String| {
        let plain = !word.is_empty() && word.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit());
        if plain { Ok(word) } else { Err("expected a word of lower-case letters and digits".into()) }
    });
    r.not_empty("artifacts", "vendors", &a.vendors);
    r.at_least("artifacts", "max_bytes", &1, &mut a.max_bytes);
    r.value("artifacts", "quota_bytes", &mut a.quota_bytes);
    r.value("artifacts", "reserve_bytes", &mut a.reserve_bytes);
    r.at_least("artifacts", "retention_days", &1, &mut a.retention_days);
    r.at_least("artifacts", "max_retention_days", &1, &mut a.max_retention_days);
    r.seconds("artifacts", "abandoned_secs", 1, &mut a.abandoned);
    r.at_least("artifacts", "max_uploads", &1, &mut a.max_uploads);
}

fn read_caches(r: &mut ConfigReader<'_>, c: &mut Config) {
    r.value("caches", "max_bytes", &mut c.caches.max_bytes);
    r.value("caches", "quota_bytes", &mut c.caches.quota_bytes);
    r.value("caches", "total_bytes", &mut c.caches.total_bytes);
    r.value("caches", "retention_days", &mut c.caches.retention_days);
}

fn read_lfs(r: &mut ConfigReader<'_>, c: &mut Config) {
    r.value("lfs", "enabled", &mut c.lfs.enabled);
    r.value("lfs", "max_object_bytes", &mut c.lfs.max_object_bytes);
    r.value("lfs", "quota_bytes", &mut c.lfs.quota_bytes);
    r.seconds("lfs", "address_secs", 1, &mut c.lfs.address);
    r.seconds("lfs", "keep_unreferenced_secs", 0, &mut c.lfs.keep_unreferenced);
}

fn read_webhook(r: &mut ConfigReader<'_>, c: &mut Config) {
    let w = &mut c.webhook;
    let hosts = |text: String| AddressPolicy::parse(&text).map(|_| text);
    r.value("webhook", "enabled", &mut w.enabled);
    r.parsed("webhook", "allowed_hosts", &mut w.allowed_hosts, hosts);
    r.list("webhook", "retry_schedule_secs", &mut w.retry_schedule_secs, |secs: u64| {
        if secs <= SECS_MAX { Ok(secs) } else { Err(format!("must be at most {SECS_MAX} seconds")) }
    });
    r.parsed("webhook", "timeout_secs", &mut w.timeout, |secs: u64| match secs {
        1..=TIMEOUT_SECS_MAX => Ok(Duration::from_secs(secs)),
        _ => Err(format!("must be 1 to {TIMEOUT_SECS_MAX} seconds")),
    });
    r.at_least("webhook", "max_concurrent", &1, &mut w.max_concurrent);
    r.at_least("webhook", "max_waiting_per_owner", &1_000, &mut w.max_waiting_per_owner);
    r.seconds("webhook", "disable_after_secs", 0, &mut w.disable_after);
    r.value("webhook", "max_commits", &mut w.max_commits);
    r.value("webhook", "max_files_per_commit", &mut w.max_files_per_commit);
    r.at_least("webhook", "max_payload_bytes", &65_536, &mut w.max_payload_bytes);
    r.parsed("webhook", "response_bytes", &mut w.response_bytes, |bytes: usize| {
        if bytes <= RESPONSE_BYTES_MAX { Ok(bytes) } else { Err(format!("must be at most {RESPONSE_BYTES_MAX}")) }
    });
    r.seconds("webhook", "keep_secs", 60, &mut w.keep);
    r.at_least("webhook", "keep_per_hook", &1, &mut w.keep_per_hook);
    r.at_least("webhook", "keep_bytes", &(1 << 20), &mut w.keep_bytes);
    r.parsed("webhook", "proxy_url", &mut w.proxy_url, |text: String| match Url::parse(&text) {
        Ok(url) if url.scheme() == "http" && url.host().is_some() => Ok(Some(url)),
        _ => Err("must begin with http:// and a host: only HTTP proxies are supported".into()),
    });
    r.parsed("webhook", "proxy_auth_file", &mut w.proxy_auth_file, |path: PathBuf| {
        let name = path.components().count() == 1;
        if path.is_absolute() || name { Ok(Some(path)) } else { Err("must be an absolute path or a name".into()) }
    });
    r.parsed("webhook", "proxy_hosts", &mut w.proxy_hosts, hosts);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::DefaultPaths;

    fn defaults() -> Config {
        Config::defaults(&DefaultPaths::from_env(|_| Ok("/home/u".into())))
    }

    fn problems(text: &str) -> Vec<String> {
        apply(text, &mut defaults()).expect_err("problems").iter().map(ToString::to_string).collect()
    }

    #[test]
    fn all_problems_are_reported_with_line_value_and_expectation() {
        let text = r#"
colour = 1
artifacts = 3
[server]
version = 1
listen = ["lopback:3000", "127.0.0.1:1", "127.0.0.1"]
lisen = []
max_connections = "many"
max_body_bytes = -1
trusted_proxies = ["10.0.0.1/8", "ten", 7]
[store]
engine = "sqlite"
[ci]
job_timeout_secs = 0
cache_secret = "planted"
[socket]
trust_peers = "yes"
[webhook]
retry_schedule_secs = [1, "x", 99999999999]
proxy_url = "ftp://u:s3cret@h"
allowed_hosts = "external, a b, c d"
[log]
filter = "loud"
[weather]
"#;
        assert_eq!(
            problems(text),
            [
                "line 2: colour: unknown key",
                "line 3: artifacts: must be a table: write [artifacts] on a line of its own",
                "line 5: server.version = 1: expected a string in quotes, found a whole number",
                "line 6: server.listen = \"lopback:3000\": expected an address and a port such as \"127.0.0.1:3000\" or \"[::1]:3000\"",
                "line 6: server.listen = \"127.0.0.1\": expected an address and a port such as \"127.0.0.1:3000\" or \"[::1]:3000\"",
                "line 7: server.lisen: unknown key; did you mean server.listen?",
                "line 8: server.max_connections = \"many\": expected a whole number, found a string",
                "line 9: server.max_body_bytes = -1: expected a whole number that is not negative",
                "line 10: server.trusted_proxies = \"ten\": expected a network such as \"10.0.0.0/8\" or \"::1/128\"",
                "line 10: server.trusted_proxies = 7: expected a string in quotes, found a whole number",
                "line 12: store.engine = \"sqlite\": expected \"redb\" or \"postgres\"",
                "line 14: ci.job_timeout_secs = 0: must be at least 1 seconds",
                "line 15: ci.cache_secret = ***: must have at least 16 characters",
                "line 17: socket.trust_peers = \"yes\": expected true or false, found a string",
                "line 19: webhook.retry_schedule_secs = \"x\": expected a whole number, found a string",
                "line 19: webhook.retry_schedule_secs = 99999999999: must be at most 3153600000 seconds",
                "line 20: webhook.proxy_url = \"ftp://***@h\": must begin with http:// and a host: only HTTP proxies are supported",
                "line 21: webhook.allowed_hosts = \"external, a b, c d\": \"a b\" and \"c d\" are not valid; expected host names, addresses, networks or external, private, loopback, *",
                "line 23: log.filter = \"loud\": \"loud\" is not a log level; expected off, error, warn, info, debug or trace, or target=level such as farrierd::http=debug",
                "line 24: weather: unknown section; expected one of server, ssh, socket, auth, repositories, store, node, storage, blobs, artifacts, caches, git, lfs, ci, webhook, events, audit, migration, mirror, metrics, log",
            ]
        );
    }

    #[test]
    fn all_syntax_errors_are_reported_with_their_line_and_without_the_text() {
        let text = "[webhook]\nproxy_url = \"http://u:s3cret@h\n[log]\nfilter = = \"info\"\n";
        let found = problems(text);
        assert!(found[0].starts_with("line 2: "), "{found:?}");
        assert!(found.iter().any(|problem| problem.starts_with("line 4: ")), "{found:?}");
        assert!(!found.join("").contains("s3cret"), "{found:?}");
    }

    #[test]
    fn keys_that_scripts_depend_on_are_parsed() {
        let mut config = defaults();
        let text = r#"
            [server]
            root_url = "https://forge.example/"
            listen = ["127.0.0.1:1", "[::1]:2"]
            [socket]
            path = "/run/x.sock"
            group = "farrier"
            admin_group = "adm"
            ci_group = "ci"
            trust_peers = false
            [webhook]
            allowed_hosts = "external, 10.0.0.0/8"
            retry_schedule_secs = [1, 2]
            [migration]
            allowed_hosts = "*"
            [artifacts]
            on_duplicate = "replace"
            signed_url_secs = 60
            base_url = "http://a.example:80/x/"
            [ci]
            job_timeout_secs = 21600
            id_token_algorithm = "ES256"
        "#;
        apply(text, &mut config).expect("all known");
        assert_eq!(config.server.root_url.expect("set").as_str(), "https://forge.example/");
        assert_eq!(config.server.listen.len(), 2);
        assert_eq!(config.artifacts.on_duplicate, OnDuplicate::Replace);
        assert_eq!(config.artifacts.base_url.expect("set").as_str(), "http://a.example/x");
        assert!(!config.socket.trust_peers);
        assert_eq!(config.ci.job_timeout, Duration::from_secs(21_600));
        assert_eq!(config.ci.id_token_algorithm, Algorithm::Es256);
    }
}
