//! Lists of repositories: the caller's, those of an owner, and search.

use axum::{
    extract::{Path, RawQuery, State},
    response::{IntoResponse as _, Response},
};
use farrier_common::api;
use farrier_proto::store::OwnerKind;
use http::HeaderMap;

use crate::{
    http::{
        AppState,
        auth::{Caller, OrganizationScope, RepositoryScope, UserRepositoryScopes},
        error::ApiError,
        extract::ok,
        openapi::parameters::{OwnRepositoriesParams, PageParams, SearchRepositoriesParams},
        page::PageQuery,
        show,
    },
    model::identity::Identity,
    service::{
        Error,
        repositories::{self, FoundRepository, ListMode, RepositoryQuery, SearchedText},
        viewer,
    },
    store::listings::{ListingFilter, Sort},
};

/// Lists the repositories that the caller or the caller's organizations own, or that the caller collaborates on.
#[utoipa::path(
    get, path = "",
    operation_id = "userCurrentListRepos", tag = "repository",
    params(OwnRepositoriesParams, PageParams),
    security(("account" = [])),
    responses((status = 200, body = Vec<api::Repository>), (status = 422, description = "The order is not valid.")),
)]
pub(in crate::http) async fn own(
    State(state): State<AppState>,
    caller: Caller<UserRepositoryScopes>,
    RawQuery(query): RawQuery,
) -> Result<Response, ApiError> {
    let query = query.as_deref();
    let order = order_by(&text(query, "order_by"))?;
    let page = PageQuery::of(query);
    let snapshot = state.store.read().await.map_err(Error::from)?;
    let found = repositories::reachable(&snapshot, &caller.identity, order, page.skip(), page.limit).await?;
    list(&state, &caller.identity, found, page, "/user/repos", query).await
}

/// Lists the repositories of an account that the caller sees.
#[utoipa::path(
    get, path = "",
    operation_id = "userListRepos", tag = "repository",
    params(PageParams),
    responses((status = 200, body = Vec<api::Repository>)),
)]
pub(in crate::http) async fn of_user(
    State(state): State<AppState>,
    caller: Caller<UserRepositoryScopes>,
    Path(name): Path<String>,
    RawQuery(query): RawQuery,
) -> Result<Response, ApiError> {
    of_owner(&state, &caller.identity, &name, query.as_deref(), "users").await
}

/// Lists the repositories of an organization that the caller sees.
#[utoipa::path(
    get, path = "",
    operation_id = "orgListRepos", tag = "organization",
    params(PageParams),
    responses((status = 200, body = Vec<api::Repository>)),
)]
pub(in crate::http) async fn of_org(
    State(state): State<AppState>,
    caller: Caller<OrganizationScope>,
    Path(name): Path<String>,
    RawQuery(query): RawQuery,
) -> Result<Response, ApiError> {
    of_owner(&state, &caller.identity, &name, query.as_deref(), "orgs").await
}

async fn of_owner(
    state: &AppState,
    identity: &Identity,
    name: &str,
    query: Option<&str>,
    kind: &str,
) -> Result<Response, ApiError> {
    let snapshot = state.store.read().await.map_err(Error::from)?;
    let owner_kind = if kind == "orgs" { OwnerKind::Org } else { OwnerKind::User };
    let owner = viewer::find_of_kind(&snapshot, identity, name, owner_kind).await?;
    let page = PageQuery::of(query);
    let found = repositories::of_owner(&snapshot, identity, &owner, page.skip(), page.limit).await?;
    list(state, identity, found, page, &format!("/{kind}/{}/repos", owner.name()), query).await
}

/// Searches the repositories that the caller sees.
#[utoipa::path(
    get, path = "",
    operation_id = "repoSearch", tag = "repository",
    params(SearchRepositoriesParams, PageParams),
    responses(
        (status = 200, body = api::RepositorySearch),
        (status = 422, description = "A query parameter is not valid."),
    ),
)]
pub(in crate::http) async fn search(
    State(state): State<AppState>,
    caller: Caller<RepositoryScope>,
    RawQuery(query): RawQuery,
) -> Result<Response, ApiError> {
    let query = query.as_deref();
    let selection = parse_query(query)?;
    let page = PageQuery::of(query);
    let snapshot = state.store.read().await.map_err(Error::from)?;
    let (found, total) = repositories::list(&snapshot, &caller.identity, &selection, page.skip(), page.limit).await?;
    let data = show::repositories(&state, &caller.identity, &found).await?;
    let headers = headers(&state, page, "/repos/search", query, total);
    Ok((headers, ok(api::RepositorySearch { ok: true, data })).into_response())
}

async fn list(
    state: &AppState,
    identity: &Identity,
    (found, total): (Vec<FoundRepository>, u64),
    page: PageQuery,
    path: &str,
    query: Option<&str>,
) -> Result<Response, ApiError> {
    let shown = show::repositories(state, identity, &found).await?;
    Ok((headers(state, page, path, query, total), ok(shown)).into_response())
}

fn headers(state: &AppState, page: PageQuery, path: &str, query: Option<&str>, total: u64) -> HeaderMap {
    page.headers(&format!("{}/api/v1{path}", state.root_url), query, total)
}

/// Returns a parameter, or an empty string if it is absent.
fn text(query: Option<&str>, name: &str) -> String {
    let mut pairs = url::form_urlencoded::parse(query.unwrap_or_default().as_bytes());
    pairs.find(|(key, _)| key == name).map(|(_, value)| value.into_owned()).unwrap_or_default()
}

/// Returns a boolean parameter, or `None` if it is absent or not a boolean.
fn flag(query: Option<&str>, name: &str) -> Option<bool> {
    match text(query, name).as_str() {
        "1" | "t" | "T" | "true" | "TRUE" | "True" => Some(true),
        "0" | "f" | "F" | "false" | "FALSE" | "False" => Some(false),
        _ => None,
    }
}

fn number(query: Option<&str>, name: &str) -> u64 {
    text(query, name).parse().unwrap_or(0)
}

/// Reads the parameters of a search. Filters by stars are not supported and match nothing.
fn parse_query(query: Option<&str>) -> Result<RepositoryQuery, ApiError> {
    let matches_none = number(query, "starredBy") != 0;
    let mode = match text(query, "mode").as_str() {
        _ if matches_none => ListMode::Nothing,
        "" => ListMode::Any,
        "source" => ListMode::Source,
        "fork" => ListMode::Fork,
        "mirror" => ListMode::Mirror,
        "collaborative" => ListMode::Collaborative,
        other => return Err(ApiError::unprocessable("mode", format!("[ListMode]: invalid search mode: {other:?}"))),
    };
    let (sort, reverse) = sort(&text(query, "sort"), &text(query, "order"))?;
    let private = match (flag(query, "private"), flag(query, "is_private")) {
        (Some(false), _) => Some(false),
        (_, is_private) => is_private,
    };
    Ok(RepositoryQuery {
        text: text(query, "q").trim().to_owned(),
        searched: match (flag(query, "topic"), flag(query, "includeDesc")) {
            (Some(true), _) => SearchedText::Topics,
            (_, Some(true)) => SearchedText::NamesAndDescriptions,
            _ => SearchedText::Names,
        },
        owner: number(query, "uid"),
        exclusive: flag(query, "exclusive") == Some(true),
        team: number(query, "team_id"),
        mode,
        sort,
        reverse,
        filter: ListingFilter {
            private,
            template: flag(query, "template"),
            archived: flag(query, "archived"),
            ..ListingFilter::default()
        },
    })
}

/// Reads `sort` and `order`. There is no list by the size of LFS objects, so `lfs_size` sorts by number.
fn sort(sort: &str, order: &str) -> Result<(Sort, bool), ApiError> {
    let sorted = match sort {
        "" => return Ok((Sort::Id, false)),
        "alpha" => Sort::Name,
        "updated" => Sort::Updated,
        "size" | "git_size" => Sort::Size,
        "stars" => Sort::Stars,
        "forks" => Sort::Forks,
        "created" | "id" | "lfs_size" => Sort::Id,
        other => return Err(ApiError::unprocessable("sort", format!("[Sort]: invalid sort mode: {other:?}"))),
    };
    match order {
        "" | "asc" => Ok((sorted, false)),
        "desc" => Ok((sorted, true)),
        other => Err(ApiError::unprocessable("order", format!("[Order]: invalid sort order: {other:?}"))),
    }
}

/// Reads `order_by`.
fn order_by(word: &str) -> Result<(Sort, bool), ApiError> {
    Ok(match word {
        "" | "id" | "oldest" | "lfssize" => (Sort::Id, false),
        "moststars" => (Sort::Stars, true),
        "feweststars" => (Sort::Stars, false),
        "mostforks" => (Sort::Forks, true),
        "fewestforks" => (Sort::Forks, false),
        "newest" | "reverselfssize" => (Sort::Id, true),
        "name" | "alphabetically" => (Sort::Name, false),
        "reversealphabetically" => (Sort::Name, true),
        "recentupdate" => (Sort::Updated, true),
        "leastupdate" => (Sort::Updated, false),
        "size" | "gitsize" => (Sort::Size, false),
        "reversesize" | "reversegitsize" => (Sort::Size, true),
        other => return Err(ApiError::unprocessable("order_by", format!("[OrderBy]: invalid order: {other:?}"))),
    })
}
