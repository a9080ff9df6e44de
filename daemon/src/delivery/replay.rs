//! Replays: a delivery is sent once more with a UUID of its own, to try out a receiver or a change of the payload.
//!
//! A replay is outside the queue. It is neither recorded nor retried, and does not change the health of the hook.

use bytes::Bytes;
use farrier_proto::store::{Attempt, Delivery, Hook};
use uuid::Uuid;

use super::{
    DeliveryContext, DeliveryError,
    attempt::{self, Prepared},
    exchange::Exchange,
};
use crate::{
    clock::Millis,
    webhook::{AttemptContext, BuildError, WebhookRequest, request},
};

/// Why a delivery cannot be replayed.
#[derive(Debug, thiserror::Error)]
pub enum ReplayError {
    /// The payload could not be read.
    #[error(transparent)]
    Delivery(#[from] DeliveryError),
    /// The payload was removed.
    #[error("the payload of this delivery was removed")]
    PayloadForgotten,
    /// The type of the hook has no message for this event.
    #[error("hooks of this type send no message for this event")]
    EventNotSupported,
    /// The settings of the hook or the event are not valid.
    #[error("{0}")]
    Invalid(String),
}

/// A replay that can be sent.
pub struct PreparedReplay {
    uuid: Uuid,
    hook: Hook,
    request: WebhookRequest,
    started_ms: Millis,
}

/// A replay that was sent, or for which no connection was possible.
#[derive(Clone, Debug)]
pub struct SentReplay {
    /// The UUID that the receiver got as that of the delivery.
    pub uuid: Uuid,
    /// Whether the request had a signature.
    pub is_signed: bool,
    /// The request and the response. Secrets are masked.
    pub attempt: Attempt,
}

impl PreparedReplay {
    /// Builds the request for `row`. `hook`: the hook of the delivery, with the URL and the secrets to use. `edited`
    /// replaces the JSON that native hooks receive, or the message that a chat receives.
    pub async fn prepare(
        context: &DeliveryContext,
        row: Delivery,
        hook: Hook,
        edited: Option<&Bytes>,
    ) -> Result<Self, ReplayError> {
        let (row, json) = match attempt::prepare(context, row).await? {
            Prepared::Ready(prepared) => prepared.into_parts(),
            Prepared::Cancelled(_) => return Err(ReplayError::PayloadForgotten),
        };
        // Receivers ignore a UUID that they know already.
        let uuid = Uuid::new_v4();
        let row = Delivery { uuid: uuid.as_bytes().to_vec(), ..row };
        let started_ms = context.now_ms();
        let attempt = AttemptContext { delivery: &row, number: 1, now_ms: started_ms };
        let request = request::build_replay(&hook, &attempt, &json, edited).map_err(|error| match error {
            BuildError::EventNotSupported => ReplayError::EventNotSupported,
            BuildError::Invalid(reason) => ReplayError::Invalid(reason),
        })?;
        Ok(Self { uuid, hook, request, started_ms })
    }

    /// Returns the URL of the request. It can contain secrets.
    pub fn url(&self) -> &str {
        self.request.url.as_str()
    }

    /// Returns the size of the body, which stays in memory until the response.
    pub fn body_bytes(&self) -> usize {
        self.request.body.len()
    }

    /// Returns whether the request has a signature.
    pub fn is_signed(&self) -> bool {
        self.request.is_signed()
    }

    /// Sends the request on a connection of its own, within the time limit of the hook.
    pub async fn send(self, context: &DeliveryContext) -> SentReplay {
        let (uuid, is_signed) = (self.uuid, self.is_signed());
        let exchange = Exchange::run(context, &mut None, &self.hook, Ok(self.request), self.started_ms).await;
        let (_, attempt) = exchange.finish(context.now_ms());
        SentReplay { uuid, is_signed, attempt: Attempt { number: 1, ..attempt } }
    }
}
