//! Which settings hold until the daemon is started again.

use super::Config;

/// Makes [`keep_fixed`] from the keys and where they lie.
macro_rules! fixed {
    ($($key:literal => $($field:ident).+;)*) => {
        /// The keys of [`keep_fixed`].
        #[cfg(test)]
        pub(super) const FIXED: &[&str] = &[$($key),*];

        /// Gives `next` the values of `now` for everything that cannot change while the daemon runs,
        /// and names the keys whose new values wait for the next start.
        pub fn keep_fixed(now: &Config, next: &mut Config) -> Vec<&'static str> {
            let mut waiting = Vec::new();
            $(if now.$($field).+ != next.$($field).+ {
                next.$($field).+ = now.$($field).+.clone();
                waiting.push($key);
            })*
            waiting
        }
    };
}

// Sockets, files and the store are opened once; the rest was handed to what was built from it.
fixed! {
    "data_dir" => data_dir;
    "server.root_url" => server.root_url;
    "server.listen" => server.listen;
    "server.header_timeout_secs" => server.header_timeout;
    "server.idle_timeout_secs" => server.idle_timeout;
    "server.drain_grace_secs" => server.drain_grace;
    "socket.path" => socket.path;
    "socket.group" => socket.group;
    "socket.admin_group" => socket.admin_group;
    "socket.ci_group" => socket.ci_group;
    "socket.trust_peers" => socket.trust_peers;
    "store.engine" => store.engine;
    "store.cache_mib" => store.cache_mib;
    "store.quick_repair" => store.quick_repair;
    "git.max_processes" => git.max_processes;
    "git.timeout_secs" => git.timeout;
    "git.max_push_bytes" => git.max_push_bytes;
    "webhook.max_concurrent" => webhook.max_concurrent;
    "webhook.proxy_url" => webhook.proxy_url;
    "webhook.proxy_auth_file" => webhook.proxy_auth_file;
    "webhook.proxy_hosts" => webhook.proxy_hosts;
    "migration.max_running" => migration.max_running;
    "metrics.listen" => metrics.listen;
    "log.json" => log.json;
    "log.directory" => log.directory;
    "log.keep_files" => log.keep_files;
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::DefaultPaths;

    #[test]
    fn what_is_open_stays_and_is_named() {
        let now = Config::defaults(&DefaultPaths::from_env(|_| Ok("/h".into())));
        let mut next = now.clone();
        next.data_dir = "/elsewhere".into();
        next.server.listen.clear();
        next.artifacts.retention_days = 1;
        assert_eq!(keep_fixed(&now, &mut next), ["data_dir", "server.listen"]);
        assert_eq!((&next.data_dir, &next.server.listen), (&now.data_dir, &now.server.listen));
        assert_eq!(next.artifacts.retention_days, 1);
    }
}
