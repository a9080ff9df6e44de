//! The owner of a hook (repository, organization, user or the administrators), and who may manage the owner's hooks.

use farrier_proto::store::{Hook, HookScope, OwnerKind};

use super::manageable;
use crate::{
    model::{identity::Identity, scope::Level},
    service::{
        Context, Error,
        access::{self, Action},
        repositories, viewer,
    },
    store::{Read, owners, owners::Owner},
};

/// The owner of hooks. A value exists only if the caller may manage the hooks of this owner.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HookOwner {
    /// Kind of owner. `System` also covers the default hooks of the administrators.
    scope: HookScope,
    /// Id of the repository, organization or user; 0 for administrators' hooks.
    target: u64,
}

impl HookOwner {
    /// Returns the administrators, who own system hooks and default hooks.
    pub fn of_admin(identity: &Identity) -> Result<Self, Error> {
        access::require_site_admin(identity)?;
        Ok(Self { scope: HookScope::System, target: 0 })
    }

    /// Returns the repository `owner/name`.
    pub async fn of_repository(
        context: &Context,
        read: &impl Read,
        identity: &Identity,
        owner: &str,
        name: &str,
    ) -> Result<Self, Error> {
        access::require_account(identity)?;
        let found = repositories::find(read, identity, owner, name, Action::Administer).await;
        let found = found.map_err(|error| match error {
            Error::Forbidden { .. } => Error::Forbidden {
                reason: "user should be an owner or a collaborator with admin write of a repository".into(),
            },
            other => other,
        })?;
        enabled(context)?;
        Ok(Self { scope: HookScope::Repository, target: found.repository.id })
    }

    /// Returns the organization `name`.
    pub async fn of_org(context: &Context, read: &impl Read, identity: &Identity, name: &str) -> Result<Self, Error> {
        access::require_account(identity)?;
        let missing = Error::NotFound { what: "the organization" };
        let org = match owners::owner_by_name(read, name).await? {
            Some(org @ Owner::Org(_)) => org,
            Some(Owner::User(_)) => return Err(missing),
            None => return Err(viewer::find(read, identity, name).await.err().unwrap_or(missing)),
        };
        if !access::owns(read, identity, &org).await? {
            // Callers who do not see the organization get "not found".
            viewer::find_of_kind(read, identity, name, OwnerKind::Org).await?;
            return Err(Error::Forbidden { reason: "Must be an organization owner".into() });
        }
        enabled(context)?;
        Ok(Self { scope: HookScope::Org, target: org.id() })
    }

    /// Returns the caller.
    pub fn of_caller(context: &Context, identity: &Identity) -> Result<Self, Error> {
        let account = access::require_account(identity)?;
        access::require_whole_account(identity)?;
        enabled(context)?;
        Ok(Self { scope: HookScope::User, target: account.user.id })
    }

    /// Returns the owner of hook `id`, if the caller may manage it. Callers who may not manage it get "not found", and
    /// callers whose token lacks the scope get an error that names the scope.
    pub async fn of_hook(
        context: &Context,
        read: &impl Read,
        identity: &Identity,
        level: Level,
        id: u64,
    ) -> Result<Self, Error> {
        access::require_account(identity)?;
        let row = manageable::managed(read, identity, id).await?;
        access::require_scope(identity, manageable::category(row.scope()), level)?;
        if matches!(row.scope(), HookScope::System | HookScope::Default) {
            return Self::of_admin(identity);
        }
        enabled(context)?;
        Ok(Self { scope: row.scope(), target: row.target_id })
    }

    /// Returns whether the administrators are the owner.
    pub fn is_admin(self) -> bool {
        self.scope == HookScope::System
    }

    /// Returns the id of the repository, organization or user; 0 for the administrators.
    pub fn target(self) -> u64 {
        self.target
    }

    /// Returns the kind of owner; `System` for the administrators.
    pub fn scope(self) -> HookScope {
        self.scope
    }

    /// Returns whether `row` is a hook of this owner.
    pub fn holds(self, row: &Hook) -> bool {
        if self.is_admin() {
            return matches!(row.scope(), HookScope::System | HookScope::Default);
        }
        row.scope() == self.scope && row.target_id == self.target
    }
}

/// Returns an error while webhooks are disabled in the configuration.
pub fn enabled(context: &Context) -> Result<(), Error> {
    if context.config.webhook.enabled {
        return Ok(());
    }
    Err(Error::Forbidden { reason: "webhooks disabled by administrator".into() })
}
