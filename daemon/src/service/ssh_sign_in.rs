//! Signs in clients of SSH, by the public key whose private half they have.

use super::{
    Context, Error,
    audit::{self, RequestScope},
    authentication, sign_in,
    ssh_keys::{self, KeyIdentity},
};
use crate::{
    model::identity::{Account, Identity, Proof},
    shares::Holder,
    store::owners,
};

/// A client that has signed in.
#[derive(Clone, Copy, Debug)]
pub struct SignedInKey {
    /// Whom the key identifies.
    pub identity: KeyIdentity,
    /// To whom the connection counts: the account, or for deploy keys the address.
    pub holder: Holder,
}

/// Returns whom a key identifies, after the client has proven that it has the private half. `None`: the key is unknown,
/// or its account is closed. `source`: the address of the client.
pub async fn sign_in(context: &Context, blob: &[u8], source: Holder) -> Result<Option<SignedInKey>, Error> {
    let Some(identity) = ssh_keys::identify(context, blob).await? else { return Ok(None) };
    let holder = match identity {
        KeyIdentity::Account { key_id, account_id } => {
            let caller = caller(context, key_id, account_id).await?;
            let Identity::Account(account) = &caller else { return Ok(None) };
            context.sign_in.note_success(account_id, source);
            audit::accepted(context, account, &source.label());
            Holder::caller(&caller, None)
        }
        KeyIdentity::Deploy { .. } => source,
    };
    Ok(Some(SignedInKey { identity, holder }))
}

/// Counts a connection that has offered keys and was closed without a known one, as a failed sign-in.
pub async fn refused(context: &Context, source: Holder) {
    // The error says that further attempts are refused; but a known key is always accepted.
    let _ = sign_in::refuse(context, source, "unknown SSH key").await;
}

/// Returns the account of a client that has signed in before. Fails if the account was closed or the key removed since.
pub async fn caller(context: &Context, key_id: u64, account_id: u64) -> Result<Identity, Error> {
    let snapshot = context.store.read().await?;
    let gone = || Error::Forbidden { reason: "this key was removed, or its account was deleted".into() };
    let user = owners::user(&snapshot, account_id).await?.ok_or_else(gone)?;
    authentication::require_open(&user)?;
    let identity = Identity::Account(Box::new(Account { user, proof: Proof::Key(key_id) }));
    let current = authentication::refresh(&snapshot, &identity, false, context.now_ms()).await?;
    let identity = current.ok_or_else(gone)?;
    if let Some(scope) = RequestScope::current() {
        scope.set_caller(&identity);
    }
    Ok(identity)
}
