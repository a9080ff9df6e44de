//! The running and waiting items of one kind of work. Has no lock and no clock; the caller provides the lock.

use std::{
    collections::{HashMap, VecDeque},
    mem,
};

use tokio::sync::oneshot;

use super::{Holder, RefusalReason, Share, ShareLimits, holder::HolderGroup};

/// Running and waiting items of all holders.
#[derive(Debug)]
pub(super) struct State {
    limits: ShareLimits,
    holders: HashMap<Holder, HolderState>,
    running: usize,
    /// Running items of anonymous holders.
    running_anonymous: usize,
    waiting: usize,
    /// Waiting items of anonymous holders.
    waiting_anonymous: usize,
    /// Number of the next waiter or grant.
    next_number: u64,
}

/// The items of one holder. Removed when it has none.
#[derive(Debug, Default)]
struct HolderState {
    running: usize,
    waiting: VecDeque<Waiter>,
    /// Number of the last started item. 0: none.
    last_started: u64,
}

#[derive(Debug)]
struct Waiter {
    number: u64,
    sender: oneshot::Sender<Share>,
}

/// A waiter whose item is counted as running.
#[derive(Debug)]
pub(super) struct Granted {
    pub(super) holder: Holder,
    pub(super) sender: oneshot::Sender<Share>,
}

impl State {
    pub(super) fn new(limits: ShareLimits) -> Self {
        Self {
            limits,
            holders: HashMap::new(),
            running: 0,
            running_anonymous: 0,
            waiting: 0,
            waiting_anonymous: 0,
            next_number: 1,
        }
    }

    pub(super) fn limits(&self) -> ShareLimits {
        self.limits
    }

    pub(super) fn running(&self) -> usize {
        self.running
    }

    pub(super) fn waiting(&self) -> usize {
        self.waiting
    }

    /// Starts an item if the limits allow it.
    pub(super) fn admit(&mut self, holder: Holder) -> Result<(), RefusalReason> {
        if let Some(reason) = self.refusal(holder) {
            return Err(reason);
        }
        let number = self.number();
        self.count_start(holder).last_started = number;
        Ok(())
    }

    fn count_start(&mut self, holder: Holder) -> &mut HolderState {
        self.running += 1;
        if holder.group() == HolderGroup::Anonymous {
            self.running_anonymous += 1;
        }
        let state = self.holders.entry(holder).or_default();
        state.running += 1;
        state
    }

    fn count_end(&mut self, holder: Holder) {
        if let Some(state) = self.holders.get_mut(&holder) {
            state.running -= 1;
            self.running -= 1;
            if holder.group() == HolderGroup::Anonymous {
                self.running_anonymous -= 1;
            }
        }
    }

    /// Returns why `holder` cannot start an item now. `None`: it can.
    pub(super) fn refusal(&self, holder: Holder) -> Option<RefusalReason> {
        let is_free = match holder.group() {
            HolderGroup::Operators => self.running < self.limits.capacity,
            HolderGroup::SignedIn => self.running < self.limits.for_everyone(),
            HolderGroup::Anonymous => {
                self.running < self.limits.for_everyone() && self.running_anonymous < self.limits.for_anonymous()
            }
        };
        if !is_free {
            return Some(RefusalReason::AllInUse);
        }
        let own = self.holders.get(&holder).map_or(0, |state| state.running);
        (own >= self.limits.per_holder).then_some(RefusalReason::OwnShare)
    }

    /// Adds a waiter and returns its number, unless too many wait.
    pub(super) fn enqueue(&mut self, holder: Holder, sender: oneshot::Sender<Share>) -> Result<u64, RefusalReason> {
        let own = self.holders.get(&holder).map_or(0, |state| state.waiting.len());
        if own >= self.limits.waiting_per_holder() {
            return Err(RefusalReason::OwnShare);
        }
        let is_full = match holder.group() {
            // The number of administrators and local users is small.
            HolderGroup::Operators => false,
            HolderGroup::SignedIn => self.waiting >= self.limits.waiting,
            HolderGroup::Anonymous => {
                self.waiting >= self.limits.waiting || self.waiting_anonymous >= self.limits.waiting.div_ceil(2)
            }
        };
        if is_full {
            return Err(RefusalReason::AllInUse);
        }
        let number = self.number();
        self.holders.entry(holder).or_default().waiting.push_back(Waiter { number, sender });
        self.count_waiting(holder, 1);
        Ok(number)
    }

    /// Removes a waiter, unless it was granted its item.
    pub(super) fn leave(&mut self, holder: Holder, number: u64) {
        let Some(state) = self.holders.get_mut(&holder) else { return };
        let before = state.waiting.len();
        state.waiting.retain(|waiter| waiter.number != number);
        if state.waiting.len() < before {
            self.count_waiting(holder, -1);
        }
        self.remove_if_idle(holder);
    }

    /// Counts an item of `from` to `to`, and starts waiting items that this allows. `None`: `to` cannot start an item.
    pub(super) fn transfer(&mut self, from: Holder, to: Holder) -> Option<Vec<Granted>> {
        self.count_end(from);
        let admitted = self.admit(to);
        if admitted.is_err() {
            // The capacity that was just freed.
            self.count_start(from);
            return None;
        }
        let granted = self.grant();
        self.remove_if_idle(from);
        Some(granted)
    }

    /// Ends an item of `holder`, and starts waiting items in its place.
    pub(super) fn release(&mut self, holder: Holder) -> Vec<Granted> {
        self.count_end(holder);
        let granted = self.grant();
        self.remove_if_idle(holder);
        granted
    }

    /// Returns whether the end of an item of `holder` would start a waiting item.
    pub(super) fn is_waited_for(&mut self, holder: Holder) -> bool {
        if self.waiting == 0 {
            return false;
        }
        self.count_end(holder);
        let next = self.next_holder();
        self.count_start(holder);
        next.is_some()
    }

    /// Replaces the limits, and starts waiting items that they allow.
    pub(super) fn set_limits(&mut self, limits: ShareLimits) -> Vec<Granted> {
        self.limits = limits;
        self.grant()
    }

    /// Starts waiting items as long as the limits allow one.
    fn grant(&mut self) -> Vec<Granted> {
        let mut granted = Vec::new();
        while self.waiting > 0
            && let Some(holder) = self.next_holder()
            && let Some(waiter) = self.holders.get_mut(&holder).and_then(|state| state.waiting.pop_front())
        {
            self.count_waiting(holder, -1);
            self.admit(holder).expect("the next holder can start an item");
            granted.push(Granted { holder, sender: waiter.sender });
        }
        granted
    }

    /// Returns the holder whose first waiter is next: the holder with the fewest running items, then the holder whose
    /// last item started longest ago, then the holder that has waited longest.
    fn next_holder(&self) -> Option<Holder> {
        let waiting = self.holders.iter().filter_map(|(holder, state)| {
            let first = state.waiting.front()?;
            self.refusal(*holder).is_none().then_some(((state.running, state.last_started, first.number), *holder))
        });
        waiting.min_by_key(|(order, _)| *order).map(|(_, holder)| holder)
    }

    fn count_waiting(&mut self, holder: Holder, change: isize) {
        self.waiting = self.waiting.saturating_add_signed(change);
        if holder.group() == HolderGroup::Anonymous {
            self.waiting_anonymous = self.waiting_anonymous.saturating_add_signed(change);
        }
    }

    fn remove_if_idle(&mut self, holder: Holder) {
        if self.holders.get(&holder).is_some_and(|state| state.running == 0 && state.waiting.is_empty()) {
            self.holders.remove(&holder);
        }
    }

    fn number(&mut self) -> u64 {
        let next = self.next_number + 1;
        mem::replace(&mut self.next_number, next)
    }

    /// Returns the number of entries, for tests of the memory use.
    #[cfg(test)]
    pub(super) fn entries(&self) -> usize {
        self.holders.len()
    }
}
