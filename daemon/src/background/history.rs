//! Which hooks have made so many attempts that their history is worth a look.

use std::{
    collections::HashMap,
    sync::{Mutex, PoisonError},
};

/// Attempts of one hook after which its history is looked at.
const WORTH_A_LOOK: u32 = 200;
/// Attempts of all hooks after which what is remembered of all is looked at.
const ALL_WORTH_A_LOOK: u32 = 1_000;

/// Attempts since the last look. Only a hint: a start forgets it, and the next attempts make up for it.
#[derive(Debug, Default)]
pub struct Growth(Mutex<Counts>);

#[derive(Debug, Default)]
struct Counts {
    hooks: HashMap<u64, u32>,
    all: u32,
}

impl Growth {
    /// A hook has made an attempt; whether it is time to look.
    pub fn attempted(&self, hook: u64) -> bool {
        let mut counts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        counts.all += 1;
        let of_all = counts.all >= ALL_WORTH_A_LOOK;
        if of_all {
            counts.all = 0;
        }
        let count = counts.hooks.entry(hook).or_default();
        *count += 1;
        of_all || *count == WORTH_A_LOOK
    }

    /// The hooks that are worth a look; they begin to count anew.
    pub fn grown(&self) -> Vec<u64> {
        let mut counts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let grown: Vec<u64> =
            counts.hooks.iter().filter(|(_, count)| **count >= WORTH_A_LOOK).map(|(hook, _)| *hook).collect();
        for hook in &grown {
            counts.hooks.remove(hook);
        }
        grown
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_look_is_worth_it_for_a_busy_hook_and_for_many_quiet_ones() {
        let growth = Growth::default();
        let looks = (0..WORTH_A_LOOK).filter(|_| growth.attempted(7)).count();
        assert_eq!((looks, growth.grown(), growth.grown()), (1, vec![7], vec![]));
        let looks = (0..u64::from(ALL_WORTH_A_LOOK)).filter(|hook| growth.attempted(100 + hook)).count();
        assert_eq!((looks, growth.grown()), (1, vec![]));
    }
}
