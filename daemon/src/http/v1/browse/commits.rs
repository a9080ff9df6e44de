//! Commits: pages of a history, single ones, comparisons, notes.

use axum::{
    extract::{Path, RawQuery, State},
    response::{IntoResponse as _, Response},
};
use farrier_common::api;
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};

use super::{QueryParams, Scene, pipe::Pipe, scene, show::Parts};
use crate::{
    app::App,
    http::{
        auth::{Caller, OfRepository},
        error::ApiError,
        extract::{Output, ok},
        openapi::parameters::{CommitParts, Commits, Paging},
        page::Page,
        show::number,
    },
    service::browse::commits::{self, CommitQuery, Seen},
};

impl Parts {
    /// Everything, but what the client does not want.
    fn of(params: &QueryParams<'_>) -> Self {
        let flag = |name| params.flag(name, true);
        Self { stat: flag("stat"), files: flag("files"), verification: flag("verification") }
    }
}

/// Commits, newest first.
#[utoipa::path(
    get, path = "/repos/{owner}/{repo}/commits",
    operation_id = "repoGetAllCommits", tag = "repository",
    params(Commits, CommitParts, Paging),
    responses(
        (status = 200, body = Vec<api::Commit>),
        (status = 409, description = "The repository is empty."),
        (status = 422, description = "A time or a path that cannot be used."),
    ),
)]
pub(in crate::http) async fn list(
    State(app): State<App>,
    caller: Caller<OfRepository>,
    Path((owner, name)): Path<(String, String)>,
    RawQuery(query): RawQuery,
) -> Result<Response, ApiError> {
    let scene = scene(app, caller, &owner, &name).await?;
    let params = QueryParams::new(query.as_deref());
    let (parts, page) = (Parts::of(&params), Page::of(query.as_deref()));
    let (sha, not, path) = (params.text("sha"), params.text("not"), params.text("path"));
    let selection = CommitQuery {
        sha: &sha,
        not: &not,
        path: &path,
        since: time(&params, "since")?,
        until: time(&params, "until")?,
        changes: parts.stat || parts.files,
    };
    let (seen, total) = commits::list(&scene.browse, &selection, page.skip(), page.limit).await?;
    let mut headers = page.headers(&format!("{}/commits", scene.api), query.as_deref(), total);
    add_older_headers(&mut headers, page, total);
    Ok((headers, ok(shown(&scene, &seen, parts).await?)).into_response())
}

/// A time in the query, seconds since the epoch.
fn time(params: &QueryParams<'_>, name: &'static str) -> Result<Option<i64>, ApiError> {
    // A blank is what a plus sign means in a query; in a time it is a plus sign that was not escaped.
    let text = params.text(name).replace(' ', "+");
    if text.is_empty() {
        return Ok(None);
    }
    let time = text.parse::<jiff::Timestamp>();
    time.map(|time| Some(time.as_second()))
        .map_err(|_| ApiError::unprocessable(name, format!("[{name}]: must be a time such as 2026-01-02T03:04:05Z")))
}

/// What this list alone says in headers beside the usual ones.
fn add_older_headers(headers: &mut HeaderMap, page: Page, total: u64) {
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

async fn shown(scene: &Scene, seen: &[Seen], parts: Parts) -> Result<Vec<api::Commit>, ApiError> {
    let commits: Vec<_> = seen.iter().map(|seen| &seen.commit).collect();
    let gallery = scene.gallery(&commits).await?;
    Ok(seen.iter().map(|seen| gallery.commit(seen, parts)).collect())
}

async fn one(scene: &Scene, seen: &Seen, parts: Parts) -> Result<api::Commit, ApiError> {
    Ok(scene.gallery(&[&seen.commit]).await?.commit(seen, parts))
}

/// A commit; with `.diff` or `.patch` behind its name as text.
#[utoipa::path(
    get, path = "/repos/{owner}/{repo}/git/commits/{sha}",
    operation_id = "repoGetSingleCommit", tag = "repository",
    params(CommitParts),
    responses(
        (status = 200, content((api::Commit = "application/json"), (String = "text/plain"))),
        (status = 422, description = "This is no name of a commit."),
    ),
)]
pub(in crate::http) async fn get(
    State(app): State<App>,
    caller: Caller<OfRepository>,
    Path((owner, name, sha)): Path<(String, String, String)>,
    RawQuery(query): RawQuery,
) -> Result<Response, ApiError> {
    let scene = scene(app, caller, &owner, &name).await?;
    for (ending, mail) in [(".diff", false), (".patch", true)] {
        if let Some(sha) = sha.strip_suffix(ending) {
            let process = commits::diff(&scene.browse, sha, mail).await?;
            let body = Pipe::new(process, scene.app.git.timeout()).body();
            return Ok(([(header::CONTENT_TYPE, "text/plain; charset=utf-8")], body).into_response());
        }
    }
    let parts = Parts::of(&QueryParams::new(query.as_deref()));
    let seen = commits::get(&scene.browse, &sha, parts.stat || parts.files).await?;
    Ok(ok(one(&scene, &seen, parts).await?).into_response())
}

/// Commits that one revision has and another has not: the newest 250 of them.
#[utoipa::path(
    get, path = "/repos/{owner}/{repo}/compare/{both}",
    operation_id = "repoCompareDiff", tag = "repository",
    responses((status = 200, body = api::Compare)),
)]
pub(in crate::http) async fn compare(
    State(app): State<App>,
    caller: Caller<OfRepository>,
    Path((owner, name, both)): Path<(String, String, String)>,
) -> Result<Output<api::Compare>, ApiError> {
    let scene = scene(app, caller, &owner, &name).await?;
    let split = both.split_once("...").or_else(|| both.split_once(".."));
    let (base, head) =
        split.ok_or_else(|| ApiError::new(StatusCode::NOT_FOUND, "a comparison is written base...head"))?;
    let (seen, total) = commits::compare(&scene.browse, base, head).await?;
    let parts = Parts { stat: true, files: true, verification: true };
    Ok(ok(api::Compare { total_commits: number(total), commits: shown(&scene, &seen, parts).await? }))
}

/// The note on a commit.
#[utoipa::path(
    get, path = "/repos/{owner}/{repo}/git/notes/{sha}",
    operation_id = "repoGetNote", tag = "repository",
    params(CommitParts),
    responses((status = 200, body = api::Note), (status = 422, description = "This is no name of a commit.")),
)]
pub(in crate::http) async fn note(
    State(app): State<App>,
    caller: Caller<OfRepository>,
    Path((owner, name, sha)): Path<(String, String, String)>,
    RawQuery(query): RawQuery,
) -> Result<Output<api::Note>, ApiError> {
    let scene = scene(app, caller, &owner, &name).await?;
    let (message, seen) = commits::note(&scene.browse, &sha).await?;
    let parts = Parts::of(&QueryParams::new(query.as_deref()));
    Ok(ok(api::Note { message, commit: one(&scene, &seen, parts).await? }))
}
