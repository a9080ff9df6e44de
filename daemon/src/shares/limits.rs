//! The limits of one kind of work.

/// Maximum number of waiting items for each unit of capacity.
const WAITING_PER_CAPACITY: usize = 16;

/// The limits of one kind of work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ShareLimits {
    /// Maximum number of running items.
    pub capacity: usize,
    /// Maximum number of running items of one holder.
    pub per_holder: usize,
    /// Part of the capacity that only the Unix socket and administrators can use.
    pub for_operators: usize,
    /// Part of the capacity that anonymous callers cannot use, in addition to `for_operators`.
    pub for_signed_in: usize,
    /// Maximum number of waiting items. One holder may have a quarter of them, anonymous callers together half.
    pub waiting: usize,
}

impl ShareLimits {
    /// Returns the limits for a capacity: one holder may use a quarter, a quarter is reserved for signed-in callers,
    /// and an eighth for operators. A capacity below 4 is too small for shares and reserved parts.
    pub fn of(capacity: usize) -> Self {
        let part = |divisor: usize| if capacity < 4 { 0 } else { (capacity / divisor).max(1) };
        Self {
            capacity,
            per_holder: if capacity < 4 { capacity } else { capacity.div_ceil(4) },
            for_operators: part(8),
            for_signed_in: part(4),
            waiting: capacity.saturating_mul(WAITING_PER_CAPACITY),
        }
    }

    /// Replaces the maximum number of running items of one holder.
    #[must_use]
    pub fn with_per_holder(self, per_holder: usize) -> Self {
        Self { per_holder: per_holder.max(1), ..self }
    }

    /// Returns the capacity that anonymous callers can use together.
    pub(super) fn for_anonymous(&self) -> usize {
        self.capacity.saturating_sub(self.for_operators).saturating_sub(self.for_signed_in)
    }

    /// Returns the capacity that all callers except operators can use together.
    pub(super) fn for_everyone(&self) -> usize {
        self.capacity.saturating_sub(self.for_operators)
    }

    /// Returns how many items of one holder may wait.
    pub(super) fn waiting_per_holder(&self) -> usize {
        self.waiting.div_ceil(4)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_group_can_use_some_of_each_capacity() {
        for capacity in 1..100 {
            let limits = ShareLimits::of(capacity);
            assert!(limits.for_anonymous() >= 1, "{limits:?}");
            assert!(limits.per_holder >= 1 && limits.per_holder <= capacity, "{limits:?}");
            assert!(capacity < 4 || (limits.for_operators >= 1 && limits.for_signed_in >= 1), "{limits:?}");
        }
    }
}
