//! Authenticates a git client, with the status codes that git clients expect.

use http::request::Parts;

use super::error::GitFailure;
use crate::{
    http::{AppState, auth},
    model::identity::Identity,
    service::transfers::{Allowed, Denied, GitService, access},
};

/// Checks the caller's permission for `service`.
pub(super) async fn allow(
    state: &AppState,
    parts: &Parts,
    (owner, name): &(String, String),
    service: GitService,
) -> Result<Allowed, GitFailure> {
    let identity = auth::identify(state, parts).await?;
    let repository = access::allow(state, &identity, (owner, name), service).await;
    let repository = repository.map_err(|denied| refusal(denied, &identity, parts))?;
    let holder = auth::holder(state, parts, &identity);
    auth::count_memory_to(&parts.extensions, holder);
    Ok(Allowed { identity, repository, holder })
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
