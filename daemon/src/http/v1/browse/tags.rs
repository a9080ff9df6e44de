//! Tags and tag objects: lists and shows them, and creates and deletes tags.

use axum::{
    extract::{Path, RawQuery, State},
    response::{IntoResponse as _, Response},
};
use farrier_common::api;
use http::StatusCode;

use super::{browse_context, browse_context_for};
use crate::{
    http::{
        AppState,
        auth::{Caller, RepositoryScope},
        error::ApiError,
        extract::{JsonBody, JsonResponse, created, ok},
        openapi::parameters::PageParams,
        page::PageQuery,
    },
    service::{
        access::{self, Action},
        browse::tags,
        ref_changes,
        signatures::SignedObject,
    },
};

/// Lists tags, by name.
#[utoipa::path(
    get, path = "",
    operation_id = "repoListTags", tag = "repository",
    params(PageParams),
    responses((status = 200, body = Vec<api::Tag>)),
)]
pub(in crate::http) async fn list(
    State(state): State<AppState>,
    caller: Caller<RepositoryScope>,
    Path((owner, name)): Path<(String, String)>,
    RawQuery(query): RawQuery,
) -> Result<Response, ApiError> {
    let context = browse_context(state, caller, &owner, &name).await?;
    let page = PageQuery::of(query.as_deref());
    let (tags, total) = tags::list(&context.browse, page.skip(), page.limit).await?;
    let shown: Vec<_> = tags.iter().map(|tag| context.tag(tag)).collect();
    let address = format!("{}/tags", context.api);
    Ok((page.headers(&address, query.as_deref(), total), ok(shown)).into_response())
}

/// Returns a tag by its name.
#[utoipa::path(
    get, path = "",
    operation_id = "repoGetTag", tag = "repository",
    responses((status = 200, body = api::Tag)),
)]
pub(in crate::http) async fn get(
    State(state): State<AppState>,
    caller: Caller<RepositoryScope>,
    Path((owner, name, tag)): Path<(String, String, String)>,
) -> Result<JsonResponse<api::Tag>, ApiError> {
    let context = browse_context(state, caller, &owner, &name).await?;
    let tag = tags::get(&context.browse, &tag).await?;
    Ok(ok(context.tag(&tag)))
}

/// Returns a tag object.
#[utoipa::path(
    get, path = "",
    operation_id = "GetAnnotatedTag", tag = "repository",
    responses(
        (status = 200, body = api::AnnotatedTag),
        (status = 400, description = "The text is not the id of an object."),
    ),
)]
pub(in crate::http) async fn annotated(
    State(state): State<AppState>,
    caller: Caller<RepositoryScope>,
    Path((owner, name, sha)): Path<(String, String, String)>,
) -> Result<JsonResponse<api::AnnotatedTag>, ApiError> {
    let context = browse_context(state, caller, &owner, &name).await?;
    let tag = tags::annotated(&context.browse, &sha).await?;
    let signed: Vec<_> = SignedObject::of_tag(&tag).into_iter().collect();
    let verdicts = context.verdicts(&signed).await?;
    Ok(ok(context.annotated(&tag, verdicts.get(&tag.id))))
}

/// Creates a tag: an annotated one if `message` is set.
#[utoipa::path(
    post, path = "",
    operation_id = "repoCreateTag", tag = "repository",
    request_body = api::CreateTag,
    responses(
        (status = 201, body = api::Tag),
        (status = 409, description = "A tag with this name exists, or the name conflicts with another branch or tag."),
        (status = 423, description = "The repository is archived."),
    ),
)]
pub(in crate::http) async fn create(
    State(state): State<AppState>,
    caller: Caller<RepositoryScope>,
    Path((owner, name)): Path<(String, String)>,
    JsonBody(input): JsonBody<api::CreateTag>,
) -> Result<JsonResponse<api::Tag>, ApiError> {
    let context = browse_context_for(state, caller, &owner, &name, Action::Write).await?;
    let account = access::require_account(&context.identity)?;
    let (name, message, target) = (&input.tag_name, &input.message, &input.target);
    ref_changes::create_tag(&context.state, &context.browse, account, name, message, target).await?;
    let tag = tags::get(&context.browse, name).await?;
    Ok(created(context.tag(&tag)))
}

/// Deletes a tag.
#[utoipa::path(
    delete, path = "",
    operation_id = "repoDeleteTag", tag = "repository",
    responses(
        (status = 204),
        (status = 409, description = "The tag was changed concurrently, or conflicts with another branch or tag."),
        (status = 423, description = "The repository is archived."),
    ),
)]
pub(in crate::http) async fn delete(
    State(state): State<AppState>,
    caller: Caller<RepositoryScope>,
    Path((owner, name, tag)): Path<(String, String, String)>,
) -> Result<StatusCode, ApiError> {
    let context = browse_context_for(state, caller, &owner, &name, Action::Write).await?;
    ref_changes::delete_tag(&context.state, &context.browse, context.identity.user_id(), &tag).await?;
    Ok(StatusCode::NO_CONTENT)
}
