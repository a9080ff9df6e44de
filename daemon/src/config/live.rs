//! The configuration in force: it can be replaced while the daemon runs.

use std::{ops::Deref, sync::OnceLock};

use super::Config;

/// The newest of the configurations that the daemon has had. Reading it takes no lock.
///
/// Replaced ones stay, because somebody may be reading them; they are small and rarely replaced.
#[derive(Debug)]
pub struct Live(Version);

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

impl Live {
    /// Starts with `config`.
    pub fn new(config: Config) -> Self {
        Self(Version::new(config))
    }

    /// Puts `config` in force.
    pub fn replace(&self, config: Config) {
        let mut fresh = Box::new(Version::new(config));
        // Somebody else may append meanwhile: then the place is behind theirs.
        while let Err(again) = self.newest().next.set(fresh) {
            fresh = again;
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

impl Deref for Live {
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
    fn the_newest_counts_and_older_ones_can_still_be_read() {
        let mut config = Config::defaults(&DefaultPaths::from_env(|_| Ok("/h".into())));
        let live = Live::new(config.clone());
        let before: &Config = &live;
        for days in [7, 8] {
            config.artifacts.retention_days = days;
            live.replace(config.clone());
            assert_eq!(live.artifacts.retention_days, days);
        }
        assert_eq!(before.artifacts.retention_days, 90);
    }
}
