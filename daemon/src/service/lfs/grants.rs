//! Signs the addresses of objects, and finds the access of the callers that received them.

use farrier_proto::store::Repository;

use super::{BatchObject, MISSING_REPOSITORY};
use crate::{
    model::{
        identity::{Account, Identity, Proof},
        lfs_address::{LfsCaller, LfsGrant, LfsOperation},
    },
    service::{
        Context, Error,
        access::{self, Action},
        access_watch::AccessWatch,
        authentication, migrations, ssh_keys, ssh_sign_in,
    },
    store::{Read, owners, repositories},
};

/// Returns the query of an address that `identity` may use for `operation`, until `lfs.address_secs` are over or the
/// caller loses its access.
pub fn sign(
    context: &Context,
    identity: &Identity,
    repository: u64,
    operation: LfsOperation,
    object: &BatchObject,
) -> String {
    let life = i64::try_from(context.config.lfs.address.as_secs()).unwrap_or(i64::MAX);
    let expires_secs = context.now_ms().div_euclid(1_000).saturating_add(life);
    let caller = match identity {
        Identity::Anonymous | Identity::CiAgent => LfsCaller::Anonymous,
        Identity::DeployKey(key) => LfsCaller::DeployKey(key.key_id),
        Identity::Account(account) => match account.proof {
            Proof::Key(key) => LfsCaller::Key { account: account.user.id, key },
            Proof::Peer | Proof::Password | Proof::Token(_) => {
                authentication::issued_to(identity).map_or(LfsCaller::User(account.user.id), LfsCaller::Account)
            }
        },
    };
    let BatchObject { oid, size } = *object;
    LfsGrant { operation, repository, oid, size, expires_secs, caller }.query(&context.keys.lfs_address)
}

/// The repository and the caller of an address, who may still use it.
pub(super) struct GrantedAccess {
    pub(super) watch: AccessWatch,
    pub(super) repository: Repository,
}

/// Returns the access of the caller that received an address, or an error if the caller lost its access.
pub(super) async fn access(context: &Context, grant: &LfsGrant) -> Result<GrantedAccess, Error> {
    let revoked = || Error::Forbidden { reason: "the caller that received this address has lost its access".into() };
    let action = match grant.operation {
        LfsOperation::Download => Action::Read,
        LfsOperation::Upload | LfsOperation::Verify => Action::Write,
    };
    let read = &context.store.read().await?;
    let identity = match grant.caller {
        LfsCaller::Anonymous => Some(Identity::Anonymous),
        LfsCaller::User(id) => user(context, read, id).await?,
        LfsCaller::Key { account, key } => Some(ssh_sign_in::caller(context, key, account).await?),
        LfsCaller::DeployKey(key) => ssh_keys::deploy_caller(context, key, grant.repository).await?,
        LfsCaller::Account(account) => {
            let (accepts_passwords, now) = (context.config.auth.password_login, context.now_ms());
            authentication::of_url(read, account, accepts_passwords, now).await?
        }
    };
    let identity = identity.ok_or_else(revoked)?;
    let row = repositories::get(read, grant.repository).await?.filter(|row| !row.deleted);
    let repository = row.ok_or(MISSING_REPOSITORY)?;
    let watch = AccessWatch::checked(context, read, identity, Some((repository.id, action))).await?;
    let watch = watch.ok_or_else(revoked)?;
    if action == Action::Write {
        require_writable(&repository)?;
    }
    Ok(GrantedAccess { watch, repository })
}

/// Returns an error if nothing can be written to the repository.
pub(super) fn require_writable(repository: &Repository) -> Result<(), Error> {
    access::require_writable(repository)?;
    match migrations::pending(repository) {
        Some(reason) => Err(Error::Conflict { reason: reason.into() }),
        None => Ok(()),
    }
}

/// Returns the identity of an open account that was authenticated earlier, without credentials that can be withdrawn
/// alone.
pub(super) async fn user(context: &Context, read: &impl Read, id: u64) -> Result<Option<Identity>, Error> {
    let Some(user) = owners::user(read, id).await? else { return Ok(None) };
    let identity = Identity::Account(Box::new(Account { user, proof: Proof::Peer }));
    authentication::refresh(read, &identity, context.config.auth.password_login, context.now_ms()).await
}
