//! Decides who may fetch from or push to a repository.

use farrier_common::names;
use farrier_proto::store::Repository;

use crate::{
    model::{
        access_level::AccessLevel,
        identity::Identity,
        scope::{Category, Level},
    },
    service::{
        Context, Error,
        access::{self, Action},
        migrations,
        repositories::{self, FoundRepository},
        ssh_keys,
    },
    shares::Holder,
    store::{Read, Snapshot, owners, owners::Owner, repositories as rows},
};

/// The service that a git client requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GitService {
    /// `git-upload-pack`: fetch.
    Upload,
    /// `git-receive-pack`: push.
    Receive,
}

impl GitService {
    /// Returns the service with the name that clients send.
    pub fn named(word: &str) -> Option<Self> {
        match word {
            "git-upload-pack" => Some(Self::Upload),
            "git-receive-pack" => Some(Self::Receive),
            _ => None,
        }
    }

    /// Returns the git command.
    pub fn command(self) -> &'static str {
        match self {
            Self::Upload => "upload-pack",
            Self::Receive => "receive-pack",
        }
    }

    fn action(self) -> Action {
        match self {
            Self::Upload => Action::Read,
            Self::Receive => Action::Write,
        }
    }
}

/// An authorized caller and the repository of the transfer.
#[derive(Debug)]
pub struct Allowed {
    /// The caller.
    pub identity: Identity,
    /// The repository.
    pub repository: Repository,
    /// The holder of the share of git transfers.
    pub holder: Holder,
}

/// Why a caller may not fetch or push.
#[derive(Debug, thiserror::Error)]
pub enum Denied {
    /// The repository is missing, or the caller may not see it.
    #[error("Repository not found")]
    Missing,
    /// The repository has this new path, as `owner/name`. The caller may see it.
    #[error("the repository has moved to {0}")]
    Moved(String),
    /// The caller may see the repository but has no right to push. An anonymous caller may have it after signing in.
    #[error("you have no right to push here")]
    NoRight,
    /// Another rule forbids the transfer.
    #[error("{0}")]
    Forbidden(String),
    /// The rules could not be checked.
    #[error(transparent)]
    Failed(#[from] Error),
}

/// Returns the repository if `identity` may use `service` with it. A repository that the caller may not see gives the
/// same error as a missing one. `name` may end in `.git`. The files of its refs are current then.
pub async fn allow(
    context: &Context,
    identity: &Identity,
    (owner, name): (&str, &str),
    service: GitService,
) -> Result<FoundRepository, Denied> {
    let level = match service {
        GitService::Upload => Level::Read,
        GitService::Receive => Level::Write,
    };
    if !identity.in_scope(Category::Repository, level) {
        return Err(Denied::Forbidden(format!("the token lacks the scope {level}:repository")));
    }
    let name = name.strip_suffix(".git").unwrap_or(name);
    let snapshot = context.store.read().await.map_err(Error::from)?;
    if names::check_repository(name).is_err() {
        return Err(Denied::Missing);
    }
    let found = match repositories::find(&snapshot, identity, owner, name, Action::Read).await {
        Ok(found) if found.repository.deleted => None,
        Ok(found) => Some(found),
        // Redirects need git's path, see below.
        Err(Error::NotFound { .. } | Error::Moved { .. } | Error::Unauthenticated { .. }) => None,
        Err(error) => return Err(error.into()),
    };
    let Some(found) = found else {
        let moved = renamed(&snapshot, identity, owner, name).await?;
        return Err(moved.map_or(Denied::Missing, Denied::Moved));
    };
    if !found.access_level.allows(service.action()) {
        return Err(Denied::NoRight);
    }
    require_ready(&found.repository, service)?;
    drop(snapshot);
    context.copies.current(found.repository.id).await.map_err(Error::from)?;
    Ok(found)
}

/// Returns the deploy key `key_id` and the repository `owner`/`name`, which may be an old name, if the key may use
/// `service` with it. A deploy key sees no other repositories, not even public ones.
pub async fn allow_deploy_key(
    context: &Context,
    key_id: u64,
    (owner, name): (&str, &str),
    service: GitService,
) -> Result<(Identity, FoundRepository), Denied> {
    let name = name.strip_suffix(".git").unwrap_or(name);
    let snapshot = context.store.read().await.map_err(Error::from)?;
    let found = by_any_name(&snapshot, owner, name).await?;
    drop(snapshot);
    let Some((owner, repository)) = found else { return Err(Denied::Missing) };
    let Some(Identity::DeployKey(key)) = ssh_keys::deploy_caller(context, key_id, repository.id).await? else {
        return Err(Denied::Missing);
    };
    if service == GitService::Receive && key.read_only {
        return Err(Denied::Forbidden("this deploy key may only read".to_owned()));
    }
    require_ready(&repository, service)?;
    context.copies.current(repository.id).await.map_err(Error::from)?;
    let access_level = if key.read_only { AccessLevel::Reader } else { AccessLevel::Writer };
    Ok((Identity::DeployKey(key), FoundRepository { repository, owner, access_level }))
}

fn require_ready(repository: &Repository, service: GitService) -> Result<(), Denied> {
    if let Some(reason) = migrations::pending(repository) {
        return Err(Denied::Forbidden(reason.to_owned()));
    }
    match access::require_writable(repository) {
        Err(reason) if service == GitService::Receive => {
            Err(Denied::Forbidden(format!("{reason}: nothing can be pushed")))
        }
        _ => Ok(()),
    }
}

/// Returns the new path of a repository that was once called `owner`/`name`, if the caller may see it.
async fn renamed(snapshot: &Snapshot, identity: &Identity, owner: &str, name: &str) -> Result<Option<String>, Error> {
    let Some((owner, repository)) = by_any_name(snapshot, owner, name).await? else { return Ok(None) };
    let access_level = access::access_level(snapshot, identity, &owner, &repository).await?;
    Ok(access_level.allows(Action::Read).then(|| format!("{}/{}", owner.name(), repository.name)))
}

/// Returns the repository with the current or former path `owner`/`name`, without checking access.
async fn by_any_name(read: &impl Read, owner: &str, name: &str) -> Result<Option<(Owner, Repository)>, Error> {
    if names::check_repository(name).is_err() {
        return Ok(None);
    }
    let Some(owner) = owner_by_any_name(read, owner).await? else { return Ok(None) };
    let repository = match rows::by_name(read, owner.id(), name).await? {
        Some(repository) => Some(repository),
        None => rows::redirected(read, owner.id(), name).await?,
    };
    let Some(repository) = repository.filter(|repository| !repository.deleted) else { return Ok(None) };
    let owner = owners::owner(read, repository.owner_kind(), repository.owner_id).await?;
    Ok(owner.map(|owner| (owner, repository)))
}

/// Returns the owner with the current or former name `name`.
async fn owner_by_any_name(read: &impl Read, name: &str) -> Result<Option<Owner>, Error> {
    if name.contains('\0') {
        return Ok(None);
    }
    if let Some(owner) = owners::owner_by_name(read, name).await? {
        return Ok(Some(owner));
    }
    Ok(owners::redirect(read, name).await?)
}
