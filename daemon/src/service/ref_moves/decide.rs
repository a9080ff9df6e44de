//! Decides about single updates. The functions are pure.

use std::collections::HashMap;

use farrier_proto::store::Repository;

use super::{
    RefOutcome,
    changes::{self, Change},
};
use crate::git::{
    commands::Update,
    ref_name::{self, is_zero},
};

/// Git's reason for an update whose ref does not have the expected value, or whose name is in the way of another ref.
pub const FAILED: &str = "failed to update ref";
/// Git's reason for the other updates of an atomic push.
pub const ATOMIC_FAILED: &str = "atomic transaction failed";
/// Git's reason for refs that only the daemon may write.
const HIDDEN: &str = "deny updating a hidden ref";
/// Git's reason for names that no ref may have.
const INVALID: &str = "funny refname";
const REPEATED: &str = "a push can update a ref only once";
const TOO_MANY: &str = "an atomic push can update at most 2000 refs";
/// The reason for updates that delete the default branch.
pub(in crate::service) const OF_DEFAULT: &str =
    "the default branch cannot be deleted; make another branch the default first";

/// Maximum number of updates of an atomic push, which is one transaction.
pub(super) const ATOMIC_MAX: usize = 2_000;
/// The effect of an update that is not refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// The ref has the requested value already.
    Keep,
    /// The update deletes a ref that does not exist, and expects that.
    Absent,
    /// The ref changes.
    Change(Change),
}

/// Decides about an update of a ref that has the value `current`. `in_the_way`: a ref whose name is a directory of this
/// one, or below this one.
pub(super) fn decide(update: &Update, current: Option<&str>, in_the_way: Option<&str>) -> Result<Step, &'static str> {
    let change = requested(update);
    if let Some(reason) = refused_name(update) {
        return Err(reason);
    }
    if change.before.as_deref() != current {
        return Err(FAILED);
    }
    match (&change.before, &change.after) {
        (None, None) => Ok(Step::Absent),
        (before, after) if before == after => Ok(Step::Keep),
        (None, Some(_)) if in_the_way.is_some() => Err(FAILED),
        _ => Ok(Step::Change(change)),
    }
}

/// Returns the change that an update makes if it is applied.
pub(super) fn requested(update: &Update) -> Change {
    let non_zero = |id: &str| Some(id.to_owned()).filter(|id| !is_zero(id));
    Change { name: update.name.clone(), before: non_zero(&update.old), after: non_zero(&update.new) }
}

/// Returns whether an update creates its ref, so that other names can be in the way.
pub(super) fn creates(update: &Update) -> bool {
    is_zero(&update.old) && !update.deletes()
}

fn refused_name(update: &Update) -> Option<&'static str> {
    let name = &update.name;
    // A ref named like a directory of internal names is refused too: it would be in the way of them.
    if ref_name::is_internal(name) || ref_name::is_internal(&format!("{name}/")) {
        return Some(HIDDEN);
    }
    // Git refuses to create `refs/heads` and the like as well: such a ref would be in the way of all those below it.
    let is_too_short = name.matches('/').count() < 2 && !update.deletes();
    (!ref_name::is_valid(name) || is_too_short).then_some(INVALID)
}

/// Returns the outcomes of the updates that are refused independent of the values of the refs.
pub(super) fn refused_at_once(updates: &[Update], atomic: bool) -> Vec<Option<RefOutcome>> {
    let mut times: HashMap<&str, usize> = HashMap::with_capacity(updates.len());
    for update in updates {
        *times.entry(&update.name).or_default() += 1;
    }
    let reason = |update: &Update| {
        if atomic && updates.len() > ATOMIC_MAX {
            return Some(TOO_MANY);
        }
        let is_repeated = times.get(&*update.name).is_some_and(|times| *times > 1);
        refused_name(update).or(is_repeated.then_some(REPEATED))
    };
    let mut outcomes: Vec<_> = updates.iter().map(|update| reason(update).map(RefOutcome::Refused)).collect();
    if atomic && outcomes.iter().any(Option::is_some) {
        for outcome in &mut outcomes {
            outcome.get_or_insert(RefOutcome::Refused(ATOMIC_FAILED));
        }
    }
    outcomes
}

/// Refuses all updates of an atomic push if one is refused. Returns whether one is.
pub(super) fn all_or_none(outcomes: &mut [RefOutcome]) -> bool {
    let refused = outcomes.iter().any(|outcome| matches!(outcome, RefOutcome::Refused(_)));
    for outcome in outcomes.iter_mut().filter(|_| refused) {
        if !matches!(outcome, RefOutcome::Refused(_)) {
            *outcome = RefOutcome::Refused(ATOMIC_FAILED);
        }
    }
    refused
}

/// Returns the numbers of the updates without an outcome in the order in which they are applied: deletes first, because
/// a new ref may have the name of a deleted one as a directory. If the push makes a branch the default, that branch is
/// next, so that it is in the first transaction.
pub(super) fn order(row: &Repository, updates: &[Update], outcomes: &[Option<RefOutcome>]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..updates.len()).filter(|number| outcomes[*number].is_none()).collect();
    let of_empty = order.iter().filter(|_| row.empty).map(|number| requested(&updates[*number]));
    let mut by_name: Vec<Change> = of_empty.collect();
    by_name.sort_by(|one, other| one.name.cmp(&other.name));
    let first = changes::first_branch(row, &by_name).map(|branch| format!("{}{branch}", ref_name::HEADS));
    order.sort_by_key(|number| match &updates[*number] {
        update if update.deletes() => 0,
        update if Some(&update.name) == first.as_ref() => 1,
        _ => 2,
    });
    order
}

/// Returns what is reported about a decision.
pub(super) fn outcome(decided: &Result<Step, &'static str>) -> RefOutcome {
    match *decided {
        Ok(Step::Keep | Step::Change(_)) => RefOutcome::Moved,
        Ok(Step::Absent) => RefOutcome::Absent,
        Err(reason) => RefOutcome::Refused(reason),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An update; an empty id means no object.
    fn update(name: &str, old: &str, new: &str) -> Update {
        let id = |letter: &str| if letter.is_empty() { "0".repeat(40) } else { letter.repeat(40) };
        Update { name: name.into(), old: id(old), new: id(new) }
    }

    const fn refused(reason: &'static str) -> RefOutcome {
        RefOutcome::Refused(reason)
    }

    #[test]
    fn an_update_is_applied_only_to_the_expected_value() {
        let (a, b) = ("a".repeat(40), "b".repeat(40));
        let change = |before: Option<&String>, after: Option<&String>| {
            Ok(Step::Change(Change { name: "refs/heads/x".into(), before: before.cloned(), after: after.cloned() }))
        };
        for (old, new, current, expected) in [
            // Create, move, delete.
            ("", "a", None, change(None, Some(&a))),
            ("a", "b", Some(&a), change(Some(&a), Some(&b))),
            ("a", "", Some(&a), change(Some(&a), None)),
            // The ref exists, is somewhere else, or does not exist.
            ("", "a", Some(&b), Err(FAILED)),
            ("", "a", Some(&a), Err(FAILED)),
            ("a", "b", Some(&b), Err(FAILED)),
            ("a", "b", None, Err(FAILED)),
            ("a", "", Some(&b), Err(FAILED)),
            ("a", "", None, Err(FAILED)),
            // Without an expected value, nothing is deleted.
            ("", "", Some(&a), Err(FAILED)),
            ("", "", None, Ok(Step::Absent)),
            ("a", "a", Some(&a), Ok(Step::Keep)),
            ("a", "a", Some(&b), Err(FAILED)),
            ("a", "a", None, Err(FAILED)),
        ] {
            let decided = decide(&update("refs/heads/x", old, new), current.map(String::as_str), None);
            assert_eq!(decided, expected, "{old:?} {new:?} {current:?}");
        }
    }

    #[test]
    fn a_name_in_the_way_stops_only_new_refs() {
        let a = "a".repeat(40);
        let way = Some("refs/heads/x/y");
        assert_eq!(decide(&update("refs/heads/x", "", "a"), None, way), Err(FAILED));
        for new in ["b", ""] {
            let moved = decide(&update("refs/heads/x", "a", new), Some(&a), way);
            assert!(matches!(moved, Ok(Step::Change(_))), "{moved:?}");
        }
        assert!(creates(&update("x", "", "a")) && !creates(&update("x", "", "")) && !creates(&update("x", "a", "b")));
    }

    #[test]
    fn names_of_the_daemon_and_invalid_names_are_refused() {
        for (name, expected) in [
            ("refs/pull/1/head", HIDDEN),
            ("refs/pull", HIDDEN),
            ("refs/farrier/x", HIDDEN),
            ("refs/farrier", HIDDEN),
            ("refs/heads/a..b", INVALID),
            ("HEAD", INVALID),
            ("refs/heads/../pull/x", INVALID),
        ] {
            assert_eq!(decide(&update(name, "", "a"), None, None), Err(expected), "{name}");
            assert_eq!(decide(&update(name, "", ""), None, None), Err(expected), "{name}");
        }
        for name in ["refs/heads", "refs/tags", "refs/notes", "refs/pulls", "refs/stash"] {
            assert_eq!(decide(&update(name, "", "a"), None, None), Err(INVALID), "{name}");
            assert!(decide(&update(name, "a", ""), Some(&*"a".repeat(40)), None).is_ok(), "{name}");
        }
        for name in ["refs/pulls/x", "refs/notes/commits", "refs/heads/pull/1", "refs/farriers/x"] {
            assert!(decide(&update(name, "", "a"), None, None).is_ok(), "{name}");
        }
    }

    #[test]
    fn two_updates_of_one_ref_are_both_refused() {
        let updates =
            [update("refs/heads/x", "", "a"), update("refs/heads/y", "", "a"), update("refs/heads/x", "a", "b")];
        assert_eq!(refused_at_once(&updates, false), [Some(refused(REPEATED)), None, Some(refused(REPEATED))]);
        let atomic = [refused(REPEATED), refused(ATOMIC_FAILED), refused(REPEATED)];
        assert_eq!(refused_at_once(&updates, true), atomic.map(Some));
        assert_eq!(refused_at_once(&updates[..2], true), [None, None]);
        assert!(refused_at_once(&[], true).is_empty());
    }

    #[test]
    fn an_atomic_push_is_refused_as_a_whole() {
        use RefOutcome::{Absent, Moved, Refused};
        for (outcomes, expected) in [
            (vec![Moved, Absent], vec![Moved, Absent]),
            (
                vec![Moved, Refused(FAILED), Absent],
                vec![Refused(ATOMIC_FAILED), Refused(FAILED), Refused(ATOMIC_FAILED)],
            ),
        ] {
            let mut got = outcomes.clone();
            assert_eq!(all_or_none(&mut got), outcomes != expected);
            assert_eq!(got, expected);
        }
        let updates: Vec<Update> =
            (0..=ATOMIC_MAX).map(|number| update(&format!("refs/heads/{number}"), "", "a")).collect();
        assert!(refused_at_once(&updates, true).iter().all(|outcome| *outcome == Some(refused(TOO_MANY))));
        assert!(refused_at_once(&updates, false).iter().all(Option::is_none));
        assert!(refused_at_once(&updates[1..], true).iter().all(Option::is_none));
        assert!(TOO_MANY.contains(&ATOMIC_MAX.to_string()));
    }

    #[test]
    fn deletes_come_first_and_then_the_default_branch() {
        let updates = [
            update("refs/heads/a/b", "", "a"),
            update("refs/heads/main", "", "a"),
            update("refs/pull/1/head", "", "a"),
            update("refs/heads/a", "a", ""),
        ];
        let outcomes = refused_at_once(&updates, false);
        let empty = Repository { default_branch: "trunk".into(), empty: true, ..Repository::default() };
        assert_eq!(order(&empty, &updates, &outcomes), [3, 1, 0]);
        let full = Repository { empty: false, ..empty };
        assert_eq!(order(&full, &updates, &outcomes), [3, 0, 1]);
    }
}
