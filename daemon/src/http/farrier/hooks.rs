//! Hooks of all owners: the hooks that the caller may manage, single hooks by number, and the types and events that
//! hooks can have.

use axum::{
    extract::{Path, RawQuery, State},
    response::{IntoResponse as _, Response},
};
use farrier_common::api;
use farrier_proto::store::HookScope;
use http::{HeaderName, StatusCode};

use crate::{
    http::{
        AppState,
        auth::{Caller, CheckedCredentials, NoScope, SignedIn},
        error::ApiError,
        extract::{JsonBody, JsonResponse, ok},
        if_match::{Editable, IfMatch},
        openapi::parameters::{IfMatchHeader, ManagedHookParams},
        page::{self, PageQuery},
        query, show,
        v1::hooks as v1,
    },
    model::{
        hook_config::{self, TYPES},
        hook_event::EVENTS,
        identity::Identity,
        revision::Revision,
        scope::Level,
    },
    service::{
        Error,
        access::Action,
        hooks::{self, Health, HookCursor, HookFilter, HookOwner, HookQuery, HookSort, ListedHook, ManageableHooks},
        viewer,
    },
    store::Snapshot,
};

type HookCaller = Caller<SignedIn<NoScope>>;

/// Lists the hooks of all owners that the caller may manage. `Link` has the address of the next page.
#[utoipa::path(
    get, path = "/hooks",
    operation_id = "farrierListHooks", tag = "farrier",
    params(ManagedHookParams),
    security(("account" = [])),
    responses(
        (status = 200, body = Vec<api::Hook>),
        (status = 422, description = "A filter or the order is not valid."),
    ),
)]
pub(in crate::http) async fn list(
    State(state): State<AppState>,
    caller: HookCaller,
    uri: http::Uri,
    RawQuery(query): RawQuery,
) -> Result<Response, ApiError> {
    let query = query.as_deref();
    let selection = list_query(query)?;
    let snapshot = state.store.read().await.map_err(Error::from)?;
    let reach = reach(&state, &snapshot, &caller.identity, query).await?;
    let page = hooks::page(&snapshot, &reach, &selection).await?;
    let shown: Vec<_> = page.hooks.iter().map(|managed| show::managed_hook(&state, managed)).collect();
    let next = page.next.map(|next| format!("{}-{}", hex::encode(next.key), next.id));
    let mut response = ok(shown).into_response();
    let headers = response.headers_mut();
    if let Some(total) = page.total {
        headers.insert(HeaderName::from_static("x-total-count"), total.into());
    }
    headers.extend(page::by_cursor(&state, uri.path(), query, next.as_deref(), selection.limit));
    Ok(response)
}

/// Returns the hooks that the caller may manage, limited to the repository or owner in the query.
async fn reach(
    state: &AppState,
    snapshot: &Snapshot,
    identity: &Identity,
    query: Option<&str>,
) -> Result<ManageableHooks, ApiError> {
    let mut reach = ManageableHooks::of(state, snapshot, identity).await?;
    if let Some(repository) = super::repository(snapshot, identity, query, Action::Read).await? {
        reach.only_repository(repository);
    }
    if let Some(owner) = query::value(query, "owner") {
        let owner = viewer::find(snapshot, identity, &owner).await?;
        reach.only_owner(snapshot, &owner).await?;
    }
    Ok(reach)
}

fn list_query(query: Option<&str>) -> Result<HookQuery, ApiError> {
    let scopes = [HookScope::System, HookScope::Default, HookScope::Repository, HookScope::Org, HookScope::User];
    let scopes = scopes.map(|scope| (hook_config::scope_text(scope), scope));
    let health = Health::ALL.map(|health| (health.word(), health));
    let sorts = [
        ("id", HookSort::Id),
        ("name", HookSort::Name),
        ("url", HookSort::Url),
        ("last_delivery", HookSort::LastDelivery),
        ("failures", HookSort::Failures),
        ("failing_since", HookSort::FailingSince),
    ];
    Ok(HookQuery {
        filter: HookFilter {
            scopes: query::several_of(query, "scope", &scopes)?,
            active: query::one_of(query, "active", &[("true", true), ("false", false)])?,
            health: query::several_of(query, "state", &health)?,
            text: query::value(query, "q").unwrap_or_default().trim().to_lowercase(),
        },
        sort: query::one_of(query, "sort", &sorts)?.unwrap_or_default(),
        descending: query::one_of(query, "order", &[("asc", false), ("desc", true)])?.unwrap_or_default(),
        after: query::value(query, "cursor").map(|text| cursor(&text)).transpose()?,
        limit: PageQuery::of_actions(query).limit,
    })
}

fn cursor(text: &str) -> Result<HookCursor, ApiError> {
    let parts = text
        .split_once('-')
        .and_then(|(key, id)| Some(HookCursor { key: hex::decode(key).ok()?, id: id.parse().ok()? }));
    parts
        .ok_or_else(|| ApiError::unprocessable("cursor", "[cursor]: is not a cursor of this list; take it from `Link`"))
}

/// Returns the owner of the hook with the number `id` if the caller may manage the hook, and the snapshot in which that
/// was checked.
async fn find(
    state: &AppState,
    identity: &Identity,
    level: Level,
    id: &str,
) -> Result<(Snapshot, HookOwner), ApiError> {
    let snapshot = state.store.read().await.map_err(Error::from)?;
    let hook_owner = HookOwner::of_hook(state, &snapshot, identity, level, v1::number(id)).await?;
    Ok((snapshot, hook_owner))
}

/// Returns a hook of any owner.
#[utoipa::path(
    get, path = "/hooks/{id}",
    operation_id = "farrierGetHook", tag = "farrier",
    security(("account" = [])),
    responses((status = 200, body = api::Hook)),
)]
pub(in crate::http) async fn get(
    State(state): State<AppState>,
    caller: HookCaller,
    Path(id): Path<String>,
) -> Result<Editable<api::Hook>, ApiError> {
    let (snapshot, hook_owner) = find(&state, &caller.identity, Level::Read, &id).await?;
    let found = hooks::get(&snapshot, hook_owner, v1::number(&id)).await?;
    let names = hooks::owner_names(&snapshot, &found.hook).await?;
    let revision = Revision::of_hook(&found.hook);
    Ok(Editable(ok(show::managed_hook(&state, &ListedHook { found, names })), revision))
}

/// Changes a hook of any owner.
#[utoipa::path(
    patch, path = "/hooks/{id}",
    operation_id = "farrierEditHook", tag = "farrier",
    params(IfMatchHeader),
    request_body = api::EditHook,
    responses(
        (status = 200, body = api::Hook),
        (status = 409, description = "The maximum number of hooks is reached."),
        (status = 400, description = "A chat channel cannot have this name."),
    ),
)]
pub(in crate::http) async fn edit(
    State(state): State<AppState>,
    caller: HookCaller,
    Path(id): Path<String>,
    IfMatch(expected): IfMatch,
    JsonBody(input): JsonBody<api::EditHook>,
) -> Result<Response, ApiError> {
    let (_, hook_owner) = find(&state, &caller.identity, Level::Write, &id).await?;
    v1::edit(&state, hook_owner, &id, &input, &expected).await
}

/// Deletes a hook of any owner.
#[utoipa::path(
    delete, path = "/hooks/{id}",
    operation_id = "farrierDeleteHook", tag = "farrier",
    params(IfMatchHeader),
    responses((status = 204)),
)]
pub(in crate::http) async fn delete(
    State(state): State<AppState>,
    caller: HookCaller,
    Path(id): Path<String>,
    IfMatch(expected): IfMatch,
) -> Result<StatusCode, ApiError> {
    let (_, hook_owner) = find(&state, &caller.identity, Level::Write, &id).await?;
    v1::delete(&state, hook_owner, &id, &expected).await
}

/// Lists the types of hooks.
#[utoipa::path(
    get, path = "/hooks/types",
    operation_id = "farrierListHookTypes", tag = "farrier",
    responses((status = 200, body = Vec<api::HookType>)),
)]
pub(in crate::http) async fn types(_: CheckedCredentials) -> JsonResponse<Vec<api::HookType>> {
    ok(TYPES.iter().map(show::hook_type).collect())
}

/// Lists the events that hooks can subscribe to.
#[utoipa::path(
    get, path = "/hooks/events",
    operation_id = "farrierListHookEvents", tag = "farrier",
    responses((status = 200, body = Vec<api::HookEvent>)),
)]
pub(in crate::http) async fn events(_: CheckedCredentials) -> JsonResponse<Vec<api::HookEvent>> {
    ok(EVENTS.iter().map(show::hook_event).collect())
}
