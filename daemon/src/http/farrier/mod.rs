//! `/api/farrier/v1`: functions that Gitea-family APIs do not have.

pub(super) mod artifacts;
pub(super) mod audit;
pub(super) mod backup;
pub(super) mod caches;
pub(super) mod checks;
pub(super) mod ci;
pub(super) mod deleted;
pub(super) mod deliveries;
pub(super) mod events;
pub(super) mod hooks;
pub(super) mod log;
pub(super) mod logs;
pub(super) mod mirrors;
pub(super) mod password;
pub(super) mod replays;
pub(super) mod runs;
pub(super) mod series;
pub(super) mod set_aside;
pub(super) mod ssh;
pub(super) mod status;
pub(super) mod tasks;

use http::StatusCode;

use super::{error::ApiError, query};
use crate::{
    model::identity::Identity,
    service::{Error, access::Action, repositories},
    store::Snapshot,
};

/// Returns the number of the repository in the parameter `repository`, or `None` without the parameter. Fails if the
/// caller may not do `action` with the repository.
async fn repository(
    snapshot: &Snapshot,
    identity: &Identity,
    query: Option<&str>,
    action: Action,
) -> Result<Option<u64>, ApiError> {
    let Some(path) = query::value(query, "repository") else { return Ok(None) };
    let (owner, name) = path
        .split_once('/')
        .ok_or_else(|| ApiError::unprocessable("repository", "[repository]: must be OWNER/NAME"))?;
    let found = repositories::find(snapshot, identity, owner, name, action).await.map_err(|error| match error {
        // A redirect replaces names in the path only.
        Error::Moved { .. } => ApiError::new(StatusCode::NOT_FOUND, error.to_string()),
        error => error.into(),
    });
    Ok(Some(found?.repository.id))
}
