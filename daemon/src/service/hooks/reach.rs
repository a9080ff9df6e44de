//! Which hooks a caller may manage, over all places.

use farrier_proto::store::{Hook, HookScope, Repository};

use super::{MISSING, owner::enabled};
use crate::{
    app::App,
    model::{
        identity::Identity,
        scope::{Category, Level},
    },
    service::{
        Error,
        access::{self, Action},
        repositories,
    },
    store::{Read, hooks, owners, owners::Owner},
};

/// Places that are asked for their hooks before other tasks get a turn.
const PLACES_PER_TURN: usize = 200;

/// The hooks that a caller may manage.
#[derive(Clone, Debug)]
pub struct Reach {
    /// Kinds of hooks that the caller's token allows.
    pub scopes: Vec<HookScope>,
    /// The only places whose hooks are meant; `None`: every place.
    pub places: Option<Vec<(HookScope, u64)>>,
}

impl Reach {
    /// What `identity` may manage with its account and token.
    pub async fn of(app: &App, read: &impl Read, identity: &Identity) -> Result<Self, Error> {
        let account = access::require_account(identity)?;
        let narrow = is_narrow(identity);
        let scopes = scopes(app, identity);
        if scopes.is_empty() {
            access::require_scope(identity, Category::Repository, Level::Read)?;
            enabled(app)?;
        }
        if account.user.admin && !narrow {
            return Ok(Self { scopes, places: None });
        }
        let mut places = Vec::new();
        if !narrow {
            let owners = repositories::own_owners(read, identity).await?;
            // Users and organisations have numbers of one sequence and keep their hooks under one key.
            places.extend(owners.into_iter().map(|owner| (HookScope::User, owner)));
        }
        let administered = repositories::administered(read, identity).await?;
        places.extend(administered.into_iter().map(|repository| (HookScope::Repository, repository)));
        Ok(Self { scopes, places: Some(places) })
    }

    /// Leaves the hooks of one repository.
    pub fn only_repository(&mut self, repository: u64) {
        self.only(vec![(HookScope::Repository, repository)]);
    }

    /// Leaves the hooks of a user or an organisation and of the repositories that it owns.
    pub async fn only_owner(&mut self, read: &impl Read, owner: &Owner) -> Result<(), Error> {
        let repositories = repositories::numbers_of(read, owner.id()).await?;
        let mut places = vec![(HookScope::User, owner.id())];
        places.extend(repositories.into_iter().map(|repository| (HookScope::Repository, repository)));
        self.only(places);
        Ok(())
    }

    fn only(&mut self, wanted: Vec<(HookScope, u64)>) {
        let known: Option<std::collections::HashSet<_>> =
            self.places.take().map(|places| places.into_iter().map(|(scope, target)| (scope as i32, target)).collect());
        let allowed = |hook_owner: &(HookScope, u64)| {
            known.as_ref().is_none_or(|k| k.contains(&(hook_owner.0 as i32, hook_owner.1)))
        };
        self.places = Some(wanted.into_iter().filter(allowed).collect());
    }

    /// Numbers of the hooks at the places, in order; `None` when every place is meant.
    pub(super) async fn numbers(&self, read: &impl Read) -> Result<Option<Vec<u64>>, Error> {
        let Some(places) = &self.places else { return Ok(None) };
        let mut all = Vec::new();
        for places in places.chunks(PLACES_PER_TURN) {
            for (scope, target) in places {
                all.append(&mut hooks::ids_of(read, *scope, *target).await?);
            }
            tokio::task::yield_now().await;
        }
        all.sort_unstable();
        Ok(Some(all))
    }
}

/// Whether the caller's token is narrower than its account: limited to repositories or to public things.
fn is_narrow(identity: &Identity) -> bool {
    let limited = identity.token().is_some_and(|token| !token.repositories.is_empty());
    limited || access::is_public_only(identity)
}

/// The kinds of hooks that the caller's token and the configuration allow to list.
fn scopes(app: &App, identity: &Identity) -> Vec<HookScope> {
    let all = [HookScope::System, HookScope::Default, HookScope::Repository, HookScope::Org, HookScope::User];
    let allowed = |scope: &HookScope| {
        let admin = category(*scope) == Category::Admin;
        let possible = if admin { identity.is_admin() } else { app.config.webhook.enabled };
        possible && identity.in_scope(category(*scope), Level::Read)
    };
    all.into_iter().filter(allowed).collect()
}

/// The scope of tokens that managing such hooks needs.
pub(super) fn category(scope: HookScope) -> Category {
    match scope {
        HookScope::Unspecified | HookScope::System | HookScope::Default => Category::Admin,
        HookScope::Repository => Category::Repository,
        HookScope::Org => Category::Organization,
        HookScope::User => Category::User,
    }
}

/// The hook with number `id`, wherever it belongs. A caller who may not manage it hears that it does not exist.
pub(super) async fn managed(read: &impl Read, identity: &Identity, id: u64) -> Result<Hook, Error> {
    let row = hooks::get(read, id).await?.filter(|row| row.retired_ms == 0).ok_or(MISSING)?;
    let account = access::require_account(identity)?;
    let manages = match row.scope() {
        HookScope::Unspecified | HookScope::System | HookScope::Default => account.user.admin && !is_narrow(identity),
        HookScope::Repository => {
            repositories::allowing(read, identity, row.target_id, Action::Administer).await?.is_some()
        }
        HookScope::Org => match owners::org(read, row.target_id).await? {
            Some(org) => !is_narrow(identity) && access::owns(read, identity, &Owner::Org(org)).await?,
            None => false,
        },
        HookScope::User => !is_narrow(identity) && (account.user.admin || account.user.id == row.target_id),
    };
    if manages { Ok(row) } else { Err(MISSING) }
}

/// Whose hook it is, by name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Home {
    /// The user or organisation that the hook or its repository belongs to; empty for administrators' hooks.
    pub owner: String,
    /// The repository, `owner/name`; empty for hooks of other places.
    pub repository: String,
    /// The repository is deleted and can be restored; its hooks cannot be managed meanwhile.
    pub deleted: bool,
}

/// Whose hook `row` is.
pub async fn home(read: &impl Read, row: &Hook) -> Result<Home, Error> {
    let of_repository = async |repository: Repository| {
        let owner = owners::owner(read, repository.owner_kind(), repository.owner_id).await?;
        let owner = owner.map(|owner| owner.name().to_owned()).unwrap_or_default();
        Ok::<_, Error>(Home { repository: format!("{owner}/{}", repository.name), owner, deleted: repository.deleted })
    };
    let name = match row.scope() {
        HookScope::Unspecified | HookScope::System | HookScope::Default => None,
        HookScope::Repository => {
            return match crate::store::repositories::get(read, row.target_id).await? {
                Some(repository) => of_repository(repository).await,
                None => Ok(Home::default()),
            };
        }
        HookScope::Org => owners::org(read, row.target_id).await?.map(|org| org.name),
        HookScope::User => owners::user(read, row.target_id).await?.map(|user| user.name),
    };
    Ok(Home { owner: name.unwrap_or_default(), ..Home::default() })
}
