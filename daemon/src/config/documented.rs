//! Tests that the shipped configuration file and the manual agree with the code.

use std::collections::BTreeMap;

use super::{Config, DefaultPaths, file, reload::FIXED};

const SHIPPED: &str = include_str!("../../../systemd/farrierd.toml");
const MANUAL: &str = include_str!("../../../docs/operations.md");

/// The defaults of a service.
fn service() -> Config {
    let mut config = Config::defaults(&DefaultPaths::from_env(|_| Ok("/home/u".into())));
    config.data_dir = "/var/lib/farrier".into();
    config.socket.path = "/run/farrier/farrier.sock".into();
    config
}

/// The values in the shipped file as TOML, by key, including those that are commented out.
fn shipped() -> BTreeMap<String, String> {
    let mut section = String::new();
    let mut values = BTreeMap::new();
    for line in SHIPPED.lines().map(|line| line.strip_prefix("#: ").unwrap_or(line)) {
        if let Some(name) = line.strip_prefix('[') {
            section = format!("{}.", name.trim_end_matches(']'));
        } else if let Some((key, value)) = line.split_once(" = ").filter(|_| !line.starts_with('#')) {
            let before = values.insert(format!("{section}{key}"), value.to_owned());
            assert!(before.is_none(), "{section}{key} is listed twice");
        }
    }
    values
}

/// Returns whether `value` is the default of `key`.
fn is_default(key: &str, value: &str) -> bool {
    let (before, mut after) = (service(), service());
    file::apply(&format!("{key} = {value}"), &mut after).unwrap_or_else(|problems| panic!("{problems:?}"));
    before == after
}

/// Keys without a default. The shipped file has an example for them.
const WITHOUT_DEFAULT: &[&str] = &[
    "server.root_url",
    "server.version",
    "ssh.clone_host",
    "socket.group",
    "socket.admin_group",
    "socket.ci_group",
    "store.url",
    "store.password_file",
    "store.ca_file",
    "store.key_file",
    "node.name",
    "blobs.url",
    "blobs.endpoint",
    "blobs.access_key_file",
    "blobs.secret_key_file",
    "blobs.ca_file",
    "git.copies_max_bytes",
    "artifacts.base_url",
    "audit.file",
    "ci.cache_secret",
    "webhook.proxy_url",
    "webhook.proxy_auth_file",
    "metrics.listen",
    "log.directory",
];

#[test]
fn the_shipped_file_lists_every_key_with_its_default() {
    let shipped = shipped();
    let mut known = file::known_keys(service());
    known.sort_unstable();
    assert_eq!(shipped.keys().cloned().collect::<Vec<_>>(), known);
    for (key, value) in &shipped {
        assert_eq!(is_default(key, value), !WITHOUT_DEFAULT.contains(&key.as_str()), "{key} = {value}");
    }
    let all: Vec<&str> = SHIPPED.lines().map(|line| line.strip_prefix("#: ").unwrap_or(line)).collect();
    file::apply(&all.join("\n"), &mut service()).expect("valid with all lines active");
}

#[test]
fn the_manual_lists_every_key_with_its_default_and_when_it_takes_effect() {
    let mut rows = BTreeMap::new();
    let table = MANUAL.lines().skip_while(|line| !line.starts_with("| key | default |")).skip(2);
    for line in table.take_while(|line| line.starts_with('|')) {
        let cells: Vec<&str> = line.trim_matches('|').split(" | ").map(str::trim).collect();
        let [key, default, from, _] = cells[..] else { panic!("four cells: {line}") };
        assert!(["reload", "start"].contains(&from), "{line}");
        rows.insert(key.trim_matches('`').to_owned(), (default.to_owned(), from == "start"));
    }
    let shipped = shipped();
    assert_eq!(rows.keys().collect::<Vec<_>>(), shipped.keys().collect::<Vec<_>>());
    for (key, (default, at_start)) in &rows {
        if WITHOUT_DEFAULT.contains(&key.as_str()) {
            assert_eq!(default, "–", "{key}");
        } else {
            assert_eq!(*default, format!("`{}`", shipped[key]), "{key}");
        }
        assert_eq!(*at_start, FIXED.contains(&key.as_str()), "{key} takes effect at the start");
    }
}
