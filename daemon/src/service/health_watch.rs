//! Since when the checks of the daemon find problems.
//!
//! Checks run on request, so a problem begins with the first check that finds it. The times are in memory only.

use std::{
    collections::BTreeMap,
    sync::{Mutex, PoisonError},
};

use crate::clock::Millis;

/// Remembers since when each part of the daemon has its problem.
#[derive(Debug, Default)]
pub struct HealthWatch(Mutex<BTreeMap<&'static str, (&'static str, Millis)>>);

impl HealthWatch {
    /// Notes the result of a check of `part`. Returns since when it has this problem; `None` without a problem.
    pub(super) fn note(&self, part: &'static str, problem: Option<&'static str>, now_ms: Millis) -> Option<Millis> {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(problem) = problem else {
            known.remove(part);
            return None;
        };
        let (_, since_ms) = known
            .entry(part)
            .and_modify(|(before, since_ms)| {
                if *before != problem {
                    (*before, *since_ms) = (problem, now_ms);
                }
            })
            .or_insert((problem, now_ms));
        Some(*since_ms)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_problem_begins_with_the_first_check_that_finds_it() {
        let watch = HealthWatch::default();
        let since_ms =
            [(1, Some("full")), (2, Some("full")), (3, Some("read-only")), (4, None), (5, Some("read-only"))]
                .map(|(now_ms, problem)| watch.note("disk", problem, now_ms));
        assert_eq!(since_ms, [Some(1), Some(1), Some(3), None, Some(5)]);
        assert_eq!(watch.note("store", Some("full"), 9), Some(9));
    }
}
