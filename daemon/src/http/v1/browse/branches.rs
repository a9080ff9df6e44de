//! Branches: lists and shows them, and creates, renames and deletes them.

use axum::{
    extract::{Path, RawQuery, State},
    response::{IntoResponse as _, Response},
};
use farrier_common::api;
use http::StatusCode;

use super::{BrowseContext, browse_context, browse_context_for};
use crate::{
    http::{
        AppState,
        auth::{Caller, RepositoryScope},
        error::ApiError,
        extract::{JsonBody, JsonResponse, created, ok},
        openapi::parameters::PageParams,
        page::PageQuery,
    },
    service::{Error, access::Action, browse::branches, ref_changes},
};

/// Lists branches, by name.
#[utoipa::path(
    get, path = "",
    operation_id = "repoListBranches", tag = "repository",
    params(PageParams),
    responses((status = 200, body = Vec<api::Branch>)),
)]
pub(in crate::http) async fn list(
    State(state): State<AppState>,
    caller: Caller<RepositoryScope>,
    Path((owner, name)): Path<(String, String)>,
    RawQuery(query): RawQuery,
) -> Result<Response, ApiError> {
    let context = browse_context(state, caller, &owner, &name).await?;
    let page = PageQuery::of(query.as_deref());
    let (branches, total) = branches::list(&context.browse, page.skip(), page.limit).await?;
    let branches = context.with_rights(branches).await?;
    let tips: Vec<_> = branches.iter().map(|branch| &branch.branch.commit).collect();
    let renderer = context.renderer(&tips).await?;
    let shown: Vec<_> = branches.iter().map(|branch| renderer.branch(branch)).collect();
    let address = format!("{}/branches", context.api);
    Ok((page.headers(&address, query.as_deref(), total), ok(shown)).into_response())
}

/// Returns a branch.
#[utoipa::path(
    get, path = "",
    operation_id = "repoGetBranch", tag = "repository",
    responses((status = 200, body = api::Branch)),
)]
pub(in crate::http) async fn get(
    State(state): State<AppState>,
    caller: Caller<RepositoryScope>,
    Path((owner, name, branch)): Path<(String, String, String)>,
) -> Result<JsonResponse<api::Branch>, ApiError> {
    let context = browse_context(state, caller, &owner, &name).await?;
    Ok(ok(shown(&context, &branch).await?))
}

/// Creates a branch.
#[utoipa::path(
    post, path = "",
    operation_id = "repoCreateBranch", tag = "repository",
    request_body = api::CreateBranch,
    responses(
        (status = 201, body = api::Branch),
        (status = 409, description = "A branch or tag with this name exists, or the name conflicts with another one."),
        (status = 423, description = "The repository is archived."),
    ),
)]
pub(in crate::http) async fn create(
    State(state): State<AppState>,
    caller: Caller<RepositoryScope>,
    Path((owner, name)): Path<(String, String)>,
    JsonBody(input): JsonBody<api::CreateBranch>,
) -> Result<JsonResponse<api::Branch>, ApiError> {
    let context = browse_context_for(state, caller, &owner, &name, Action::Write).await?;
    let from = if input.old_ref_name.is_empty() { &input.old_branch_name } else { &input.old_ref_name };
    let actor = context.identity.user_id();
    ref_changes::create_branch(&context.state, &context.browse, actor, &input.new_branch_name, from).await?;
    Ok(created(shown(&context, &input.new_branch_name).await?))
}

/// Returns the branch `name`.
async fn shown(context: &BrowseContext, name: &str) -> Result<api::Branch, ApiError> {
    let branch = branches::get(&context.browse, name).await?;
    let branches = context.with_rights(vec![branch]).await?;
    let branch = branches.first().ok_or(Error::NotFound { what: "the branch" })?;
    Ok(context.renderer(&[&branch.branch.commit]).await?.branch(branch))
}

/// Deletes a branch. The default branch cannot be deleted.
#[utoipa::path(
    delete, path = "",
    operation_id = "repoDeleteBranch", tag = "repository",
    responses(
        (status = 204),
        (status = 409, description = "The branch was changed concurrently, or conflicts with another branch or tag."),
        (status = 423, description = "The repository is archived."),
    ),
)]
pub(in crate::http) async fn delete(
    State(state): State<AppState>,
    caller: Caller<RepositoryScope>,
    Path((owner, name, branch)): Path<(String, String, String)>,
) -> Result<StatusCode, ApiError> {
    let context = browse_context_for(state, caller, &owner, &name, Action::Write).await?;
    ref_changes::delete_branch(&context.state, &context.browse, context.identity.user_id(), &branch).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Moves a branch to another commit.
#[utoipa::path(
    put, path = "",
    operation_id = "repoUpdateBranchReference", tag = "repository",
    request_body = api::MoveBranch,
    responses(
        (status = 204),
        (status = 409, description = "The branch was changed concurrently."),
        (status = 423, description = "The repository is archived."),
    ),
)]
pub(in crate::http) async fn update(
    State(state): State<AppState>,
    caller: Caller<RepositoryScope>,
    Path((owner, name, branch)): Path<(String, String, String)>,
    JsonBody(input): JsonBody<api::MoveBranch>,
) -> Result<StatusCode, ApiError> {
    let context = browse_context_for(state, caller, &owner, &name, Action::Write).await?;
    let (actor, ids) = (context.identity.user_id(), (input.old_commit_id.as_str(), input.new_commit_id.as_str()));
    ref_changes::update_branch(&context.state, &context.browse, actor, &branch, ids, input.force).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Renames a branch.
#[utoipa::path(
    patch, path = "",
    operation_id = "repoUpdateBranch", tag = "repository",
    request_body = api::RenameBranch,
    responses((status = 204), (status = 423, description = "The repository is archived.")),
)]
pub(in crate::http) async fn rename(
    State(state): State<AppState>,
    caller: Caller<RepositoryScope>,
    Path((owner, name, branch)): Path<(String, String, String)>,
    JsonBody(input): JsonBody<api::RenameBranch>,
) -> Result<StatusCode, ApiError> {
    let context = browse_context_for(state, caller, &owner, &name, Action::Write).await?;
    ref_changes::rename_branch(&context.state, &context.browse, context.identity.user_id(), &branch, &input.name)
        .await?;
    Ok(StatusCode::NO_CONTENT)
}
