//! Checks a configuration against the machine on which the daemon will run: groups, directories, ports, host names.
//! Used by `check-config`. A daemon that starts or reloads reports these problems when they occur.

use std::{
    net::{IpAddr, SocketAddr, ToSocketAddrs as _},
    path::Path,
};

use nix::unistd::{Group, Uid, User};
use rustix::fs::{Access, access};

use super::{Config, ConfigProblem, KeyLocations};
use crate::model::address_policy::AddressPolicy;

/// Longest path of a Unix socket, in bytes. The kernel accepts 107, and the daemon first listens on the path followed
/// by a dot and its process id.
const SOCKET_PATH_MAX: usize = 107 - ".4194304".len();

/// Words of `allowed_hosts` that are not host names.
const HOST_KEYWORDS: [&str; 3] = ["external", "private", "loopback"];

/// Returns all problems of `config` on this machine. `locations` has the positions of the keys in the file.
pub fn problems(config: &Config, locations: &KeyLocations) -> Vec<ConfigProblem> {
    let mut problems = Vec::new();
    groups(config, locations, &mut problems);
    socket_path(config, locations, &mut problems);
    directories(config, locations, &mut problems);
    ports(config, locations, &mut problems);
    hosts(config, locations, &mut problems);
    problems
}

/// Returns settings of `config` that are valid but probably not intended.
pub fn warnings(config: &Config, locations: &KeyLocations) -> Vec<ConfigProblem> {
    let server = &config.server;
    let public = server.listen.iter().find(|address| !address.ip().is_loopback());
    let (Some(address), None, []) = (public, &server.root_url, server.hosts.as_slice()) else { return Vec::new() };
    let reason = "other machines reach this address, but clients that use a host name other than that of this machine \
                  are refused; set server.root_url or server.hosts";
    vec![locations.problem("server.listen", &format!("\"{address}\""), reason)]
}

fn groups(config: &Config, locations: &KeyLocations, problems: &mut Vec<ConfigProblem>) {
    let socket = &config.socket;
    for (key, name) in [
        ("socket.group", &socket.group),
        ("socket.admin_group", &socket.admin_group),
        ("socket.ci_group", &socket.ci_group),
    ] {
        let Some(name) = name else { continue };
        let reason = match Group::from_name(name) {
            Ok(Some(_)) => continue,
            Ok(None) => "this machine has no such group; create it with groupadd --system, or name another".to_owned(),
            Err(error) => format!("the group cannot be looked up: {error}"),
        };
        problems.push(locations.problem(key, &format!("{name:?}"), reason));
    }
}

fn socket_path(config: &Config, locations: &KeyLocations, problems: &mut Vec<ConfigProblem>) {
    let path = &config.socket.path;
    let length = path.as_os_str().len();
    if length > SOCKET_PATH_MAX {
        let reason = format!("is {length} bytes long; the path of a socket may have at most {SOCKET_PATH_MAX}");
        problems.push(locations.problem("socket.path", &format!("\"{}\"", path.display()), reason));
    }
}

fn directories(config: &Config, locations: &KeyLocations, problems: &mut Vec<ConfigProblem>) {
    let log = config.log.directory.as_deref().map(|directory| ("log.directory", directory));
    let audit = config.audit.file.as_deref().and_then(Path::parent).map(|directory| ("audit.file", directory));
    for (key, directory) in [("data_dir", config.data_dir.as_path())].into_iter().chain(log).chain(audit) {
        if let Err(reason) = writable(directory) {
            problems.push(locations.problem(key, &format!("\"{}\"", directory.display()), reason));
        }
    }
}

/// Checks that this user can write to `directory`, or can create it if it is missing.
fn writable(directory: &Path) -> Result<(), String> {
    let existing = directory.ancestors().find(|path| path.exists()).unwrap_or(directory);
    if !existing.is_dir() {
        return Err(format!("{} is not a directory", existing.display()));
    }
    access(existing, Access::WRITE_OK | Access::EXEC_OK).map_err(|error| {
        let uid = Uid::effective();
        let user = User::from_uid(uid).ok().flatten().map_or_else(|| format!("the user {uid}"), |user| user.name);
        let path = existing.display();
        format!("{user} cannot write to {path} ({error}); run check-config as the daemon's user or change the owner")
    })
}

fn ports(config: &Config, locations: &KeyLocations, problems: &mut Vec<ConfigProblem>) {
    let listen = &config.server.listen;
    for (index, address) in listen.iter().enumerate() {
        if let Some(other) = listen[..index].iter().find(|other| clash(**other, *address)) {
            let reason = format!("{address} and {other} cannot both be listened on; give each its own port");
            problems.push(locations.problem("server.listen", &format!("\"{address}\""), reason));
        }
    }
    let ssh = &config.ssh.listen;
    for (index, address) in ssh.iter().enumerate().filter(|_| !config.ssh.listen_by_default) {
        if let Some(other) = listen.iter().chain(&ssh[..index]).find(|other| clash(**other, *address)) {
            let reason = format!("{address} and {other} cannot both be listened on; give each its own port");
            problems.push(locations.problem("ssh.listen", &format!("\"{address}\""), reason));
        }
    }
    if let Some(metrics) = config.metrics.listen
        && let Some(other) = listen.iter().find(|other| clash(**other, metrics))
    {
        let reason = format!("server.listen uses the port already, with {other}; name another port");
        problems.push(locations.problem("metrics.listen", &format!("\"{metrics}\""), reason));
    }
}

/// Returns whether a process cannot listen on both addresses at the same time.
fn clash(one: SocketAddr, other: SocketAddr) -> bool {
    // An IPv6 socket for all addresses includes the IPv4 addresses.
    let covers = |wide: IpAddr, narrow: IpAddr| wide.is_unspecified() && (wide.is_ipv6() || narrow.is_ipv4());
    let (a, b) = (one.ip(), other.ip());
    one.port() != 0 && one.port() == other.port() && (a == b || covers(a, b) || covers(b, a))
}

fn hosts(config: &Config, locations: &KeyLocations, problems: &mut Vec<ConfigProblem>) {
    let mut lists = vec![("migration.allowed_hosts", &config.migration.allowed_hosts)];
    // With a proxy, the proxy resolves the names.
    if config.webhook.proxy_url.is_none() {
        lists.push(("webhook.allowed_hosts", &config.webhook.allowed_hosts));
    }
    for (key, list) in lists {
        for word in AddressPolicy::single_words(list).filter(|word| (*word, 0).to_socket_addrs().is_err()) {
            let close = HOST_KEYWORDS.iter().find(|known| strsim::damerau_levenshtein(known, word) <= 2);
            let suggestion = close.map(|known| format!("; did you mean {known}?")).unwrap_or_default();
            let reason = format!("{word:?} is a host name that this machine cannot resolve{suggestion}");
            problems.push(locations.problem(key, &format!("{list:?}"), reason));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn listen_addresses_conflict_if_one_covers_the_other() {
        for (one, other, expected) in [
            ("127.0.0.1:80", "127.0.0.1:80", true),
            ("127.0.0.1:80", "127.0.0.2:80", false),
            ("127.0.0.1:80", "127.0.0.1:81", false),
            ("127.0.0.1:0", "127.0.0.1:0", false),
            ("0.0.0.0:80", "127.0.0.1:80", true),
            ("127.0.0.1:80", "[::]:80", true),
            ("0.0.0.0:80", "[::1]:80", false),
        ] {
            let clashes = clash(one.parse().expect("an address"), other.parse().expect("an address"));
            assert_eq!(clashes, expected, "{one} {other}");
        }
    }
}
