//! The section `[git]`.

use std::time::Duration;

use super::reader::ConfigReader;

const MIB: u64 = 1 << 20;
/// Combined packs may be four times as large, and a row of the store has at most 1 MiB.
const INLINE_MAX_BYTES: u64 = 192 << 10;

/// `[git]`: git processes.
#[derive(Clone, Debug, PartialEq)]
pub struct GitConfig {
    /// `max_processes`: processes at the same time. Further requests wait for a limited time.
    pub max_processes: usize,
    /// `max_archives`: processes for archives at the same time. Further requests wait for a limited time.
    pub max_archives: usize,
    /// `timeout_secs`: time limit of a process; while it streams, time limit without progress.
    pub timeout: Duration,
    /// `max_push_bytes`: largest pack of a push.
    pub max_push_bytes: u64,
    /// `inline_max_bytes`: largest pack, with its index, that is a row of the store if packs are in a bucket. 0: none.
    pub inline_max_bytes: u64,
    /// `prune_after_days`: retention of commits that no branch, tag or other ref reaches. 0: unlimited.
    pub prune_after_days: u32,
    /// `cache_max_bytes`: maximum size of all stored answers to fetches. 0: none are stored.
    pub cache_max_bytes: u64,
    /// `cache_max_answer_bytes`: maximum size of one stored answer.
    pub cache_max_answer_bytes: u64,
    /// `bundle_min_bytes`: size from which a repository gets bundles. 0: no repository gets bundles.
    pub bundle_min_bytes: u64,
    /// `bundle_max_bytes`: maximum size of all bundles.
    pub bundle_max_bytes: u64,
    /// `copies_max_bytes`: size of all git directories above which the least recently used are removed, if other nodes
    /// use the same packs. `None`: a part of the disk.
    pub copies_max_bytes: Option<u64>,
}

impl Default for GitConfig {
    fn default() -> Self {
        Self {
            max_processes: 32,
            max_archives: 8,
            timeout: Duration::from_secs(360),
            max_push_bytes: 4_096 * MIB,
            inline_max_bytes: 64 << 10,
            prune_after_days: 30,
            cache_max_bytes: 1_024 * MIB,
            cache_max_answer_bytes: 1_024 * MIB,
            bundle_min_bytes: 64 * MIB,
            bundle_max_bytes: 10 * 1_024 * MIB,
            copies_max_bytes: None,
        }
    }
}

impl GitConfig {
    pub(super) fn read(&mut self, r: &mut ConfigReader<'_>) {
        r.at_least("git", "max_processes", &2, &mut self.max_processes);
        r.at_least("git", "max_archives", &1, &mut self.max_archives);
        r.seconds("git", "timeout_secs", 1, &mut self.timeout);
        r.at_least("git", "max_push_bytes", &1, &mut self.max_push_bytes);
        r.parsed("git", "inline_max_bytes", &mut self.inline_max_bytes, |bytes: u64| {
            if bytes > INLINE_MAX_BYTES { Err(format!("must be at most {INLINE_MAX_BYTES}")) } else { Ok(bytes) }
        });
        r.value("git", "prune_after_days", &mut self.prune_after_days);
        r.value("git", "cache_max_bytes", &mut self.cache_max_bytes);
        r.value("git", "cache_max_answer_bytes", &mut self.cache_max_answer_bytes);
        r.value("git", "bundle_min_bytes", &mut self.bundle_min_bytes);
        r.value("git", "bundle_max_bytes", &mut self.bundle_max_bytes);
        r.parsed("git", "copies_max_bytes", &mut self.copies_max_bytes, |bytes: u64| match bytes {
            0 => Err("must be at least 1".to_owned()),
            bytes => Ok(Some(bytes)),
        });
    }
}
