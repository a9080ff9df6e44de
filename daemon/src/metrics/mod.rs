//! Counters of the daemon: handled requests, delivery attempts and finished deliveries.

mod deliveries;
mod requests;
mod series;

pub use self::{
    deliveries::DeliveryMetrics,
    requests::RequestMetrics,
    series::{Minute, Series},
};
use crate::store::deliveries::{NextStep, Outcome};

/// All counters. They start at zero when the daemon starts.
#[derive(Debug, Default)]
pub struct Metrics {
    /// Counts handled requests by protocol and status.
    pub requests: RequestMetrics,
    /// Counts delivery attempts and finished deliveries.
    pub deliveries: DeliveryMetrics,
    /// Counts requests and delivery attempts per second, for the last minute.
    pub series: Series,
}

impl Metrics {
    /// Counts a request for `path` that started at `started` and got the response status `status`.
    pub fn count_request(&self, path: &str, status: u16, started: tokio::time::Instant) {
        self.series.count_request(started);
        self.requests.count(path, status);
    }

    /// Counts a recorded outcome of a delivery.
    pub fn count_outcome(&self, outcome: &Outcome) {
        if outcome.attempt.is_some() {
            self.series.count_attempt(outcome.then == NextStep::Done);
        }
        self.deliveries.count(outcome);
    }
}
