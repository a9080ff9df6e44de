//! The paths of hooks. Every kind of owner has its own paths; the handlers of hooks and of their deliveries are generic
//! over the kind.
//!
//! This module finds the owner or the hook that a request is about and checks that the caller may manage it.

use std::{marker::PhantomData, sync::Arc};

use axum::extract::{FromRequestParts, RawPathParams};
use http::request::Parts;

use crate::{
    http::{
        AppState,
        auth::{
            self, AdminScope, Caller, NoScope, OrganizationScope, RepositoryScope, RequiredScopes, SignedIn, UserScope,
        },
        error::ApiError,
        openapi::OwnerText,
    },
    model::{identity::Identity, scope::Level},
    service::{Error, deliveries::history::DeliveryScope, hooks::HookOwner},
    shares::{Holder, RequestMemory},
    store::Snapshot,
};

/// A kind of path that names the owner of hooks, and possibly one of the hooks.
pub(in crate::http) trait HookPath: Sized {
    /// What its routes require of the caller.
    type RequiredScopes: RequiredScopes + Send;

    /// What the descriptions of its routes contain.
    const TEXT: OwnerText;

    /// Returns the owner in the path if the caller may manage the owner's hooks.
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
    pub(in crate::http) fn get(&self, name: &str) -> &str {
        self.0.iter().find(|(known, _)| known == name).map_or("", |(_, value)| value)
    }

    /// Returns the hook number. Returns 0, which no hook has, for a path without a number.
    fn hook(&self) -> u64 {
        super::number(self.get("id"))
    }
}

macro_rules! hook_paths {
    ($(
        $(#[$doc:meta])*
        $name:ident requires $scopes:ty,
        described as ($tag:literal, $prefix:literal, $hook:literal, $hooks:literal),
        ($state:ident, $read:ident, $caller:ident, $path:ident, $level:ident) => $hook_owner:expr;
    )*) => {$(
        $(#[$doc])*
        pub(in crate::http) struct $name;

        impl HookPath for $name {
            type RequiredScopes = $scopes;

            const TEXT: OwnerText = OwnerText { tag: $tag, prefix: $prefix, hook: $hook, hooks: $hooks };

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
    Admin requires AdminScope,
        described as ("admin", "admin", "a system hook or a default hook", "the hooks of administrators"),
        (_state, _read, caller, _path, _level) => HookOwner::of_admin(caller);
    /// `/repos/{owner}/{repo}/hooks`
    Repo requires SignedIn<RepositoryScope>,
        described as ("repository", "repo", "a hook of a repository", "the hooks of a repository"),
        (state, read, caller, path, _level) =>
            HookOwner::of_repository(state, read, caller, path.get("owner"), path.get("repo")).await;
    /// `/orgs/{org}/hooks`
    Org requires SignedIn<OrganizationScope>,
        described as ("organization", "org", "a hook of an organization", "the hooks of an organization"),
        (state, read, caller, path, _level) => HookOwner::of_org(state, read, caller, path.get("org")).await;
    /// `/user/hooks`
    Own requires SignedIn<UserScope>,
        described as ("user", "user", "a hook of the caller", "the hooks of the caller"),
        (state, _read, caller, _path, _level) => HookOwner::of_caller(state, caller);
    /// `/api/farrier/v1/hooks`: a hook of any owner, found by its number.
    Any requires SignedIn<NoScope>,
        described as ("farrier", "farrier", "a hook of any owner", "the hooks of all owners"),
        (state, read, caller, path, level) => HookOwner::of_hook(state, read, caller, level, path.hook()).await;
}

/// Extracts the caller and the captures of the path. [`Self::authorize`] then checks the caller's permission, so that
/// handlers can read the body before.
pub(in crate::http) struct HookCaller<A> {
    identity: Identity,
    holder: Holder,
    memory: Option<Arc<RequestMemory>>,
    level: Level,
    path: Captures,
    kind: PhantomData<fn() -> A>,
}

impl<A: HookPath> HookCaller<A> {
    /// Returns the owner in the path if the caller may manage its hooks, and the snapshot in which that was checked.
    pub(in crate::http) async fn authorize(&self, state: &AppState) -> Result<(Snapshot, HookOwner), Error> {
        let snapshot = state.store.read().await?;
        let hook_owner = A::owner(state, &snapshot, &self.identity, &self.path, self.level).await?;
        Ok((snapshot, hook_owner))
    }

    /// Returns the caller.
    pub(in crate::http) fn identity(&self) -> &Identity {
        &self.identity
    }

    /// Returns the number of the hook in the path.
    pub(in crate::http) fn hook(&self) -> u64 {
        self.path.hook()
    }
}

impl<A: HookPath> FromRequestParts<AppState> for HookCaller<A> {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &AppState) -> Result<Self, ApiError> {
        let caller = Caller::<A::RequiredScopes>::from_request_parts(parts, state).await?;
        let Caller { identity, holder, memory, .. } = caller;
        let path = RawPathParams::from_request_parts(parts, state).await.map_err(|_| ApiError::no_route())?;
        let path = Captures(path.iter().map(|(name, value)| (name.to_owned(), value.to_owned())).collect());
        Ok(Self { identity, holder, memory, level: auth::level(&parts.method), path, kind: PhantomData })
    }
}

/// Extracts an existing hook that the caller may manage.
pub(in crate::http) struct HookRequest<A> {
    pub(in crate::http) identity: Identity,
    /// The holder of the shares of limited work.
    pub(in crate::http) holder: Holder,
    /// The counted memory of the request.
    pub(in crate::http) memory: Option<Arc<RequestMemory>>,
    pub(in crate::http) hook_owner: HookOwner,
    pub(in crate::http) hook: u64,
    pub(in crate::http) scope: DeliveryScope,
    /// All captures of the path.
    pub(in crate::http) path: Captures,
    kind: PhantomData<fn() -> A>,
}

impl<A: HookPath> FromRequestParts<AppState> for HookRequest<A> {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &AppState) -> Result<Self, ApiError> {
        let caller = HookCaller::<A>::from_request_parts(parts, state).await?;
        let (snapshot, hook_owner) = caller.authorize(state).await?;
        let hook = caller.hook();
        let scope = DeliveryScope::hook(&snapshot, hook_owner, hook).await?;
        let HookCaller { identity, holder, memory, path, .. } = caller;
        Ok(Self { identity, holder, memory, hook_owner, hook, scope, path, kind: PhantomData })
    }
}
