//! Metrics of the last minute, hour or day.

use axum::extract::{RawQuery, State};
use farrier_common::api;

use crate::{
    http::{
        AppState,
        auth::{AdminScope, Caller},
        error::ApiError,
        extract::{JsonResponse, ok},
        openapi::parameters::MetricsSeriesParams,
        query,
    },
    metrics::Span,
    service::deliveries::watch,
};

/// Returns metrics of the last minute, hour or day, step by step.
#[utoipa::path(
    get, path = "",
    operation_id = "farrierGetMetricsSeries", tag = "farrier",
    security(("account" = [])),
    params(MetricsSeriesParams),
    responses((status = 200, body = api::MetricsSeries), (status = 422, description = "The span is not valid.")),
)]
pub(in crate::http) async fn get(
    State(state): State<AppState>,
    _: Caller<AdminScope>,
    RawQuery(query): RawQuery,
) -> Result<JsonResponse<api::MetricsSeries>, ApiError> {
    let spans = [("minute", Span::Minute), ("hour", Span::Hour), ("day", Span::Day)];
    let span = query::one_of(query.as_deref(), "span", &spans)?.unwrap_or(Span::Minute);
    let waiting = watch::waiting(&state).await?;
    let series = state.metrics.series.counts(span);
    let counts = |counts: Vec<u32>| counts.into_iter().map(i64::from).collect();
    let micros = |micros: u64| i64::try_from(micros).unwrap_or(i64::MAX);
    Ok(ok(api::MetricsSeries {
        requests: counts(series.requests),
        step_secs: i64::try_from(series.step_secs).unwrap_or(i64::MAX),
        git: counts(series.git),
        uploaded: counts(series.uploaded),
        delivered: counts(series.delivered),
        failed: counts(series.failed),
        p50_micros: micros(series.p50_micros),
        p99_micros: micros(series.p99_micros),
        uploads: i64::try_from(state.work.uploads.usage().running).unwrap_or(i64::MAX),
        waiting: i64::try_from(waiting.pending).unwrap_or(i64::MAX),
        oldest_due_secs: waiting.oldest_due_ms / 1_000,
    }))
}
