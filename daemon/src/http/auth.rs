//! Authentication of requests, and the token scopes and roles that routes require.
//!
//! Checks run in the order that Gitea-family clients expect: wrong credentials, the account's state, `sudo`, the
//! objects named in the path, the token's scopes, sign-in, the role. The body is read after all checks.

mod credentials;
mod peers;
mod running_job;

use std::{marker::PhantomData, sync::Arc};

use axum::extract::{FromRequestParts, RawPathParams};
use http::{Extensions, HeaderMap, Method, header, request::Parts};

pub(super) use self::credentials::{client_address, query_token};
pub use self::peers::PeerRules;
pub(super) use self::running_job::{RunningJob, authenticate_job};
use super::{AppState, access_log::CallerName, error::ApiError};
use crate::{
    model::{
        identity::Identity,
        scope::{Category, Level},
    },
    serve::Peer,
    service::{
        Error,
        access::{self, Action},
        audit::RequestScope,
        authentication::{self, Credentials},
        repositories, viewer,
    },
    shares::{Holder, RequestMemory},
};

/// What a route requires of its caller: a token scope for each category, at the level of the request method.
pub(super) trait RequiredScopes {
    /// The categories of the required scopes.
    const CATEGORIES: &'static [Category];
    /// Whether read requests also require an account. Write requests always require a signed-in caller.
    const SIGNED_IN: bool = false;
    /// Whether an account that must change its password may use the route.
    const PASSWORD_MAY_BE_DUE: bool = false;
}

/// The requirements of `N`, and an account.
pub(super) struct SignedIn<N>(PhantomData<N>);

impl<N: RequiredScopes> RequiredScopes for SignedIn<N> {
    const CATEGORIES: &'static [Category] = N::CATEGORIES;
    const SIGNED_IN: bool = true;
}

/// The requirements of `N`, also open to accounts that must change their password.
pub(super) struct PasswordMayBeDue<N>(PhantomData<N>);

impl<N: RequiredScopes> RequiredScopes for PasswordMayBeDue<N> {
    const CATEGORIES: &'static [Category] = N::CATEGORIES;
    const SIGNED_IN: bool = N::SIGNED_IN;
    const PASSWORD_MAY_BE_DUE: bool = true;
}

macro_rules! required_scopes {
    ($($(#[$doc:meta])* $name:ident: $($category:ident),*;)*) => {$(
        $(#[$doc])*
        pub(super) struct $name;

        impl RequiredScopes for $name {
            const CATEGORIES: &'static [Category] = &[$(Category::$category),*];
        }
    )*};
}

required_scopes! {
    /// No scope.
    NoScope: ;
    /// Scope `user`.
    UserScope: User;
    /// Scope `repository`.
    RepositoryScope: Repository;
    /// Scopes `user` and `repository`.
    UserRepositoryScopes: User, Repository;
    /// Scopes `organization` and `repository`.
    OrganizationRepositoryScopes: Organization, Repository;
    /// Scope `organization`.
    OrganizationScope: Organization;
    /// Scopes `user` and `organization`.
    UserOrganizationScopes: User, Organization;
    /// Scope `admin`; the caller must also be a site administrator.
    AdminScope: Admin;
}

/// Extracts the caller of a route that requires `N`. Wrong credentials are refused, never treated as anonymous.
pub(super) struct Caller<N> {
    pub(super) identity: Identity,
    /// The holder of the shares of limited work.
    pub(super) holder: Holder,
    /// The counted memory of the request.
    pub(super) memory: Option<Arc<RequestMemory>>,
    required: PhantomData<N>,
}

impl<N: RequiredScopes> FromRequestParts<AppState> for Caller<N> {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &AppState) -> Result<Self, ApiError> {
        let identity = identify_for(state, parts, N::PASSWORD_MAY_BE_DUE).await?;
        let level = level(&parts.method);
        match check::<N>(&identity, level) {
            Ok(()) => {
                let holder = holder(state, parts, &identity);
                let memory = count_memory_to(&parts.extensions, holder);
                Ok(Self { identity, holder, memory, required: PhantomData })
            }
            Err(refusal) => Err(not_found(state, parts, &identity).await.unwrap_or_else(|| refusal.into())),
        }
    }
}

/// Returns the access level that requests with `method` need.
pub(super) fn level(method: &Method) -> Level {
    if matches!(*method, Method::GET | Method::HEAD) { Level::Read } else { Level::Write }
}

/// Checks credentials if the request has any, or if `auth.require_sign_in` requires them. For routes whose response is
/// the same for every caller.
pub(super) struct CheckedCredentials;

impl FromRequestParts<AppState> for CheckedCredentials {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &AppState) -> Result<Self, ApiError> {
        // The identity of a socket peer cannot be wrong, and these routes do not use it.
        if state.config.auth.require_sign_in || credentials::may_hold(&parts.headers, parts.uri.query()) {
            identify(state, parts).await?;
        }
        Ok(Self)
    }
}

/// Like [`CheckedCredentials`], but without credentials the route is open even with `auth.require_sign_in`.
pub(super) struct OpenToAnonymous;

impl FromRequestParts<AppState> for OpenToAnonymous {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &AppState) -> Result<Self, ApiError> {
        if credentials::may_hold(&parts.headers, parts.uri.query()) {
            identify_any(state, parts, false).await?;
        }
        Ok(Self)
    }
}

/// Ignores credentials, unless `auth.require_sign_in` requires them. For static content.
pub(super) struct SignedInIfRequired;

impl FromRequestParts<AppState> for SignedInIfRequired {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &AppState) -> Result<Self, ApiError> {
        if state.config.auth.require_sign_in {
            identify(state, parts).await?;
        }
        Ok(Self)
    }
}

/// The origin of a request, by which failed sign-ins and uploads are counted: a local user or an address.
pub(super) struct SignInSource(pub(super) Holder);

impl FromRequestParts<AppState> for SignInSource {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &AppState) -> Result<Self, ApiError> {
        Ok(Self(credentials::origin(state, parts).source))
    }
}

/// Returns the holder of the shares of limited work that a request uses: the local user on the Unix socket, else the
/// account, else the address.
pub(super) fn holder(state: &AppState, parts: &Parts, identity: &Identity) -> Holder {
    match parts.extensions.get::<Peer>() {
        Some(Peer::Unix(ids)) => Holder::Socket(ids.as_ref().map(|ids| ids.uid)),
        peer => Holder::caller(identity, client_address(state, &parts.headers, peer)),
    }
}

/// Counts the memory of the request with these `extensions` to `holder`. Returns this memory.
pub(super) fn count_memory_to(extensions: &Extensions, holder: Holder) -> Option<Arc<RequestMemory>> {
    let memory = extensions.get::<Arc<RequestMemory>>()?;
    memory.set_holder(holder);
    Some(memory.clone())
}

/// Authenticates a request. All protocols use this.
pub(super) async fn identify(state: &AppState, parts: &Parts) -> Result<Identity, ApiError> {
    identify_for(state, parts, false).await
}

async fn identify_for(state: &AppState, parts: &Parts, password_may_be_due: bool) -> Result<Identity, ApiError> {
    let identity = identify_any(state, parts, password_may_be_due).await?;
    if state.config.auth.require_sign_in && matches!(identity, Identity::Anonymous) {
        let reason = "this farrier has no anonymous access: send an access token";
        return Err(Error::Unauthenticated { reason: reason.into() }.into());
    }
    Ok(identity)
}

/// Authenticates a request. Anonymous callers are accepted even with `auth.require_sign_in`.
async fn identify_any(state: &AppState, parts: &Parts, password_may_be_due: bool) -> Result<Identity, ApiError> {
    let (headers, query) = (&parts.headers, parts.uri.query());
    let peer = parts.extensions.get::<Peer>();
    let identity = match credentials::of(headers, query, state.config.auth.query_tokens)? {
        Some(shown) => {
            let origin = credentials::origin(state, parts);
            authentication::authenticate(state, shown, &origin, password_may_be_due).await?
        }
        None => peers::identity(state, peer).await?,
    };
    let scope = RequestScope::current();
    if let Some(scope) = &scope {
        scope.set_caller(&identity);
    }
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
    let acting = authentication::act_as(state, identity, &other).await?;
    if let Some(scope) = &scope {
        scope.set_acts_as(acting.label());
    }
    Ok(acting)
}

/// Records the caller of a request that was authenticated in another way, for the audit log and the access log.
pub(super) fn note_caller(parts: &Parts, identity: &Identity) {
    if let Some(scope) = RequestScope::current() {
        scope.set_caller(identity);
    }
    if let Some(caller) = parts.extensions.get::<CallerName>() {
        caller.set(identity.label());
    }
}

/// Categories of objects that belong to no repository.
const BEYOND_REPOSITORIES: [Category; 3] = [Category::Admin, Category::Organization, Category::User];

/// Refuses callers that lack a scope, have not signed in, or are not administrators where `N` requires it.
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
    if level == Level::Write && N::CATEGORIES.iter().any(|category| BEYOND_REPOSITORIES.contains(category)) {
        access::require_all_repositories(identity)?;
    }
    if N::CATEGORIES.contains(&Category::Admin) {
        access::require_site_admin(identity)?;
        access::require_whole_account(identity)?;
    }
    Ok(())
}

/// Returns a 404 or a redirect if the object in the path does not exist under that name for the caller.
///
/// Called only for refused requests: Gitea-family clients expect 404 before 401 and 403.
async fn not_found(state: &AppState, parts: &mut Parts, identity: &Identity) -> Option<ApiError> {
    if parts.uri.path().starts_with("/api/v1/admin/") {
        return None;
    }
    let captures = RawPathParams::from_request_parts(parts, state).await.ok()?;
    let capture = |key: &str| captures.iter().find(|(name, _)| *name == key).map(|(_, value)| value);
    let snapshot = state.store.read().await.ok()?;
    let refusal = match (capture("owner"), capture("repo"), capture("org").or(capture("name"))) {
        (Some(owner), Some(repo), _) => repositories::find(&snapshot, identity, owner, repo, Action::Read).await.err(),
        (_, _, Some(name)) => viewer::find(&snapshot, identity, name).await.err(),
        _ => None,
    };
    refusal
        .filter(|error| matches!(error, Error::NotFound { .. } | Error::Moved { .. } | Error::Renamed { .. }))
        .map(ApiError::from)
}

/// Returns the credentials in the headers of a request.
pub(super) fn credentials_of(headers: &HeaderMap) -> Result<Option<Credentials>, ApiError> {
    credentials::of(headers, None, false)
}

/// Returns the bearer token of the `Authorization` header.
pub(super) fn bearer(headers: &HeaderMap) -> Option<&str> {
    let value = headers.get(header::AUTHORIZATION)?.to_str().ok()?;
    let (scheme, token) = value.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then_some(token.trim())
}
