//! Administration of accounts and organizations.

use axum::{
    extract::{Path, RawQuery, State},
    response::Response,
};
use farrier_common::api;
use farrier_proto::store::Visibility;
use http::StatusCode;

use crate::{
    http::{
        AppState,
        auth::{AdminScope, Caller},
        error::ApiError,
        extract::{JsonBody, JsonResponse, created, ok},
        openapi::parameters::{DeleteUserParams, ListUsersParams, PageParams},
        page::PageQuery,
        query, show,
    },
    service::{
        Error,
        accounts::{self, AccountFilter, AccountOrder},
        orgs,
        viewer::{self, Viewer},
    },
};

const ORDERS: &[(&str, AccountOrder)] = &[
    ("id", AccountOrder::Id),
    ("name", AccountOrder::Name),
    ("created", AccountOrder::Created),
    ("updated", AccountOrder::Updated),
];
const VISIBILITIES: &[(&str, Visibility)] =
    &[("public", Visibility::Public), ("limited", Visibility::Limited), ("private", Visibility::Private)];

/// Lists accounts.
#[utoipa::path(
    get, path = "",
    operation_id = "adminSearchUsers", tag = "admin",
    params(ListUsersParams, PageParams),
    security(("account" = [])),
    responses((status = 200, body = Vec<api::User>), (status = 422, description = "A query parameter is not valid.")),
)]
pub(in crate::http) async fn list_users(
    State(state): State<AppState>,
    caller: Caller<AdminScope>,
    RawQuery(query): RawQuery,
) -> Result<Response, ApiError> {
    let query = query.as_deref();
    let page = PageQuery::of(query);
    let filter = AccountFilter {
        text: query::value(query, "q"),
        in_email: true,
        in_hidden_email: true,
        id: None,
        active: query::flag(query, "is_active"),
        admin: query::flag(query, "is_admin"),
        restricted: query::flag(query, "is_restricted"),
        prohibited: query::flag(query, "is_prohibit_login"),
        visibility: query::one_of(query, "visibility", VISIBILITIES)?,
    };
    let order = query::one_of(query, "sort", ORDERS)?.unwrap_or_default();
    let reverse = query::one_of(query, "order", &[("asc", false), ("desc", true)])?.unwrap_or_default();
    let snapshot = state.store.read().await.map_err(Error::from)?;
    let viewer = Viewer::of(&snapshot, &caller.identity).await.map_err(Error::from)?;
    // External sources and second factors are not supported, so these filters match no account.
    let external = query::value(query, "source_id").is_some_and(|source| source != "0");
    let matches_none =
        external || query::value(query, "login_name").is_some() || query::flag(query, "is_2fa_enabled") == Some(true);
    let (rows, total) = if matches_none {
        (Vec::new(), 0)
    } else {
        accounts::list(&snapshot, &viewer, &filter, (order, reverse), page.window()).await?
    };
    let shown: Vec<_> = rows.iter().map(|row| show::user(&state.root_url, &caller.identity, row)).collect();
    Ok(page.response(&state, "/api/v1/admin/users", query, total, shown))
}

/// Creates an account.
#[utoipa::path(
    post, path = "",
    operation_id = "adminCreateUser", tag = "admin",
    request_body = api::CreateUser,
    responses((status = 201, body = api::User), (status = 400, description = "The password is not valid.")),
)]
pub(in crate::http) async fn create_user(
    State(state): State<AppState>,
    caller: Caller<AdminScope>,
    JsonBody(input): JsonBody<api::CreateUser>,
) -> Result<JsonResponse<api::User>, ApiError> {
    let created_user = accounts::create(&state, &caller.identity, input).await;
    let user = created_user.map_err(|error| ApiError::bad_request_for(error, &["password"]))?;
    Ok(created(show::user(&state.root_url, &caller.identity, &user)))
}

/// Changes an account. Absent fields keep their values.
#[utoipa::path(
    patch, path = "",
    operation_id = "adminEditUser", tag = "admin",
    request_body = api::EditUser,
    responses(
        (status = 200, body = api::User),
        (
            status = 400,
            description = "The password or the email address is not valid, or it is the built-in administrator.",
        ),
    ),
)]
pub(in crate::http) async fn edit_user(
    State(state): State<AppState>,
    caller: Caller<AdminScope>,
    Path(name): Path<String>,
    JsonBody(input): JsonBody<api::EditUser>,
) -> Result<JsonResponse<api::User>, ApiError> {
    let edited = accounts::edit(&state, &caller.identity, &name, input).await;
    let user = edited.map_err(|error| ApiError::bad_request_for(error, &["password", "email", "admin"]))?;
    Ok(ok(show::user(&state.root_url, &caller.identity, &user)))
}

/// Deletes an account.
#[utoipa::path(
    delete, path = "",
    operation_id = "adminDeleteUser", tag = "admin",
    params(DeleteUserParams),
    responses(
        (status = 204),
        (
            status = 422,
            description = "The account is the caller's own, is built in, or owns a repository or organization.",
        ),
    ),
)]
pub(in crate::http) async fn delete_user(
    State(state): State<AppState>,
    caller: Caller<AdminScope>,
    Path(name): Path<String>,
    RawQuery(query): RawQuery,
) -> Result<StatusCode, ApiError> {
    let purge = query::flag(query.as_deref(), "purge") == Some(true);
    accounts::delete(&state, &caller.identity, &name, purge).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Renames an account. The old name redirects to the new one.
#[utoipa::path(
    post, path = "",
    operation_id = "adminRenameUser", tag = "admin",
    request_body = api::RenameUser,
    responses((status = 204)),
)]
pub(in crate::http) async fn rename_user(
    State(state): State<AppState>,
    caller: Caller<AdminScope>,
    Path(name): Path<String>,
    JsonBody(input): JsonBody<api::RenameUser>,
) -> Result<StatusCode, ApiError> {
    accounts::rename(&state, &caller.identity, &name, &input.new_username).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Creates an organization that an account owns.
#[utoipa::path(
    post, path = "",
    operation_id = "adminCreateOrg", tag = "admin",
    request_body = api::CreateOrg,
    responses((status = 201, body = api::Organization)),
)]
pub(in crate::http) async fn create_org(
    State(state): State<AppState>,
    caller: Caller<AdminScope>,
    Path(owner): Path<String>,
    JsonBody(input): JsonBody<api::CreateOrg>,
) -> Result<JsonResponse<api::Organization>, ApiError> {
    let org = orgs::create(&state, &caller.identity, Some(&owner), input).await?;
    Ok(created(show::organization(&state.root_url, &caller.identity, &org)))
}

/// Lists the organizations of an account.
#[utoipa::path(
    get, path = "",
    operation_id = "adminListUserOrgs", tag = "admin",
    params(PageParams),
    security(("account" = [])),
    responses((status = 200, body = Vec<api::Organization>)),
)]
pub(in crate::http) async fn orgs_of(
    State(state): State<AppState>,
    caller: Caller<AdminScope>,
    Path(name): Path<String>,
    RawQuery(query): RawQuery,
) -> Result<Response, ApiError> {
    let page = PageQuery::of(query.as_deref());
    let snapshot = state.store.read().await.map_err(Error::from)?;
    let user = viewer::find(&snapshot, &caller.identity, &name).await?;
    let viewer = Viewer::of(&snapshot, &caller.identity).await.map_err(Error::from)?;
    let (rows, total) = page.cut(orgs::of_user(&snapshot, &viewer, user.id()).await?);
    let shown: Vec<_> = rows.iter().map(|row| show::organization(&state.root_url, &caller.identity, row)).collect();
    Ok(page.response(&state, &format!("/api/v1/admin/users/{name}/orgs"), query.as_deref(), total, shown))
}

/// Lists all organizations.
#[utoipa::path(
    get, path = "",
    operation_id = "adminGetAllOrgs", tag = "admin",
    params(PageParams),
    security(("account" = [])),
    responses((status = 200, body = Vec<api::Organization>)),
)]
pub(in crate::http) async fn list_orgs(
    State(state): State<AppState>,
    caller: Caller<AdminScope>,
    RawQuery(query): RawQuery,
) -> Result<Response, ApiError> {
    let page = PageQuery::of(query.as_deref());
    let snapshot = state.store.read().await.map_err(Error::from)?;
    let viewer = Viewer::of(&snapshot, &caller.identity).await.map_err(Error::from)?;
    let (rows, total) = orgs::list(&snapshot, &viewer, page.window()).await?;
    let shown: Vec<_> = rows.iter().map(|row| show::organization(&state.root_url, &caller.identity, row)).collect();
    Ok(page.response(&state, "/api/v1/admin/orgs", query.as_deref(), total, shown))
}
