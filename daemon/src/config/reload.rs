//! The settings that change only when the daemon is restarted.

use super::Config;

/// Generates [`keep_fixed`] from the keys and their fields in [`Config`].
macro_rules! fixed {
    ($($key:literal => $($field:ident).+;)*) => {
        /// The keys of [`keep_fixed`].
        #[cfg(test)]
        pub(super) const FIXED: &[&str] = &[$($key),*];

        /// Copies the values that cannot change while the daemon runs from `current` to `next`. Returns the keys
        /// whose new values take effect at the next start.
        pub fn keep_fixed(current: &Config, next: &mut Config) -> Vec<&'static str> {
            let mut pending = Vec::new();
            $(if current.$($field).+ != next.$($field).+ {
                next.$($field).+ = current.$($field).+.clone();
                pending.push($key);
            })*
            pending
        }
    };
}

// Sockets, files and the store are opened once. The other values were copied when the components were created.
fixed! {
    "data_dir" => data_dir;
    "server.root_url" => server.root_url;
    "server.listen" => server.listen;
    "server.header_timeout_secs" => server.header_timeout;
    "server.idle_timeout_secs" => server.idle_timeout;
    "server.body_min_bytes_per_sec" => server.body_min_bytes_per_sec;
    "server.response_min_bytes_per_sec" => server.response_min_bytes_per_sec;
    "server.drain_grace_secs" => server.drain_grace;
    "ssh.listen" => ssh.listen;
    "ssh.user" => ssh.user;
    "ssh.clone_host" => ssh.clone_host;
    "ssh.clone_port" => ssh.clone_port;
    "ssh.max_connections" => ssh.max_connections;
    "ssh.max_unauthenticated" => ssh.max_unauthenticated;
    "ssh.login_timeout_secs" => ssh.login_timeout;
    "ssh.idle_timeout_secs" => ssh.idle_timeout;
    "socket.path" => socket.path;
    "socket.group" => socket.group;
    "socket.admin_group" => socket.admin_group;
    "socket.ci_group" => socket.ci_group;
    "socket.trust_peers" => socket.trust_peers;
    "store.engine" => store.engine;
    "store.url" => store.url;
    "store.password_file" => store.password_file;
    "store.ca_file" => store.ca_file;
    "store.max_connections" => store.max_connections;
    "store.cache_mib" => store.cache_mib;
    "store.quick_repair" => store.quick_repair;
    "store.verify_mib" => store.verify_mib;
    "store.key_file" => store.key_file;
    "node.name" => node.name;
    "blobs.url" => blobs.url;
    "blobs.endpoint" => blobs.endpoint;
    "blobs.region" => blobs.region;
    "blobs.access_key_file" => blobs.access_key_file;
    "blobs.secret_key_file" => blobs.secret_key_file;
    "blobs.ca_file" => blobs.ca_file;
    "blobs.cache_bytes" => blobs.cache_bytes;
    "git.max_processes" => git.max_processes;
    "git.timeout_secs" => git.timeout;
    "git.max_push_bytes" => git.max_push_bytes;
    "git.cache_max_bytes" => git.cache_max_bytes;
    "git.cache_max_answer_bytes" => git.cache_max_answer_bytes;
    "git.bundle_min_bytes" => git.bundle_min_bytes;
    "git.bundle_max_bytes" => git.bundle_max_bytes;
    "git.copies_max_bytes" => git.copies_max_bytes;
    "webhook.max_concurrent" => webhook.max_concurrent;
    "webhook.proxy_url" => webhook.proxy_url;
    "webhook.proxy_auth_file" => webhook.proxy_auth_file;
    "webhook.proxy_hosts" => webhook.proxy_hosts;
    "metrics.listen" => metrics.listen;
    "log.json" => log.json;
    "log.directory" => log.directory;
    "log.keep_files" => log.keep_files;
    "log.recent_records" => log.recent_records;
    "log.recent_bytes" => log.recent_bytes;
}

/// Returns the sections whose values differ.
pub fn changed_sections(before: &Config, after: &Config) -> Vec<&'static str> {
    macro_rules! changed {
        ($($section:ident)*) => {
            [$((stringify!($section), before.$section != after.$section)),*]
        };
    }
    let sections = changed![
        data_dir server ssh socket auth repositories store storage blobs artifacts git ci webhook events audit migration
        mirror metrics log
    ];
    sections.into_iter().filter(|(_, is_changed)| *is_changed).map(|(section, _)| section).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::DefaultPaths;

    #[test]
    fn fixed_values_are_kept_and_their_keys_returned() {
        let current = Config::defaults(&DefaultPaths::from_env(|_| Ok("/h".into())));
        let mut next = current.clone();
        next.data_dir = "/elsewhere".into();
        next.server.listen.clear();
        next.artifacts.retention_days = 1;
        assert_eq!(keep_fixed(&current, &mut next), ["data_dir", "server.listen"]);
        assert_eq!((&next.data_dir, &next.server.listen), (&current.data_dir, &current.server.listen));
        assert_eq!(next.artifacts.retention_days, 1);
    }
}
