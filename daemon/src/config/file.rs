//! The sections and keys of a configuration file, each with its bounds. Every problem in a file is named, not
//! only the first.

use std::{path::PathBuf, time::Duration};

use toml::Table;
use url::Url;

use super::{
    Config, OnDuplicate, Problem,
    forms::{absolute, base_url, listen_address, log_filter},
    reader::{Reader, SECS_MAX},
};
use crate::model::address_policy::AddressPolicy;

/// Puts what `text` says over `config`. On `Err` the configuration is not to be used.
pub fn apply(text: &str, config: &mut Config) -> Result<(), Vec<Problem>> {
    let table = match text.parse::<Table>() {
        Ok(table) => table,
        Err(error) => {
            // Its own text shows the line, which may hold a secret.
            let line = error.span().map_or(0, |span| text[..span.start].matches('\n').count() + 1);
            return Err(vec![Problem { key: String::new(), reason: format!("line {line}: {}", error.message()) }]);
        }
    };
    let mut reader = Reader::new(table);
    read_all(&mut reader, config);
    reader.finish(SECTIONS)
}

/// Every key that is understood, as `section.key`.
#[cfg(test)]
pub(super) fn known_keys(mut config: Config) -> Vec<String> {
    let mut reader = Reader::new(Table::new());
    read_all(&mut reader, &mut config);
    reader.known
}

/// Whoever follows events must be able to come back after a night.
const EVENTS_KEEP_MIN_SECS: u64 = 86_400;
/// Longest attempt of a delivery.
pub const TIMEOUT_SECS_MAX: u64 = 60;
/// Most that can be kept of an answer: an attempt is one row.
const RESPONSE_BYTES_MAX: usize = 512 << 10;

const SECTIONS: &[&str] = &[
    "server",
    "socket",
    "auth",
    "store",
    "artifacts",
    "git",
    "ci",
    "webhook",
    "events",
    "migration",
    "metrics",
    "log",
];

fn read_all(r: &mut Reader, c: &mut Config) {
    r.outside("data_dir", &mut c.data_dir, |path| absolute(PathBuf::from(path)));
    read_server(r, c);
    read_artifacts(r, c);

    let s = &mut c.socket;
    r.parsed("socket", "path", &mut s.path, absolute);
    r.parsed("socket", "group", &mut s.group, |name: String| Ok(Some(name)));
    r.parsed("socket", "admin_group", &mut s.admin_group, |name: String| Ok(Some(name)));
    r.parsed("socket", "ci_group", &mut s.ci_group, |name: String| Ok(Some(name)));
    r.value("socket", "trust_peers", &mut s.trust_peers);

    r.value("auth", "query_tokens", &mut c.auth.query_tokens);

    r.parsed("store", "engine", &mut c.store.engine, |name: String| match name.as_str() {
        "redb" => Ok(name),
        _ => Err(format!("{name:?} is no engine of this version: only \"redb\"")),
    });
    r.at_least("store", "cache_mib", &1, &mut c.store.cache_mib);
    r.value("store", "quick_repair", &mut c.store.quick_repair);

    r.at_least("git", "max_processes", &2, &mut c.git.max_processes);
    r.at_least("git", "max_archives", &1, &mut c.git.max_archives);
    r.seconds("git", "timeout_secs", 1, &mut c.git.timeout);
    r.at_least("git", "max_push_bytes", &1, &mut c.git.max_push_bytes);

    r.seconds("ci", "job_timeout_secs", 1, &mut c.ci.job_timeout);
    r.seconds("events", "keep_secs", EVENTS_KEEP_MIN_SECS, &mut c.events.keep);
    read_webhook(r, c);

    r.parsed("migration", "allowed_hosts", &mut c.migration.allowed_hosts, |text: String| {
        AddressPolicy::parse(&text).map(|_| text)
    });
    r.seconds("migration", "timeout_secs", 1, &mut c.migration.timeout);
    r.at_least("migration", "max_bytes", &1, &mut c.migration.max_bytes);
    r.at_least("migration", "max_running", &1, &mut c.migration.max_running);
    r.at_least("migration", "max_running_per_owner", &1, &mut c.migration.max_running_per_owner);

    r.parsed("metrics", "listen", &mut c.metrics.listen, |text: String| {
        // Figures are for this machine unless somebody says otherwise.
        let local = text.strip_prefix(':').map(|port| format!("127.0.0.1:{port}"));
        listen_address(&local.unwrap_or(text)).map(Some)
    });

    r.parsed("log", "filter", &mut c.log.filter, log_filter);
    r.value("log", "json", &mut c.log.json);
    r.parsed("log", "directory", &mut c.log.directory, |path| absolute(path).map(Some));
    r.at_least("log", "keep_files", &1, &mut c.log.keep_files);
}

fn read_server(r: &mut Reader, c: &mut Config) {
    let s = &mut c.server;
    r.parsed("server", "root_url", &mut s.root_url, |text: String| base_url(&text).map(Some));
    r.parsed("server", "listen", &mut s.listen, |texts: Vec<String>| {
        texts.iter().map(|text| listen_address(text)).collect()
    });
    r.parsed("server", "version", &mut s.version, |text: String| {
        let plain = !text.is_empty() && text.chars().all(|c| c.is_ascii_graphic());
        if plain { Ok(text) } else { Err("must be visible ASCII without blanks".into()) }
    });
    r.value("server", "trusted_proxies", &mut s.trusted_proxies);
    r.at_least("server", "max_connections", &1, &mut s.max_connections);
    r.seconds("server", "header_timeout_secs", 1, &mut s.header_timeout);
    r.seconds("server", "idle_timeout_secs", 1, &mut s.idle_timeout);
    r.seconds("server", "drain_grace_secs", 0, &mut s.drain_grace);
    r.at_least("server", "max_body_bytes", &1_024, &mut s.max_body_bytes);
}

fn read_artifacts(r: &mut Reader, c: &mut Config) {
    let a = &mut c.artifacts;
    r.parsed("artifacts", "on_duplicate", &mut a.on_duplicate, |word: String| match word.as_str() {
        "reject" => Ok(OnDuplicate::Reject),
        "replace" => Ok(OnDuplicate::Replace),
        _ => Err(format!("{word:?} is neither \"reject\" nor \"replace\"")),
    });
    r.seconds("artifacts", "signed_url_secs", 1, &mut a.signed_url);
    r.parsed("artifacts", "base_url", &mut a.base_url, |text: String| base_url(&text).map(Some));
    r.parsed("artifacts", "vendors", &mut a.vendors, |words: Vec<String>| {
        let word = |w: &String| !w.is_empty() && w.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit());
        if !words.is_empty() && words.iter().all(word) {
            Ok(words)
        } else {
            Err("must be a list of words of lower-case letters and digits".into())
        }
    });
    r.at_least("artifacts", "max_bytes", &1, &mut a.max_bytes);
    r.value("artifacts", "quota_bytes", &mut a.quota_bytes);
    r.value("artifacts", "reserve_bytes", &mut a.reserve_bytes);
    r.at_least("artifacts", "retention_days", &1, &mut a.retention_days);
    r.at_least("artifacts", "max_retention_days", &1, &mut a.max_retention_days);
    r.seconds("artifacts", "abandoned_secs", 1, &mut a.abandoned);
    r.at_least("artifacts", "max_uploads", &1, &mut a.max_uploads);
}

fn read_webhook(r: &mut Reader, c: &mut Config) {
    let w = &mut c.webhook;
    let hosts = |text: String| AddressPolicy::parse(&text).map(|_| text);
    r.value("webhook", "enabled", &mut w.enabled);
    r.parsed("webhook", "allowed_hosts", &mut w.allowed_hosts, hosts);
    r.parsed("webhook", "retry_schedule_secs", &mut w.retry_schedule_secs, |pauses: Vec<u64>| {
        if pauses.iter().all(|secs| *secs <= SECS_MAX) { Ok(pauses) } else { Err("has a pause of a century".into()) }
    });
    r.parsed("webhook", "timeout_secs", &mut w.timeout, |secs: u64| match secs {
        1..=TIMEOUT_SECS_MAX => Ok(Duration::from_secs(secs)),
        _ => Err(format!("must be 1 to {TIMEOUT_SECS_MAX} seconds")),
    });
    r.at_least("webhook", "max_concurrent", &1, &mut w.max_concurrent);
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
        _ => Err("must begin with http:// and a host: only HTTP proxies are known".into()),
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
    use crate::config::Places;

    fn defaults() -> Config {
        Config::defaults(&Places::from_env(|_| Ok("/home/u".into())))
    }

    #[test]
    fn every_problem_is_named_at_once() {
        let mut config = defaults();
        let text = "colour = 1\nserver.listen = [\"nowhere\"]\nserver.version = 1\nstore.engine = \"sqlite\"\n\
                    ci.job_timeout_secs = 0\nartifacts = 3\n";
        let problems = apply(text, &mut config).expect_err("six problems");
        let mut keys: Vec<_> = problems.iter().map(|p| p.key.as_str()).collect();
        keys.sort_unstable();
        let expected =
            ["artifacts", "ci.job_timeout_secs", "colour", "server.listen", "server.version", "store.engine"];
        assert_eq!(keys, expected);
    }

    #[test]
    fn what_is_no_toml_is_named_by_its_line_without_being_shown() {
        let text = "[webhook]\nproxy_url = \"http://u:s3cret@h\n";
        let problems = apply(text, &mut defaults()).expect_err("no end of a string");
        let said = problems[0].to_string();
        assert!(said.starts_with("line 2: ") && !said.contains("s3cret"), "{said}");
    }

    #[test]
    fn the_keys_that_scripts_depend_on_parse() {
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
            [store]
            engine = "redb"
        "#;
        apply(text, &mut config).expect("all known");
        assert_eq!(config.server.root_url.expect("set").as_str(), "https://forge.example/");
        assert_eq!(config.server.listen.len(), 2);
        assert_eq!(config.artifacts.on_duplicate, OnDuplicate::Replace);
        assert_eq!(config.artifacts.base_url.expect("set").as_str(), "http://a.example/x");
        assert!(!config.socket.trust_peers);
        assert_eq!(config.ci.job_timeout, Duration::from_secs(21_600));
    }
}
