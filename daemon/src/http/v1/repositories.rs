//! One repository: making, showing, changing, deleting it.

use axum::{
    extract::{Path, RawQuery, State},
    response::{IntoResponse as _, Response},
};
use farrier_common::api;
use farrier_proto::store::OwnerKind;
use http::StatusCode;

use crate::{
    app::App,
    http::{
        auth::{Caller, OfAdmin, OfOrganization, OfOrganizationRepository, OfRepository, OfUserRepository},
        error::ApiError,
        extract::{Input, Output, created, ok},
        if_match::{Editable, IfMatch},
        openapi::parameters::{IfMatchHeader, Paging},
        page::Page,
        show,
    },
    model::{identity::Identity, revision::Revision},
    service::{
        Error,
        access::{self, Action},
        repositories::{self, For, Found},
        viewer,
    },
};

type Shown = Result<Output<api::Repository>, ApiError>;
type ShownEditable = Result<Editable<api::Repository>, ApiError>;

fn editable(app: &App, identity: &Identity, found: &Found) -> Editable<api::Repository> {
    Editable(ok(show::repository(app, identity, found)), Revision::of_repository(&found.repository))
}

/// A repository.
#[utoipa::path(
    get, path = "/repos/{owner}/{repo}",
    operation_id = "repoGet", tag = "repository",
    responses((status = 200, body = api::Repository)),
)]
pub(in crate::http) async fn get(
    State(app): State<App>,
    caller: Caller<OfRepository>,
    Path((owner, name)): Path<(String, String)>,
) -> ShownEditable {
    let snapshot = app.store.read().await.map_err(Error::from)?;
    let found = repositories::find(&snapshot, &caller.identity, &owner, &name, Action::Read).await?;
    Ok(editable(&app, &caller.identity, &found))
}

/// A repository by its number.
#[utoipa::path(
    get, path = "/repositories/{id}",
    operation_id = "repoGetByID", tag = "repository",
    security(("account" = [])),
    responses((status = 200, body = api::Repository)),
)]
pub(in crate::http) async fn get_by_id(
    State(app): State<App>,
    caller: Caller<OfRepository>,
    Path(id): Path<String>,
) -> ShownEditable {
    let snapshot = app.store.read().await.map_err(Error::from)?;
    let found = repositories::find_by_id(&snapshot, &caller.identity, id.parse().unwrap_or(0)).await?;
    Ok(editable(&app, &caller.identity, &found))
}

/// Makes a repository of the caller.
#[utoipa::path(
    post, path = "/user/repos",
    operation_id = "createCurrentUserRepo", tag = "repository",
    request_body = api::CreateRepository,
    responses(
        (status = 201, body = api::Repository),
        (status = 400, description = "There is no such readme."),
        (status = 409, description = "The owner has a repository of that name."),
    ),
)]
pub(in crate::http) async fn create_own(
    State(app): State<App>,
    caller: Caller<OfUserRepository>,
    Input(input): Input<api::CreateRepository>,
) -> Shown {
    create(&app, &caller.identity, For::Caller, input).await
}

/// Makes a repository of an organisation.
#[utoipa::path(
    post, path = "/orgs/{name}/repos",
    operation_id = "createOrgRepo", tag = "organization",
    request_body = api::CreateRepository,
    responses(
        (status = 201, body = api::Repository),
        (status = 400, description = "There is no such readme."),
        (status = 409, description = "The owner has a repository of that name."),
    ),
)]
pub(in crate::http) async fn create_in_org(
    State(app): State<App>,
    caller: Caller<OfOrganizationRepository>,
    Path(name): Path<String>,
    Input(input): Input<api::CreateRepository>,
) -> Shown {
    create(&app, &caller.identity, For::Org(&name), input).await
}

/// Makes a repository of an account.
#[utoipa::path(
    post, path = "/admin/users/{name}/repos",
    operation_id = "adminCreateRepo", tag = "admin",
    request_body = api::CreateRepository,
    responses(
        (status = 201, body = api::Repository),
        (status = 400, description = "There is no such readme."),
        (status = 409, description = "The owner has a repository of that name."),
    ),
)]
pub(in crate::http) async fn create_for(
    State(app): State<App>,
    caller: Caller<OfAdmin>,
    Path(owner): Path<String>,
    Input(input): Input<api::CreateRepository>,
) -> Shown {
    create(&app, &caller.identity, For::Anyone(&owner), input).await
}

async fn create(app: &App, identity: &Identity, owner: For<'_>, input: api::CreateRepository) -> Shown {
    let made: Result<Found, Error> = repositories::make(app, identity, owner, input).await;
    let made = made.map_err(|error| match error {
        // The API family answers 400 to this one field.
        Error::Invalid { field: "readme", reason } => ApiError::new(StatusCode::BAD_REQUEST, reason),
        other => other.into(),
    })?;
    Ok(created(show::repository(app, identity, &made)))
}

/// Changes a repository; what is absent stays.
#[utoipa::path(
    patch, path = "/repos/{owner}/{repo}",
    operation_id = "repoEdit", tag = "repository",
    params(IfMatchHeader),
    request_body = api::EditRepository,
    responses((status = 200, body = api::Repository)),
)]
pub(in crate::http) async fn edit(
    State(app): State<App>,
    caller: Caller<OfRepository>,
    Path((owner, name)): Path<(String, String)>,
    IfMatch(expected): IfMatch,
    Input(input): Input<api::EditRepository>,
) -> ShownEditable {
    let changed = repositories::edit(&app, &caller.identity, &owner, &name, &input, &expected).await?;
    Ok(editable(&app, &caller.identity, &changed))
}

/// Deletes a repository with all that it holds.
#[utoipa::path(
    delete, path = "/repos/{owner}/{repo}",
    operation_id = "repoDelete", tag = "repository",
    params(IfMatchHeader),
    responses((status = 204)),
)]
pub(in crate::http) async fn delete(
    State(app): State<App>,
    caller: Caller<OfRepository>,
    Path((owner, name)): Path<(String, String)>,
    IfMatch(expected): IfMatch,
) -> Result<StatusCode, ApiError> {
    repositories::delete(&app, &caller.identity, &owner, &name, &expected).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Deletes all repositories of an organisation, or none of them if the request fails. 202 when there were
/// some, which are deleted when the answer is sent; 204 when there were none.
#[utoipa::path(
    delete, path = "/orgs/{name}/repos",
    operation_id = "orgDeleteRepos", tag = "organization",
    responses((status = 202), (status = 204)),
)]
pub(in crate::http) async fn delete_all(
    State(app): State<App>,
    caller: Caller<OfOrganization>,
    Path(name): Path<String>,
) -> Result<StatusCode, ApiError> {
    let snapshot = app.store.read().await.map_err(Error::from)?;
    let owner = viewer::find_of_kind(&snapshot, &caller.identity, &name, OwnerKind::Org).await?;
    let rights = access::owns(&snapshot, &caller.identity, &owner).await.map_err(Error::from)?;
    drop(snapshot);
    access::require_account(&caller.identity)?;
    if !rights {
        return Err(
            Error::Forbidden { reason: "only owners of the organisation delete its repositories".into() }.into()
        );
    }
    let deleted = repositories::delete_all(&app, &caller.identity, &owner).await?;
    Ok(if deleted == 0 { StatusCode::NO_CONTENT } else { StatusCode::ACCEPTED })
}

/// Forks of a repository: there are none.
#[utoipa::path(
    get, path = "/repos/{owner}/{repo}/forks",
    operation_id = "listForks", tag = "repository",
    params(Paging),
    responses((status = 200, body = Vec<api::Repository>)),
)]
pub(in crate::http) async fn forks(
    State(app): State<App>,
    caller: Caller<OfRepository>,
    Path((owner, name)): Path<(String, String)>,
    RawQuery(query): RawQuery,
) -> Result<Response, ApiError> {
    let snapshot = app.store.read().await.map_err(Error::from)?;
    repositories::find(&snapshot, &caller.identity, &owner, &name, Action::Read).await?;
    let headers = Page::of(query.as_deref()).headers("", query.as_deref(), 0);
    Ok((headers, ok(Vec::<api::Repository>::new())).into_response())
}

/// `POST /repos/{owner}/{repo}/forks`: not built. Without this, the list above would make it 405.
pub(in crate::http) async fn fork() -> ApiError {
    ApiError::no_route()
}
