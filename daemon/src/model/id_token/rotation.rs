//! Decides when the keys of ID tokens are created, used and removed.
//!
//! A new key is published for some time before it signs, because services keep a copy of the public keys. A replaced
//! key stays published until all of its tokens have expired. So no token is refused because of a new key.

use super::LIFE_SECS;
use crate::clock::Millis;

/// How long a key is published before it signs. Services keep public keys for up to a day.
const PUBLISHED_AHEAD_MS: Millis = 24 * 3_600_000;
/// How long a key stays published after it was replaced.
const KEPT_MS: Millis = 24 * 3_600_000;
const _: () = assert!(KEPT_MS > LIFE_SECS * 1_000);

/// A key of one algorithm and the time from which it signs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KeyTime {
    /// The number of the key.
    pub number: u64,
    /// When it begins to sign.
    pub active_ms: Millis,
}

/// Returns the key that signs at `now`: the newest active key. If the clock was set back so that none is active, the
/// oldest key.
pub fn signing(keys: &[KeyTime], now: Millis) -> Option<u64> {
    let active = keys.iter().filter(|key| key.active_ms <= now).max_by_key(|key| key.active_ms);
    active.or(keys.iter().min_by_key(|key| key.active_ms)).map(|key| key.number)
}

/// Returns when the next key begins to sign if it must be created at `now`: at once for the first key, else after it
/// was published long enough. A key is replaced after `period`.
pub fn next_active_ms(keys: &[KeyTime], now: Millis, period: Millis) -> Option<Millis> {
    let Some(newest) = keys.iter().map(|key| key.active_ms).max() else { return Some(now) };
    let due = newest.saturating_add(period).saturating_sub(PUBLISHED_AHEAD_MS);
    (due <= now).then(|| now.saturating_add(PUBLISHED_AHEAD_MS))
}

/// Returns whether `key` was replaced so long ago that all of its tokens have expired.
pub fn is_removable(key: KeyTime, keys: &[KeyTime], now: Millis) -> bool {
    let replaced_ms = keys.iter().map(|other| other.active_ms).filter(|other| *other > key.active_ms).min();
    replaced_ms.is_some_and(|replaced| replaced.saturating_add(KEPT_MS) <= now)
}

#[cfg(test)]
mod tests {
    use super::*;

    const DAY: Millis = 24 * 3_600_000;
    const PERIOD: Millis = 90 * DAY;

    #[test]
    fn a_key_is_published_for_a_day_before_it_signs_and_for_a_day_after_it_was_replaced() {
        let mut keys: Vec<KeyTime> = Vec::new();
        let mut signed = Vec::new();
        let mut most = 0;
        for hour in 0..24 * 365 {
            let now = hour * 3_600_000;
            if let Some(active_ms) = next_active_ms(&keys, now, PERIOD) {
                assert!(keys.is_empty() || active_ms == now + DAY);
                keys.push(KeyTime { number: hour.cast_unsigned() + 1, active_ms });
            }
            let all = keys.clone();
            keys.retain(|key| !is_removable(*key, &all, now));
            let number = signing(&keys, now).expect("a key");
            if signed.last() != Some(&number) {
                signed.push(number);
            }
            // The key of a token that was signed an hour ago is still published.
            let previous = signed[signed.len().saturating_sub(2)];
            let is_new = keys.iter().any(|key| key.number == number && key.active_ms + DAY > now);
            assert!(!is_new || keys.iter().any(|key| key.number == previous), "{hour}");
            most = most.max(keys.len());
        }
        assert_eq!((signed.len(), most), (5, 2));
    }

    #[test]
    fn a_key_that_was_not_used_for_years_signs_until_its_successor_was_published() {
        let keys = [KeyTime { number: 1, active_ms: 0 }];
        let now = 1_000 * DAY;
        let next = KeyTime { number: 2, active_ms: next_active_ms(&keys, now, PERIOD).expect("due") };
        let both = [keys[0], next];
        assert_eq!((signing(&both, now), signing(&both, now + DAY)), (Some(1), Some(2)));
        assert_eq!(next_active_ms(&both, now, PERIOD), None);
        assert!(!is_removable(keys[0], &both, now + DAY) && is_removable(keys[0], &both, now + 2 * DAY));
    }

    #[test]
    fn a_clock_that_was_set_back_leaves_a_key() {
        let keys = [KeyTime { number: 1, active_ms: DAY }, KeyTime { number: 2, active_ms: 2 * DAY }];
        assert_eq!((signing(&keys, 0), next_active_ms(&keys, 0, PERIOD)), (Some(1), None));
        assert!(keys.iter().all(|key| !is_removable(*key, &keys, 0)));
    }
}
