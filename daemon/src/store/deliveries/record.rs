//! Records the results of attempts, many in one transaction.

use std::collections::BTreeMap;

use farrier_proto::store::{Attempt, Delivery, DeliveryState, DeliveryTrigger, History, Hook, HookState, Reference};

use crate::{
    clock::Millis,
    model::{delivery_failure::CancelReason, hook_health, revision::Revision},
    store::{Read as _, StoreError, Tx, engine::Key, keys},
};

/// Maximum number of characters of an error in the state of a hook. The attempt has the whole error.
const LAST_ERROR_MAX_CHARS: usize = 300;

/// The result of an attempt, or the reason why a delivery ends without one.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// The delivery.
    pub delivery: u64,
    /// Its hook.
    pub hook: u64,
    /// The revision of the hook with which the attempt was made. The result does not change the state of another
    /// revision.
    pub revision: Revision,
    /// Size of the payload, bytes; 0 if it was not read.
    pub payload_bytes: u64,
    /// The delivery's next trigger when the worker read it. If it has changed since, another attempt was requested
    /// during this one and is still to be made.
    pub next_trigger: DeliveryTrigger,
    /// The attempt; `None` if the delivery ends without one.
    pub attempt: Option<Attempt>,
    /// What follows.
    pub next: NextStep,
}

/// What follows an attempt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NextStep {
    /// Nothing: the delivery was successful.
    Done,
    /// Another attempt.
    Again {
        /// Time of the attempt, milliseconds since the epoch.
        at_ms: Millis,
    },
    /// No further attempt: the delivery has failed.
    GiveUp,
    /// No further attempt, and the hook is disabled, because the receiver answered that it does not exist any more.
    Gone,
    /// The delivery is cancelled.
    Cancel(CancelReason),
}

/// Records outcomes in order. Returns the hooks that were disabled, with the reasons. A hook is disabled after it has
/// failed for `disable_after_ms`; never if that is 0.
pub async fn record(
    tx: &Tx,
    outcomes: &[&Outcome],
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
            // Without its row, the delivery would stay in the queue forever.
            delete_queue_entries(tx, outcome, 0);
            continue;
        };
        if let Some(attempt) = &outcome.attempt {
            let payload_bytes = if row.attempts == 0 { outcome.payload_bytes } else { 0 };
            bytes += record_attempt(tx, row, attempt, payload_bytes);
            let hook = hooks.get_mut(&outcome.hook).filter(|hook| Revision::of_hook(hook) == outcome.revision);
            if let Some(hook) = hook {
                let state = states.entry(outcome.hook).or_default();
                update_state(state, attempt, now_ms);
                if let Some(reason) = reason_to_disable(hook, state, outcome, now_ms, disable_after_ms) {
                    *hook = Hook { active: false, disabled_reason: reason.clone(), updated_ms: now_ms, ..hook.clone() };
                    tx.put(keys::hook(hook.id), hook);
                    disabled.push((hook.id, reason));
                }
            }
        }
        set_next_step(tx, row, outcome);
        tx.put(keys::delivery(row.id), row);
    }
    for (hook, state) in states.iter().filter(|(hook, _)| hooks.contains_key(hook)) {
        tx.put(keys::hook_state(*hook), state);
    }
    if bytes > 0 {
        let stored = super::history_bytes(tx).await?;
        tx.put(keys::history(), &History { bytes: stored + bytes });
    }
    Ok(disabled)
}

/// Returns the rows that exist, by id. Reads each key once.
async fn load<M: prost::Message + Default>(
    tx: &Tx,
    keys: impl Iterator<Item = (u64, Key)>,
) -> Result<BTreeMap<u64, M>, StoreError> {
    let keys: BTreeMap<u64, Key> = keys.collect();
    let (ids, keys): (Vec<u64>, Vec<Key>) = keys.into_iter().unzip();
    let rows = tx.get_many::<M>(&keys).await?;
    Ok(ids.into_iter().zip(rows).filter_map(|(id, row)| Some((id, row?))).collect())
}

/// Writes an attempt and copies its result to the delivery. Returns the bytes that it adds to the history.
fn record_attempt(tx: &Tx, row: &mut Delivery, attempt: &Attempt, payload_bytes: u64) -> u64 {
    use prost::Message as _;
    row.attempts = attempt.number;
    row.last_trigger = attempt.trigger;
    row.delivered_ms = attempt.started_ms;
    row.status_code = attempt.status_code;
    row.error_class.clone_from(&attempt.error_class);
    row.duration_ms = attempt.duration_ms;
    let bytes = attempt.encoded_len() as u64 + payload_bytes;
    row.bytes += bytes;
    tx.put(keys::attempt(row.id, attempt.number), attempt);
    bytes
}

fn update_state(state: &mut HookState, attempt: &Attempt, now_ms: Millis) {
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
    hook_health::count_failure(state, now_ms);
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
    if outcome.next == NextStep::Gone {
        return Some("the receiver answered 410: it accepts no more deliveries".to_owned());
    }
    let hopeless = hook_health::is_hopeless(state, now_ms, after_ms);
    hopeless.then(|| format!("{} attempts failed in {} days without a success", state.failures, after_ms / 86_400_000))
}

/// Sets the state of the delivery and moves its index entries.
fn set_next_step(tx: &Tx, row: &mut Delivery, outcome: &Outcome) {
    let requested_again =
        row.next_trigger() != outcome.next_trigger && row.next_trigger() != DeliveryTrigger::Unspecified;
    if requested_again {
        return; // The request has made the delivery pending and has written its entry.
    }
    delete_queue_entries(tx, outcome, row.next_attempt_ms);
    row.next_trigger = DeliveryTrigger::Unspecified.into();
    row.next_attempt_ms = 0;
    let failed = keys::failed_delivery(row.hook_id, row.id);
    let state = match outcome.next {
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
            if reason != CancelReason::EventNotSupported {
                tx.put(failed, &Reference::default());
            }
            DeliveryState::Cancelled
        }
    };
    row.state = state.into();
}

/// Deletes the entries of a delivery in the queues. `retry_ms` is the time of its retry; 0 if there is none.
fn delete_queue_entries(tx: &Tx, outcome: &Outcome, retry_ms: Millis) {
    tx.delete(keys::queued(outcome.hook, outcome.delivery));
    if outcome.next_trigger != DeliveryTrigger::Unspecified {
        tx.delete(keys::urgent(outcome.hook, outcome.delivery));
    }
    if retry_ms != 0 {
        tx.delete(keys::retry(retry_ms, outcome.delivery));
    }
}
