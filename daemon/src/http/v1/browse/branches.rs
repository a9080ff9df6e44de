//! Branches.

use axum::{
    extract::{Path, RawQuery, State},
    response::{IntoResponse as _, Response},
};
use farrier_common::api;
use http::StatusCode;

use super::{scene, scene_for};
use crate::{
    app::App,
    http::{
        auth::{Caller, OfRepository},
        error::ApiError,
        extract::{Input, Output, created, ok},
        openapi::parameters::Paging,
        page::Page,
    },
    service::{access::Action, browse::branches, ref_changes},
};

/// Branches by name.
#[utoipa::path(
    get, path = "/repos/{owner}/{repo}/branches",
    operation_id = "repoListBranches", tag = "repository",
    params(Paging),
    responses((status = 200, body = Vec<api::Branch>)),
)]
pub(in crate::http) async fn list(
    State(app): State<App>,
    caller: Caller<OfRepository>,
    Path((owner, name)): Path<(String, String)>,
    RawQuery(query): RawQuery,
) -> Result<Response, ApiError> {
    let scene = scene(app, caller, &owner, &name).await?;
    let page = Page::of(query.as_deref());
    let (branches, total) = branches::list(&scene.browse, page.skip(), page.limit).await?;
    let tips: Vec<_> = branches.iter().map(|branch| &branch.commit).collect();
    let gallery = scene.gallery(&tips).await?;
    let shown: Vec<_> = branches.iter().map(|branch| gallery.branch(branch)).collect();
    let address = format!("{}/branches", scene.api);
    Ok((page.headers(&address, query.as_deref(), total), ok(shown)).into_response())
}

/// A branch.
#[utoipa::path(
    get, path = "/repos/{owner}/{repo}/branches/{branch}",
    operation_id = "repoGetBranch", tag = "repository",
    responses((status = 200, body = api::Branch)),
)]
pub(in crate::http) async fn get(
    State(app): State<App>,
    caller: Caller<OfRepository>,
    Path((owner, name, branch)): Path<(String, String, String)>,
) -> Result<Output<api::Branch>, ApiError> {
    let scene = scene(app, caller, &owner, &name).await?;
    let branch = branches::get(&scene.browse, &branch).await?;
    Ok(ok(scene.gallery(&[&branch.commit]).await?.branch(&branch)))
}

/// Makes a branch.
#[utoipa::path(
    post, path = "/repos/{owner}/{repo}/branches",
    operation_id = "repoCreateBranch", tag = "repository",
    request_body = api::CreateBranch,
    responses(
        (status = 201, body = api::Branch),
        (status = 409, description = "There is a branch or tag of that name, or one in its way."),
        (status = 423, description = "The repository is archived."),
    ),
)]
pub(in crate::http) async fn create(
    State(app): State<App>,
    caller: Caller<OfRepository>,
    Path((owner, name)): Path<(String, String)>,
    Input(input): Input<api::CreateBranch>,
) -> Result<Output<api::Branch>, ApiError> {
    let scene = scene_for(app, caller, &owner, &name, Action::Write).await?;
    let from = if input.old_ref_name.is_empty() { &input.old_branch_name } else { &input.old_ref_name };
    let actor = scene.identity.user_id();
    ref_changes::create_branch(&scene.app, &scene.browse, actor, &input.new_branch_name, from).await?;
    let branch = branches::get(&scene.browse, &input.new_branch_name).await?;
    Ok(created(scene.gallery(&[&branch.commit]).await?.branch(&branch)))
}

/// Deletes a branch, but not the default branch.
#[utoipa::path(
    delete, path = "/repos/{owner}/{repo}/branches/{branch}",
    operation_id = "repoDeleteBranch", tag = "repository",
    responses(
        (status = 204),
        (status = 409, description = "Another branch or tag is in the way, or it was moved meanwhile."),
        (status = 423, description = "The repository is archived."),
    ),
)]
pub(in crate::http) async fn delete(
    State(app): State<App>,
    caller: Caller<OfRepository>,
    Path((owner, name, branch)): Path<(String, String, String)>,
) -> Result<StatusCode, ApiError> {
    let scene = scene_for(app, caller, &owner, &name, Action::Write).await?;
    ref_changes::delete_branch(&scene.app, &scene.browse, scene.identity.user_id(), &branch).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Gives a branch another name.
#[utoipa::path(
    patch, path = "/repos/{owner}/{repo}/branches/{branch}",
    operation_id = "repoUpdateBranch", tag = "repository",
    request_body = api::RenameBranch,
    responses((status = 204), (status = 423, description = "The repository is archived.")),
)]
pub(in crate::http) async fn rename(
    State(app): State<App>,
    caller: Caller<OfRepository>,
    Path((owner, name, branch)): Path<(String, String, String)>,
    Input(input): Input<api::RenameBranch>,
) -> Result<StatusCode, ApiError> {
    let scene = scene_for(app, caller, &owner, &name, Action::Write).await?;
    ref_changes::rename_branch(&scene.app, &scene.browse, scene.identity.user_id(), &branch, &input.name).await?;
    Ok(StatusCode::NO_CONTENT)
}
