//! Requests for deliveries of hooks.

use super::{Client, ClientError, Pages, answer, path::segment};
use crate::api::{
    Delivery, DeliveryDetail, DeliveryGroups, DeliveryResults, RecoverDeliveries, RecoveredDeliveries, ReplayDelivery,
    ReplayedDelivery,
};

const DELIVERIES: &str = "/api/farrier/v1/deliveries";

/// Filters deliveries. Empty and absent fields match everything.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DeliveryFilter {
    /// `success`, `failure`, `pending` or `cancelled`.
    pub status: String,
    /// Name of the event.
    pub event: String,
    /// Reason, as groups of deliveries have it.
    pub reason: String,
    /// Host of the hook's current URL, as groups of deliveries have it.
    pub host: String,
    /// Id of the hook.
    pub hook: Option<u64>,
    /// Id of the repository.
    pub repository: Option<i64>,
    /// Only deliveries created at or after this time, RFC 3339.
    pub since: String,
}

impl DeliveryFilter {
    /// Returns the query parameters.
    fn query(&self) -> Vec<String> {
        let hook = self.hook.map(|hook| hook.to_string()).unwrap_or_default();
        let repository = self.repository.map(|id| id.to_string()).unwrap_or_default();
        let pairs = [
            ("status", &self.status),
            ("event", &self.event),
            ("reason", &self.reason),
            ("host", &self.host),
            ("hook", &hook),
            ("repository_id", &repository),
            ("since", &self.since),
        ];
        let given = pairs.iter().filter(|(_, value)| !value.is_empty());
        given.map(|(name, value)| format!("{name}={}", segment(value))).collect()
    }
}

impl Client {
    /// Lists the deliveries of all hooks, newest first. Only for administrators.
    pub fn deliveries(&self, filter: &DeliveryFilter) -> Pages<'_> {
        let query = filter.query();
        let mark = if query.is_empty() { "" } else { "?" };
        Pages::new(self, format!("{DELIVERIES}{mark}{}", query.join("&")))
    }

    /// Groups the newest deliveries by `hook`, `reason` or `host`. Only for administrators.
    pub async fn delivery_groups(&self, by: &str, filter: &DeliveryFilter) -> Result<DeliveryGroups, ClientError> {
        let mut query = vec![format!("by={}", segment(by))];
        query.extend(filter.query());
        self.get(&format!("{DELIVERIES}/groups?{}", query.join("&"))).await
    }

    /// Returns the results of the deliveries of a hook or of all in the last `hour`, `day` or `week`. Only for
    /// administrators.
    pub async fn delivery_results(&self, hook: Option<u64>, span: &str) -> Result<DeliveryResults, ClientError> {
        let hook = hook.map(|hook| format!("&hook={hook}")).unwrap_or_default();
        self.get(&format!("{DELIVERIES}/results?span={}{hook}", segment(span))).await
    }

    /// Returns a delivery by its UUID or id. Only for administrators.
    pub async fn delivery(&self, delivery: &str) -> Result<DeliveryDetail, ClientError> {
        self.get(&format!("{DELIVERIES}/{}", segment(delivery))).await
    }

    /// Returns the newest delivery that passes `filter`, before the delivery with the id `id`. `None` if there is none
    /// among those that the daemon examines for one page. Only for administrators.
    pub async fn previous_delivery(
        &self,
        filter: &DeliveryFilter,
        id: i64,
    ) -> Result<Option<DeliveryDetail>, ClientError> {
        let mut query = filter.query();
        query.extend([format!("cursor={id}"), "limit=1".to_owned()]);
        let target = format!("{DELIVERIES}?{}", query.join("&"));
        let found: Vec<Delivery> = self.get(&target).await?;
        match found.first() {
            Some(previous) => self.delivery(&previous.guid).await.map(Some),
            None => Ok(None),
        }
    }

    /// Requests another attempt of a delivery. Only for administrators.
    pub async fn redeliver(&self, delivery: &str) -> Result<Delivery, ClientError> {
        let target = format!("{DELIVERIES}/{}/attempts", segment(delivery));
        answer::json(self.post_any(&target, &serde_json::json!({})).await?).await
    }

    /// Sends a delivery once to another URL, or with another payload, and returns the result. Only for administrators.
    pub async fn replay(&self, delivery: &str, request: &ReplayDelivery) -> Result<ReplayedDelivery, ClientError> {
        let target = format!("{DELIVERIES}/{}/replays", segment(delivery));
        answer::json(self.post_any(&target, request).await?).await
    }

    /// Redelivers the failed deliveries of a hook, tries waiting ones, or only counts them. Only for administrators.
    pub async fn recover(&self, hook: u64, request: &RecoverDeliveries) -> Result<RecoveredDeliveries, ClientError> {
        let target = format!("/api/farrier/v1/hooks/{hook}/recover");
        answer::json(self.post_any(&target, request).await?).await
    }
}
