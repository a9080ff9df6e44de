//! What hooks were sent: one set of handlers for hooks of every place, and one for all hooks.
//!
//! Owns which hook a request is about and that the caller may manage it; the handlers are beside it.

pub(in crate::http) mod again;
pub(in crate::http) mod history;
pub(in crate::http) mod trials;

use axum::extract::{FromRequestParts, RawPathParams};
use http::request::Parts;

use crate::{
    app::App,
    http::{
        auth::{self, Caller, Nothing, OfAdmin, OfOrganization, OfRepository, OfUser, RequiredScopes, SignedIn},
        error::ApiError,
    },
    model::{identity::Identity, scope::Level},
    service::{Error, deliveries::history::DeliveryScope, hooks::HookOwner},
    store::Snapshot,
};

/// A kind of place that hooks belong to, as paths name it.
pub(in crate::http) trait At: Sized {
    /// The scopes that its routes need.
    type RequiredScopes: RequiredScopes + Send;

    /// The place, if the caller may manage its hooks.
    fn owner(
        app: &App,
        read: &Snapshot,
        identity: &Identity,
        path: &Captures,
        level: Level,
    ) -> impl Future<Output = Result<HookOwner, Error>> + Send;
}

/// What stood in the path.
pub(in crate::http) struct Captures(Vec<(String, String)>);

impl Captures {
    fn get(&self, name: &str) -> &str {
        self.0.iter().find(|(known, _)| known == name).map_or("", |(_, value)| value)
    }
}

macro_rules! places {
    ($($(#[$doc:meta])* $name:ident needs $needs:ty, ($app:ident, $read:ident, $who:ident, $path:ident, $level:ident) => $hook_owner:expr;)*) => {$(
        $(#[$doc])*
        pub(in crate::http) struct $name;

        impl At for $name {
            type RequiredScopes = $needs;

            async fn owner(
                $app: &App,
                $read: &Snapshot,
                $who: &Identity,
                $path: &Captures,
                $level: Level,
            ) -> Result<HookOwner, Error> {
                $hook_owner
            }
        }
    )*};
}

places! {
    /// `/admin/hooks`
    Admin needs OfAdmin, (_app, _read, who, _path, _level) => HookOwner::of_admin(who);
    /// `/repos/{owner}/{repo}/hooks`
    Repo needs SignedIn<OfRepository>, (app, read, who, path, _level) =>
        HookOwner::of_repository(app, read, who, path.get("owner"), path.get("repo")).await;
    /// `/orgs/{org}/hooks`
    Org needs SignedIn<OfOrganization>, (app, read, who, path, _level) => HookOwner::of_org(app, read, who, path.get("org")).await;
    /// `/api/farrier/v1/hooks`: a hook of any place, found by its number.
    Any needs SignedIn<Nothing>, (app, read, who, path, level) =>
        HookOwner::of_hook(app, read, who, level, path.get("id").parse().unwrap_or(0)).await;
    /// `/user/hooks`
    Own needs SignedIn<OfUser>, (app, _read, who, _path, _level) => HookOwner::of_caller(app, who);
}

/// A hook that is there and that the caller may manage.
pub(in crate::http) struct AtHook<A> {
    identity: Identity,
    hook_owner: HookOwner,
    hook: u64,
    scope: DeliveryScope,
    /// What else stood in the path.
    path: Captures,
    kind: std::marker::PhantomData<A>,
}

impl<A: At> FromRequestParts<App> for AtHook<A> {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, ApiError> {
        let identity = Caller::<A::RequiredScopes>::from_request_parts(parts, app).await?.identity;
        let path = RawPathParams::from_request_parts(parts, app).await.map_err(|_| ApiError::no_route())?;
        let path = Captures(path.iter().map(|(name, value)| (name.to_owned(), value.to_owned())).collect());
        let snapshot = app.store.read().await.map_err(Error::from)?;
        let hook_owner = A::owner(app, &snapshot, &identity, &path, auth::level(&parts.method)).await?;
        let hook = path.get("id").parse().unwrap_or(0);
        let scope = DeliveryScope::hook(&snapshot, hook_owner, hook).await?;
        Ok(Self { identity, hook_owner, hook, scope, path, kind: std::marker::PhantomData })
    }
}
