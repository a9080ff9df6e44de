//! The table that the fault test prints.

use std::{collections::BTreeMap, fmt, sync::atomic::Ordering, time::Duration};

use super::{
    faults::Fault,
    history::{Action, Outcome},
    pushers::Pushes,
    side_work::SideWork,
};

/// Times after the end of a fault.
#[derive(Clone, Copy, Debug)]
pub(super) struct Recovery {
    /// Until one of the clients that push all the time received an acknowledgement.
    pub(super) next: Duration,
    /// Until a push that began after the fault was acknowledged by the slowest daemon.
    pub(super) slowest: Duration,
}

/// The times after all faults, by their kind.
#[derive(Debug)]
pub(super) struct Recoveries {
    by_fault: BTreeMap<Fault, Vec<Recovery>>,
    /// Until a push was acknowledged by the slowest daemon without a fault, for comparison.
    without_fault: Duration,
}

impl Recoveries {
    pub(super) fn new(without_fault: Duration) -> Self {
        Self { by_fault: BTreeMap::new(), without_fault }
    }

    pub(super) fn add(&mut self, fault: Fault, recovery: Recovery) {
        println!("  then {recovery:.2?}");
        self.by_fault.entry(fault).or_default().push(recovery);
    }
}

impl fmt::Display for Recoveries {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{:<20}{:>6}{:>14}{:>22}", "fault", "times", "next push", "through each daemon")?;
        writeln!(f, "{:<20}{:>6}{:>14}{:>20.2} s", "none", "", "", self.without_fault.as_secs_f64())?;
        for (fault, all) in &self.by_fault {
            let longest = |time: fn(&Recovery) -> Duration| all.iter().map(time).max().unwrap_or_default();
            let (next, slowest) = (longest(|one| one.next), longest(|one| one.slowest));
            let name = format!("{fault:?}");
            writeln!(f, "{name:<20}{:>6}{:>12.2} s{:>20.2} s", all.len(), next.as_secs_f64(), slowest.as_secs_f64())?;
        }
        write!(f, "The longest time of each kind, from the end of the fault on.")
    }
}

/// What was counted at the end.
pub(super) struct Counts {
    pub(super) changes: usize,
    pub(super) requests_to_receiver: usize,
    pub(super) events: usize,
}

/// Prints the result of a run.
pub(super) fn print(pushes: &Pushes, side: &SideWork, recoveries: &Recoveries, counts: &Counts) {
    println!("{recoveries}");
    let histories = pushes.histories.lock().expect("no panic");
    let (mut done, mut refused, mut unknown, mut reads) = (0_u64, 0_u64, 0_u64, 0_u64);
    let (mut longest_push, mut longest_read) = (Duration::ZERO, Duration::ZERO);
    for operation in histories.values().flatten() {
        let took = operation.ended.duration_since(operation.began);
        match &operation.action {
            Action::Push { outcome, .. } => {
                longest_push = longest_push.max(took);
                match outcome {
                    Outcome::Done => done += 1,
                    Outcome::Refused => refused += 1,
                    Outcome::Unknown => unknown += 1,
                }
            }
            Action::Read { .. } => {
                longest_read = longest_read.max(took);
                reads += 1;
            }
        }
    }
    println!(
        "pushes: acknowledged {done}, refused {refused}, unknown {unknown}, longest {longest_push:.1?}; changes of refs \
         {}; reads {reads}, longest {longest_read:.1?}; failed reads {}; longest time without an acknowledged push \
         {:.1?}; hooks {}, artifacts {}, requests to the receiver {}, events {}; lost 0",
        counts.changes,
        pushes.failed_reads.load(Ordering::SeqCst),
        pushes.longest_pause(),
        side.hooks.lock().expect("no panic").len(),
        side.artifacts.lock().expect("no panic").len(),
        counts.requests_to_receiver,
        counts.events,
    );
}
