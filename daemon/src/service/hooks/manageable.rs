//! Determines which hooks a caller may manage, across owners.

use farrier_proto::store::{Hook, HookScope, Repository};

use super::{MISSING, owner::enabled};
use crate::{
    model::{
        identity::Identity,
        scope::{Category, Level},
    },
    service::{
        Context, Error,
        access::{self, Action},
        repositories,
    },
    store::{Read, hooks, owners, owners::Owner},
};

/// Owners to read before yielding to other tasks.
const OWNERS_PER_YIELD: usize = 200;

/// The hooks that a caller may manage.
#[derive(Clone, Debug)]
pub struct ManageableHooks {
    /// Scopes of hooks that the caller's token allows.
    pub scopes: Vec<HookScope>,
    /// The owners whose hooks are included. `None`: all owners.
    pub owners: Option<Vec<(HookScope, u64)>>,
}

impl ManageableHooks {
    /// Returns the hooks that `identity` may manage with its account and token.
    pub async fn of(context: &Context, read: &impl Read, identity: &Identity) -> Result<Self, Error> {
        let account = access::require_account(identity)?;
        let is_restricted = is_restricted_token(identity);
        let scopes = scopes(context, identity);
        if scopes.is_empty() {
            access::require_scope(identity, Category::Repository, Level::Read)?;
            enabled(context)?;
        }
        if account.user.admin && !is_restricted {
            return Ok(Self { scopes, owners: None });
        }
        let mut owners = Vec::new();
        if !is_restricted {
            let own = repositories::own_owners(read, identity).await?;
            // Users and organizations share one sequence of ids, and their hooks are stored under the same key.
            owners.extend(own.into_iter().map(|owner| (HookScope::User, owner)));
        }
        let administered = repositories::administered(read, identity).await?;
        owners.extend(administered.into_iter().map(|repository| (HookScope::Repository, repository)));
        Ok(Self { scopes, owners: Some(owners) })
    }

    /// Keeps only the hooks of one repository.
    pub fn only_repository(&mut self, repository: u64) {
        self.keep_owners(vec![(HookScope::Repository, repository)]);
    }

    /// Keeps only the hooks of a user or an organization and of the repositories that it owns.
    pub async fn only_owner(&mut self, read: &impl Read, owner: &Owner) -> Result<(), Error> {
        let repositories = repositories::ids_of(read, owner.id()).await?;
        let mut owners = vec![(HookScope::User, owner.id())];
        owners.extend(repositories.into_iter().map(|repository| (HookScope::Repository, repository)));
        self.keep_owners(owners);
        Ok(())
    }

    fn keep_owners(&mut self, requested: Vec<(HookScope, u64)>) {
        let known: Option<std::collections::HashSet<_>> =
            self.owners.take().map(|owners| owners.into_iter().map(|(scope, target)| (scope as i32, target)).collect());
        let allowed = |hook_owner: &(HookScope, u64)| {
            known.as_ref().is_none_or(|k| k.contains(&(hook_owner.0 as i32, hook_owner.1)))
        };
        self.owners = Some(requested.into_iter().filter(allowed).collect());
    }

    /// Returns the ids of the hooks of the included owners, sorted. `None`: all owners are included.
    pub(super) async fn ids(&self, read: &impl Read) -> Result<Option<Vec<u64>>, Error> {
        let Some(owners) = &self.owners else { return Ok(None) };
        let mut all = Vec::new();
        for owners in owners.chunks(OWNERS_PER_YIELD) {
            for (scope, target) in owners {
                all.append(&mut hooks::ids_of(read, *scope, *target).await?);
            }
            tokio::task::yield_now().await;
        }
        all.sort_unstable();
        Ok(Some(all))
    }
}

/// Returns whether the caller's token has fewer rights than its account: limited to repositories or public objects.
fn is_restricted_token(identity: &Identity) -> bool {
    access::is_repository_limited(identity) || access::is_public_only(identity)
}

/// Returns the scopes of hooks that the caller's token and the configuration allow to list.
fn scopes(context: &Context, identity: &Identity) -> Vec<HookScope> {
    let all = [HookScope::System, HookScope::Default, HookScope::Repository, HookScope::Org, HookScope::User];
    let allowed = |scope: &HookScope| {
        let admin = category(*scope) == Category::Admin;
        let possible = if admin { identity.is_admin() } else { context.config.webhook.enabled };
        possible && identity.in_scope(category(*scope), Level::Read)
    };
    all.into_iter().filter(allowed).collect()
}

/// Returns the category of token scopes that managing hooks of this scope requires.
pub(super) fn category(scope: HookScope) -> Category {
    match scope {
        HookScope::Unspecified | HookScope::System | HookScope::Default => Category::Admin,
        HookScope::Repository => Category::Repository,
        HookScope::Org => Category::Organization,
        HookScope::User => Category::User,
    }
}

/// Returns hook `id` of any owner. Callers who may not manage it get "not found".
pub(super) async fn managed(read: &impl Read, identity: &Identity, id: u64) -> Result<Hook, Error> {
    let row = hooks::get(read, id).await?.filter(|row| row.retired_ms == 0).ok_or(MISSING)?;
    let account = access::require_account(identity)?;
    let manages = match row.scope() {
        HookScope::Unspecified | HookScope::System | HookScope::Default => {
            account.user.admin && !is_restricted_token(identity)
        }
        HookScope::Repository => {
            repositories::allowing(read, identity, row.target_id, Action::Administer).await?.is_some()
        }
        HookScope::Org => match owners::org(read, row.target_id).await? {
            Some(org) => !is_restricted_token(identity) && access::owns(read, identity, &Owner::Org(org)).await?,
            None => false,
        },
        HookScope::User => !is_restricted_token(identity) && (account.user.admin || account.user.id == row.target_id),
    };
    if manages { Ok(row) } else { Err(MISSING) }
}

/// The names of a hook's owner.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OwnerNames {
    /// The user or organization that owns the hook or its repository. Empty for administrators' hooks.
    pub owner: String,
    /// The repository, `owner/name`. Empty for hooks of other owners.
    pub repository: String,
    /// Whether the repository is deleted. It can be restored, but its hooks cannot be managed meanwhile.
    pub deleted: bool,
}

/// Returns the names of the owner of `row`.
pub async fn owner_names(read: &impl Read, row: &Hook) -> Result<OwnerNames, Error> {
    let of_repository = async |repository: Repository| {
        let owner = owners::owner(read, repository.owner_kind(), repository.owner_id).await?;
        let owner = owner.map(|owner| owner.name().to_owned()).unwrap_or_default();
        Ok::<_, Error>(OwnerNames {
            repository: format!("{owner}/{}", repository.name),
            owner,
            deleted: repository.deleted,
        })
    };
    let name = match row.scope() {
        HookScope::Unspecified | HookScope::System | HookScope::Default => None,
        HookScope::Repository => {
            return match crate::store::repositories::get(read, row.target_id).await? {
                Some(repository) => of_repository(repository).await,
                None => Ok(OwnerNames::default()),
            };
        }
        HookScope::Org => owners::org(read, row.target_id).await?.map(|org| org.name),
        HookScope::User => owners::user(read, row.target_id).await?.map(|user| user.name),
    };
    Ok(OwnerNames { owner: name.unwrap_or_default(), ..OwnerNames::default() })
}
