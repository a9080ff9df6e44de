//! `GET /metrics`: metrics in the Prometheus text format. For administrators on the usual listeners, without
//! authentication on the listener of `metrics.listen`.

use std::fmt::Write as _;

use axum::{
    Router,
    extract::State,
    response::{IntoResponse, Response},
    routing,
};
use http::header;

use super::{
    AppState,
    auth::{AdminScope, Caller},
    error::ApiError,
    v1::service::health,
};
use crate::{
    metrics::RequestMetrics,
    service::metrics::{self, Metric, MetricKind},
};

const TEXT: &str = "text/plain; version=0.0.4; charset=utf-8";

/// `GET /metrics` for administrators.
pub(super) async fn get(State(state): State<AppState>, _: Caller<AdminScope>) -> Response {
    metrics(&state).await
}

/// Builds the router of `metrics.listen`: metrics and health, without authentication.
pub fn metrics_router(state: AppState) -> Router {
    Router::new()
        .route("/metrics", routing::get(async |State(state): State<AppState>| metrics(&state).await))
        .route("/api/healthz", routing::get(health))
        .fallback(async || ApiError::no_route())
        .method_not_allowed_fallback(async || ApiError::no_method())
        .with_state(state)
}

async fn metrics(state: &AppState) -> Response {
    let mut all = metrics::collect(state).await;
    all.push(requests(&state.metrics.requests));
    ([(header::CONTENT_TYPE, TEXT)], render(&all)).into_response()
}

fn requests(requests: &RequestMetrics) -> Metric {
    let values = requests
        .counted()
        .map(|(class, status, count)| (vec![("class", class.to_owned()), ("status", status.to_owned())], count));
    Metric {
        name: "farrier_http_requests_total",
        help: "Handled requests, by protocol and first digit of the status.",
        kind: MetricKind::Counter,
        values: values.collect(),
    }
}

fn render(metrics: &[Metric]) -> String {
    let mut text = String::new();
    for Metric { name, help, kind, values } in metrics {
        let kind = match kind {
            MetricKind::Counter => "counter",
            MetricKind::Gauge => "gauge",
        };
        let _ = writeln!(text, "# HELP {name} {help}\n# TYPE {name} {kind}");
        for (labels, value) in values {
            let pairs: Vec<String> =
                labels.iter().map(|(name, value)| format!("{name}=\"{}\"", quoted(value))).collect();
            let labels = if pairs.is_empty() { String::new() } else { format!("{{{}}}", pairs.join(",")) };
            let _ = writeln!(text, "{name}{labels} {value}");
        }
    }
    text
}

fn quoted(value: &str) -> String {
    value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn metrics_are_written_in_the_prometheus_text_format() {
        let plain = Metric { name: "a_bytes", help: "A.", kind: MetricKind::Gauge, values: vec![(Vec::new(), 7)] };
        let label = vec![("x", "a\"b\\c\nd".to_owned()), ("y", "z".to_owned())];
        let labelled = Metric { name: "b_total", help: "B.", kind: MetricKind::Counter, values: vec![(label, 1)] };
        let expected = "# HELP a_bytes A.\n# TYPE a_bytes gauge\na_bytes 7\n\
                        # HELP b_total B.\n# TYPE b_total counter\nb_total{x=\"a\\\"b\\\\c\\nd\",y=\"z\"} 1\n";
        assert_eq!(render(&[plain, labelled]), expected);
    }
}
