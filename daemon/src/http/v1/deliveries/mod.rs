//! Deliveries of hooks. The same handlers serve the hooks of all kinds of owners.
//!
//! This module finds the hook that a request is about and checks that the caller may manage it.

pub(in crate::http) mod history;
pub(in crate::http) mod redeliver;
pub(in crate::http) mod test_events;

use axum::extract::{FromRequestParts, RawPathParams};
use http::request::Parts;

use crate::{
    http::{
        AppState,
        auth::{
            self, AdminScope, Caller, NoScope, OrganizationScope, RepositoryScope, RequiredScopes, SignedIn, UserScope,
        },
        error::ApiError,
    },
    model::{identity::Identity, scope::Level},
    service::{Error, deliveries::history::DeliveryScope, hooks::HookOwner},
    store::Snapshot,
};

/// A kind of path that names a hook and its owner.
pub(in crate::http) trait HookPath: Sized {
    /// What its routes require of the caller.
    type RequiredScopes: RequiredScopes + Send;

    /// Returns the owner of the hook if the caller may manage the owner's hooks.
    fn owner(
        state: &AppState,
        read: &Snapshot,
        identity: &Identity,
        path: &Captures,
        level: Level,
    ) -> impl Future<Output = Result<HookOwner, Error>> + Send;
}

/// The decoded captures of a path.
pub(in crate::http) struct Captures(Vec<(String, String)>);

impl Captures {
    fn get(&self, name: &str) -> &str {
        self.0.iter().find(|(known, _)| known == name).map_or("", |(_, value)| value)
    }
}

macro_rules! hook_paths {
    ($(
        $(#[$doc:meta])*
        $name:ident requires $scopes:ty,
        ($state:ident, $read:ident, $caller:ident, $path:ident, $level:ident) => $hook_owner:expr;
    )*) => {$(
        $(#[$doc])*
        pub(in crate::http) struct $name;

        impl HookPath for $name {
            type RequiredScopes = $scopes;

            async fn owner(
                $state: &AppState,
                $read: &Snapshot,
                $caller: &Identity,
                $path: &Captures,
                $level: Level,
            ) -> Result<HookOwner, Error> {
                $hook_owner
            }
        }
    )*};
}

hook_paths! {
    /// `/admin/hooks`
    Admin requires AdminScope, (_app, _read, caller, _path, _level) => HookOwner::of_admin(caller);
    /// `/repos/{owner}/{repo}/hooks`
    Repo requires SignedIn<RepositoryScope>, (state, read, caller, path, _level) =>
        HookOwner::of_repository(state, read, caller, path.get("owner"), path.get("repo")).await;
    /// `/orgs/{org}/hooks`
    Org requires SignedIn<OrganizationScope>, (state, read, caller, path, _level) =>
        HookOwner::of_org(state, read, caller, path.get("org")).await;
    /// `/api/farrier/v1/hooks`: a hook of any owner, found by its number.
    Any requires SignedIn<NoScope>, (state, read, caller, path, level) =>
        HookOwner::of_hook(state, read, caller, level, path.get("id").parse().unwrap_or(0)).await;
    /// `/user/hooks`
    Own requires SignedIn<UserScope>, (state, _read, caller, _path, _level) => HookOwner::of_caller(state, caller);
}

/// Extracts an existing hook that the caller may manage.
pub(in crate::http) struct HookRequest<A> {
    identity: Identity,
    hook_owner: HookOwner,
    hook: u64,
    scope: DeliveryScope,
    /// All captures of the path.
    path: Captures,
    kind: std::marker::PhantomData<A>,
}

impl<A: HookPath> FromRequestParts<AppState> for HookRequest<A> {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &AppState) -> Result<Self, ApiError> {
        let identity = Caller::<A::RequiredScopes>::from_request_parts(parts, state).await?.identity;
        let path = RawPathParams::from_request_parts(parts, state).await.map_err(|_| ApiError::no_route())?;
        let path = Captures(path.iter().map(|(name, value)| (name.to_owned(), value.to_owned())).collect());
        let snapshot = state.store.read().await.map_err(Error::from)?;
        let hook_owner = A::owner(state, &snapshot, &identity, &path, auth::level(&parts.method)).await?;
        let hook = path.get("id").parse().unwrap_or(0);
        let scope = DeliveryScope::hook(&snapshot, hook_owner, hook).await?;
        Ok(Self { identity, hook_owner, hook, scope, path, kind: std::marker::PhantomData })
    }
}
