//! Compact representation of a delivery for lists.
//!
//! The complete delivery with its request and response is requested from the daemon when it is needed.

use std::{fmt, num::NonZeroI64, sync::Arc};

use farrier_common::api::Delivery;
use uuid::Uuid;

use super::compact::{SharedValues, short_seconds};

/// The GUID of a delivery.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum DeliveryId {
    Uuid(Uuid),
    /// A text that the usual form of UUIDs does not reproduce.
    Other(Arc<str>),
}

impl DeliveryId {
    pub(crate) fn of(text: &str) -> Self {
        let uuid = Uuid::try_parse(text).ok().filter(|uuid| uuid.to_string() == text);
        uuid.map_or_else(|| Self::Other(text.into()), Self::Uuid)
    }
}

impl fmt::Display for DeliveryId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Uuid(uuid) => fmt::Display::fmt(uuid, f),
            Self::Other(text) => f.write_str(text),
        }
    }
}

/// The data of a delivery that lists, their filters and actions need.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct DeliverySummary {
    pub(crate) id: DeliveryId,
    pub(crate) hook: i64,
    event_id: Option<NonZeroI64>,
    /// Empty if it is not known.
    repository: Arc<str>,
    kind: Arc<Kind>,
    /// Seconds since 1970; 0 for none.
    created: u32,
    delivered: u32,
    next_attempt: u32,
    millis: u32,
    /// HTTP status of the last response; 0 for none.
    pub(crate) status_code: u32,
    pub(crate) attempts: u32,
}

/// Values that many deliveries have in common.
#[derive(Debug, PartialEq, Eq)]
struct Kind {
    event: String,
    action: Option<String>,
    state: String,
    status: String,
    max_attempts: u32,
}

impl DeliverySummary {
    pub(crate) fn of(delivery: &Delivery) -> Self {
        DeliveryCompactor::default().compact(delivery.clone())
    }

    pub(crate) fn guid(&self) -> String {
        self.id.to_string()
    }

    pub(crate) fn event_id(&self) -> Option<i64> {
        self.event_id.map(NonZeroI64::get)
    }

    /// Returns the repository, `owner/name`, unless the event has expired.
    pub(crate) fn repository(&self) -> Option<&str> {
        (!self.repository.is_empty()).then_some(&*self.repository)
    }

    /// Returns the name of the event.
    pub(crate) fn event(&self) -> &str {
        &self.kind.event
    }

    /// Returns the action of the event, if it has one.
    pub(crate) fn action(&self) -> Option<&str> {
        self.kind.action.as_deref().filter(|action| !action.is_empty())
    }

    /// Returns the state as the API names it.
    pub(crate) fn state(&self) -> &str {
        &self.kind.state
    }

    /// Returns `OK`, or a word for the error.
    pub(crate) fn status(&self) -> &str {
        &self.kind.status
    }

    /// Returns the number of automatic attempts before the delivery fails.
    pub(crate) fn max_attempts(&self) -> u32 {
        self.kind.max_attempts
    }

    /// Returns the time of creation in seconds since 1970; 0 if it is not known.
    pub(crate) fn created(&self) -> i64 {
        self.created.into()
    }

    /// Returns the time of the last attempt in seconds since 1970.
    pub(crate) fn delivered(&self) -> Option<i64> {
        (self.delivered > 0).then(|| self.delivered.into())
    }

    /// Returns the earliest time of the next attempt in seconds since 1970.
    pub(crate) fn next_attempt(&self) -> Option<i64> {
        (self.next_attempt > 0).then(|| self.next_attempt.into())
    }

    /// Returns the duration of the last attempt in milliseconds.
    pub(crate) fn millis(&self) -> i64 {
        self.millis.into()
    }
}

/// Returns the duration of an attempt in milliseconds.
#[expect(clippy::cast_possible_truncation, reason = "no attempt takes long enough")]
pub(crate) fn millis(seconds: f64) -> i64 {
    (seconds * 1_000.0).round() as i64
}

/// Converts deliveries to the compact form and shares common values.
#[derive(Debug, Default)]
pub(crate) struct DeliveryCompactor {
    kinds: SharedValues<Kind>,
    repositories: SharedValues<str>,
}

impl DeliveryCompactor {
    pub(crate) fn compact(&mut self, delivery: Delivery) -> DeliverySummary {
        let seconds = |time: Option<&str>| time.map_or(0, short_seconds);
        DeliverySummary {
            id: DeliveryId::of(&delivery.guid),
            hook: delivery.hook_id,
            event_id: delivery.event_id.and_then(NonZeroI64::new),
            repository: self.repositories.share_text(delivery.repository.as_deref().unwrap_or_default()),
            created: short_seconds(&delivery.created_at),
            delivered: seconds(delivery.delivered_at.as_deref()),
            next_attempt: seconds(delivery.next_attempt_at.as_deref()),
            millis: u32::try_from(millis(delivery.duration).max(0)).unwrap_or(u32::MAX),
            status_code: delivery.status_code,
            attempts: delivery.attempts,
            kind: self.kinds.share(Kind {
                event: delivery.event,
                action: delivery.action,
                state: delivery.state,
                status: delivery.status,
                max_attempts: delivery.max_attempts,
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{super::compact::row_bytes, *};

    const GUID: &str = "9f1c2a7e-44b0-4a51-8a53-0d7a1b6f0c14";

    fn delivery() -> Delivery {
        Delivery {
            guid: GUID.into(),
            hook_id: 12,
            delivered_at: Some("1970-01-01T00:02:00.5Z".into()),
            duration: 0.038,
            status: "connect".into(),
            status_code: 503,
            event: "pull_request".into(),
            action: Some("opened".into()),
            repository: Some("platform-team/gateway-12345".into()),
            state: "pending".into(),
            attempts: 2,
            max_attempts: 9,
            next_attempt_at: Some("1970-01-01T00:03:00Z".into()),
            created_at: "1970-01-01T00:01:00Z".into(),
            event_id: Some(7),
            ..Delivery::default()
        }
    }

    #[test]
    fn compacting_preserves_the_values_of_a_delivery() {
        let one = DeliverySummary::of(&delivery());
        assert_eq!((one.guid().as_str(), one.hook, one.event_id()), (GUID, 12, Some(7)));
        assert_eq!((one.event(), one.action(), one.status()), ("pull_request", Some("opened"), "connect"));
        assert_eq!((one.repository(), one.state()), (Some("platform-team/gateway-12345"), "pending"));
        assert_eq!((one.created(), one.delivered(), one.next_attempt()), (60, Some(120), Some(180)));
        assert_eq!((one.millis(), one.status_code, one.attempts, one.max_attempts()), (38, 503, 2, 9));
        let none = DeliverySummary::of(&Delivery::default());
        assert_eq!((none.event_id(), none.repository(), none.action()), (None, None, None));
        assert_eq!((none.created(), none.delivered(), none.next_attempt()), (0, None, None));
        assert_ne!(one, none);
    }

    #[test]
    fn every_guid_is_reproduced() {
        for guid in [GUID, "", "00000012", "9F1C2A7E-44B0-4A51-8A53-0D7A1B6F0C14", "9f1c2a7e44b04a518a530d7a1b6f0c14"] {
            assert_eq!(DeliveryId::of(guid).to_string(), guid);
        }
        assert!(matches!(DeliveryId::of(GUID), DeliveryId::Uuid(_)));
    }

    #[test]
    fn a_delivery_of_a_long_list_needs_at_most_180_bytes() {
        let mut compactor = DeliveryCompactor::default();
        let (one, other) = (compactor.compact(delivery()), compactor.compact(delivery()));
        assert!(Arc::ptr_eq(&one.kind, &other.kind) && Arc::ptr_eq(&one.repository, &other.repository));
        // The repository is counted as if no other delivery had the same.
        let bytes = row_bytes::<DeliverySummary>(&[one.repository.len() + 2 * size_of::<usize>()]);
        assert!(bytes <= 180, "{bytes} bytes a row");
    }
}
