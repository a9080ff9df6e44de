//! The OpenAPI document of the REST API and the page that shows it. The document is built from the route table and
//! the `#[utoipa::path]` attributes of the handlers.
//!
//! To describe a new operation, put `#[utoipa::path]` above its handler, with: the method; `path = ""`, because utoipa
//! requires a path, but the route table supplies it; an `operation_id` in the style of Gitea; a `tag` from
//! [`document`](self::document); `request_body`; `responses` with the successful responses and the errors that only
//! this operation has. The doc comment of the handler is the summary. This module adds the path parameters
//! ([`captures`]), the errors that all operations share and the headers of lists ([`operation`]), and the required
//! fields ([`schemas`]). Routes that share a handler get their own operation id in the route table; handlers of hooks
//! of all kinds of owners have placeholders that [`OwnerText`] fills.
//! `security(("account" = []))` marks a GET that requires a signed-in caller, `security(())` a route that ignores
//! credentials.
//!
//! Git, Twirp and the signed addresses of artifact bytes are not described: they are separate protocols, and OpenAPI
//! cannot express most of their features.

mod captures;
mod document;
mod operation;
pub(super) mod parameters;
mod schemas;
pub(super) mod shapes;

use std::{collections::BTreeMap, sync::LazyLock};

use axum::{
    extract::State,
    response::{Html, IntoResponse, Response},
};
use http::header;
use utoipa::openapi::{OpenApi, RefOr, Schema};

use super::{AppState, auth::SignedInIfRequired, extract::JSON};

/// Placeholder for the base address, which is not known when the document is built.
const ROOT: &str = "{root}";

/// The document as text that contains [`ROOT`]. Built at the first request.
static DOCUMENT: LazyLock<String> = LazyLock::new(document::document);

/// A route and the OpenAPI description of its handler.
pub(super) struct RouteDescription {
    method: &'static str,
    /// The path as in the route table.
    path: &'static str,
    /// Operation id, for a route that shares its handler.
    id: Option<&'static str>,
    /// The owner, for a route of hooks.
    owner: Option<OwnerText>,
    is_deprecated: bool,
    /// The `paths` object of the handler: a path, in it the method, in it the operation.
    paths: serde_json::Value,
    schemas: BTreeMap<String, RefOr<Schema>>,
}

/// Texts of the hook routes of one kind of owner. They replace placeholders in the descriptions of the handlers.
#[derive(Clone, Copy)]
pub(super) struct OwnerText {
    /// Tag of the operations.
    pub(super) tag: &'static str,
    /// Start of the operation ids, for `{owner}`.
    pub(super) prefix: &'static str,
    /// A hook, for `{hook}` in summaries.
    pub(super) hook: &'static str,
    /// All hooks, for `{hooks}` in summaries.
    pub(super) hooks: &'static str,
}

impl RouteDescription {
    /// Creates the description. `handler` is a document that contains only the handler of the route.
    pub(super) fn new(method: &'static str, path: &'static str, handler: OpenApi) -> Self {
        let paths = serde_json::to_value(handler.paths).expect("plain data");
        let schemas = handler.components.unwrap_or_default().schemas;
        Self { method, path, id: None, owner: None, is_deprecated: false, paths, schemas }
    }

    /// Gives the operation another id than that of its handler.
    pub(super) fn with_id(self, id: &'static str) -> Self {
        Self { id: Some(id), ..self }
    }

    /// Fills the placeholders in the description of a handler for hooks of all kinds of owners.
    pub(super) fn of_owner(self, owner: OwnerText) -> Self {
        Self { owner: Some(owner), ..self }
    }

    /// Marks the operation as deprecated.
    pub(super) fn deprecated(self) -> Self {
        Self { is_deprecated: true, ..self }
    }
}

/// Returns the description of this API in OpenAPI 3.1.
#[utoipa::path(
    get, path = "",
    operation_id = "getOpenAPI", tag = "miscellaneous",
    security(()),
    responses((status = 200, body = serde_json::Value)),
)]
pub(super) async fn document(State(state): State<AppState>, _: SignedInIfRequired) -> Response {
    let body = DOCUMENT.replacen(ROOT, &state.root_url, 1);
    ([(header::CONTENT_TYPE, JSON), (header::CACHE_CONTROL, "no-cache")], body).into_response()
}

/// Returns an HTML page that shows the description of this API.
#[utoipa::path(
    get, path = "",
    operation_id = "getSwaggerPage", tag = "miscellaneous",
    security(()),
    responses((status = 200, body = String, content_type = "text/html")),
)]
pub(super) async fn page(_: SignedInIfRequired) -> Response {
    // The page loads nothing from other hosts and sends requests only to this daemon.
    const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; \
                          connect-src 'self'; base-uri 'none'; form-action 'none'";
    ([(header::CONTENT_SECURITY_POLICY, POLICY)], Html(include_str!("page.html"))).into_response()
}
