//! Per-second metrics of the last minute.

use axum::extract::State;
use farrier_common::api;

use crate::{
    http::{
        AppState,
        auth::{AdminScope, Caller},
        error::ApiError,
        extract::{JsonResponse, ok},
    },
    service::deliveries::watch,
};

/// Returns metrics of the last minute, second by second.
#[utoipa::path(
    get, path = "",
    operation_id = "farrierGetMetricsSeries", tag = "farrier",
    security(("account" = [])),
    responses((status = 200, body = api::MetricsSeries)),
)]
pub(in crate::http) async fn get(
    State(state): State<AppState>,
    _: Caller<AdminScope>,
) -> Result<JsonResponse<api::MetricsSeries>, ApiError> {
    let waiting = watch::waiting(&state).await?;
    let minute = state.metrics.series.minute();
    let counts = |counts: Vec<u32>| counts.into_iter().map(i64::from).collect();
    let micros = |micros: u64| i64::try_from(micros).unwrap_or(i64::MAX);
    Ok(ok(api::MetricsSeries {
        requests: counts(minute.requests),
        delivered: counts(minute.delivered),
        failed: counts(minute.failed),
        p50_micros: micros(minute.p50_micros),
        p99_micros: micros(minute.p99_micros),
        uploads: i64::try_from(state.work.uploads.usage().running).unwrap_or(i64::MAX),
        waiting: i64::try_from(waiting.pending).unwrap_or(i64::MAX),
        oldest_due_secs: waiting.oldest_due_ms / 1_000,
    }))
}
