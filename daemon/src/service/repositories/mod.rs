//! Repositories: find, create, change, list and delete them, and manage their collaborators.

mod access_cache;
mod branch_counts;
mod collaborators;
pub(super) mod create;
mod delete;
mod edit;
mod forks;
mod generate;
pub(super) mod head;
mod interests;
mod list;
pub mod prune;
pub(super) mod rules;
mod seen;
mod team_reach;
mod topics;
mod transfer;

use std::collections::HashMap;

use farrier_proto::store::Repository;

pub(super) use self::delete::{cancel_jobs_of, end_retention_of};
pub use self::{
    access_cache::AccessCache,
    branch_counts::fill as fill_branch_counts,
    collaborators::{
        UserPermission, add_collaborator, collaborator, collaborators, people, permission_of, remove_collaborator,
    },
    create::{OwnerChoice, create},
    delete::{delete, delete_all, next_due_ms, sweep},
    edit::edit,
    forks::{Network, forks, networks},
    generate::generate,
    head::sweep as sweep_heads,
    interests::{add_interest, interest, interested, of_interest, remove_interest},
    list::{ListMode, RepositoryQuery, SearchedText, administered, ids_of, list, of_owner, own_owners, reachable},
    topics::{TOPICS_MAX, TopicChange, TopicProblem, change_topics, search_topics},
    transfer::{Offer, Transferred, accept, reject, transfer, visible_offer},
};
use super::{
    Error,
    access::{self, AccessLevel, Action},
};
use crate::{
    model::{
        identity::Identity,
        revision::{Expected, Revision},
    },
    store::{
        Read, StoreError,
        owners::{self, Owner},
        repositories,
    },
};

/// A repository with the caller's access level.
#[derive(Clone, Debug)]
pub struct FoundRepository {
    /// The repository.
    pub repository: Repository,
    /// Its owner.
    pub owner: Owner,
    /// The caller's access level.
    pub access_level: AccessLevel,
}

impl FoundRepository {
    /// Returns `owner/name`, with the spelling of the rows.
    pub fn path(&self) -> String {
        format!("{}/{}", self.owner.name(), self.repository.name)
    }
}

const MISSING: Error = Error::NotFound { what: "the repository" };

/// Returns an error if the client read another revision of the repository.
fn require(expected: &Expected, row: &Repository) -> Result<(), Error> {
    if expected.allows(Revision::of_repository(row)) { Ok(()) } else { Err(Error::Changed { what: "the repository" }) }
}

/// Returns the repository `owner`/`name`, if `identity` may do `action` with it. If it was renamed, callers who may see
/// it get [`Error::Moved`].
pub async fn find(
    read: &impl Read,
    identity: &Identity,
    owner: &str,
    name: &str,
    action: Action,
) -> Result<FoundRepository, Error> {
    let Some(owner) = owner_called(read, identity, owner).await? else {
        return Err(owner_moved(read, identity, owner, name).await?.unwrap_or(MISSING));
    };
    let Some(repository) = repositories::by_name(read, owner.id(), name).await? else {
        return Err(moved(read, identity, &owner, name).await?.unwrap_or(MISSING));
    };
    let access_level = access::access_level(read, identity, &owner, &repository).await?;
    access::require(identity, access_level, action)?;
    Ok(FoundRepository { repository, owner, access_level })
}

/// Returns the owner `name`. Uses the caller's own row, which was read already.
async fn owner_called(read: &impl Read, identity: &Identity, name: &str) -> Result<Option<Owner>, StoreError> {
    let Some(found) = owners::by_name(read, name).await? else { return Ok(None) };
    match identity.account() {
        Some(account) if account.user.id == found.id => Ok(Some(Owner::User(account.user.clone()))),
        _ => owners::owner(read, found.kind(), found.id).await,
    }
}

/// Returns the new name of the repository that was called `name`.
async fn moved(read: &impl Read, identity: &Identity, owner: &Owner, name: &str) -> Result<Option<Error>, StoreError> {
    let Some(repository) = repositories::redirected(read, owner.id(), name).await? else { return Ok(None) };
    let found = with_access_levels(read, identity, vec![repository]).await?.pop();
    Ok(found.map(|found| Error::Moved { owner: found.owner.name().to_owned(), name: found.repository.name }))
}

/// Returns the new name of the repository `name` whose owner was called `owner`.
async fn owner_moved(
    read: &impl Read,
    identity: &Identity,
    owner: &str,
    name: &str,
) -> Result<Option<Error>, StoreError> {
    let Some(owner) = owners::redirect(read, owner).await? else { return Ok(None) };
    let Some(repository) = repositories::by_name(read, owner.id(), name).await? else {
        return moved(read, identity, &owner, name).await;
    };
    let found = with_access_levels(read, identity, vec![repository]).await?.pop();
    Ok(found.map(|found| Error::Moved { owner: found.owner.name().to_owned(), name: found.repository.name }))
}

/// Returns repository `id`, if `identity` may read it.
pub async fn find_by_id(read: &impl Read, identity: &Identity, id: u64) -> Result<FoundRepository, Error> {
    access::require_account(identity)?;
    let row = repositories::get(read, id).await?.filter(|row| !row.deleted).ok_or(MISSING)?;
    with_access_levels(read, identity, vec![row]).await?.pop().ok_or(MISSING)
}

/// Returns repository `id`, if `identity` may do `action` with it. For objects that belong to a repository.
pub async fn allowing(
    read: &impl Read,
    identity: &Identity,
    id: u64,
    action: Action,
) -> Result<Option<FoundRepository>, StoreError> {
    let Some(repository) = repositories::get(read, id).await?.filter(|row| !row.deleted) else { return Ok(None) };
    let owner = owners::owner(read, repository.owner_kind(), repository.owner_id).await?;
    let Some(owner) = owner else { return Ok(None) };
    let access_level = access::access_level(read, identity, &owner, &repository).await?;
    Ok(access_level.allows(action).then_some(FoundRepository { repository, owner, access_level }))
}

/// Adds owner and access level to rows. Leaves out repositories that the caller may not see.
async fn with_access_levels(
    read: &impl Read,
    identity: &Identity,
    rows: Vec<Repository>,
) -> Result<Vec<FoundRepository>, StoreError> {
    let mut owners_by_id: HashMap<u64, Option<Owner>> = HashMap::new();
    let mut all = Vec::with_capacity(rows.len());
    for repository in rows {
        let owner = if let Some(owner) = owners_by_id.get(&repository.owner_id) {
            owner.clone()
        } else {
            let owner = owners::owner(read, repository.owner_kind(), repository.owner_id).await?;
            owners_by_id.entry(repository.owner_id).or_insert(owner).clone()
        };
        let Some(owner) = owner else { continue };
        let access_level = access::access_level(read, identity, &owner, &repository).await?;
        if access_level.allows(Action::Read) {
            all.push(FoundRepository { repository, owner, access_level });
        }
    }
    Ok(all)
}
