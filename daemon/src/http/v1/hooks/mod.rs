//! Webhooks of administrators, repositories, organizations and accounts. The same handlers serve all kinds of owners;
//! [`path`] has the differences. In the first lines of the handlers, which are summaries in the description of the API,
//! `{hook}` and `{hooks}` are replaced by a phrase such as "a hook of a repository".

pub(in crate::http) mod admin;
pub(in crate::http) mod path;

use axum::{
    extract::{RawQuery, State},
    response::{IntoResponse as _, Response},
};
use farrier_common::api;
use farrier_proto::store::HookScope;
use http::{StatusCode, Uri};

use self::path::{HookCaller, HookPath};
use crate::{
    http::{
        AppState,
        error::ApiError,
        extract::{JsonBody, created, ok},
        if_match::{Editable, IfMatch},
        openapi::parameters::{IfMatchHeader, PageParams},
        page::PageQuery,
        show,
        v1::ignored,
    },
    model::{identity::Identity, revision::Revision},
    service::{
        Error,
        hooks::{self, SavedHook},
    },
    store::Read,
};

/// Lists {hooks}.
#[utoipa::path(
    get, path = "",
    operation_id = "{owner}ListHooks",
    params(PageParams),
    security(("account" = [])),
    responses((status = 200, body = Vec<api::Hook>)),
)]
pub(in crate::http) async fn list<A: HookPath>(
    State(state): State<AppState>,
    caller: HookCaller<A>,
    uri: Uri,
    RawQuery(query): RawQuery,
) -> Result<Response, ApiError> {
    let (snapshot, hook_owner) = caller.authorize(&state).await?;
    let scopes = &[hook_owner.scope()];
    let identity = caller.identity();
    page_of(&state, identity, &snapshot, (scopes, hook_owner.target()), uri.path(), query.as_deref()).await
}

/// Creates {hook}.
#[utoipa::path(
    post, path = "",
    operation_id = "{owner}CreateHook",
    request_body = api::CreateHook,
    responses(
        (status = 201, body = api::Hook),
        (status = 409, description = "The maximum number of hooks is reached."),
        (status = 400, description = "A chat channel cannot have this name."),
    ),
)]
pub(in crate::http) async fn create<A: HookPath>(
    State(state): State<AppState>,
    caller: HookCaller<A>,
    JsonBody(input): JsonBody<api::CreateHook>,
) -> Result<Response, ApiError> {
    let (_, hook_owner) = caller.authorize(&state).await?;
    let saved = hooks::create(&state, hook_owner, input).await?;
    Ok(with_ignored_events(created(shown(&state, caller.identity(), &saved).await).into_response(), &saved))
}

/// Returns {hook}.
#[utoipa::path(
    get, path = "",
    operation_id = "{owner}GetHook",
    security(("account" = [])),
    responses((status = 200, body = api::Hook)),
)]
pub(in crate::http) async fn get<A: HookPath>(
    State(state): State<AppState>,
    caller: HookCaller<A>,
) -> Result<Editable<api::Hook>, ApiError> {
    let (snapshot, hook_owner) = caller.authorize(&state).await?;
    let found = hooks::get(&snapshot, hook_owner, caller.hook()).await?;
    Ok(editable(show::hook(&state, caller.identity(), &found), &found))
}

/// Changes {hook}.
#[utoipa::path(
    patch, path = "",
    operation_id = "{owner}EditHook",
    params(IfMatchHeader),
    request_body = api::EditHook,
    responses(
        (status = 200, body = api::Hook),
        (status = 409, description = "The maximum number of hooks is reached."),
        (status = 400, description = "A chat channel cannot have this name."),
    ),
)]
pub(in crate::http) async fn edit<A: HookPath>(
    State(state): State<AppState>,
    caller: HookCaller<A>,
    IfMatch(expected): IfMatch,
    JsonBody(input): JsonBody<api::EditHook>,
) -> Result<Response, ApiError> {
    let (_, hook_owner) = caller.authorize(&state).await?;
    let saved = hooks::edit(&state, hook_owner, caller.hook(), &input, &expected).await?;
    let needs_check = input.config.is_some() || input.events.is_some() || input.events_exact.is_some();
    let identity = caller.identity();
    let shown =
        if needs_check { shown(&state, identity, &saved).await } else { show::hook(&state, identity, &saved.found) };
    Ok(with_ignored_events(editable(shown, &saved.found).into_response(), &saved))
}

/// Deletes {hook}.
#[utoipa::path(
    delete, path = "",
    operation_id = "{owner}DeleteHook",
    params(IfMatchHeader),
    responses((status = 204)),
)]
pub(in crate::http) async fn delete<A: HookPath>(
    State(state): State<AppState>,
    caller: HookCaller<A>,
    IfMatch(expected): IfMatch,
) -> Result<StatusCode, ApiError> {
    let (_, hook_owner) = caller.authorize(&state).await?;
    hooks::delete(&state, hook_owner, caller.hook(), &expected).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Parses a hook number in a path. Returns 0, which no hook has, for other text.
fn number(text: &str) -> u64 {
    text.parse().unwrap_or(0)
}

/// Returns a page of the hooks of an owner, which are of these kinds and belong to this id. `path` is the path of the
/// list.
async fn page_of(
    state: &AppState,
    identity: &Identity,
    read: &impl Read,
    (scopes, target): (&[HookScope], u64),
    path: &str,
    query: Option<&str>,
) -> Result<Response, ApiError> {
    let page = PageQuery::of(query);
    let (found, total) = page.cut(hooks::list(read, scopes, target).await.map_err(Error::from)?);
    let shown: Vec<_> = found.iter().map(|found| show::hook(state, identity, found)).collect();
    Ok(page.response(state, path, query, total, shown))
}

fn editable(shown: api::Hook, found: &hooks::FoundHook) -> Editable<api::Hook> {
    Editable(ok(shown), Revision::of_hook(&found.hook))
}

/// Returns a hook for the caller that saved it, with warnings about its target and its events.
async fn shown(state: &AppState, identity: &Identity, saved: &SavedHook) -> api::Hook {
    let problem = state.client.check_target(&saved.found.hook.url).await;
    show::saved_hook(identity, saved, problem)
}

/// Adds the header with the ignored event names, if there are any.
fn with_ignored_events(response: Response, saved: &SavedHook) -> Response {
    ignored::with_names(response, ignored::EVENTS, saved.ignored.iter().map(String::as_str))
}
