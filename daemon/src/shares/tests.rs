use std::{net::Ipv4Addr, task::Poll};

use futures_util::FutureExt as _;
use proptest::prelude::*;

use super::{holder::HolderGroup, *};

const KIND: WorkKind = WorkKind { label: "test", plural: "tests", retry_after_secs: 7 };
const LONG: Duration = Duration::from_secs(3_600);

fn address(number: u8) -> Holder {
    Holder::address(Some(Ipv4Addr::new(127, 0, 0, number).into()))
}

fn reason<T: std::fmt::Debug>(result: Result<T, Refused>) -> RefusalReason {
    result.expect_err("refused").reason
}

#[test]
fn anonymous_callers_leave_room_for_accounts_and_operators() {
    let shares = Shares::new(KIND, ShareLimits::of(24));
    let anonymous: Vec<Share> = (0..100).filter_map(|number| shares.take(address(number)).ok()).collect();
    assert_eq!(anonymous.len(), 15);
    assert_eq!(reason(shares.take(address(200))), RefusalReason::AllInUse);
    let accounts: Vec<Share> = (0..100).filter_map(|id| shares.take(Holder::Account(id)).ok()).collect();
    assert_eq!(accounts.len(), 6);
    let operators = [Holder::Administrator(1), Holder::Socket(Some(0)), Holder::Socket(None)];
    let operators: Vec<Share> = operators.into_iter().map(|holder| shares.take(holder).expect("reserved")).collect();
    assert_eq!(reason(shares.take(Holder::Administrator(1))), RefusalReason::AllInUse);
    drop((anonymous, accounts, operators));
    assert_eq!((shares.usage().running, shares.state().entries()), (0, 0));
}

#[test]
fn one_holder_gets_its_share_and_no_more() {
    let shares = Shares::new(KIND, ShareLimits::of(24));
    for holder in [address(1), Holder::Account(1), Holder::Administrator(2), Holder::Socket(Some(0))] {
        let held: Vec<Share> = (0..6).map(|_| shares.take(holder).expect("its share")).collect();
        let refused = shares.take(holder).expect_err("more than its share");
        assert_eq!(refused.reason, RefusalReason::OwnShare);
        assert!(refused.to_string().ends_with("too many tests at the same time, try again in 7 seconds"), "{refused}");
        drop(held);
    }
    assert_eq!(shares.usage().refused_own_share, 4);
}

#[tokio::test]
async fn an_item_is_waited_for_only_if_its_end_starts_another() {
    let limits = ShareLimits { capacity: 3, per_holder: 2, for_operators: 0, for_signed_in: 0, waiting: 64 };
    let shares = Shares::new(KIND, limits);
    let (busy, other) = (address(1), address(2));
    let held = [busy, busy, other].map(|holder| shares.take(holder).expect("free"));
    assert!(!shares.is_waited_for(busy) && !shares.is_waited_for(other));
    let mut of_busy = std::pin::pin!(shares.wait(busy, LONG));
    assert!(of_busy.as_mut().now_or_never().is_none());
    assert!(shares.is_waited_for(busy));
    assert!(!shares.is_waited_for(other), "its end frees nothing that the waiting holder may use");
    assert_eq!((shares.usage().running, shares.usage().waiting), (3, 1), "asking changes nothing");
    drop(held);
}

#[tokio::test]
async fn a_holder_with_fewer_running_items_goes_first() {
    let limits = ShareLimits { capacity: 2, per_holder: 2, for_operators: 0, for_signed_in: 0, waiting: 64 };
    let shares = Shares::new(KIND, limits);
    let (busy, other) = (address(1), address(2));
    let first = shares.take(busy).expect("free");
    let second = shares.take(busy).expect("free");
    let mut of_busy = std::pin::pin!(shares.wait(busy, LONG));
    let mut of_other = std::pin::pin!(shares.wait(other, LONG));
    assert!(of_busy.as_mut().now_or_never().is_none() && of_other.as_mut().now_or_never().is_none());
    drop(first);
    assert!(of_busy.as_mut().now_or_never().is_none(), "it has a running item");
    let share = of_other.as_mut().now_or_never().expect("it goes first").expect("in time");
    drop(second);
    drop(of_busy.await.expect("now it is next"));
    drop(share);
    assert_eq!(shares.usage().running, 0);
}

#[tokio::test(start_paused = true)]
async fn waiting_ends_with_the_reason_of_the_refusal() {
    let shares = Shares::new(KIND, ShareLimits::of(4));
    let first = shares.take(address(1)).expect("free");
    assert_eq!(reason(shares.wait(address(1), LONG).await), RefusalReason::OwnShare);
    let second = shares.take(address(2)).expect("free");
    assert_eq!(reason(shares.wait(address(3), LONG).await), RefusalReason::AllInUse);
    assert_eq!(shares.usage().waiting, 0);
    drop((first, second));
    assert_eq!(shares.state().entries(), 0);
}

#[tokio::test]
async fn a_waiter_that_leaves_frees_its_entry() {
    let shares = Shares::new(KIND, ShareLimits::of(1));
    let held = shares.take(address(1)).expect("free");
    for number in 2..200 {
        let waiting = shares.wait(address(number), LONG);
        assert!(waiting.now_or_never().is_none());
    }
    assert_eq!((shares.usage().waiting, shares.state().entries()), (0, 1));
    drop(held);
    assert_eq!(shares.state().entries(), 0);
}

#[test]
fn the_queue_is_bounded_for_one_holder_and_for_all() {
    let shares = Shares::new(KIND, ShareLimits::of(1));
    let _held = shares.take(address(1)).expect("free");
    let mut waiting = Vec::new();
    let mut enter = |holder| shares.enqueue(holder).map(|turn| waiting.push(turn));
    for _ in 0..4 {
        enter(address(2)).expect("its part of the queue");
    }
    assert_eq!(reason(enter(address(2))), RefusalReason::OwnShare);
    for number in 3..7 {
        enter(address(number)).expect("half of the queue");
    }
    assert_eq!(reason(enter(address(7))), RefusalReason::AllInUse);
    for id in 0..8 {
        enter(Holder::Account(id)).expect("the other half");
    }
    assert_eq!(reason(enter(Holder::Account(9))), RefusalReason::AllInUse);
    enter(Holder::Socket(None)).expect("operators are not limited by the others");
}

#[test]
fn a_larger_capacity_starts_waiting_items_and_a_smaller_one_ends_none() {
    let limits = |capacity| ShareLimits { for_operators: 0, for_signed_in: 0, ..ShareLimits::of(capacity) };
    let shares = Shares::new(KIND, limits(1));
    let held = shares.take(address(1)).expect("free");
    let Ok(Admission::Later(mut waiting)) = shares.enqueue(address(2)) else { panic!("it waits") };
    shares.set_limits(limits(2));
    let second = waiting.granted.try_recv().expect("capacity for two");
    shares.set_limits(limits(1));
    assert_eq!(shares.usage().running, 2);
    drop(held);
    assert_eq!(reason(shares.take(address(3))), RefusalReason::AllInUse);
    drop(second);
    drop(shares.take(address(3)).expect("free"));
}

/// One step of a random sequence.
#[derive(Clone, Copy, Debug)]
enum Step {
    Take(Holder),
    Wait(Holder),
    /// Ends a running item.
    End(usize),
    /// Leaves the queue.
    Leave(usize),
    Resize(usize),
}

fn holders() -> impl Strategy<Value = Holder> {
    prop_oneof![
        3 => (0_u8..4).prop_map(address),
        2 => (0_u64..3).prop_map(Holder::Account),
        1 => (0_u64..2).prop_map(Holder::Administrator),
        1 => Just(Holder::Socket(Some(7))),
    ]
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        3 => holders().prop_map(Step::Take),
        4 => holders().prop_map(Step::Wait),
        4 => any::<usize>().prop_map(Step::End),
        1 => any::<usize>().prop_map(Step::Leave),
        1 => (1_usize..12).prop_map(Step::Resize),
    ];
    prop::collection::vec(step, 1..120)
}

/// The same rules in lists. Items have the number of the step that added them.
struct Model {
    limits: ShareLimits,
    running: Vec<(usize, Holder)>,
    waiting: Vec<(usize, Holder)>,
    /// Every start, oldest first.
    started: Vec<Holder>,
}

impl Model {
    fn can_start(&self, holder: Holder) -> bool {
        let of = |group| self.running.iter().filter(|(_, holder)| holder.group() == group).count();
        let own = self.running.iter().filter(|(_, other)| *other == holder).count();
        let limits = self.limits;
        let everyone = limits.capacity - limits.for_operators;
        own < limits.per_holder
            && match holder.group() {
                HolderGroup::Operators => self.running.len() < limits.capacity,
                HolderGroup::SignedIn => self.running.len() < everyone,
                HolderGroup::Anonymous => {
                    self.running.len() < everyone && of(HolderGroup::Anonymous) < everyone - limits.for_signed_in
                }
            }
    }

    fn start(&mut self, item: usize, holder: Holder) {
        self.running.push((item, holder));
        self.started.push(holder);
    }

    fn can_wait(&self, holder: Holder) -> bool {
        let own = self.waiting.iter().filter(|(_, other)| *other == holder).count();
        let anonymous = self.waiting.iter().filter(|(_, other)| other.group() == HolderGroup::Anonymous).count();
        let limit = self.limits.waiting;
        own < limit.div_ceil(4)
            && match holder.group() {
                HolderGroup::Operators => true,
                HolderGroup::SignedIn => self.waiting.len() < limit,
                HolderGroup::Anonymous => self.waiting.len() < limit && anonymous < limit.div_ceil(2),
            }
    }

    /// A holder without items has no history.
    fn forget(&mut self) {
        let active: Vec<Holder> = self.running.iter().chain(&self.waiting).map(|(_, holder)| *holder).collect();
        // Positions must stay comparable, so starts are replaced, not removed.
        for holder in &mut self.started {
            if !active.contains(holder) {
                *holder = Holder::Address(None);
            }
        }
    }

    fn grant(&mut self) {
        loop {
            let order = |(item, holder): &(usize, Holder)| {
                let own = self.running.iter().filter(|(_, other)| other == holder).count();
                let last = self.started.iter().rposition(|other| other == holder).map_or(0, |index| index + 1);
                (own, last, *item)
            };
            let next = self.waiting.iter().filter(|(_, holder)| self.can_start(*holder)).min_by_key(|w| order(w));
            let Some((item, holder)) = next.copied() else { return };
            self.waiting.retain(|(other, _)| *other != item);
            self.start(item, holder);
        }
    }
}

proptest! {
    #[test]
    fn shares_follow_a_simple_model(capacity in 1_usize..12, steps in steps()) {
        let shares = Shares::new(KIND, ShareLimits::of(capacity));
        let limits = ShareLimits::of(capacity);
        let mut model = Model { limits, running: Vec::new(), waiting: Vec::new(), started: Vec::new() };
        let mut running: Vec<(usize, Share)> = Vec::new();
        let mut waiting: Vec<(usize, QueuedCaller)> = Vec::new();
        for (item, step) in steps.into_iter().enumerate() {
            match step {
                Step::Take(holder) => {
                    let can_start = model.can_start(holder);
                    let share = shares.take(holder);
                    prop_assert_eq!(share.is_ok(), can_start);
                    if let Ok(share) = share {
                        running.push((item, share));
                        model.start(item, holder);
                    }
                }
                Step::Wait(holder) => match shares.enqueue(holder) {
                    Ok(Admission::Now(share)) => {
                        prop_assert!(model.can_start(holder));
                        running.push((item, share));
                        model.start(item, holder);
                    }
                    Ok(Admission::Later(waiter)) => {
                        prop_assert!(!model.can_start(holder) && model.can_wait(holder));
                        waiting.push((item, waiter));
                        model.waiting.push((item, holder));
                    }
                    Err(_) => prop_assert!(!model.can_start(holder) && !model.can_wait(holder)),
                },
                Step::End(index) if !running.is_empty() => {
                    let (ended, share) = running.swap_remove(index % running.len());
                    drop(share);
                    model.running.retain(|(item, _)| *item != ended);
                    model.grant();
                }
                Step::Leave(index) if !waiting.is_empty() => {
                    let (left, waiter) = waiting.swap_remove(index % waiting.len());
                    drop(waiter);
                    model.waiting.retain(|(item, _)| *item != left);
                }
                Step::Resize(capacity) => {
                    model.limits = ShareLimits::of(capacity);
                    shares.set_limits(model.limits);
                    model.grant();
                }
                Step::End(_) | Step::Leave(_) => {}
            }
            model.forget();
            let mut still_waiting = Vec::new();
            for (item, mut waiter) in waiting {
                match waiter.granted.poll_unpin(&mut std::task::Context::from_waker(std::task::Waker::noop())) {
                    Poll::Ready(share) => running.push((item, share.expect("granted"))),
                    Poll::Pending => still_waiting.push((item, waiter)),
                }
            }
            waiting = still_waiting;
            let mut items: Vec<usize> = running.iter().map(|(item, _)| *item).collect();
            let mut expected: Vec<usize> = model.running.iter().map(|(item, _)| *item).collect();
            items.sort_unstable();
            expected.sort_unstable();
            prop_assert_eq!(items, expected);
            prop_assert_eq!((shares.usage().running, shares.usage().waiting), (running.len(), waiting.len()));
        }
        drop((running, waiting));
        prop_assert_eq!(shares.state().entries(), 0);
    }
}
