//! Who asks: credentials out of a request, and what a route asks of them.
//!
//! The order of refusals is that of the API family: wrong credentials, the account's state, acting
//! as another, what the path names, the token's scopes, signing in, the role. The body is read
//! after all of them.

mod credentials;
mod peers;

use std::marker::PhantomData;

use axum::extract::{FromRequestParts, RawPathParams};
use http::{HeaderMap, Method, header, request::Parts};

pub(super) use self::credentials::{client_address, query_token};
pub use self::peers::PeerRules;
use super::{access_log::CallerName, error::ApiError};
use crate::{
    app::App,
    model::{
        identity::Identity,
        scope::{Category, Level},
    },
    serve::Peer,
    service::{
        Error,
        access::{self, Action},
        authentication, repositories, viewer,
    },
};

/// What a token must be allowed for a route: every category, at the level of the method.
pub(super) trait RequiredScopes {
    /// The categories.
    const CATEGORIES: &'static [Category];
    /// Whether an account is needed to read, too. To write, somebody must always have signed in.
    const SIGNED_IN: bool = false;
    /// Whether an account that must change its password may use the route.
    const PASSWORD_MAY_BE_DUE: bool = false;
}

/// Adds to `N` that an account is needed.
pub(super) struct SignedIn<N>(PhantomData<N>);

impl<N: RequiredScopes> RequiredScopes for SignedIn<N> {
    const CATEGORIES: &'static [Category] = N::CATEGORIES;
    const SIGNED_IN: bool = true;
}

/// Admits, beside the callers of `N`, accounts that must change their password.
pub(super) struct PasswordMayBeDue<N>(PhantomData<N>);

impl<N: RequiredScopes> RequiredScopes for PasswordMayBeDue<N> {
    const CATEGORIES: &'static [Category] = N::CATEGORIES;
    const SIGNED_IN: bool = N::SIGNED_IN;
    const PASSWORD_MAY_BE_DUE: bool = true;
}

macro_rules! needs {
    ($($(#[$doc:meta])* $name:ident: $($category:ident),*;)*) => {$(
        $(#[$doc])*
        pub(super) struct $name;

        impl RequiredScopes for $name {
            const CATEGORIES: &'static [Category] = &[$(Category::$category),*];
        }
    )*};
}

needs! {
    /// No scope at all.
    Nothing: ;
    /// Scope `user`.
    OfUser: User;
    /// Scope `repository`.
    OfRepository: Repository;
    /// Scopes `user` and `repository`.
    OfUserRepository: User, Repository;
    /// Scopes `organization` and `repository`.
    OfOrganizationRepository: Organization, Repository;
    /// Scope `organization`.
    OfOrganization: Organization;
    /// Scopes `user` and `organization`.
    OfUserOrganization: User, Organization;
    /// Scope `admin`; only site administrators.
    OfAdmin: Admin;
}

/// The caller of a route that needs the scopes `N`. Wrong credentials never get here.
pub(super) struct Caller<N> {
    pub(super) identity: Identity,
    needs: PhantomData<N>,
}

impl<N: RequiredScopes> FromRequestParts<App> for Caller<N> {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, ApiError> {
        let identity = identify_for(app, parts, N::PASSWORD_MAY_BE_DUE).await?;
        let level = level(&parts.method);
        match check::<N>(&identity, level) {
            Ok(()) => Ok(Self { identity, needs: PhantomData }),
            Err(refusal) => Err(missing(app, parts, &identity).await.unwrap_or_else(|| refusal.into())),
        }
    }
}

/// What a request with this method does.
pub(super) fn level(method: &Method) -> Level {
    if matches!(*method, Method::GET | Method::HEAD) { Level::Read } else { Level::Write }
}

/// Only checks credentials that were shown; for routes that are the same for everybody.
pub(super) struct Anyone;

impl FromRequestParts<App> for Anyone {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, ApiError> {
        // Who the peer is cannot be wrong, and nobody asks for it here.
        if credentials::may_hold(&parts.headers, parts.uri.query()) {
            identify(app, parts).await?;
        }
        Ok(Self)
    }
}

/// Where a request comes from, as far as guessing credentials is concerned.
pub(super) struct Source(pub(super) String);

impl FromRequestParts<App> for Source {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, ApiError> {
        Ok(Self(credentials::source(app, &parts.headers, parts.extensions.get::<Peer>())))
    }
}

/// Who makes the request: what every protocol asks first.
pub(super) async fn identify(app: &App, parts: &Parts) -> Result<Identity, ApiError> {
    identify_for(app, parts, false).await
}

async fn identify_for(app: &App, parts: &Parts, password_may_be_due: bool) -> Result<Identity, ApiError> {
    let (headers, query) = (&parts.headers, parts.uri.query());
    let peer = parts.extensions.get::<Peer>();
    let identity = match credentials::of(headers, query, app.config.auth.query_tokens)? {
        Some(shown) => {
            let source = credentials::source(app, headers, peer);
            authentication::authenticate(app, shown, &source, password_may_be_due).await?
        }
        None => peers::identity(app, peer).await?,
    };
    let caller = parts.extensions.get::<CallerName>();
    let Some(other) = credentials::sudo(headers, query) else {
        if let Some(caller) = caller.filter(|_| !matches!(identity, Identity::Anonymous)) {
            caller.set(identity.label());
        }
        return Ok(identity);
    };
    if let Some(caller) = caller {
        caller.set(identity.label());
    }
    Ok(authentication::act_as(app, identity, &other).await?)
}

/// Refuses who lacks a scope, has not signed in, or is no administrator where that is needed.
fn check<N: RequiredScopes>(identity: &Identity, level: Level) -> Result<(), Error> {
    for category in N::CATEGORIES {
        access::require_scope(identity, *category, level)?;
    }
    if level == Level::Write && matches!(identity, Identity::Anonymous) {
        return Err(Error::Unauthenticated { reason: "token is required".into() });
    }
    if N::SIGNED_IN {
        access::require_account(identity)?;
    }
    if N::CATEGORIES.contains(&Category::Admin) {
        access::require_site_admin(identity)?;
        access::require_more_than_public(identity)?;
    }
    Ok(())
}

/// Who may not do something with what is not there hears that it is not there. Looked up only for
/// those who are refused anyway.
async fn missing(app: &App, parts: &mut Parts, identity: &Identity) -> Option<ApiError> {
    if parts.uri.path().starts_with("/api/v1/admin/") {
        return None;
    }
    let captures = RawPathParams::from_request_parts(parts, app).await.ok()?;
    let capture = |wanted: &str| captures.iter().find(|(name, _)| *name == wanted).map(|(_, value)| value);
    let snapshot = app.store.read().await.ok()?;
    let refusal = match (capture("owner"), capture("repo"), capture("org").or(capture("name"))) {
        (Some(owner), Some(repo), _) => repositories::find(&snapshot, identity, owner, repo, Action::Read).await.err(),
        (_, _, Some(name)) => viewer::find(&snapshot, identity, name).await.err(),
        _ => None,
    };
    refusal
        .filter(|error| matches!(error, Error::NotFound { .. } | Error::Moved { .. } | Error::Renamed { .. }))
        .map(ApiError::from)
}

/// The bearer token of an Actions client.
pub(super) fn bearer(headers: &HeaderMap) -> Option<&str> {
    let value = headers.get(header::AUTHORIZATION)?.to_str().ok()?;
    let (scheme, token) = value.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then_some(token.trim())
}
