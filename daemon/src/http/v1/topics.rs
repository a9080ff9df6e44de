//! Topics of repositories.

use axum::{
    extract::{Path, RawQuery, State},
    response::{IntoResponse as _, Response},
};
use farrier_common::api;
use http::StatusCode;
use serde_json::json;

use crate::{
    http::{
        AppState,
        auth::{Caller, RepositoryScope},
        error::ApiError,
        extract::{JsonBody, JsonResponse},
        openapi::parameters::{PageParams, SearchTopicsParams},
        page::PageQuery,
        query, show,
    },
    model::secret,
    service::{
        Error,
        access::Action,
        repositories::{self, TOPICS_MAX, TopicChange, TopicProblem},
    },
};

/// Lists topics of the repositories that the caller sees, with the number of these repositories.
#[utoipa::path(
    get, path = "",
    operation_id = "topicSearch", tag = "repository",
    params(SearchTopicsParams, PageParams),
    responses((status = 200, body = api::FoundTopics)),
)]
pub(in crate::http) async fn search(
    State(state): State<AppState>,
    caller: Caller<RepositoryScope>,
    RawQuery(query): RawQuery,
) -> Result<Response, ApiError> {
    let query = query.as_deref();
    let page = PageQuery::of(query);
    let prefix = query::value(query, "q").unwrap_or_default();
    let snapshot = state.store.read().await.map_err(Error::from)?;
    let found = repositories::search_topics(&snapshot, &caller.identity, &prefix).await?;
    let (found, total) = page.cut(found);
    let topics = found.into_iter().map(|(name, count)| topic(name, count)).collect();
    Ok(page.response(&state, "/api/v1/topics/search", query, total, api::FoundTopics { topics }))
}

fn topic(topic_name: String, repo_count: u64) -> api::Topic {
    // Topics have no IDs of their own. Clients expect a constant ID.
    let digest = secret::sha256(topic_name.as_bytes());
    let id = digest[..6].iter().fold(0, |id, byte| id << 8 | i64::from(*byte));
    let repo_count = show::number(repo_count);
    api::Topic { id, topic_name, repo_count, created: show::time(0), updated: show::time(0) }
}

/// Lists the topics of a repository.
#[utoipa::path(
    get, path = "",
    operation_id = "repoListTopics", tag = "repository",
    params(PageParams),
    responses((status = 200, body = api::Topics)),
)]
pub(in crate::http) async fn list(
    State(state): State<AppState>,
    caller: Caller<RepositoryScope>,
    Path((owner, name)): Path<(String, String)>,
    RawQuery(query): RawQuery,
) -> Result<Response, ApiError> {
    let page = PageQuery::of(query.as_deref());
    let snapshot = state.store.read().await.map_err(Error::from)?;
    let found = repositories::find(&snapshot, &caller.identity, &owner, &name, Action::Read).await?;
    let path = format!("/api/v1/repos/{}/topics", found.path());
    let (topics, total) = page.cut(found.repository.topics);
    Ok(page.response(&state, &path, query.as_deref(), total, api::Topics { topics }))
}

/// Replaces the topics of a repository.
#[utoipa::path(
    put, path = "",
    operation_id = "repoUpdateTopics", tag = "repository",
    request_body = api::ReplaceTopics,
    responses((status = 204), (status = 422, body = api::InvalidTopics), (status = 423, description = "The repository is archived.")),
)]
pub(in crate::http) async fn replace(
    State(state): State<AppState>,
    caller: Caller<RepositoryScope>,
    Path((owner, name)): Path<(String, String)>,
    JsonBody(input): JsonBody<api::ReplaceTopics>,
) -> Result<Response, ApiError> {
    change(&state, &caller, &owner, &name, TopicChange::Replace(input.topics)).await
}

/// Adds a topic to a repository.
#[utoipa::path(
    put, path = "",
    operation_id = "repoAddTopic", tag = "repository",
    responses((status = 204), (status = 422, body = api::InvalidTopics), (status = 423, description = "The repository is archived.")),
)]
pub(in crate::http) async fn add(
    State(state): State<AppState>,
    caller: Caller<RepositoryScope>,
    Path((owner, name, topic)): Path<(String, String, String)>,
) -> Result<Response, ApiError> {
    change(&state, &caller, &owner, &name, TopicChange::Add(topic)).await
}

/// Removes a topic from a repository.
#[utoipa::path(
    delete, path = "",
    operation_id = "repoDeleteTopic", tag = "repository",
    responses((status = 204), (status = 422, body = api::InvalidTopics), (status = 423, description = "The repository is archived.")),
)]
pub(in crate::http) async fn remove(
    State(state): State<AppState>,
    caller: Caller<RepositoryScope>,
    Path((owner, name, topic)): Path<(String, String, String)>,
) -> Result<Response, ApiError> {
    change(&state, &caller, &owner, &name, TopicChange::Remove(topic)).await
}

async fn change(
    state: &AppState,
    caller: &Caller<RepositoryScope>,
    owner: &str,
    name: &str,
    change: TopicChange,
) -> Result<Response, ApiError> {
    let (message, invalid_topics) =
        match repositories::change_topics(state, &caller.identity, owner, name, &change).await? {
            Ok(()) => return Ok(StatusCode::NO_CONTENT.into_response()),
            Err(TopicProblem::Invalid(topics)) => ("Topic names are invalid".to_owned(), Some(topics)),
            Err(TopicProblem::TooMany) => (format!("a repository has at most {TOPICS_MAX} topics"), None),
        };
    let url = format!("{}/api/swagger", state.root_url);
    // `null` if there are too many: clients of the family expect the field.
    let body = json!({ "message": message, "url": url, "invalidTopics": invalid_topics });
    Ok(JsonResponse(StatusCode::UNPROCESSABLE_ENTITY, body).into_response())
}
