//! What a hook was sent, beside the hook: one set of handlers for hooks of every place.

use axum::{
    extract::{FromRequestParts, Path, RawPathParams, RawQuery, State},
    response::{IntoResponse as _, Response},
};
use farrier_common::api;
use http::{HeaderName, StatusCode, request::Parts};

use crate::{
    app::App,
    clock::Millis,
    http::{
        auth::{Caller, Needs, OfAdmin, OfOrganization, OfRepository, OfUser, SignedIn},
        error::ApiError,
        extract::{Input, Output, ok},
        openapi::parameters::{DeliveryQuery, PingQuery, TestQuery},
        page::{self, Page},
        query, show,
    },
    model::identity::Identity,
    service::{
        Error,
        deliveries::{
            history::{self, Of, PageOf},
            test::{self, With},
        },
        hooks::Place,
    },
    store::{
        Snapshot,
        deliveries::{Filter, Wanted},
    },
};

/// Names the delivery that a test has made.
const DELIVERY: HeaderName = HeaderName::from_static("x-farrier-delivery");

/// A kind of place that hooks belong to, as paths name it.
pub(in crate::http) trait At: Sized {
    /// The scopes that its routes need.
    type Needs: Needs + Send;

    /// The place, if the caller may manage its hooks.
    fn place(
        app: &App,
        read: &Snapshot,
        identity: &Identity,
        path: &Captures,
    ) -> impl Future<Output = Result<Place, Error>> + Send;
}

/// What stood in the path.
pub(in crate::http) struct Captures(Vec<(String, String)>);

impl Captures {
    fn get(&self, name: &str) -> &str {
        self.0.iter().find(|(known, _)| known == name).map_or("", |(_, value)| value)
    }
}

macro_rules! places {
    ($($(#[$doc:meta])* $name:ident needs $needs:ty, ($app:ident, $read:ident, $who:ident, $path:ident) => $place:expr;)*) => {$(
        $(#[$doc])*
        pub(in crate::http) struct $name;

        impl At for $name {
            type Needs = $needs;

            async fn place($app: &App, $read: &Snapshot, $who: &Identity, $path: &Captures) -> Result<Place, Error> {
                $place
            }
        }
    )*};
}

places! {
    /// `/admin/hooks`
    Admin needs OfAdmin, (_app, _read, who, _path) => Place::of_admin(who);
    /// `/repos/{owner}/{repo}/hooks`
    Repo needs SignedIn<OfRepository>, (app, read, who, path) =>
        Place::of_repository(app, read, who, path.get("owner"), path.get("repo")).await;
    /// `/orgs/{org}/hooks`
    Org needs SignedIn<OfOrganization>, (app, read, who, path) => Place::of_org(app, read, who, path.get("org")).await;
    /// `/user/hooks`
    Own needs SignedIn<OfUser>, (app, _read, who, _path) => Place::of_caller(app, who);
}

/// A hook that is there and that the caller may manage.
pub(in crate::http) struct AtHook<A> {
    identity: Identity,
    place: Place,
    hook: u64,
    of: Of,
    /// What else stood in the path.
    path: Captures,
    kind: std::marker::PhantomData<A>,
}

impl<A: At> FromRequestParts<App> for AtHook<A> {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, ApiError> {
        let identity = Caller::<A::Needs>::from_request_parts(parts, app).await?.identity;
        let path = RawPathParams::from_request_parts(parts, app).await.map_err(|_| ApiError::no_route())?;
        let path = Captures(path.iter().map(|(name, value)| (name.to_owned(), value.to_owned())).collect());
        let snapshot = app.store.read().await.map_err(Error::from)?;
        let place = A::place(app, &snapshot, &identity, &path).await?;
        let hook = path.get("id").parse().unwrap_or(0);
        let of = Of::hook(&snapshot, place, hook).await?;
        Ok(Self { identity, place, hook, of, path, kind: std::marker::PhantomData })
    }
}

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
    list_of(&app, at.of, uri.path(), query.as_deref()).await
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
    detail(&app, at.of, at.path.get("delivery")).await
}

/// Sends a delivery again, under the same identifier.
#[utoipa::path(
    post, path = "/admin/hooks/{id}/deliveries/{delivery}/attempts",
    operation_id = "adminRedeliverHook", tag = "admin",
    responses((status = 202, body = api::Delivery), (status = 409, description = "The hook of the delivery, or what it said, is gone.")),
)]
pub(in crate::http) async fn redeliver<A: At>(
    State(app): State<App>,
    at: AtHook<A>,
) -> Result<Output<api::Delivery>, ApiError> {
    let row = history::redeliver(&app, at.of, at.path.get("delivery")).await?;
    Ok(Output(StatusCode::ACCEPTED, show::delivery(&app, &row)))
}

/// Sends what a hook has missed again.
#[utoipa::path(
    post, path = "/admin/hooks/{id}/recover",
    operation_id = "adminRecoverHook", tag = "admin",
    request_body = api::RecoverDeliveries,
    responses((status = 202, body = api::RecoveredDeliveries)),
)]
pub(in crate::http) async fn recover<A: At>(
    State(app): State<App>,
    at: AtHook<A>,
    Input(input): Input<api::RecoverDeliveries>,
) -> Result<Output<api::RecoveredDeliveries>, ApiError> {
    recover_of(&app, at.of, &input).await
}

async fn recover_of(
    app: &App,
    of: Of,
    input: &api::RecoverDeliveries,
) -> Result<Output<api::RecoveredDeliveries>, ApiError> {
    let since = input.since.as_deref().filter(|text| !text.is_empty());
    let since_ms = since.map(|text| query::time("since", text)).transpose()?.unwrap_or(Millis::MIN);
    let count = show::number(history::recover(app, of, since_ms).await?);
    Ok(Output(StatusCode::ACCEPTED, api::RecoveredDeliveries { count }))
}

/// Sends a push that did not happen to a hook, whatever it asks for.
#[utoipa::path(
    post, path = "/admin/hooks/{id}/tests",
    operation_id = "adminTestHook", tag = "admin",
    params(TestQuery),
    responses(
        (status = 200, body = api::DeliveryDetail, description = "What came of it, when that was waited for."),
        (status = 204, description = "It is on its way; `X-Farrier-Delivery` names it."),
    ),
)]
pub(in crate::http) async fn test<A: At>(
    State(app): State<App>,
    at: AtHook<A>,
    RawQuery(query): RawQuery,
) -> Result<Response, ApiError> {
    let value = |name| query::value(query.as_deref(), name).unwrap_or_default();
    let with = With { revision: value("ref"), repository: value("repository") };
    let row = test::test(&app, &at.identity, at.place, at.hook, &with).await?;
    tested(&app, at.of, &row, query.as_deref()).await
}

/// Sends a greeting to a hook.
#[utoipa::path(
    post, path = "/admin/hooks/{id}/pings",
    operation_id = "adminPingHook", tag = "admin",
    params(PingQuery),
    responses(
        (status = 200, body = api::DeliveryDetail, description = "What came of it, when that was waited for."),
        (status = 204, description = "It is on its way; `X-Farrier-Delivery` names it."),
    ),
)]
pub(in crate::http) async fn ping<A: At>(
    State(app): State<App>,
    at: AtHook<A>,
    RawQuery(query): RawQuery,
) -> Result<Response, ApiError> {
    let row = test::ping(&app, &at.identity, at.place, at.hook).await?;
    tested(&app, at.of, &row, query.as_deref()).await
}

async fn tested(
    app: &App,
    of: Of,
    row: &farrier_proto::store::Delivery,
    query: Option<&str>,
) -> Result<Response, ApiError> {
    if query::flag(query, "wait") == Some(true) {
        return Ok(ok(show::delivery_detail(app, &test::wait(app, of, row).await?)).into_response());
    }
    Ok((StatusCode::NO_CONTENT, [(DELIVERY, show::guid(row))]).into_response())
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
    list_of(&app, Of::All, uri.path(), query.as_deref()).await
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
    detail(&app, Of::All, &delivery).await
}

/// Sends a delivery of any hook again.
#[utoipa::path(
    post, path = "/deliveries/{delivery}/attempts",
    operation_id = "farrierRedeliver", tag = "farrier",
    responses((status = 202, body = api::Delivery), (status = 409, description = "The hook of the delivery, or what it said, is gone.")),
)]
pub(in crate::http) async fn redeliver_any(
    State(app): State<App>,
    _caller: Caller<OfAdmin>,
    Path(delivery): Path<String>,
) -> Result<Output<api::Delivery>, ApiError> {
    let row = history::redeliver(&app, Of::All, &delivery).await?;
    Ok(Output(StatusCode::ACCEPTED, show::delivery(&app, &row)))
}

/// Sends what a hook of any place has missed again.
#[utoipa::path(
    post, path = "/hooks/{id}/recover",
    operation_id = "farrierRecoverHook", tag = "farrier",
    request_body = api::RecoverDeliveries,
    responses((status = 202, body = api::RecoveredDeliveries)),
)]
pub(in crate::http) async fn recover_any(
    State(app): State<App>,
    _caller: Caller<OfAdmin>,
    Path(hook): Path<String>,
    Input(input): Input<api::RecoverDeliveries>,
) -> Result<Output<api::RecoveredDeliveries>, ApiError> {
    let snapshot = app.store.read().await.map_err(Error::from)?;
    let of = Of::any_hook(&snapshot, hook.parse().unwrap_or(0)).await?;
    drop(snapshot);
    recover_of(&app, of, &input).await
}

async fn detail(app: &App, of: Of, delivery: &str) -> Result<Output<api::DeliveryDetail>, ApiError> {
    let snapshot = app.store.read().await.map_err(Error::from)?;
    Ok(ok(show::delivery_detail(app, &history::get(&snapshot, of, delivery).await?)))
}

async fn list_of(app: &App, of: Of, path: &str, query: Option<&str>) -> Result<Response, ApiError> {
    let wanted = wanted(query)?;
    let limit = wanted.limit;
    let snapshot = app.store.read().await.map_err(Error::from)?;
    let PageOf { rows, next, total } = history::list(&snapshot, of, wanted).await?;
    let mut response = ok(rows.iter().map(|known| show::delivery(app, known)).collect::<Vec<_>>()).into_response();
    let headers = response.headers_mut();
    if let Some(total) = total {
        headers.insert(HeaderName::from_static("x-total-count"), total.into());
    }
    let next = (next != 0).then(|| next.to_string());
    headers.extend(page::by_cursor(app, path, query, next.as_deref(), limit));
    Ok(response)
}

fn wanted(query: Option<&str>) -> Result<Wanted, ApiError> {
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
    Ok(Wanted { hook: number("hook"), filter, before, skip, limit: page.limit })
}
