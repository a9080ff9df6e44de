//! Authenticates a git client, with the status codes that git clients expect.

use http::request::Parts;

use super::error::GitFailure;
use crate::{
    http::{AppState, auth},
    model::identity::Identity,
    service::{
        repositories::FoundRepository,
        transfers::{Allowed, Denied, GitService, access},
    },
    shares::Holder,
};

/// Checks the caller's permission for `service`.
pub(super) async fn allow(
    state: &AppState,
    parts: &Parts,
    repository: &(String, String),
    service: GitService,
) -> Result<Allowed, GitFailure> {
    let identity = auth::identify(state, parts).await?;
    let (found, holder) = allow_identity(state, parts, &identity, repository, service).await?;
    Ok(Allowed { identity, repository: found.repository, holder })
}

/// Like [`allow`], for a caller that was authenticated already. Returns the repository and the holder of shares.
pub(in crate::http) async fn allow_identity(
    state: &AppState,
    parts: &Parts,
    identity: &Identity,
    (owner, name): &(String, String),
    service: GitService,
) -> Result<(FoundRepository, Holder), GitFailure> {
    let found = access::allow(state, identity, (owner, name), service).await;
    let found = found.map_err(|denied| refusal(denied, identity, parts))?;
    let holder = auth::holder(state, parts, identity);
    auth::count_memory_to(&parts.extensions, holder);
    Ok((found, holder))
}

/// Returns the error for a refused request. Missing repositories are a redirect if they were renamed or moved, 401 for
/// anonymous callers, else 404.
fn refusal(denied: Denied, identity: &Identity, parts: &Parts) -> GitFailure {
    let anonymous = matches!(identity, Identity::Anonymous);
    match denied {
        Denied::Missing | Denied::NoRight if anonymous => GitFailure::challenge(),
        Denied::Missing => GitFailure::missing(),
        Denied::Moved(path) => {
            let rest = parts.uri.path().splitn(4, '/').nth(3).unwrap_or_default();
            let query = parts.uri.query().map(|query| format!("?{query}")).unwrap_or_default();
            GitFailure::moved(format!("/{path}.git/{rest}{query}"))
        }
        Denied::NoRight | Denied::Forbidden(_) => GitFailure::forbidden(&denied.to_string()),
        Denied::Failed(error) => error.into(),
    }
}
