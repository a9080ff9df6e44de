//! The audit log: all of it for administrators, and the caller's own entries.

use axum::{
    extract::{Path, RawQuery, State},
    response::{IntoResponse as _, Response},
};
use farrier_common::api;
use farrier_proto::store::AuditResult;
use http::{HeaderName, Uri};

use crate::{
    http::{
        AppState,
        auth::{AdminScope, Caller, SignedIn, UserScope},
        error::ApiError,
        extract::{JsonResponse, ok},
        openapi::parameters::{AuditListParams, OwnAuditListParams},
        page::{self, PageQuery},
        query, show,
    },
    service::{Error, audit},
    store::audit::{AuditFilter, AuditPage, AuditQuery},
};

/// Lists the audit log, newest first. `Link` has the address of the next page.
#[utoipa::path(
    get, path = "",
    operation_id = "farrierListAudit", tag = "farrier",
    params(AuditListParams),
    security(("account" = [])),
    responses((status = 200, body = Vec<api::AuditEntry>), (status = 422, description = "A filter is not valid.")),
)]
pub(in crate::http) async fn list(
    State(state): State<AppState>,
    caller: Caller<AdminScope>,
    uri: Uri,
    RawQuery(query): RawQuery,
) -> Result<Response, ApiError> {
    let text = query.as_deref();
    let query = AuditQuery { filter: filter(text)?, ..selection(text)? };
    let page = audit::list(&state, &caller.identity, query.clone()).await?;
    let mut response = page_of(&state, uri.path(), text, query.limit, &page);
    let has_words = !query.filter.words.is_empty();
    let is_whole = query.after.is_none() && query.since_ms.is_none() && query.until_ms.is_none();
    if query.before == 0 && is_whole && !has_words {
        let total = audit::total(&state, &caller.identity, &query.filter).await?;
        response.headers_mut().insert(HeaderName::from_static("x-total-count"), total.into());
    }
    Ok(response)
}

/// Returns an entry of the audit log.
#[utoipa::path(
    get, path = "",
    operation_id = "farrierGetAuditEntry", tag = "farrier",
    security(("account" = [])),
    responses((status = 200, body = api::AuditEntry)),
)]
pub(in crate::http) async fn get(
    State(state): State<AppState>,
    caller: Caller<AdminScope>,
    Path(entry): Path<String>,
) -> Result<JsonResponse<api::AuditEntry>, ApiError> {
    let id = entry.parse().map_err(|_| Error::NotFound { what: "the audit entry" })?;
    Ok(ok(show::audit_entry(&audit::get(&state, &caller.identity, id).await?)))
}

/// Lists the audit entries whose actor is the caller, newest first. `Link` has the address of the next page.
#[utoipa::path(
    get, path = "",
    operation_id = "farrierListOwnAudit", tag = "farrier",
    params(OwnAuditListParams),
    security(("account" = [])),
    responses((status = 200, body = Vec<api::AuditEntry>), (status = 422, description = "A filter is not valid.")),
)]
pub(in crate::http) async fn list_own(
    State(state): State<AppState>,
    caller: Caller<SignedIn<UserScope>>,
    uri: Uri,
    RawQuery(query): RawQuery,
) -> Result<Response, ApiError> {
    let text = query.as_deref();
    let filter = AuditFilter { words: query::words(text, "q")?, ..AuditFilter::default() };
    let query = AuditQuery { filter, ..selection(text)? };
    let limit = query.limit;
    let page = audit::list_own(&state, &caller.identity, query).await?;
    Ok(page_of(&state, uri.path(), text, limit, &page))
}

fn page_of(state: &AppState, path: &str, query: Option<&str>, limit: usize, page: &AuditPage) -> Response {
    let shown: Vec<_> = page.entries.iter().map(show::audit_entry).collect();
    let mut response = ok(shown).into_response();
    let next = (page.next != 0).then(|| page.next.to_string());
    response.headers_mut().extend(page::by_cursor(state, path, query, next.as_deref(), limit));
    if let Some(examined) = page.examined {
        response.headers_mut().extend(page::examined(examined));
    }
    response
}

/// Reads the position and the times of a page.
fn selection(query: Option<&str>) -> Result<AuditQuery, ApiError> {
    let time = |name| query::value(query, name).map(|text| query::time(name, &text)).transpose();
    Ok(AuditQuery {
        after: query::number(query, "after")?,
        since_ms: time("since")?,
        until_ms: time("until")?,
        before: query::value(query, "cursor").and_then(|text| text.parse().ok()).unwrap_or(0),
        limit: PageQuery::of_deliveries(query).limit,
        ..AuditQuery::default()
    })
}

fn filter(query: Option<&str>) -> Result<AuditFilter, ApiError> {
    let results = [("done", AuditResult::Done), ("refused", AuditResult::Refused), ("failed", AuditResult::Failed)];
    let value = |name| query::short(query, name);
    let object = value("object")?;
    let (object_kind, object) = object.split_once(':').unwrap_or((&object, ""));
    let object_id = object.parse().ok();
    let repository = value("repository")?;
    let repository_id = repository.parse().ok();
    let text_unless_id = |text: &str, id: Option<u64>| if id.is_some() { String::new() } else { text.to_lowercase() };
    Ok(AuditFilter {
        actor: value("actor")?.to_lowercase(),
        action: value("action")?.trim_end_matches('.').to_owned(),
        result: query::one_of(query, "result", &results)?,
        object_kind: object_kind.to_owned(),
        object_id,
        object_name: text_unless_id(object, object_id),
        repository: repository_id,
        repository_path: text_unless_id(&repository, repository_id),
        request_id: value("request_id")?,
        account: value("user")?.to_lowercase(),
        words: query::words(query, "q")?,
    })
}
