//! Webhooks of administrators, repositories, organizations and accounts. The submodules check who may manage the
//! hooks of each kind of owner; the functions here are common to all of them.

pub(in crate::http) mod admin;
pub(in crate::http) mod orgs;
pub(in crate::http) mod repositories;
pub(in crate::http) mod user;

use axum::response::{IntoResponse as _, Response};
use farrier_common::api;
use farrier_proto::store::HookScope;
use http::{HeaderName, HeaderValue, StatusCode};

use crate::{
    http::{
        AppState,
        error::ApiError,
        extract::{created, ok},
        if_match::Editable,
        page::PageQuery,
        show,
    },
    model::revision::{Expected, Revision},
    service::{
        Error,
        hooks::{self, HookOwner, SavedHook},
    },
    store::Read,
};

/// Response header that lists the unknown event names of the request.
const IGNORED: HeaderName = HeaderName::from_static("x-farrier-ignored-events");
/// Longest value of that header.
const IGNORED_MAX_BYTES: usize = 512;

/// Parses a hook number in a path. Returns 0, which no hook has, for other text.
pub(in crate::http) fn number(text: &str) -> u64 {
    text.parse().unwrap_or(0)
}

async fn list(
    state: &AppState,
    read: &impl Read,
    scopes: &[HookScope],
    target: u64,
    path: &str,
    query: Option<&str>,
) -> Result<Response, ApiError> {
    let page = PageQuery::of(query);
    let (found, total) = page.cut(hooks::list(read, scopes, target).await.map_err(Error::from)?);
    let shown: Vec<_> = found.iter().map(|found| show::hook(state, found)).collect();
    Ok(page.response(state, path, query, total, shown))
}

async fn get(
    state: &AppState,
    read: &impl Read,
    hook_owner: HookOwner,
    id: &str,
) -> Result<Editable<api::Hook>, ApiError> {
    let found = hooks::get(read, hook_owner, number(id)).await?;
    Ok(editable(show::hook(state, &found), &found))
}

async fn create(state: &AppState, hook_owner: HookOwner, input: api::CreateHook) -> Result<Response, ApiError> {
    let saved = hooks::create(state, hook_owner, input).await?;
    Ok(with_ignored_events(created(shown(state, hook_owner, &saved).await).into_response(), &saved))
}

pub(in crate::http) async fn edit(
    state: &AppState,
    hook_owner: HookOwner,
    id: &str,
    input: &api::EditHook,
    expected: &Expected,
) -> Result<Response, ApiError> {
    let saved = hooks::edit(state, hook_owner, number(id), input, expected).await?;
    let needs_check = input.config.is_some() || input.events.is_some() || input.events_exact.is_some();
    let shown = if needs_check { shown(state, hook_owner, &saved).await } else { show::hook(state, &saved.found) };
    Ok(with_ignored_events(editable(shown, &saved.found).into_response(), &saved))
}

fn editable(shown: api::Hook, found: &hooks::FoundHook) -> Editable<api::Hook> {
    Editable(ok(shown), Revision::of_hook(&found.hook))
}

/// Returns a hook for the caller that saved it, with warnings about its target and its events.
async fn shown(state: &AppState, hook_owner: HookOwner, saved: &SavedHook) -> api::Hook {
    let problem = state.client.check_target(&saved.found.hook.url).await;
    show::saved_hook(state, &saved.found, problem, hook_owner.is_admin())
}

pub(in crate::http) async fn delete(
    state: &AppState,
    hook_owner: HookOwner,
    id: &str,
    expected: &Expected,
) -> Result<StatusCode, ApiError> {
    hooks::delete(state, hook_owner, number(id), expected).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Adds the header [`IGNORED`] if event names were ignored, shortened to [`IGNORED_MAX_BYTES`].
fn with_ignored_events(mut response: Response, saved: &SavedHook) -> Response {
    let plain = |c: char| if c.is_ascii_graphic() && c != ',' { c } else { '?' };
    let names: Vec<String> = saved.ignored.iter().map(|name| name.chars().map(plain).collect()).collect();
    let text = names.join(", ");
    let text = text.get(..IGNORED_MAX_BYTES).unwrap_or(&text);
    if let Ok(value) = HeaderValue::from_str(text)
        && !text.is_empty()
    {
        response.headers_mut().insert(IGNORED, value);
    }
    response
}
