//! Brings branches of forks up to date with their sources.

use axum::extract::{Path, State};
use farrier_common::api;
use http::StatusCode;

use super::{BrowseContext, browse_context, browse_context_for};
use crate::{
    http::{
        AppState,
        auth::{Caller, RepositoryScope},
        error::ApiError,
        extract::{JsonBody, JsonResponse, ok},
        show::number,
    },
    service::{
        access::{self, Action},
        upstream::{self, MergeType},
    },
};

/// Brings a branch of a fork up to date with the same branch of its source.
#[utoipa::path(
    post, path = "",
    operation_id = "repoMergeUpstream", tag = "repository",
    request_body = api::MergeUpstream,
    responses(
        (status = 200, body = api::MergedUpstream),
        (status = 400, description = "The branch has commits of its own, and `ff_only` is set."),
        (status = 409, description = "The branches have conflicting changes, or a branch was changed meanwhile."),
        (status = 423, description = "The repository is archived."),
    ),
)]
pub(in crate::http) async fn merge(
    State(state): State<AppState>,
    caller: Caller<RepositoryScope>,
    Path((owner, name)): Path<(String, String)>,
    JsonBody(input): JsonBody<api::MergeUpstream>,
) -> Result<JsonResponse<api::MergedUpstream>, ApiError> {
    let context = browse_context_for(state, caller, &owner, &name, Action::Write).await?;
    let merge_type = match run(&context, &input.branch, input.ff_only).await? {
        MergeType::UpToDate => "up-to-date",
        MergeType::FastForward => "fast-forward",
        MergeType::Merge => "merge",
        MergeType::Diverged => return Err(diverged(&input.branch)),
    };
    Ok(ok(api::MergedUpstream { merge_type: merge_type.into() }))
}

/// Compares the default branch of a fork with its source.
#[utoipa::path(
    get, path = "",
    operation_id = "repoSyncForkDefaultInfo", tag = "repository",
    responses(
        (status = 200, body = api::SyncForkInfo),
        (status = 422, description = "The repository is no fork, or the caller cannot read its source."),
    ),
)]
pub(in crate::http) async fn info_of_default(
    State(state): State<AppState>,
    caller: Caller<RepositoryScope>,
    Path((owner, name)): Path<(String, String)>,
) -> Result<JsonResponse<api::SyncForkInfo>, ApiError> {
    let context = browse_context(state, caller, &owner, &name).await?;
    let branch = context.browse.found.repository.default_branch.clone();
    info_of(&context, &branch).await
}

/// Compares a branch of a fork with its source.
#[utoipa::path(
    get, path = "",
    operation_id = "repoSyncForkBranchInfo", tag = "repository",
    responses(
        (status = 200, body = api::SyncForkInfo),
        (status = 422, description = "The repository is no fork, or the caller cannot read its source."),
    ),
)]
pub(in crate::http) async fn info(
    State(state): State<AppState>,
    caller: Caller<RepositoryScope>,
    Path((owner, name, branch)): Path<(String, String, String)>,
) -> Result<JsonResponse<api::SyncForkInfo>, ApiError> {
    info_of(&browse_context(state, caller, &owner, &name).await?, &branch).await
}

/// Moves the default branch of a fork to the commit of its source.
#[utoipa::path(
    post, path = "",
    operation_id = "repoSyncForkDefault", tag = "repository",
    responses(
        (status = 204),
        (status = 400, description = "The branch has commits of its own."),
        (status = 422, description = "The repository is no fork, or the caller cannot read its source."),
        (status = 423, description = "The repository is archived."),
    ),
)]
pub(in crate::http) async fn sync_default(
    State(state): State<AppState>,
    caller: Caller<RepositoryScope>,
    Path((owner, name)): Path<(String, String)>,
) -> Result<StatusCode, ApiError> {
    let context = browse_context_for(state, caller, &owner, &name, Action::Write).await?;
    let branch = context.browse.found.repository.default_branch.clone();
    sync_branch(&context, &branch).await
}

/// Moves a branch of a fork to the commit of its source.
#[utoipa::path(
    post, path = "",
    operation_id = "repoSyncForkBranch", tag = "repository",
    responses(
        (status = 204),
        (status = 400, description = "The branch has commits of its own."),
        (status = 422, description = "The repository is no fork, or the caller cannot read its source."),
        (status = 423, description = "The repository is archived."),
    ),
)]
pub(in crate::http) async fn sync(
    State(state): State<AppState>,
    caller: Caller<RepositoryScope>,
    Path((owner, name, branch)): Path<(String, String, String)>,
) -> Result<StatusCode, ApiError> {
    let context = browse_context_for(state, caller, &owner, &name, Action::Write).await?;
    sync_branch(&context, &branch).await
}

async fn run(context: &BrowseContext, branch: &str, ff_only: bool) -> Result<MergeType, ApiError> {
    let BrowseContext { state, identity, browse, .. } = context;
    let account = access::require_account(identity)?;
    Ok(upstream::merge(state, account, identity, browse, branch, ff_only).await?)
}

async fn info_of(context: &BrowseContext, branch: &str) -> Result<JsonResponse<api::SyncForkInfo>, ApiError> {
    let found = upstream::compare(&context.state, &context.identity, &context.browse, branch).await?;
    Ok(ok(api::SyncForkInfo {
        allowed: found.is_ancestor && found.behind > 0,
        fork_commit: found.fork,
        base_commit: found.source,
        commits_behind: number(found.behind),
    }))
}

async fn sync_branch(context: &BrowseContext, branch: &str) -> Result<StatusCode, ApiError> {
    match run(context, branch, true).await? {
        MergeType::Diverged => Err(diverged(branch)),
        MergeType::UpToDate | MergeType::FastForward | MergeType::Merge => Ok(StatusCode::NO_CONTENT),
    }
}

fn diverged(branch: &str) -> ApiError {
    let text = format!("the branch {branch} has commits that the source does not have; a merge is needed");
    ApiError::new(StatusCode::BAD_REQUEST, text)
}
