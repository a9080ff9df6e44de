//! Decides whether a caller may use the LFS routes of a repository: with the rights of a fetch or a push.

use http::{StatusCode, request::Parts};

use super::failure::LfsFailure;
use crate::{
    http::{
        AppState, auth,
        error::ApiError,
        git::{NOT_OWNERS, allow_identity},
    },
    model::{identity::Identity, lfs_token::LfsClaims},
    service::{
        lfs::{self, LfsAccess},
        repositories::FoundRepository,
        transfers::GitService,
    },
};

/// What a request needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Need {
    /// The right to fetch.
    Download,
    /// The right to push.
    Upload,
    /// An account or a deploy key with the right to fetch.
    ReadLocks,
    /// An account with the right to push. A deploy key may compare its push with the locks and has none of its own.
    WriteLocks,
}

impl Need {
    fn service(self) -> GitService {
        match self {
            Self::Download | Self::ReadLocks => GitService::Upload,
            Self::Upload | Self::WriteLocks => GitService::Receive,
        }
    }
}

/// Returns an error if Git LFS is disabled, or if the path belongs to another protocol.
pub(super) fn require_enabled(state: &AppState, owner: &str) -> Result<(), LfsFailure> {
    if NOT_OWNERS.contains(&owner) {
        return Err(ApiError::no_route().into());
    }
    if state.config.lfs.enabled {
        return Ok(());
    }
    Err(LfsFailure::new(StatusCode::NOT_FOUND, "Git LFS is disabled on this server (lfs.enabled)"))
}

/// An authorized caller and the repository of the request.
#[derive(Debug)]
pub(super) struct AllowedLfsRequest {
    pub(super) identity: Identity,
    pub(super) found: FoundRepository,
}

/// The caller of a request.
pub(super) struct LfsClient {
    identity: Identity,
    /// The claims of its token, if it sent one of `git-lfs-authenticate`.
    claims: Option<LfsClaims>,
}

/// Authenticates the caller of a request for a repository of `owner`.
pub(super) async fn identify(state: &AppState, parts: &Parts, owner: &str) -> Result<LfsClient, LfsFailure> {
    require_enabled(state, owner)?;
    let Some(token) = auth::bearer(&parts.headers).filter(|token| lfs::has_token_form(token)) else {
        return Ok(LfsClient { identity: auth::identify(state, parts).await?, claims: None });
    };
    let (identity, claims) = lfs::authenticate(state, token).await?;
    auth::note_caller(parts, &identity);
    Ok(LfsClient { identity, claims: Some(claims) })
}

impl LfsClient {
    /// Checks the caller's permission.
    pub(super) async fn allow(
        &self,
        state: &AppState,
        parts: &Parts,
        repository: &(String, String),
        need: Need,
    ) -> Result<AllowedLfsRequest, LfsFailure> {
        let is_anonymous = matches!(self.identity, Identity::Anonymous);
        if is_anonymous && matches!(need, Need::ReadLocks | Need::WriteLocks) {
            return Err(LfsFailure::unauthenticated());
        }
        let (found, _) = allow_identity(state, parts, &self.identity, repository, need.service()).await?;
        let allowed = AllowedLfsRequest { identity: self.identity.clone(), found };
        match &self.claims {
            Some(claims) if claims.repository != allowed.found.repository.id => {
                Err(LfsFailure::new(StatusCode::FORBIDDEN, "the LFS token is for another repository"))
            }
            // git-lfs lists locks with a token for downloads.
            Some(claims)
                if claims.operation == LfsAccess::Download && matches!(need, Need::Upload | Need::WriteLocks) =>
            {
                Err(LfsFailure::new(StatusCode::FORBIDDEN, "the LFS token is only for downloads"))
            }
            _ if need == Need::ReadLocks && matches!(allowed.identity, Identity::CiAgent) => {
                Err(LfsFailure::new(StatusCode::FORBIDDEN, "locks are only for accounts"))
            }
            _ => Ok(allowed),
        }
    }
}

/// Authenticates the caller and checks its permission.
pub(super) async fn allow(
    state: &AppState,
    parts: &Parts,
    repository: &(String, String),
    need: Need,
) -> Result<AllowedLfsRequest, LfsFailure> {
    identify(state, parts, &repository.0).await?.allow(state, parts, repository, need).await
}
