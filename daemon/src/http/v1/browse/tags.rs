//! Tags and tag objects.

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
    service::{
        access::{self, Action},
        browse::tags,
        ref_changes,
    },
};

/// Tags by name.
#[utoipa::path(
    get, path = "/repos/{owner}/{repo}/tags",
    operation_id = "repoListTags", tag = "repository",
    params(Paging),
    responses((status = 200, body = Vec<api::Tag>)),
)]
pub(in crate::http) async fn list(
    State(app): State<App>,
    caller: Caller<OfRepository>,
    Path((owner, name)): Path<(String, String)>,
    RawQuery(query): RawQuery,
) -> Result<Response, ApiError> {
    let scene = scene(app, caller, &owner, &name).await?;
    let page = Page::of(query.as_deref());
    let (tags, total) = tags::list(&scene.browse, page.skip(), page.limit).await?;
    let shown: Vec<_> = tags.iter().map(|tag| scene.tag(tag)).collect();
    let address = format!("{}/tags", scene.api);
    Ok((page.headers(&address, query.as_deref(), total), ok(shown)).into_response())
}

/// A tag by its name.
#[utoipa::path(
    get, path = "/repos/{owner}/{repo}/tags/{tag}",
    operation_id = "repoGetTag", tag = "repository",
    responses((status = 200, body = api::Tag)),
)]
pub(in crate::http) async fn get(
    State(app): State<App>,
    caller: Caller<OfRepository>,
    Path((owner, name, tag)): Path<(String, String, String)>,
) -> Result<Output<api::Tag>, ApiError> {
    let scene = scene(app, caller, &owner, &name).await?;
    let tag = tags::get(&scene.browse, &tag).await?;
    Ok(ok(scene.tag(&tag)))
}

/// A tag object.
#[utoipa::path(
    get, path = "/repos/{owner}/{repo}/git/tags/{sha}",
    operation_id = "GetAnnotatedTag", tag = "repository",
    responses((status = 200, body = api::AnnotatedTag), (status = 400, description = "This is no id of an object.")),
)]
pub(in crate::http) async fn annotated(
    State(app): State<App>,
    caller: Caller<OfRepository>,
    Path((owner, name, sha)): Path<(String, String, String)>,
) -> Result<Output<api::AnnotatedTag>, ApiError> {
    let scene = scene(app, caller, &owner, &name).await?;
    let tag = tags::annotated(&scene.browse, &sha).await?;
    Ok(ok(scene.annotated(&tag)))
}

/// Makes a tag: an object of its own when there is a message.
#[utoipa::path(
    post, path = "/repos/{owner}/{repo}/tags",
    operation_id = "repoCreateTag", tag = "repository",
    request_body = api::CreateTag,
    responses(
        (status = 201, body = api::Tag),
        (status = 409, description = "There is a tag of that name, or a branch or tag in its way."),
        (status = 423, description = "The repository is archived."),
    ),
)]
pub(in crate::http) async fn create(
    State(app): State<App>,
    caller: Caller<OfRepository>,
    Path((owner, name)): Path<(String, String)>,
    Input(input): Input<api::CreateTag>,
) -> Result<Output<api::Tag>, ApiError> {
    let scene = scene_for(app, caller, &owner, &name, Action::Write).await?;
    let account = access::require_account(&scene.identity)?;
    let (name, message, target) = (&input.tag_name, &input.message, &input.target);
    ref_changes::create_tag(&scene.app, &scene.browse, account, name, message, target).await?;
    let tag = tags::get(&scene.browse, name).await?;
    Ok(created(scene.tag(&tag)))
}

/// Deletes a tag.
#[utoipa::path(
    delete, path = "/repos/{owner}/{repo}/tags/{tag}",
    operation_id = "repoDeleteTag", tag = "repository",
    responses(
        (status = 204),
        (status = 409, description = "Another branch or tag is in the way, or it was moved meanwhile."),
        (status = 423, description = "The repository is archived."),
    ),
)]
pub(in crate::http) async fn delete(
    State(app): State<App>,
    caller: Caller<OfRepository>,
    Path((owner, name, tag)): Path<(String, String, String)>,
) -> Result<StatusCode, ApiError> {
    let scene = scene_for(app, caller, &owner, &name, Action::Write).await?;
    ref_changes::delete_tag(&scene.app, &scene.browse, scene.identity.user_id(), &tag).await?;
    Ok(StatusCode::NO_CONTENT)
}
