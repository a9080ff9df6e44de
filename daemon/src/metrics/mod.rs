//! Counters of the daemon, and the text that Prometheus reads.
//!
//! [`Metrics`] counts requests and deliveries when they happen. `service::metrics` adds the current values of the
//! services, such as the size of the store, to the [`Exposition`] of a scrape.

mod deliveries;
mod exposition;
mod requests;
mod series;

use http::Method;
use prometheus::{IntCounter, IntCounterVec, Opts, Registry, core::Collector};
use tokio::time::Instant;

pub use self::{
    deliveries::DeliveryMetrics,
    exposition::{CONTENT_TYPE, Exposition},
    requests::RequestMetrics,
    series::{Counts, RequestKind, Series, Span},
};
use crate::store::deliveries::{NextStep, Outcome};

/// Creating a metric fails only for an invalid or duplicate name.
const VALID: &str = "metric names are valid and unique";

/// All counters. They start at zero when the daemon starts.
#[derive(Debug)]
pub struct Metrics {
    registry: Registry,
    requests: RequestMetrics,
    /// Counts delivery attempts and finished deliveries.
    pub deliveries: DeliveryMetrics,
    /// Counts downloads that were broken off because the bytes did not have the recorded SHA-256.
    pub damaged_artifacts: IntCounter,
    /// Counts requests and delivery attempts for charts.
    pub series: Series,
}

impl Default for Metrics {
    fn default() -> Self {
        let registry = Registry::new();
        let requests = RequestMetrics::new(&registry);
        let deliveries = DeliveryMetrics::new(&registry);
        let help = "Downloads of artifacts whose bytes did not have the recorded SHA-256.";
        let damaged_artifacts = IntCounter::new("farrier_artifact_digest_mismatches_total", help).expect(VALID);
        register(&registry, &damaged_artifacts);
        Self { registry, requests, deliveries, damaged_artifacts, series: Series::default() }
    }
}

impl Metrics {
    /// Counts a request with `method` for `path` that started at `started` and got the response status `status`.
    pub fn count_request(&self, method: &Method, path: &str, status: u16, started: Instant) {
        self.series.count_request(started, requests::kind(method, path));
        self.requests.count(path, status);
    }

    /// Counts a recorded outcome of a delivery.
    pub fn count_outcome(&self, outcome: &Outcome) {
        if outcome.attempt.is_some() {
            self.series.count_attempt(outcome.next == NextStep::Done);
        }
        self.deliveries.count(outcome);
    }

    /// Returns the current values of all counters. The caller adds the other metrics.
    pub fn exposition(&self) -> Exposition {
        Exposition::new(self.registry.gather())
    }
}

/// Registers a counter with several values that differ in `labels`.
fn counters(registry: &Registry, name: &str, help: &str, labels: &[&str]) -> IntCounterVec {
    let counters = IntCounterVec::new(Opts::new(name, help), labels).expect(VALID);
    register(registry, &counters);
    counters
}

fn register(registry: &Registry, collector: &(impl Collector + Clone + 'static)) {
    registry.register(Box::new(collector.clone())).expect(VALID);
}
