//! Who may fetch from or push to a repository, in the statuses that git clients understand.

use farrier_common::names;
use http::request::Parts;

use super::{Service, error::GitFailure};
use crate::{
    app::App,
    http::auth,
    model::{
        identity::Identity,
        scope::{Category, Level},
    },
    service::{
        Error,
        access::{self, Action},
        migrations,
        repositories::{self, Found},
    },
    store::{Snapshot, owners, owners::Owner, repositories as rows},
};

/// A caller and the repository that they may use.
#[derive(Debug)]
pub(super) struct Allowed {
    pub(super) identity: Identity,
    pub(super) found: Found,
}

/// Decides. A missing repository and one that the caller may not see are told the same way.
pub(super) async fn allow(
    app: &App,
    parts: &Parts,
    (owner, name): &(String, String),
    service: Service,
) -> Result<Allowed, GitFailure> {
    let identity = auth::identify(app, parts).await?;
    let (level, action) = match service {
        Service::Upload => (Level::Read, Action::Read),
        Service::Receive => (Level::Write, Action::Write),
    };
    if !identity.in_scope(Category::Repository, level) {
        return Err(GitFailure::forbidden(&format!("the token lacks the scope {level}:repository")));
    }
    let name = name.strip_suffix(".git").unwrap_or(name);
    let snapshot = app.store.read().await.map_err(Error::from)?;
    let Some(found) = find(&snapshot, &identity, owner, name).await? else {
        return Err(missing(&snapshot, &identity, owner, name, parts).await?);
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
        writable(&found)?;
    }
    Ok(Allowed { identity, found })
}

/// The repository, if the caller may see it.
async fn find(snapshot: &Snapshot, identity: &Identity, owner: &str, name: &str) -> Result<Option<Found>, GitFailure> {
    if names::check_repository(name).is_err() {
        return Ok(None);
    }
    match repositories::find(snapshot, identity, owner, name, Action::Read).await {
        Ok(found) if found.repository.deleted => Ok(None),
        Ok(found) => Ok(Some(found)),
        // Where it went is said in git's own way.
        Err(Error::NotFound { .. } | Error::Moved { .. } | Error::Unauthenticated { .. }) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

fn writable(found: &Found) -> Result<(), GitFailure> {
    if found.repository.archived {
        return Err(GitFailure::forbidden("the repository is archived: nothing can be pushed"));
    }
    Ok(())
}

/// What is said about a repository that is not there for the caller.
async fn missing(
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

/// Where a repository went that was called `owner`/`name`, if the caller may see it there.
async fn renamed(snapshot: &Snapshot, identity: &Identity, owner: &str, name: &str) -> Result<Option<String>, Error> {
    if names::check_repository(name).is_err() {
        return Ok(None);
    }
    let Some(owner) = owner_once_called(snapshot, owner).await? else { return Ok(None) };
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

async fn owner_once_called(snapshot: &Snapshot, name: &str) -> Result<Option<Owner>, Error> {
    if name.contains('\0') {
        return Ok(None);
    }
    if let Some(owner) = owners::owner_by_name(snapshot, name).await? {
        return Ok(Some(owner));
    }
    Ok(owners::redirect(snapshot, name).await?)
}
