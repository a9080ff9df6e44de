//! The tokens of `git-lfs-authenticate`, with which a client that was authenticated over SSH uses the routes of Git
//! LFS.

use std::{collections::BTreeMap, fmt};

use serde::Serialize;

use super::{Context, Error, LfsAccess, grants};
use crate::{
    model::{
        identity::{Identity, Proof},
        lfs_token::{self, LfsClaims},
    },
    service::{
        access::{self, Action},
        repositories::FoundRepository,
        ssh_keys, ssh_sign_in,
    },
};

/// Validity of a token, in seconds.
const TOKEN_SECS: u32 = 1_800;

/// What `git-lfs-authenticate` prints as JSON.
#[derive(Clone, Serialize)]
pub struct LfsAuthentication {
    /// Address of the LFS routes of the repository.
    pub href: String,
    /// Headers that the client adds to its requests. Contains the token.
    pub header: BTreeMap<&'static str, String>,
    /// Validity in seconds.
    pub expires_in: u32,
}

impl fmt::Debug for LfsAuthentication {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LfsAuthentication").field("href", &self.href).finish_non_exhaustive()
    }
}

/// Creates a token for the LFS routes of `found`, with which `identity` may do `operation` there and nothing else.
pub fn token(
    context: &Context,
    identity: &Identity,
    found: &FoundRepository,
    operation: LfsAccess,
) -> Result<LfsAuthentication, Error> {
    if !context.config.lfs.enabled {
        return Err(Error::Forbidden { reason: "Git LFS is disabled on this server (lfs.enabled)".into() });
    }
    access::require(identity, found.access_level, action(operation))?;
    let (account, key) = if let Identity::DeployKey(key) = identity {
        (0, key.key_id)
    } else {
        let account = access::require_account(identity)?;
        let key = if let Proof::Key(key) = account.proof { key } else { 0 };
        (account.user.id, key)
    };
    let exp = context.now_ms().div_euclid(1_000).saturating_add(TOKEN_SECS.into());
    let claims = LfsClaims { repository: found.repository.id, account, key, operation, exp };
    let bearer = format!("Bearer {}", claims.sign(&context.keys.lfs_token));
    Ok(LfsAuthentication {
        href: format!("{}/{}.git/info/lfs", context.root_url, found.path()),
        header: BTreeMap::from([("Authorization", bearer)]),
        expires_in: TOKEN_SECS,
    })
}

fn action(operation: LfsAccess) -> Action {
    match operation {
        LfsAccess::Download => Action::Read,
        LfsAccess::Upload => Action::Write,
    }
}

/// Returns whether a bearer token has the form of [`token`]'s.
pub fn has_token_form(bearer: &str) -> bool {
    lfs_token::has_form(bearer)
}

/// Returns the account or the deploy key of a token, and the token's claims. The caller checks the repository, the
/// operation and, on every use, the right of the account or key.
pub async fn authenticate(context: &Context, token: &str) -> Result<(Identity, LfsClaims), Error> {
    let refused = || Error::Unauthenticated { reason: "the LFS token is not valid or has expired".into() };
    let claims = LfsClaims::verify(token, &context.keys.lfs_token, context.now_ms()).ok_or_else(refused)?;
    let identity = match (claims.account, claims.key) {
        (0, key) => {
            let deploy_key = ssh_keys::deploy_caller(context, key, claims.repository).await?;
            deploy_key.ok_or_else(|| Error::Forbidden { reason: "this deploy key was removed".into() })?
        }
        (account, 0) => grants::user(context, &context.store.read().await?, account).await?.ok_or_else(refused)?,
        (account, key) => ssh_sign_in::caller(context, key, account).await?,
    };
    Ok((identity, claims))
}
