//! What hooks were sent.

use super::{Client, ClientError, Pages, answer, path::segment};
use crate::api::{Delivery, DeliveryDetail, RecoverDeliveries, RecoveredDeliveries};

const DELIVERIES: &str = "/api/farrier/v1/deliveries";

/// Which deliveries are wanted; what is empty or absent restricts nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DeliveryFilter {
    /// `success`, `failure`, `pending` or `cancelled`.
    pub status: String,
    /// Name of an event.
    pub event: String,
    /// Number of a hook.
    pub hook: Option<u64>,
    /// Number of a repository.
    pub repository: Option<i64>,
    /// Made at this time or later, RFC 3339.
    pub since: String,
}

impl Client {
    /// Lists deliveries of all hooks, newest first; for administrators.
    pub fn deliveries(&self, filter: &DeliveryFilter) -> Pages<'_> {
        let hook = filter.hook.map(|hook| hook.to_string()).unwrap_or_default();
        let repository = filter.repository.map(|id| id.to_string()).unwrap_or_default();
        let pairs = [
            ("status", &filter.status),
            ("event", &filter.event),
            ("hook", &hook),
            ("repository_id", &repository),
            ("since", &filter.since),
        ];
        let given = pairs.iter().filter(|(_, value)| !value.is_empty());
        let query: Vec<String> = given.map(|(name, value)| format!("{name}={}", segment(value))).collect();
        let mark = if query.is_empty() { "" } else { "?" };
        Pages::new(self, format!("{DELIVERIES}{mark}{}", query.join("&")))
    }

    /// Shows a delivery by its identifier or number; for administrators.
    pub async fn delivery(&self, delivery: &str) -> Result<DeliveryDetail, ClientError> {
        self.get(&format!("{DELIVERIES}/{}", segment(delivery))).await
    }

    /// Asks for another attempt of a delivery; for administrators.
    pub async fn redeliver(&self, delivery: &str) -> Result<Delivery, ClientError> {
        let target = format!("{DELIVERIES}/{}/attempts", segment(delivery));
        answer::json(self.post_any(&target, &serde_json::json!({})).await?).await
    }

    /// Sends what a hook has missed once more; for administrators.
    pub async fn recover(&self, hook: u64, since: Option<&str>) -> Result<RecoveredDeliveries, ClientError> {
        let target = format!("/api/farrier/v1/hooks/{hook}/recover");
        let wanted = RecoverDeliveries { since: since.map(str::to_owned), dry_run: false };
        answer::json(self.post_any(&target, &wanted).await?).await
    }

    /// Counts what [`Self::recover`] would send, and sends nothing; for administrators.
    pub async fn recoverable(&self, hook: u64, since: Option<&str>) -> Result<RecoveredDeliveries, ClientError> {
        let target = format!("/api/farrier/v1/hooks/{hook}/recover");
        let wanted = RecoverDeliveries { since: since.map(str::to_owned), dry_run: true };
        answer::json(self.post_any(&target, &wanted).await?).await
    }
}
