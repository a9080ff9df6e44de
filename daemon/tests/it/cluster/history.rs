//! The history of a ref: what clients sent and received, and a check that one order of all changes explains it.
//!
//! Each push expects a certain commit and writes a new one, which no other push writes. So the changes of a ref form a
//! chain, and the history is linearizable if every answer agrees with the chain and with the times of the requests.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Instant,
};

/// What a client knows about a push.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Outcome {
    /// It was acknowledged.
    Done,
    /// It was refused, so it changed nothing.
    Refused,
    /// The answer was lost, or said that the outcome is unknown.
    Unknown,
}

/// A request of a client for one ref. Commits are IDs; the empty text: the ref does not exist.
#[derive(Clone, Debug)]
pub(super) enum Action {
    /// Moves the ref from one commit to another one.
    Push { from: String, to: String, outcome: Outcome },
    /// Reads the ref.
    Read { value: String },
}

/// A request with its times.
#[derive(Clone, Debug)]
pub(super) struct Operation {
    pub(super) began: Instant,
    pub(super) ended: Instant,
    pub(super) action: Action,
}

/// Checks the operations of a ref, which did not exist at the beginning and has the value `last` at the end. Returns
/// the values that it got, the first one first, or what contradicts.
pub(super) fn check(operations: &[Operation], last: &str) -> Result<Vec<String>, String> {
    let chain = chain(operations, last)?;
    let position: BTreeMap<&str, usize> = chain.iter().enumerate().map(|(at, value)| (*value, at)).collect();
    let mut placed = Vec::new();
    for operation in operations {
        let value = match &operation.action {
            Action::Push { to, .. } => to,
            Action::Read { value } => value,
        };
        let at = position.get(value.as_str()).copied();
        match (&operation.action, at) {
            (Action::Push { outcome: Outcome::Done, .. }, None) => {
                return Err(format!("the acknowledged push of {value} is lost"));
            }
            (Action::Push { outcome: Outcome::Refused, .. }, Some(_)) => {
                return Err(format!("the refused push of {value} changed the ref"));
            }
            (Action::Read { .. }, None) => return Err(format!("the read value {value} was never the last one")),
            (_, Some(at)) => placed.push((at, operation)),
            (_, None) => {}
        }
    }
    in_order(&placed)?;
    Ok(chain.into_iter().skip(1).map(str::to_owned).collect())
}

/// Returns the values that the ref had, the first one first.
fn chain<'a>(operations: &'a [Operation], last: &'a str) -> Result<Vec<&'a str>, String> {
    let mut from = BTreeMap::new();
    for operation in operations {
        if let Action::Push { from: old, to, .. } = &operation.action {
            from.insert(to.as_str(), old.as_str());
        }
    }
    let (mut chain, mut seen) = (vec![last], BTreeSet::new());
    while let Some(value) = chain.last().filter(|value| !value.is_empty()) {
        if !seen.insert(*value) {
            return Err(format!("the ref had the value {value} twice"));
        }
        chain.push(from.get(value).ok_or_else(|| format!("nobody pushed the value {value}"))?);
    }
    chain.reverse();
    Ok(chain)
}

/// Checks that an operation that began after another one had ended did not take place before it.
fn in_order(placed: &[(usize, &Operation)]) -> Result<(), String> {
    let mut by_end: Vec<_> = placed.iter().filter(|(_, operation)| operation.has_answer()).collect();
    by_end.sort_by_key(|(_, operation)| operation.ended);
    let mut by_start: Vec<_> = placed.iter().collect();
    by_start.sort_by_key(|(_, operation)| operation.began);
    let (mut ended, mut newest) = (by_end.into_iter().peekable(), 0);
    for (at, operation) in by_start {
        while let Some((position, _)) = ended.next_if(|(_, earlier)| earlier.ended < operation.began) {
            newest = newest.max(*position);
        }
        let is_push = matches!(operation.action, Action::Push { .. });
        if *at < newest || (is_push && *at == newest) {
            return Err(format!("{:?} took place before an operation that had ended", operation.action));
        }
    }
    Ok(())
}

impl Operation {
    /// Returns the commit of an acknowledged push.
    pub(super) fn acknowledged(&self) -> Option<String> {
        match &self.action {
            Action::Push { to, outcome: Outcome::Done, .. } => Some(to.clone()),
            _ => None,
        }
    }

    /// Returns whether the operation has taken place when it ended.
    fn has_answer(&self) -> bool {
        !matches!(self.action, Action::Push { outcome: Outcome::Unknown, .. })
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn push(times: (u64, u64), from: &str, to: &str, outcome: Outcome) -> Operation {
        operation(times, Action::Push { from: from.into(), to: to.into(), outcome })
    }

    fn read(times: (u64, u64), value: &str) -> Operation {
        operation(times, Action::Read { value: value.into() })
    }

    fn operation((began, ended): (u64, u64), action: Action) -> Operation {
        static START: std::sync::OnceLock<Instant> = std::sync::OnceLock::new();
        let start = *START.get_or_init(Instant::now);
        Operation { began: start + Duration::from_secs(began), ended: start + Duration::from_secs(ended), action }
    }

    #[test]
    fn a_history_that_one_order_explains_is_accepted() {
        let history = [
            read((0, 1), ""),
            push((1, 4), "", "a", Outcome::Done),
            read((2, 3), "a"),
            push((2, 3), "", "b", Outcome::Refused),
            // Takes place after its answer was lost.
            push((5, 6), "a", "c", Outcome::Unknown),
            read((7, 8), "a"),
            push((7, 8), "a", "d", Outcome::Unknown),
            push((9, 12), "c", "e", Outcome::Done),
            read((10, 11), "c"),
        ];
        assert_eq!(check(&history, "e"), Ok(["a", "c", "e"].map(str::to_owned).to_vec()));
    }

    #[test]
    fn contradictions_are_found() {
        let first = push((1, 2), "", "a", Outcome::Done);
        let second = push((3, 4), "a", "b", Outcome::Done);
        let found = |operations: &[Operation], last: &str| check(operations, last).expect_err("a contradiction");
        assert!(found(&[first.clone(), second.clone()], "a").contains("lost"));
        assert!(found(&[first.clone(), second.clone(), read((5, 6), "a")], "b").contains("had ended"));
        assert!(found(&[first.clone(), read((0, 0), "a")], "a").contains("had ended"));
        assert!(found(&[first.clone(), push((3, 4), "", "x", Outcome::Done)], "a").contains("lost"));
        assert!(found(&[first.clone(), push((3, 4), "a", "x", Outcome::Refused)], "x").contains("refused"));
        assert!(found(std::slice::from_ref(&first), "z").contains("nobody"));
        assert!(found(&[first, read((3, 4), "z")], "a").contains("never"));
    }
}
