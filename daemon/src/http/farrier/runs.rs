//! Runs of all repositories.

use axum::{
    extract::{RawQuery, State},
    response::{IntoResponse as _, Response},
};
use farrier_common::api;

use crate::{
    app::App,
    http::{
        auth::{Caller, OfRepository, SignedIn},
        error::ApiError,
        extract::ok,
        openapi::parameters::WhichRuns,
        page::{self, Page},
        query, show,
    },
    service::{
        Error,
        access::Action,
        ci::across::{self, Wanted},
    },
};

/// Runs that the caller may read with their jobs, newest first. `Link` leads to the next page.
#[utoipa::path(
    get, path = "/runs",
    operation_id = "farrierListRuns", tag = "farrier",
    params(WhichRuns),
    security(("account" = [])),
    responses((status = 200, body = Vec<api::FoundRun>), (status = 422, description = "A filter means nothing.")),
)]
pub(in crate::http) async fn list(
    State(app): State<App>,
    caller: Caller<SignedIn<OfRepository>>,
    uri: http::Uri,
    RawQuery(query): RawQuery,
) -> Result<Response, ApiError> {
    let query = query.as_deref();
    let snapshot = app.store.read().await.map_err(Error::from)?;
    let repository = super::repository(&snapshot, &caller.identity, query, Action::ReadActions).await?;
    let before = query::number(query, "cursor")?;
    let wanted = Wanted { repository, before, limit: Page::of_actions(query).limit };
    let (entries, next) = across::page(&snapshot, &caller.identity, &wanted).await?;
    let next = next.map(|next| next.to_string());
    let headers = page::by_cursor(&app, uri.path(), query, next.as_deref(), wanted.limit);
    let shown: Vec<_> = entries.iter().map(|entry| show::found_run(&app, entry)).collect();
    Ok((headers, ok(shown)).into_response())
}
