//! Hooks of all owners: the hooks that the caller may manage, a hook by its number, and the types and events that
//! hooks can have. Hooks are changed and deleted by the handlers of [`v1::hooks`](crate::http::v1::hooks).

use axum::{
    extract::{RawQuery, State},
    response::{IntoResponse as _, Response},
};
use farrier_common::api;
use farrier_proto::store::HookScope;
use http::HeaderName;

use crate::{
    http::{
        AppState,
        auth::{Caller, CheckedCredentials, NoScope, SignedIn},
        error::ApiError,
        extract::{JsonResponse, ok},
        if_match::Editable,
        openapi::parameters::ManagedHookParams,
        page::{self, PageQuery},
        query, show,
        v1::hooks::path::{Any, HookCaller},
    },
    model::{
        hook_config::{self, TYPES},
        hook_event::EVENTS,
        hook_health::HookHealth,
        identity::Identity,
        revision::Revision,
    },
    service::{
        Error,
        access::Action,
        hooks::{self, HookCursor, HookFilter, HookQuery, HookSort, ListedHook, ManageableHooks},
        viewer,
    },
    store::Snapshot,
};

/// Lists the hooks of all owners that the caller may manage. `Link` has the address of the next page.
#[utoipa::path(
    get, path = "",
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
    caller: Caller<SignedIn<NoScope>>,
    uri: http::Uri,
    RawQuery(query): RawQuery,
) -> Result<Response, ApiError> {
    let query = query.as_deref();
    let selection = list_query(query)?;
    let snapshot = state.store.read().await.map_err(Error::from)?;
    let reach = reach(&state, &snapshot, &caller.identity, query).await?;
    let page = hooks::page(&snapshot, &reach, &selection).await?;
    let shown: Vec<_> =
        page.hooks.iter().map(|managed| show::managed_hook(&state, &caller.identity, managed)).collect();
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
    let health = HookHealth::ALL.map(|health| (health.word(), health));
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

pub(in crate::http) fn cursor(text: &str) -> Result<HookCursor, ApiError> {
    let parts = text
        .split_once('-')
        .and_then(|(key, id)| Some(HookCursor { key: hex::decode(key).ok()?, id: id.parse().ok()? }));
    parts
        .ok_or_else(|| ApiError::unprocessable("cursor", "[cursor]: is not a cursor of this list; take it from `Link`"))
}

/// Returns a hook of any owner.
#[utoipa::path(
    get, path = "",
    operation_id = "farrierGetHook", tag = "farrier",
    security(("account" = [])),
    responses((status = 200, body = api::Hook)),
)]
pub(in crate::http) async fn get(
    State(state): State<AppState>,
    caller: HookCaller<Any>,
) -> Result<Editable<api::Hook>, ApiError> {
    let (snapshot, hook_owner) = caller.authorize(&state).await?;
    let found = hooks::get(&snapshot, hook_owner, caller.hook()).await?;
    let names = hooks::owner_names(&snapshot, &found.hook).await?;
    let revision = Revision::of_hook(&found.hook);
    Ok(Editable(ok(show::managed_hook(&state, caller.identity(), &ListedHook { found, names })), revision))
}

/// Lists the types of hooks.
#[utoipa::path(
    get, path = "",
    operation_id = "farrierListHookTypes", tag = "farrier",
    responses((status = 200, body = Vec<api::HookType>)),
)]
pub(in crate::http) async fn types(_: CheckedCredentials) -> JsonResponse<Vec<api::HookType>> {
    ok(TYPES.iter().map(show::hook_type).collect())
}

/// Lists the events that hooks can subscribe to.
#[utoipa::path(
    get, path = "",
    operation_id = "farrierListHookEvents", tag = "farrier",
    responses((status = 200, body = Vec<api::HookEvent>)),
)]
pub(in crate::http) async fn events(_: CheckedCredentials) -> JsonResponse<Vec<api::HookEvent>> {
    ok(EVENTS.iter().map(show::hook_event).collect())
}
