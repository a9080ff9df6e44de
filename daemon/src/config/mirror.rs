//! The section `[mirror]`.

use std::time::Duration;

use super::reader::ConfigReader;

/// `[mirror]`: pull mirrors and push mirrors. Addresses, duration and size are limited by `[migration]`.
#[derive(Clone, Debug, PartialEq)]
pub struct MirrorConfig {
    /// `enabled`: whether mirrors may be created and are synced.
    pub enabled: bool,
    /// `max_running`: runs of mirrors at the same time. Further runs wait.
    pub max_running: usize,
    /// `min_interval_secs`: shortest interval that can be set, except 0.
    pub min_interval: Duration,
    /// `default_interval_secs`: interval of mirrors that are created without one.
    pub default_interval: Duration,
}

impl Default for MirrorConfig {
    fn default() -> Self {
        Self {
            enabled: true,
            max_running: 4,
            min_interval: Duration::from_secs(600),
            default_interval: Duration::from_secs(28_800),
        }
    }
}

impl MirrorConfig {
    pub(super) fn read(&mut self, r: &mut ConfigReader<'_>) {
        r.value("mirror", "enabled", &mut self.enabled);
        r.at_least("mirror", "max_running", &1, &mut self.max_running);
        r.seconds("mirror", "min_interval_secs", 1, &mut self.min_interval);
        r.seconds("mirror", "default_interval_secs", 1, &mut self.default_interval);
    }
}
