//! The API's description: an OpenAPI document made from the route table and from what
//! `#[utoipa::path]` says beside each handler, and a page that shows it.
//!
//! To describe a new operation, put `#[utoipa::path]` above its handler: method, path as in the
//! table without `/api/v1`, an `operation_id` as the API family spells it, a `tag` of
//! [`document`](self::document), `request_body`, what goes well under `responses`, and the refusals
//! that only this operation has. Its doc comment is the summary. The rest comes from here: what the
//! captures of the path are ([`parameters`]), the refusals that every operation shares and the
//! headers of lists ([`operation`]), which fields are always there ([`schemas`]).
//! A route that shares its handler with another one has its own name and tag in [`operation`].
//! `security(("account" = []))` says of a GET that it needs somebody who has signed in, and
//! `security(())` that credentials are not looked at.
//!
//! Git, Twirp and the signed addresses of artifact bytes are not described: they are other
//! protocols, whose clients know them, and OpenAPI has no words for most of what they do.

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

use super::extract::JSON;
use crate::app::App;

/// Stands in the document for the base address, which is known with the first request only.
const ROOT: &str = "{root}";

/// The document as text with [`ROOT`] in it, made when somebody asks for it first.
static DOCUMENT: LazyLock<String> = LazyLock::new(document::document);

/// A route and what is said about its handler.
pub(super) struct Described {
    method: &'static str,
    /// As in the route table.
    path: &'static str,
    /// The path that stands beside the handler, and below it the method and the operation.
    said: serde_json::Value,
    schemas: BTreeMap<String, RefOr<Schema>>,
}

impl Described {
    /// `handler` is a document with nothing in it but the route's handler.
    pub(super) fn new(method: &'static str, path: &'static str, handler: OpenApi) -> Self {
        let said = serde_json::to_value(handler.paths).expect("plain data");
        Self { method, path, said, schemas: handler.components.unwrap_or_default().schemas }
    }
}

/// The description of this API in OpenAPI 3.1.
#[utoipa::path(
    get, path = "/openapi.json",
    operation_id = "getOpenAPI", tag = "miscellaneous",
    security(()),
    responses((status = 200, body = serde_json::Value)),
)]
pub(super) async fn document(State(app): State<App>) -> Response {
    let body = DOCUMENT.replacen(ROOT, &app.root_url, 1);
    ([(header::CONTENT_TYPE, JSON), (header::CACHE_CONTROL, "no-cache")], body).into_response()
}

/// A page that shows the description to people.
#[utoipa::path(
    get, path = "/api/swagger",
    operation_id = "getSwaggerPage", tag = "miscellaneous",
    security(()),
    responses((status = 200, body = String, content_type = "text/html")),
)]
pub(super) async fn page() -> Response {
    // Nothing of it comes from elsewhere, and it asks nobody but this daemon.
    const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; \
                          connect-src 'self'; base-uri 'none'; form-action 'none'";
    ([(header::CONTENT_SECURITY_POLICY, POLICY)], Html(include_str!("page.html"))).into_response()
}
