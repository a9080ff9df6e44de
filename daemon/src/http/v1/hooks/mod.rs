//! Webhooks of administrators, repositories, organisations and accounts. One set of steps for all;
//! the places differ only in who may manage their hooks.

pub(in crate::http) mod admin;
pub(in crate::http) mod orgs;
pub(in crate::http) mod repositories;
pub(in crate::http) mod user;

use axum::response::{IntoResponse as _, Response};
use farrier_common::api;
use farrier_proto::store::HookScope;
use http::{HeaderName, HeaderValue, StatusCode};

use crate::{
    app::App,
    http::{
        error::ApiError,
        extract::{created, ok},
        if_match::Editable,
        page::Page,
        show,
    },
    model::revision::{Expected, Revision},
    service::{
        Error,
        hooks::{self, HookOwner, Saved},
    },
    store::Read,
};

/// Names of events in the request that mean nothing here.
const IGNORED: HeaderName = HeaderName::from_static("x-farrier-ignored-events");
/// Most of them that are named.
const IGNORED_MAX_BYTES: usize = 512;

/// The number in a path; one that is none names no hook.
pub(in crate::http) fn number(text: &str) -> u64 {
    text.parse().unwrap_or(0)
}

async fn list(
    app: &App,
    read: &impl Read,
    scopes: &[HookScope],
    target: u64,
    path: &str,
    query: Option<&str>,
) -> Result<Response, ApiError> {
    let page = Page::of(query);
    let (found, total) = page.cut(hooks::list(read, scopes, target).await.map_err(Error::from)?);
    let shown: Vec<_> = found.iter().map(|found| show::hook(app, found)).collect();
    Ok(page.answer(app, path, query, total, shown))
}

async fn get(app: &App, read: &impl Read, hook_owner: HookOwner, id: &str) -> Result<Editable<api::Hook>, ApiError> {
    let found = hooks::get(read, hook_owner, number(id)).await?;
    Ok(editable(show::hook(app, &found), &found))
}

async fn create(app: &App, hook_owner: HookOwner, input: api::CreateHook) -> Result<Response, ApiError> {
    let saved = hooks::create(app, hook_owner, input).await?;
    Ok(answer(created(shown(app, hook_owner, &saved).await).into_response(), &saved))
}

pub(in crate::http) async fn edit(
    app: &App,
    hook_owner: HookOwner,
    id: &str,
    input: &api::EditHook,
    expected: &Expected,
) -> Result<Response, ApiError> {
    let saved = hooks::edit(app, hook_owner, number(id), input, expected).await?;
    let checked = input.config.is_some() || input.events.is_some() || input.events_exact.is_some();
    let shown = if checked { shown(app, hook_owner, &saved).await } else { show::hook(app, &saved.found) };
    Ok(answer(editable(shown, &saved.found).into_response(), &saved))
}

fn editable(shown: api::Hook, found: &hooks::Found) -> Editable<api::Hook> {
    Editable(ok(shown), Revision::of_hook(&found.hook))
}

/// A hook for the caller who saved it, with warnings about its target and its events.
async fn shown(app: &App, hook_owner: HookOwner, saved: &Saved) -> api::Hook {
    let problem = app.client.check_target(&saved.found.hook.url).await;
    show::saved_hook(app, &saved.found, problem, hook_owner.is_admin())
}

pub(in crate::http) async fn delete(
    app: &App,
    hook_owner: HookOwner,
    id: &str,
    expected: &Expected,
) -> Result<StatusCode, ApiError> {
    hooks::delete(app, hook_owner, number(id), expected).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Says in a header which names were ignored, as far as a header can hold them.
fn answer(mut response: Response, saved: &Saved) -> Response {
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
