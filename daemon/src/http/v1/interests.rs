//! Stars and subscriptions.

use axum::{
    extract::{Path, RawQuery, State},
    response::Response,
};
use farrier_common::api;
use http::StatusCode;

use crate::{
    http::{
        AppState,
        auth::{Caller, RepositoryScope, UserRepositoryScopes},
        error::ApiError,
        extract::{JsonResponse, ok},
        openapi::parameters::PageParams,
        page::PageQuery,
        show,
    },
    model::identity::Identity,
    service::{
        Error,
        access::{self, Action},
        repositories, viewer,
    },
    store::{
        interests::InterestKind::{self, Star, Watch},
        owners::Owner,
    },
};

type RepositoryPath = Path<(String, String)>;

/// Lists the repositories that the caller starred and sees, by number.
#[utoipa::path(
    get, path = "",
    operation_id = "userCurrentListStarred", tag = "user",
    params(PageParams),
    security(("account" = [])),
    responses((status = 200, body = Vec<api::Repository>)),
)]
pub(in crate::http) async fn own_starred(
    State(state): State<AppState>,
    caller: Caller<UserRepositoryScopes>,
    RawQuery(query): RawQuery,
) -> Result<Response, ApiError> {
    own(&state, &caller.identity, Star, "/user/starred", query.as_deref()).await
}

/// Lists the repositories that the caller watches and sees, by number.
#[utoipa::path(
    get, path = "",
    operation_id = "userCurrentListSubscriptions", tag = "user",
    params(PageParams),
    security(("account" = [])),
    responses((status = 200, body = Vec<api::Repository>)),
)]
pub(in crate::http) async fn own_subscriptions(
    State(state): State<AppState>,
    caller: Caller<UserRepositoryScopes>,
    RawQuery(query): RawQuery,
) -> Result<Response, ApiError> {
    own(&state, &caller.identity, Watch, "/user/subscriptions", query.as_deref()).await
}

/// Lists the repositories that an account starred and the caller sees, by number.
#[utoipa::path(
    get, path = "",
    operation_id = "userListStarred", tag = "user",
    params(PageParams),
    security(("account" = [])),
    responses((status = 200, body = Vec<api::Repository>)),
)]
pub(in crate::http) async fn starred(
    State(state): State<AppState>,
    caller: Caller<UserRepositoryScopes>,
    Path(name): Path<String>,
    RawQuery(query): RawQuery,
) -> Result<Response, ApiError> {
    of_user(&state, &caller.identity, Star, &name, "starred", query.as_deref()).await
}

/// Lists the repositories that an account watches and the caller sees, by number.
#[utoipa::path(
    get, path = "",
    operation_id = "userListSubscriptions", tag = "user",
    params(PageParams),
    security(("account" = [])),
    responses((status = 200, body = Vec<api::Repository>)),
)]
pub(in crate::http) async fn subscriptions(
    State(state): State<AppState>,
    caller: Caller<UserRepositoryScopes>,
    Path(name): Path<String>,
    RawQuery(query): RawQuery,
) -> Result<Response, ApiError> {
    of_user(&state, &caller.identity, Watch, &name, "subscriptions", query.as_deref()).await
}

/// Returns 204 if the caller starred a repository, else 404.
#[utoipa::path(
    get, path = "",
    operation_id = "userCurrentCheckStarring", tag = "user",
    security(("account" = [])),
    responses((status = 204)),
)]
pub(in crate::http) async fn is_starred(
    State(state): State<AppState>,
    caller: Caller<UserRepositoryScopes>,
    Path((owner, name)): RepositoryPath,
) -> Result<StatusCode, ApiError> {
    let snapshot = state.store.read().await.map_err(Error::from)?;
    repositories::interest(&snapshot, &caller.identity, Star, &owner, &name).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Stars a repository.
#[utoipa::path(
    put, path = "",
    operation_id = "userCurrentPutStar", tag = "user",
    security(("account" = [])),
    responses((status = 204)),
)]
pub(in crate::http) async fn star(
    State(state): State<AppState>,
    caller: Caller<UserRepositoryScopes>,
    Path((owner, name)): RepositoryPath,
) -> Result<StatusCode, ApiError> {
    repositories::add_interest(&state, &caller.identity, Star, &owner, &name).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Removes the star of a repository.
#[utoipa::path(
    delete, path = "",
    operation_id = "userCurrentDeleteStar", tag = "user",
    security(("account" = [])),
    responses((status = 204)),
)]
pub(in crate::http) async fn unstar(
    State(state): State<AppState>,
    caller: Caller<UserRepositoryScopes>,
    Path((owner, name)): RepositoryPath,
) -> Result<StatusCode, ApiError> {
    repositories::remove_interest(&state, &caller.identity, Star, &owner, &name).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Lists the accounts that starred a repository and that the caller sees, by number.
#[utoipa::path(
    get, path = "",
    operation_id = "repoListStargazers", tag = "repository",
    params(PageParams),
    responses((status = 200, body = Vec<api::User>)),
)]
pub(in crate::http) async fn stargazers(
    State(state): State<AppState>,
    caller: Caller<RepositoryScope>,
    Path((owner, name)): RepositoryPath,
    RawQuery(query): RawQuery,
) -> Result<Response, ApiError> {
    interested(&state, &caller.identity, Star, (&owner, &name), "stargazers", query.as_deref()).await
}

/// Lists the accounts that watch a repository and that the caller sees, by number.
#[utoipa::path(
    get, path = "",
    operation_id = "repoListSubscribers", tag = "repository",
    params(PageParams),
    responses((status = 200, body = Vec<api::User>)),
)]
pub(in crate::http) async fn subscribers(
    State(state): State<AppState>,
    caller: Caller<RepositoryScope>,
    Path((owner, name)): RepositoryPath,
    RawQuery(query): RawQuery,
) -> Result<Response, ApiError> {
    interested(&state, &caller.identity, Watch, (&owner, &name), "subscribers", query.as_deref()).await
}

/// Returns the caller's subscription to a repository.
#[utoipa::path(
    get, path = "",
    operation_id = "userCurrentCheckSubscription", tag = "repository",
    security(("account" = [])),
    responses((status = 200, body = api::WatchInfo)),
)]
pub(in crate::http) async fn subscription(
    State(state): State<AppState>,
    caller: Caller<RepositoryScope>,
    Path((owner, name)): RepositoryPath,
) -> Result<JsonResponse<api::WatchInfo>, ApiError> {
    subscription_of(&state, &caller.identity, &owner, &name).await
}

/// Subscribes the caller to a repository.
#[utoipa::path(
    put, path = "",
    operation_id = "userCurrentPutSubscription", tag = "repository",
    security(("account" = [])),
    responses((status = 200, body = api::WatchInfo)),
)]
pub(in crate::http) async fn subscribe(
    State(state): State<AppState>,
    caller: Caller<RepositoryScope>,
    Path((owner, name)): RepositoryPath,
) -> Result<JsonResponse<api::WatchInfo>, ApiError> {
    repositories::add_interest(&state, &caller.identity, Watch, &owner, &name).await?;
    subscription_of(&state, &caller.identity, &owner, &name).await
}

/// Ends the caller's subscription to a repository.
#[utoipa::path(
    delete, path = "",
    operation_id = "userCurrentDeleteSubscription", tag = "repository",
    security(("account" = [])),
    responses((status = 204)),
)]
pub(in crate::http) async fn unsubscribe(
    State(state): State<AppState>,
    caller: Caller<RepositoryScope>,
    Path((owner, name)): RepositoryPath,
) -> Result<StatusCode, ApiError> {
    repositories::remove_interest(&state, &caller.identity, Watch, &owner, &name).await?;
    Ok(StatusCode::NO_CONTENT)
}

async fn subscription_of(
    state: &AppState,
    identity: &Identity,
    owner: &str,
    name: &str,
) -> Result<JsonResponse<api::WatchInfo>, ApiError> {
    let snapshot = state.store.read().await.map_err(Error::from)?;
    let (found, row) = repositories::interest(&snapshot, identity, Watch, owner, name).await?;
    let repository_url = format!("{}/api/v1/repos/{}", state.root_url, found.path());
    Ok(ok(api::WatchInfo {
        subscribed: true,
        created_at: show::time(row.since_ms),
        url: format!("{repository_url}/subscription"),
        repository_url,
        ..api::WatchInfo::default()
    }))
}

async fn own(
    state: &AppState,
    identity: &Identity,
    kind: InterestKind,
    path: &str,
    query: Option<&str>,
) -> Result<Response, ApiError> {
    let id = access::require_account(identity)?.user.id;
    list(state, identity, kind, id, path, query).await
}

async fn of_user(
    state: &AppState,
    identity: &Identity,
    kind: InterestKind,
    name: &str,
    word: &str,
    query: Option<&str>,
) -> Result<Response, ApiError> {
    access::require_account(identity)?;
    let snapshot = state.store.read().await.map_err(Error::from)?;
    let Owner::User(user) = viewer::find(&snapshot, identity, name).await? else {
        return Err(Error::NotFound { what: "the user" }.into());
    };
    drop(snapshot);
    list(state, identity, kind, user.id, &format!("/users/{}/{word}", user.name), query).await
}

async fn list(
    state: &AppState,
    identity: &Identity,
    kind: InterestKind,
    user: u64,
    path: &str,
    query: Option<&str>,
) -> Result<Response, ApiError> {
    let page = PageQuery::of(query);
    let snapshot = state.store.read().await.map_err(Error::from)?;
    let (found, total) = repositories::of_interest(&snapshot, identity, kind, user, page.window()).await?;
    let shown = show::repositories(state, identity, &found).await?;
    Ok(page.response(state, &format!("/api/v1{path}"), query, total, shown))
}

async fn interested(
    state: &AppState,
    identity: &Identity,
    kind: InterestKind,
    (owner, name): (&str, &str),
    word: &str,
    query: Option<&str>,
) -> Result<Response, ApiError> {
    let page = PageQuery::of(query);
    let snapshot = state.store.read().await.map_err(Error::from)?;
    let found = repositories::find(&snapshot, identity, owner, name, Action::Read).await?;
    let id = found.repository.id;
    let (rows, total) = repositories::interested(&snapshot, identity, kind, id, page.window()).await?;
    let shown: Vec<_> = rows.iter().map(|row| show::user(&state.root_url, identity, row)).collect();
    let path = format!("/api/v1/repos/{}/{word}", found.path());
    Ok(page.response(state, &path, query, total, shown))
}
