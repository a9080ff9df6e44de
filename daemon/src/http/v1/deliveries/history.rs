//! Lists and shows deliveries: of one hook, and of all hooks.

use axum::{
    extract::{Path, RawQuery, State},
    response::{IntoResponse as _, Response},
};
use farrier_common::api;
use http::HeaderName;

use crate::{
    http::{
        AppState,
        auth::{AdminScope, Caller},
        error::ApiError,
        extract::{JsonResponse, ok},
        openapi::parameters::DeliveryListParams,
        page::{self, PageQuery},
        query, show,
        v1::hooks::path::{HookPath, HookRequest},
    },
    service::{
        Error,
        deliveries::history::{self, DeliveryPage, DeliveryScope},
    },
    shares::Holder,
    store::deliveries::{DeliveryFilter, DeliverySelection},
};

/// Lists the deliveries of a hook, newest first. `Link` has the address of the next page.
#[utoipa::path(
    get, path = "",
    operation_id = "{owner}ListHookDeliveries",
    params(DeliveryListParams),
    security(("account" = [])),
    responses((status = 200, body = Vec<api::Delivery>), (status = 422, description = "A filter is not valid.")),
)]
pub(in crate::http) async fn list<A: HookPath>(
    State(state): State<AppState>,
    request: HookRequest<A>,
    uri: http::Uri,
    RawQuery(query): RawQuery,
) -> Result<Response, ApiError> {
    list_of(&state, request.holder, request.scope, uri.path(), query.as_deref()).await
}

/// Returns a delivery with its last request and response and with all attempts.
#[utoipa::path(
    get, path = "",
    operation_id = "{owner}GetHookDelivery",
    security(("account" = [])),
    responses((status = 200, body = api::DeliveryDetail)),
)]
pub(in crate::http) async fn get<A: HookPath>(
    State(state): State<AppState>,
    request: HookRequest<A>,
) -> Result<JsonResponse<api::DeliveryDetail>, ApiError> {
    detail(&state, request.scope, request.path.get("delivery")).await
}

/// Lists the deliveries of all hooks, including deleted hooks, newest first.
#[utoipa::path(
    get, path = "",
    operation_id = "farrierListDeliveries", tag = "farrier",
    params(DeliveryListParams),
    security(("account" = [])),
    responses((status = 200, body = Vec<api::Delivery>), (status = 422, description = "A filter is not valid.")),
)]
pub(in crate::http) async fn list_all(
    State(state): State<AppState>,
    caller: Caller<AdminScope>,
    uri: http::Uri,
    RawQuery(query): RawQuery,
) -> Result<Response, ApiError> {
    list_of(&state, caller.holder, DeliveryScope::All, uri.path(), query.as_deref()).await
}

/// Returns a delivery of any hook.
#[utoipa::path(
    get, path = "",
    operation_id = "farrierGetDelivery", tag = "farrier",
    security(("account" = [])),
    responses((status = 200, body = api::DeliveryDetail)),
)]
pub(in crate::http) async fn get_any(
    State(state): State<AppState>,
    _caller: Caller<AdminScope>,
    Path(delivery): Path<String>,
) -> Result<JsonResponse<api::DeliveryDetail>, ApiError> {
    detail(&state, DeliveryScope::All, &delivery).await
}

async fn detail(
    state: &AppState,
    scope: DeliveryScope,
    delivery: &str,
) -> Result<JsonResponse<api::DeliveryDetail>, ApiError> {
    let snapshot = state.store.read().await.map_err(Error::from)?;
    Ok(ok(show::delivery_detail(state, &history::get(&snapshot, scope, delivery).await?)))
}

async fn list_of(
    state: &AppState,
    holder: Holder,
    scope: DeliveryScope,
    path: &str,
    query: Option<&str>,
) -> Result<Response, ApiError> {
    let selection = parse_query(query)?;
    let limit = selection.limit;
    let DeliveryPage { rows, next, total } = history::list(state, holder, scope, selection).await?;
    let mut response = ok(rows.iter().map(|row| show::delivery(state, row)).collect::<Vec<_>>()).into_response();
    let headers = response.headers_mut();
    if let Some(total) = total {
        headers.insert(HeaderName::from_static("x-total-count"), total.into());
    }
    let next = (next != 0).then(|| next.to_string());
    headers.extend(page::by_cursor(state, path, query, next.as_deref(), limit));
    Ok(response)
}

/// Reads the filters and the page of a list of deliveries.
pub(in crate::http) fn parse_query(query: Option<&str>) -> Result<DeliverySelection, ApiError> {
    use farrier_proto::store::DeliveryState::{Cancelled, Failed, Pending, Success};
    let page = PageQuery::of_deliveries(query);
    let words: [(&str, &[_]); 5] = [
        ("success", &[Success]),
        ("failure", &[Failed]),
        ("failed", &[Failed]),
        ("pending", &[Pending]),
        ("cancelled", &[Cancelled]),
    ];
    let number = |name| query::value(query, name).map(|text| text.parse::<u64>().unwrap_or(0));
    let time = |name| query::value(query, name).map(|text| query::time(name, &text)).transpose();
    let filter = DeliveryFilter {
        states: query::several_of(query, "status", &words)?.concat(),
        event: query::value(query, "event").unwrap_or_default(),
        reason: query::value(query, "reason").unwrap_or_default(),
        host: query::value(query, "host").unwrap_or_default(),
        repository: number("repository_id"),
        since_ms: time("since")?,
        until_ms: time("until")?,
    };
    let before = number("cursor").unwrap_or(0);
    let skip = if before == 0 { page.skip() } else { 0 };
    Ok(DeliverySelection { hook: number("hook"), filter, before, skip, limit: page.limit })
}
