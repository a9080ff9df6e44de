//! Decides whether a caller may fetch from or push to a repository, with the status codes that git clients expect.

use farrier_common::names;
use http::request::Parts;

use super::{Service, error::GitFailure};
use crate::{
    http::{AppState, auth},
    model::{
        identity::Identity,
        scope::{Category, Level},
    },
    service::{
        Error,
        access::{self, Action},
        migrations,
        repositories::{self, FoundRepository},
    },
    shares::Holder,
    store::{Snapshot, owners, owners::Owner, repositories as rows},
};

/// An authorized caller and the repository of the request.
#[derive(Debug)]
pub(super) struct Allowed {
    pub(super) identity: Identity,
    pub(super) found: FoundRepository,
    /// The holder of the share of git transfers.
    pub(super) holder: Holder,
}

/// Checks the caller's permission for `service`. A repository that the caller may not see gives the same error as a
/// missing one.
pub(super) async fn allow(
    state: &AppState,
    parts: &Parts,
    (owner, name): &(String, String),
    service: Service,
) -> Result<Allowed, GitFailure> {
    let identity = auth::identify(state, parts).await?;
    let (level, action) = match service {
        Service::Upload => (Level::Read, Action::Read),
        Service::Receive => (Level::Write, Action::Write),
    };
    if !identity.in_scope(Category::Repository, level) {
        return Err(GitFailure::forbidden(&format!("the token lacks the scope {level}:repository")));
    }
    let name = name.strip_suffix(".git").unwrap_or(name);
    let snapshot = state.store.read().await.map_err(Error::from)?;
    let Some(found) = find(&snapshot, &identity, owner, name).await? else {
        return Err(not_found(&snapshot, &identity, owner, name, parts).await?);
    };
    if !found.access_level.allows(action) {
        let anonymous = matches!(identity, Identity::Anonymous);
        let refused =
            if anonymous { GitFailure::challenge() } else { GitFailure::forbidden("you have no right to push here") };
        return Err(refused);
    }
    if let Some(reason) = migrations::pending(&found.repository) {
        return Err(GitFailure::forbidden(reason));
    }
    if service == Service::Receive {
        require_writable(&found)?;
    }
    let holder = auth::holder(state, parts, &identity);
    auth::count_memory_to(&parts.extensions, holder);
    Ok(Allowed { identity, found, holder })
}

/// Returns the repository if the caller may see it.
async fn find(
    snapshot: &Snapshot,
    identity: &Identity,
    owner: &str,
    name: &str,
) -> Result<Option<FoundRepository>, GitFailure> {
    if names::check_repository(name).is_err() {
        return Ok(None);
    }
    match repositories::find(snapshot, identity, owner, name, Action::Read).await {
        Ok(found) if found.repository.deleted => Ok(None),
        Ok(found) => Ok(Some(found)),
        // `not_found` handles redirects: they need git's path.
        Err(Error::NotFound { .. } | Error::Moved { .. } | Error::Unauthenticated { .. }) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

fn require_writable(found: &FoundRepository) -> Result<(), GitFailure> {
    if found.repository.archived {
        return Err(GitFailure::forbidden("the repository is archived: nothing can be pushed"));
    }
    Ok(())
}

/// Returns the error for a repository that does not exist for the caller: a redirect if it was renamed or moved, 401
/// for anonymous callers, else 404.
async fn not_found(
    snapshot: &Snapshot,
    identity: &Identity,
    owner: &str,
    name: &str,
    parts: &Parts,
) -> Result<GitFailure, GitFailure> {
    if let Some(path) = renamed(snapshot, identity, owner, name).await? {
        let rest = parts.uri.path().splitn(4, '/').nth(3).unwrap_or_default();
        let query = parts.uri.query().map(|query| format!("?{query}")).unwrap_or_default();
        return Ok(GitFailure::moved(format!("/{path}.git/{rest}{query}")));
    }
    Ok(match identity {
        Identity::Anonymous => GitFailure::challenge(),
        Identity::Account(_) | Identity::CiAgent => GitFailure::missing(),
    })
}

/// Returns the new path of a repository that was once called `owner`/`name`, if the caller may see it.
async fn renamed(snapshot: &Snapshot, identity: &Identity, owner: &str, name: &str) -> Result<Option<String>, Error> {
    if names::check_repository(name).is_err() {
        return Ok(None);
    }
    let Some(owner) = owner_by_any_name(snapshot, owner).await? else { return Ok(None) };
    let repository = match rows::by_name(snapshot, owner.id(), name).await? {
        Some(repository) => Some(repository),
        None => rows::redirected(snapshot, owner.id(), name).await?,
    };
    let Some(repository) = repository.filter(|repository| !repository.deleted) else { return Ok(None) };
    let Some(owner) = owners::owner(snapshot, repository.owner_kind(), repository.owner_id).await? else {
        return Ok(None);
    };
    let access_level = access::access_level(snapshot, identity, &owner, &repository).await?;
    Ok(access_level.allows(Action::Read).then(|| format!("{}/{}", owner.name(), repository.name)))
}

/// Returns the owner with the current or former name `name`.
async fn owner_by_any_name(snapshot: &Snapshot, name: &str) -> Result<Option<Owner>, Error> {
    if name.contains('\0') {
        return Ok(None);
    }
    if let Some(owner) = owners::owner_by_name(snapshot, name).await? {
        return Ok(Some(owner));
    }
    Ok(owners::redirect(snapshot, name).await?)
}
