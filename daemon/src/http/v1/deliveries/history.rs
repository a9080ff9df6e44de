//! Deliveries, in lists and one by one: of one hook, and of all.

use axum::{
    extract::{Path, RawQuery, State},
    response::{IntoResponse as _, Response},
};
use farrier_common::api;
use http::HeaderName;

use super::{At, AtHook};
use crate::{
    app::App,
    http::{
        auth::{Caller, OfAdmin},
        error::ApiError,
        extract::{Output, ok},
        openapi::parameters::DeliveryQuery,
        page::{self, Page},
        query, show,
    },
    service::{
        Error,
        deliveries::history::{self, DeliveryScope, PageOf},
    },
    store::deliveries::{DeliverySelection, Filter},
};

/// What a hook was sent, newest first. `Link` leads to the next page.
#[utoipa::path(
    get, path = "/admin/hooks/{id}/deliveries",
    operation_id = "adminListHookDeliveries", tag = "admin",
    params(DeliveryQuery),
    security(("account" = [])),
    responses((status = 200, body = Vec<api::Delivery>), (status = 422, description = "A filter means nothing.")),
)]
pub(in crate::http) async fn list<A: At>(
    State(app): State<App>,
    at: AtHook<A>,
    uri: http::Uri,
    RawQuery(query): RawQuery,
) -> Result<Response, ApiError> {
    list_of(&app, at.scope, uri.path(), query.as_deref()).await
}

/// One delivery: its last request and answer, and every attempt.
#[utoipa::path(
    get, path = "/admin/hooks/{id}/deliveries/{delivery}",
    operation_id = "adminGetHookDelivery", tag = "admin",
    security(("account" = [])),
    responses((status = 200, body = api::DeliveryDetail)),
)]
pub(in crate::http) async fn get<A: At>(
    State(app): State<App>,
    at: AtHook<A>,
) -> Result<Output<api::DeliveryDetail>, ApiError> {
    detail(&app, at.scope, at.path.get("delivery")).await
}

/// What all hooks were sent, deleted ones too, newest first.
#[utoipa::path(
    get, path = "/deliveries",
    operation_id = "farrierListDeliveries", tag = "farrier",
    params(DeliveryQuery),
    security(("account" = [])),
    responses((status = 200, body = Vec<api::Delivery>), (status = 422, description = "A filter means nothing.")),
)]
pub(in crate::http) async fn list_all(
    State(app): State<App>,
    _caller: Caller<OfAdmin>,
    uri: http::Uri,
    RawQuery(query): RawQuery,
) -> Result<Response, ApiError> {
    list_of(&app, DeliveryScope::All, uri.path(), query.as_deref()).await
}

/// One delivery of any hook.
#[utoipa::path(
    get, path = "/deliveries/{delivery}",
    operation_id = "farrierGetDelivery", tag = "farrier",
    security(("account" = [])),
    responses((status = 200, body = api::DeliveryDetail)),
)]
pub(in crate::http) async fn get_any(
    State(app): State<App>,
    _caller: Caller<OfAdmin>,
    Path(delivery): Path<String>,
) -> Result<Output<api::DeliveryDetail>, ApiError> {
    detail(&app, DeliveryScope::All, &delivery).await
}

async fn detail(app: &App, scope: DeliveryScope, delivery: &str) -> Result<Output<api::DeliveryDetail>, ApiError> {
    let snapshot = app.store.read().await.map_err(Error::from)?;
    Ok(ok(show::delivery_detail(app, &history::get(&snapshot, scope, delivery).await?)))
}

async fn list_of(app: &App, scope: DeliveryScope, path: &str, query: Option<&str>) -> Result<Response, ApiError> {
    let selection = parse_query(query)?;
    let limit = selection.limit;
    let snapshot = app.store.read().await.map_err(Error::from)?;
    let PageOf { rows, next, total } = history::list(&snapshot, scope, selection).await?;
    let mut response = ok(rows.iter().map(|known| show::delivery(app, known)).collect::<Vec<_>>()).into_response();
    let headers = response.headers_mut();
    if let Some(total) = total {
        headers.insert(HeaderName::from_static("x-total-count"), total.into());
    }
    let next = (next != 0).then(|| next.to_string());
    headers.extend(page::by_cursor(app, path, query, next.as_deref(), limit));
    Ok(response)
}

fn parse_query(query: Option<&str>) -> Result<DeliverySelection, ApiError> {
    use farrier_proto::store::DeliveryState::{Cancelled, Failed, Pending, Success};
    let page = Page::of_deliveries(query);
    let words: [(&str, &[_]); 5] = [
        ("success", &[Success]),
        ("failure", &[Failed]),
        ("failed", &[Failed]),
        ("pending", &[Pending]),
        ("cancelled", &[Cancelled]),
    ];
    let number = |name| query::value(query, name).map(|text| text.parse::<u64>().unwrap_or(0));
    let moment = |name| query::value(query, name).map(|text| query::time(name, &text)).transpose();
    let filter = Filter {
        states: query::one_of(query, "status", &words)?.unwrap_or_default().to_vec(),
        event: query::value(query, "event").unwrap_or_default(),
        repository: number("repository_id"),
        since_ms: moment("since")?,
        until_ms: moment("until")?,
    };
    let before = number("cursor").unwrap_or(0);
    let skip = if before == 0 { page.skip() } else { 0 };
    Ok(DeliverySelection { hook: number("hook"), filter, before, skip, limit: page.limit })
}
