//! Who asks: credentials out of a request, and what a route asks of them.

use std::marker::PhantomData;

use axum::extract::FromRequestParts;
use base64::{Engine as _, engine::general_purpose::STANDARD as BASE64};
use http::{HeaderMap, Method, StatusCode, header, request::Parts};

use super::error::ApiError;
use crate::{
    app::App,
    model::{
        identity::Identity,
        scope::{Category, Level},
    },
    serve::{Peer, PeerIds},
    service::{
        Error,
        authentication::{self, Credentials},
    },
};

/// What a token must be allowed for a route: every category, at the level of the method.
pub(super) trait Needs {
    /// The categories.
    const CATEGORIES: &'static [Category];
}

macro_rules! needs {
    ($($(#[$doc:meta])* $name:ident: $($category:ident),*;)*) => {$(
        $(#[$doc])*
        pub(super) struct $name;

        impl Needs for $name {
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
    /// Scope `admin`.
    OfAdmin: Admin;
}

/// The caller of a route that needs the scopes `N`. Wrong credentials never get here.
pub(super) struct Caller<N> {
    pub(super) identity: Identity,
    needs: PhantomData<N>,
}

impl<N: Needs> FromRequestParts<App> for Caller<N> {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, ApiError> {
        let identity = identify(parts, app).await?;
        let level = if matches!(parts.method, Method::GET | Method::HEAD) { Level::Read } else { Level::Write };
        match N::CATEGORIES.iter().find(|category| !identity.in_scope(**category, level)) {
            None => Ok(Self { identity, needs: PhantomData }),
            Some(category) => {
                let present = identity.token().map(|token| token.scopes.words().join(", ")).unwrap_or_default();
                let reason = format!(
                    "token does not have at least one of required scope(s), required={level}:{category}, token scope={present}"
                );
                Err(Error::Forbidden { reason }.into())
            }
        }
    }
}

/// Only checks credentials that were shown; for routes that are the same for everybody.
pub(super) struct Anyone;

impl FromRequestParts<App> for Anyone {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, ApiError> {
        if let Some(credentials) = credentials(&parts.headers, parts.uri.query())? {
            authentication::authenticate(app, credentials).await?;
        }
        Ok(Self)
    }
}

/// Who makes a request: by the credentials shown, else by the peer.
pub(super) async fn identify(parts: &Parts, app: &App) -> Result<Identity, ApiError> {
    match credentials(&parts.headers, parts.uri.query())? {
        Some(credentials) => Ok(authentication::authenticate(app, credentials).await?),
        None => of_peer(app, parts.extensions.get::<Peer>()).await,
    }
}

/// What the kernel says of the peer stands for credentials on the Unix socket.
async fn of_peer(app: &App, peer: Option<&Peer>) -> Result<Identity, ApiError> {
    let Some(Peer::Unix(Some(ids))) = peer else { return Ok(Identity::Anonymous) };
    if app.peers.administers(ids) {
        return Ok(authentication::built_in_administrator(app).await?);
    }
    Ok(if app.peers.runs_ci(ids) { Identity::CiAgent } else { Identity::Anonymous })
}

/// Which local users act as what.
#[derive(Clone, Debug, Default)]
pub struct PeerRules {
    /// Whether the kernel's word counts at all.
    pub trusted: bool,
    /// The daemon's own user.
    pub own_uid: u32,
    /// Members act as the built-in administrator.
    pub admin_gid: Option<u32>,
    /// Members act as CI agents.
    pub ci_gid: Option<u32>,
}

impl PeerRules {
    fn administers(&self, ids: &PeerIds) -> bool {
        let member = self.admin_gid.is_some_and(|gid| ids.gids.contains(&gid));
        self.trusted && (ids.uid == 0 || ids.uid == self.own_uid || member)
    }

    fn runs_ci(&self, ids: &PeerIds) -> bool {
        self.trusted && self.ci_gid.is_some_and(|gid| ids.gids.contains(&gid))
    }
}

/// The credentials in a request: header first, then query. Malformed ones are refused, never
/// taken for none.
fn credentials(headers: &HeaderMap, query: Option<&str>) -> Result<Option<Credentials>, ApiError> {
    let malformed = || ApiError::new(StatusCode::UNAUTHORIZED, "the Authorization header cannot be understood");
    if let Some(value) = headers.get(header::AUTHORIZATION) {
        let value = value.to_str().map_err(|_| malformed())?;
        let (scheme, rest) = value.trim().split_once(' ').ok_or_else(malformed)?;
        let rest = rest.trim();
        return match scheme.to_ascii_lowercase().as_str() {
            "token" | "bearer" if !rest.is_empty() => Ok(Some(Credentials::Token(rest.to_owned()))),
            "basic" => basic(rest).map(Some).ok_or_else(malformed),
            _ => Err(malformed()),
        };
    }
    let pairs = query.into_iter().flat_map(|query| url::form_urlencoded::parse(query.as_bytes()));
    let mut tokens =
        pairs.filter(|(name, value)| matches!(name.as_ref(), "token" | "access_token") && !value.is_empty());
    Ok(tokens.next().map(|(_, value)| Credentials::Token(value.into_owned())))
}

fn basic(encoded: &str) -> Option<Credentials> {
    let decoded = String::from_utf8(BASE64.decode(encoded).ok()?).ok()?;
    let (name, password) = decoded.split_once(':')?;
    Some(Credentials::Basic { name: name.to_owned(), password: password.to_owned() })
}

/// The bearer token of an Actions client.
pub(super) fn bearer(headers: &HeaderMap) -> Option<&str> {
    let value = headers.get(header::AUTHORIZATION)?.to_str().ok()?;
    let (scheme, token) = value.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then_some(token.trim())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(authorization: &str, query: &str) -> String {
        let mut headers = HeaderMap::new();
        if !authorization.is_empty() {
            headers.insert(header::AUTHORIZATION, authorization.parse().expect("a header"));
        }
        match credentials(&headers, Some(query)) {
            Ok(None) => "none".into(),
            Ok(Some(Credentials::Token(token))) => format!("token {token}"),
            Ok(Some(Credentials::Basic { name, password })) => format!("basic {name} {password}"),
            Err(error) => error.message().to_owned(),
        }
    }

    #[test]
    fn every_form_of_credentials_and_no_malformed_one() {
        assert_eq!(shown("token abc", ""), "token abc");
        assert_eq!(shown("Bearer abc", "token=other"), "token abc");
        assert_eq!(shown("TOKEN  abc ", ""), "token abc");
        assert_eq!(shown("Basic YTpiOmM=", ""), "basic a b:c");
        assert_eq!(shown("", "x=1&access_token=t"), "token t");
        assert_eq!(shown("", "token="), "none");
        for bad in ["abc", "token ", "Basic !!!", "Basic YQ==", "Digest x", "Bearer"] {
            assert_eq!(shown(bad, "token=t"), "the Authorization header cannot be understood", "{bad}");
        }
    }

    #[test]
    fn peers_are_believed_only_where_configured() {
        let rules = PeerRules { trusted: true, own_uid: 7, admin_gid: Some(50), ci_gid: Some(60) };
        let peer = |uid, gids: &[u32]| PeerIds { uid, gids: gids.into() };
        assert!(rules.administers(&peer(0, &[])) && rules.administers(&peer(7, &[])));
        assert!(rules.administers(&peer(9, &[1, 50])) && !rules.administers(&peer(9, &[1, 60])));
        assert!(rules.runs_ci(&peer(9, &[60])) && !rules.runs_ci(&peer(9, &[50])));
        let distrustful = PeerRules { trusted: false, ..rules };
        assert!(!distrustful.administers(&peer(0, &[])) && !distrustful.runs_ci(&peer(9, &[60])));
    }
}
