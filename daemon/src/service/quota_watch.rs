//! The quotas that are full or nearly full, as the checks of uploads and the sums of the storage find them.
//!
//! A check knows the use, so the status reads no rows to sum it up. The figures are those of the last check. They are
//! in memory only, and are dropped when a check finds less, or after a day without a check.

use std::{
    collections::BTreeMap,
    sync::{Mutex, MutexGuard, PoisonError},
};

use super::{Context, Error};
use crate::{
    clock::Millis,
    store::{artifacts, lfs, releases::assets},
};

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

    /// Returns the quotas that were nearly full at their last check, each with the repository that was checked.
    fn known(&self) -> BTreeMap<(QuotaKind, u64), u64> {
        self.uses().iter().map(|(key, found)| (*key, found.repository)).collect()
    }

    fn uses(&self) -> MutexGuard<'_, BTreeMap<(QuotaKind, u64), QuotaUse>> {
        self.uses.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What repositories and owners use, as sums that may be some minutes old.
#[derive(Debug, Default)]
pub(super) struct SummedUse {
    /// By kind and by the number of the repository or owner that has the quota: the bytes, and one of its repositories.
    sums: BTreeMap<(QuotaKind, u64), (u64, u64)>,
}

impl SummedUse {
    /// Adds bytes of `repository` to the use of `holder`.
    pub(super) fn add(&mut self, kind: QuotaKind, holder: u64, repository: u64, bytes: u64) {
        let sum = self.sums.entry((kind, holder)).or_insert((0, repository));
        sum.0 = sum.0.saturating_add(bytes);
    }
}

/// Checks the quotas that are nearly full according to `summed`, and those that were at their last check, without an
/// upload. Reads the present use only of these.
pub(super) async fn review(context: &Context, summed: &SummedUse) -> Result<(), Error> {
    let now_ms = context.now_ms();
    let max = |kind| match kind {
        QuotaKind::Artifacts | QuotaKind::ReleaseFiles => context.config.artifacts.quota_bytes,
        QuotaKind::LfsObjects => context.config.lfs.quota_bytes,
    };
    let found = |kind, repository, used| QuotaUse {
        kind,
        repository,
        used,
        max: max(kind),
        since_ms: now_ms,
        checked_ms: now_ms,
    };
    let mut to_check = context.quotas.known();
    for (&(kind, holder), &(used, repository)) in &summed.sums {
        if found(kind, repository, used).is_nearly_full() {
            to_check.entry((kind, holder)).or_insert(repository);
        }
    }
    let snapshot = context.store.read().await?;
    for ((kind, holder), repository) in to_check {
        let used = match kind {
            QuotaKind::Artifacts => artifacts::bytes_of_repository(&snapshot, holder).await?,
            QuotaKind::ReleaseFiles => assets::size_of_repository(&snapshot, holder).await?,
            QuotaKind::LfsObjects => lfs::size_of_owner(&snapshot, holder).await?,
        };
        context.quotas.note(holder, found(kind, repository, used));
    }
    Ok(())
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
        assert_eq!(watch.known(), BTreeMap::from([((QuotaKind::Artifacts, 7), 7), ((QuotaKind::Artifacts, 8), 7)]));
        watch.note(7, found(10, 50));
        assert_eq!(watch.nearly_full(50, 9), [found(95, 40)]);
        assert_eq!(watch.nearly_full(40 + KEPT_MS, 9), []);
        assert!(!QuotaUse { max: 0, ..found(1, 0) }.is_nearly_full());
    }
}
