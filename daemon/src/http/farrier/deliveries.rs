//! Groups of deliveries, and their results over time.

use axum::extract::{RawQuery, State};
use farrier_common::api;

use crate::{
    http::{
        AppState,
        auth::{AdminScope, Caller},
        error::ApiError,
        extract::{JsonResponse, ok},
        openapi::parameters::{DeliveryGroupParams, DeliveryResultsParams},
        query, show,
        v1::deliveries::history::parse_query,
    },
    service::deliveries::{
        groups::{self, GroupBy},
        results::{self, ResultsSpan},
    },
};

/// Groups deliveries by hook, by the reason of their result, or by host. Examines at most 20,000 deliveries.
#[utoipa::path(
    get, path = "",
    operation_id = "farrierGroupDeliveries", tag = "farrier",
    security(("account" = [])),
    params(DeliveryGroupParams),
    responses((status = 200, body = api::DeliveryGroups), (status = 422, description = "A filter is not valid.")),
)]
pub(in crate::http) async fn groups(
    State(state): State<AppState>,
    caller: Caller<AdminScope>,
    RawQuery(query): RawQuery,
) -> Result<JsonResponse<api::DeliveryGroups>, ApiError> {
    let words = [("hook", GroupBy::Hook), ("reason", GroupBy::Reason), ("host", GroupBy::Host)];
    let by = query::one_of(query.as_deref(), "by", &words)?.unwrap_or(GroupBy::Hook);
    let selection = parse_query(query.as_deref())?;
    Ok(ok(show::delivery_groups(by, &groups::groups(&state, caller.holder, &selection, by).await?)))
}

/// Returns the results and durations of the deliveries of a hook or of all hooks in the last hour, day or week.
#[utoipa::path(
    get, path = "",
    operation_id = "farrierGetDeliveryResults", tag = "farrier",
    security(("account" = [])),
    params(DeliveryResultsParams),
    responses((status = 200, body = api::DeliveryResults), (status = 422, description = "A parameter is not valid.")),
)]
pub(in crate::http) async fn results(
    State(state): State<AppState>,
    caller: Caller<AdminScope>,
    RawQuery(query): RawQuery,
) -> Result<JsonResponse<api::DeliveryResults>, ApiError> {
    let spans = [("hour", ResultsSpan::Hour), ("day", ResultsSpan::Day), ("week", ResultsSpan::Week)];
    let span = query::one_of(query.as_deref(), "span", &spans)?.unwrap_or(ResultsSpan::Day);
    let hook = query::number(query.as_deref(), "hook")?;
    Ok(ok(show::delivery_results(&results::results(&state, caller.holder, hook, span).await?)))
}
