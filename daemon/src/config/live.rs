//! The current configuration, which can be replaced while the daemon runs.

use std::{ops::Deref, sync::OnceLock};

use super::Config;

/// A list of configurations, of which the newest is current. Reading it takes no lock.
///
/// Replaced configurations are never freed, because references to them may exist. They are small, and reloads are
/// rare.
#[derive(Debug)]
pub struct LiveConfig(Version);

#[derive(Debug)]
struct Version {
    config: Config,
    next: OnceLock<Box<Version>>,
}

impl Version {
    fn new(config: Config) -> Self {
        Self { config, next: OnceLock::new() }
    }
}

impl LiveConfig {
    /// Creates the list with `config` as its only entry.
    pub fn new(config: Config) -> Self {
        Self(Version::new(config))
    }

    /// Makes `config` current.
    pub fn replace(&self, config: Config) {
        let mut version = Box::new(Version::new(config));
        // If another thread appends at the same time, this version is appended after that thread's.
        while let Err(rejected) = self.newest().next.set(version) {
            version = rejected;
        }
    }

    fn newest(&self) -> &Version {
        let mut version = &self.0;
        while let Some(next) = version.next.get() {
            version = next;
        }
        version
    }
}

impl Deref for LiveConfig {
    type Target = Config;

    fn deref(&self) -> &Config {
        &self.newest().config
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::DefaultPaths;

    #[test]
    fn the_newest_configuration_is_current_and_older_ones_stay_readable() {
        let mut config = Config::defaults(&DefaultPaths::from_env(|_| Ok("/h".into())));
        let live = LiveConfig::new(config.clone());
        let before: &Config = &live;
        for days in [7, 8] {
            config.artifacts.retention_days = days;
            live.replace(config.clone());
            assert_eq!(live.artifacts.retention_days, days);
        }
        assert_eq!(before.artifacts.retention_days, 90);
    }
}
