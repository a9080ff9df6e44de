//! One attempt of a delivery: builds the request from the rows, sends it, and decides what follows.

use bytes::Bytes;
use farrier_proto::store::{Attempt, Delivery, DeliveryTrigger, Hook};

use super::{
    DeliveryContext, DeliveryError, completion,
    exchange::Exchange,
    retry::{self, AttemptResult, Next},
};
use crate::{
    model::{delivery_failure::CancelReason, revision::Revision, secret},
    store::{
        deliveries::{self, NextStep, Outcome},
        hooks,
    },
    webhook::{AttemptContext, BuildError, Link, request},
};

/// A delivery after its payload was read.
pub enum Prepared {
    /// It can be sent.
    Ready(Box<PreparedDelivery>),
    /// It is cancelled, for this reason.
    Cancelled(CancelReason),
}

/// A delivery whose payload is complete.
pub struct PreparedDelivery {
    row: Delivery,
    json: Bytes,
}

/// The result of sending.
pub enum SendResult {
    /// An attempt was made.
    Attempt(Box<Outcome>),
    /// No attempt was made; the delivery is cancelled for this reason.
    Cancelled(CancelReason),
}

/// Reads the payload of a delivery, and adds the commits of a push if they are missing.
pub async fn prepare(context: &DeliveryContext, row: Delivery) -> Result<Prepared, DeliveryError> {
    let snapshot = context.store.read().await?;
    let Some(payload) = deliveries::payload(&snapshot, row.event_id).await? else {
        return Ok(Prepared::Cancelled(CancelReason::PayloadForgotten));
    };
    drop(snapshot);
    let json: Bytes =
        if payload.incomplete { completion::complete(context, &row, payload).await? } else { payload.json };
    Ok(Prepared::Ready(Box::new(PreparedDelivery { row, json })))
}

/// Returns why `row` must not be sent to `hook`; `None`: it is sent. An inactive hook gets only deliveries that an
/// operator requested.
pub fn refusal(context: &DeliveryContext, hook: Option<&Hook>, row: &Delivery) -> Option<CancelReason> {
    match hook {
        None => Some(CancelReason::HookGone),
        Some(_) if !context.config.webhook.enabled => Some(CancelReason::HookGone),
        Some(hook) if !hook.active && row.next_trigger() == DeliveryTrigger::Unspecified => {
            Some(CancelReason::HookInactive)
        }
        Some(_) => None,
    }
}

impl PreparedDelivery {
    /// Reads the hook, sends the delivery and decides what follows. The hook is read again for every attempt, so that
    /// nothing is sent to the old URL of a hook that was just edited, deleted or switched off.
    pub async fn send(self, context: &DeliveryContext, link: &mut Option<Link>) -> Result<SendResult, DeliveryError> {
        let hook = hooks::get(&context.store.read().await?, self.row.hook_id).await?;
        if let Some(reason) = refusal(context, hook.as_ref(), &self.row) {
            return Ok(SendResult::Cancelled(reason));
        }
        let Some(hook) = &hook else { return Ok(SendResult::Cancelled(CancelReason::HookGone)) };
        let started_ms = context.now_ms();
        let attempt = AttemptContext { delivery: &self.row, number: self.row.attempts + 1, now_ms: started_ms };
        let request = match request::build(hook, &attempt, &self.json) {
            Ok(request) => Ok(request),
            Err(BuildError::EventNotSupported) => return Ok(SendResult::Cancelled(CancelReason::EventNotSupported)),
            Err(BuildError::Invalid(reason)) => Err(reason),
        };
        let exchange = Exchange::run(context, link, hook, request, started_ms).await;
        Ok(SendResult::Attempt(Box::new(self.outcome(context, hook, exchange))))
    }

    /// Returns the delivery and its payload, for a request outside the queue.
    pub(super) fn into_parts(self) -> (Delivery, Bytes) {
        (self.row, self.json)
    }

    fn outcome(&self, context: &DeliveryContext, hook: &Hook, exchange: Exchange<'_>) -> Outcome {
        let row = &self.row;
        let number = row.attempts + 1;
        let (result, attempt) = exchange.finish(context.now_ms());
        Outcome {
            delivery: row.id,
            hook: hook.id,
            revision: Revision::of_hook(hook),
            payload_bytes: self.json.len() as u64,
            next_trigger: row.next_trigger(),
            next: self.next_step(context, &result, number),
            attempt: Some(Attempt { number, trigger: trigger(row).into(), ..attempt }),
        }
    }

    /// Decides what follows the attempt.
    fn next_step(&self, context: &DeliveryContext, result: &AttemptResult, number: u32) -> NextStep {
        let chance = f64::from(u32::from_le_bytes(secret::random_bytes())) / f64::from(u32::MAX);
        match retry::next(result, number, &context.config.webhook.retry_schedule_secs, chance) {
            Next::Done => NextStep::Done,
            Next::Gone => NextStep::Gone,
            Next::GiveUp => NextStep::GiveUp,
            // A test is not retried: its caller waits for the result.
            Next::Again { .. } if self.row.trigger() == DeliveryTrigger::Test => NextStep::GiveUp,
            Next::Again { after_ms } => NextStep::Again { at_ms: context.now_ms().saturating_add(after_ms) },
        }
    }
}

/// Returns the trigger of this attempt.
fn trigger(row: &Delivery) -> DeliveryTrigger {
    match row.next_trigger() {
        DeliveryTrigger::Unspecified if row.attempts > 0 => DeliveryTrigger::Retry,
        DeliveryTrigger::Unspecified => row.trigger(),
        requested => requested,
    }
}
