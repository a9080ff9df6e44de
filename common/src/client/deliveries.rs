//! Requests for deliveries of hooks.

use super::{Client, ClientError, Pages, answer, path::segment};
use crate::api::{Delivery, DeliveryDetail, RecoverDeliveries, RecoveredDeliveries};

const DELIVERIES: &str = "/api/farrier/v1/deliveries";

/// Filters deliveries. Empty and absent fields match everything.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DeliveryFilter {
    /// `success`, `failure`, `pending` or `cancelled`.
    pub status: String,
    /// Name of the event.
    pub event: String,
    /// Id of the hook.
    pub hook: Option<u64>,
    /// Id of the repository.
    pub repository: Option<i64>,
    /// Only deliveries created at or after this time, RFC 3339.
    pub since: String,
}

impl Client {
    /// Lists the deliveries of all hooks, newest first. Only for administrators.
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

    /// Returns a delivery by its UUID or id. Only for administrators.
    pub async fn delivery(&self, delivery: &str) -> Result<DeliveryDetail, ClientError> {
        self.get(&format!("{DELIVERIES}/{}", segment(delivery))).await
    }

    /// Requests another attempt of a delivery. Only for administrators.
    pub async fn redeliver(&self, delivery: &str) -> Result<Delivery, ClientError> {
        let target = format!("{DELIVERIES}/{}/attempts", segment(delivery));
        answer::json(self.post_any(&target, &serde_json::json!({})).await?).await
    }

    /// Redelivers the failed deliveries of a hook. Only for administrators.
    pub async fn recover(&self, hook: u64, since: Option<&str>) -> Result<RecoveredDeliveries, ClientError> {
        let target = format!("/api/farrier/v1/hooks/{hook}/recover");
        let request = RecoverDeliveries { since: since.map(str::to_owned), dry_run: false };
        answer::json(self.post_any(&target, &request).await?).await
    }

    /// Counts the deliveries that [`Self::recover`] would send. Only for administrators.
    pub async fn recoverable(&self, hook: u64, since: Option<&str>) -> Result<RecoveredDeliveries, ClientError> {
        let target = format!("/api/farrier/v1/hooks/{hook}/recover");
        let request = RecoverDeliveries { since: since.map(str::to_owned), dry_run: true };
        answer::json(self.post_any(&target, &request).await?).await
    }
}
