//! The quotas that are full or nearly full, as the checks of uploads find them.
//!
//! A check knows the use, so the status reads no rows to sum it up. The figures are those of the last check. They are
//! in memory only, and are dropped when a check finds less, or after a day without a check.

use std::{
    collections::BTreeMap,
    sync::{Mutex, MutexGuard, PoisonError},
};

use crate::clock::Millis;

/// Use of a quota from which it is nearly full, percent.
const NEARLY_FULL_PERCENT: u128 = 90;
/// How long the result of a check is kept.
const KEPT_MS: Millis = 86_400_000;
/// Maximum number of quotas that are kept.
const KEPT_MAX: usize = 1_000;

/// What a quota limits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum QuotaKind {
    /// Artifacts of a repository: `artifacts.quota_bytes`.
    Artifacts,
    /// Files of the releases of a repository: `artifacts.quota_bytes`.
    ReleaseFiles,
    /// LFS objects of all repositories of an owner: `lfs.quota_bytes`.
    LfsObjects,
}

impl QuotaKind {
    /// Returns the name in the API.
    pub fn word(self) -> &'static str {
        match self {
            Self::Artifacts => "artifacts",
            Self::ReleaseFiles => "release_files",
            Self::LfsObjects => "lfs_objects",
        }
    }
}

/// The use of a quota.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QuotaUse {
    /// What it limits.
    pub kind: QuotaKind,
    /// The repository that was checked.
    pub repository: u64,
    /// Stored bytes.
    pub used: u64,
    /// The quota, bytes.
    pub max: u64,
    /// Since when it is nearly full; when it is noted, the time of the check.
    pub since_ms: Millis,
    /// When it was checked last.
    pub checked_ms: Millis,
}

impl QuotaUse {
    fn is_nearly_full(&self) -> bool {
        self.max > 0 && u128::from(self.used) * 100 >= u128::from(self.max) * NEARLY_FULL_PERCENT
    }
}

/// Remembers the quotas that are full or nearly full.
#[derive(Debug, Default)]
pub struct QuotaWatch {
    /// By kind and by the ID of the repository or owner that has the quota.
    uses: Mutex<BTreeMap<(QuotaKind, u64), QuotaUse>>,
}

impl QuotaWatch {
    /// Notes the result of a check of the quota of `holder`: a repository, or an owner for LFS objects.
    pub fn note(&self, holder: u64, found: QuotaUse) {
        let mut uses = self.uses();
        uses.retain(|_, one| found.checked_ms - one.checked_ms < KEPT_MS);
        let key = (found.kind, holder);
        if !found.is_nearly_full() {
            uses.remove(&key);
            return;
        }
        let known_since_ms = uses.get(&key).map(|known| known.since_ms);
        if known_since_ms.is_some() || uses.len() < KEPT_MAX {
            uses.insert(key, QuotaUse { since_ms: known_since_ms.unwrap_or(found.since_ms), ..found });
        }
    }

    /// Returns the quotas that were nearly full at their last check, the oldest first, at most `limit`.
    pub fn nearly_full(&self, now_ms: Millis, limit: usize) -> Vec<QuotaUse> {
        let mut found: Vec<QuotaUse> = self.uses().values().copied().collect();
        found.retain(|one| now_ms - one.checked_ms < KEPT_MS);
        found.sort_by_key(|one| one.since_ms);
        found.truncate(limit);
        found
    }

    fn uses(&self) -> MutexGuard<'_, BTreeMap<(QuotaKind, u64), QuotaUse>> {
        self.uses.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(used: u64, now_ms: Millis) -> QuotaUse {
        QuotaUse { kind: QuotaKind::Artifacts, repository: 7, used, max: 100, since_ms: now_ms, checked_ms: now_ms }
    }

    #[test]
    fn nearly_full_quotas_are_kept_until_they_have_room_or_a_day_is_over() {
        let watch = QuotaWatch::default();
        watch.note(7, found(89, 10));
        assert_eq!(watch.nearly_full(10, 9), []);
        watch.note(7, found(90, 20));
        watch.note(7, found(100, 30));
        assert_eq!(watch.nearly_full(30, 9), [QuotaUse { since_ms: 20, ..found(100, 30) }]);
        watch.note(8, found(95, 40));
        assert_eq!(watch.nearly_full(40, 9).len(), 2);
        assert_eq!(watch.nearly_full(40, 1)[0].used, 100);
        watch.note(7, found(10, 50));
        assert_eq!(watch.nearly_full(50, 9), [found(95, 40)]);
        assert_eq!(watch.nearly_full(40 + KEPT_MS, 9), []);
        assert!(!QuotaUse { max: 0, ..found(1, 0) }.is_nearly_full());
    }
}
