//! Changes of files.

use axum::extract::{FromRequest, Path, RawQuery, Request, State};
use bytes::Bytes;
use farrier_common::api;
use http::StatusCode;
use serde::de::DeserializeOwned;

use super::{
    BrowseContext, QueryParams, browse_context_for, contents,
    show::{own_time, time, verification},
};
use crate::{
    git::read::commit::{CommitObject, Person},
    http::{
        AppState,
        auth::{Caller, RepositoryScope},
        error::ApiError,
        extract::{self, JsonResponse, created, ok},
        openapi::parameters::DeleteFileParams,
    },
    service::{
        Error,
        access::{self, Action},
        browse::contents::ContentEntry,
        file_changes::{self, Committed, Edit, FileChange},
    },
};

/// Longest body of a request that changes files, in bytes.
const BODY_MAX_BYTES: usize = 32 << 20;

/// A JSON body that may be larger than others.
pub(in crate::http) struct LargeBody<T>(T);

impl<T: DeserializeOwned> FromRequest<AppState> for LargeBody<T> {
    type Rejection = ApiError;

    async fn from_request(request: Request, state: &AppState) -> Result<Self, ApiError> {
        let (parts, body) = request.into_parts();
        let limit = state.config.server.max_body_bytes.max(BODY_MAX_BYTES);
        let bytes = extract::collect(&parts.extensions, body, limit).await?;
        extract::parse(&parts.headers, &bytes).map(Self)
    }
}

type FilePath = Path<(String, String, String)>;

/// Adds a file.
#[utoipa::path(
    post, path = "",
    operation_id = "repoCreateFile", tag = "repository",
    request_body = api::ChangeFile,
    responses(
        (status = 201, body = api::ChangedFileResult),
        (status = 409, description = "The branch was changed meanwhile."),
        (status = 423, description = "The repository is archived."),
    ),
)]
pub(in crate::http) async fn create(
    State(state): State<AppState>,
    caller: Caller<RepositoryScope>,
    Path((owner, name, path)): FilePath,
    LargeBody(input): LargeBody<api::ChangeFile>,
) -> Result<JsonResponse<api::ChangedFileResult>, ApiError> {
    let context = browse_context_for(state, caller, &owner, &name, Action::Write).await?;
    change_one(&context, "create", path, input).await.map(created)
}

/// Replaces or moves a file. Without `sha`, adds a file.
#[utoipa::path(
    put, path = "",
    operation_id = "repoUpdateFile", tag = "repository",
    request_body = api::ChangeFile,
    responses(
        (status = 200, body = api::ChangedFileResult),
        (status = 201, body = api::ChangedFileResult),
        (status = 409, description = "The branch was changed meanwhile."),
        (status = 423, description = "The repository is archived."),
    ),
)]
pub(in crate::http) async fn update(
    State(state): State<AppState>,
    caller: Caller<RepositoryScope>,
    Path((owner, name, path)): FilePath,
    LargeBody(input): LargeBody<api::ChangeFile>,
) -> Result<JsonResponse<api::ChangedFileResult>, ApiError> {
    let context = browse_context_for(state, caller, &owner, &name, Action::Write).await?;
    if input.sha.is_empty() && input.from_path.is_empty() {
        return change_one(&context, "create", path, input).await.map(created);
    }
    change_one(&context, "update", path, input).await.map(ok)
}

/// Deletes a file. The fields may be in the query instead of the body.
#[utoipa::path(
    delete, path = "",
    operation_id = "repoDeleteFile", tag = "repository",
    params(DeleteFileParams),
    request_body = api::ChangeFile,
    responses(
        (status = 200, body = api::ChangedFileResult),
        (status = 409, description = "The branch was changed meanwhile."),
        (status = 423, description = "The repository is archived."),
    ),
)]
pub(in crate::http) async fn delete(
    State(state): State<AppState>,
    caller: Caller<RepositoryScope>,
    Path((owner, name, path)): FilePath,
    RawQuery(query): RawQuery,
    LargeBody(mut input): LargeBody<api::ChangeFile>,
) -> Result<JsonResponse<api::ChangedFileResult>, ApiError> {
    let context = browse_context_for(state, caller, &owner, &name, Action::Write).await?;
    let params = QueryParams::new(query.as_deref());
    for (field, name) in [
        (&mut input.sha, "sha"),
        (&mut input.branch, "branch"),
        (&mut input.new_branch, "new_branch"),
        (&mut input.message, "message"),
    ] {
        if field.is_empty() {
            *field = params.text(name);
        }
    }
    change_one(&context, "delete", path, input).await.map(ok)
}

/// Changes several files in one commit. All changes are applied, or none.
#[utoipa::path(
    post, path = "",
    operation_id = "repoChangeFiles", tag = "repository",
    request_body = api::ChangeFiles,
    responses(
        (status = 201, body = api::ChangedFilesResult),
        (status = 409, description = "The branch was changed meanwhile."),
        (status = 423, description = "The repository is archived."),
    ),
)]
pub(in crate::http) async fn change(
    State(state): State<AppState>,
    caller: Caller<RepositoryScope>,
    Path((owner, name)): Path<(String, String)>,
    LargeBody(mut input): LargeBody<api::ChangeFiles>,
) -> Result<JsonResponse<api::ChangedFilesResult>, ApiError> {
    let context = browse_context_for(state, caller, &owner, &name, Action::Write).await?;
    let options = input.take_options();
    let changes = input.files.into_iter().map(FileChange::from_input).collect::<Result<Vec<_>, _>>()?;
    let committed = commit(&context, Edit::Files(changes), &options).await?;
    Ok(created(api::ChangedFilesResult {
        files: committed.files.iter().map(|file| shown_file(&context, &committed, file.as_ref())).collect(),
        commit: shown_commit(&context, &committed),
        verification: verification(None, None),
    }))
}

/// Applies a unified diff.
#[utoipa::path(
    post, path = "",
    operation_id = "repoApplyDiffPatch", tag = "repository",
    request_body = api::ApplyPatch,
    responses(
        (status = 201, body = api::ChangedFileResult),
        (status = 409, description = "The patch does not apply, or the branch was changed meanwhile."),
        (status = 423, description = "The repository is archived."),
    ),
)]
pub(in crate::http) async fn apply_patch(
    State(state): State<AppState>,
    caller: Caller<RepositoryScope>,
    Path((owner, name)): Path<(String, String)>,
    LargeBody(mut input): LargeBody<api::ApplyPatch>,
) -> Result<JsonResponse<api::ChangedFileResult>, ApiError> {
    let context = browse_context_for(state, caller, &owner, &name, Action::Write).await?;
    let options = input.take_options();
    let committed = commit(&context, Edit::Patch(Bytes::from(input.content)), &options).await?;
    Ok(created(api::ChangedFileResult {
        content: None,
        commit: shown_commit(&context, &committed),
        verification: verification(None, None),
    }))
}

async fn change_one(
    context: &BrowseContext,
    operation: &str,
    path: String,
    mut input: api::ChangeFile,
) -> Result<api::ChangedFileResult, ApiError> {
    let options = input.take_options();
    let change = FileChange::from_input(api::ChangedFile {
        operation: operation.to_owned(),
        path,
        content: input.content,
        sha: input.sha,
        from_path: input.from_path,
    })?;
    let committed = commit(context, Edit::Files(vec![change]), &options).await?;
    let file = committed.files.first().and_then(Option::as_ref);
    Ok(api::ChangedFileResult {
        content: shown_file(context, &committed, file),
        commit: shown_commit(context, &committed),
        verification: verification(None, None),
    })
}

async fn commit(context: &BrowseContext, edit: Edit, options: &api::CommitOptions) -> Result<Committed, ApiError> {
    let account = access::require_account(&context.identity)?;
    let committed = file_changes::commit(&context.state, account, &context.browse, edit, options).await;
    committed.map_err(|error| match error {
        // Gitea-family clients expect 423 for contents and 403 for refs.
        Error::Mirror => ApiError::new(StatusCode::LOCKED, error.to_string()),
        other => other.into(),
    })
}

fn shown_file(context: &BrowseContext, committed: &Committed, file: Option<&ContentEntry>) -> Option<api::Contents> {
    file.map(|file| contents::shown(context, file, &committed.branch, true))
}

fn shown_commit(context: &BrowseContext, committed: &Committed) -> api::FileCommit {
    let commit = &committed.commit;
    let person = |person: &Person| api::Signature {
        name: person.name.clone(),
        email: person.email.clone(),
        date: own_time(person),
    };
    let created = |commit: &CommitObject| Some(commit.committer.seconds);
    api::FileCommit {
        url: format!("{}/git/commits/{}", context.api, commit.id),
        sha: commit.id.clone(),
        created: time(commit.committer.seconds),
        html_url: format!("{}/commit/{}", context.html, commit.id),
        author: person(&commit.author),
        committer: person(&commit.committer),
        parents: committed.parent.iter().map(|parent| context.meta(&parent.id, created(parent))).collect(),
        message: commit.message.trim_end().to_owned(),
        tree: api::CommitMeta {
            url: format!("{}/git/trees/{}", context.api, commit.tree),
            sha: commit.tree.clone(),
            created: time(commit.committer.seconds),
        },
    }
}
