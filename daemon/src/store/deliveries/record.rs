//! What came of attempts: one transaction for many of them.

use std::collections::BTreeMap;

use farrier_proto::store::{Attempt, Delivery, DeliveryState, DeliveryTrigger, History, Hook, HookState, Reference};

use crate::{
    clock::Millis,
    model::{delivery_failure::CancelReason, hook_health, revision::Revision},
    store::{Read as _, StoreError, Tx, engine::Key, keys},
};

/// Characters of an error that the state of a hook keeps; the attempt has all of it.
const LAST_ERROR_MAX_CHARS: usize = 300;

/// What came of one delivery in the hands of the sender.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// The delivery.
    pub delivery: u64,
    /// Its hook.
    pub hook: u64,
    /// The revision of the hook that the attempt was made with: the result says nothing about any other revision.
    pub revision: Revision,
    /// Bytes of what the event says, as far as the sender has read it.
    pub said_bytes: u64,
    /// What the sender saw as the reason of this attempt: a wish that came later stays.
    pub asked: DeliveryTrigger,
    /// The attempt; none was made of what is only closed.
    pub attempt: Option<Attempt>,
    /// What comes next.
    pub then: NextStep,
}

/// What comes after an attempt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NextStep {
    /// It has arrived.
    Done,
    /// Another attempt at this time.
    Again {
        /// Milliseconds since the epoch.
        at_ms: Millis,
    },
    /// No further attempt comes by itself.
    GiveUp,
    /// No further attempt, and the hook is switched off: its receiver wants no more.
    Gone,
    /// The delivery is cancelled, for this reason.
    Cancel(CancelReason),
}

/// Records outcomes, in order, and gives the hooks that are switched off now with the reasons.
/// `disable_after_ms`: how long a hook may fail; 0: for ever.
pub async fn record(
    tx: &Tx,
    outcomes: &[Outcome],
    now_ms: Millis,
    disable_after_ms: Millis,
) -> Result<Vec<(u64, String)>, StoreError> {
    let mut rows = load::<Delivery>(tx, outcomes.iter().map(|o| (o.delivery, keys::delivery(o.delivery)))).await?;
    let mut hooks = load::<Hook>(tx, outcomes.iter().map(|o| (o.hook, keys::hook(o.hook)))).await?;
    let mut states = load::<HookState>(tx, outcomes.iter().map(|o| (o.hook, keys::hook_state(o.hook)))).await?;
    let mut bytes = 0;
    let mut disabled = Vec::new();
    for outcome in outcomes {
        let Some(row) = rows.get_mut(&outcome.delivery) else {
            // Nothing is known of it any more: it must not wait for ever.
            leave_lines(tx, outcome, 0);
            continue;
        };
        if let Some(attempt) = &outcome.attempt {
            let said = if row.attempts == 0 { outcome.said_bytes } else { 0 };
            bytes += note_attempt(tx, row, attempt, said);
            let hook = hooks.get_mut(&outcome.hook).filter(|hook| Revision::of_hook(hook) == outcome.revision);
            if let Some(hook) = hook {
                let state = states.entry(outcome.hook).or_default();
                note_state(state, attempt, now_ms);
                if let Some(reason) = reason_to_disable(hook, state, outcome, now_ms, disable_after_ms) {
                    *hook = Hook { active: false, disabled_reason: reason.clone(), updated_ms: now_ms, ..hook.clone() };
                    tx.put(keys::hook(hook.id), hook);
                    disabled.push((hook.id, reason));
                }
            }
        }
        move_on(tx, row, outcome);
        tx.put(keys::delivery(row.id), row);
    }
    for (hook, state) in states.iter().filter(|(hook, _)| hooks.contains_key(hook)) {
        tx.put(keys::hook_state(*hook), state);
    }
    if bytes > 0 {
        let known = tx.get::<History>(&keys::history()).await?.unwrap_or_default();
        tx.put(keys::history(), &History { bytes: known.bytes + bytes });
    }
    Ok(disabled)
}

/// The rows under the keys, each once, by the number beside it.
async fn load<M: prost::Message + Default>(
    tx: &Tx,
    query: impl Iterator<Item = (u64, Key)>,
) -> Result<BTreeMap<u64, M>, StoreError> {
    let query: BTreeMap<u64, Key> = query.collect();
    let (numbers, keys): (Vec<u64>, Vec<Key>) = query.into_iter().unzip();
    let found = tx.get_many::<M>(&keys).await?;
    Ok(numbers.into_iter().zip(found).filter_map(|(number, row)| Some((number, row?))).collect())
}

/// Writes an attempt and what the delivery shows of it; how many bytes that and what it said are.
fn note_attempt(tx: &Tx, row: &mut Delivery, attempt: &Attempt, said_bytes: u64) -> u64 {
    use prost::Message as _;
    row.attempts = attempt.number;
    row.last_trigger = attempt.trigger;
    row.delivered_ms = attempt.started_ms;
    row.status_code = attempt.status_code;
    row.error_class.clone_from(&attempt.error_class);
    row.duration_ms = attempt.duration_ms;
    let bytes = attempt.encoded_len() as u64 + said_bytes;
    row.bytes += bytes;
    tx.put(keys::attempt(row.id, attempt.number), attempt);
    bytes
}

fn note_state(state: &mut HookState, attempt: &Attempt, now_ms: Millis) {
    state.last_status = attempt.status_code;
    state.last_delivery_ms = attempt.started_ms.max(now_ms);
    if attempt.error_class.is_empty() {
        state.last_success_ms = state.last_delivery_ms;
        state.failures = 0;
        state.failing_since_ms = 0;
        state.last_error.clear();
        return;
    }
    if state.failures == 0 {
        state.failing_since_ms = attempt.started_ms;
    }
    state.failures += 1;
    state.last_error = attempt.error.chars().take(LAST_ERROR_MAX_CHARS).collect();
}

fn reason_to_disable(
    hook: &Hook,
    state: &HookState,
    outcome: &Outcome,
    now_ms: Millis,
    after_ms: Millis,
) -> Option<String> {
    if !hook.active {
        return None;
    }
    if outcome.then == NextStep::Gone {
        return Some("the receiver answered 410: it wants no more deliveries".to_owned());
    }
    let hopeless = hook_health::is_hopeless(state, now_ms, after_ms);
    hopeless.then(|| format!("{} attempts failed in {} days without a success", state.failures, after_ms / 86_400_000))
}

/// Puts the delivery where it waits next, if it does.
fn move_on(tx: &Tx, row: &mut Delivery, outcome: &Outcome) {
    let asked_meanwhile = row.next_trigger() != outcome.asked && row.next_trigger() != DeliveryTrigger::Unspecified;
    if asked_meanwhile {
        return; // it waits among the urgent ones already, and is pending
    }
    leave_lines(tx, outcome, row.next_attempt_ms);
    row.next_trigger = DeliveryTrigger::Unspecified.into();
    row.next_attempt_ms = 0;
    let failed = keys::failed_delivery(row.hook_id, row.id);
    let state = match outcome.then {
        NextStep::Done => DeliveryState::Success,
        NextStep::Again { at_ms } => {
            row.next_attempt_ms = at_ms;
            tx.put(keys::retry(at_ms, row.id), &Reference { id: row.hook_id });
            DeliveryState::Pending
        }
        NextStep::GiveUp | NextStep::Gone => {
            tx.put(failed, &Reference::default());
            DeliveryState::Failed
        }
        NextStep::Cancel(reason) => {
            reason.as_str().clone_into(&mut row.error_class);
            if reason != CancelReason::Unwanted {
                tx.put(failed, &Reference::default());
            }
            DeliveryState::Cancelled
        }
    };
    row.state = state.into();
}

fn leave_lines(tx: &Tx, outcome: &Outcome, retry_ms: Millis) {
    tx.delete(keys::queued(outcome.hook, outcome.delivery));
    if outcome.asked != DeliveryTrigger::Unspecified {
        tx.delete(keys::urgent(outcome.hook, outcome.delivery));
    }
    if retry_ms != 0 {
        tx.delete(keys::retry(retry_ms, outcome.delivery));
    }
}
