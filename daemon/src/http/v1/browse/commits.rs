//! Commits: history, single commits, comparisons, notes.

use axum::{
    extract::{Path, RawQuery, State},
    response::{IntoResponse as _, Response},
};
use farrier_common::api;
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};

use super::{BrowseContext, QueryParams, browse_context, pipe::Pipe, show::CommitFields};
use crate::{
    git::read::READ_TIMEOUT,
    http::{
        AppState,
        auth::{Caller, RepositoryScope},
        error::ApiError,
        extract::{JsonResponse, ok},
        openapi::parameters::{CommitFieldParams, CommitListParams, PageParams},
        page::PageQuery,
        show::number,
    },
    service::browse::commits::{self, CommitQuery, CommitWithChanges},
};

impl CommitFields {
    /// Returns all fields except those that the query excludes.
    fn of(params: &QueryParams<'_>) -> Self {
        let flag = |name| params.flag(name, true);
        Self { stat: flag("stat"), files: flag("files"), verification: flag("verification") }
    }
}

/// Lists commits, newest first.
#[utoipa::path(
    get, path = "",
    operation_id = "repoGetAllCommits", tag = "repository",
    params(CommitListParams, CommitFieldParams, PageParams),
    responses(
        (status = 200, body = Vec<api::Commit>),
        (status = 409, description = "The repository is empty."),
        (status = 422, description = "A time or the path is not valid."),
    ),
)]
pub(in crate::http) async fn list(
    State(state): State<AppState>,
    caller: Caller<RepositoryScope>,
    Path((owner, name)): Path<(String, String)>,
    RawQuery(query): RawQuery,
) -> Result<Response, ApiError> {
    let context = browse_context(state, caller, &owner, &name).await?;
    let params = QueryParams::new(query.as_deref());
    let (fields, page) = (CommitFields::of(&params), PageQuery::of(query.as_deref()));
    let (sha, not, path) = (params.text("sha"), params.text("not"), params.text("path"));
    let selection = CommitQuery {
        sha: &sha,
        not: &not,
        path: &path,
        since: time(&params, "since")?,
        until: time(&params, "until")?,
        changes: fields.stat || fields.files,
    };
    let (commits, total) = commits::list(&context.browse, &selection, page.skip(), page.limit).await?;
    let mut headers = page.headers(&format!("{}/commits", context.api), query.as_deref(), total);
    add_older_headers(&mut headers, page, total);
    Ok((headers, ok(rendered(&context, &commits, fields).await?)).into_response())
}

/// Returns a time in the query, in seconds since the epoch.
fn time(params: &QueryParams<'_>, name: &'static str) -> Result<Option<i64>, ApiError> {
    // In a query, an unescaped plus sign decodes to a space. In a time it can only be a plus sign.
    let text = params.text(name).replace(' ', "+");
    if text.is_empty() {
        return Ok(None);
    }
    let time = text.parse::<jiff::Timestamp>();
    time.map(|time| Some(time.as_second()))
        .map_err(|_| ApiError::unprocessable(name, format!("[{name}]: must be a time such as 2026-01-02T03:04:05Z")))
}

/// Adds the older pagination headers, which only this list has.
fn add_older_headers(headers: &mut HeaderMap, page: PageQuery, total: u64) {
    let pages = page.count(total);
    let mut add = |name: &'static str, value: HeaderValue| headers.insert(HeaderName::from_static(name), value);
    add("x-page", page.number.into());
    add("x-perpage", page.limit.into());
    add("x-total", total.into());
    add("x-pagecount", pages.into());
    add("x-hasmore", HeaderValue::from_static(if page.number < pages { "true" } else { "false" }));
    let exposed = "X-Total-Count, Link, X-Page, X-PerPage, X-Total, X-PageCount, X-HasMore";
    headers.insert(header::ACCESS_CONTROL_EXPOSE_HEADERS, HeaderValue::from_static(exposed));
}

async fn rendered(
    context: &BrowseContext,
    commits: &[CommitWithChanges],
    fields: CommitFields,
) -> Result<Vec<api::Commit>, ApiError> {
    let without_changes: Vec<_> = commits.iter().map(|row| &row.commit).collect();
    let renderer = if fields.verification {
        context.renderer(&without_changes).await?
    } else {
        context.renderer_without_signatures(&without_changes).await?
    };
    Ok(commits.iter().map(|row| renderer.commit(row, fields)).collect())
}

async fn rendered_one(
    context: &BrowseContext,
    commit: &CommitWithChanges,
    fields: CommitFields,
) -> Result<api::Commit, ApiError> {
    Ok(context.renderer(&[&commit.commit]).await?.commit(commit, fields))
}

/// Returns a commit, or its diff or patch as text if the name ends in `.diff` or `.patch`.
#[utoipa::path(
    get, path = "",
    operation_id = "repoGetSingleCommit", tag = "repository",
    params(CommitFieldParams),
    responses(
        (status = 200, content((api::Commit = "application/json"), (String = "text/plain"))),
        (status = 422, description = "The text does not name a commit."),
    ),
)]
pub(in crate::http) async fn get(
    State(state): State<AppState>,
    caller: Caller<RepositoryScope>,
    Path((owner, name, sha)): Path<(String, String, String)>,
    RawQuery(query): RawQuery,
) -> Result<Response, ApiError> {
    let context = browse_context(state, caller, &owner, &name).await?;
    for (ending, mail) in [(".diff", false), (".patch", true)] {
        if let Some(sha) = sha.strip_suffix(ending) {
            let process = commits::diff(&context.browse, sha, mail).await?;
            let body = Pipe::new(process, READ_TIMEOUT).body();
            return Ok(([(header::CONTENT_TYPE, "text/plain; charset=utf-8")], body).into_response());
        }
    }
    let fields = CommitFields::of(&QueryParams::new(query.as_deref()));
    let commit = commits::get(&context.browse, &sha, fields.stat || fields.files).await?;
    Ok(ok(rendered_one(&context, &commit, fields).await?).into_response())
}

/// Compares two revisions: returns the newest 250 commits that the second one has and the first one does not have.
#[utoipa::path(
    get, path = "",
    operation_id = "repoCompareDiff", tag = "repository",
    responses((status = 200, body = api::Compare)),
)]
pub(in crate::http) async fn compare(
    State(state): State<AppState>,
    caller: Caller<RepositoryScope>,
    Path((owner, name, both)): Path<(String, String, String)>,
) -> Result<JsonResponse<api::Compare>, ApiError> {
    let context = browse_context(state, caller, &owner, &name).await?;
    let split = both.split_once("...").or_else(|| both.split_once(".."));
    let (base, head) =
        split.ok_or_else(|| ApiError::new(StatusCode::NOT_FOUND, "a comparison is written base...head"))?;
    let (commits, total) = commits::compare(&context.browse, base, head).await?;
    let fields = CommitFields { stat: true, files: true, verification: true };
    Ok(ok(api::Compare { total_commits: number(total), commits: rendered(&context, &commits, fields).await? }))
}

/// Returns the note on a commit.
#[utoipa::path(
    get, path = "",
    operation_id = "repoGetNote", tag = "repository",
    params(CommitFieldParams),
    responses((status = 200, body = api::Note), (status = 422, description = "The text does not name a commit.")),
)]
pub(in crate::http) async fn note(
    State(state): State<AppState>,
    caller: Caller<RepositoryScope>,
    Path((owner, name, sha)): Path<(String, String, String)>,
    RawQuery(query): RawQuery,
) -> Result<JsonResponse<api::Note>, ApiError> {
    let context = browse_context(state, caller, &owner, &name).await?;
    let (message, commit) = commits::note(&context.browse, &sha).await?;
    let fields = CommitFields::of(&QueryParams::new(query.as_deref()));
    Ok(ok(api::Note { message, commit: rendered_one(&context, &commit, fields).await? }))
}
